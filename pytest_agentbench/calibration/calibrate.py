"""Calibration: judges held against labelled conversations, side by side, on divisions drawn anew."""

import asyncio
from collections.abc import Callable, Sequence

from pytest_agentbench.calibration.contender import Contender, Estimate
from pytest_agentbench.calibration.labelled import Labelled
from pytest_agentbench.calibration.metrics import Agreement, Spread, agreement, spread
from pytest_agentbench.calibration.splits import Split
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.rubric import Label

FIGURES = ("accuracy", "precision", "recall", "f1", "kappa")

Told = Callable[[int, int], None]


class Slice(Model):
    """Figures on a part of the conversations: `n` over all divisions, means and deviations of each figure."""

    n: int
    figures: dict[str, Spread]


class Calibrated(Model):
    """What came of one contender. `counts` are pooled: said POS of POS, said NEG of NEG, for correcting rates.

    `parts` are what `mark` is the hash of, where they are told apart.
    """

    name: str
    mark: str
    slices: dict[str, Slice]
    counts: dict[str, int] = {}
    notes: tuple[str, ...] = ()
    parts: dict[str, str] = {}


class Calibration(Model):
    """Several contenders on the same divisions of the same conversations; `data` is the hash of these."""

    data: str
    cases: int
    splits: int
    seed: int
    contenders: tuple[Calibrated, ...]


async def calibrate(
    contenders: Sequence[Contender],
    cases: Sequence[Labelled],
    splits: Sequence[Split],
    *,
    seed: int = 0,
    told: Told = lambda _done, _total: None,
) -> Calibration:
    """Let every contender learn from each training set and label its test set.

    A conversation that a model gives no usable answer about is undecided and counts against the contender.
    """
    done = await asyncio.gather(*(_calibrated(contender, splits, told) for contender in contenders))
    data = digest([[case.id, case.label, case.case.transcript.model_dump(mode="json")] for case in cases])
    return Calibration(data=data, cases=len(cases), splits=len(splits), seed=seed, contenders=tuple(done))


async def _calibrated(contender: Contender, splits: Sequence[Split], told: Told) -> Calibrated:
    known: dict[str, Label | None] = {}
    parts: dict[str, list[Agreement]] = {}
    counts = {"true_pos": 0, "positives": 0, "true_neg": 0, "negatives": 0}
    for number, split in enumerate(splits):
        estimate = await contender.fit(split.training)
        labels = await asyncio.gather(*(_said(case, estimate, known, contender) for case in split.test))
        said = {case.id: label for case, label in zip(split.test, labels, strict=True)}
        for name, members in slices_of(split.test).items():
            parts.setdefault(name, []).append(agreement([(case.label, said[case.id]) for case in members]))
        for case in split.test:
            side = "pos" if case.label == "POS" else "neg"
            counts[f"{'posi' if side == 'pos' else 'nega'}tives"] += 1
            counts[f"true_{side}"] += said[case.id] == case.label
        told(number + 1, len(splits))
    slices = {
        name: Slice(
            n=sum(one.n for one in given),
            figures={figure: spread([getattr(one, figure) for one in given]) for figure in FIGURES},
        )
        for name, given in parts.items()
    }
    notes: tuple[str, ...] = getattr(contender, "notes", ())
    parts_of: dict[str, str] = getattr(contender, "parts", {})
    return Calibrated(
        name=contender.name, mark=contender.mark, slices=slices, counts=counts, notes=notes, parts=parts_of
    )


async def _said(
    case: Labelled, estimate: Estimate, known: dict[str, Label | None], contender: Contender
) -> Label | None:
    if not contender.learns and case.id in known:
        return known[case.id]
    try:
        known[case.id] = await estimate(case.case)
    except UnusableAnswerError:
        known[case.id] = None
    return known[case.id]


def slices_of(cases: Sequence[Labelled]) -> dict[str, list[Labelled]]:
    """Give the parts that are looked at: all, by bucket, grade, language and situation; empty ones left out."""
    found: dict[str, list[Labelled]] = {"all": list(cases)}
    for bucket in ("easy", "hard", "dissatisfied-yet-appropriate"):
        found[bucket] = [case for case in cases if case.bucket == bucket]
    for grade in ("gold", "silver"):
        found[grade] = [case for case in cases if case.grade == grade]
    for language in sorted({case.language for case in cases if case.language}):
        found[f"language:{language}"] = [case for case in cases if case.language == language]
    for name in dict.fromkeys(case.situation for case in sorted(cases, key=lambda case: case.situation)):
        if name:
            found[f"situation:{name}"] = [case for case in cases if case.situation == name]
    return {name: members for name, members in found.items() if members}
