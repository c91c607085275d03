"""Reads where remote tools come from: the keys beside `openapi` or `mcp` in `environment.tools`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.remote import AuthSpec, McpSpec, OpenApiSpec, ServiceSpec
from pytest_agentbench.core.suite import ToolsSpec
from pytest_agentbench.core.values import JsonValue

FindFile = Callable[[str, Keys], Path]
"""Gives the file that a key names, and notes it when it is not there."""


def remote_tools(form: dict[str, JsonValue], path: Keys, file: FindFile) -> ToolsSpec:
    """Read `{openapi: …}` or `{mcp: …}`, which fits the schema."""
    tools = file(form["list"], (*path, "list")) if "list" in form else None
    common: dict[str, Any] = {
        "only": tuple(form.get("only", ())),
        "tools": tools,
        "seconds": float(form.get("seconds", 30.0)),
    }
    if "mcp" in form:
        server = form["mcp"]
        spec = McpSpec(
            command=tuple(server.get("command", ())),
            env=server.get("env", {}),
            inherit=tuple(server.get("inherit", ())),
            url=server.get("url", ""),
            headers=server.get("headers", {}),
            share=form.get("share", "run"),
            **common,
        )
        return ToolsSpec(kind="mcp", target=spec.url or " ".join(spec.command), remote=spec)
    document = form["openapi"]
    if not document.startswith(("http://", "https://")):
        file(document, (*path, "openapi"))
    service = form.get("serve")
    rest = OpenApiSpec(
        document=document,
        base_url=form.get("base_url", ""),
        headers=form.get("headers", {}),
        auth=_auth(form["auth"]) if "auth" in form else None,
        reset=form.get("reset", ""),
        service=ServiceSpec(**{**service, "command": tuple(service["command"])}) if service else None,
        **common,
    )
    return ToolsSpec(kind="openapi", target=document, remote=rest)


def _auth(form: dict[str, JsonValue]) -> AuthSpec:
    kind, told = next(iter(form.items()))
    if kind == "bearer":
        return AuthSpec(kind="bearer", value=told)
    if kind == "basic":
        return AuthSpec(kind="basic", user=told["user"], value=told["password"])
    if kind == "api_key":
        places: tuple[Literal["header", "query", "cookie"], ...] = ("header", "query", "cookie")
        place, name = next((place, told[place]) for place in places if place in told)
        return AuthSpec(kind="api_key", value=told["value"], place=place, name=name)
    return AuthSpec(
        kind="client_credentials",
        user=told["client_id"],
        value=told["client_secret"],
        token_url=told["token_url"],
        scope=told.get("scope", ""),
    )
