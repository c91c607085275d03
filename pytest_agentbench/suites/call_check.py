"""Expected calls against the tools there are: a call that no agent can make is an error of the suite."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.fault import FaultSpec
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import Keys, Misfit, dotted
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.scenario import ExpectedCall, Scenario
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Requestor, Toolset, ToolSpec
from pytest_agentbench.spec.document import Document
from pytest_agentbench.spec.loading import read_document
from pytest_agentbench.suites.argument_schema import argument_misfits
from pytest_agentbench.suites.extends import read_suite_document
from pytest_agentbench.suites.scenario_files import Entry, entries_in, read_scenario_file
from pytest_agentbench.suites.task_fields import HANDOFF, arguments_path, calls_of, is_approval, stated_calls

_APPROVAL = " approval"
"""What sets the approvals of `expect` and `never` apart from their calls."""


def check_calls(suite: Suite, toolset: Toolset) -> list[Problem]:
    """Give every expected or forbidden call, every rule, `reads` and `writes` that name what is not there, or give
    a value that the tool refuses.

    Files are read again, for the position alone, only when something is wrong. The agent's calls are not checked where
    no tool of an agent is known: it may bring its own.
    """
    finder = Finder(suite.path)
    if not toolset:
        # tools that could not be loaded are told elsewhere, and say nothing about names
        has_tools = suite.environment.tools or suite.environment.user_tools or suite.environment.offered
        known = [] if has_tools else list(_name_problems(suite, toolset, finder))
        return [*known, *fault_problems(suite, toolset, finder.suite_problem)]
    problems: list[Problem] = []
    for scenario in suite.scenarios:
        others = ((f"expect_any.{way}", calls) for way, calls in enumerate(scenario.expect_any))
        asked = (("expect" + _APPROVAL, scenario.asks), ("never" + _APPROVAL, scenario.never_asks))
        for kind, calls in (("expect", scenario.expected_calls), ("never", scenario.never), *others, *asked):
            for index, call in enumerate(calls):
                for fault in _faults(call, toolset):
                    if kind.endswith(_APPROVAL) and not fault.path and not fault.hint:
                        continue  # an agent may ask in the name of a node, or of a tool of its own
                    found = finder.call(scenario, kind, index)
                    if found is None:
                        file, line, message = Path(scenario.file), scenario.line, fault.message
                        problems.append(Problem(file=file, line=line, key=kind, message=message, hint=fault.hint))
                    else:
                        problems.append(found.problem(fault))
        if (scenario.handoffs or scenario.never_handoffs) and toolset.get(HANDOFF) is not None:
            problems.append(_clash(scenario))
    named = [*_name_problems(suite, toolset, finder), *_rule_problems(suite, toolset, finder)]
    return [*problems, *named, *fault_problems(suite, toolset, finder.suite_problem)]


def _clash(scenario: Scenario) -> Problem:
    """Describe that nobody can tell what `handoff` is here: a tool of this name, or a handoff between agents."""
    key = "expect" if scenario.handoffs else "never"
    message = f"{HANDOFF!r} is a handoff between agents here, and the agent has a tool of this name"
    hint = f"write the tool in full, {{name: {HANDOFF}, arguments: {{…}}}}, and no handoff"
    return Problem(file=Path(scenario.file), line=scenario.line, key=key, message=message, hint=hint)


def _faults(call: ExpectedCall, toolset: Toolset) -> Iterator[Misfit]:
    """Yield what is wrong with one call, its tool (no path) or one of its arguments (a path from their mapping)."""
    requestor: Requestor = call.requestor
    tools = toolset.of(requestor)
    if not tools and requestor == "assistant":
        return
    tool = toolset.get(call.name, requestor)
    if tool is None:
        names = [spec.name for spec in tools]
        other: Requestor = "user" if requestor == "assistant" else "assistant"
        whose = "agent" if requestor == "assistant" else "user"
        called = call.name.partition("(")[0]
        hint = f"write {{{called}: {{argument: value}}}}" if called in names else suggestion(call.name, names)
        if toolset.get(call.name, other):
            hint = f"it is a tool of the other party: write requestor: {other}"
        message = f"the {whose} has no tool {call.name!r}; it has {listing(sorted(names)) or 'none'}"
        yield Misfit(path=(), message=message, hint=hint)
        return
    yield from _mistyped(call, tool)
    allowed = tool.arguments
    if allowed is None:
        return
    for argument in dict.fromkeys((*call.arguments, *(call.compare_args or ()))):
        if argument not in allowed:
            known = listing(sorted(allowed)) or "none"
            message = f"the tool {call.name!r} has no argument {argument!r}; it has {known}"
            yield Misfit(path=(argument,), message=message, hint=suggestion(argument, allowed), at_key=True)


def _mistyped(call: ExpectedCall, tool: ToolSpec) -> Iterator[Misfit]:
    """Yield the arguments that the tool's schema refuses; a call with them is made by nobody."""
    if call.arguments:
        for misfit in argument_misfits(call.arguments, tool.parameters):
            yield replace(misfit, message=f"argument {misfit.path[0]!r} of {call.name!r}: {misfit.message}")


