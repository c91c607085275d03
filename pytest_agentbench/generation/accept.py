"""Acceptance: a scenario is written only if it is decidable; this says so, or gives the loss with its reason.

In this order: each value is said or pointed at, one thing of each name, one owner, no date that comes near, the oracle
passes, the draft's own right run breaks no rule, each policy's wrong runs fail by a finding of that policy, it holds
later, and a blind solver makes the same writes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import Literal, cast

from pytest_agentbench.checks.rule_arguments import NotThereError, UnreckonedError, led_to
from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.core.json_values import JsonValue, decoded, same, to_json
from pytest_agentbench.core.matchers import is_matcher
from pytest_agentbench.core.moments import is_moment
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.environment.state_access import HungError
from pytest_agentbench.generation.decidable import arguments_of, coincidences, near_dates, owners, two_things
from pytest_agentbench.generation.draft import (
    ANSWERS,
    Draft,
    Handling,
    LostError,
    PlannedCall,
    PolicyPart,
    Reason,
    Turn,
    WrongRun,
)
from pytest_agentbench.generation.language.guard import scalars_of, stands_in
from pytest_agentbench.generation.solver import solve
from pytest_agentbench.generation.tools.probing.result_parser import inner
from pytest_agentbench.generation.tools.world import LATER
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.scenario_form import form_to_scenario
from pytest_agentbench.validation.oracle import DONE, HEARD, Rules, in_words
from pytest_agentbench.validation.report import passed_by
from pytest_agentbench.validation.scenario import Shared, validate_scenario
from pytest_agentbench.validation.scripted_run import Performance, ScriptedRun, ScriptPlayer, Step, numbered
from pytest_agentbench.validation.world_values import scalars

NO_CLOCK = (
    "Not played at a later date, since the suite sets no `now`. Dates near the day it was made are those of the state."
)
"""The note in the header of a scenario whose environment takes no clock."""
LAPSES = "Holds with the suite's `now` alone: {days} days later a right run fails."
"""The note in the header of a scenario that a suite without `now`, or with a later one, cannot play."""

_Became = tuple[Literal["found", "refused", "missed"], str]

_DETAIL = 300
_RIGHT = WrongRun(kind="unsaid", change="nothing")
"""The script of a draft that breaks nothing."""


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

    async def accept(self, draft: Draft, forms: Sequence[dict[str, JsonValue]], *, solved: bool = False) -> Draft:
        """Give the draft with its policies' handling and its notes; raise `LostError` where it is not decidable.

        `solved` says that a blind critic found its writes already; else the blind solver has to.
        """
        self._check_data(draft)
        scenario, *_ = [self.read(form) for form in forms]  # other personas say the same lines
        await self._validated(self.plan(scenario))
        draft = await self._held_against_rules(draft, self.plan(scenario), solved=solved)
        return await self._held_later(draft, scenario)

    def read(self, form: dict[str, JsonValue]) -> Scenario:
        """Read a form as a suite would; raise `LostError` where it is no scenario, or names what is not there."""
        found = form_to_scenario(form, ())
        if isinstance(found, list):
            raise LostError("assembly", "not a scenario", "; ".join(str(one) for one in found[:3]))
        scenario = found.model_copy(update={"file": str(self.suite.path)})
        alone = self.suite.model_copy(update={"scenarios": (scenario,), "policies": ()})
        if problems := check_calls(alone, self.toolset):
            raise LostError("assembly", "a call that cannot be made", str(problems[0]))
        return scenario

    def plan(self, scenario: Scenario, suite: Suite | None = None) -> RunPlan:
        """Give the plan of a run of one scenario."""
        alone = (suite or self.suite).model_copy(update={"scenarios": (scenario,)})
        variant = next(iter(alone.variants), "")
        return RunPlan(suite=alone, suite_key=str(alone.path), scenario=scenario, variant=variant, toolset=self.toolset)

    def _check_data(self, draft: Draft) -> None:
        """Raise `LostError` for what stands in the draft alone."""
        faults: dict[Reason, Iterable[str]] = {
            "a value is known by coincidence": coincidences(draft, self.toolset),
            "a request names two things": two_things(draft, self._rules(self.suite.policies)),
            "several owners": owners(draft, self.state),
            "a date that comes near": near_dates(draft, self.today, self.state) if self.suite.now is None else (),
        }
        for reason, details in faults.items():
            for why in details:
                raise LostError("acceptance", reason, why)

    async def _validated(self, plan: RunPlan) -> None:
        """Ask what `agentbench validate` asks of one scenario; mutants are left to that command."""
        report = await validate_scenario(plan, self.shared)
        if not report.is_valid or report.vacuous:
            first = report.issues[0] if report.issues else passed_by(report.vacuous)  # also where nothing is to change
            raise LostError("acceptance", cast("Reason", f"validation: {first.kind}"), first.message)

    async def _held_against_rules(self, draft: Draft, plan: RunPlan, *, solved: bool) -> Draft:
        """Play the draft's own right run, which must break no rule, and each wrong run of its policies."""
        shared = self.shared
        player = ScriptPlayer(
            plan=plan,
            isolation=shared.isolation,
            now=shared.now,
            expected=shared.expected,
        )
        try:
            parts = await self._parts(draft, plan, player) if _is_more_than_expected(draft, plan) else []
            if not solved and (why := await player.bounded(solve(draft, plan, player, self._resolve))):
                raise LostError("acceptance", "a blind solver does something else", why)
        except HungError as error:
            player.runner.abandon()
            raise LostError("acceptance", "the right run does not end", str(error)) from None
        except AgentBenchError as error:
            raise LostError("acceptance", "its runs cannot be played", str(error)) from None
        finally:
            player.runner.close()
        return draft.model_copy(update={"policies": tuple(parts)})

    async def _parts(self, draft: Draft, plan: RunPlan, player: ScriptPlayer) -> list[PolicyPart]:
        """Play the right run of a draft; give its policies with their handling."""
        rules = self._rules(plan.policies)
        run = await player.play_through(script_of(draft, rules))
        self._check_right(run, await player.judge(run))
        base = await player.expecting(plan, run)
        base = base.model_copy(update={"termination": Termination.FINISHED, "blame": None, "error": None})
        trial = _Trial(draft, player, rules, base)
        known = {policy.id: policy for policy in self.suite.policies}
        return [await trial.handled(part, known.get(part.policy)) for part in draft.policies]

    def _check_right(self, run: Run, judgement: Judgement) -> None:
        """Raise `LostError` where the right run breaks a rule of the suite, or does not pass."""
        wrong = [one for one in judgement.findings if one.passed is False]
        broken = next((one for one in wrong if one.kind == "policy"), None)
        failed = next((one for one in wrong if one.required), None)
        if broken:
            why = f"{broken.policy}: {broken.message}"
            raise LostError("acceptance", "the right run breaks a rule of the suite", why)
        if failed or not run.finished:
            why = f"{failed.check}: {failed.message}" if failed else run.error or run.stop_reason
            raise LostError("acceptance", "the right run does not pass", why)

    async def _held_later(self, draft: Draft, scenario: Scenario) -> Draft:
        """Move the environment's clock where it takes one; what is about the suite's own moment stays there.

        A draft that lapses is right in every session, since the suite's `now` stays; its header says so. An appointment
        in three weeks is one.
        """
        now = self.suite.now
        if now is None:
            return draft.model_copy(update={"notes": tuple(dict.fromkeys([*draft.notes, NO_CLOCK]))})
        rules = {policy.id: policy.rule for policy in self.suite.policies}
        if any(part.event == "at_limit" or _reads_clock(rules.get(part.policy)) for part in draft.policies):
            return draft
        for days in LATER:
            moved = self.suite.environment.model_copy(update={"now": now + timedelta(days=days)})
            suite = self.suite.model_copy(update={"environment": moved})
            try:
                await self._validated(self.plan(scenario, suite))
            except LostError:
                notes = (*draft.notes, LAPSES.format(days=days))
                return draft.model_copy(update={"notes": notes, "lapses_after": days})
        return draft

    def _rules(self, policies: Sequence[Policy]) -> Rules:
        return Rules(policies, self.toolset, self._resolve, self.suite.now)

    def _resolve(self, path: str) -> Callable[[JsonValue], object]:
        return cast("Callable[[JsonValue], object]", load_object(path, self.suite.root))


