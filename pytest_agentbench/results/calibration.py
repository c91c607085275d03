"""The calibration file: figures of judges held against labels, and how far they can be trusted by them.

POS is the positive label, as in the paper. A conversation that a judge leaves undecided counts against it.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest, loads
from pytest_agentbench.core.names import count
from pytest_agentbench.core.rubric import Label, Rubric
from pytest_agentbench.core.suite import CalibrationSpec, JudgeSpec, Suite
from pytest_agentbench.core.text import printable
from pytest_agentbench.results.intervals import wilson

FIGURES = ("accuracy", "precision", "recall", "f1", "kappa")

_MOST_RUNS = 1_000_000
"""Labelled runs beyond which a file is not believed."""


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

    @classmethod
    def of(cls, divisions: Sequence[Agreement]) -> Self:
        """Give the figures over divisions."""
        figures = {name: spread([getattr(one, name) for one in divisions]) for name in FIGURES}
        return cls(n=sum(one.n for one in divisions), figures=figures)


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


class AuditorFigures(Model):
    """How often the auditor failed a right agent: `false_alarms` of `runs` that the team labelled as not its fault.

    `upper` bounds the rate (95 %, Wilson). `parts` are what it was: model and prompt.
    """

    runs: Annotated[int, Field(strict=True, ge=0, le=_MOST_RUNS)]
    false_alarms: Annotated[int, Field(strict=True, ge=0)]
    upper: float = 1.0
    parts: dict[str, str] = {}

    @classmethod
    def of(cls, said: Sequence[Label], parts: dict[str, str]) -> Self:
        """Give the figures of an auditor by what it said of runs that are right."""
        alarms = said.count("NEG")
        _, upper = wilson(alarms, len(said)) or (0.0, 1.0)
        return cls(runs=len(said), false_alarms=alarms, upper=upper, parts=parts)

    @model_validator(mode="after")
    def _counts_fit(self) -> Self:
        if self.false_alarms > self.runs:
            raise ValueError(f"{count(self.false_alarms, 'false alarm')} of {count(self.runs, 'run')}")
        return self


class Calibration(Model):
    """Several contenders on the same divisions of the same conversations; `data` is the hash of these."""

    data: str
    cases: int
    splits: int
    seed: int
    contenders: tuple[Calibrated, ...]
    auditor: AuditorFigures | None = None


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


def counts_of(pairs: Sequence[tuple[Label, Label | None]]) -> dict[str, int]:
    """Count (label, what the judge says) as `corrected_rate` takes it: said POS of POS, said NEG of NEG."""
    wanted = [label for label, _ in pairs]
    return {
        "true_pos": pairs.count(("POS", "POS")),
        "positives": wanted.count("POS"),
        "true_neg": pairs.count(("NEG", "NEG")),
        "negatives": wanted.count("NEG"),
    }


def spread(given: Sequence[float | None]) -> Spread:
    """Give mean and standard deviation of what is defined."""
    known = [value for value in given if value is not None]
    return Spread(mean=fmean(known) if known else None, sd=stdev(known) if len(known) > 1 else None)


def read_calibrated(file: Path) -> tuple[Calibrated, ...]:
    """Read the judges of a file; raise `OSError` where there is none, and `ValueError` where it holds no judges."""
    form = loads(file.read_text(encoding="utf-8"))
    try:
        found = tuple(map(Calibrated.model_validate, form["contenders"]))
    except (LookupError, TypeError, ValidationError):
        found = ()
    if not found or not all(
        "all" in one.blame and all("kappa" in part.figures for part in one.blame.values()) for one in found
    ):
        raise ValueError("it is no file of `agentbench calibrate --json`, or of an older version")
    return found


def auditor_in(file: Path) -> AuditorFigures | None:
    """Give how the auditor did by a file of `agentbench calibrate --json`; None where it does not say."""
    try:
        return AuditorFigures.model_validate(loads(file.read_text(encoding="utf-8"))["auditor"])
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None


LEAST_RUNS = 50
"""Runs labelled by the team without one false alarm, from which an auditor counts as calibrated."""

_WITHOUT = "or go without its judgement: -o agentbench_judge=false"


class AuditorStanding(Model):
    """How an auditor did on runs of a right agent that the team labelled: how many, and how many of them it failed.

    `other` names the model, or the prompt, that it had then, where that is another now.
    """

    runs: int = 0
    false_alarms: int = 0
    other: str = ""

    @property
    def is_calibrated(self) -> bool:
        """Whether it raised no false alarm on enough runs, and is still the same."""
        return self.runs >= LEAST_RUNS and not self.false_alarms and not self.other

    @property
    def upper(self) -> float | None:
        """Give the upper end of the 95 % interval of its false alarm rate, None without runs."""
        interval = wilson(self.false_alarms, self.runs)
        return None if interval is None else interval[1]


def standing_of(suite: Suite) -> AuditorStanding | None:
    """Give how the auditor of a suite did, as its calibration file says; None for a suite that has no auditor.

    A file that is not there, or says nothing of an auditor, tells of no runs.
    """
    if suite.judge is None or suite.auditor == "off":
        return None
    calibration = suite.judge.calibration
    return (
        AuditorStanding() if calibration is None else _standing(auditor_in(calibration.file), suite.judge.model.model)
    )


def _standing(figures: AuditorFigures | None, model: str) -> AuditorStanding:
    if figures is None:
        return AuditorStanding()
    from pytest_agentbench.checks.auditor.ask import TEMPLATE  # noqa: PLC0415 - few suites have a judge

    now = {"model": model, "prompt": TEMPLATE}
    before = {**now, **figures.parts}
    changed = [printable(before[part]) or "another" for part, value in now.items() if before[part] != value]
    return AuditorStanding(runs=figures.runs, false_alarms=figures.false_alarms, other=", ".join(changed))


def objections(suite: Suite) -> list[str]:
    """Say of each rubric of the suite why its judge may not decide: uncalibrated, drifted, or below the least kappa."""
    judge = suite.judge
    if judge is None or judge.calibration is None:
        return []
    named = [(None, suite.rubric), *((scenario.id, scenario.rubric) for scenario in suite.scenarios)]
    found: dict[str, str] = {}
    for scenario, rubric in named:
        if rubric is not None and rubric.judged:
            whose = "the rubric" if scenario is None else f"the rubric of {scenario}"
            for text in _of_rubric(judge, judge.calibration, rubric):
                found.setdefault(text, f"{suite.path}: {whose}: {text}")
    return list(found.values())


def _of_rubric(judge: JudgeSpec, asked: CalibrationSpec, rubric: Rubric) -> Iterator[str]:
    from pytest_agentbench.checks.judges.rubric_judge import judge_mark  # noqa: PLC0415 - few suites have a judge

    wanted = judge_mark(judge.model.model, rubric, sees=judge.sees, notes=judge.notes)
    options = "".join([*([" --sees goal"] if judge.sees == "goal" else []), *([" --notes"] if judge.notes else [])])
    model = printable(judge.model.model)
    again = f"run `agentbench calibrate RUBRIC LABELLED --model {model}{options} --json {asked.file}`"
    try:
        rows = read_calibrated(asked.file)
    except FileNotFoundError:
        yield f"its judge is not calibrated: there is no {asked.file}; {again}, {_WITHOUT}"
        return
    except (OSError, ValueError) as error:
        yield f"{asked.file} cannot be read as figures of a judge ({printable(str(error))}); {again}, {_WITHOUT}"
        return
    own = next((row for row in rows if row.mark == digest(wanted)), None)
    if own is None:
        yield f"its judge is not the one in {asked.file}: {_drift(wanted, rows)}; {again}, {_WITHOUT}"
        return
    if asked.kappa is None:
        return
    for where, kappa in _kappas(own.blame):
        if kappa is None or kappa < asked.kappa:
            given = "undefined" if kappa is None else f"{kappa:.2f}"
            yield (
                f"its judge agrees too little with the labels: kappa is {given} {where}, the suite asks for "
                f"{asked.kappa:g} ({asked.file}); improve the rubric and {again}, {_WITHOUT}"
            )


def _kappas(slices: Mapping[str, Slice]) -> list[tuple[str, float | None]]:
    """Give where kappa counts, and what it is: on the team's own conversations, all of them and in each language.

    Only where those have no kappa, since all have one label, the played ones count, too.
    """
    known = {name: part.figures["kappa"].mean for name, part in slices.items()}
    own = [
        (f"on your own{f' in {language!r}' if language else ''}", known[name])
        for name in sorted(known)
        for head, _, language in [name.partition(":")]
        if head == "own" and known[name] is not None
    ]
    return own or [("on all", known["all"])]


def _drift(wanted: Mapping[str, str], rows: Sequence[Calibrated]) -> str:
    """Say what changed since the judge that is nearest."""
    known = [row.parts for row in rows if row.parts]
    if not known:
        names = ", ".join(printable(row.name) for row in rows)
        return f"it holds {names}, and no rubric of a suite"
    nearest = max(known, key=lambda parts: sum(parts.get(key) == value for key, value in wanted.items()))
    changed = [key for key, value in wanted.items() if nearest.get(key) != value]
    told = {
        "model": f"the model was {printable(str(nearest.get('model')))!r} and is {printable(wanted['model'])!r}",
        "prompt": "the prompt has changed",
        "rubric": "the rubric has changed",
        "shown": f"it was shown {nearest.get('shown')}, and is shown {wanted['shown']}",
    }
    return ", ".join(told[key] for key in changed)
