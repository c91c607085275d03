"""Calibration: judges held against labelled conversations, side by side, on divisions drawn anew.

POS is the positive label, as in the paper. A conversation that a judge leaves undecided counts against it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean, stdev
from typing import get_args

from pytest_agentbench.calibration.asking import usable
from pytest_agentbench.calibration.judges import Auditor, Contender, Estimate
from pytest_agentbench.calibration.labelled import Case, Grade, Labelled, Target
from pytest_agentbench.calibration.situations import Bucket
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, BudgetSpentError, ProviderError
from pytest_agentbench.core.rubric import Label
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.results.intervals import wilson
from pytest_agentbench.results.standing import AuditorFigures

FIGURES = ("accuracy", "precision", "recall", "f1", "kappa")

TRAINING, SPLITS = 0.4, 5
"""The share that is learned from, and how often (TRACE §4.1: 206 of 516, five times)."""

_WHY = 200
_SPENT = (ProviderError, BudgetSpentError)

Told = Callable[[int, int], None]
Said = Sequence[tuple[Labelled, Label | None]]
"""Conversations, each with what a contender says of it."""


class Agreement(Model):
    """Figures of one judge on some conversations; None where undefined.

    Precision, recall, F1 and kappa are undefined without a POS conversation, so on hard negatives; kappa also without a
    NEG one.
    """

    n: int
    accuracy: float | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    kappa: float | None = None
    undecided: int = 0


class Spread(Model):
    """The mean over splits and the sample standard deviation, None with fewer than two values."""

    mean: float | None
    sd: float | None = None


class Slice(Model):
    """Figures on a part of the conversations: `n` over all divisions, means and deviations of each figure."""

    n: int
    figures: dict[str, Spread]


class Calibrated(Model):
    """What came of one contender: `slices` by the overall label, `blame` by whether the agent is at fault.

    `counts` are pooled by the contender's target: said POS of POS, said NEG of NEG, for correcting rates. `parts` are
    what `mark` is the hash of, where they are told apart. `unjudged` conversations count as wrong.
    """

    name: str
    mark: str
    slices: dict[str, Slice]
    blame: dict[str, Slice] = {}
    counts: dict[str, int] = {}
    notes: tuple[str, ...] = ()
    parts: dict[str, str] = {}
    unjudged: int = 0


class Calibration(Model):
    """Several contenders on the same divisions of the same conversations; `data` is the hash of these."""

    data: str
    cases: int
    splits: int
    seed: int
    contenders: tuple[Calibrated, ...]
    auditor: AuditorFigures | None = None


@dataclass(frozen=True)
class Split:
    """One division."""

    training: tuple[Labelled, ...]
    test: tuple[Labelled, ...]


def agreement(pairs: Sequence[tuple[Label, Label | None]]) -> Agreement:
    """Hold (label, what the judge says) against each other.

    Kappa is (observed - chance) / (1 - chance), J. Cohen, "A coefficient of agreement for nominal scales", 1960.
    """
    n = len(pairs)
    if not n:
        return Agreement(n=0)
    hits = sum(label == said for label, said in pairs)
    both = pairs.count(("POS", "POS"))
    labelled, claimed = ({side: [one[k] for one in pairs].count(side) for side in ("POS", "NEG")} for k in (0, 1))
    chance = sum(labelled[side] * claimed[side] for side in labelled) / (n * n)
    positives = labelled["POS"]
    return Agreement(
        n=n,
        accuracy=hits / n,
        precision=both / claimed["POS"] if positives and claimed["POS"] else None,
        recall=both / positives if positives else None,
        f1=2 * both / (positives + claimed["POS"]) if positives else None,
        kappa=(hits / n - chance) / (1 - chance) if 0 < positives < n else None,
        undecided=sum(said is None for _, said in pairs),
    )


def spread(given: Sequence[float | None]) -> Spread:
    """Give mean and standard deviation of what is defined."""
    known = [value for value in given if value is not None]
    return Spread(mean=fmean(known) if known else None, sd=stdev(known) if len(known) > 1 else None)


def seeded_splits(cases: Sequence[Labelled], *, seed: int = 0, count: int = SPLITS) -> list[Split]:
    """Give `count` divisions of 40 to 60, each drawn anew; same seed, same divisions."""
    size = round(TRAINING * len(cases))
    drawn = [_shuffled(cases, seed, number) for number in range(count)]
    return [Split(tuple(one[:size]), tuple(one[size:])) for one in drawn]


def folds(cases: Sequence[Labelled], count: int, *, seed: int = 0) -> list[Split]:
    """Give `count` divisions such that every conversation is tested once; raise `ValueError` for fewer than two."""
    if not 2 <= count <= len(cases):
        raise ValueError(f"{count!r} folds of {len(cases)} conversations, allowed: 2 to {len(cases)}")
    shuffled = _shuffled(cases, seed, 0)
    parts = [shuffled[place::count] for place in range(count)]
    return [Split(tuple(one for other in parts if other is not part for one in other), tuple(part)) for part in parts]


def _shuffled(cases: Sequence[Labelled], seed: int, number: int) -> list[Labelled]:
    shuffled = sorted(cases, key=lambda case: case.id)
    Random(f"{seed}/{number}").shuffle(shuffled)  # noqa: S311 - divides data
    return shuffled


async def calibrate(
    contenders: Sequence[Contender],
    cases: Sequence[Labelled],
    splits: Sequence[Split],
    *,
    seed: int = 0,
    told: Told = lambda _done, _total: None,
) -> Calibration:
    """Let every contender learn from each training set and label its test set.

    A conversation without a usable answer, and all after the budget is spent, are unjudged and count against the
    contender. Raise what went wrong where a contender judged none at all.
    """
    trials = [_Trial(contender) for contender in contenders]
    done = await asyncio.gather(*(one.calibrated(splits, told) for one in trials))
    own = [case for case in cases if case.is_own and not case.agent_at_fault]
    auditors = [await one.audited(own) for one in trials if isinstance(one.contender, Auditor)]
    return Calibration(
        data=digest([[case.id, case.label, case.case.transcript.model_dump(mode="json")] for case in cases]),
        cases=len(cases),
        splits=len(splits),
        seed=seed,
        contenders=tuple(done),
        auditor=auditors[0] if auditors else None,
    )


@dataclass
class _Trial:
    """One contender being asked: what it said already, None for no usable answer, and what went wrong."""

    contender: Contender
    known: dict[str, Label | None] = field(default_factory=dict)
    errors: list[AgentBenchError] = field(default_factory=list)
    judged: set[str] = field(default_factory=set)
    unjudged: set[str] = field(default_factory=set)

    def _failed(self, error: AgentBenchError) -> None:
        self.errors.append(error)

    async def _said(self, training: Sequence[Labelled], cases: Sequence[Labelled]) -> Said:
        """Let it learn, and give what it says of conversations: nothing where it could not learn."""
        estimate = await usable(self.contender.fit(training), self._failed, _SPENT)
        labels = await asyncio.gather(*(self._label(case, estimate or _nothing) for case in cases))
        return list(zip(cases, labels, strict=True))

    async def _label(self, case: Labelled, estimate: Estimate) -> Label | None:
        if not self.contender.learns and case.id in self.known:
            return self.known[case.id]
        label = await usable(estimate(case.case), self._failed, _SPENT)
        self.known[case.id] = label
        (self.judged if label else self.unjudged).add(case.id)
        return label

    async def calibrated(self, splits: Sequence[Split], told: Told) -> Calibrated:
        """Give the figures over all divisions."""
        divisions = []
        for number, split in enumerate(splits, start=1):
            divisions.append(await self._said(split.training, split.test))
            told(number, len(splits))
        if self.errors and not self.judged:
            raise self.errors[0]
        pairs = [(case.wanted(self.contender.target), said) for one in divisions for case, said in one]
        return Calibrated(
            name=self.contender.name,
            mark=self.contender.mark,
            slices=_slices(divisions, "overall"),
            blame=_slices(divisions, "agent"),
            counts={
                "true_pos": pairs.count(("POS", "POS")),
                "positives": sum(wanted == "POS" for wanted, _ in pairs),
                "true_neg": pairs.count(("NEG", "NEG")),
                "negatives": sum(wanted == "NEG" for wanted, _ in pairs),
            },
            notes=(*self.contender.notes, *self._losses()),
            parts=self.contender.parts,
            unjudged=len(self.unjudged),
        )

    def _losses(self) -> Iterator[str]:
        for what, count in self.contender.lost.items():
            yield f"no usable answer about {count} {what}, which were left out"
        if self.unjudged:
            why = f" ({shorten(printable(str(self.errors[0])), _WHY)})" if self.errors else ""
            yield f"{len(self.unjudged)} conversations were not judged, and count as wrong{why}"

    async def audited(self, own: Sequence[Labelled]) -> AuditorFigures:
        """Hold the auditor against all runs of the team's in which the agent is right."""
        said = [label for _, label in await self._said((), own) if label]
        alarms = said.count("NEG")
        _, upper = wilson(alarms, len(said)) or (0.0, 1.0)
        return AuditorFigures(runs=len(said), false_alarms=alarms, upper=upper, parts=self.contender.parts)


