"""The parts that a scenario asks for, and which of them a run left undecided: the one definition of *measured*.

Asked for are: the state, or where it cannot be read the writes; each info to communicate; `never`; each policy that
the scenario lists, and each rule of the suite whose trigger occurred; the rubric, and its score where a threshold
stands beside a `must`; own checks; and the expected calls where all of them, or their order, are required. How the
conversation ended is no part, unless nobody can tell.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_agentbench.core.run import PolicyOutcome, Run
from pytest_agentbench.core.verdict import Finding, FindingKind, Unmeasured

ADD_RULE = "give the policy a `rule`, or the suite a `judge`"
"""What measures a policy that has neither."""

ADD_JUDGE = "give the suite a `judge`, and let it judge (no `--agentbench-no-judge`)"
"""What measures a rubric."""

LET_ANSWER = "let the judge's model answer (no `--agentbench-no-judge`)"
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
    required = [finding for finding in every if finding.required]
    parts: dict[str, Unmeasured | None] = dict(_of_checks(required))
    if run.scenario.rubric is not None:
        parts.setdefault("rubric", Unmeasured(part="rubric", why="not measured: no model judged it", cure=ADD_JUDGE))
    parts.update(_of_policies(run, every, outcomes))
    return Measured(asked=len(parts), unmeasured=tuple(one for one in parts.values() if one is not None))


def _of_checks(required: Sequence[Finding]) -> Iterator[tuple[str, Unmeasured | None]]:
    """Give each part that is no policy, with what is open about it."""
    groups: dict[str, list[Finding]] = {}
    for finding in required:
        if finding.policy is None and (finding.passed is None or finding.kind not in _DECIDED_ELSEWHERE):
            groups.setdefault(_part(finding), []).append(finding)
    for part, found in groups.items():
        open_ones = [one for one in found if one.passed is None]
        decided = not open_ones or any(one.passed is False for one in found)
        yield part, None if decided else _unmeasured(part, open_ones[0])


def _part(finding: Finding) -> str:
    return f"communicate {finding.expected}" if finding.kind == "communicate" else finding.check


def _of_policies(
    run: Run, findings: Sequence[Finding], outcomes: Sequence[PolicyOutcome]
) -> Iterator[tuple[str, Unmeasured | None]]:
    """Give each policy, with what is open about it; one that was seen broken by a flag alone is not decided."""
    listed = dict.fromkeys([*run.scenario.policies, *(one.id for one in run.policies if one.rule is None)])
    known = {outcome.policy: outcome for outcome in outcomes}
    ruled = {policy.id for policy in run.policies if policy.rule is not None}
    for name in dict.fromkeys([*listed, *known]):
        outcome = known.get(name, PolicyOutcome(policy=name))
        if name not in listed and not outcome.exercised:
            continue
        part = f"policy {name}"
        broken = [one for one in findings if one.policy == name and one.passed is False]
        if broken and not any(one.required for one in broken):
            yield part, Unmeasured(part=part, why=_FLAGGED, cure=LET_DECIDE)
            continue
        if outcome.exercised is False or outcome.kept is not None:
            yield part, None
            continue
        told = next((one for one in findings if one.required and one.policy == name and one.passed is None), None)
        cure = "" if name in ruled else ADD_RULE
        why = "not measured: what its rule reads could not be told" if name in ruled else "not measured: it has no rule"
        yield part, _unmeasured(part, told, cure) if told else Unmeasured(part=part, why=why, cure=cure)


def _unmeasured(part: str, finding: Finding, cure: str = "") -> Unmeasured:
    return Unmeasured(part=part, why=finding.message, cure=finding.cure or cure)
