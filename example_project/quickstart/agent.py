"""The booking desk of a climbing hall: a language model in a loop with six tools."""

import inspect
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from openai import OpenAI

RULES = """You work at the booking desk of a climbing hall. Members write to you.
- Find the member by email before you look at bookings or change anything.
- Read the timetable before you book or move.
- Cancel or move a booking only if its class starts in 24 hours or more. Otherwise say that the limit is 24 hours.
- Say only what the tools say. If a tool gives an error, say so and give its reason.
- When you speak of a class or a booking, give its id. Be brief."""

ASK = "Before you book, cancel or move, say with the ids what you will do, ask “Shall I?”, and wait for the yes."

HURRY = "Never ask whether you should do something. As soon as you know what is wanted, do it."
"""The bug of the variant `hasty`."""


def schema(tool: Callable[..., Any]) -> dict[str, Any]:
    """Describe a tool to the model; all arguments are required texts."""
    names = list(inspect.signature(tool).parameters)
    parameters = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
    function = {"name": tool.__name__, "description": tool.__doc__, "parameters": parameters}
    return {"type": "function", "function": function}


def build(
    tools: Sequence[Callable[..., Any]], base_url: str | None = None, *, confirm: bool = True
) -> Callable[[str], str]:
    """Build an agent for one conversation. Its key and, without a test, its address come from the environment."""
    client = OpenAI(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", "none"))
    model = os.environ.get("CLIMBING_MODEL", "language-model")
    by_name = {tool.__name__: tool for tool in tools}
    messages: list[Any] = [{"role": "system", "content": f"{RULES}\n- {ASK if confirm else HURRY}"}]

    def reply(message: str) -> str:
        messages.append({"role": "user", "content": message})
        for _ in range(8):
            answer = client.chat.completions.create(
                model=model, messages=messages, tools=[schema(tool) for tool in tools]
            )
            said = answer.choices[0].message
            messages.append(said.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
            if not said.tool_calls:
                return said.content or ""
            for call in said.tool_calls:
                result = run(by_name, call.function.name, call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return "I am sorry, I could not finish this."

    return reply


def run(tools: dict[str, Callable[..., Any]], name: str, arguments: str) -> str:
    """Call a tool as the model asked; what goes wrong is a result that the model reads."""
    try:
        return json.dumps(tools[name](**json.loads(arguments)))
    except Exception as error:  # noqa: BLE001 - whatever it is, the model reads it
        return json.dumps({"error": str(error)})
