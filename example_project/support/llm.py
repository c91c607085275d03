"""The desk with a language model: it gets the policies and the tools, and decides by itself."""

import inspect
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from openai import OpenAI

_POLICIES = (Path(__file__).parent / "policies.md").read_text(encoding="utf-8")

_HOW = """You are the support desk described below. You talk to one customer.
Call tools to look things up; never make up what a tool can tell. Before a change, say what you will do, with the ids,
the amount and the reason in words, and ask for a yes. Be brief: two or three plain sentences.

"""

_TYPES = {str: "string", float: "number", int: "integer", bool: "boolean"}

MOST_STEPS = 12
"""Answers of the model to one message of the customer, at most."""


def build(tools: Sequence[Callable[..., Any]], base_url: str | None = None, *, model: str = "") -> Callable[[str], str]:
    """Build an agent for one conversation; key and, without a test, address come from the environment."""
    client = OpenAI(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", "none"))
    by_name = {tool.__name__: tool for tool in tools}
    schemas = [_schema(tool) for tool in tools]
    messages: list[Any] = [{"role": "system", "content": _HOW + _POLICIES}]

    def reply(message: str) -> str:
        messages.append({"role": "user", "content": message})
        for _ in range(MOST_STEPS):
            answer = client.chat.completions.create(model=model, messages=messages, tools=schemas)
            said = answer.choices[0].message
            messages.append(said.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
            if not said.tool_calls:
                return said.content or ""
            for call in said.tool_calls:
                result = _result(by_name, call.function.name, call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return "I am sorry, I could not finish this."

    return reply


def _schema(tool: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(tool).parameters.values()
    schema = {
        "type": "object",
        "properties": {one.name: _type(one.annotation) for one in parameters},
        "required": [one.name for one in parameters],
    }
    return {
        "type": "function",
        "function": {"name": tool.__name__, "description": tool.__doc__, "parameters": schema},
    }


def _type(annotation: Any) -> dict[str, Any]:
    if get_origin(annotation) is list:
        return {"type": "array", "items": _type(get_args(annotation)[0])}
    if get_origin(annotation) is Literal:
        return {"type": "string", "enum": list(get_args(annotation))}
    return {"type": _TYPES[annotation]}


def _result(tools: dict[str, Callable[..., Any]], name: str, arguments: str) -> str:
    """Call a tool as the model asked; what goes wrong is a result that the model reads."""
    try:
        return json.dumps(tools[name](**json.loads(arguments)), ensure_ascii=False)
    except Exception as error:  # noqa: BLE001 - whatever it is, the model reads it
        return json.dumps({"error": str(error)}, ensure_ascii=False)
