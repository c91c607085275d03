"""Suite files: read, checked as a whole, and turned into a `Suite`."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, cast

from pytest_agentbench.core.base import lean
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import GateError, Problem, SuiteError, SuiteFaultError
from pytest_agentbench.core.fault import FaultSpec, axis_id
from pytest_agentbench.core.file_models import IN_FILE, read_form
from pytest_agentbench.core.gate_grammar import KnownNames, parse_gate
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.misfit import Keys, Misfit
from pytest_agentbench.core.moments import MOMENTS, clock_misfits, clock_of, dated
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.placeholders import names_in
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.rubric import Rubric, WrittenRubric
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.suite import AgentSpec, GenerateSpec, JudgeSpec, Suite, UserSpec
from pytest_agentbench.core.variants import vary_chat, vary_http
from pytest_agentbench.spec.document import Document
from pytest_agentbench.spec.environment import OfferedForm
from pytest_agentbench.spec.loading import read_document, read_part
from pytest_agentbench.spec.suite import ChatAgentForm, Policies, SuiteFile, TrialsForm
from pytest_agentbench.suites.extends import read_suite_document
from pytest_agentbench.suites.hashes import suite_hash
from pytest_agentbench.suites.language import LanguageError, language_of
from pytest_agentbench.suites.named_tools import named_tools
from pytest_agentbench.suites.parts import PartReader
from pytest_agentbench.suites.scenario_files import (
    Entry,
    entries_in,
    find_scenario_files,
    id_problems,
    keyed_apart,
    read_scenario,
    read_scenario_file,
)
from pytest_agentbench.suites.seen_writes import read_seen
from pytest_agentbench.suites.shared_services import joined
from pytest_agentbench.suites.substitution import Substitution

_NOTHING = "nothing:here"
"""Stands for an agent, or for all scenarios, that do not fit, so that what else is there is read."""

_HASHED_PARTS = ("agent", "variants", "environment", "context", "now")


def load_suite(
    path: Path,
    *,
    environ: Mapping[str, str],
    generating: bool = False,
    listing: bool = False,
    without_agent: bool = False,
) -> Suite:
    """Read a suite with its scenarios and policies; `environ` gives the values of `${VAR}`.

    `generating` leaves out what the recipe (`generate`) writes, which need not be there, or be right, yet, and
    `listing` committed lists of tools. `without_agent` takes a suite that names no agent: its recipe needs none.
    Paths in the suite are absolute, whatever `path` is. Raises `SuiteError` with every problem of every file at once,
    ordered by file and line.
    """
    reader = _SuiteReader(
        path.absolute(),
        Substitution(environ),
        generating=generating,
        listing=listing,
        without_agent=without_agent,
    )
    return reader.read()


class _SuiteReader:
    """Reads one suite; a part that does not fit the schema is left out so that the others are still checked."""

    def __init__(
        self, path: Path, substitution: Substitution, *, generating: bool, listing: bool, without_agent: bool
    ) -> None:
        self._path = path
        self._generating = generating
        self._without_agent = without_agent
        self._recipe: GenerateSpec | None = None
        self._root = path.parent
        self._substitution = substitution
        self._problems: list[Problem] = []
        written = read_suite_document(path)
        self._document = substitution.apply(written)
        self._broken: set[Keys] = set()
        self._form = self._checked()
        self._parts = PartReader(self._document, self._root, self._problems, written, self._form.llm, listing=listing)
        self._now: datetime | None = None

    def read(self) -> Suite:
        """Read all parts."""
        form = self._form
        self._now = self._clock()
        policies = self._policies()
        if form.generate and self._fits("llm"):
            self._recipe = self._parts.generate(form.generate)
        environment = self._parts.environment(form.environment).model_copy(update={"now": self._now})
        varied = {key for keywords in form.variants.values() for key in keywords or ()}
        agent, environment, wrong = joined(self._agent(), environment, self._document.value, varied)
        for one in wrong if self._fits("agent") and self._fits("environment") else ():
            self._note(one, self._document)
        self._check_language(form.language, self._document, ("language",))
        trials = form.trials if isinstance(form.trials, TrialsForm) else TrialsForm.model_construct(most=form.trials)
        suite = Suite(
            name=form.name or self._default_name(),
            owner=form.owner,
            path=self._path,
            root=self._root,
            agent=agent,
            variants={name: keywords or {} for name, keywords in form.variants.items()},
            environment=environment,
            language=form.language,
            user=self._user(),
            cassette=self._parts.cassette(form.cassette),
            judge=self._judge(),
            auditor=self._parts.auditor(form.auditor),
            rubric=self._rubric(),
            policies=policies,
            scenarios=self._scenarios(policies),
            limits=form.limits,
            stall=form.stall,
            gates=self._gates(policies),
            trials=trials.most,
            stops_early=trials.stop == "sequential",
            faults=self._faults(),
            context=self._dated(form.context, self._document, ("context",)),
            generate=self._recipe,
        )
        self._check_variants(suite)
        if self._problems or self._substitution.problems:
            self._raise()
        parts: dict[str, JsonValue] = {key: one for key, one in self._document.value.items() if key in _HASHED_PARTS}
        content_hash = suite_hash(suite, parts, self._parts.files, self._substitution.mask)
        seen = {"seen": read_seen(self._path), "named": named_tools(suite.scenarios)}
        environment = suite.environment.model_copy(update=seen)
        whole = _without_rejected(suite).model_copy(
            update={"content_hash": content_hash, "secrets": self._substitution.secrets, "environment": environment}
        )
        return lean(whole, {})

    def _checked(self) -> SuiteFile:
        """Give the keys of the file that fit their models, and note all that does not."""
        form = self._document.value
        if self._without_agent and isinstance(form, dict):
            form = {"agent": _NOTHING, **form}
        found, wrong = read_form(form, SuiteFile)
        for one in wrong:
            self._broken |= {one.path[:1], one.path[:2]}
            self._note(one, self._document)
        if wrong and not isinstance(form, dict):
            self._raise()
        if wrong:
            if ("policies",) in self._broken:
                self._check_rules_of_wrong_policies(self._document, ("policies",))
            whole: dict[str, JsonValue] = {"agent": _NOTHING, "scenarios": [_NOTHING]}
            whole |= {key: form[key] for key in form.keys() & SuiteFile.keys() if (key,) not in self._broken}
            found = SuiteFile.model_validate(whole, context=IN_FILE)
        return cast("SuiteFile", found)

    def _check_rules_of_wrong_policies(self, document: Document, path: Keys) -> None:
        """Note what is wrong with rules beside a policy that does not fit, since none of these is looked at again."""
        policies = document.value
        for step in path:
            policies = policies.get(step)
        for index, policy in enumerate(policies if isinstance(policies, list) else ()):
            if isinstance(policy, dict) and isinstance(policy.get("rule"), dict):
                from pytest_agentbench.suites.rule_check import rule_misfits  # noqa: PLC0415 - few policies have a rule

                for one in rule_misfits(policy["rule"], (*path, index, "rule")):
                    self._note(one, document)

    def _note(self, one: Misfit, document: Document) -> None:
        self._problems.append(document.problem(one.path, one.message, one.hint, at_key=one.at_key))

    def _raise(self) -> NoReturn:
        problems = {str(problem): problem for problem in (*self._substitution.problems, *self._problems)}
        ordered = sorted(problems.values(), key=lambda one: (one.file != self._path, one.file, one.line, one.column))
        raise SuiteError([self._substitution.mask_problem(problem) for problem in ordered])

    def _fits(self, key: str) -> bool:
        return (key,) not in self._broken and (key in self._document.value or key != "agent")

    def _user(self) -> UserSpec:
        return self._parts.user(self._form.user) if self._fits("llm") else UserSpec()

    def _judge(self) -> JudgeSpec | None:
        return self._parts.judge(self._form.judge) if self._fits("llm") else None

    def _default_name(self) -> str:
        stem = self._path.name.removesuffix(".yaml").removesuffix("agentbench").rstrip(".")
        return stem or self._path.parent.name or "suite"

    def _faults(self) -> tuple[tuple[FaultSpec, ...], ...]:
        axis = self._form.faults
        names = [axis_id(entry) for entry in axis]
        for index, name in enumerate(names):
            if name in names[:index]:
                message = "this entry is listed twice, so every scenario would run twice with it"
                self._problems.append(self._document.problem(("faults", index), message, ""))
        return axis

    def _has_state(self) -> bool:
        environment = self._form.environment
        return not self._fits("environment") or isinstance(environment, OfferedForm) or bool(environment.state)

    def _clock(self) -> datetime | None:
        written = self._form.now
        now = None if written is None else clock_of(written)
        if written is not None and now is None:
            self._broken.add(("now",))
            self._problems.append(self._document.problem(("now",), f"{written}: there is no such date"))
        return now

    def _dated(self, value: dict[str, Any], document: Document, path: Keys) -> dict[str, Any]:
        """Put dates in the place of `{$today: …}` and `{$now: …}`; note those that nobody can tell."""
        wrong = list(clock_misfits(value, path, self._now, checked=False))
        for one in wrong if ("now",) not in self._broken else ():
            self._note(one, document)
        return value if wrong or self._now is None else dict(dated(value, self._now))

    def _agent(self) -> AgentSpec:
        takes_from_llm = isinstance(self._form.agent, ChatAgentForm)
        if not self._fits("agent") or (takes_from_llm and not self._fits("llm")):
            return AgentSpec(kind="factory")
        return self._parts.agent(self._form.agent)

    def _check_language(self, name: str, document: Document, path: Keys) -> None:
        try:
            language_of(name, self._root)
        except LanguageError as error:
            self._problems.append(document.problem(path, str(error)))

    def _rubric(self) -> Rubric | None:
        form = self._form.rubric
        if not isinstance(form, str):
            return form
        document = self._named_document(form, ("rubric",))
        try:
            return cast("Rubric", read_part(document, WrittenRubric)) if document else None
        except SuiteError as error:
            self._problems += error.problems
            return None

    def _named_document(self, name: str, path: Keys) -> Document | None:
        """Read the file that a key names, None where that cannot be done."""
        file = self._parts.file(name, path)
        try:
            return read_document(file) if file in self._parts.files.values() else None
        except SuiteError as error:
            self._problems += error.problems
            return None

    def _policies(self) -> tuple[Policy, ...]:
        form = self._form.policies
        if not isinstance(form, str):
            return self._distinct_policies(form, self._document, ("policies",))
        document = self._named_document(form, ("policies",))
        if document is not None:
            try:
                return self._distinct_policies(read_part(document, Policies), document, ())
            except SuiteError as error:
                self._problems += error.problems
                self._check_rules_of_wrong_policies(document, ())
        self._broken.add(("policies",))
        return ()

    def _distinct_policies(self, found: Iterable[Policy], document: Document, path: Keys) -> tuple[Policy, ...]:
        policies: dict[str, Policy] = {}
        for index, policy in enumerate(found):
            if policy.id in policies:
                message = f"the policy {policy.id!r} is listed twice"
                self._problems.append(document.problem((*path, index, "id"), message, "ids of policies are unique"))
            policies.setdefault(policy.id, policy)
            if policy.rule is None:
                continue
            from pytest_agentbench.suites.rule_check import rule_misfits, state_misfits  # noqa: PLC0415 - as above

            rule: Keys = (*path, index, "rule")
            wrong = list(rule_misfits(policy.rule, rule))
            if not wrong and ("now",) not in self._broken:
                wrong = list(clock_misfits(policy.rule, rule, self._now))
            if not wrong and not self._has_state():
                wrong = list(state_misfits(to_json(policy.rule), rule))
            for one in wrong:
                self._note(one, document)
        return tuple(policies.values())

    def _scenarios(self, policies: tuple[Policy, ...]) -> tuple[Scenario, ...]:
        language = self._document.value.get("language")
        approvals = self._form.approvals
        found: list[tuple[Scenario, Entry]] = []
        entries = list(self._entries())
        self._problems += id_problems(entries)
        for entry in entries:
            if entry.document is not self._document:
                scenario = read_scenario(entry, self._problems)
            elif entry.path not in self._broken:
                scenario = read_scenario(entry, self._problems, checked=True)
            else:
                scenario = None
            adapted = None if scenario is None else self._parts.adapt(scenario)
            if isinstance(adapted, Misfit):
                self._note(replace(adapted, path=(*entry.path, *adapted.path)), entry.document)
            elif adapted is not None:
                scenario = adapted
                if scenario.language is None and isinstance(language, str):
                    scenario = scenario.model_copy(update={"language": language})
                if scenario.approvals is None and approvals is not None:
                    scenario = scenario.model_copy(update={"approvals": approvals})
                for one in self._session_misfits(scenario, (*entry.ours, "sessions")):
                    self._note(one, entry.document)
                context = self._dated(scenario.context, entry.document, (*entry.ours, "context"))
                scenario = scenario.model_copy(update={"context": context})
                found.append((scenario, entry))
                if scenario.language is not None:
                    self._check_language(scenario.language, entry.document, (*entry.ours, "language"))
        if entries and not found and not self._problems:
            message = "the environment leaves every scenario out"
            self._problems.append(self._document.problem(("scenarios",), message, "take other files, or another split"))
        if ("policies",) not in self._broken:
            self._check_policies(found, [policy.id for policy in policies])
        return tuple(keyed_apart(found))

    def _session_misfits(self, scenario: Scenario, path: Keys) -> Iterator[Misfit]:
        """Yield what sessions ask of the suite that it cannot do."""
        goal = scenario.instructions.reason_for_call
        for number, one in enumerate(scenario.sessions):
            if not (one.lines or one.goal or goal) and self._user().kind == "scripted":
                hint = "write its `says`"
                yield Misfit(path=(*path, number), message="the user has nothing to say in this session", hint=hint)
        spans = [number for number, one in enumerate(scenario.sessions) if one.after]
        if not spans or ("now",) in self._broken:
            return
        where = (*path, spans[0], "after")
        if self._now is None:
            yield Misfit(path=where, message="the suite has no clock that could move on", hint="add `now: 2026-11-22`")
        elif scenario.later(len(scenario.sessions)) > datetime.max.replace(tzinfo=UTC) - self._now:
            yield Misfit(path=where, message="there is no such date", hint="make it shorter")
        elif any(f'"{name}"' in dumps([self._form.context, scenario.context]) for name in MOMENTS):
            message = "the context counts dates from the first session, and would be wrong in this one"
            yield Misfit(path=where, message=message, hint="have the factory and tools take `now`")

    def _entries(self) -> Iterator[Entry]:
        seen: set[Path] = set()
        for entry in entries_in(self._document):
            form, path = entry.value, entry.path
            if isinstance(form, dict):
                yield entry
            if isinstance(form, dict) or path in self._broken or (self._generating and self._is_generated(form)):
                continue
            files = find_scenario_files(self._document.file_of(path).parent, form)
            if isinstance(files, str):
                # where the recipe is wrong, nobody can tell whether it will write them
                if not (self._generating and self._is_recipe_wrong()):
                    self._problems.append(self._document.problem(path, files, self._hint(form)))
                continue
            for file in files:
                if file.resolve() not in seen:
                    seen.add(file.resolve())
                    yield from self._read_file(file)

    def _hint(self, pattern: JsonValue) -> str:
        """Say what to do about a pattern that no file matches."""
        if self._is_generated(pattern):
            return f"write them with: agentbench generate {self._path.name}"
        hint = "paths are relative to the suite's folder"
        if self._recipe is None:
            return f"{hint}; the suite has no recipe: add `generate: {{from: tools}}`" if self._generating else hint
        written = os.path.relpath(self._recipe.out, self._root.resolve())
        return f"{hint}; what `generate` writes is {written}/scenarios/*.yaml"

    def _is_recipe_wrong(self) -> bool:
        """Whether there is a recipe that does not fit, or a key that must be a misspelt `generate`."""
        keys = self._document.value.keys()
        return self._recipe is None and any(key == "generate" or suggestion(key, ["generate"]) for key in keys)

    def _is_generated(self, pattern: JsonValue) -> bool:
        """Whether a pattern leads into the folder that the recipe writes."""
        if self._recipe is None or not isinstance(pattern, str):
            return False
        return os.path.normpath(self._root.resolve() / pattern).startswith(f"{self._recipe.out}{os.sep}")

    def _read_file(self, file: Path) -> list[Entry]:
        entries: list[Entry] = []
        try:
            entries.extend(read_scenario_file(file, self._substitution))
        except SuiteError as error:
            self._problems += error.problems
        return entries

    def _check_policies(self, found: list[tuple[Scenario, Entry]], known: list[str]) -> None:
        for scenario, entry in found:
            for index, name in enumerate(scenario.policies):
                if name not in known:
                    listed = listing(map(repr, known)) or "none"
                    message = f"the policy {name!r} is not listed in the suite; listed: {listed}"
                    path = (*entry.ours, "policies", index)
                    self._problems.append(entry.document.problem(path, message, suggestion(name, known)))

    def _gates(self, policies: tuple[Policy, ...]) -> tuple[str, ...]:
        known: KnownNames = (
            {}
            if ("policies",) in self._broken
            else {
                "policy": [policy.id for policy in policies],
                "category": {policy.category for policy in policies if policy.category},
            }
        )
        for index, gate in enumerate(self._form.gates):
            try:
                parse_gate(gate, known=known)
            except GateError as error:
                self._problems.append(self._document.problem(("gates", index), error.message, error.hint))
        return self._form.gates

    def _check_variants(self, suite: Suite) -> None:
        http = suite.agent.http
        clocked = [(path, "{now}") for path in self._parts.clocked if ("now",) not in self._broken]
        if http is not None and "now" in names_in([http.url, http.headers, http.body]):
            clocked.insert(0, (("agent", "http"), "$now"))
        for path, name in clocked if suite.now is None else ():
            message, hint = f"{name} has no value: the suite has no clock", "add `now: 2026-11-22T10:00Z`"
            self._problems.append(self._document.problem(path, message, hint))
        names: dict[str, str] = {}
        for name in suite.variants:
            other = names.setdefault(name.lower(), name)
            if other != name:
                message = f"the variants {other!r} and {name!r} differ in case alone"
                self._problems.append(self._document.problem(("variants", name), message, at_key=True))
        for name, keywords in suite.variants.items():
            try:
                if suite.agent.openai is not None:
                    vary_chat(suite.agent.openai, keywords)
                if http is not None:
                    vary_http(http, keywords)
            except SuiteFaultError as error:
                self._problems.append(self._document.problem(("variants", name), str(error)))
        if suite.variants and suite.agent.kind == "transcripts":
            hint = "remove variants: recordings tell which agent they are of"
            message = "recorded transcripts have no keywords to vary"
            self._problems.append(self._document.problem(("variants",), message, hint, at_key=True))


def _without_rejected(suite: Suite) -> Suite:
    """Give the suite without the scenarios that a reviewer rejected, which are named apart."""
    named = tuple(one.id for one in suite.scenarios if one.review is not None and one.review.state == "rejected")
    if not named:
        return suite
    kept = tuple(one for one in suite.scenarios if one.id not in named)
    return suite.model_copy(update={"scenarios": kept, "rejected": named})
