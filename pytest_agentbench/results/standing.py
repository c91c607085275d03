"""What a calibration file says: how far the auditor and the judge of a suite can be trusted, as they stand."""

from collections.abc import Iterator, Mapping, Sequence

from pytest_agentbench.checks.auditor.ask import TEMPLATE
from pytest_agentbench.checks.judges.judge import judge_mark
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.rubric import Rubric
from pytest_agentbench.core.suite import CalibrationSpec, JudgeSpec, Suite
from pytest_agentbench.core.text import printable
from pytest_agentbench.results.calibration import AuditorFigures, Calibrated, Slice, auditor_in, read_calibrated
from pytest_agentbench.results.intervals import wilson

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
                f"{asked.kappa:g} ({asked.file}); mend the rubric and {again}, {_WITHOUT}"
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