@dataclass
class _Trial:
    """What the wrong runs of a draft are judged with: `base` is its right run."""

    draft: Draft
    player: ScriptPlayer
    rules: Rules
    base: Run

    async def handled(self, part: PolicyPart, policy: Policy | None) -> PolicyPart:
        """Say what the scenario does with one policy, from what becomes of each of its wrong runs.

        Decided is a policy each of whose wrong runs can be made, and fails by its finding.
        """
        if policy is None or policy.rule is None:
            reason = "it has no rule" if policy else "the suite does not list it"
            return part.model_copy(update={"handling": "judge_only", "reason": reason, "wrong_runs": ()})
        found = [(run, *(await self._played(run, policy))) for run in part.wrong_runs]
        runs = tuple(
            run.model_copy(update={"finding": "" if became == "missed" else why}) for run, became, why in found
        )
        reasons = {became: f"{run.change}: {why}" for run, became, why in reversed(found)}
        handling: Handling = "exercised"
        reason = "no run is known that breaks it here"
        if mixed := reasons.get("missed") or (len(reasons) > 1 and reasons["refused"]):
            reason = mixed
        elif runs:
            handling = "enforced" if "refused" in reasons else "decided"
            reason = runs[0].finding
        return part.model_copy(update={"handling": handling, "reason": shorten(reason, _DETAIL), "wrong_runs": runs})

    async def _played(self, wrong: WrongRun, policy: Policy) -> _Became:
        """Say what becomes of a wrong run: a finding of the policy, a refusal of the tool, or neither.

        An agent that makes a forbidden call may ask first, and must be found out, too.
        """
        for invented in _invented(self.draft, wrong, self.base.initial_state):
            return "missed", f"nobody gave {invented!r}"
        became = await self._performed(script_of(self.draft, self.rules, wrong), policy)
        if wrong.kind != "forbidden" or wrong.turn is None or became[0] != "found":
            return became
        if not self.draft.turns[wrong.turn].about:
            return "missed", "the user says no yes to an agent that asks first"
        asked = await self._performed(script_of(self.draft, self.rules, wrong, asks=True), policy)
        return became if asked[0] == "found" else (asked[0], f"where the agent asks first it {asked[1]}")

    async def _performed(self, script: ScriptedRun, policy: Policy) -> _Became:
        """Play the script of a wrong run."""
        done = await self.player.performed(script)
        if refusal := _refused(done, script, self.base):
            return "refused", f"the tool refuses: {refusal}"
        findings = [one for one in (await self.player.judge_as(self.base, done)).findings if one.passed is False]
        for one in findings:
            if one.policy == policy.id:
                return "found", shorten(printable(one.message), _DETAIL)
        others = [one.check for one in findings if one.required]
        return "missed", f"fails by {others[0]} alone" if others else "is not told apart"


