"""SCOPE: areas, reasons by area, weighted criteria with make-or-break ones, and labels estimated by them.

Stage by stage as published (SCOPE §3.2, constants of appendix C). The rubric that is learned loads into a suite.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from random import Random

from pydantic import Field

from pytest_agentbench.calibration.asking import (
    CLEAR_CUT,
    DIVERSE,
    ask,
    lossy,
    prompts_mark,
    seeded,
    shown,
    with_signals,
)
from pytest_agentbench.calibration.calibrate import Estimate
from pytest_agentbench.calibration.criteria import LABELS, MEANING, Answer, estimated, summed_up
from pytest_agentbench.calibration.labelled import Case, Labelled
from pytest_agentbench.calibration.signals import PROVEN, signals
from pytest_agentbench.checks.judges.scoring import Score, rate
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.rubric import Criterion, Label, Rubric
from pytest_agentbench.llm.seams import Chat

SAMPLE, MOST_AREAS = 10, 5
"""Conversations that areas are discovered in, and areas at most (SCOPE, appendix C.3)."""

PER_AREA = 5
"""Criteria per area and label (same)."""

LEAST_KEPT = 12
"""De-duplication leaves at most half of a label's criteria, or this many where that is more (same)."""

VETO = Fraction(1, 2)
"""The share of its maximum above which a make-or-break criterion decides alone, with `veto`."""

_BREAKS = (
    "Mark as make-or-break those of which a single instance makes a conversation undesirable whatever else is good "
    "about it, and no others."
)
_NO_BREAKS = "None of them is make-or-break."
_PROMPTS = ("areas.v1", "reasons.v1", "summary.v1", "weights.v1", "estimate.v1")


class Area(Answer):
    """One area."""

    name: str = Field(description="two or three words")
    description: str = Field(description="one sentence")


class Areas(Answer):
    """The areas, without overlap."""

    areas: list[Area]


class GivenReason(Answer):
    """One reason."""

    area: str = Field(description="the name of the area, as given")
    reason: str = Field(description="one sentence")


class Reasons(Answer):
    """The reasons for the label."""

    reasons: list[GivenReason]


class Weight(Answer):
    """How much one criterion weighs."""

    number: int
    weight: int = Field(description="from 1 to 10")
    make_or_break: bool


class Weights(Answer):
    """One weight for each criterion."""

    weights: list[Weight]


WHOLE = Area(name="overall", description="anything that makes the conversation good or bad")
"""The one area where discovery is left out, or gives nothing usable."""

_Reason = tuple[str, Label, str]
"""Area, label and text."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Which parts of SCOPE are in force, and what goes beyond it.

    `evidence` shows the judge state changes, notes on calls and the other signals, and counts what the state proves;
    `veto` lets a make-or-break criterion decide alone. The rubric is learned from what was said and called in any case.
    """

    areas: bool = True
    weights: bool = True
    make_or_break: bool = True
    evidence: bool = False
    veto: bool = False

    @property
    def name(self) -> str:
        """What it is called in tables."""
        more = [name for name in ("evidence", "veto") if getattr(self, name)]
        without = [name for name in ("areas", "weights", "make_or_break") if not getattr(self, name)]
        return "scope" + "".join(f"+{name}" for name in more) + "".join(f"-{name}" for name in without)


ABLATIONS = (Parts(areas=False), Parts(weights=False), Parts(make_or_break=False))
"""What SCOPE is without one of its parts (SCOPE, tables 4 and 10)."""


