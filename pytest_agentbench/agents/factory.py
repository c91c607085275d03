"""From a suite's `agent:` to the agent of one run: import it, call the factory with what it declares, adapt it."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pytest_agentbench.agents.callables import (
    UserFunction,
    adapt,
    call_user,
    fill,
    has_parameter,
    is_required,
    is_single,
    parameters,
)
from pytest_agentbench.agents.failure import guard_sync
from pytest_agentbench.agents.frameworks.recognition import framework_agent, is_of_framework
from pytest_agentbench.agents.http.app import check_app, is_app
from pytest_agentbench.core.errors import SuiteFaultError, with_hint
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.core.protocols import Agent, RunSync
from pytest_agentbench.core.suite import AgentSpec
from pytest_agentbench.core.variants import vary_chat, vary_http
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.messages.content import shown

if TYPE_CHECKING:  # httpx2 takes a fifth of a second to import, and few suites need it
    from pytest_agentbench.agents.frameworks.agent import FrameworkAgent
    from pytest_agentbench.agents.http.answers import Faulty
    from pytest_agentbench.agents.http.connections import HttpConnections
    from pytest_agentbench.environment.service import Endpoint

T = TypeVar("T")

OpenChat = Callable[[ModelSpec], Chat]
"""Gives the agent of one run its model."""

Adapt = Callable[[object], object | None]
"""Gives an agent for what a factory gave, None where it is one already or nobody knows what it is."""


async def build_agent(
    spec: AgentSpec,
    *,
    root: Path,
    keywords: Mapping[str, object],
    offered: Mapping[str, object],
    run_sync: RunSync,
    chat: OpenChat | None = None,
    http: "HttpConnections | None" = None,
    endpoint: "Endpoint | None" = None,
    other: Adapt = lambda _: None,
    names: Sequence[str] = (),
    faulty: "Faulty | None" = None,
) -> Agent:
    """Build the agent of one run.

    A factory gets the variant's `keywords` and, of what is `offered` (tools, state, context, session_id, base_url),
    what it declares by name; `base_url` may be a coroutine function
    of the one that the factory has as a default, called only for a factory that takes it. A chat model
    is reached through `chat`, an endpoint over the connections of `http`, else over its own;
    `endpoint` is that of the variant where it was made ready. Sync code, the import
    included, goes through `run_sync`. What a framework made is an agent, whether the path leads to it or a factory gave
    it; `other` may know what to make of what a factory gave that is none;
    `names` are tools that the suite names, `faulty` finds the place of a key that an answer shows to be wrong.
    Raise `ImportPathError` where the path leads
    nowhere, `SuiteFaultError` where the agent cannot take the keywords or is none, `AgentError` where the factory
    raises.
    """
    if spec.kind == "openai":
        varied = vary_chat(_needed(spec.openai, spec), keywords)
        from pytest_agentbench.agents.chat_model import OpenAIChatAgent  # noqa: PLC0415 - few agents are a model alone

        return OpenAIChatAgent(_needed(chat, spec)(varied.model), varied)
    if spec.kind == "http":
        from pytest_agentbench.agents.http.agent import HttpAgent  # noqa: PLC0415 - imports httpx2
        from pytest_agentbench.agents.http.answers import unplaced  # noqa: PLC0415 - as above
        from pytest_agentbench.agents.http.connections import HttpConnections  # noqa: PLC0415 - as above
        from pytest_agentbench.environment.service import Endpoint  # noqa: PLC0415 - as above

        endpoint = endpoint or Endpoint(vary_http(_needed(spec.http, spec), keywords))
        route = await (http or HttpConnections()).route_to(endpoint.spec, root)
        now = cast("datetime | None", offered.get("now"))
        context = offered.get("context") or {}
        return HttpAgent(
            endpoint.spec,
            context=context,
            connections=route,
            now=now,
            service=endpoint.service,
            names=names,
            faulty=faulty or unplaced,
        )
    return await _build_own(
        spec.target, spec, root=root, keywords=keywords, offered=offered, run_sync=run_sync, other=other
    )


def check_import(spec: AgentSpec, root: Path) -> None:
    """Import what an agent's path leads to, if it has one, and call nothing of it.

    Raise `ImportPathError` where it leads nowhere, `SuiteFaultError` where no agent can come from what it leads to.
    """
    if spec.http is not None and spec.http.app:
        check_app(spec.http.app, root, factory=spec.http.factory)
    elif spec.kind in ("factory", "callable"):
        found = load_object(spec.target, root)
        if not is_of_framework(found):
            _callable(found, spec.target)


def base_url_default(factory: UserFunction) -> str | None:
    """Give the base URL that a factory uses where none is given: the text that its parameter `base_url` defaults to."""
    given = next((parameter for parameter in parameters(factory) or () if parameter.name == "base_url"), None)
    default = given.default if given is not None and is_single(given) else None
    return default if isinstance(default, str) and default else None


async def _build_own(
    target: str,
    spec: AgentSpec,
    *,
    root: Path,
    keywords: Mapping[str, object],
    offered: Mapping[str, object],
    run_sync: RunSync,
    other: Adapt,
) -> Agent:
    session = partial(
        framework_agent,
        session_id=str(offered.get("session_id") or ""),
        context=offered.get("context"),
        run_sync=run_sync,
        root=root,
    )

    def find() -> "tuple[object, FrameworkAgent | None]":
        found = load_object(target, root)
        return found, session(found)

    found, framed = await guard_sync(find, run_sync, root=root)
    if framed is not None:
        _refuse_keywords(f"{target!r} is an agent of {framed.framework}", keywords)
        return framed
    factory = _callable(found, target)
    if spec.kind == "callable":
        _refuse_keywords(f"{target!r} is a plain reply function", keywords)
        return adapt(factory, run_sync=run_sync, root=root)
    given = parameters(factory)
    offered = await _with_base_url(factory, given, keywords=keywords, offered=offered)
    arguments = factory_arguments(given, target, keywords=keywords, offered=offered)
    positional, named = fill(given or [], arguments)
    takes_tools = has_parameter(given, "tools") and "tools" in offered

    def known(made: object) -> "tuple[object, FrameworkAgent | None]":
        agent = made if made is None else other(made) or made
        return agent, session(agent, takes_tools=takes_tools)

    made = await call_user(factory, positional, named, run_sync=run_sync, root=root, then=known)
    agent, framed = cast("tuple[object, FrameworkAgent | None]", made)
    if agent is None:
        raise SuiteFaultError(f"the factory {target!r} gave None (does it return the agent that it builds?)")
    try:
        return framed or adapt(agent, run_sync=run_sync, takes_tools=takes_tools, root=root)
    except SuiteFaultError as error:
        raise SuiteFaultError(f"the factory {target!r}: {error}") from error


async def agent_of(made: object, *, session_id: str, context: Any = None, run_sync: RunSync, root: Path) -> Agent:
    """Give the agent of one run for what a factory may give: a framework's agent, a function, an object with `reply`.

    Raise `SuiteFaultError` where it is none of these.
    """
    framed = await guard_sync(
        lambda: framework_agent(made, session_id=session_id, context=context, run_sync=run_sync, root=root),
        run_sync,
        root=root,
    )
    return framed or adapt(made, run_sync=run_sync, root=root)


def _callable(found: object, target: str) -> UserFunction:
    if not callable(found):
        raise SuiteFaultError(f"{target!r} is {type(found).__name__} {shown(found)}, which cannot be called")
    if is_app(found):
        raise SuiteFaultError(f"{target!r} is an ASGI app: write `agent: {{http: {{app: {target}, url: /chat}}}}`")
    return found


def _refuse_keywords(what: str, keywords: Mapping[str, object]) -> None:
    if keywords:
        raise SuiteFaultError(f"{what} and takes no variant keywords, got {', '.join(keywords)}")


def factory_arguments(
    given: list[inspect.Parameter] | None,
    target: str,
    *,
    keywords: Mapping[str, object],
    offered: Mapping[str, object],
) -> dict[str, object]:
    """Choose what a factory with these parameters is called with.

    Raise `SuiteFaultError` for keywords that it lacks and parameters that nothing fills.

    `**kwargs` takes any variant keyword and nothing else; a variant keyword wins over what is offered.
    """
    if given is None:
        return dict(keywords)
    single = {parameter.name: parameter for parameter in given if is_single(parameter)}
    if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in given):
        _refuse_unknown(target, list(single), keywords)
    arguments = {name: value for name, value in offered.items() if name in single} | dict(keywords)
    missing = [name for name, parameter in single.items() if is_required(parameter) and name not in arguments]
    if missing:
        if missing == ["now"]:
            raise SuiteFaultError(
                f"the factory {target!r} requires now, and the suite has no clock; add `now: 2026-11-22T10:00Z`"
            )
        raise SuiteFaultError(
            f"the factory {target!r} requires {', '.join(missing)}, which is neither a keyword of the variant "
            f"({', '.join(keywords) or 'none'}) nor offered here ({', '.join(offered) or 'nothing'}); "
            f"if it is the reply function itself, write `agent: {{callable: {target}}}`"
        )
    return arguments


async def _with_base_url(
    factory: UserFunction,
    given: list[inspect.Parameter] | None,
    *,
    keywords: Mapping[str, object],
    offered: Mapping[str, object],
) -> dict[str, object]:
    """Ask for the base URL if the factory takes it from here, and leave it out if there is none."""
    others = dict(offered)
    offer = others.pop("base_url", None)
    if not has_parameter(given, "base_url") or "base_url" in keywords:
        return others
    url = await offer(base_url_default(factory)) if callable(offer) else offer
    return others if url is None else {**others, "base_url": url}


def _needed(part: T | None, spec: AgentSpec) -> T:
    if part is None:
        raise SuiteFaultError(f"the agent {spec.target!r} ({spec.kind}) cannot be reached from here")
    return part


def _refuse_unknown(target: str, names: list[str], keywords: Mapping[str, object]) -> None:
    unknown = [keyword for keyword in keywords if keyword not in names]
    if not unknown:
        return
    message = (
        f"the factory {target!r} has no parameter {', '.join(map(repr, unknown))} as the variant asks; "
        f"its parameters are {', '.join(names) or 'none'}"
    )
    raise SuiteFaultError(with_hint(message, suggestion(unknown[0], names)))
