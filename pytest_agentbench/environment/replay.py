"""The state that the expected calls lead to, found by making them on a fresh environment."""

import asyncio
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.scenario import ExpectedCall, Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Requestor, ToolCall, Toolset
from pytest_agentbench.environment.faults import HungError
from pytest_agentbench.environment.local import LocalEnvironment

_REFUSALS = (ValueError, LookupError, TypeError, PermissionError, sqlite3.IntegrityError)
"""Python's own exceptions by which a tool answers that it will not do what it was asked to."""


async def prepare(environment: LocalEnvironment, scenario: Scenario) -> None:
    """Make a scenario's `initialization_actions` (τ²); raise `EnvironmentFaultError` where one fails or is no tool.

    A τ² domain makes them when its state is opened, since they may be of methods that are no tools.
    """
    if environment.opens_whole:
        return
    initial = scenario.task.initial_state
    for action in (initial.initialization_actions or ()) if initial else ():
        name = str(action.get("func_name"))
        requestor: Requestor = "user" if action.get("env_type") == "user" else "assistant"
        if not environment.can_call(name, requestor):
            raise EnvironmentFaultError(f"initialization action {name!r}: the environment has no such tool")
        result = await environment.call(
            ToolCall(name=name, arguments=action.get("arguments") or {}, requestor=requestor)
        )
        if result.error:
            raise EnvironmentFaultError(f"initialization action {name!r} failed: {result.content}")


async def expected_state(
    env_factory: Callable[[], LocalEnvironment],
    calls: Sequence[ExpectedCall],
    scenario: Scenario | None = None,
    *,
    seconds: float | None = None,
    abandon: Callable[[], None] = lambda: None,
) -> tuple[State | None, dict[int, str]]:
    """Make the calls of both parties in order; give the state they lead to, and which of them (by position) fail.

    The state is None where it cannot be read, where a call is of a tool that cannot be called here (the agent brings
    its own), or where a call that may write holds matchers (`{$regex: …}`); reads with matchers are left out. What
    fails is told in the tool's words, and the others are made all the same. The environment is prepared as `scenario`
    asks. Raise `EnvironmentFaultError` where the environment breaks, where a tool that may write breaks
    (see `is_refusal`) at every expected call of it, or where preparing and calling take more than
    `seconds`; `abandon` then leaves the thread to what hangs in it.
    """
    problems: dict[int, str] = {}
    broken: dict[int, str] = {}
    async with env_factory() as environment:
        if await environment.snapshot() is None:
            return None, problems
        try:
            async with asyncio.timeout(seconds):
                if scenario is not None:
                    await prepare(environment, scenario)
                can_be_told = await _replayed(environment, calls, problems, broken)
        except TimeoutError:
            abandon()
            raise HungError(
                f"the replay of the expected calls has not ended within {seconds:g} s{environment.busy}"
            ) from None
        _refuse_broken(environment.tools, calls, broken)
        return (await environment.snapshot() if can_be_told else None), problems


def failure_text(call: ExpectedCall, problem: str) -> str:
    """Say that an expected call fails in the scenario's own world, and with what."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
    made = printable(f"{call.name}({shorten(arguments, 200)})")
    return f"the expected call {made} fails on a fresh environment too: {problem}"


def is_refusal(error: BaseException | None) -> bool:
    """Whether what a tool raised is its answer to the arguments, rather than a sign that it does not work.

    A tool refuses by a ValueError, LookupError, TypeError, PermissionError or sqlite3.IntegrityError, and by any
    exception that the project or a library defines. It is broken where anything else of Python's own comes out of it
    (RuntimeError, OSError, AttributeError, a bare Exception, …).
    """
    if error is None or isinstance(error, _REFUSALS):
        return True
    return type(error).__module__.partition(".")[0] not in {"builtins", *sys.stdlib_module_names}


def _refuse_broken(tools: Toolset, calls: Sequence[ExpectedCall], broken: Mapping[int, str]) -> None:
    """Raise `EnvironmentFaultError` for a tool that may write and breaks at every expected call of it."""
    for position, problem in broken.items():
        call = calls[position]
        spec = tools.get(call.name, call.requestor)
        others = [n for n, other in enumerate(calls) if (other.name, other.requestor) == (call.name, call.requestor)]
        if spec is not None and spec.kind not in ("read", "generic") and all(other in broken for other in others):
            raise EnvironmentFaultError(failure_text(call, problem))


async def _replayed(
    environment: LocalEnvironment, calls: Sequence[ExpectedCall], problems: dict[int, str], broken: dict[int, str]
) -> bool:
    """Make the calls, noting those that fail, and of them those that break; False where one cannot be made."""
    for position, call in enumerate(calls):
        if not environment.can_call(call.name, call.requestor):
            return False
        if holds_matcher(call.arguments):
            spec = environment.tools.get(call.name, call.requestor)
            if spec is not None and spec.kind == "read":
                continue
            return False
        made = ToolCall(name=call.name, arguments=call.arguments, requestor=call.requestor)
        result = await environment.call(made)
        if result.error:
            problems[position] = printable(shorten(result.content.removeprefix("Error: "), 300))
            if not is_refusal(environment.raised):
                broken[position] = problems[position]
    return True
