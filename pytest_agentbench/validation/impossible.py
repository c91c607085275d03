"""What a suite asks for that no run could do: rows that nothing puts anywhere, a state that nothing tells, calls that
are forbidden as well.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pytest_agentbench.checks.matchers import matches
from pytest_agentbench.core.errors import AgentBenchError, Problem
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.matchers import holds_matcher, is_reference
from pytest_agentbench.core.misfit import Misfit
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import StateSpec, Suite
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.environment.json_state import JsonState
from pytest_agentbench.environment.state_provider import build_provider
from pytest_agentbench.suites.call_check import Finder
from pytest_agentbench.validation.world_values import shape_of

if TYPE_CHECKING:  # few suites have rules
    from pytest_agentbench.environment.sqlite_state import SqliteState
    from pytest_agentbench.suites.rule_types import RuleFault, ValueForm


def impossible(suite: Suite, toolset: Toolset) -> list[Problem]:
    """Give each of these at its place in the files."""
    return [*_unusable_state(suite, toolset), *_forbidden(suite)]


def _unusable_state(suite: Suite, toolset: Toolset) -> Iterator[Problem]:
    """Give what is wrong with where state comes from: one problem here, and not one of every run.

    So are rows of scenarios that nothing can put there, and those that the suite's database does not take.
    """
    spec, finder = suite.environment.state, Finder(suite.path)
    written = [(one, rows) for one in suite.scenarios if (rows := one.initial_rows)]
    if spec is None or spec.kind == "tools":
        is_placed = suite.environment.offered is not None or suite.agent.kind == "transcripts"
        yield from () if is_placed else (finder.state_problem(one, _unplaced(spec)) for one, _ in written)
        yield from _untold(spec, suite, toolset, finder) if spec is not None else ()
    if spec is None or spec.kind not in ("json", "sqlite"):
        return
    try:
        provider = build_provider(spec, suite.root)
        if spec.kind == "json":
            cast("JsonState", provider).check()
            return
        refused = [*cast("SqliteState", provider).refused(rows for _, rows in written)]
    except AgentBenchError as error:
        yield Problem(file=suite.path, key=f"environment.state.{spec.kind}", message=str(error))
        return
    for (scenario, _), misfits in zip(written, refused, strict=True):
        yield from (finder.state_problem(scenario, misfit) for misfit in misfits)


def _unplaced(spec: StateSpec | None) -> Misfit:
    """Say that nothing puts a scenario's rows into the world that its agent acts on."""
    if spec is None:
        message = "nothing puts these rows anywhere: the suite has no environment.state"
        hint = "start from what is there and leave them out, or add `environment: {state: …}`"
    else:
        message = "nothing puts these rows anywhere: `state: {tools: …}` can only read"
        hint = "start from what is there and leave them out"
    hint += "; the `open` of `state: {own: …}` gets them, and can put them into a service"
    return Misfit(path=(), message=message, hint=hint)


def _untold(spec: StateSpec, suite: Suite, toolset: Toolset, finder: Finder) -> Iterator[Problem]:
    """Give the calls of `state: {tools: …}` that cannot tell a state: of no remote tool, or of one that writes."""
    remote = [part for part in suite.environment.tools if part.remote is not None]
    local = [part for part in suite.environment.tools if part.remote is None]
    names = sorted(one.name for one in toolset.of("assistant")) if not local else []
    for index, call in enumerate(spec.options["tools"]):
        name, arguments = (call, {}) if isinstance(call, str) else next(iter(call.items()))
        tool = toolset.get(name, "assistant")
        message = hint = ""
        if not remote:
            message = f"{name!r} is no tool of another process, and only such tools can tell the state"
            hint = "name a REST service or an MCP server at `environment.tools`, or leave `state` out"
        elif tool is None and names:
            message = f"there is no tool {name!r}; there are {listing(names)}"
            hint = suggestion(name, names)
        elif tool is not None and tool.kind == "write" and tool.kind_from != "name":
            message = f"{name!r} writes, and the state is read before and after each run"
            hint = "name a tool that only reads; one that does so belongs into `reads`"
        elif tool is not None and (missing := sorted({*tool.parameters.get("required", ())} - {*(arguments or {})})):
            message = f"{name!r} needs {listing(missing)}"
            hint = f"write {{{name}: {{{missing[0]}: …}}}}"
        if message:
            yield finder.suite_problem(("environment", "state", "tools", index), message, hint)


