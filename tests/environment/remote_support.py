"""Environments of remote tools, and a small REST service on the loopback interface."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from aiohttp import web

from pytest_agentbench.core.remote import McpSpec, OpenApiSpec
from pytest_agentbench.core.suite import EnvironmentSpec, ToolsSpec
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.local import LocalEnvironment
from tests.environment.support import thread_runner


def remote_environment(
    remote: OpenApiSpec | McpSpec,
    root: Path,
    *,
    gate: IsolationGate | None = None,
    reads: tuple[str, ...] = (),
    writes: tuple[str, ...] = (),
    context: dict[str, Any] | None = None,
    now: datetime | None = None,
) -> LocalEnvironment:
    """Give the environment of one run with remote tools."""
    kind = "openapi" if isinstance(remote, OpenApiSpec) else "mcp"
    tools = (ToolsSpec(kind=kind, target="test", remote=remote),)
    spec = EnvironmentSpec(tools=tools, reads=reads, writes=writes, now=now)
    return LocalEnvironment(
        spec,
        root=root,
        scenario_state={},
        context=context or {},
        run_name="run-1",
        runner=thread_runner,
        gate=gate or IsolationGate(root / "locks"),
    )


class Notes:
    """A service of notes by folder; counts resets and token requests, and remembers what it was asked."""

    def __init__(self) -> None:
        self.notes: dict[str, dict[str, Any]] = {}
        self.seen: list[web.Request] = []
        self.bodies: list[str] = []
        self.tokens = 0
        self.resets = 0
        self.open = 0
        self.most_open = 0
        self.accepted: set[str] | None = None
        self.status: int | None = None
        self.paths: dict[str, Any] = {}

    def app(self) -> web.Application:
        """Give the application."""
        app = web.Application()
        app.router.add_post("/token", self._token)
        app.router.add_post("/reset", self._reset)
        app.router.add_route("*", "/{tail:.*}", self._any)
        return app

    async def _token(self, request: web.Request) -> web.Response:
        self.tokens += 1
        if "Basic" not in request.headers.get("Authorization", ""):
            return web.json_response({"error": "invalid_client"}, status=401)
        token = f"token-number-{self.tokens}"
        self.accepted = {token}
        return web.json_response({"access_token": token, "expires_in": 3600, "token_type": "Bearer"})

    async def _reset(self, request: web.Request) -> web.Response:
        self.resets += 1
        self.notes.clear()
        return web.Response(status=202)

    async def _any(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        self.bodies.append(await request.text())
        if self.status is not None:
            return web.Response(status=self.status, text="as told")
        if request.path == "/spec.json":
            return web.json_response({"openapi": "3.1.0", "servers": [{"url": "/api"}], "paths": self.paths})
        if request.path == "/slow":
            await asyncio.sleep(30)
        if request.path == "/moved":
            raise web.HTTPFound("/folders/here")
        if request.path == "/picture":
            return web.Response(body=b"\x89PNG\0\0", content_type="image/png")
        if self.accepted is not None:
            given = request.headers.get("Authorization", "").removeprefix("Bearer ")
            if given not in self.accepted:
                return web.json_response({"error": f"{given} has expired"}, status=401)
        if request.path.startswith("/missing"):
            return web.json_response({"detail": "no such note"}, status=404)
        return web.json_response({"path": request.path, "query": list(map(list, request.query.items()))})


@asynccontextmanager
async def serving(notes: Notes) -> AsyncIterator[str]:
    """Serve notes for the block; give the address."""
    runner = web.AppRunner(notes.app(), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
