"""SPUR and SCOPE: rubrics learned from labelled conversations, and labels estimated by them.

Both are a few questions to a model: the reasons for each label, summed up as criteria, and later the scores of these.
SPUR asks why a user is content, ten rubrics a side, and sums up their impacts (SCOPE §3.1). SCOPE asks by area, weighs
the criteria, make-or-break ones apart, and estimates by averages (§3.2, constants of appendix C); its rubric loads into
a suite.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from random import Random
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import Field

from pytest_agentbench.calibration.calibrate import Contender, Estimate
from pytest_agentbench.calibration.dataset import CLEAR_CUT, DIVERSE, WORDS, Case, Labelled, seeded, shown, signals
from pytest_agentbench.checks.judges.rubric_judge import Answer, Score, ask, id_faults, rate
from pytest_agentbench.checks.judges.signals import PROVEN, Shown
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, UnusableAnswerError
from pytest_agentbench.core.rubric import Criterion, Label, Rubric
from pytest_agentbench.core.text import shorten
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.llm.structured import usable

A = TypeVar("A", bound=Answer)

BATCH, SAMPLE, MOST_AREAS, PER_AREA, LEAST_KEPT = 20, 10, 5, 5, 12
"""Reasons summed up at a time, conversations that areas are discovered in, areas at most, criteria per area and label.

