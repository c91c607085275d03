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

    A function of the run gives True or False (the maximum or 0), a number from 0 to the maximum, or None: not measured;
    of a `must` it gives no numbers between.
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


def rubric_metrics(rubric: Rubric, rated: RubricScore) -> dict[str, float | None]:
    """Give the numbers of a rubric, by its formula.

    `scope`: the averages, their difference, and whether the run is POS. `must`: whether every `must` holds, each of
    them by its id, the score, and the least one where it decides.
    """
    if rubric.formula == "scope":
        margin = None if rated.pos is None or rated.neg is None else rated.pos - rated.neg
        scope = None if rated.label is None else float(rated.label == "POS")
        return {"rubric_pos": rated.pos, "rubric_neg": rated.neg, "rubric_margin": margin, "rubric_scope": scope}
    metrics: dict[str, float | None] = {}
    if rated.holds:
        metrics["rubric_must"] = _number(rated.all_hold)
        metrics |= {f"rubric_must.{name}": _number(holds) for name, holds in rated.holds.items()}
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
        return float(criterion.highest if given else 0)
    is_between = criterion.must and given not in (0, 1)
    if is_number(given) and math.isfinite(given) and 0 <= given <= criterion.highest and not is_between:
        return float(given)
    allowed = "True, False, None" if criterion.must else f"True, False, None or a number from 0 to {criterion.highest}"
    shown = printable(shorten(repr(given), 80))
    raise CheckError(f"criterion {criterion.id}: {criterion.check} gave {shown}, allowed: {allowed}")


def _told(check: str, values: Mapping[str, float | None]) -> str:
    named = {name: value for name, value in values.items() if name in check}
    return ", ".join(f"{name} is {'not measured' if value is None else f'{value:g}'}" for name, value in named.items())


def _scope_finding(scores: list[Score], rated: RubricScore) -> Finding:
    """Give the finding of SCOPE's label; a NEG one tells of the criterion that weighs most against the run."""
    if rated.label is None:
        return _undecided("rubric", scores)
    averages = "" if rated.pos is None or rated.neg is None else f" (POS {rated.pos:.2f}, NEG {rated.neg:.2f})"
    if rated.label == "POS":
        return _deciding("rubric", True, f"POS{averages}")
    heaviest = max(scores, key=_lost)
    return _deciding("rubric", False, f"NEG{averages}, above all {heaviest.criterion.id} {_points(heaviest)}", heaviest)


def _must_finding(scores: list[Score], rated: RubricScore) -> Finding:
    """Give the finding of whether every `must` holds; it names those that do not, the first one last and quoted."""
    musts = [score for score in scores if score.criterion.must]
    if rated.all_hold is None:
        return _undecided("rubric", musts)
    score = "" if rated.score is None else f", score {rated.score:.2f}"
    broken = [one for one in musts if one.holds is False]
    if not broken:
        return _deciding("rubric", True, f"all of `must` hold ({', '.join(rated.holds)}){score}")
    return _deciding("rubric", False, f"{'; '.join(map(_broken, reversed(broken)))}{score}", broken[0])


def _score_finding(least: float, scores: list[Score], rated: RubricScore) -> Finding:
    """Give the finding of the score; one below the threshold tells of the criterion that cost most."""
    check = "rubric score" if rated.holds else "rubric"
    scored = [score for score in scores if not (score.criterion.must or score.had_no_occasion)]
    if rated.reached is None:
        return _undecided(check, scored)
    told = f"score {'?' if rated.score is None else f'{rated.score:.2f}'}, threshold {least:g}"
    if rated.reached:
        return _deciding(check, True, told)
    heaviest = max(scored, key=_lost)
    return _deciding(check, False, f"{told}, above all {heaviest.criterion.id} {_points(heaviest)}", heaviest)


def _deciding(check: str, passed: bool, text: str, shown: Score | None = None) -> Finding:
    turn = next((citation.turn for citation in shown.citations), None) if shown else None
    message = _worded(text, shown) if shown else text
    return Finding(check=check, kind="rubric", passed=passed, message=message, turn=turn)


def _undecided(check: str, scores: list[Score]) -> Finding:
    names = [score.criterion.id for score in scores if score.value is None]
    if not names:
        return Finding(check=check, kind="rubric", passed=None, message="not measured: no criterion had an occasion")
    message = f"not measured: {', '.join(names)} could decide, and {'is' if len(names) == 1 else 'are'} not measured"
    return Finding(check=check, kind="rubric", passed=None, message=message)


def _broken(score: Score) -> str:
    """Say that a `must` does not hold."""
    wrong = "must be true and is not" if score.criterion.label == "POS" else "must not be true and is"
    return f"{score.criterion.id} {wrong}"


def _about(score: Score) -> Finding:
    criterion = score.criterion
    return Finding(
        check=f"rubric:{criterion.id}",
        kind="rubric",
        passed=score.holds if criterion.must else _is_good(score),
        message=_worded(_told_of(score), score),
        turn=next((citation.turn for citation in score.citations), None),
        required=False,
    )


def _told_of(score: Score) -> str:
    criterion = score.criterion
    votes = f" of votes {', '.join(map(str, score.votes))}" if len(score.votes) > 1 else ""
    if not score.applies:
        return f"{_kind(criterion)}, no occasion{votes}"
    if criterion.must:
        truth = {None: "–", True: "true", False: "not true"}[None if score.share is None else score.share == 1]
        return f"{_kind(criterion)}: {truth}{votes}"
    return f"{_kind(criterion)} {_points(score)}{votes}"


def _kind(criterion: Criterion) -> str:
    if criterion.must:
        return "must" if criterion.label == "POS" else "must not"
    return "make-or-break" if criterion.make_or_break else criterion.label


def _is_good(score: Score) -> bool | None:
    """Whether a good criterion shows by half, a fault by no more."""
    if score.share is None:
        return None
    return score.share >= 0.5 if score.criterion.label == "POS" else score.share <= 0.5


def _worded(text: str, score: Score) -> str:
    reason = printable(shorten(score.reason.strip(), _WIDTH))
    quote = next((f" (turn {one.turn}: {printable(shorten(one.quote, 120))!r})" for one in score.citations), "")
    return f"{text}: {reason}{quote}" if reason else f"{text}{quote}"


def _points(score: Score) -> str:
    return "–" if score.value is None else f"{score.value:g}/{score.criterion.highest}"


def _number(truth: bool | None) -> float | None:
    return None if truth is None else float(truth)


def _lost(score: Score) -> float:
    """Give how much a criterion weighs against the run."""
    if score.share is None:
        return -1.0
    against = 1 - score.share if score.criterion.label == "POS" else score.share
    return float(score.criterion.rated_weight * against)
