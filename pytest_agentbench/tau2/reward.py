"""τ²-bench's reward of a run, exactly as τ² computes it, what a `reward_basis` asks of our verdict, and parity.

A run that no party closed has reward 0 and no parts. A task without criteria has reward 1. Otherwise the reward is the
product of the parts that its `reward_basis` names, each 0 or 1; the other parts are measured all the same and change
nothing. The basis is read from the task: domains mix several. ACTION, COMMUNICATE and a stand-in for DB by the calls
alone need no environment.

Sources: tau2-bench, evaluator.py, evaluator_action.py, evaluator_communicate.py, data_model/tasks.py
(`compare_with_tool_call`).
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, get_args

from pytest_agentbench.checks.effects import expects_write, wrote
from pytest_agentbench.checks.findings import call_text, not_measured, not_seen
from pytest_agentbench.checks.matching import match_run
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import EvaluationCriteria, ExpectedCall
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.core.verdict import Finding, NotMeasured
from pytest_agentbench.tau2.replay import Replayed


def action_matches(expected: ExpectedCall, call: ToolCall) -> bool:
    """Whether a call is the expected one as τ²'s ACTION sees it.

    The name is equal, and so are, of the arguments that count, those of the call and those of the expected call. What
    counts is `compare_args`, or, where that is null, the arguments *of the call*: a call that leaves arguments out
    matches, one without any matches always. Who called does not count, nor whether the call failed. Values are equal as
    in Python: 1 == 1.0, lists in order.
    """
    if expected.name != call.name:
        return False
    counted = call.arguments.keys() if expected.compare_args is None else expected.compare_args
    if not counted:
        return True
    return _only(call.arguments, counted) == _only(expected.arguments, counted)


def check_actions(run: Run) -> tuple[bool, ...]:
    """Say of each expected call whether any call of either party is it; one call may be several expected ones."""
    made = [call for message in run.transcript.messages for call in message.tool_calls]
    return tuple(any(action_matches(want, call) for call in made) for want in run.scenario.expected_calls)


def check_communicated(run: Run) -> tuple[bool, ...]:
    """Say of each info whether a single message of the agent holds it; see `tau2_said`."""
    texts = [text for _, text in run.transcript.texts("assistant")]
    return tuple(tau2_said(info, texts) for info in run.scenario.communicate_info)


def tau2_said(info: str, texts: Iterable[str]) -> bool:
    """Whether τ²'s COMMUNICATE finds `info` in one of the agent's texts: a substring, ignoring case.

    Commas are dropped from the text and not from the info, so an info with a comma is never found
    (tau2-bench, evaluator_communicate.py).
    """
    return any(info.lower() in text.lower().replace(",", "") for text in texts if text.strip())


def same_writes(run: Run) -> bool | None:
    """Whether the successful calls that change state are the expected ones, in any order: DB without a database.

    Equal calls nearly always lead to equal databases, and other calls may do so too: this stands in for τ²'s DB and is
    not it. None where it would mean nothing: calls are not visible, the kind of a tool is not known, or both parties
    write (τ² then synchronises two databases after a conversation's calls, and not after the expected ones). Where
    neither calls nor assertions are stated τ² compares nothing: True.
    """
    criteria = run.scenario.task.evaluation_criteria
    if criteria is None or compares_nothing(criteria):
        return True
    if not run.calls_visible or any(spec.requestor == "user" and spec.kind == "write" for spec in run.toolset):
        return None
    made = [record.call for record in run.transcript.trajectory if not record.failed]
    names = {call.name for call in made} | {want.name for want in run.scenario.expected_calls}
    kinds = {name: _writes(name, run.toolset) for name in names}
    if None in kinds.values():
        return None
    return _counted(made, kinds) == _counted(run.scenario.expected_calls, kinds)


def compares_nothing(criteria: EvaluationCriteria) -> bool:
    """Whether τ² looks at no environment at all: neither `actions` nor `env_assertions`, not even as empty lists."""
    return criteria.actions is None and criteria.env_assertions is None


def _counted(calls: Iterable[ToolCall | ExpectedCall], kinds: Mapping[str, bool | None]) -> Counter[str]:
    return Counter(_text(call.name, call.arguments) for call in calls if kinds[call.name])


def _writes(name: str, toolset: Toolset) -> bool | None:
    """Whether a tool writes, whoever calls it; None where that is not known."""
    kinds = {spec.kind for spec in toolset if spec.name == name} - {"unknown"}
    return "write" in kinds if kinds else None


def _only(arguments: Mapping[str, JsonValue], names: Iterable[str]) -> dict[str, JsonValue]:
    kept = set(names)
    return {name: value for name, value in arguments.items() if name in kept}


def _text(name: str, arguments: Mapping[str, JsonValue]) -> str:
    """Write a call so that equal ones have one text: the keys in order, and 1 as 1.0."""
    return json.dumps(json.loads(dumps([name, arguments]), parse_int=_as_float), sort_keys=True)


def _as_float(digits: str) -> float:
    number = int(digits)
    return float(number) if abs(number) < 2**53 else number


Part = Literal["DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION"]
"""What a reward may be made of (τ²: RewardType)."""

PARTS: tuple[Part, ...] = get_args(Part)
DEFAULT_BASIS: tuple[Part, ...] = ("DB", "COMMUNICATE")
"""The basis of a task that states none."""

NO_WORLD = "needs the domain's own tools (τ²-bench or inspect_evals)"
NO_JUDGE = "needs a judge model"


class Tau2Reward(Model):
    """τ²'s reward: 0 or 1, or None where a part that its basis names is not measured; `reasons` then says why.

    `parts` has every part; `checks` what each is the conjunction of, in the task's order (None: not measured). Both
    are empty where τ² itself measures nothing: the run was not closed, or the task has no criteria.
    """

    reward: float | None
    basis: tuple[str, ...] | None = None
    parts: dict[str, float | None] = {}
    checks: dict[str, tuple[bool | None, ...]] = {}
    reasons: tuple[str, ...] = ()

    def metrics(self) -> dict[str, float | None]:
        """Give reward and parts as metrics of a result: `tau2_reward`, `tau2_db`, `tau2_communicate`, …"""
        return {"tau2_reward": self.reward} | {f"tau2_{part.lower()}": self.parts.get(part) for part in PARTS}


def tau2_reward(run: Run, replayed: Replayed | None = None, nl: Sequence[bool] | None = None) -> Tau2Reward:
    """Give τ²'s reward of a closed run.

    `replayed` is what replaying its calls showed (`replay.Replayer`); without it DB and ENV_ASSERTION are
    not measured, unless the task gives τ² nothing to compare. `nl` are a judge's answers on the `nl_assertions`, as
    many as it gave; without it NL_ASSERTION is not measured.
    """
    if not run.finished:
        return Tau2Reward(reward=0.0, reasons=(f"no party closed the conversation ({run.stop_reason})",))
    criteria = run.scenario.task.evaluation_criteria
    if criteria is None:
        return Tau2Reward(reward=1.0, reasons=("the task states no criteria",))
    checks: dict[str, tuple[bool | None, ...]] = {
        **_of_the_world(criteria, replayed),
        "ACTION": check_actions(run),
        "COMMUNICATE": check_communicated(run),
        "NL_ASSERTION": tuple(nl) if nl is not None else (None,) * max(1, len(criteria.nl_assertions or ())),
    }
    if not run.calls_visible:
        checks["ACTION"] = (None,) * len(checks["ACTION"])
    if nl is None and not criteria.nl_assertions:
        checks["NL_ASSERTION"] = ()  # τ² asks no model where there is nothing to ask
    parts: dict[str, float | None] = {part: _conjunction(checks[part]) for part in PARTS}
    basis = tuple(DEFAULT_BASIS if criteria.reward_basis is None else criteria.reward_basis)
    unknown = sorted(set(basis) - set(PARTS))
    missing = [part for part in PARTS if part in basis and parts[part] is None]
    reasons = [f"{part} {NO_JUDGE if part == 'NL_ASSERTION' else NO_WORLD}" for part in missing]
    if replayed is not None:
        reasons = [reason for reason in reasons if NO_WORLD not in reason] + list(replayed.notes)
    reasons += [f"{part!r} in reward_basis is no part of τ²'s reward" for part in unknown]
    return Tau2Reward(
        reward=_product([parts[part] for part in PARTS if part in basis], undecided=bool(unknown)),
        basis=basis,
        parts=parts,
        checks=checks,
        reasons=tuple(reasons),
    )


def _of_the_world(criteria: EvaluationCriteria, replayed: Replayed | None) -> dict[str, tuple[bool | None, ...]]:
    if compares_nothing(criteria):
        return {"DB": (True,), "ENV_ASSERTION": ()}
    asserted = criteria.env_assertions or []
    if replayed is None:
        return {"DB": (None,), "ENV_ASSERTION": (None,) * len(asserted)}
    return {"DB": (replayed.db_match,), "ENV_ASSERTION": replayed.assertions}


def _conjunction(checks: Sequence[bool | None]) -> float | None:
    """1 where all hold, none included; 0 where one fails, whatever the unknown ones are; else None."""
    if any(check is False for check in checks):
        return 0.0
    return None if any(check is None for check in checks) else 1.0


def _product(parts: Sequence[float | None], *, undecided: bool) -> float | None:
    known = [part for part in parts if part is not None]
    if undecided:
        return None
    if 0.0 in known:
        return 0.0  # whatever the others are
    return math.prod(known) if len(known) == len(parts) else None


def metrics_of(run: Run) -> dict[str, float | NotMeasured | None]:
    """Give reward and parts as metrics of a result; what is not measured says why where that decides the reward."""
    replayed = replay_of(run)
    criteria = run.scenario.task.evaluation_criteria
    asked = (criteria.nl_assertions if criteria else None) or ()
    reward = tau2_reward(run, replayed, [run.answers[one] for one in asked] if run.answers else None)
    found: dict[str, float | NotMeasured | None] = {**reward.metrics()}
    if reward.reward is None:
        found["tau2_reward"] = NotMeasured("; ".join(reward.reasons))
    if isinstance(run.replay, str) and run.replay and criteria is not None:
        found["tau2_db"] = NotMeasured(run.replay) if found["tau2_db"] is None else found["tau2_db"]
    return found


def replay_of(run: Run) -> Replayed | None:
    """Give what replaying a run's calls in its domain showed, None where they were not replayed."""
    return run.replay if isinstance(run.replay, Replayed) else None


class BasisCheck:
    """Asks what a `reward_basis` asks for besides the state that the expected calls lead to."""

    reads_states = False

    def __call__(self, run: Run) -> Iterator[Finding]:
        """Give a finding for each assertion where ENV_ASSERTION is asked for, and those of ACTION where that is."""
        criteria = run.scenario.task.evaluation_criteria
        basis = (criteria.reward_basis if criteria else None) or ()
        if "ENV_ASSERTION" in basis:
            yield from _assertions(run, replay_of(run))
        if "ACTION" in basis and run.scenario.expected_calls:
            yield from _actions(run)


def _assertions(run: Run, replayed: Replayed | None) -> Iterator[Finding]:
    criteria = run.scenario.task.evaluation_criteria
    stated = (criteria.env_assertions if criteria else None) or []
    if (replayed is None or replayed.difference) and run.calls_visible and _as_expected(run):
        message = "the calls that write are the expected ones, so that what is asserted holds"
        yield Finding(check="state", kind="state", passed=True, message=message)
        return
    held = replayed.assertions if replayed is not None and not replayed.difference else (None,) * len(stated)
    for assertion, holds in zip(stated, held, strict=False):
        text = printable(call_text(str(assertion.get("func_name")), assertion.get("arguments") or {}))
        wanted = f"{text} is {str(assertion.get('assert_value', True)).lower()}"
        if holds is not None:
            message = f"{wanted}, as asserted" if holds else f"it was asserted that {wanted}, and it is not"
            yield Finding(check="state", kind="state", passed=holds, message=message)
        elif run.finished:
            cure = "name the domain with `environment: {tau2: DOMAIN}` and install it (see docs/reference/tau2.md)"
            yield not_measured("state", "state", f"whether {wanted} ({_why(replayed)})", cure=cure)


def _as_expected(run: Run) -> bool:
    """Whether every expected write was made, and no other by anyone: equal calls lead to the state that is asserted."""
    matching = match_run(run)
    done = matching.succeeded
    paired = set(matching.strict.values())
    others = [record for place, record in enumerate(matching.records) if place not in paired]
    return all(
        index in done or expects_write(want, matching.records, run.toolset) is False
        for index, want in enumerate(matching.expected)
    ) and all(wrote(record, run.toolset) is False for record in others)


def _why(replayed: Replayed | None) -> str:
    if replayed is None:
        return "the domain is not at hand"
    return f"when replayed, {replayed.difference}" if replayed.difference else "; ".join(replayed.notes)


def _actions(run: Run) -> Iterator[Finding]:
    """Judge the expected calls as τ²'s ACTION does, which is what the basis asks for."""
    if not run.calls_visible:
        yield not_seen("calls", "calls")
        return
    wanted = zip(run.scenario.expected_calls, check_actions(run), strict=True)
    missing = [call_text(call.name, call.arguments) for call, made in wanted if not made]
    for text in missing:
        yield Finding(check="calls", kind="calls", passed=False, message=f"{text} was never called (ACTION)")
    if not missing:
        yield Finding(check="calls", kind="calls", passed=True, message="the expected calls were made (ACTION)")
