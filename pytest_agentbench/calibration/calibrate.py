"""Calibration: judges held against labelled conversations, side by side, on divisions drawn anew.

The judges that learn nothing are the signals alone, a given rubric, and the auditor; the last two are held against
whether the agent is at fault, as a suite uses them. POS is the positive label, as in the paper. A conversation that a
judge leaves undecided counts against it.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import get_args

from pytest_agentbench.calibration.dataset import Bucket, Case, Grade, Labelled, Target, seeded, shown, signals
from pytest_agentbench.checks.auditor.ask import AUDITOR, TEMPLATE, audit
from pytest_agentbench.checks.auditor.findings import observed
from pytest_agentbench.checks.judges.evidence import Goal, of_run
from pytest_agentbench.checks.judges.rubric_judge import judge_criteria, judge_mark, rate
from pytest_agentbench.checks.judges.signals import NAME, WEAK, labelled_by
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, BudgetSpentError, ProviderError
from pytest_agentbench.core.names import count
from pytest_agentbench.core.rubric import Label, Rubric, Sees
from pytest_agentbench.core.run import Judgement
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.llm.structured import usable
from pytest_agentbench.results.calibration import (
    Agreement,
    AuditorFigures,
    Calibrated,
    Calibration,
    Slice,
    agreement,
    counts_of,
)

TRAINING, SPLITS = 0.4, 5
"""The share that is learned from, and how often (TRACE §4.1: 206 of 516, five times)."""

_WHY = 200
_SPENT = (ProviderError, BudgetSpentError)

Estimate = Callable[[Case], Awaitable[Label | None]]
"""Labels one conversation; None where it could not."""

Said = Sequence[tuple[Labelled, Label | None]]
"""Conversations, each with what a contender says of it."""


class Contender:
    """A judge, or a way to learn one. `learns` False means that all training sets give the same judge.

    `parts` are what decides, each by its name, where these are told apart, and `mark` is a hash of all of it. `target`
    is the label that it is held against, `notes` are what is worth printing besides the figures, each counted.
    """

    learns = False
    is_auditor = False

    def __init__(self, name: str, mark: str, parts: dict[str, str] | None = None, estimate: Estimate | None = None):
        self.name, self.mark, self.parts = name, mark, parts or {}
        self.target: Target = "agent" if parts else "overall"
        self.notes: Counter[str] = Counter()
        self._estimate = estimate

    async def fit(self, training: Sequence[Labelled]) -> Estimate:
        """Learn from labelled conversations; what has nothing to learn is given as it is."""
        if self._estimate is None:
            raise NotImplementedError
        return self._estimate


def baseline() -> Contender:
    """Give the signals by themselves, to see what a judge adds to them; its mark is a hash of what does not count."""

    async def estimate(case: Case) -> Label | None:
        return labelled_by(signals(case))

    return Contender(NAME, digest([NAME, sorted(WEAK)]), estimate=estimate)


def by_rubric(
    chat: Chat, rubric: Rubric, *, name: str, sees: Sees = "conversation", notes: bool = False, seed: int = 0
) -> Contender:
    """Give a rubric, scored by a model as a suite's judge scores it, which is shown the same.

    Where it `sees` the goal, it raises `ValueError` for a conversation without one.
    """

    async def estimate(case: Case) -> Label | None:
        evidence = shown(case, "notes" if notes else "state", sees)
        random = seeded(seed, "estimate", digest(case.transcript))
        return rate(rubric, await judge_criteria(chat, rubric.judged, evidence, random=random)).label

    parts = judge_mark(chat.spec.model, rubric, sees=sees, notes=notes)
    return Contender(name, digest(parts), parts, estimate)


def auditor(chat: Chat, *, seed: int = 0) -> Contender:
    """Give the auditor under `decide`, where code found nothing wrong: NEG where it fails the agent."""

    async def estimate(case: Case) -> Label | None:
        run = case.run
        policies = tuple(f"{one.id}: {one.text}" for one in run.policies)
        goal = (case.goal or Goal()).model_copy(update={"policies": policies})
        evidence = of_run(run, system=case.briefing, goal=goal)
        random = seeded(seed, AUDITOR, digest(case.transcript))
        seen = await audit(chat, run, policies=run.policies, evidence=evidence, random=random)
        judged = observed(run, Judgement(verdict=Verdict.PASSED), seen, decides=True)
        return "NEG" if judged.verdict is Verdict.FAILED else "POS"

    parts = {"model": chat.spec.model, "prompt": TEMPLATE}
    found = Contender(AUDITOR, digest(parts), parts, estimate)
    found.is_auditor = True
    return found


@dataclass(frozen=True)
class Split:
    """One division."""

    training: tuple[Labelled, ...]
    test: tuple[Labelled, ...]


def seeded_splits(cases: Sequence[Labelled], *, seed: int = 0, count: int = SPLITS) -> list[Split]:
    """Give `count` divisions of 40 to 60, each drawn anew; same seed, same divisions."""
    size = round(TRAINING * len(cases))
    drawn = [_shuffled(cases, seed, number) for number in range(count)]
    return [Split(tuple(one[:size]), tuple(one[size:])) for one in drawn]


def folds(cases: Sequence[Labelled], count: int, *, seed: int = 0) -> list[Split]:
    """Give `count` divisions such that every conversation is tested once; raise `ValueError` for fewer than two."""
    if not 2 <= count <= len(cases):
        raise ValueError(f"found {count!r} folds, allowed: 2 to {len(cases)}, one for each conversation")
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
    told: Callable[[str], None] = lambda _: None,
) -> Calibration:
    """Let every contender learn from each training set and label its test set; `told` hears how far each is.

    A conversation without a usable answer, and all after the budget is spent, are unjudged and count against the
    contender. Raise what went wrong where a contender judged none at all.
    """
    trials = [_Trial(contender, told) for contender in contenders]
    done = await asyncio.gather(*(one.calibrated(splits) for one in trials))
    own = [case for case in cases if case.is_own and not case.agent_at_fault]
    auditors = [await one.audited(own) for one in trials if one.contender.is_auditor]
    return Calibration(
        data=digest([[case.id, case.label, case.transcript.model_dump(mode="json")] for case in cases]),
        cases=len(cases),
        splits=len(splits),
        seed=seed,
        contenders=tuple(done),
        auditor=auditors[0] if auditors else None,
    )


@dataclass
class _Trial:
    """One contender being asked: what it `said`, None for no usable answer, and what went wrong."""

    contender: Contender
    told: Callable[[str], None]
    said: list[tuple[str, Label | None]] = field(default_factory=list)
    errors: list[AgentBenchError] = field(default_factory=list)

    async def labels(self, training: Sequence[Labelled], cases: Sequence[Labelled]) -> Said:
        """Let it learn, and give what it says of conversations: nothing where it could not learn."""
        if self.contender.learns:
            self.told(f"{self.contender.name} learns from {count(len(training), 'conversation')}")
        estimate = await usable(self.contender.fit(training), self.errors.append, _SPENT)
        known = {} if self.contender.learns else dict(self.said)

        async def of(case: Labelled) -> Label | None:
            if case.id in known:
                return known[case.id]
            label = await usable(estimate(case), self.errors.append, _SPENT) if estimate else None
            self.said.append((case.id, label))
            self.told(f"{self.contender.name} has judged {count(len(self.said), 'conversation')}")
            return label

        return list(zip(cases, await asyncio.gather(*map(of, cases)), strict=True))

    async def calibrated(self, splits: Sequence[Split]) -> Calibrated:
        """Give the figures over all divisions."""
        one = self.contender
        divisions = [await self.labels(split.training, split.test) for split in splits]
        if self.errors and not any(label for _, label in self.said):
            raise self.errors[0]
        unjudged = {name for name, label in self.said if label is None}
        notes = [text.format(count) for text, count in one.notes.items()]
        if unjudged:
            why = f" ({shorten(printable(str(self.errors[0])), _WHY)})" if self.errors else ""
            notes.append(f"not judged, and counted as wrong: {count(len(unjudged), 'conversation')}{why}")
        return Calibrated(
            name=one.name,
            mark=one.mark,
            slices=_slices(divisions, "overall"),
            blame=_slices(divisions, "agent"),
            counts=counts_of([(case.wanted(one.target), said) for each in divisions for case, said in each]),
            notes=tuple(notes),
            parts=one.parts,
            unjudged=len(unjudged),
        )

    async def audited(self, own: Sequence[Labelled]) -> AuditorFigures:
        """Hold the auditor against all runs of the team's in which the agent is right."""
        said = [label for _, label in await self.labels((), own) if label]
        return AuditorFigures.of(said, self.contender.parts)


