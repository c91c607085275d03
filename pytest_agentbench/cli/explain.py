"""`agentbench explain`: one run of the last session, why it came out as it did and what was said."""

import argparse
import json
from pathlib import Path
from typing import Any

from pytest_agentbench.core.errors import SuiteFaultError, with_hint
from pytest_agentbench.core.json_values import to_json
from pytest_agentbench.core.names import count, listing, suggestion
from pytest_agentbench.core.run import Result
from pytest_agentbench.report.failure import conversation_text, failure_text
from pytest_agentbench.report.failures import rerun_of
from pytest_agentbench.report.table import glyphs_shown
from pytest_agentbench.results.document import Document, read
from pytest_agentbench.results.run_directory import LAST_SESSION, Transcripts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Without RUN it names every run that did not pass. The exit status is 1 unless all runs shown passed."
    )
    parser.add_argument(
        "run", nargs="?", metavar="RUN", help="its node id or the end of it: bench/…::cancel-d03, cancel-d03, d03"
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=LAST_SESSION,
        metavar="FILE",
        help="the results file (default: .agentbench/results.json, of the last session)",
    )
    parser.add_argument("--json", action="store_true", help="print everything about the run as JSON")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the whole conversation")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the explanation and the exit status."""
    document = read(options.results)
    transcripts = Transcripts.beside([(options.results, document)])
    if options.run is None:
        failed = [result for result in document.results if not result.passed]
        return _overview(document, failed, as_json=options.json), int(bool(failed))
    result = _run_named(options.run, document)
    explain = _as_json if options.json else _as_text
    return explain(result, document, transcripts, verbose=options.verbose), int(not result.passed)


def _run_named(name: str, document: Document) -> Result:
    """Give the one run of that name; raise `SuiteFaultError` where none has it, or several do."""
    every = [(_name(result, document), result) for result in document.results]
    found = [
        (full, one) for full, one in every if name in (full, one.key.name) or full.endswith((f"::{name}", f"/{name}"))
    ]
    found = found or [(full, one) for full, one in every if full.endswith(f"-{name}")]  # d03 of cancel-order-d03
    if len(found) == 1:
        return found[0][1]
    if found:
        raise SuiteFaultError(f"{len(found)} runs end in {name!r}: {listing(full for full, _ in found)}")
    names = [full for full, _ in every]
    short = [*(full.rpartition("::")[2] for full in names), *(result.key.name for _, result in every)]
    hint = suggestion(name, [*short, *names]) or f"there are {listing(short[: len(names)]) or 'none'}"
    raise SuiteFaultError(with_hint(f"no run is named {name!r}", hint))


def _name(result: Result, document: Document) -> str:
    """Give the node id of a run; of several simulations of one test, each by the name that reports give it."""
    shares = sum(other.nodeid == result.nodeid for other in document.results) > 1
    return f"{result.key.suite}::{result.key.name}" if shares else result.nodeid or str(result.key)


def _overview(document: Document, failed: list[Result], *, as_json: bool) -> str:
    lines = [(_name(result, document), _headline(result, document)) for result in failed]
    if as_json:
        runs = [{"run": name, "why": why} for name, why in lines]
        return _dumped({"runs": len(document.results), "not_passed": runs})
    if not failed:
        return f"all runs passed ({len(document.results)})"
    return "\n".join(
        [f"{len(failed)} of {count(len(document.results), 'run')} did not pass", *(why for _, why in lines)]
    )


def _headline(result: Result, document: Document) -> str:
    rerun, unicode = rerun_of(result, document), glyphs_shown().unicode
    return failure_text(result, None, rerun=rerun, unicode=unicode).partition("\n")[0]


def _as_text(result: Result, document: Document, transcripts: Transcripts, *, verbose: bool) -> str:
    transcript, file = transcripts.read(result), str(transcripts.file(result) or "")
    unicode = glyphs_shown().unicode
    if result.passed:
        text = conversation_text(result, transcript, verbose=verbose, transcript_path=file, unicode=unicode)
        return f"{_name(result, document)} passed\n\n{text}"
    return failure_text(
        result,
        transcript,
        verbose=verbose,
        rerun=rerun_of(result, document),
        transcript_path=file,
        unicode=unicode,
        policies=next((suite.policies for suite in document.suites if suite.path == result.key.suite), ()),
    )


def _as_json(result: Result, document: Document, transcripts: Transcripts, *, verbose: bool) -> str:
    """Give verdict, findings, calls and conversation; `verbose` changes nothing, since nothing is cut."""
    del verbose
    transcript = transcripts.read(result)
    return _dumped(
        {
            "run": _name(result, document),
            "verdict": str(result.verdict),
            "blame": str(result.blame) if result.blame else None,
            "why": None if result.passed else _headline(result, document),
            "result": to_json(result.model_dump(mode="json", exclude_defaults=True)),
            "conversation": [] if transcript is None else to_json(transcript.model_dump(mode="json")["messages"]),
            "transcript": str(transcripts.file(result) or "") or None,
            "rerun": rerun_of(result, document),
        }
    )


def _dumped(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=1)
