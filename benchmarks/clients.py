"""Clients of a chat completions API that make the same calls, one process each: wall and CPU of the calls alone.

`benchmarks/conversations.py` runs them: `python benchmarks/clients.py NAME URL SCENARIOS LATENCY IN_FLIGHT`.
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from loopback import CALLS, SAID, SYSTEM, TURNS, Load, cpu_of

from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.environment.http_client import HttpClient, http_request
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.llm.transport import DirectTransport

TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Look something up in the handbook.",
        "parameters": {"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]},
    },
}

Ask = Callable[[dict[str, Any]], Awaitable[object]]
Drive = Callable[[Ask], Awaitable[None]]


def requested() -> list[dict[str, Any]]:
    """Give the requests of one conversation, each longer than the one before."""
    bodies: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
    for number in range(CALLS):
        messages.append({"role": "user" if number % 2 == 0 else "assistant", "content": SAID[number % TURNS]})
        bodies.append({"model": "plain", "messages": list(messages), "tools": [TOOL]})
    return bodies


async def through_aiohttp(url: str, drive: Drive) -> None:
    """A bare loop: one session, one POST a call."""
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(body: dict[str, Any]) -> object:
            async with session.post(f"{url}/chat/completions", json=body) as answer:
                return await answer.json()

        await drive(ask)


async def through_httpx2(url: str, drive: Drive) -> None:
    """The client that the `openai` client of today rides on, and that agents behind HTTP are asked over."""
    import httpx2

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(limits=limits, timeout=60) as client:

        async def ask(body: dict[str, Any]) -> object:
            return (await client.post(f"{url}/chat/completions", json=body)).json()

        await drive(ask)


async def through_httpx2_transport(url: str, drive: Drive) -> None:
    """Our client of agents and services, which uses that one's transport alone."""
    client = HttpClient()

    async def ask(body: dict[str, Any]) -> object:
        content = json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = http_request("POST", f"{url}/chat/completions", headers=headers, body=content)
        async with client.send(request) as answer:
            return json.loads(await answer.aread())

    try:
        await drive(ask)
    finally:
        await client.aclose()


async def through_openai(url: str, drive: Drive) -> None:
    """The official client as it comes."""
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def ask(body: dict[str, Any]) -> object:
            return await client.chat.completions.create(**body)

        await drive(ask)


async def through_openai_aiohttp(url: str, drive: Drive) -> None:
    """The official client over its aiohttp transport."""
    from openai import AsyncOpenAI, DefaultAioHttpClient

    async with DefaultAioHttpClient() as http:
        client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0, http_client=http)

        async def ask(body: dict[str, Any]) -> object:
            return await client.chat.completions.create(**body)

        await drive(ask)


async def through_transport(url: str, drive: Drive) -> None:
    """Our transport alone: one POST, and errors told apart."""
    transport = DirectTransport(url, "none", seconds=60)

    async def ask(body: dict[str, Any]) -> object:
        request = {name: body[name] for name in ("model", "messages", "tools")}
        return await transport.send(request)

    try:
        await drive(ask)
    finally:
        await transport.close()


async def through_chat(url: str, drive: Drive) -> None:
    """All that a role goes through: limiter, retries, usage and cost."""
    models = Models(environ={})
    spec = ModelSpec(model="plain", base_url=url)

    async def ask(body: dict[str, Any]) -> object:
        chat = models.chat(spec, Caller(role="agent"))
        return await chat.complete(body["messages"], tools=body["tools"])

    try:
        await drive(ask)
    finally:
        await models.close()


CLIENTS = {
    "aiohttp": through_aiohttp,
    "httpx2": through_httpx2,
    "httpx2-transport": through_httpx2_transport,
    "openai": through_openai,
    "openai-aiohttp": through_openai_aiohttp,
    "transport": through_transport,
    "chat": through_chat,
}


def run_client(name: str, url: str, load: Load) -> None:
    """Make all calls, and print their wall and CPU seconds."""
    bodies = requested()
    figures: dict[str, float] = {}

    async def drive(ask: Ask) -> None:
        await ask(bodies[0])
        numbers = iter(range(load.calls))

        async def slot() -> None:
            for number in numbers:
                await ask(bodies[number // load.in_flight % CALLS])

        began, before = time.perf_counter(), cpu_of(resource.RUSAGE_SELF)
        await asyncio.gather(*(slot() for _ in range(load.in_flight)))
        figures["wall"] = time.perf_counter() - began
        figures["cpu"] = cpu_of(resource.RUSAGE_SELF) - before

    asyncio.run(CLIENTS[name](url, drive))
    print(json.dumps(figures))


if __name__ == "__main__":
    run_client(sys.argv[1], sys.argv[2], Load(int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])))
