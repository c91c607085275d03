"""`agentbench situations`: labelled conversations of a suite's environment, written as files."""

import argparse
import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from pytest_agentbench.calibration.dataset import Labelled, situations
from pytest_agentbench.calibration.generate import Generated, Wish, generate
from pytest_agentbench.calibration.model_conversations import Written, commissions, offers, written
from pytest_agentbench.calibration.rewording import worded
from pytest_agentbench.calibration.situation_player import languages
from pytest_agentbench.cli.model_options import add_recording, asking
from pytest_agentbench.cli.progress import Progress
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.names import count
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.llm.protocols import Caller, Chat

_REASON = 300


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Plays a suite's scenarios, right and wrong, with real tool results and injected failures. Writes labelled "
        "conversations of every situation that its environment allows, to calibrate judges on. Without "
        "--model their words are plain phrases; with it the model writes each conversation around its calls."
    )
    parser.add_argument("suite", type=Path, metavar="SUITE", help="a suite file")
    parser.add_argument("--into", type=Path, required=True, metavar="FOLDER", help="where the files go")
    parser.add_argument(
        "--each", type=int, default=20, metavar="N", help="conversations of each situation (default: 20)"
    )
    parser.add_argument("--right", type=int, default=60, metavar="N", help="conversations without fault (default: 60)")
    parser.add_argument("--only", action="append", choices=list(situations()), help="this situation; may be repeated")
    plain = ", ".join(languages())
    parser.add_argument(
        "--language", action="append", metavar="CODE", help=f"may be repeated ({plain}); others take --model"
    )
    parser.add_argument("--model", metavar="NAME", help="the model that words and writes, as in openai:NAME")
    parser.add_argument(
        "--worded", type=int, metavar="N", help="conversations that it writes around played calls (all)"
    )
    parser.add_argument(
        "--written", type=int, default=0, metavar="N", help="conversations that it writes besides (default: 0)"
    )
    parser.add_argument("--filter-model", metavar="NAME", help="the model that lets them through (the same one)")
    parser.add_argument("--base-url", default="", metavar="URL", help="where models are reached (OPENAI_BASE_URL)")
    add_recording(parser)
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="chooses scenarios, words and values (default: 0)"
    )
    parser.add_argument("--json", action="store_true", help="print what was made of each situation as JSON")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Write the files; give what was made of each situation, and 1 where nothing was.

    Raise `SuiteError` for a suite that cannot be read, and where a model is needed and none is named.
    """
    named = options.language or languages()
    if options.model is None:
        needs = "--written takes a model" if options.written else "--worded takes a model" if options.worded else ""
        if foreign := [one for one in named if one not in languages()]:
            needs = f"there are no plain phrases in {foreign[0]!r}"
        if needs:
            raise SuiteError([Problem(file=options.suite, message=needs, hint="add --model NAME")])
    wish = Wish(
        per_situation=options.each,
        positives=options.right,
        languages=tuple(named),
        only=tuple(options.only or ()),
        seed=options.seed,
    )
    with Progress("situations") as progress:
        made = generate(options.suite, wish, environ=os.environ, told=progress.counted("situation"))
    told = _said_by_model(made, options) if made.cases and options.model else []
    if made.cases:
        made.folder.write(options.into)
    if options.json:
        return dumps(_counted(made, options.into, told), indent=2), 0 if made.cases else 1
    lines = [*_lines(made, options.into), *told]
    return printable("\n".join(lines), newlines=True), 0 if made.cases else 1


def _said_by_model(made: Generated, options: argparse.Namespace) -> list[str]:
    """Have a model word what was played, write others and filter them; put both into `made` and tell of it."""
    examples = list(made.cases)
    chosen = _spread_out(made.cases, len(made.cases) if options.worded is None else options.worded)
    tools, named = examples[0].toolset, options.language or languages()
    wanted = list(commissions(tools, examples, count=options.written, languages=named, seed=options.seed))
    with asking(options, command="situations") as models:

        def chat(role: str, name: str) -> Chat:
            return models.chat(ModelSpec.named(name, base_url=options.base_url), Caller(role=role))

        async def play() -> tuple[list[Labelled], Counter[str], Written]:
            writer = chat("writer", options.model)
            reviewer = chat("filter", options.filter_model or options.model)
            tried = offers(examples, options.seed, rightly=False), offers(examples, options.seed, rightly=True)
            wrong, right = tried if wanted else ([], [])
            try:
                said, lost = await worded(chosen, made.plays, writer, seed=options.seed)
                others = await written(wanted, writer, reviewer, seed=options.seed, wrong=wrong, right=right)
                return said, lost, others
            finally:
                await models.close()

        said, lost, others = asyncio.run(play())
    anew = {case.id: case for case in said}
    made.cases = [anew.get(case.id, case) for case in made.cases] + others.kept
    return [*_told_of_words(made, lost), *(_told_of_written(others) if wanted else [])]


def _spread_out(cases: Sequence[Labelled], count: int) -> list[Labelled]:
    """Give `count` conversations, of each situation one before of any two."""
    of_each: dict[str, list[Labelled]] = {}
    for case in cases:
        of_each.setdefault(case.situation, []).append(case)
    return [case for round_ in zip_longest(*of_each.values()) for case in round_ if case is not None][:count]


def _told_of_words(made: Generated, lost: Counter[str]) -> list[str]:
    count = Counter(case.wording for case in made.cases if case.grade == "gold")
    lines = [f"worded by the model: {count['model']}; in plain phrases: {count['plain']}"]
    return lines + [f"  {many} stayed plain: {shorten(why, _REASON)}" for why, many in lost.items()]


def _told_of_written(made: Written) -> list[str]:
    lines = [
        f"written by the model: {len(made.kept)} let through (silver), {len(made.refused)} held back by the filter"
    ]
    lines += [f"  {case.id}: {shorten(reason, _REASON)}" for case, reason in made.refused]
    lines += [f"  {count} not written: {shorten(why, _REASON)}" for why, count in made.failed.items()]
    precision = "-" if made.precision is None else f"{made.precision:.2f}"
    let = f"{made.let} of {count(made.named, 'played conversation')} let through under their own situation"
    wrong = f"{made.misnamed - made.caught} of {made.misnamed} under a wrong one"
    return [*lines, f"filter: precision {precision} (paper 0.91): {let}, {wrong}"]


def _counted(made: Generated, into: Path, told: list[str]) -> dict[str, JsonValue]:
    """Give what `_lines` tells, for programs; `told` is what a model did."""
    return {
        "folder": str(into),
        "conversations": len(made.cases),
        "situations": dict(Counter(case.situation for case in made.cases)),
        "inexpressible": dict(made.inexpressible),
        "refused": sum(made.refused.values()),
        "equal": made.equal,
        "model": list(told),
    }


def _lines(made: Generated, into: Path) -> list[str]:
    held = Counter(case.situation for case in made.cases)
    lines = [f"{count(len(made.cases), 'conversation')} of {count(len(held), 'situation')} in {into}", ""]
    for name, situation in situations().items():
        if name in held:
            at_fault = "agent at fault" if situation.agent_at_fault else ""
            lines.append(f"{held[name]:5}  {situation.label}  {situation.bucket:28}  {name:26} {at_fault}".rstrip())
    for name, reason in made.inexpressible.items():
        lines.append(f"    -  not expressible here: {name}: {shorten(reason, _REASON)}")
    refused = sum(made.refused.values())
    return [*lines, "", f"{refused} more were refused against the gold log, {made.equal} equalled another but for ids"]