async def learn(
    chat: Chat,
    training: Sequence[Labelled],
    *,
    parts: Parts,
    seed: int = 0,
    number: int = 0,
    lost: Counter[str] | None = None,
) -> Rubric:
    """Learn a rubric; raise `UnusableAnswerError` where no POS criterion comes of it. What is `lost` is counted.

    Contenders that differ in weights, vetoes or evidence alone ask the same questions about the same division `number`.
    """
    lost = Counter() if lost is None else lost
    of = partial(seeded, seed, number, "areas" if parts.areas else "whole")
    areas = [WHOLE]
    if parts.areas:
        areas = await lossy(_discovered(chat, training, of("discover")), areas, lost, "discoveries of areas")
    reasons = await _extracted(chat, training, areas, partial(of, "extract"), lost)
    made = (_criteria_of(chat, reasons, areas, label, random_of=partial(of, "generate"), lost=lost) for label in LABELS)
    criteria = [
        _weighed(label, place, text, said, parts)
        for label, given in zip(LABELS, await asyncio.gather(*made), strict=True)
        for place, (text, said) in enumerate(given, start=1)
    ]
    if not any(one.label == "POS" for one in criteria):
        raise UnusableAnswerError("no criterion for desirable conversations came of the training conversations")
    return Rubric(criteria=tuple(criteria), formula="scope")


async def _discovered(chat: Chat, training: Sequence[Labelled], random: Random) -> list[Area]:
    """Name at most five areas, from ten conversations drawn at random."""
    drawn = random.sample(list(training), min(SAMPLE, len(training)))
    texts = [shown(case.case, with_evidence=False) for case in drawn]
    given = await ask(chat, Areas, "areas.v1", data=texts, random=random, temperature=DIVERSE, most=str(MOST_AREAS))
    return given.areas[:MOST_AREAS] or [WHOLE]


async def _extracted(
    chat: Chat,
    training: Sequence[Labelled],
    areas: Sequence[Area],
    random_of: Callable[[str], Random],
    lost: Counter[str],
) -> list[_Reason]:
    """Give the reasons for the labels, all asked at once; one whose area is none of `areas` is left out."""
    names = {area.name.casefold(): area.name for area in areas}
    listed = "\n".join(f"- {area.name}: {area.description}" for area in areas)

    async def of(case: Labelled) -> list[_Reason]:
        asked = ask(
            chat,
            Reasons,
            "reasons.v1",
            data=[shown(case.case, with_evidence=False)],
            random=random_of(case.id),
            temperature=DIVERSE,
            label=case.label,
            meaning=MEANING[case.label],
            areas=listed,
        )
        given = await lossy(asked, Reasons(reasons=[]), lost, "conversations to learn from")
        return [
            (names[one.area.casefold()], case.label, one.reason)
            for one in given.reasons
            if one.area.casefold() in names and one.reason.strip()
        ]

    return [reason for found in await asyncio.gather(*map(of, training)) for reason in found]


