"""What models add to the judgement of code: the auditor's observations, and a rubric of criteria, mixed.

Deterministic evidence comes first. A run that failed by somebody else's fault is not shown to any model. What a model
finds can fail a run that passed so far. That a model gives no usable answer, or is not reached, leaves the verdict as
it stands: what it was asked for is *not measured*.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import iscoroutine
from random import Random
from typing import Literal, TypedDict

from pytest_agentbench.checks.auditor.ask import AUDITOR, audit
from pytest_agentbench.checks.auditor.findings import observed, unaudited, worth_asking
from pytest_agentbench.checks.findings import cut, finding, not_measured
from pytest_agentbench.checks.judges.evidence import goal_of_run, of_audit, of_run
from pytest_agentbench.checks.judges.rubric_judge import RubricScore, Score, judge_criteria, rate
from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.checks.measurement import ADD_JUDGE, ADD_RULE
from pytest_agentbench.checks.verdict import Decided, as_before, rejudged
from pytest_agentbench.core.errors import (
    AgentBenchError,
    CassetteMissError,
    CheckError,
    NotRunError,
    ProviderError,
    SendError,
    TokenLimitError,
    UnusableAnswerError,
)
from pytest_agentbench.core.expression import holds
from pytest_agentbench.core.json_values import is_number
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.protocols import RunSync
from pytest_agentbench.core.rubric import Criterion, Rubric, Sees
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.core.verdict import Blame, Finding, OtherFault, Verdict
from pytest_agentbench.llm.protocols import Chat

ResolveCheck = Callable[[str], Callable[[Run], object]]
"""Gives the function behind an import path; raises `AgentBenchError` where there is none."""


async def decided_scores(
    rubric: Rubric,
    run: Run,
    metrics: Mapping[str, float | None],
    *,
    resolve: ResolveCheck | None = None,
    run_sync: RunSync | None = None,
) -> list[Score]:
    """Score the criteria that need no model; raise `CheckError` where the function of one raises or gives no score.

    A function of the run gives True or False (the maximum or 0), a number from 0 to the maximum, or None: not measured;
    of a `must` it gives no numbers between.
    """
    values = {**metrics, "finished": float(run.finished)}
    scores = []
    for criterion in rubric.criteria:
        if criterion.check is None:
            continue
        if not criterion.is_callable:
            named = {name: value for name, value in values.items() if name in criterion.check}
            shown = (f"{key} is {'not measured' if one is None else f'{one:g}'}" for key, one in named.items())
            value = _value(holds(criterion.check, values), criterion)
            scores.append(Score(criterion=criterion, value=value, reason=f"{criterion.check}: {', '.join(shown)}"))
            continue
        if resolve is None:
            raise CheckError(f"criterion {criterion.id}: {criterion.check!r} cannot be resolved here; give `resolve`")
        ask = partial(_asked, resolve, criterion, run)
        given = await run_sync(ask) if run_sync is not None else ask()
        scores.append(Score(criterion=criterion, value=_value(given, criterion), reason=criterion.check))
    return scores


def rubric_metrics(rubric: Rubric, rated: RubricScore) -> dict[str, float | None]:
    """Give the numbers of a rubric, by its formula.

    `scope`: the averages, their difference, and whether the run is POS. `must`: whether every `must` holds, each of
    them by its id, the score, and the least one where it decides.
    """
    if rubric.formula == "scope":
        margin = None if rated.pos is None or rated.neg is None else rated.pos - rated.neg
        scope = None if rated.label is None else float(rated.label == "POS")
        return {"rubric_pos": rated.pos, "rubric_neg": rated.neg, "rubric_margin": margin, "rubric_scope": scope}
    musts = {"rubric_must": rated.all_hold, **{f"rubric_must.{name}": holds for name, holds in rated.holds.items()}}
    metrics = {name: None if holds is None else float(holds) for name, holds in musts.items() if rated.holds}
    if len(rated.holds) < len(rubric.criteria):
        metrics["rubric_score"] = rated.score
    if rubric.least_score is not None:
        metrics["rubric_threshold"] = rubric.least_score
    return metrics


def rubric_findings(rubric: Rubric, scores: list[Score], rated: RubricScore) -> list[Finding]:
    """Give the findings that decide, and one that does not for each criterion, worst first within the rubric.

    Those that decide: `rubric`, that is SCOPE's label or whether every `must` holds; and the score beside it where a
    threshold is set, which is `rubric` where there is no `must`.
    """
    if rubric.formula == "scope":
        deciding = [_scope_finding(scores, rated)]
    else:
        deciding = [_must_finding(scores, rated)] if rated.holds else []
        if rubric.least_score is not None:
            deciding.append(_score_finding(rubric.least_score, scores, rated))
    return [*deciding, *map(_about, scores)]


def unmeasured_finding(why: str, *, cure: str) -> Finding:
    """Give the finding that stands for a rubric that could not be judged."""
    return not_measured("rubric", "rubric", why, cure=cure)


def _asked(resolve: ResolveCheck, criterion: Criterion, run: Run) -> object:
    function = resolve(criterion.check or "")
    try:
        given = function(run)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the user's code: pytest.skip() or sys.exit() in it is an error
        raise CheckError(f"criterion {criterion.id}: {criterion.check} raised {raised_text(error)}") from error
    if iscoroutine(given):
        given.close()
        raise CheckError(f"criterion {criterion.id}: {criterion.check} is async; a check decides about a closed run")
    return given


def _value(given: object, criterion: Criterion) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool):
        return float(criterion.highest if given else 0)
    is_between = criterion.must and given not in (0, 1)
    if is_number(given) and math.isfinite(given) and 0 <= given <= criterion.highest and not is_between:
        return float(given)
    allowed = "True, False, None" if criterion.must else f"True, False, None or a number from 0 to {criterion.highest}"
    shown = cut(repr(given), 80)
    raise CheckError(f"criterion {criterion.id}: {criterion.check} gave {shown}, allowed: {allowed}")


def _scope_finding(scores: list[Score], rated: RubricScore) -> Finding:
    """Give the finding of SCOPE's label; a NEG one tells of the criterion that weighs most against the run."""
    passed = None if rated.label is None else rated.label == "POS"
    averages = "" if rated.pos is None or rated.neg is None else f" (POS {rated.pos:.2f}, NEG {rated.neg:.2f})"
    return _deciding("rubric", passed, f"{rated.label}{averages}", scores)