def _is_more_than_expected(draft: Draft, plan: RunPlan) -> bool:
    """Whether the right run of a draft can fail where one that makes the expected calls passed: it has rules to keep,
    or calls that fail or are refused.
    """
    has_others = any(turn.refused or any(call.fails for call in turn.calls) for turn in draft.turns)
    return bool(draft.policies or has_others) or any(one.rule for one in plan.suite.policies)


def _invented(draft: Draft, wrong: WrongRun, state: State | None) -> Iterator[JsonValue]:
    """Yield the values of a wrong run's call that neither lines nor answers nor rows hold."""
    if wrong.call is None:
        return
    said = [value for turn in draft.turns for one in turn.states for value in scalars_of(one.value)]
    answers, rows = _values([inner(call.answer) for call in draft.calls]), _values(to_json(state or {}))
    for _, value in arguments_of(wrong.call):
        is_known = any(same(to_json(one), to_json(value)) for one in [None, True, False, *said, *answers, *rows])
        if not is_known and not any(stands_in(value, str(text), draft.language) for text in answers):
            yield value


def _values(value: JsonValue) -> list[JsonValue]:
    """Give the plain values in a value, and the keys under which its rows stand."""
    return list(dict.fromkeys([*(one for _, one in scalars(value)), *_keys(value)]))


def _keys(value: JsonValue) -> Iterator[str]:
    """Yield the keys under which rows stand, at any depth."""
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _keys(item)
    if isinstance(value, Mapping):
        yield from (str(key) for key, item in value.items() if isinstance(item, Mapping | list))


def _refused(done: Performance, script: ScriptedRun, base: Run) -> str:
    """Give what a tool said that refused a call of a wrong run: one made besides, or one that works in a right run."""
    works = [(one.call.name, one.call.arguments) for one in base.transcript.trajectory if not one.failed]
    besides = {step.call.id for step in script if step.call is not None and step.position == -1}
    for one in done.transcript.trajectory:
        if one.failed and (one.call.id in besides or (one.call.name, one.call.arguments) in works):
            return shorten(printable(one.answer), _DETAIL)
    return ""


def _reads_clock(rule: JsonValue) -> bool:
    """Whether a rule counts from the suite's clock."""
    if isinstance(rule, dict):
        return (is_moment(rule) and not is_matcher(rule)) or any(map(_reads_clock, rule.values()))
    return isinstance(rule, list) and any(map(_reads_clock, rule))


