"""Acceptance: a scenario is written only if it is decidable; this says so, or gives the loss with its reason.

In this order: each value is said or pointed at, one owner, no date that comes near, the oracle passes, the draft's own
right run breaks no rule, each policy's wrong runs fail by a finding of that policy, it holds later, and a blind solver
makes the same writes.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import cast

from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.core.matchers import is_matcher
from pytest_agentbench.core.moments import is_moment
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.values import JsonValue, same, to_json
from pytest_agentbench.environment.faults import HungError
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.generation.decidable import arguments_of, coincidences, near_dates, owners
from pytest_agentbench.generation.draft import Draft, Handling, Loss, PolicyPart, Stage, WrongRun
from pytest_agentbench.generation.language.guard import scalars_of, stands_in
from pytest_agentbench.generation.solver import solve
from pytest_agentbench.generation.tools.probing.reading import inner
from pytest_agentbench.generation.wrong_runs import script_of
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.scenario_form import form_to_scenario
from pytest_agentbench.validation.rules import Rules
from pytest_agentbench.validation.scenario import Shared, validate_scenario
from pytest_agentbench.validation.scripted_run import Performance, ScriptedRun, ScriptPlayer
from pytest_agentbench.validation.values import scalars

LATER = (1, 30, 366)
"""Days later on which a scenario must still hold, where the environment takes a clock."""

NO_CLOCK = "Clock not tested: the environment takes no `now`; no date in it is within 400 days of the day it was made."
"""The note in the header of a scenario whose environment takes no clock."""

_DETAIL = 300


class LostError(Exception):
    """A draft became no scenario."""

    def __init__(self, draft: Draft, stage: Stage, reason: str, detail: str = "") -> None:
        super().__init__(f"{stage}: {reason}: {detail}")
        told = shorten(printable(detail), _DETAIL)
        self.loss = Loss(draft=draft.id, stage=stage, reason=reason, detail=told)


@dataclass(kw_only=True)
class Acceptance:
    """What drafts are held against: the suite with its rules, its tools, today's date (injected), one shared world.

    `state` is the initial state, None where it cannot be read.
    """

    suite: Suite
    toolset: Toolset
    shared: Shared
    today: date
    state: State | None = None

    async def accept(
        self, draft: Draft, forms: Sequence[dict[str, JsonValue]], *, solved: bool = False
    ) -> Draft | Loss:
        """Give the draft with its policies' handling and its notes, or why it is lost.

        `solved` says that a blind critic found its writes already; else the blind solver has to.
        """
        try:
            self._check_data(draft)
            scenarios = [self.read(draft, form) for form in forms]
            await self._validated(draft, self.plan(scenarios[0]))  # other personas say the same lines
            draft = await self._held_against_rules(draft, self.plan(scenarios[0]), solved=solved)
            draft = await self._held_later(draft, scenarios[0])
        except LostError as error:
            return error.loss
        return draft

    def read(self, draft: Draft, form: dict[str, JsonValue]) -> Scenario:
        """Read a form as a suite would; raise `LostError` where it is no scenario, or names what is not there."""
        found = form_to_scenario(form, ())
        if isinstance(found, list):
            raise LostError(draft, "assembly", "not a scenario", "; ".join(str(one) for one in found[:3]))
        scenario = found.model_copy(update={"file": str(self.suite.path)})
        alone = self.suite.model_copy(update={"scenarios": (scenario,), "policies": ()})
        if problems := check_calls(alone, self.toolset):
            raise LostError(draft, "assembly", "a call that cannot be made", str(problems[0]))
        return scenario

    def plan(self, scenario: Scenario, suite: Suite | None = None) -> RunPlan:
        """Give the plan of a run of one scenario."""
        alone = (suite or self.suite).model_copy(update={"scenarios": (scenario,)})
        variant = next(iter(alone.variants), "")
        return RunPlan(suite=alone, suite_key=str(alone.path), scenario=scenario, variant=variant, toolset=self.toolset)

    def _check_data(self, draft: Draft) -> None:
        """Raise `LostError` for what stands in the draft alone."""
        for why in coincidences(draft, self.toolset):
            raise LostError(draft, "acceptance", "a value is known by coincidence", why)
        for why in owners(draft, self.state):
            raise LostError(draft, "acceptance", "several owners", why)
        if self.suite.now is None:
            for why in near_dates(draft, self.today, self.state):
                raise LostError(draft, "acceptance", "a date that comes near", why)

    async def _validated(self, draft: Draft, plan: RunPlan) -> None:
        """Ask what `agentbench validate` asks of one scenario; mutants are left to that command."""
        report = await validate_scenario(plan, self.shared)
        if not report.is_valid:
            issue = report.issues[0]
            raise LostError(draft, "acceptance", f"validation: {issue.kind}", issue.message)

    async def _held_against_rules(self, draft: Draft, plan: RunPlan, *, solved: bool) -> Draft:
        """Play the draft's own right run, which must break no rule, and each wrong run of its policies."""
        player = ScriptPlayer(
            plan=plan,
            isolation=self.shared.isolation,
            now=self.shared.now,
            slot=None,
            expected=self.shared.expected,
            all_blocked=Counter,
        )
        rules = Rules(plan.policies, self.toolset, self._resolve, plan.suite.now)
        try:
            run = await player.play_through(script_of(draft, rules))
            judgement = await player.judge(run)
            failed = [one for one in judgement.findings if one.required and one.passed is False]
            broken = [one for one in judgement.findings if one.kind == "policy" and one.passed is False]
            if broken:
                why = f"{broken[0].policy}: {broken[0].message}"
                raise LostError(draft, "acceptance", "the right run breaks a rule of the suite", why)
            if failed or not run.finished:
                why = f"{failed[0].check}: {failed[0].message}" if failed else run.error or run.stop_reason
                raise LostError(draft, "acceptance", "the right run does not pass", why)
            base = await player.expecting(plan, run)
            base = base.model_copy(update={"termination": Termination.FINISHED, "blame": None, "error": None})
            known = {policy.id: policy for policy in self.suite.policies}
            parts = [
                await self._handled(draft, part, known.get(part.policy), player, base, rules) for part in draft.policies
            ]
            if not solved and (why := await player.bounded(solve(draft, plan, player, self._resolve))):
                raise LostError(draft, "acceptance", "a blind solver does something else", why)
        except HungError as error:
            player.runner.abandon()
            raise LostError(draft, "acceptance", "the right run does not end", str(error)) from None
        except AgentBenchError as error:
            raise LostError(draft, "acceptance", "its runs cannot be played", str(error)) from None
        finally:
            player.runner.close()
        return draft.model_copy(update={"policies": tuple(parts)})

    async def _handled(  # noqa: PLR0917 - all of it is what a wrong run is judged with
        self, draft: Draft, part: PolicyPart, policy: Policy | None, player: ScriptPlayer, base: Run, rules: Rules
    ) -> PolicyPart:
        """Say what the scenario does with one policy, from what becomes of each of its wrong runs."""
        if policy is None or policy.rule is None:
            reason = "it has no rule" if policy else "the suite does not list it"
            return part.model_copy(update={"handling": "judge_only", "reason": reason, "wrong_runs": ()})
        runs: list[WrongRun] = []
        missed: list[str] = []
        refused: list[str] = []
        for wrong in part.wrong_runs:
            if invented := list(_invented(draft, wrong, base.initial_state)):
                missed.append(f"{wrong.change}: nobody gave {invented[0]!r}")
                runs.append(wrong.model_copy(update={"finding": ""}))
                continue
            script = script_of(draft, rules, wrong)
            done = await player.performed(script)
            if refusal := _refused(done, script, base):
                refused.append(f"{wrong.change}: the tool refuses: {refusal}")
                runs.append(wrong.model_copy(update={"finding": f"the tool refuses: {refusal}"}))
                continue
            judgement = await player.judge_as(base, done)
            own = [one for one in judgement.findings if one.policy == policy.id and one.passed is False]
            if own:
                runs.append(wrong.model_copy(update={"finding": shorten(printable(own[0].message), _DETAIL)}))
                continue
            others = [one.check for one in judgement.findings if one.required and one.passed is False]
            runs.append(wrong.model_copy(update={"finding": ""}))
            missed.append(f"{wrong.change}: " + (f"fails by {others[0]} alone" if others else "is not told apart"))
        handling: Handling = "exercised"
        reason = "no run is known that breaks it here"
        if missed:
            reason = missed[0]
        elif runs and 0 < len(refused) < len(runs):
            reason = refused[0]  # decided is a policy each of whose wrong runs can be made, and fails by its finding
        elif runs:
            handling = "enforced" if refused else "decided"
            reason = runs[0].finding
        update = {"handling": handling, "reason": shorten(reason, _DETAIL), "wrong_runs": tuple(runs)}
        return part.model_copy(update=update)

    async def _held_later(self, draft: Draft, scenario: Scenario) -> Draft:
        """Move the environment's clock where it takes one; what is about the suite's own moment stays there."""
        now = self.suite.now
        if now is None:
            return draft.model_copy(update={"notes": tuple(dict.fromkeys([*draft.notes, NO_CLOCK]))})
        rules = {policy.id: policy.rule for policy in self.suite.policies}
        if any(part.event == "at_limit" or _reads_clock(rules.get(part.policy)) for part in draft.policies):
            return draft
        for days in LATER:
            moved = self.suite.environment.model_copy(update={"now": now + timedelta(days=days)})
            suite = self.suite.model_copy(update={"environment": moved})
            report = await validate_scenario(self.plan(scenario, suite), self.shared)
            if not report.is_valid:
                why = f"{days} days later: {report.issues[0].message}"
                raise LostError(draft, "acceptance", "it does not hold later", why)
        return draft

    def _resolve(self, path: str) -> Callable[[JsonValue], object]:
        return cast("Callable[[JsonValue], object]", load_object(path, self.suite.root))


