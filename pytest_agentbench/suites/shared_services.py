"""Services that the suite starts: which parts of the suite are one service, and what runs leave to each other in it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.core.errors import Problem
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import Keys, Misfit
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.remote import (
    AgentReset,
    McpSpec,
    OpenApiSpec,
    ServiceSpec,
    is_fixed_address,
    is_web_address,
    server_of,
)
from pytest_agentbench.core.suite import AgentSpec, EnvironmentSpec, HttpAgentSpec, Suite, ToolsSpec
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.spec.document import Document
from pytest_agentbench.suites.extends import read_suite_document

_MOST_NAMES = 5

_ASKING = frozenset({"url", "headers", "reset", "serve", "seconds"})
"""Keys of the agent that settle how the request is made that resets its service."""

_RESET = "write `reset: POST /path` beside it, a request that puts all back, or `share: run`"
_OWN = "write `share: run`"


@dataclass(frozen=True)
class _Part:
    """The agent or a provider of tools: where it stands, the key of its address, and what it starts and resets."""

    path: Keys
    key: str
    address: str
    service: ServiceSpec | None
    reset: str

    @property
    def listens_at(self) -> str:
        """The fixed address at which its service listens, "" where the port is free to choose."""
        ready = self.service.ready if self.service else None
        return server_of(str(ready)) if is_fixed_address(ready) else ""

    def is_of(self, other: "_Part") -> bool:
        """Whether what another part starts is what this one asks."""
        return other.listens_at == server_of(self.address) if other.listens_at else "{port}" in self.address


def joined(
    agent: AgentSpec, environment: EnvironmentSpec, document: JsonValue, varied: Collection[str] = ()
) -> tuple[AgentSpec, EnvironmentSpec, list[Misfit]]:
    """Give agent and tools, each with the service that it asks, wherever that is started; and what is wrong with it.

    `varied` are the keys of the agent that variants set.
    """
    parts = _parts(agent, environment, document)
    starting = [part for part in parts if part.service is not None]
    found: dict[Keys, ServiceSpec] = {}
    wrong: list[Misfit] = []
    for part in parts:
        services = {one.service.model_dump_json(): one.service for one in starting if one.service and part.is_of(one)}
        if part.service is None and len(services) == 1:
            found[part.path] = next(iter(services.values()))
        elif "{port}" in part.address and (part.service is None or part.listens_at):
            has_several = bool(services) and part.service is None
            wrong.append(_nowhere(part, [part] if part.service else starting, has_several=has_several))
    http = agent.http
    if http is not None and ("agent", "http") in found:
        agent = agent.model_copy(update={"http": http.model_copy(update={"serve": found["agent", "http"]})})
    providers = {key: _serving(getattr(environment, key), key, document, found) for key in ("tools", "user_tools")}
    if not _ASKING.intersection(varied):
        providers = {key: _resetting(ones, agent.http) for key, ones in providers.items()}
    return agent, environment.model_copy(update=providers), wrong


def _nowhere(part: _Part, starting: list[_Part], *, has_several: bool) -> Misfit:
    """Say that nobody can tell where `{port}` of an address leads, and what to write."""
    path = (*part.path, part.key)
    fixed = next((one.listens_at for one in starting if one.listens_at), "")
    if has_several:
        message = "'{port}' is where `serve` listens, and the suite starts several services"
        return Misfit(path=path, message=message, hint="write `serve` beside it, too: what is alike is started once")
    if fixed:
        message = f"'{{port}}' is a free port, and the suite's service listens at {fixed}"
        return Misfit(path=path, message=message, hint=f"write {fixed} here, or `{{port}}` in `command` and `ready`")
    message = "'{port}' is where `serve` listens, and the suite starts nothing"
    return Misfit(path=path, message=message, hint="add `serve: {command: […]}`, or write the port")


def _serving(
    providers: tuple[ToolsSpec, ...], key: str, document: JsonValue, found: dict[Keys, ServiceSpec]
) -> tuple[ToolsSpec, ...]:
    """Give providers with the services that were found for them."""
    services = [found.get(_path_of(key, at, document)) for at in range(len(providers))]
    return tuple(
        one.model_copy(update={"remote": one.remote.model_copy(update={"service": service})})
        if service is not None and one.remote is not None
        else one
        for one, service in zip(providers, services, strict=True)
    )


def _resetting(providers: tuple[ToolsSpec, ...], http: HttpAgentSpec | None) -> tuple[ToolsSpec, ...]:
    """Give providers with the request that resets the agent's service, where they are one and it takes any asker.

    The state that expected calls lead to is made without the agent, and begins in a world that was put back, too.
    """
    if http is None or not http.reset:
        return providers
    reset_as = AgentReset(address=http.address, headers=http.headers, seconds=http.seconds)
    return tuple(
        one.model_copy(update={"remote": rest.model_copy(update={"reset": http.reset, "reset_as": reset_as})})
        if isinstance(rest := one.remote, OpenApiSpec)
        and rest.service is not None
        and rest.service == http.serve
        and not rest.reset
        and http.headers in ({}, rest.headers)
        else one
        for one in providers
    )


def _parts(agent: AgentSpec, environment: EnvironmentSpec, document: JsonValue) -> list[_Part]:
    http = agent.http
    parts = [] if http is None else [_Part(("agent", "http"), "url", http.url, http.serve, http.reset)]
    for key in ("tools", "user_tools"):
        for at, one in enumerate(getattr(environment, key)):
            if isinstance(rest := one.remote, OpenApiSpec):
                is_document = not rest.base_url and is_web_address(rest.document)
                named = ("openapi", rest.document) if is_document else ("base_url", rest.base_url)
                parts.append(_Part(_path_of(key, at, document), *named, rest.service, rest.reset))
    return parts


def _path_of(key: str, at: int, document: JsonValue) -> Keys:
    """Give where a provider stands in the suite file, which may list several."""
    environment = document.get("environment") if isinstance(document, dict) else None
    is_list = isinstance(environment, dict) and isinstance(environment.get(key), list)
    return ("environment", key, at) if is_list else ("environment", key)


def on_one_port(suite: Suite) -> list[Problem]:
    """Give each service that listens at a fixed port: several processes of a session cannot each start one."""
    return [
        read_suite_document(suite.path).problem(
            (*part.path, "serve", "ready"),
            f"each of several workers starts a service, and all of them would listen at {part.listens_at}",
            "write `{port}` into `command`, `ready` and the addresses, or run with one process (`-n 0`)",
        )
        for part in _written(suite)
        if part.listens_at
    ]


def shared_services(suite: Suite, toolset: Toolset) -> list[str]:
    """Say, for each service that runs share and nothing resets, where the suite says so and what runs leave there.

    A suite of one run leaves nothing to another, nor do runs in which every expected call is known to read.
    """
    kinds = {spec.name: spec.kind for spec in toolset.specs}
    changing = [
        one.id
        for one in suite.scenarios
        if not kinds or any(kinds.get(call.name) not in ("read", "generic") for call in one.expected_calls)
    ]
    trials, variants = suite.trials or 1, len(suite.variants) or 1
    found = list(_unreset(suite)) if changing and len(suite.scenarios) * trials * variants > 1 else []
    if not found:
        return []
    document = read_suite_document(suite.path)
    changed = f"changes may be made by {listing(changing, _MOST_NAMES)}"
    message = f"every run may meet what others changed, with nothing that resets it; {changed}"
    return [str(document.problem(path, message, hint)) for path, hint in found]


def _unreset(suite: Suite) -> Iterator[tuple[Keys, str]]:
    """Yield where a service is shared and not reset, and what to write."""
    parts = _parts(suite.agent, suite.environment, None)
    reset = [part.service for part in parts if part.reset]
    for part in _written(suite):
        is_front = bool(reset) and part.path[0] == "agent"  # what it changes is behind what is reset
        if part.service and part.service.share == "session" and part.service not in reset and not is_front:
            yield (*part.path, "serve", "share"), _RESET
    for spec in suite.environment.providers:
        if isinstance(spec.remote, McpSpec) and spec.remote.share == "session":
            yield ("environment", "tools", "share"), _OWN


def place_of_service(suite: Suite, document: Document, at: Keys) -> Keys:
    """Give where the suite file has a key of a part: a list has an index, and `serve` may stand beside another part.

    `at` is the way to it with an index for every provider of tools.
    """
    if at[:1] == ("environment",):
        at = (*_path_of(str(at[1]), int(at[2]), document.value), *at[3:])
    if at[-1:] != ("serve",) or has_key(document, at):
        return at
    parts = _parts(suite.agent, suite.environment, document.value)
    service = next((part.service for part in parts if part.path == at[:-1]), None)
    same = (part.path for part in _written(suite) if part.service == service)
    return (*next(same, at[:-1]), "serve")


def has_key(document: Document, path: Keys) -> bool:
    """Whether a suite file itself has a key, with a value."""
    value: Any = document.value
    for key in path:
        try:
            value = value[key]
        except (TypeError, LookupError):
            return False
    return value is not None


def _written(suite: Suite) -> Iterator[_Part]:
    """Yield the parts that start a service in the suite file itself, which is read where there is any."""
    if not any(part.service for part in _parts(suite.agent, suite.environment, None)):
        return
    document = read_suite_document(suite.path)
    for part in _parts(suite.agent, suite.environment, document.value):
        if part.service is not None and has_key(document, (*part.path, "serve")):
            yield part
