"""Calibration: judges held against labelled conversations, side by side, on divisions drawn anew."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from pytest_agentbench.calibration.labelled import Case, Labelled, Target
from pytest_agentbench.calibration.metrics import Agreement, Spread, agreement, spread
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, BudgetSpentError, CassetteMissError, ProviderError
from pytest_agentbench.core.rubric import Label
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.results.intervals import wilson
from pytest_agentbench.results.standing import AuditorFigures

FIGURES = ("accuracy", "precision", "recall", "f1", "kappa")

TRAINING, SPLITS = 0.4, 5
"""The share that is learned from, and how often (TRACE §4.1: 206 of 516, five times)."""

_WHY = 200

Estimate = Callable[[Case], Awaitable[Label | None]]
"""Labels one conversation; None where it could not."""

Told = Callable[[int, int], None]


class Contender(Protocol):
    """A judge, or a way to learn one. `learns` False means that all training sets give the same judge.

    It may have `notes` to print, `parts` that `mark` is the hash of, `lost` counts of questions without a usable
    answer, and a `target` other than the overall label.
    """

    name: str
    learns: bool

    @property
    def mark(self) -> str:
        """A hash of what decides: model, prompts and rubric."""
        ...

    async def fit(self, training: Sequence[Labelled]) -> Estimate:
        """Learn from labelled conversations."""
        ...


@dataclass(frozen=True)
class Split:
    """One division."""

    training: tuple[Labelled, ...]
    test: tuple[Labelled, ...]


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


def seeded_splits(cases: Sequence[Labelled], *, seed: int = 0, count: int = SPLITS) -> list[Split]:
    """Give `count` divisions of 40 to 60, each drawn anew; same seed, same divisions."""
    splits = []
    for number in range(count):
        shuffled = _shuffled(cases, seed, number)
        size = round(TRAINING * len(shuffled))
        splits.append(Split(tuple(shuffled[:size]), tuple(shuffled[size:])))
    return splits


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
    askings = [_Asking(contender) for contender in contenders]
    done = await asyncio.gather(*(_calibrated(asking, splits, told) for asking in askings))
    own = [case for case in cases if case.is_own and not case.agent_at_fault]
    auditors = [await _audited(one, own) for one in askings if getattr(one.contender, "is_auditor", False)]
    data = digest([[case.id, case.label, case.case.transcript.model_dump(mode="json")] for case in cases])
    return Calibration(
        data=data,
        cases=len(cases),
        splits=len(splits),
        seed=seed,
        contenders=tuple(done),
        auditor=auditors[0] if auditors else None,
    )


@dataclass
class _Asking:
    """One contender being asked: what it said already, and what went wrong."""

    contender: Contender
    known: dict[str, Label | None] = field(default_factory=dict)
    errors: list[AgentBenchError] = field(default_factory=list)
    judged: set[str] = field(default_factory=set)
    unjudged: set[str] = field(default_factory=set)

    async def fit(self, training: Sequence[Labelled]) -> Estimate:
        """Let it learn; where nothing came of that it labels nothing."""
        try:
            return await self.contender.fit(training)
        except CassetteMissError:
            raise
        except (ProviderError, BudgetSpentError) as error:
            self.errors.append(error)
            return _nothing

    async def said(self, case: Labelled, estimate: Estimate) -> Label | None:
        """Give what it says of a conversation, None where no usable answer came."""
        if not self.contender.learns and case.id in self.known:
            return self.known[case.id]
        label: Label | None = None
        try:
            label = await estimate(case.case)
        except CassetteMissError:
            raise
        except (ProviderError, BudgetSpentError) as error:
            self.errors.append(error)
        self.known[case.id] = label
        (self.judged if label else self.unjudged).add(case.id)
        return label

    def notes(self) -> tuple[str, ...]:
        """Say what is worth knowing, what was lost and why."""
        given: tuple[str, ...] = getattr(self.contender, "notes", ())
        lost: Counter[str] = getattr(self.contender, "lost", None) or Counter()
        found = [f"no usable answer about {count} {what}, which were left out" for what, count in lost.items()]
        if self.unjudged:
            why = f" ({shorten(printable(str(self.errors[0])), _WHY)})" if self.errors else ""
            found.append(f"{len(self.unjudged)} conversations were not judged, and count as wrong{why}")
        return (*given, *found)


async def _nothing(_: Case) -> None:
    """Label nothing."""


async def _calibrated(asking: _Asking, splits: Sequence[Split], told: Told) -> Calibrated:
    contender = asking.contender
    target: Target = getattr(contender, "target", "overall")
    targets: tuple[Target, Target] = ("overall", "agent")
    parts: dict[Target, dict[str, list[Agreement]]] = {one: {} for one in targets}
    counts = {"true_pos": 0, "positives": 0, "true_neg": 0, "negatives": 0}
    for number, split in enumerate(splits, start=1):
        estimate = await asking.fit(split.training)
        labels = await asyncio.gather(*(asking.said(case, estimate) for case in split.test))
        said = {case.id: label for case, label in zip(split.test, labels, strict=True)}
        for name, members in slices_of(split.test).items():
            for one in targets:
                pairs = [(case.wanted(one), said[case.id]) for case in members]
                parts[one].setdefault(name, []).append(agreement(pairs))
        for case in split.test:
            wanted = case.wanted(target)
            counts["positives" if wanted == "POS" else "negatives"] += 1
            counts[f"true_{wanted.lower()}"] += said[case.id] == wanted
        told(number, len(splits))
    if asking.errors and not asking.judged:
        raise asking.errors[0]
    by_target = {
        one: {
            name: Slice(
                n=sum(each.n for each in given),
                figures={figure: spread([getattr(each, figure) for each in given]) for figure in FIGURES},
            )
            for name, given in parts[one].items()
        }
        for one in targets
    }
    return Calibrated(
        name=contender.name,
        mark=contender.mark,
        slices=by_target["overall"],
        blame=by_target["agent"],
        counts=counts,
        notes=asking.notes(),
        parts=getattr(contender, "parts", {}),
        unjudged=len(asking.unjudged),
    )


async def _audited(asking: _Asking, own: Sequence[Labelled]) -> AuditorFigures:
    """Hold the auditor against all runs of the team's in which the agent is right."""
    estimate = await asking.fit(())
    said = [label for label in await asyncio.gather(*(asking.said(case, estimate) for case in own)) if label]
    alarms = said.count("NEG")
    _, upper = wilson(alarms, len(said)) or (0.0, 1.0)
    parts: dict[str, str] = getattr(asking.contender, "parts", {})
    return AuditorFigures(runs=len(said), false_alarms=alarms, upper=upper, parts=parts)


def slices_of(cases: Sequence[Labelled]) -> dict[str, list[Labelled]]:
    """Give the parts that are looked at: all, by bucket, grade, wording, language and situation, and the team's own.

    Empty ones are left out.
    """
    found: dict[str, list[Labelled]] = {"all": list(cases)}
    for bucket in ("easy", "hard", "dissatisfied-yet-appropriate"):
        found[bucket] = [case for case in cases if case.bucket == bucket]
    for grade in ("gold", "silver"):
        found[grade] = [case for case in cases if case.grade == grade]
    found["worded"] = [case for case in cases if case.wording == "model"]
    found["own"] = [case for case in cases if case.is_own]
    for language in sorted({case.language for case in cases if case.language}):
        found[f"language:{language}"] = [case for case in cases if case.language == language]
        found[f"own:{language}"] = [case for case in found["own"] if case.language == language]
    for name in sorted({case.situation for case in cases if case.situation}):
        found[f"situation:{name}"] = [case for case in cases if case.situation == name]
    return {name: members for name, members in found.items() if members}
