"""`agentbench calibrate`: judges and rubrics held against labelled conversations, side by side."""

import argparse
import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from pytest_agentbench.calibration.calibrate import (
    SPLITS,
    Contender,
    Split,
    auditor,
    baseline,
    by_rubric,
    calibrate,
    folds,
    seeded_splits,
)
from pytest_agentbench.calibration.dataset import Labelled, read_all
from pytest_agentbench.calibration.rubric_learning import ABLATIONS, Parts, Scope, Spur
from pytest_agentbench.checks.auditor.ask import AUDITOR
from pytest_agentbench.checks.judges.signals import NAME
from pytest_agentbench.cli.model_options import add_recording, asking
from pytest_agentbench.cli.progress import Progress
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.names import count
from pytest_agentbench.core.rubric import Rubric, Sees, WrittenRubric
from pytest_agentbench.core.text import printable
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller, Chat
from pytest_agentbench.llm.structured import AskedOnce
from pytest_agentbench.report.table import Align, table
from pytest_agentbench.results.calibration import (
    FIGURES,
    LEAST_RUNS,
    Calibrated,
    Calibration,
    Slice,
    Spread,
    auditor_in,
)
from pytest_agentbench.results.intervals import corrected_rate
from pytest_agentbench.spec.loading import read_document, read_part