def _slices(divisions: Sequence[Said], target: Target) -> dict[str, Slice]:
    parts: dict[str, list[Agreement]] = defaultdict(list)
    for said in divisions:
        labels = {case.id: label for case, label in said}
        for name, members in slices_of([case for case, _ in said]).items():
            parts[name].append(agreement([(case.wanted(target), labels[case.id]) for case in members]))
    return {name: Slice.of(given) for name, given in parts.items()}


def slices_of(cases: Sequence[Labelled]) -> dict[str, list[Labelled]]:
    """Give the parts that are looked at: all, by bucket, grade, wording, language and situation, and the team's own.

    Empty ones are left out.
    """
    kinds = ("all", *get_args(Bucket), *get_args(Grade), "worded", "own", "language", "situation")
    found: dict[tuple[int, str, str], list[Labelled]] = defaultdict(list)
    for case in cases:
        own = ["own"] if case.is_own else []
        names = ["all", case.bucket, case.grade, "worded" if case.wording == "model" else "", *own]
        places = [(name, "", name) for name in names if name]
        places += [("language", case.language, f"{kind}:{case.language}") for kind in ("language", *own)]
        places += [("situation", case.situation, f"situation:{case.situation}")]
        for kind, key, name in places:
            if key or kind == name:
                found[kinds.index(kind), key, name].append(case)
    return {name: found[rank, key, name] for rank, key, name in sorted(found)}