def _invented(draft: Draft, wrong: WrongRun, state: State | None) -> Iterator[JsonValue]:
    """Yield the values of a wrong run's call that neither lines nor answers nor rows hold."""
    if wrong.call is None:
        return
    known = [value for turn in draft.turns for one in turn.states for value in scalars_of(one.value)]
    answers = [inner(call.answer) for call in draft.calls]
    there = [*(value for answer in answers for _, value in scalars(answer)), *_keys(answers)]
    rows = to_json(state or {})
    known += [*there, *(value for _, value in scalars(rows)), *_keys(rows)]
    texts = list(dict.fromkeys(map(str, there)))
    for _, value in arguments_of(wrong.call):
        is_plain = isinstance(value, bool) or value is None
        is_known = is_plain or any(same(to_json(one), to_json(value)) for one in known)
        if not is_known and not any(stands_in(value, text, draft.language) for text in texts):
            yield value


def _keys(value: JsonValue) -> Iterator[str]:
    """Yield the keys under which rows stand, at any depth."""
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _keys(item)
    if isinstance(value, Mapping):
        yield from (str(key) for key, item in value.items() if isinstance(item, Mapping | list))


def _refused(done: Performance, script: ScriptedRun, base: Run) -> str:
    """Give what a tool said that refused a call of a wrong run: one made besides, or one that works in a right run."""
    works = {
        (record.call.name, repr(sorted(record.call.arguments.items())))
        for record in base.transcript.trajectory
        if not record.failed
    }
    besides = {step.call.id for step in script if step.call is not None and step.position == -1}
    for record in done.transcript.trajectory:
        mark = (record.call.name, repr(sorted(record.call.arguments.items())))
        if record.failed and (record.call.id in besides or mark in works):
            return shorten(printable(record.result.content if record.result else ""), _DETAIL)
    return ""


def _reads_clock(rule: JsonValue) -> bool:
    """Whether a rule counts from the suite's clock."""
    if isinstance(rule, dict):
        return (is_moment(rule) and not is_matcher(rule)) or any(map(_reads_clock, rule.values()))
    return isinstance(rule, list) and any(map(_reads_clock, rule))