def _must_finding(scores: list[Score], rated: RubricScore) -> Finding:
    """Give the finding of whether every `must` holds; it names those that do not, the first one last and quoted."""
    musts = [score for score in scores if score.criterion.must]
    score = "" if rated.score is None else f", score {rated.score:.2f}"
    if rated.all_hold is not False:
        return _deciding("rubric", rated.all_hold, f"all of `must` hold ({', '.join(rated.holds)}){score}", musts)
    broken = [one for one in musts if one.holds is False]
    wrong = {"POS": "must be true and is not", "NEG": "must not be true and is"}
    listed = "; ".join(f"{one.criterion.id} {wrong[one.criterion.label]}" for one in reversed(broken))
    return _shown("rubric", False, f"{listed}{score}", broken[0])


def _score_finding(least: float, scores: list[Score], rated: RubricScore) -> Finding:
    """Give the finding of the score; one below the threshold tells of the criterion that cost most."""
    scored = [score for score in scores if not (score.criterion.must or score.had_no_occasion)]
    text = f"score {'?' if rated.score is None else f'{rated.score:.2f}'}, threshold {least:g}"
    return _deciding("rubric score" if rated.holds else "rubric", rated.reached, text, scored)


def _deciding(check: str, passed: bool | None, text: str, scores: list[Score]) -> Finding:
    """Give a finding that decides, with the criterion of `scores` that weighs most where it failed."""
    if passed:
        return finding(check, "rubric", True, text)
    if passed is False:
        heaviest = max(scores, key=_lost)
        return _shown(check, False, f"{text}, above all {heaviest.criterion.id} {_points(heaviest)}", heaviest)
    names = [score.criterion.id for score in scores if score.value is None]
    why = f"{', '.join(names)} could decide, and {'is' if len(names) == 1 else 'are'} not measured"
    return not_measured(check, "rubric", why if names else "no criterion had an occasion", cure="")


def _about(score: Score) -> Finding:
    """Give the finding of one criterion: a good one should show by half, a fault by no more."""
    criterion = score.criterion
    kind: str = "make-or-break" if criterion.make_or_break else criterion.label
    kind = ("must" if criterion.label == "POS" else "must not") if criterion.must else kind
    truth = "–" if score.share is None else "true" if score.share == 1 else "not true"
    text = f"{kind}: {truth}" if criterion.must else f"{kind} {_points(score)}"
    text = text if score.applies else f"{kind}, no occasion"
    votes = f" of votes {', '.join(map(str, score.votes))}" if len(score.votes) > 1 else ""
    passed = score.holds if criterion.must else None if score.good is None else score.good >= 0.5
    return _shown(f"rubric:{criterion.id}", passed, f"{text}{votes}", score, required=False)


def _shown(check: str, passed: bool | None, text: str, score: Score, *, required: bool = True) -> Finding:
    """Give a finding with what the judge wrote of a criterion, and the first words that it quoted."""
    reason = cut(score.reason.strip())
    quote = next((f" (turn {one.turn}: {cut(one.quote, 120)!r})" for one in score.citations), "")
    turn = next((citation.turn for citation in score.citations), None)
    message = f"{text}: {reason}{quote}" if reason else f"{text}{quote}"
    return finding(check, "rubric", passed, message, turn=turn, required=required)


def _points(score: Score) -> str:
    return "–" if score.value is None else f"{score.value:g}/{score.criterion.highest}"


def _lost(score: Score) -> float:
    """Give how much a criterion weighs against the run."""
    return -1.0 if score.good is None else float(score.criterion.rated_weight * (1 - score.good))


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
