"""The judgement that models add to one that the deterministic checks gave: the auditor's observations, and the rubric.

Deterministic evidence comes first. A run that failed by somebody else's fault is not shown to any model. What a model
finds can fail a run that passed so far. That a model gives no usable answer, or is not reached, leaves the verdict as
it stands: what it was asked for is *not measured*.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Literal, TypedDict

from pytest_agentbench.checks.auditor.ask import AUDITOR, audit
from pytest_agentbench.checks.auditor.findings import observed, unaudited, worth_asking
from pytest_agentbench.checks.decide import Decided, as_before, rejudged
from pytest_agentbench.checks.findings import cut, finding
from pytest_agentbench.checks.judges.evidence import goal_of_run, of_audit, of_run
from pytest_agentbench.checks.judges.judge import judge_criteria
from pytest_agentbench.checks.judges.rubric import (
    ResolveCheck,
    RunSync,
    decided_scores,
    rubric_findings,
    rubric_metrics,
    unmeasured_finding,
)
from pytest_agentbench.checks.judges.scoring import rate
from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.checks.parts import ADD_JUDGE, ADD_RULE
from pytest_agentbench.core.errors import (
    AgentBenchError,
    CassetteMissError,
    NotRunError,
    ProviderError,
    SendError,
    TokenLimitError,
    UnusableAnswerError,
)
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.rubric import Rubric, Sees
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.verdict import Blame, Finding, OtherFault, Verdict
from pytest_agentbench.llm.seams import Chat

JUDGE = "judge"
"""The role that scores rubrics."""

_WIDTH = 600
_NOT_JUDGED = {
    "why": "the run could not be judged, so no model was asked",
    "cure": "mend what kept the run from being judged",
}

Auditing = Literal["flags", "decide"]
"""What a suite's `auditor` says of observations without a fact beside them."""


def needs_model(rubric: Rubric | None, policies: Sequence[Policy]) -> bool:
    """Whether a rubric and the policies without a rule cannot be judged by code alone."""
    return any(policy.rule is None for policy in policies) or bool(rubric and rubric.judged)


async def judge_with_models(
    run: Run,
    judgement: Judgement,
    *,
    chat_for: Callable[[str], Chat],
    random: Random,
    auditor: Auditing | None = None,
    audits: bool = False,
    rubric: Rubric | None = None,
    policies: Sequence[Policy] = (),
    system: str = "",
    votes: int = 1,
    sees: Sees = "goal",
    notes: bool = False,
    ignore: Sequence[str] = (),
    resolve: ResolveCheck | None = None,
    resolve_value: Resolver | None = None,
    run_sync: RunSync | None = None,
) -> Judgement:
    """Add to `judgement` what the auditor sees, the `policies` without a rule among it, and what the rubric comes to.

    The auditor is asked where `auditor` says how much its word counts for; with `audits` the suite asks for it, so that
    it is a part of the run. `chat_for` gives the model of a role (`AUDITOR`, `JUDGE`), asked for only where it is
    needed. `system` is the agent's system prompt where it is known. `random` gives nonces, and orders the votes. `sees`
    says what the judge of the rubric is shown beside the conversation, `notes` shows it and the auditor notes on calls.
    `ignore` are path patterns left out of state differences. `resolve` leads from import paths to the functions of a
    rubric, which `run_sync` runs, `resolve_value` to those of rules. Raise `NotRunError` where none may be asked.
    """
    is_open = judgement.verdict is not Verdict.ERROR or judgement.nothing_measured
    if not is_open and (auditor is None or not worth_asking(run, judgement)):
        return without_models(run, judgement, **_NOT_JUDGED, rubric=rubric, policies=policies, audits=audits)
    unseen = judgement
    asked = [policy for policy in policies if policy.rule is None]
    if auditor is not None:
        evidence = of_audit(run, system=system, ignore=ignore, notes=notes, policies=asked)
        try:
            seen = await audit(chat_for(AUDITOR), run, policies=asked, evidence=evidence, random=random)
        except NotRunError:
            raise
        except AgentBenchError as error:
            judgement = unaudited(run, judgement, policies=asked, is_part=audits, **_failure(error, AUDITOR))
        else:
            decides = auditor == "decide"
            judgement = observed(run, judgement, seen, decides=decides, policies=asked, resolve=resolve_value)
    elif asked:
        judgement = unaudited(run, judgement, why="no auditor was asked", policies=asked)
    if rubric is None or (judgement.verdict is Verdict.ERROR and not judgement.nothing_measured):
        return judgement
    try:
        scores = await decided_scores(rubric, run, judgement.metrics, resolve=resolve, run_sync=run_sync)
        if rubric.judged:
            goal = goal_of_run(run, ignore=ignore) if sees == "goal" else None
            shown = of_run(run, system=system, ignore=ignore, notes=notes, goal=goal)
            scores += await judge_criteria(chat_for(JUDGE), rubric.judged, shown, random=random, votes=votes)
    except NotRunError:
        raise
    except AgentBenchError as error:
        return _with_rubric(run, judgement, [_failed_rubric(error)], unseen, blame=_failure(error, JUDGE)["blame"])
    rated = rate(rubric, scores)
    return _with_rubric(run, judgement, rubric_findings(rubric, scores, rated), unseen, rubric_metrics(rubric, rated))


