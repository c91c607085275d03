"""The same desk behind a base URL that its factory is given, on the model class that each framework takes by itself."""

import json
from typing import Any

from orders import get_order

SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}


def openai_agents(base_url: str) -> Any:
    """Give an agent whose model has a client of its own; Responses is what the SDK asks by default."""
    from agents import Agent, OpenAIResponsesModel, function_tool
    from openai import AsyncOpenAI

    model = OpenAIResponsesModel("loopback", openai_client=AsyncOpenAI(base_url=base_url, max_retries=0))
    return Agent(name="desk", instructions="Be brief.", model=model, tools=[function_tool(get_order)])


def openai_agents_default_client(base_url: str) -> Any:
    """Give an agent whose model is a name; the client is the process's, so that runs must not overlap."""
    from agents import Agent, function_tool, set_default_openai_client
    from openai import AsyncOpenAI

    set_default_openai_client(AsyncOpenAI(base_url=base_url, max_retries=0), use_for_tracing=False)
    return Agent(name="desk", instructions="Be brief.", model="loopback", tools=[function_tool(get_order)])


def pydantic_ai(base_url: str) -> Any:
    """Give an agent whose model is a name, with a provider of its own."""
    from pydantic_ai import Agent
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers.openai import OpenAIProvider

    model = infer_model("openai:loopback", lambda _: OpenAIProvider(base_url=base_url))
    return Agent(model, tools=[get_order], instructions="Be brief.")


def anthropic(base_url: str, stream: bool = False) -> Any:
    """Give a reply function over Anthropic's own client."""
    from anthropic import AsyncAnthropic

    client = AsyncAnthropic(base_url=base_url, max_retries=0)
    tools: Any = [{"name": "get_order", "description": "Look an order up.", "input_schema": SCHEMA}]
    said: list[Any] = []

    async def asked() -> Any:
        fields: Any = {"model": "loopback", "max_tokens": 500, "system": "Be brief.", "messages": said, "tools": tools}
        if not stream:
            return await client.messages.create(**fields)
        async with client.messages.stream(**fields) as events:
            return await events.get_final_message()

    async def reply(message: str) -> Any:
        said.append({"role": "user", "content": message})
        begun = len(said)
        while True:
            answer = await asked()
            said.append({"role": "assistant", "content": [block.to_dict() for block in answer.content]})
            if answer.stop_reason != "tool_use":
                return said[begun:]
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": get_order(**block.input)}
                for block in answer.content
                if block.type == "tool_use"
            ]
            said.append({"role": "user", "content": results})

    return reply


def openai_responses(base_url: str, stream: bool = False, chained: bool = False) -> Any:
    """Give a reply function over OpenAI's own client, which repeats the conversation or names the response before."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=base_url, max_retries=0)
    tools: Any = [{"type": "function", "name": "get_order", "parameters": SCHEMA, "strict": False}]
    said: list[Any] = []
    before: Any = {}

    async def asked() -> Any:
        fields: Any = {"model": "loopback", "instructions": "Be brief.", "input": said, "tools": tools, **before}
        if not stream:
            return await client.responses.create(**fields)
        async with client.responses.stream(**fields) as events:
            return await events.get_final_response()

    async def reply(message: str) -> Any:
        said.append({"role": "user", "content": message})
        shown: list[Any] = []
        while True:
            answer = await asked()
            output = [item.to_dict() for item in answer.output]
            results = [
                {
                    "type": "function_call_output",
                    "call_id": item.call_id,
                    "output": get_order(**json.loads(item.arguments)),
                }
                for item in answer.output
                if item.type == "function_call"
            ]
            shown += [*output, *results]
            if chained:
                said[:] = results
                before["previous_response_id"] = answer.id
            else:
                said.extend([*output, *results])
            if not results:
                return shown

    return reply
