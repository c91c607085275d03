"""From a suite's `agent:` to the agent of one run: import it, call the factory with what it declares, adapt it."""

import inspect
from collections.abc import Mapping
from pathlib import Path

from pytest_agentbench.agents.callables import AdaptedAgent, adapt
from pytest_agentbench.agents.calling import call_user
from pytest_agentbench.agents.content import shown
from pytest_agentbench.agents.failure import guard_sync
from pytest_agentbench.agents.signature import UserFunction, fill, is_required, is_single, parameters
from pytest_agentbench.agents.visibility import declares_tools
from pytest_agentbench.core.errors import SuiteFaultError, with_hint
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.core.suite import AgentSpec
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.environment.runner import Runner


async def build_agent(
    spec: AgentSpec,
    *,
    root: Path,
    keywords: Mapping[str, object],
    offered: Mapping[str, object],
    run_sync: Runner,
) -> AdaptedAgent:
    """Build the agent of one run.

    A factory gets the variant's `keywords` and, of what is `offered` (tools, state, context, session_id), what it
    declares by name. Sync code, the import included, goes through `run_sync`. Raise `ImportPathError` where the path
    leads nowhere, `SuiteFaultError` where the factory cannot take the keywords or gives no agent, `AgentError` where it
    raises.
    """
    target = spec.target
    found = await guard_sync(lambda: load_object(target, root), run_sync, root=root)
    if not callable(found):
        raise SuiteFaultError(f"{target!r} is {type(found).__name__} {shown(found)}, which cannot be called")
    if spec.kind == "callable":
        if keywords:
            names = ", ".join(keywords)
            raise SuiteFaultError(f"{target!r} is a plain reply function and takes no variant keywords, got {names}")
        return adapt(found, run_sync=run_sync, root=root)
    arguments = factory_arguments(found, target, keywords=keywords, offered=offered)
    positional, named = fill(parameters(found) or [], arguments)
    made = await call_user(found, positional, named, run_sync=run_sync, root=root)
    takes_tools = declares_tools(found) and "tools" in offered
    return adapt(made, run_sync=run_sync, takes_tools=takes_tools, root=root)


def factory_arguments(
    factory: UserFunction, target: str, *, keywords: Mapping[str, object], offered: Mapping[str, object]
) -> dict[str, object]:
    """Choose what `factory` is called with; raise `SuiteFaultError` for keywords it lacks and parameters nothing fills.

    `**kwargs` takes any variant keyword and nothing else; a variant keyword wins over what is offered.
    """
    given = parameters(factory)
    if given is None:
        return dict(keywords)
    single = {parameter.name: parameter for parameter in given if is_single(parameter)}
    if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in given):
        _refuse_unknown(target, list(single), keywords)
    arguments = {name: value for name, value in offered.items() if name in single} | dict(keywords)
    missing = [name for name, parameter in single.items() if is_required(parameter) and name not in arguments]
    if missing:
        raise SuiteFaultError(
            f"the factory {target!r} requires {', '.join(missing)}, which is neither a keyword of the variant "
            f"({', '.join(keywords) or 'none'}) nor offered here ({', '.join(offered) or 'nothing'}); "
            f"if it is the reply function itself, write `agent: {{callable: {target}}}`"
        )
    return arguments


def _refuse_unknown(target: str, names: list[str], keywords: Mapping[str, object]) -> None:
    unknown = [keyword for keyword in keywords if keyword not in names]
    if not unknown:
        return
    message = (
        f"the factory {target!r} has no parameter {', '.join(map(repr, unknown))} as the variant asks; "
        f"its parameters are {', '.join(names) or 'none'}"
    )
    raise SuiteFaultError(with_hint(message, suggestion(unknown[0], names)))
