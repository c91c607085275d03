"""`agentbench doctor`: builds a suite's agent, plays one turn, and says what it sees and what to do about it."""

import argparse
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_agentbench.cli.progress import Progress
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.secret_keys import MASK
from pytest_agentbench.core.text import shorten
from pytest_agentbench.report.table import Glyphs, glyphs_shown, wrap
from pytest_agentbench.results.redact import Redactor
from pytest_agentbench.results.secrets import redactor_of
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.validation.doctor import Diagnosis, Mark, Observation, examine

_WIDTH = 100
_PROBLEMS = 1
_MARKS: dict[Mark, str] = {"ok": "ok", "note": "note", "problem": "PROBLEM"}
_INDENT = " " * 21


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Plays one turn, then two sessions at once and two in a row, in which a word of one session must not show up "
        "in another: eight turns of your agent, which may call models. The exit status is 1 where something would "
        "make runs fail or mislead."
    )
    parser.add_argument("suite", type=Path, metavar="SUITE", help="a suite file")
    parser.add_argument(
        "--scenario", metavar="ID", help="the scenario whose state and first line to use (default: the first)"
    )
    parser.add_argument("--variant", metavar="NAME", help="the variant of the agent to build (default: the first)")
    parser.add_argument("--say", metavar="TEXT", help="say this instead of the scenario's first line")
    parser.add_argument(
        "--max-calls",
        type=int,
        default=40,
        metavar="N",
        help="the most model calls that the agent may make (default: 40)",
    )
    parser.add_argument("--json", action="store_true", help="print all that was found as JSON")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give what was found and the exit status; raise `SuiteError` where the suite cannot be read."""
    with Progress("doctor") as progress:
        diagnosis = examine(
            options.suite,
            environ=os.environ,
            scenario=options.scenario,
            variant=options.variant,
            say=options.say,
            most_calls=options.max_calls,
            told=progress.line,
        )
    redact = redactor_of(load_suite(options.suite, environ=os.environ, generating=True))
    status = 0 if diagnosis.is_healthy else _PROBLEMS
    if options.json:
        return dumps(redact.json(diagnosis.model_dump(mode="json")), indent=2), status
    drawn = glyphs_shown()
    return redact.text(drawn.plain("\n".join(_lines(diagnosis, drawn, redact)), newlines=True)), status


def _lines(diagnosis: Diagnosis, drawn: Glyphs, redact: Redactor) -> Iterator[str]:
    facts = [f"agentbench doctor: {diagnosis.suite}", f"scenario {diagnosis.scenario}"]
    facts += [f"variant {diagnosis.variant}"] if diagnosis.variant else []
    yield f" {drawn.dot} ".join([*facts, f"{diagnosis.seconds:.1f} s"])
    yield f"said: {shorten(' '.join(diagnosis.said.split()), 200)}"
    yield ""
    yield from observed(diagnosis.observations)
    if diagnosis.calls:
        yield ""
        yield "this turn's calls, as a scenario would expect them if they are right:"
        yield "    expect:"
        holds_secret = any(MASK in redact.text(json.dumps(call.arguments)) for call in diagnosis.calls)
        for call in diagnosis.calls:
            yield f"      - {json.dumps({call.name: call.arguments})}"
        if holds_secret:
            yield f"    {MASK} stands for a secret, which is not shown: write the value itself there"
    yield ""
    yield _verdict(diagnosis)


def observed(observations: Iterable[Observation]) -> Iterator[str]:
    """Write what was seen, each with its mark and, below, what to do about it."""
    for one in observations:
        first, *rest = wrap(one.found, _WIDTH - len(_INDENT))
        yield f"  {_MARKS[one.mark]:<7}  {one.question:<9}  {first}".rstrip()
        yield from (_INDENT + line for line in rest)
        if one.advice:
            first, *rest = wrap(f"-> {one.advice}", _WIDTH - len(_INDENT), "   ")
            yield _INDENT + first
            yield from (_INDENT + line for line in rest)


def _verdict(diagnosis: Diagnosis) -> str:
    problems = sum(one.mark == "problem" for one in diagnosis.observations)
    if problems:
        return f"{problems} {'problem' if problems == 1 else 'problems'}"
    return f"healthy; now: pytest --agentbench {diagnosis.path}"