def without_models(
    run: Run,
    judgement: Judgement,
    *,
    why: str,
    cure: str = "",
    rubric: Rubric | None = None,
    policies: Sequence[Policy] = (),
    audits: bool = False,
) -> Judgement:
    """Show as *not measured* all that models would have judged; what code found decides.

    `cure` is what would measure it (by default: a judge). With `audits` the suite asks for the auditor, so that it is a
    part of the run.
    """
    if audits or any(policy.rule is None for policy in policies):
        judgement = unaudited(run, judgement, why=why, cure=cure or ADD_RULE, policies=policies, is_part=audits)
    if rubric is None:
        return judgement
    return _with_rubric(run, judgement, [unmeasured_finding(why, cure=cure or ADD_JUDGE)], judgement)


def _with_rubric(
    run: Run,
    before: Judgement,
    added: Sequence[Finding],
    unseen: Judgement,
    metrics: Mapping[str, float | None] | None = None,
    *,
    blame: Blame | None = None,
) -> Judgement:
    """Give the judgement with the findings on a rubric, `unseen` being the one that no auditor has added to.

    `blame` is whose fault it is that the rubric could not be judged.
    """
    raised = [
        OtherFault(blame=Blame.SCENARIO, reason=one.message)
        for one in added
        if one.kind == "check" and one.passed is False
    ][:1]

    def rejudge(judged: Judgement) -> Judgement:
        def decide(failed: Sequence[Finding], nothing: bool) -> Decided:
            if judged.verdict is Verdict.FAILED:
                return judged.verdict, judged.blame, (*judged.also, *raised)
            if judged.verdict is Verdict.ERROR and not judged.nothing_measured:
                return as_before(judged)
            if raised or blame is Blame.SCENARIO:
                return Verdict.ERROR, Blame.SCENARIO, ()
            if failed:
                return Verdict.FAILED, Blame.AGENT, ()
            # the rubric is judged last and told first: the blame is of what is told
            return (Verdict.ERROR, blame or judged.blame or Blame.SCENARIO, ()) if nothing else _PASSED

        return rejudged(run, judged, [*judged.findings, *added], {}, decide=decide, metrics=metrics)

    judged = rejudge(before)
    if not before.rests_on_auditor:
        return judged
    alone = rejudge(unseen)
    differs = (judged.verdict, judged.blame) != (alone.verdict, alone.blame)
    return judged.model_copy(update={"rests_on_auditor": differs})


_PASSED: Decided = (Verdict.PASSED, None, ())

_CURES: tuple[tuple[type[AgentBenchError], str], ...] = (
    (CassetteMissError, "record what the judge answers: --agentbench-cassette record"),
    (TokenLimitError, "`max_tokens` and `effort` are keys of `judge: {llm: {…}}`"),
    (UnusableAnswerError, "let a model judge that keeps to the form it is asked for"),
)


class _Failure(TypedDict):
    why: str
    cure: str
    blame: Blame


def _failure(error: AgentBenchError, role: str) -> _Failure:
    """Say why a role gave no answer (its part is named already), what to do about it, and whose fault it is."""
    cure = next(
        (cure for kind, cure in _CURES if isinstance(error, kind)), "run it again when the judge's model answers"
    )
    if isinstance(error, SendError) and not error.again:
        cure = "let a model judge whose server takes what it is asked"
    blame = Blame.PROVIDER if isinstance(error, ProviderError) else Blame.SCENARIO
    if isinstance(error, UnusableAnswerError) and not isinstance(error, TokenLimitError):
        blame = Blame.JUDGE
    return {"why": cut(str(error), _WIDTH).removeprefix(f"{role}, "), "cure": cure, "blame": blame}


def _failed_rubric(error: AgentBenchError) -> Finding:
    """Say that the rubric could not be judged; what the user's own code or names broke is a failed check."""
    failure = _failure(error, JUDGE)
    if failure["blame"] is Blame.SCENARIO:
        return finding("rubric", "check", False, cut(str(error), _WIDTH))
    return unmeasured_finding(failure["why"], cure=failure["cure"])