def unfit_states(suite: Suite, states: Sequence[State]) -> Iterator[Problem]:
    """Give what rules ask of the state that none of these has: a table, or a column; a row may be absent."""
    from pytest_agentbench.suites.rule_check import state_paths  # noqa: PLC0415 - what reads rules takes long to load

    finder = Finder(suite.path)
    for position, policy in enumerate(suite.policies if states else ()):
        rule = to_json(policy.rule)
        for path in state_paths(rule, ("rule",)) if policy.rule is not None else ():
            asked = reduce(getitem, path[1:], rule)
            for where, message, hint in _unfit_state(asked["at"], asked["value"], states):
                yield finder.policy_problem((position, *path, *where), message, hint)


def _unfit_state(at: Sequence[JsonValue], value: JsonValue, states: Sequence[State]) -> "Iterator[RuleFault]":
    """Follow the way through all states at once; it ends where nothing was seen, so that nothing is known."""
    from pytest_agentbench.suites.rule_types import missing_step, never_true  # noqa: PLC0415 - as above

    found: list[JsonValue] = list(states)
    way: list[str] = []
    for depth, step in enumerate(at):
        inner = [one[str(step)] for one in found if isinstance(one, dict) and str(step) in one]
        if not inner:
            entries = [item for one in found for item in _entries(one)]
            is_row = depth > 0 and all(isinstance(one, dict) for one in entries)
            if not (is_reference(step) or is_row):
                yield from missing_step([str(step)], _form(found), ("at", depth), _whose(way))
                return
            inner = entries
        found = inner
        way.append(f"<{next(iter(step.values()))}>" if is_reference(step) else str(step))
    if found:
        yield from never_true(value, _form(found), ("value",), _whose(way))


def _entries(value: JsonValue) -> Iterable[JsonValue]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _form(found: Sequence[JsonValue]) -> "ValueForm":
    """Give what values were seen to be; where mappings differ in their keys, another one may have others still."""
    from pytest_agentbench.suites.rule_types import form_of  # noqa: PLC0415 - as above

    shape = shape_of(found)
    if len({frozenset(one) for one in found if isinstance(one, dict)}) > 1:
        for way in shape.get("anyOf", [shape]):
            way.pop("additionalProperties", None)
    return form_of([shape], {})


def _whose(way: Sequence[str]) -> str:
    place = ".".join(map(printable, way))
    return f"the state{' at ' if way else ''}{place} of right runs"


def _forbidden(suite: Suite) -> Iterator[Problem]:
    """Give each expected call that the `never` of its own scenario forbids: no agent could pass."""
    finder = Finder(suite.path)
    for scenario in suite.scenarios:
        for index, never in enumerate(scenario.never):
            wanted = next((one for one in scenario.expected_calls if _covers(never, one)), None)
            if wanted is None or scenario.expect_any:
                continue
            found = finder.call(scenario, "never", index)
            fault = Misfit(path=(), message=f"forbids {wanted.name!r} as `expect` asks for it", hint="keep one of them")
            if found is not None:
                yield found.problem(fault)
            else:
                yield Problem(file=Path(scenario.file), line=scenario.line, key="never", message=fault.message)


def _covers(never: ExpectedCall, wanted: ExpectedCall) -> bool:
    """Whether every call that an expected one describes is forbidden."""
    if (never.name, never.requestor) != (wanted.name, wanted.requestor) or never.by not in (None, wanted.by):
        return False
    kept = wanted.compared
    return all(name in kept and _admits(never.arguments[name], wanted.arguments[name]) for name in never.compared)


def _admits(forbidden: object, wanted: object) -> bool:
    """Whether what is forbidden of an argument holds for what is wanted, as far as no function has to be asked."""
    if forbidden == wanted or holds_matcher(wanted):
        return forbidden == wanted
    try:
        return matches(forbidden, wanted)
    except (AgentBenchError, ValueError):
        return False
