"""The figures of judges that were held against labels, as `agentbench calibrate --json` writes and suites read them.

POS is the positive label, as in the paper. A conversation that a judge leaves undecided counts against it.
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import loads
from pytest_agentbench.core.rubric import Label
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
            raise ValueError(f"{self.false_alarms} false alarms of {self.runs} runs")
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