def _name_problems(suite: Suite, toolset: Toolset, finder: "Finder") -> Iterator[Problem]:
    """Yield names in the suite's `reads` and `writes` that are no tool; an agent's own tools are not known here."""
    names = toolset.names()
    if not suite.environment.tools and suite.environment.offered is None:
        return
    for key, listed in (("reads", suite.environment.reads), ("writes", suite.environment.writes)):
        for index, name in enumerate(listed):
            if name not in names:
                message = f"there is no tool {name!r}; there are {listing(sorted(names)) or 'none'}"
                yield finder.suite_problem(("environment", key, index), message, suggestion(name, names))


def _rule_problems(suite: Suite, toolset: Toolset, finder: "Finder") -> Iterator[Problem]:
    """Yield what rules of policies name in vain."""
    if not suite.policies:
        return
    from pytest_agentbench.suites.rule_check import rule_faults  # noqa: PLC0415 - what reads rules takes long to load

    for position, policy in enumerate(suite.policies):
        for path, message, hint in rule_faults(policy, toolset):
            yield finder.policy_problem((position, *path), message, hint)


@dataclass(frozen=True, kw_only=True)
class _Found:
    """A call as a file writes it."""

    document: Document
    path: Keys
    form: JsonValue

    def problem(self, fault: Misfit) -> Problem:
        """Describe what is wrong with the call's tool, or with one of its arguments."""
        inside, message, hint = arguments_path(self.form), fault.message, fault.hint
        if fault.path:
            return self.document.problem((*self.path, *inside, *fault.path), message, hint, at_key=fault.at_key)
        if inside == ("arguments",):
            return self.document.problem((*self.path, "name"), message, hint)
        return self.document.problem((*self.path, *inside), message, hint, at_key=True)


class Finder:
    """Finds where a call or a state stands, reading each file at most once."""

    def __init__(self, suite_path: Path) -> None:
        self._suite_path = suite_path
        self._entries: dict[Path, list[Entry]] = {}
        self._suite: Document | None = None
        self._policies: tuple[Document, bool] | None = None

    def suite_problem(self, path: Keys, message: str, hint: str) -> Problem:
        """Describe a problem of the suite file itself."""
        try:
            document = self._suite = self._suite or read_suite_document(self._suite_path)
        except SuiteError:  # it was readable when the suite was loaded and has changed since
            return Problem(file=self._suite_path, message=message, hint=hint)
        return document.problem(path, message, hint)

    def policy_problem(self, path: Keys, message: str, hint: str) -> Problem:
        """Describe a problem of a policy, in the suite or in the file that lists policies."""
        try:
            if self._policies is None:
                suite = read_suite_document(self._suite_path)
                listed = suite.value["policies"]
                inline = not isinstance(listed, str)
                self._policies = (
                    suite if inline else read_document(suite.file_of(("policies",)).parent / listed),
                    inline,
                )
        except SuiteError:  # as above
            return Problem(file=self._suite_path, key="policies", message=message, hint=hint)
        document, inline = self._policies
        return document.problem(("policies", *path) if inline else path, message, hint)

    def state_problem(self, scenario: Scenario, misfit: Misfit) -> Problem:
        """Describe what is wrong in the state that a scenario begins with."""
        entry = self.entry(scenario)
        if entry is None:
            message, hint = f"{dotted(misfit.path)}: {misfit.message}", misfit.hint
            return Problem(file=Path(scenario.file), line=scenario.line, key="state", message=message, hint=hint)
        whole = ("initial_state", "initialization_data", "agent_data")
        path = (*entry.path, *(("state",) if "state" in entry.value else whole), *misfit.path)
        return entry.document.problem(path, misfit.message, misfit.hint, at_key=misfit.at_key)

    def call(self, scenario: Scenario, kind: str, index: int) -> "_Found | None":
        """Find a call of a scenario in its file, None where it is not there any more."""
        entry = self.entry(scenario)
        try:
            return None if entry is None else _call_at(entry, kind, index)
        except (LookupError, TypeError, AttributeError):
            return None

    def entry(self, scenario: Scenario) -> Entry | None:
        """Find a scenario in its file, or None when it is not there any more."""
        file = Path(scenario.file or self._suite_path)
        if file not in self._entries:
            self._entries[file] = self._read(file)
        named = [one for one in self._entries[file] if str(one.value.get("id")) == scenario.task.id]
        # versions of a τ² task, one a line, have one id
        here = [one for one in named if one.document.line(one.path) == scenario.line]
        return next(iter(here if len(named) > 1 else named), None)

    def _read(self, file: Path) -> list[Entry]:
        try:
            inline = entries_in(read_suite_document(self._suite_path))
            entries = [one for one in inline if one.document.file_of(one.path) == file] or [*read_scenario_file(file)]
        except SuiteError:  # as above: positions are lost, the problem is told all the same
            return []
        return [one for one in entries if isinstance(one.value, dict)]


