"""Suite files: read, checked as a whole, and turned into a `Suite`."""

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn, cast

from pytest_agentbench.core.errors import GateError, Problem, SuiteError, SuiteFaultError
from pytest_agentbench.core.fault import FaultSpec, axis_id, read_axis
from pytest_agentbench.core.gates import Known, parse_gate
from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.moments import clock_misfits, clock_of, dated
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.rubric import Rubric
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.suite import AgentSpec, EnvironmentSpec, GenerateSpec, Suite, UserSpec
from pytest_agentbench.core.termination import Limits, Thresholds
from pytest_agentbench.core.values import JsonValue, to_json
from pytest_agentbench.core.variants import vary_chat, vary_http
from pytest_agentbench.suites.document import Document
from pytest_agentbench.suites.extended import read_suite_document
from pytest_agentbench.suites.files import read_document
from pytest_agentbench.suites.hashes import suite_hash
from pytest_agentbench.suites.language import LanguageError, language_of
from pytest_agentbench.suites.rule_check import rule_misfits, state_misfits
from pytest_agentbench.suites.scenario_files import (
    Entry,
    find_scenario_files,
    id_problems,
    keyed_apart,
    read_scenario,
    read_scenario_file,
)
from pytest_agentbench.suites.schema_rubric import rubric_at
from pytest_agentbench.suites.schema_suite import SUITE_FILE
from pytest_agentbench.suites.seen_writes import read_seen
from pytest_agentbench.suites.shape import misfits
from pytest_agentbench.suites.substitution import Substitution
from pytest_agentbench.suites.suite_form import PartReader

_HASHED_PARTS = ("agent", "variants", "environment", "context", "now")


def load_suite(path: Path, *, environ: Mapping[str, str], generating: bool = False) -> Suite:
    """Read a suite with its scenarios and policies; `environ` gives the values of `${VAR}`.

    `generating` leaves out what the recipe (`generate`) writes, which need not be there, or be right, yet.
    Paths in the suite are absolute, whatever `path` is. Raises `SuiteError` with every problem of every file at once,
    ordered by file and line.
    """
    return _SuiteReader(path.absolute(), Substitution(environ), generating=generating).read()


