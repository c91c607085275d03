"""A rubric on a closed run: criteria decided by code and by a judge, mixed, and what is found."""

import math
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from inspect import iscoroutine

from pytest_agentbench.checks.findings import cut, finding, not_measured
from pytest_agentbench.checks.judges.scoring import RubricScore, Score
from pytest_agentbench.core.errors import CheckError
from pytest_agentbench.core.expression import holds
from pytest_agentbench.core.rubric import Criterion, Rubric
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.core.values import is_number
from pytest_agentbench.core.verdict import Finding

ResolveCheck = Callable[[str], Callable[[Run], object]]
"""Gives the function behind an import path; raises `AgentBenchError` where there is none."""

RunSync = Callable[[Callable[[], object]], Awaitable[object]]
"""Runs code of the user's where it may block."""


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