def _call_at(entry: Entry, kind: str, index: int) -> _Found:
    ours = entry.ours[len(entry.path) :]
    form = entry.value.get(ours[0], {}) if ours else entry.value
    is_first_way = entry.is_own and "expect_any" in form and stated_calls(form.get("expect")) is None
    if kind.endswith(_APPROVAL):
        kind = kind.removesuffix(_APPROVAL)
        place = [at for at, item in enumerate(form[kind]) if is_approval(item)][index]
        path: Keys = (*ours, kind, place, "approval")
    elif kind == "never":
        path = (*ours, kind, _nth_call(form[kind], index))
    elif kind.startswith("expect_any"):
        path = (*ours, "expect_any", int(kind.partition(".")[2]) + is_first_way, index)
    elif is_first_way:
        path = ("expect_any", 0, index)
    elif kind in entry.value:
        path = (kind, _nth_call(entry.value[kind], index))
    else:
        path = ("evaluation_criteria", "actions", index)
    found = entry.value
    for step in path:
        found = found[step]
    return _Found(document=entry.document, path=(*entry.path, *path), form=found)


def _nth_call(items: list[JsonValue], index: int) -> int:
    """Give the place of a call in a list that may hold handoffs and approvals, too."""
    return [at for at, item in enumerate(items) if calls_of([item])][index]


Point = Callable[[Keys, str, str], Problem]
"""Gives a problem of the suite file at a path."""


def fault_problems(suite: Suite, toolset: Toolset, point: Point) -> Iterator[Problem]:
    """Yield the faults of the axis and of scenarios that name no tool of the agent's, or can strike nowhere."""
    for index, entry in enumerate(suite.faults):
        for position, fault in enumerate(entry):
            if wrong := _wrong(fault, suite, toolset):
                path: Keys = ("faults", index, position) if len(entry) > 1 else ("faults", index)
                yield point(path, *wrong)
    for scenario in suite.scenarios:
        for fault in scenario.faults:
            if wrong := _wrong(fault, suite, toolset):
                message, hint = wrong
                file = Path(scenario.file)
                yield Problem(file=file, line=scenario.line, key=f"{scenario.id}: faults", message=message, hint=hint)


def _wrong(fault: FaultSpec, suite: Suite, toolset: Toolset) -> tuple[str, str] | None:
    if suite.agent.kind == "transcripts":
        return f"{fault.name!r} has no effect: the conversations are recorded", "leave `faults` out"
    if suite.agent.http is not None and suite.agent.http.makes_calls:
        why = "the agent's service makes its calls itself (`call.result` is mapped)"
        return f"{fault.name!r} has no effect: {why}", "leave `faults` out, or have the service fail by itself"
    names = sorted(spec.name for spec in toolset.of("assistant"))
    if not names:
        if suite.environment.tools:
            return None  # tools that are not known here are told elsewhere
        hint = "name the agent's tools at `environment: {tools: …}`, and have the agent use those"
        return f"{fault.name!r} has no effect: no tools are named", hint
    if fault.tool not in ("*", *names):
        return f"there is no tool {fault.tool!r}; there are {listing(names)}", suggestion(fault.tool, names)
    return None
