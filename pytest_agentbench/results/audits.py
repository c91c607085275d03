"""What auditors saw in a session, added up, what the critique of endings took, and what became of faults."""

from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.model import Usage
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.verdict import Flag, Verdict
from pytest_agentbench.results.trials import grouped

CRITIQUE = "critique"
"""The role that says whether a conversation is over."""


class FlagKindCount(Model):
    """How many flags of a kind the auditor raised, in how many runs, and the first one with the name of its run."""

    kind: str
    flags: int
    runs: int
    name: str
    first: Flag


class AuditSums(Model):
    """What auditors saw. `runs` were audited, `decided` of them rest on it, `dropped` counts what had no words there.

    `satisfied` runs have a user that the auditor calls satisfied; `satisfied_failed` of these failed. In `plays_agent`
    runs the user spoke as the agent does. `consents_unclear` were read otherwise than they are labelled. `disputed`
    runs may have failed by their user, whoever suspects it; `replayed` attempts of these were played again.
    """

    runs: int = 0
    decided: int = 0
    dropped: int = 0
    satisfied: int = 0
    satisfied_failed: int = 0
    plays_agent: int = 0
    consents_unclear: int = 0
    disputed: int = 0
    replayed: int = 0
    flags: tuple[FlagKindCount, ...] = ()


def audits_of(results: Iterable[Result], retried: Iterable[Result] = ()) -> AuditSums:
    """Add up what auditors saw of the deciding attempts; `retried` are those before them."""
    runs = list(results)
    seen = [(run, run.audit) for run in runs if run.audit is not None]
    satisfied = [run for run, audit in seen if audit.user_satisfied is not None and audit.user_satisfied.shows]
    return AuditSums(
        runs=len(seen),
        decided=sum(run.rests_on_auditor for run in runs),
        dropped=sum(audit.dropped for _, audit in seen),
        satisfied=len(satisfied),
        satisfied_failed=sum(run.verdict is Verdict.FAILED for run in satisfied),
        plays_agent=sum(audit.plays_agent for _, audit in seen),
        consents_unclear=round(sum(run.metrics.get("consent_unclear") or 0 for run in runs)),
        disputed=sum(bool(run.disputed) for run in runs),
        replayed=sum(bool(run.disputed and run.scored) for run in retried),
        flags=tuple(_kinds(runs)),
    )


def auditor_flags(run: Result) -> list[Flag]:
    """Give the flags of a run that the auditor raised."""
    return [flag for flag in run.flags if flag.kind != "value"]


def _kinds(runs: Sequence[Result]) -> Iterable[FlagKindCount]:
    """Give a count per kind of flag, the most frequent first."""
    found = [(run, flag) for run in runs for flag in auditor_flags(run)]
    for kind, count in sorted(Counter(flag.kind for _, flag in found).items(), key=lambda entry: (-entry[1], entry[0])):
        mine = [(run, flag) for run, flag in found if flag.kind == kind]
        yield FlagKindCount(
            kind=kind,
            flags=count,
            runs=len({str(run.key) for run, _ in mine}),
            name=mine[0][0].key.name,
            first=mine[0][1],
        )


class CritiqueSide(Model):
    """Runs that went on, or those that did not: how many, unscored ones, and calls of their models.

    By `asking` ones of these a model was asked whether a conversation was over.
    """

    runs: int = 0
    unscored: int = 0
    calls: int = 0
    asking: int = 0


class CritiqueSums(Model):
    """What became of the runs whose endings were questioned: those that `resumed`, `times` in all, beside the `others`.

    The endings of `unchecked` runs stood, since no usable answer was given.
    """

    resumed: CritiqueSide = CritiqueSide()
    others: CritiqueSide = CritiqueSide()
    times: int = 0
    unchecked: int = 0

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self.resumed.runs + self.others.runs


def critique_of(results: Iterable[Result]) -> CritiqueSums:
    """Add up the runs of suites whose users go on where a conversation is not over."""
    runs = [run for run in results if run.metrics.get("resumed") is not None]
    return CritiqueSums(
        resumed=_side([run for run in runs if run.metrics["resumed"]]),
        others=_side([run for run in runs if not run.metrics["resumed"]]),
        times=round(sum(run.metrics["resumed"] or 0 for run in runs)),
        unchecked=sum(bool(run.metrics.get("endings_unchecked")) for run in runs),
    )


def _side(runs: Sequence[Result]) -> CritiqueSide:
    return CritiqueSide(
        runs=len(runs),
        unscored=sum(not run.scored for run in runs),
        calls=sum(_calls(usage) for run in runs for usage in run.usage.values()),
        asking=sum(_calls(run.usage.get(CRITIQUE, Usage())) for run in runs),
    )


def _calls(usage: Usage) -> int:
    return usage.calls + usage.replayed


class FaultRow(Model):
    """One fault: `runs` played under it, of which it struck in `met`. The others count among the runs it struck.

    `recovered`: a later call was answered. `given_up`: none was. `made_up`: the agent stated values that came from
    nowhere. `passed`: the run passed. `unseen` were not scored: the fault shows in no answer, or what it made
    impossible could not be measured.
    """

    fault: str
    runs: int = 0
    met: int = 0
    recovered: int = 0
    given_up: int = 0
    made_up: int = 0
    passed: int = 0
    unseen: int = 0
    shows: bool = True


def fault_rows(results: Sequence[Result]) -> tuple[FaultRow, ...]:
    """Give a row per fault, or per set of faults that strike together, in the order in which they first appear."""
    struck = [result for result in results if result.faults and result.not_run is None]
    groups = grouped(struck, lambda result: [" + ".join(result.faults)])
    return tuple(_row(fault, runs) for fault, runs in groups.items())


def _row(fault: str, runs: Sequence[Result]) -> FaultRow:
    met = [run for run in runs if run.metrics.get("faults_met")]
    shows = any(run.metrics.get("faults_recovered") is not None for run in met)
    return FaultRow(
        fault=fault,
        runs=len(runs),
        met=len(met),
        recovered=sum(run.metrics.get("faults_recovered") == 1 for run in met),
        given_up=sum(bool(run.metrics.get("faults_given_up")) for run in met),
        made_up=sum(bool(run.metrics.get("faults_made_up")) for run in met),
        passed=sum(run.passed for run in met),
        unseen=sum(not run.scored for run in met),
        shows=shows or not met,
    )
