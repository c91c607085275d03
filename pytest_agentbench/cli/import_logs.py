"""`agentbench import`: logs of other systems become recorded suites, or drafts of scenarios."""

import argparse
import os
import random
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_agentbench.cli.progress import Progress
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import Problem
from pytest_agentbench.core.names import count as counted
from pytest_agentbench.core.text import printable
from pytest_agentbench.suites.logs.reader import Garbled, read_conversations
from pytest_agentbench.suites.logs.writer import As, Writer
from pytest_agentbench.suites.personal.masking import Fakes, Masker
from pytest_agentbench.suites.record import Record

UNREAD = 1
"""The exit status where something could not be read."""

KEY = "AGENTBENCH_IMPORT_KEY"
_SHOWN = 20
_NOT_FOUND = (
    "names and dates in free text, and phone numbers without separators, are not found: read what is left before you "
    "share it"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Reads message logs of OpenAI (chat, Responses), Anthropic, Gemini, LangChain, pydantic-ai and smolagents, "
        "OpenTelemetry spans with GenAI attributes, τ² results and transcripts of ours, as JSON lines or JSON. "
        "Personal data is replaced by fakes, the same for the same value; "
        f"{KEY} keeps them the same from one import to the next. "
        "The exit status is 1 where a conversation could not be read, or there was none."
    )
    parser.add_argument("logs", type=Path, nargs="+", metavar="LOG", help="files of conversations")
    parser.add_argument("--into", type=Path, required=True, metavar="FOLDER", help="where to write")
    parser.add_argument(
        "--as",
        dest="kind",
        choices=("recordings", "drafts"),
        default="recordings",
        help="a suite that judges the conversations as they are (recordings), or scenarios to play (drafts)",
    )
    parser.add_argument("--sample", type=int, metavar="N", help="take only N conversations, which the seed chooses")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="chooses the sample (default: 0)")
    parser.add_argument("--keep-personal", action="store_true", help="replace nothing")
    parser.add_argument("--json", action="store_true", help="print what was written, replaced and not read as JSON")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Import, and say what was written, replaced and not understood."""
    key = os.environ.get(KEY, "").encode() or secrets.token_bytes(16)
    masker = None if options.keep_personal else Masker(Fakes(key))
    problems: list[Problem] = []
    garbled: list[Problem] = []
    seen: list[int] = [0]
    kind: As = options.kind
    with Writer(options.into, kind) as writer, Progress("import") as progress:
        read = _read(options.logs, problems, garbled, seen)
        chosen = _sample(read, options.sample, options.seed) if options.sample is not None else read
        count = 0
        for count, record in enumerate(chosen, 1):
            writer.write(masker.record(record) if masker else record)
            progress.line(counted(count, "conversation"))
        if not count:
            writer.discard()
    if options.json:
        replaced = dict(masker.replaced) if masker else {}
        found = {"imported": count, "seen": seen[0], "files": [str(file) for file in writer.files] if count else []}
        found |= {"replaced": replaced, "problems": [str(problem) for problem in problems]}
        found |= {"warnings": [str(one) for one in garbled]}
        return dumps(found, indent=2), UNREAD if problems or not count else 0
    if not count:
        nothing = f"0 of {counted(seen[0], 'conversation')} imported"
        return "\n".join([f"{nothing}; nothing was written", *_about_problems(problems)]), UNREAD
    lines = [f"{_how_many(count, seen[0])} imported"]
    lines += [f"  {file}" for file in writer.files]
    lines += _about_personal(masker)
    lines += _about_problems(problems, options.into)
    if garbled:
        told = [f"  {printable(str(one))}" for one in garbled[:_SHOWN]]
        more = [f"  … and {len(garbled) - _SHOWN} more"] if len(garbled) > _SHOWN else []
        lines += [f"calls with broken arguments: {len(garbled)}", *told, *more]
    if kind == "recordings":
        lines.append(f"now: pytest --agentbench {options.into}")
    else:
        if masker is not None and masker.replaced:
            lines.append(
                "what was replaced is not in the state of your suite either; `--keep-personal` keeps the values, "
                "for drafts that are played against your own data"
            )
        lines.append(f"now: read them, and name the file in a suite: `scenarios: [{writer.files[0].name}]`")
    return "\n".join(lines), UNREAD if problems else 0


def _read(logs: Iterable[Path], problems: list[Problem], garbled: list[Problem], seen: list[int]) -> Iterator[Record]:
    for found in read_conversations(logs):
        if isinstance(found, Garbled):
            garbled.append(found)
            continue
        seen[0] += 1
        if isinstance(found, Problem):
            problems.append(found)
        else:
            yield found


def _sample(records: Iterator[Record], size: int, seed: int) -> list[Record]:
    """Choose `size` records, each as likely, holding no more (algorithm R, Vitter 1985); in their order."""
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    kept: list[tuple[int, Record]] = []
    for number, record in enumerate(records):
        if number < size:
            kept.append((number, record))
        elif (place := rng.randrange(number + 1)) < size:
            kept[place] = (number, record)
    return [record for _, record in sorted(kept, key=lambda pair: pair[0])]


def _about_personal(masker: Masker | None) -> list[str]:
    if masker is None:
        return ["personal data was kept"]
    if not masker.replaced:
        return [f"nothing was replaced; {_NOT_FOUND}"]
    counts = ", ".join(f"{kind} {count}" for kind, count in sorted(masker.replaced.items()))
    return [f"personal data replaced: {counts}; {_NOT_FOUND}"]


def _how_many(count: int, seen: int) -> str:
    of = f" of {seen}" if count < seen else ""
    return f"{count}{of} {'conversation' if seen == 1 else 'conversations'}"


def _about_problems(problems: list[Problem], folder: Path | None = None) -> list[str]:
    """Say what was not read, and why; more than a screen of reasons goes to a file, if something was written."""
    if not problems:
        return []
    told = [f"  {printable(str(problem))}" for problem in problems]
    head = f"not understood: {len(problems)}"
    if len(told) <= _SHOWN:
        return [head, *told]
    if folder is None:
        return [head, *told[:_SHOWN], f"  … and {len(told) - _SHOWN} more"]
    file = folder / "not-understood.txt"
    file.write_text("\n".join(line.strip() for line in told) + "\n", encoding="utf-8")
    return [head, *told[:_SHOWN], f"  … and {len(told) - _SHOWN} more: {file} has all"]