WIDTH = 100
_ALIGN: tuple[Align, ...] = ("<", "<", ">", ">", ">", ">", ">", ">")
_PARTS = {"dissatisfied-yet-appropriate": "appropriate"}
_LEARNED = ("spur", "scope", "scope+veto", "scope+evidence", "scope+evidence+veto")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Compares a judge with labelled conversations: five times it learns from 40 % and judges the other 60 %. "
        "JUDGE is "
        f"{NAME!r} (structural signals, no model), one of {', '.join(_LEARNED)} (learned anew from each 40 %), "
        f"{AUDITOR!r}, or a rubric file; several are joined by commas. All but the first need --model."
    )
    parser.add_argument("judge", metavar="JUDGE_OR_RUBRIC", help="what is calibrated")
    parser.add_argument(
        "transcripts", type=Path, nargs="+", metavar="TRANSCRIPTS", help="folders of `agentbench situations`"
    )
    parser.add_argument("--model", metavar="NAME", help="the model that learns and judges, as in openai:NAME")
    parser.add_argument("--base-url", default="", metavar="URL", help="where it is reached (OPENAI_BASE_URL)")
    add_recording(parser)
    parser.add_argument(
        "--concurrency", type=_positive, default=16, metavar="N", help="questions asked at a time (default: 16)"
    )
    parser.add_argument("--folds", type=int, metavar="K", help="K folds in place of divisions of 40 to 60")
    parser.add_argument("--splits", type=int, default=SPLITS, metavar="N", help=f"divisions drawn ({SPLITS})")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="draws the divisions (default: 0)")
    parser.add_argument("--no-areas", action="store_true", help="scope without area discovery")
    parser.add_argument("--no-weights", action="store_true", help="scope with equal weights")
    parser.add_argument("--no-make-or-break", action="store_true", help="scope without make-or-break criteria")
    parser.add_argument(
        "--sees",
        choices=get_args(Sees),
        default="conversation",
        help="what a rubric's judge sees (a suite's `sees`): the conversation, or also the goal",
    )
    parser.add_argument("--notes", action="store_true", help="show a rubric's judge notes on calls (a suite's `notes`)")
    parser.add_argument("--ablations", action="store_true", help="beside scope, also without each of these")
    parser.add_argument("--situations", action="store_true", help="show every situation, not only the parts")
    parser.add_argument("--correct", metavar="PASSED/N", help="correct this rate for the judge's known errors")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there, with the hashes")
    parser.add_argument("--rubric-into", type=Path, metavar="FILE", help="write the last learned rubric there, as YAML")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the table and the exit status 0; raise `SuiteError` for what cannot be read or measured."""
    cases = read_all(options.transcripts)
    if options.sees == "goal" and (without := next((case.id for case in cases if case.goal is None), None)):
        message = f"the conversation {without!r} has no `goal`, which --sees goal shows"
        hint = "`agentbench situations` writes it; or calibrate what `sees: conversation` judges"
        raise SuiteError([Problem(file=options.transcripts[0], message=message, hint=hint)])
    try:
        splits = (
            folds(cases, options.folds, seed=options.seed)
            if options.folds is not None
            else seeded_splits(cases, seed=options.seed, count=options.splits)
        )
    except ValueError as error:
        raise SuiteError([Problem(file=options.transcripts[0], message=str(error))]) from error
    passed = _rate(options.correct)
    with asking(options, command="calibrate") as models, Progress("calibrate") as progress:
        found, contenders = asyncio.run(_measured(options, models, cases, splits, progress.line))
    if options.json is not None:
        kept = found.auditor or auditor_in(options.json)
        write_atomic(options.json, dumps(found.model_copy(update={"auditor": kept}), indent=2) + "\n")
    learned = next((one.rubrics[-1] for one in reversed(contenders) if isinstance(one, Scope) and one.rubrics), None)
    if options.rubric_into is not None and learned is not None:
        write_atomic(options.rubric_into, rubric_text(learned))
    return printable("\n".join(_lines(found, options, passed)), newlines=True), 0


async def _measured(
    options: argparse.Namespace,
    models: Models,
    cases: Sequence[Labelled],
    splits: Sequence[Split],
    told: Callable[[str], None],
) -> tuple[Calibration, list[Contender]]:
    spec = ModelSpec.named(options.model or "", base_url=options.base_url, in_flight=options.concurrency)
    try:
        contenders = contenders_of(options, lambda role: models.chat(spec, Caller(role=role)))
        return await calibrate(contenders, cases, splits, seed=options.seed, told=told), contenders
    finally:
        await models.close()


def contenders_of(options: argparse.Namespace, chat_of: Callable[[str], Chat]) -> list[Contender]:
    """Give what is calibrated; `chat_of` gives the models of the roles `teacher` and `judge`, each asked once.

    Raise `SuiteError` for a rubric that cannot be read, and for a judge that needs a model where none is named.
    """
    judge, teacher = AskedOnce(chat_of("judge")), AskedOnce(chat_of("teacher"))
    found: list[Contender] = []
    for name in options.judge.split(","):
        if name == NAME:
            found.append(baseline())
            continue
        rubric = None if name in (*_LEARNED, AUDITOR) else _rubric(Path(name))
        if options.model is None:
            raise SuiteError([Problem(file=Path(name), message="judging by it takes a model", hint="add --model NAME")])
        if rubric is not None:
            shown = {"sees": options.sees, "notes": options.notes}
            found.append(by_rubric(judge, rubric, name=Path(name).name, seed=options.seed, **shown))
        elif name == AUDITOR:
            found.append(auditor(judge, seed=options.seed))
        elif name == "spur":
            found.append(Spur(judge, seed=options.seed, teacher=teacher))
        else:
            given = _parts(name, options)
            listed = [given, *ABLATIONS] if options.ablations and name == "scope" else [given]
            found += [Scope(judge, parts=parts, seed=options.seed, teacher=teacher) for parts in listed]
    return found


def _parts(name: str, options: argparse.Namespace) -> Parts:
    return Parts(
        areas=not options.no_areas,
        weights=not options.no_weights,
        make_or_break=not options.no_make_or_break,
        evidence="+evidence" in name,
        veto="+veto" in name,
    )


def _positive(text: str) -> int:
    if text.isdecimal() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"a whole number from 1, not {text!r}")


def _rubric(path: Path) -> Rubric:
    try:
        document = read_document(path)
    except SuiteError as error:
        hint = f"JUDGE is {NAME}, {', '.join(_LEARNED)}, {AUDITOR}, or the path of a rubric file"
        told = [replace(one, message=f"no rubric: {one.message}", hint=hint) for one in error.problems]
        raise SuiteError(told) from error
    rubric: Rubric = read_part(document, WrittenRubric)
    if len(rubric.judged) < len(rubric.criteria):
        message = "a criterion with `check` is decided by a whole run, not by a recorded conversation"
        raise SuiteError([Problem(file=path, message=message, hint="leave such criteria out to calibrate the others")])
    return rubric


def rubric_text(rubric: Rubric) -> str:
    """Give a rubric as a file that a suite can name and a person can edit."""
    import yaml

    form = {"formula": rubric.formula, "criteria": [_criterion_form(one.model_dump()) for one in rubric.criteria]}
    return str(yaml.safe_dump(form, sort_keys=False, allow_unicode=True, width=WIDTH))


def _criterion_form(form: dict[str, Any]) -> dict[str, Any]:
    keys = ["id", "text", "label", "make_or_break" if form["make_or_break"] else "weight"]
    return {key: form[key] for key in keys}


def _rate(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    passed, _, n = text.partition("/")
    if passed.isdecimal() and n.isdecimal() and int(passed) <= int(n) != 0:
        return int(passed), int(n)
    raise SuiteError([Problem(file=Path("--correct"), message=f"found {text!r}, allowed: PASSED/N such as 45/60")])


def _lines(found: Calibration, options: argparse.Namespace, passed: tuple[int, int] | None) -> Iterator[str]:
    how = count(found.splits, "fold") if options.folds else f"{count(found.splits, 'division')} of 40 to 60"
    yield f"agentbench calibrate: {count(found.cases, 'conversation')}, {how}, seed {found.seed}"
    yield ""
    rows: list[tuple[str, ...]] = [("judge", "on", "n", "accuracy", "precision", "recall", "F1", "kappa")]
    rows += [row for one in found.contenders for row in _rows(one, every=options.situations)]
    yield from table(rows, _ALIGN, width=WIDTH)
    yield ""
    yield from (f"{one.name} {one.mark}" for one in found.contenders)
    yield from (f"{one.name}: {note}" for one in found.contenders for note in one.notes)
    if (one := found.auditor) is not None:
        yield (
            f"auditor: {count(one.false_alarms, 'false alarm')} on {one.runs} of your own conversations without fault "
            f"of the agent, 95 % at most {one.upper:.3f}; verdicts rest on it from {LEAST_RUNS} without any"
        )
    if passed is not None:
        yield from (_corrected(one, passed) for one in found.contenders)


def _rows(one: Calibrated, *, every: bool) -> Iterator[tuple[str, ...]]:
    for name, part in one.slices.items():
        if every or not name.startswith(("situation:", "language:")):
            yield _row(one.name, _PARTS.get(name, name), part)
    # what a gate counts: whether the agent is at fault, which an honest refusal is not
    yield _row(one.name, "agent's fault", one.blame["all"])


def _row(judge: str, name: str, part: Slice) -> tuple[str, ...]:
    return (judge, name, str(part.n), *(_shown(part.figures[figure]) for figure in FIGURES))


def _shown(given: Spread) -> str:
    if given.mean is None:
        return "-"
    return f"{given.mean:.2f}" + (f"±{given.sd:.2f}" if given.sd is not None else "")


def _corrected(one: Calibrated, passed: tuple[int, int]) -> str:
    rate = corrected_rate(*passed, **one.counts)
    if rate is None:
        return f"{one.name}: no better than chance, so that no rate can be corrected"
    apparent = passed[0] / passed[1]
    return f"{one.name}: {apparent:.3f} apparent, {rate.rate:.3f} corrected, 95 % {rate.low:.3f} to {rate.high:.3f}"
