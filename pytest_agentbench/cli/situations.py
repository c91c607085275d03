"""`agentbench situations`: labelled conversations of a suite's environment, written as files."""

import argparse
import asyncio
import contextlib
import os
import sys
from collections import Counter
from pathlib import Path

from pytest_agentbench.calibration.generator import Tally, Wish, generate
from pytest_agentbench.calibration.labelled import Folder
from pytest_agentbench.calibration.situations import situations
from pytest_agentbench.calibration.wording import LANGUAGES
from pytest_agentbench.calibration.written.commission import commissions
from pytest_agentbench.calibration.written.filtering import ModelFilter
from pytest_agentbench.calibration.written.making import Made, written
from pytest_agentbench.calibration.written.writer import ModelWriter
from pytest_agentbench.cli.recording import add_recording, mode_of, recording
from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.chat import Ways
from pytest_agentbench.llm.ledger import Ledger
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.seams import Chat

_REASON = 300


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Play a suite's scenarios rightly and wrongly, with real tool results and injected failures, and write "
        "labelled conversations of every situation that its environment can express, to calibrate judges on."
    )
    parser.add_argument("suite", type=Path, metavar="SUITE", help="a suite file")
    parser.add_argument("--into", type=Path, required=True, metavar="FOLDER", help="where the files go")
    parser.add_argument("--each", type=int, default=20, metavar="N", help="conversations of each situation (20)")
    parser.add_argument("--right", type=int, default=60, metavar="N", help="conversations without fault (60)")
    parser.add_argument("--only", action="append", choices=list(situations()), help="this situation; may be repeated")
    parser.add_argument("--language", action="append", choices=LANGUAGES, help="may be repeated; both unless given")
    parser.add_argument("--written", type=int, default=0, metavar="N", help="conversations that --model writes besides")
    parser.add_argument("--model", metavar="NAME", help="the model that writes them, as in openai:NAME")
    parser.add_argument("--filter-model", metavar="NAME", help="the model that lets them through (the same one)")
    parser.add_argument("--base-url", default="", metavar="URL", help="where models are reached (OPENAI_BASE_URL)")
    add_recording(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="chooses scenarios, words and values (0)")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Write the files; give what was made of each situation, and 1 where nothing was.

    Raise `SuiteError` for a suite that cannot be read, and where a model is to write and none is named.
    """
    if options.written and options.model is None:
        raise SuiteError([Problem(file=options.suite, message="--written takes a model", hint="add --model NAME")])
    wish = Wish(
        per_situation=options.each,
        positives=options.right,
        languages=tuple(options.language or LANGUAGES),
        only=tuple(options.only or ()),
        seed=options.seed,
    )
    folder, tally = generate(options.suite, wish, environ=os.environ, told=_told if sys.stderr.isatty() else _quiet)
    lines = []
    if folder.cases and options.written:
        made = _written(folder, options)
        folder = folder.model_copy(update={"cases": (*folder.cases, *made.kept)})
        lines = _told_of(made)
    if folder.cases:
        folder.write(options.into)
    lines = [*_lines(folder, tally, options.into), *lines]
    return printable("\n".join(lines), newlines=True), 0 if folder.cases else 1


def _written(folder: Folder, options: argparse.Namespace) -> Made:
    """Have a model write conversations about the tools of the environment, and a model filter them."""
    ledger = Ledger(None)
    ledger.start(cost_usd=options.max_cost, calls=options.max_calls)
    mode = mode_of(options.cassette, options.mode)
    wanted = commissions(
        folder.cases[0].case.toolset,
        folder.cases,
        count=options.written,
        languages=options.language or LANGUAGES,
        seed=options.seed,
    )
    with contextlib.closing(ledger), recording(options.cassette, mode, command="situations") as recorder:
        models = Models(environ=os.environ, ways=Ways(budget=ledger), recorder_of=lambda _: recorder)

        def chat(role: str, name: str) -> Chat:
            return models.chat(ModelSpec.named(name, base_url=options.base_url), Caller(role=role))

        async def play() -> Made:
            writer = ModelWriter(chat("writer", options.model), seed=options.seed)
            review = ModelFilter(chat("filter", options.filter_model or options.model), seed=options.seed)
            try:
                return await written(list(wanted), writer, review)
            finally:
                await models.close()

        made = asyncio.run(play())
        if recorder is not None and mode is Mode.REFRESH:
            recorder.finished(None)
    return made


def _told_of(made: Made) -> list[str]:
    lines = [f"written by a model: {len(made.kept)} let through (silver), {len(made.refused)} held back by the filter"]
    lines += [f"  {case.id}: {shorten(reason, _REASON)}" for case, reason in made.refused]
    return lines + [f"  {count} not written: {shorten(why, _REASON)}" for why, count in made.failed.items()]


def _lines(folder: Folder, tally: Tally, into: Path) -> list[str]:
    made = Counter(case.situation for case in folder.cases)
    lines = [f"{len(folder.cases)} conversations of {len(made)} situations in {into}", ""]
    for name, situation in situations().items():
        if name in made:
            lines.append(f"{made[name]:5}  {situation.label}  {situation.bucket:28}  {name}")
    for name, reason in folder.inexpressible.items():
        lines.append(f"    -  not expressible here: {name}: {shorten(reason, _REASON)}")
    refused = sum(tally.refused.values())
    return [*lines, "", f"{refused} more were refused by the checker, {tally.equal} equalled another but for ids"]


def _told(done: int, total: int) -> None:
    end = "\r" if done < total else "\r\x1b[K"
    print(f"{done} of {total} situations", end=end, file=sys.stderr, flush=True)


def _quiet(_done: int, _total: int) -> None:
    """Say nothing."""