async def _nothing(_: Case) -> None:
    """Label nothing."""


def _slices(divisions: Sequence[Said], target: Target) -> dict[str, Slice]:
    parts: dict[str, list[Agreement]] = defaultdict(list)
    for said in divisions:
        labels = {case.id: label for case, label in said}
        for name, members in slices_of([case for case, _ in said]).items():
            parts[name].append(agreement([(case.wanted(target), labels[case.id]) for case in members]))
    return {
        name: Slice(
            n=sum(each.n for each in given),
            figures={figure: spread([getattr(each, figure) for each in given]) for figure in FIGURES},
        )
        for name, given in parts.items()
    }


def slices_of(cases: Sequence[Labelled]) -> dict[str, list[Labelled]]:
    """Give the parts that are looked at: all, by bucket, grade, wording, language and situation, and the team's own.

    Empty ones are left out.
    """
    kinds = ("all", *get_args(Bucket), *get_args(Grade), "worded", "own", "language", "situation")
    found: dict[tuple[int, str, str], list[Labelled]] = defaultdict(list)
    for case in cases:
        own = ["own"] if case.is_own else []
        names = ["all", case.bucket, case.grade, "worded" if case.wording == "model" else "", *own]
        for name in filter(None, names):
            found[kinds.index(name), "", name].append(case)
        for kind in ("language", *own) if case.language else ():
            found[kinds.index("language"), case.language, f"{kind}:{case.language}"].append(case)
        if case.situation:
            found[kinds.index("situation"), case.situation, f"situation:{case.situation}"].append(case)
    return {name: found[rank, key, name] for rank, key, name in sorted(found)}
