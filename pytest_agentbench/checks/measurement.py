"""The parts that a scenario asks for, and which of them a run left undecided: the one definition of *measured*.

Asked for are: the state, or where it cannot be read the writes; each info to communicate; `never`; each policy that
the scenario lists, and each rule of the suite whose trigger occurred; the rubric, and its score where a threshold
stands beside a `must`; own checks; and the expected calls where all of them, or their order, are required. How the
conversation ended is no part, unless nobody can tell.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_agentbench.core.run import PolicyOutcome, Run
from pytest_agentbench.core.verdict import Finding, FindingKind, Unmeasured

ADD_RULE = "give the policy a `rule`, or the suite a `judge`"
"""What measures a policy that has neither."""

ADD_JUDGE = "give the suite a `judge`, and let it judge (no `agentbench_judge = false`)"
"""What measures a rubric."""

LET_ANSWER = "let the judge's model answer (no `agentbench_judge = false`)"
"""What measures either where the suite has a judge that nobody asks."""

LET_DECIDE = "let its word decide: `auditor: decide`"
"""What makes a part of a policy that is violated by a flag alone."""

_FLAGGED = "not measured: the auditor saw it violated, which is a flag and decides nothing"

_DECIDED_ELSEWHERE: frozenset[FindingKind] = frozenset({"termination", "user", "fault", "claim", "goal"})
"""What is found beside the parts; it is one only where it could not be told."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """How many parts were asked for, and those that were not decided."""

    asked: int
    unmeasured: tuple[Unmeasured, ...]

    @property
    def share(self) -> float | None:
        """Give decided / asked for, None where nothing is asked for."""
        return 1 - len(self.unmeasured) / self.asked if self.asked else None

    @property
    def nothing(self) -> bool:
        """Whether something was asked for, and none of it decided."""
        return 0 < self.asked == len(self.unmeasured)


def measured(run: Run, findings: Iterable[Finding], outcomes: Sequence[PolicyOutcome]) -> Measured:
    """Say which parts the findings on a run decide; a part with a failed finding is decided."""
    every = list(findings)
    groups: dict[str, list[Finding]] = {}
    for one in every:
        is_part = one.required and one.policy is None and (one.passed is None or one.kind not in _DECIDED_ELSEWHERE)
        if is_part:
            part = f"communicate {one.expected}" if one.kind == "communicate" else one.check
            groups.setdefault(part, []).append(one)
    parts = {part: _open_part(part, found) for part, found in groups.items()}
    if run.scenario.rubric is not None:
        parts.setdefault("rubric", Unmeasured(part="rubric", why="not measured: no model judged it", cure=ADD_JUDGE))
    known = {outcome.policy: outcome for outcome in outcomes}
    listed = dict.fromkeys([*run.scenario.policies, *(one.id for one in run.policies if one.rule is None)])
    for name in dict.fromkeys([*listed, *known]):
        outcome = known.get(name, PolicyOutcome(policy=name))
        if name in listed or outcome.exercised:
            parts[f"policy {name}"] = _open_policy(run, outcome, [one for one in every if one.policy == name])
    return Measured(asked=len(parts), unmeasured=tuple(one for one in parts.values() if one is not None))


def _open_part(part: str, found: Sequence[Finding]) -> Unmeasured | None:
    """Say what is open about a part that is no policy, None where it is decided."""
    first = next((one for one in found if one.passed is None), None)
    if first is None or any(one.passed is False for one in found):
        return None
    return Unmeasured(part=part, why=first.message, cure=first.cure)


def _open_policy(run: Run, outcome: PolicyOutcome, found: Sequence[Finding]) -> Unmeasured | None:
    """Say what is open about a policy; one that was seen broken by a flag alone is not decided."""
    part = f"policy {outcome.policy}"
    broken = [one.required for one in found if one.passed is False]
    if broken and not any(broken):
        return Unmeasured(part=part, why=_FLAGGED, cure=LET_DECIDE)
    if outcome.is_measured:
        return None
    is_ruled = any(policy.id == outcome.policy and policy.rule is not None for policy in run.policies)
    why = f"not measured: {'what its rule reads could not be told' if is_ruled else 'it has no rule'}"
    cure = "" if is_ruled else ADD_RULE
    first = next((one for one in found if one.required and one.passed is None), None)
    return Unmeasured(part=part, why=first.message if first else why, cure=(first.cure if first else "") or cure)
