"""A rubric on a closed run: criteria decided by code and by a judge, mixed, and what is found."""

import math
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from inspect import iscoroutine

from pytest_agentbench.checks.judges.scoring import RubricScore, Score
from pytest_agentbench.core.errors import CheckError
from pytest_agentbench.core.expression import holds
from pytest_agentbench.core.rubric import Criterion, Rubric
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.text import printable, raised_text, shorten
from pytest_agentbench.core.values import is_number
from pytest_agentbench.core.verdict import Finding

ResolveCheck = Callable[[str], Callable[[Run], object]]
"""Gives the function behind an import path; raises `AgentBenchError` where there is none."""

RunSync = Callable[[Callable[[], object]], Awaitable[object]]
"""Runs code of the user's where it may block."""

_WIDTH = 300


async def decided_scores(
    rubric: Rubric,
    run: Run,
    metrics: Mapping[str, float | None],
    *,
    resolve: ResolveCheck | None = None,
    run_sync: RunSync | None = None,
) -> list[Score]:
    """Score the criteria that need no model; raise `CheckError` where the function of one raises or gives no score.

    A function of the run gives True or False (the maximum or 0), a number from 0 to the maximum, or None: not measured.
    """
    values = {**metrics, "finished": float(run.finished)}
    scores = []
    for criterion in rubric.criteria:
        if criterion.check is None:
            continue
        if not criterion.is_callable:
            truth = holds(criterion.check, values)
            reason = f"{criterion.check}: {_told(criterion.check, values)}"
            scores.append(Score(criterion=criterion, value=_value(truth, criterion), reason=reason))
            continue
        if resolve is None:
            raise CheckError(f"criterion {criterion.id}: {criterion.check!r} cannot be resolved here; give `resolve`")
        ask = partial(_asked, resolve, criterion, run)
        given = await run_sync(ask) if run_sync is not None else ask()
        scores.append(Score(criterion=criterion, value=_value(given, criterion), reason=criterion.check))
    return scores


def rubric_metrics(rated: RubricScore) -> dict[str, float | None]:
    """Give the numbers of a rubric: SCOPE's averages, their difference, and whether SCOPE itself says POS."""
    margin = None if rated.pos is None or rated.neg is None else rated.pos - rated.neg
    scope = None if rated.scope_label is None else float(rated.scope_label == "POS")
    return {"rubric_pos": rated.pos, "rubric_neg": rated.neg, "rubric_margin": margin, "rubric_scope": scope}


def rubric_findings(rubric: Rubric, scores: list[Score], rated: RubricScore) -> list[Finding]:
    """Give the finding that decides, and one that does not for each criterion, worst first within the rubric."""
    by_id = {score.criterion.id: score for score in scores}
    heaviest = max(scores, key=_lost)
    turn = next((citation.turn for citation in heaviest.citations), None)
    passed = None if rated.label is None else rated.label == "POS"
    message = _verdict_text(rubric, rated, heaviest, by_id)
    overall = Finding(check="rubric", kind="rubric", passed=passed, message=message, turn=None if passed else turn)
    return [overall, *(_about(rubric, score) for score in scores)]


def unmeasured_finding(why: str, *, cure: str) -> Finding:
    """Give the finding that stands for a rubric that could not be judged."""
    return Finding(check="rubric", kind="rubric", passed=None, message=f"not measured: {why}", cure=cure)


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
        return float(criterion.max_score if given else 0)
    if is_number(given) and math.isfinite(given) and 0 <= given <= criterion.max_score:
        return float(given)
    allowed = f"True, False, None or a number from 0 to {criterion.max_score}"
    shown = printable(shorten(repr(given), 80))
    raise CheckError(f"criterion {criterion.id}: {criterion.check} gave {shown}, allowed: {allowed}")


def _told(check: str, values: Mapping[str, float | None]) -> str:
    named = {name: value for name, value in values.items() if name in check}
    return ", ".join(f"{name} is {'not measured' if value is None else f'{value:g}'}" for name, value in named.items())


def _verdict_text(rubric: Rubric, rated: RubricScore, heaviest: Score, by_id: Mapping[str, Score]) -> str:
    if rated.label is None:
        unmeasured = ", ".join(name for name, score in by_id.items() if score.value is None)
        return f"not measured: {unmeasured} could decide, and {'is' if ',' not in unmeasured else 'are'} not measured"
    averages = ""
    if rated.pos is not None and rated.neg is not None:
        averages = f" (POS {rated.pos:.2f}, NEG {rated.neg:.2f})"
    if rubric.mode == "default" and rated.vetoed_by:
        shown = ", ".join(f"{name} {_points(by_id[name])}" for name in rated.vetoed_by)
        apart = "; without the veto it would be POS" if rated.scope_label == "POS" else ""
        return _worded(f"{rated.label}: make-or-break {shown}{averages}{apart}", by_id[rated.vetoed_by[0]])
    text = f"{rated.label}{averages}"
    if rubric.mode == "scope" and rated.vetoed_by and rated.label == "POS":
        text += f"; a veto of {', '.join(rated.vetoed_by)} would make it NEG"
    if rated.label == "POS":
        return text
    return _worded(f"{text}, above all {heaviest.criterion.id} {_points(heaviest)}", heaviest)


def _about(rubric: Rubric, score: Score) -> Finding:
    criterion, share = score.criterion, score.share
    if share is None:
        passed = None
    elif criterion.label == "POS":
        passed = share >= 0.5
    else:
        passed = share <= (rubric.veto if criterion.make_or_break else 0.5)
    votes = f" of votes {', '.join(map(str, score.votes))}" if len(score.votes) > 1 else ""
    kind = "make-or-break" if criterion.make_or_break else criterion.label
    return Finding(
        check=f"rubric:{criterion.id}",
        kind="rubric",
        passed=passed,
        message=_worded(f"{kind} {_points(score)}{votes}", score),
        turn=next((citation.turn for citation in score.citations), None),
        required=False,
    )


def _worded(text: str, score: Score) -> str:
    reason = printable(shorten(score.reason.strip(), _WIDTH))
    quote = next((f" (turn {one.turn}: {printable(shorten(one.quote, 120))!r})" for one in score.citations), "")
    return f"{text}: {reason}{quote}" if reason else f"{text}{quote}"


def _points(score: Score) -> str:
    return "–" if score.value is None else f"{score.value:g}/{score.criterion.max_score}"


def _lost(score: Score) -> float:
    """Give how much a criterion weighs against the run."""
    if score.share is None:
        return -1.0
    against = 1 - score.share if score.criterion.label == "POS" else score.share
    return float(score.criterion.rated_weight * against)