def script_of(draft: Draft, rules: Rules, run: WrongRun = _RIGHT, *, asks: bool = False) -> ScriptedRun:
    """Give the right run of a draft, or a wrong one, as a script; what rules ask the agent to say is said at the end.

    With `asks` the agent of a wrong run puts what is forbidden to the user, who says yes.
    `Step.position` of a call is its number among the draft's, -1 for one that the wrong run makes besides.
    """
    steps: list[Step] = []
    number = 0
    for place, turn in enumerate(draft.turns):
        kind = run.kind if run.turn == place else ""
        if kind != "unasked":
            steps += [_agent_first(draft, turn, rules)] if place else []
            steps.append(_line(turn, is_declined=kind == "declined"))
        for call in turn.calls:
            if run.number != number or run.kind != "skipped":
                steps.append(_step(call, number))
            if run.number == number and run.kind == "repeated":
                steps.append(_step(call, -1))
            number += 1
        besides = _besides(run, turn.refused) if kind else []
        if besides and asks:
            yes = Step(party="user", part="line", text="Yes.", act="confirm", about=turn.about)
            steps += [_question(draft, besides, rules), yes]
        steps += [_step(call, -1) for call in besides]
    steps += [_step(call, -1) for call in _besides(run, ())] if run.turn is None else []
    words = [text for text in _words(draft, rules) if not run.text or run.text not in text]
    steps.append(Step(party="assistant", part="told", text=";\n".join([*words, DONE])))
    return numbered(steps)


def _line(turn: Turn, *, is_declined: bool) -> Step:
    """Give the line of a turn, as a no where the wrong run's user declines."""
    act = "decline" if is_declined and turn.act not in ("decline", "withdraw") else turn.act
    concerned = [scalars_of(dict(call.call.arguments)) for call in turn.calls or turn.refused]
    values = [value for several in concerned for value in several if value is not None]
    about = turn.about or tuple(values if turn.act in ANSWERS else ())
    return Step(party="user", part="line", text=turn.line, act=act, about=about)


def _besides(run: WrongRun, refused: Sequence[PlannedCall]) -> Sequence[PlannedCall]:
    """Give the calls that a wrong run makes beside those of the right one."""
    if run.kind not in ("forbidden", "declined", "unasked"):
        return ()
    return (run.call,) if run.call is not None else refused


def _agent_first(draft: Draft, turn: Turn, rules: Rules) -> Step:
    """Say what the agent says before a turn: before an answer of the user's, what is to be done, with its values."""
    put = (*turn.calls, *turn.refused) if turn.act in ANSWERS else ()
    return _question(draft, put, rules) if put else Step(party="assistant", part="filler", text=HEARD)


def _question(draft: Draft, put: Sequence[PlannedCall], rules: Rules) -> Step:
    """Ask for a yes to calls, with their values: those that need it, or all."""
    calls = [call.made for call in put]
    changes = [call for call in calls if rules.must_confirm(call)] or calls
    said = "; ".join(in_words(call, _terms(draft, rules, call)) for call in changes)
    text = f"I would now make this change: {said}. Shall I proceed, yes or no?"
    return Step(party="assistant", part="question", text=text)


def _terms(draft: Draft, rules: Rules, call: ToolCall) -> list[JsonValue]:
    """Give what the user must hear beside the arguments: values of the last call that a rule says they stand in."""
    found: list[JsonValue] = []
    for around, term in rules.terms(call):
        fitting = [one for one in draft.calls if rules.is_about(around, one.made)]
        found += _led(term, fitting[-1]) if fitting else []
    return found


def _words(draft: Draft, rules: Rules) -> Iterator[str]:
    """Give what a right agent says: what the user asked for, what is to be told, and what rules ask for."""
    yield from dict.fromkeys(one.text for turn in draft.turns for one in turn.wanted)
    yield from draft.communicate
    yield from rules.words([call.made for call in draft.calls])
    for call in draft.calls:
        for reference in rules.told(call.made):
            yield from (str(value) for _, value in scalars(_led(reference, call)))


def _led(reference: JsonValue, call: PlannedCall) -> list[JsonValue]:
    """Give the value that a reference leads to in a planned call, none where there is nothing."""
    with suppress(NotThereError, UnreckonedError):
        return [led_to(reference, call.call.arguments, partial(decoded, call.answer))]
    return []


def _step(call: PlannedCall, number: int) -> Step:
    return Step(party="assistant", part="call", call=call.made, position=number)
