"""Endpoints on loopback for the tests of agents behind HTTP."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Endpoint:
    """Where the endpoint is, and the decoded bodies and the headers that it got."""

    url: str = ""
    bodies: list[Any] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@asynccontextmanager
async def endpoint(answer: Handler | object) -> AsyncIterator[Endpoint]:
    """Serve until the block ends; `answer` is a handler, the JSON to answer with, or a list of these in order."""
    there = Endpoint()

    async def handle(request: web.Request) -> web.StreamResponse:
        there.bodies.append(await request.json() if request.can_read_body else None)
        there.headers.append(dict(request.headers))
        there.paths.append(request.raw_path)
        now = answer[len(there.bodies) - 1] if isinstance(answer, list) else answer
        return await now(request) if callable(now) else web.json_response(now)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    there.url = f"http://127.0.0.1:{runner.addresses[0][1]}/chat"
    try:
        yield there
    finally:
        await runner.cleanup()