async def _criteria_of(
    chat: Chat,
    reasons: Sequence[_Reason],
    areas: Sequence[Area],
    label: Label,
    *,
    random_of: Callable[[str], Random],
    lost: Counter[str],
) -> list[tuple[str, Weight | None]]:
    """Give the criteria of one label with their weights; areas are summed up at the same time, then merged."""

    def of_area(area: Area) -> Awaitable[list[str]]:
        texts = [text for name, of, text in reasons if of == label and name == area.name]
        random = random_of(f"{label}/{area.name}")
        return summed_up(chat, texts, meaning=MEANING[label], most=PER_AREA, random=random, lost=lost)

    lines = [line for found in await asyncio.gather(*map(of_area, areas)) for line in found]
    random = random_of(f"{label}/all")
    most = max(len(lines) // 2, LEAST_KEPT)
    if len(lines) > 1:
        merged = await summed_up(
            chat, lines, meaning=MEANING[label], most=most, random=random, batch=len(lines), lost=lost
        )
        lines = merged or lines[:most]
    if not lines:
        return []
    asked = ask(
        chat,
        Weights,
        "weights.v1",
        data=["\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))],
        random=random,
        temperature=CLEAR_CUT,
        meaning=MEANING[label],
        make_or_break=_BREAKS if label == "NEG" else _NO_BREAKS,
    )
    weights = {one.number: one for one in (await lossy(asked, Weights(weights=[]), lost, "weights")).weights}
    return [(text, weights.get(number)) for number, text in enumerate(lines, start=1)]


def _weighed(label: Label, place: int, text: str, said: Weight | None, parts: Parts) -> Criterion:
    """Give a criterion with what was said of its weight.

    Without `weights` all weigh 1 and none is make-or-break; without `make_or_break` those weigh what else was said.
    """
    name = f"{label.lower()}-{place}"
    if not parts.weights:
        return Criterion(id=name, text=text, label=label, weight=1)
    if said is None:
        return Criterion(id=name, text=text, label=label)
    if parts.make_or_break and said.make_or_break and label == "NEG":
        return Criterion(id=name, text=text, label=label, make_or_break=True)
    return Criterion(id=name, text=text, label=label, weight=min(10, max(1, said.weight)))


class Scope:
    """SCOPE as a contender; `teacher` learns in the place of the model that estimates, unless None."""

    learns = True

    def __init__(self, chat: Chat, *, parts: Parts | None = None, seed: int = 0, teacher: Chat | None = None) -> None:
        self._chat = chat
        self._teacher = teacher or chat
        self._parts = parts or Parts()
        self._seed = seed
        self._fits = 0
        self._overruled = 0
        self.name = self._parts.name
        self.rubrics: list[Rubric] = []
        self.lost: Counter[str] = Counter()

    @property
    def mark(self) -> str:
        """A hash of models, prompts and parts."""
        return digest([self._teacher.spec.model, self._chat.spec.model, prompts_mark(*_PROMPTS), self.name])

    @property
    def notes(self) -> tuple[str, ...]:
        """Say how often a make-or-break criterion showed and the sums decided otherwise."""
        if not self._overruled:
            return ()
        who = "the veto decided" if self._parts.veto else "it did not decide"
        return (f"{self._overruled} times a make-or-break criterion showed, the sums said POS, and {who}",)

    async def fit(self, training: Sequence[Labelled]) -> Estimate:
        """Learn a rubric from the training set and give what estimates by it."""
        self._fits += 1
        number = self._fits - 1
        rubric = await learn(self._teacher, training, parts=self._parts, seed=self._seed, number=number, lost=self.lost)
        self.rubrics.append(rubric)

        async def estimate(case: Case) -> Label | None:
            random = seeded(self._seed, "estimate", digest(case.transcript))
            label, is_broken = await judged(self._chat, rubric, case, evidence=self._parts.evidence, random=random)
            if label != "POS" or not is_broken:
                return label
            self._overruled += 1
            return "NEG" if self._parts.veto else label

        return estimate


async def judged(
    chat: Chat, rubric: Rubric, case: Case, *, evidence: bool, random: Random
) -> tuple[Label | None, bool]:
    """Give the label by a learned rubric, and whether a make-or-break criterion shows by more than half.

    With `evidence` the judge is shown the signals, and what the state proves is one more make-or-break criterion that
    code scores: a rubric that was learned from talk and calls has none for it.
    """
    shown_to_judge = with_signals(case) if evidence else shown(case, with_evidence=False)
    scores = await estimated(chat, rubric.criteria, shown_to_judge, template="estimate.v1", random=random)
    if evidence and any(one.name in PROVEN for one in signals(case)):
        proven = Criterion(id="neg-state", text="The stored data show otherwise.", label="NEG", make_or_break=True)
        rubric = rubric.model_copy(update={"criteria": (*rubric.criteria, proven)})
        scores = [*scores, Score(criterion=proven, value=proven.max_score, reason="by code")]
    return rate(rubric, scores).label, any(map(_breaks, scores))


def _breaks(score: Score) -> bool:
    """Whether a make-or-break criterion shows by more than half."""
    return score.criterion.make_or_break and score.share is not None and score.share > VETO