De-duplication leaves at most half of a label's criteria, or the last where that is more (SCOPE, appendix C.3).
"""

SPUR_REASONS, SPUR_RUBRICS = 3, 10
"""Reasons per conversation, and rubrics for satisfaction, and as many for dissatisfaction (SCOPE §3.1, on SPUR)."""

MOST = 10
"""The highest score (SCOPE §3.1 on SPUR's impact; its step 4 takes the maximum that the prompt names)."""

VETO = Fraction(1, 2)
"""The share of its maximum above which a make-or-break criterion decides alone, with `veto`."""

_LONGEST = 400
"""Characters of a criterion."""

_LABELS: tuple[Label, Label] = ("POS", "NEG")
_WORDS: dict[Label, dict[str, str]] = WORDS["labels"]


class Criteria(Answer):
    """Criteria, the most telling first."""

    criteria: list[Annotated[str, Field(description="a short name, a colon, one sentence")]]


class Given(Answer):
    """The score of one criterion that applies."""

    criterion: str = Field(description="its id")
    score: int = Field(description="from 1 to 10")


class Estimated(Answer):
    """The scores of all criteria that apply."""

    reason: str = Field(description="one short sentence")
    scores: list[Given]


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

_STATE = Criterion(id="neg-state", text="The stored data show otherwise.", label="NEG", make_or_break=True)
"""What the state proves, scored by code: a rubric that was learned from talk and calls has no criterion for it."""


class Learner(Contender):
    """A contender that learns criteria; `teacher` learns in the place of the model that estimates, unless None."""

    learns = True
    templates: ClassVar[tuple[str, ...]]
    """Of its questions, that of the estimate last."""
    branch: str
    """Contenders of one branch ask the same questions about the same division, as ablations do."""

    def __init__(self, chat: Chat, *, name: str = "spur", seed: int = 0, teacher: Chat | None = None) -> None:
        self._chat, self._teacher, self._seed = chat, teacher or chat, seed
        models = [self._teacher.spec.model, self._chat.spec.model]
        super().__init__(
            name, digest([*models, digest([CLEAR_CUT.templates.text(one) for one in self.templates]), name])
        )
        self._division = -1
        self._evidence: Shown = "none"

    async def fit(self, training: Sequence[Labelled]) -> Estimate:
        """Learn criteria from the training set and give what estimates by them.

        Raise `UnusableAnswerError` where nothing came of it.
        """
        self._division += 1
        criteria = await self._learned(training)

        async def estimate(case: Case) -> Label | None:
            return self._label(case, await self._scores(criteria, case))

        return estimate

    async def _learned(self, training: Sequence[Labelled]) -> Sequence[Criterion]:
        raise NotImplementedError

    def _random(self, *parts: str) -> Random:
        """Give the randomness of a question about the training set, by the parts of its name."""
        return seeded(self._seed, self._division, self.branch, *parts)

    async def _taught(self, instead: A, task: str, what: str, **question: Any) -> A:
        """Ask for an answer of the type of `instead`; where none is usable give that, and note that `what` is lost."""

        def count(_: AgentBenchError) -> A:
            self.notes[f"{what} left out for want of a usable answer: {{}}"] += 1
            return instead

        return await usable(ask(self._teacher, type(instead), task, **{"how": CLEAR_CUT, **question}), count)

    async def _reasons(self, training: Sequence[Labelled], instead: A, task: str, **values: str) -> list[A]:
        """Give the reasons for the label of each conversation, all asked at once."""

        def of(case: Labelled) -> Awaitable[A]:
            return self._taught(
                instead,
                task,
                "conversations to learn from",
                data=[shown(case)],
                random=self._random("extract", case.id),
                values={"label": case.label, **_WORDS[case.label], **values},
                how=DIVERSE,
            )

        return await asyncio.gather(*map(of, training))

    async def summed_up(
        self, reasons: Sequence[str], *, meaning: str, most: int, random: Random, batch: int = BATCH
    ) -> list[str]:
        """Give at most `most` criteria of what makes a conversation `meaning`.

        Each batch is summed up together with what came of those before; one without a usable answer changes nothing.
        """

        def line(text: str) -> str:
            return shorten(" ".join(text.split()), _LONGEST)

        criteria: list[str] = []
        values = {"most": str(most), "meaning": meaning}
        for start in range(0, len(reasons), batch):
            lines = [f"criterion so far: {one}" for one in criteria]
            lines += [f"observation: {line(one)}" for one in reasons[start : start + batch]]
            question = {"data": ["\n".join(lines)], "random": random, "values": values}
            given = await self._taught(Criteria(criteria=criteria), "summary.v1", "batches of reasons", **question)
            criteria = [line(one) for one in given.criteria if one.strip()][:most]
        return criteria

    async def _scores(self, criteria: Sequence[Criterion], case: Case) -> list[Score]:
        """Score every criterion; one that is left out does not apply and has 0.

        Raise `UnusableAnswerError` where unknown ids, doubles or scores out of range are given twice in a row.
        """

        def faults(answer: Estimated) -> list[str]:
            named = [one.criterion for one in answer.scores]
            out = [one for one in answer.scores if not 0 <= one.score <= MOST]
            wrong = [f"{one.criterion}: the score {one.score} is not between 0 and {MOST}" for one in out]
            # what is left out does not apply, so only what is named can be wrong
            return id_faults(named, [one.id for one in criteria if one.id in named]) + wrong

        kinds = {"POS": "good", "NEG": "bad"}
        listed = [f"- `{one.id}` ({kinds[one.label]}): {' '.join(one.text.split())}" for one in criteria]
        given = await ask(
            self._chat,
            Estimated,
            self.templates[-1],
            data=[shown(case, self._evidence)],
            random=seeded(self._seed, "estimate", digest(case.transcript)),
            faults=faults,
            values={"criteria": "\n".join(listed)},
            how=CLEAR_CUT,
        )
        of = {one.criterion: one.score for one in given.scores}
        return [Score(criterion=one, value=of.get(one.id, 0) * one.max_score / MOST) for one in criteria]

    def _label(self, case: Case, scores: Sequence[Score]) -> Label | None:
        """Give the label that scores come to: that whose sum is greater, NEG of two equal ones."""
        pos, neg = (sum(one.value or 0 for one in scores if one.criterion.label == label) for label in _LABELS)
        return "POS" if pos > neg else "NEG"


class Spur(Learner):
    """SPUR: SAT iff the impacts of its rubrics exceed those of DSAT in sum."""

    branch = "spur"
    templates = ("spur_reasons.v1", "summary.v1", "spur_estimate.v1")

    class Reasons(Answer):
        """The reasons."""

        reasons: list[str]

    async def _learned(self, training: Sequence[Labelled]) -> Sequence[Criterion]:
        given = await self._reasons(training, self.Reasons(reasons=[]), "spur_reasons.v1", most=str(SPUR_REASONS))
        pairs = list(zip(training, given, strict=True))

        async def rubrics_of(label: Label) -> list[Criterion]:
            reasons = [one for case, each in pairs if case.label == label for one in each.reasons[:SPUR_REASONS]]
            meaning, random = _WORDS[label]["satisfying"], self._random("sum up", label)
            texts = await self.summed_up(reasons, meaning=meaning, most=SPUR_RUBRICS, random=random)
            return [_criterion(label, number, text) for number, text in enumerate(texts, start=1)]

        criteria = [one for found in await asyncio.gather(*map(rubrics_of, _LABELS)) for one in found]
        if not criteria:
            raise UnusableAnswerError("no rubric came of the training conversations")
        return criteria


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


class Scope(Learner):
    """SCOPE, with some of its `parts`; `rubrics` are those that were learned."""

    templates = ("areas.v1", "reasons.v1", "summary.v1", "weights.v1", "estimate.v1")

    def __init__(self, chat: Chat, *, parts: Parts | None = None, seed: int = 0, teacher: Chat | None = None) -> None:
        self._parts = parts or Parts()
        super().__init__(chat, name=self._parts.name, seed=seed, teacher=teacher)
        self.branch = "areas" if self._parts.areas else "whole"
        self._evidence = "signals" if self._parts.evidence else "none"
        self.rubrics: list[Rubric] = []

    async def _learned(self, training: Sequence[Labelled]) -> Sequence[Criterion]:
        areas = await self._areas(training) if self._parts.areas else [WHOLE]
        names = {area.name.casefold(): area.name for area in areas}
        listed = "\n".join(f"- {area.name}: {area.description}" for area in areas)
        given = await self._reasons(training, Reasons(reasons=[]), "reasons.v1", areas=listed)
        texts: dict[tuple[Label, str], list[str]] = defaultdict(list)
        for case, each in zip(training, given, strict=True):
            for one in each.reasons:
                if one.area.casefold() in names and one.reason.strip():
                    texts[case.label, names[one.area.casefold()]].append(one.reason)
        found = await asyncio.gather(
            *(self._criteria(label, [(area.name, texts[label, area.name]) for area in areas]) for label in _LABELS)
        )
        rubric = [criterion for each in found for criterion in each]
        if not any(one.label == "POS" for one in rubric):
            raise UnusableAnswerError("no criterion for desirable conversations came of the training conversations")
        self.rubrics.append(Rubric(criteria=tuple(rubric), formula="scope"))
        return rubric

    async def _areas(self, training: Sequence[Labelled]) -> list[Area]:
        """Name at most five areas, from ten conversations drawn at random."""
        random = self._random("discover")
        drawn = random.sample(list(training), min(SAMPLE, len(training)))
        given = await self._taught(
            Areas(areas=[]),
            "areas.v1",
            "discoveries of areas",
            data=[shown(case) for case in drawn],
            random=random,
            values={"most": str(MOST_AREAS)},
            how=DIVERSE,
        )
        return given.areas[:MOST_AREAS] or [WHOLE]

    async def _criteria(self, label: Label, texts: Sequence[tuple[str, Sequence[str]]]) -> list[Criterion]:
        """Give the weighed criteria of one label; areas are summed up at the same time, then merged.

        Without `weights` all weigh 1 and none is make-or-break; without `make_or_break` those weigh what else was said.
        """
        of = partial(self._random, "generate")
        sum_up = partial(self.summed_up, meaning=_WORDS[label]["meaning"])
        by_area = (sum_up(listed, most=PER_AREA, random=of(f"{label}/{area}")) for area, listed in texts)
        lines = [line for found in await asyncio.gather(*by_area) for line in found]
        random, most = of(f"{label}/all"), max(len(lines) // 2, LEAST_KEPT)
        if len(lines) > 1:
            lines = await sum_up(lines, most=most, random=random, batch=len(lines)) or lines[:most]
        if not lines:
            return []
        numbered = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))
        question = {"data": [numbered], "random": random, "values": _WORDS[label]}
        given = await self._taught(Weights(weights=[]), "weights.v1", "weights", **question)
        more: dict[int, dict[str, Any]] = {}
        for one in given.weights if self._parts.weights else ():
            breaks = self._parts.make_or_break and one.make_or_break and label == "NEG"
            more[one.number] = {"make_or_break": True} if breaks else {"weight": min(10, max(1, one.weight))}
        plain = {} if self._parts.weights else {"weight": 1}
        return [_criterion(label, n, line, **more.get(n, plain)) for n, line in enumerate(lines, start=1)]

    def _label(self, case: Case, scores: Sequence[Score]) -> Label | None:
        if self._parts.evidence and any(one.name in PROVEN for one in signals(case)):
            scores = [*scores, Score(criterion=_STATE, value=_STATE.max_score)]
        label = rate(Rubric(criteria=tuple(one.criterion for one in scores), formula="scope"), scores).label
        breaks = any(one.criterion.make_or_break and (one.share or 0) > VETO for one in scores)
        if label != "POS" or not breaks:
            return label
        who = "the veto decided" if self._parts.veto else "it did not decide"
        self.notes[f"a make-or-break criterion showed where the sums said POS, and {who}; so often: {{}}"] += 1
        return "NEG" if self._parts.veto else label


def _criterion(label: Label, number: int, text: str, **weighed: Any) -> Criterion:
    return Criterion(id=f"{label.lower()}-{number}", text=text, label=label, **weighed)