class _SuiteReader:
    """Reads one suite; a part that does not fit the schema is left out so that the others are still checked."""

    def __init__(self, path: Path, substitution: Substitution, *, generating: bool = False) -> None:
        self._path = path
        self._generating = generating
        self._recipe: GenerateSpec | None = None
        self._root = path.parent
        self._substitution = substitution
        self._problems: list[Problem] = []
        written = read_suite_document(path)
        self._document = substitution.apply(written)
        self._parts = PartReader(self._document, self._root, self._problems, written)
        self._broken: set[Keys] = set()
        self._now: datetime | None = None

    def read(self) -> Suite:
        """Read all parts."""
        form = self._document.value
        for one in misfits(form, SUITE_FILE):
            self._broken |= {one.path[:1], one.path[:2]}
            self._problems.append(self._document.problem(one.path, one.message, one.hint, at_key=one.at_key))
        if not isinstance(form, dict):
            self._raise()
        self._now = self._clock()
        policies = self._policies()
        given = self._given("generate") if self._fits("llm") else None
        self._recipe = self._parts.generate(given) if given is not None else None
        suite = Suite(
            name=str(form.get("name", self._default_name())) if self._fits("name") else "",
            owner=str(self._given("owner") or ""),
            path=self._path,
            root=self._root,
            agent=self._agent(form),
            variants={name: keywords or {} for name, keywords in (self._given("variants") or {}).items()},
            environment=self._environment(form),
            language=self._language(),
            user=self._parts.models.user(form.get("user")) if self._fits("user") and self._fits("llm") else UserSpec(),
            cassette=self._parts.models.cassette(self._given("cassette") or {}),
            judge=self._parts.models.judge(self._given("judge")) if self._fits("llm") else None,
            auditor=self._parts.models.auditor(self._given("auditor")),
            rubric=self._rubric(),
            policies=policies,
            scenarios=self._scenarios(policies),
            limits=Limits.model_validate(form.get("limits", {})) if self._fits("limits") else Limits(),
            stall=Thresholds.model_validate(self._given("stall") or {}),
            gates=self._gates(policies),
            **self._trials(),
            faults=self._faults(),
            context=self._dated(self._given("context") or {}, self._document, ("context",)),
            generate=self._recipe,
        )
        self._check_variants(suite)
        if self._problems or self._substitution.problems:
            self._raise()
        parts: dict[str, JsonValue] = {key: form[key] for key in _HASHED_PARTS if key in form}
        content_hash = suite_hash(suite, parts, self._parts.files, self._substitution.mask)
        environment = suite.environment.model_copy(update={"seen": read_seen(self._path)})
        return _without_rejected(suite).model_copy(
            update={"content_hash": content_hash, "secrets": self._substitution.secrets, "environment": environment}
        )

    def _raise(self) -> NoReturn:
        problems = {str(problem): problem for problem in (*self._substitution.problems, *self._problems)}
        ordered = sorted(problems.values(), key=lambda one: (one.file != self._path, one.file, one.line, one.column))
        raise SuiteError([self._substitution.mask_problem(problem) for problem in ordered])

    def _fits(self, key: str) -> bool:
        return (key,) not in self._broken and (key in self._document.value or key != "agent")

    def _given(self, key: str) -> Any:
        return self._document.value.get(key) if self._fits(key) else None

    def _trials(self) -> dict[str, Any]:
        given = self._given("trials")
        if isinstance(given, dict):
            return {"trials": given["most"], "stops_early": given.get("stop") == "sequential"}
        return {"trials": given}

    def _default_name(self) -> str:
        stem = self._path.name.removesuffix(".yaml").removesuffix("agentbench").rstrip(".")
        return stem or self._path.parent.name or "suite"

    def _faults(self) -> tuple[tuple[FaultSpec, ...], ...]:
        axis = read_axis(self._given("faults") or ())
        names = [axis_id(entry) for entry in axis]
        for index, name in enumerate(names):
            if name in names[:index]:
                message = "this entry stands here twice; every scenario would run twice under it"
                self._problems.append(self._document.problem(("faults", index), message, ""))
        return axis

    def _environment(self, form: dict[str, JsonValue]) -> EnvironmentSpec:
        spec = self._parts.environment(form.get("environment", {})) if self._fits("environment") else EnvironmentSpec()
        return spec.model_copy(update={"now": self._now})

    def _has_state(self) -> bool:
        environment = self._document.value.get("environment")
        return not self._fits("environment") or (
            isinstance(environment, dict) and bool(environment.keys() & {"state", "tau2"})
        )

    def _clock(self) -> datetime | None:
        written = self._given("now")
        now = None if written is None else clock_of(written)
        if written is not None and now is None:
            self._broken.add(("now",))
            self._problems.append(self._document.problem(("now",), f"{written}: there is no such date"))
        return now

    def _dated(self, value: dict[str, Any], document: Document, path: Keys) -> dict[str, Any]:
        """Put dates in the place of `{$today: …}` and `{$now: …}`; note those that nobody can tell."""
        wrong = list(clock_misfits(value, path, self._now, checked=False))
        if ("now",) not in self._broken:
            self._problems += [document.problem(one.path, one.message, one.hint, at_key=one.at_key) for one in wrong]
        return value if wrong or self._now is None else dict(dated(value, self._now))

    def _agent(self, form: dict[str, JsonValue]) -> AgentSpec:
        takes_from_llm = isinstance(form.get("agent"), dict) and "openai" in form["agent"]
        if not self._fits("agent") or (takes_from_llm and not self._fits("llm")):
            return AgentSpec(kind="factory")
        return self._parts.agent(form["agent"])

    def _language(self) -> str:
        name = str(self._given("language") or "en")
        self._check_language(name, self._document, ("language",))
        return name

    def _check_language(self, name: str, document: Document, path: Keys) -> None:
        try:
            language_of(name, self._root)
        except LanguageError as error:
            self._problems.append(document.problem(path, str(error)))

    def _rubric(self) -> Rubric | None:
        form = self._given("rubric")
        document, path = self._document, cast("Keys", ("rubric",))
        if isinstance(form, str):
            file = self._parts.file(form, path)
            if file not in self._parts.files.values():
                return None
            try:
                document, path = read_document(file), ()
            except SuiteError as error:
                self._problems += error.problems
                return None
        elif form is None:
            return None
        rubric, problems = rubric_at(document, path)
        self._problems += problems
        return rubric

    def _policies(self) -> tuple[Policy, ...]:
        form = self._given("policies")
        if form is None:
            return ()
        if isinstance(form, str):
            document = self._policies_file(form)
            if document is None:
                self._broken.add(("policies",))
                return ()
            return self._distinct_policies(document.value, document, ())
        return self._distinct_policies(form, self._document, ("policies",))

    def _policies_file(self, name: str) -> Document | None:
        file = self._parts.file(name, ("policies",))
        if file not in self._parts.files.values():
            return None
        try:
            document = read_document(file)
        except SuiteError as error:
            self._problems += error.problems
            return None
        wrong = list(misfits(document.value, SUITE_FILE["$defs"]["policies"], root=SUITE_FILE))
        self._problems += [document.problem(one.path, one.message, one.hint, at_key=one.at_key) for one in wrong]
        return None if wrong else document

    def _distinct_policies(
        self, forms: list[dict[str, JsonValue]], document: Document, path: Keys
    ) -> tuple[Policy, ...]:
        policies: dict[str, Policy] = {}
        for index, form in enumerate(forms):
            policy = Policy.model_validate({**form, "id": str(form["id"])})
            if policy.id in policies:
                message = f"the policy {policy.id!r} stands twice"
                self._problems.append(document.problem((*path, index, "id"), message, "ids of policies are unique"))
            policies.setdefault(policy.id, policy)
            rule: Keys = (*path, index, "rule")
            found = list(rule_misfits(policy.rule, rule)) if policy.rule is not None else []
            if policy.rule is not None and not found and ("now",) not in self._broken:
                found = list(clock_misfits(policy.rule, rule, self._now))
            if policy.rule is not None and not found and not self._has_state():
                found = list(state_misfits(to_json(policy.rule), rule))
            self._problems += [document.problem(one.path, one.message, one.hint, at_key=one.at_key) for one in found]
        return tuple(policies.values())

    def _scenarios(self, policies: tuple[Policy, ...]) -> tuple[Scenario, ...]:
        forms, language = (self._document.value.get(key) for key in ("scenarios", "language"))
        approvals = self._given("approvals")
        found: list[tuple[Scenario, Entry]] = []
        entries = self._entries(forms if isinstance(forms, list) else [])
        self._problems += id_problems(entries)
        for entry in entries:
            if entry.document is not self._document:
                scenario = read_scenario(entry, self._problems)
            elif entry.path not in self._broken:
                scenario = read_scenario(entry, self._problems, checked=True)
            else:
                scenario = None
            if scenario is not None:
                if scenario.language is None and isinstance(language, str):
                    scenario = scenario.model_copy(update={"language": language})
                if scenario.approvals is None and approvals is not None:
                    scenario = scenario.model_copy(update={"approvals": approvals})
                base = entry.path if entry.is_own else (*entry.path, "agentbench")
                context = self._dated(scenario.context, entry.document, (*base, "context"))
                scenario = scenario.model_copy(update={"context": context})
                found.append((scenario, entry))
                if scenario.language is not None:
                    self._check_language(scenario.language, entry.document, (*base, "language"))
        if ("policies",) not in self._broken:
            self._check_policies(found, [policy.id for policy in policies])
        return tuple(keyed_apart(found))

    def _entries(self, forms: list[JsonValue]) -> list[Entry]:
        entries: list[Entry] = []
        seen: set[Path] = set()
        for index, form in enumerate(forms):
            path: Keys = ("scenarios", index)
            if isinstance(form, dict):
                entries.append(Entry(document=self._document, path=path, value=form))
            if path in self._broken or isinstance(form, dict):
                continue
            if self._generating and self._is_generated(form):
                continue
            files = find_scenario_files(self._document.file_of(path).parent, form)
            if isinstance(files, str) and self._generating and self._is_recipe_wrong():
                continue  # nobody can tell whether the recipe will write it
            if isinstance(files, str):
                self._problems.append(self._document.problem(path, files, self._hint(form)))
                continue
            for file in files:
                if file.resolve() not in seen:
                    seen.add(file.resolve())
                    entries += self._read_file(file)
        return entries

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
            base = entry.path if entry.is_own else (*entry.path, "agentbench")
            for index, name in enumerate(scenario.policies):
                if name not in known:
                    listed = listing(map(repr, known)) or "none"
                    message = f"the policy {name!r} is not listed in the suite; listed: {listed}"
                    path = (*base, "policies", index)
                    self._problems.append(entry.document.problem(path, message, suggestion(name, known)))

    def _gates(self, policies: tuple[Policy, ...]) -> tuple[str, ...]:
        gates: list[str] = self._given("gates") or []
        known: Known = (
            {}
            if ("policies",) in self._broken
            else {
                "policy": [policy.id for policy in policies],
                "category": {policy.category for policy in policies if policy.category},
            }
        )
        for index, gate in enumerate(gates):
            try:
                parse_gate(gate, known=known)
            except GateError as error:
                self._problems.append(self._document.problem(("gates", index), error.message, error.hint))
        return tuple(gates)

    def _check_variants(self, suite: Suite) -> None:
        names: dict[str, str] = {}
        for name in suite.variants:
            other = names.setdefault(name.lower(), name)
            if other != name:
                message = f"the variants {other!r} and {name!r} differ in case alone"
                self._problems.append(self._document.problem(("variants", name), message, at_key=True))
        for name, keywords in suite.variants.items():
            try:
                _varied(suite.agent, keywords)
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


def _varied(agent: AgentSpec, keywords: Mapping[str, Any]) -> None:
    """Raise `SuiteFaultError` where a variant does not fit an agent that is no code."""
    if agent.openai is not None:
        vary_chat(agent.openai, keywords)
    if agent.http is not None:
        vary_http(agent.http, keywords)
