"""`agentbench report`: results files, one or several shards of a session, shown and gated as one."""

import argparse
import os
import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path, PurePosixPath

from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.names import count
from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.core.text import printable
from pytest_agentbench.report.annotations import github_annotations, in_repository
from pytest_agentbench.report.breakdown import matrices, matrix_lines, rows_by
from pytest_agentbench.report.comparison import against_baseline
from pytest_agentbench.report.html.page import Reading, html_report
from pytest_agentbench.report.markdown import conversations_before, markdown_report
from pytest_agentbench.report.summary import summary_lines
from pytest_agentbench.report.table import Glyphs, Layout, Line, glyphs_shown
from pytest_agentbench.report.terminal import terminal_report
from pytest_agentbench.results.completeness import incomplete
from pytest_agentbench.results.document import FILE, Document, SuiteRecord, history, players_of, read, text_of
from pytest_agentbench.results.gates import FIRST_BASELINE, GateVerdict, decided_by_own, evaluate_gates
from pytest_agentbench.results.run_directory import LAST_SESSION, Transcripts, without_attempt
from pytest_agentbench.results.table import COLUMNS


def merge(documents: Sequence[Document]) -> Document:
    """Join the results of shards of one session; gates are left for the caller to evaluate.

    Raises `ResultsError` when a run stands in two of them, or a suite changed between them, or players differ.
    """
    suites: dict[str, SuiteRecord] = {}
    seen: set[RunKey] = set()
    for document in documents:
        for suite in document.suites:
            before = suites.get(suite.path)
            if before and before.content_hash != suite.content_hash:
                raise ResultsError(f"suite {suite.path!r} changed between the results files; run all shards again")
            selected = suite.selected + (before.selected if before else 0)
            stopped = suite.stopped + (before.stopped if before else 0)
            suites[suite.path] = suite.model_copy(update={"selected": selected, "stopped": stopped})
        for result in document.results:
            run = without_attempt(result.key)
            if run in seen:
                raise ResultsError(f"run {str(run)!r} is in two of the results files; give each shard once")
            seen.add(run)
    results = tuple(result for document in documents for result in document.results)
    _check_players(results)
    return Document(
        created=max((document.created for document in documents), default=""),
        root=documents[0].root if documents else "",
        versions=documents[0].versions if documents else {},
        seed=documents[0].seed if len({document.seed for document in documents}) == 1 else None,
        seconds=sum(document.seconds for document in documents),
        complete=bool(documents) and all(document.complete for document in documents),
        players=players_of(results),
        suites=tuple(suites[path] for path in sorted(suites)),
        results=results,
        retried=tuple(result for document in documents for result in document.retried),
    )


def _check_players(results: Iterable[Result]) -> None:
    """Refuse one variant of a suite played by several; variants may well have different players."""
    played: dict[tuple[str, str, str], str] = {}
    for result in results:
        for role, player in result.players.items():
            before = played.setdefault((result.key.suite, result.key.variant, role), player)
            if before != player:
                raise ResultsError(
                    f"{result.key.suite}: role {role!r} was played by {before!r} and by {player!r}; "
                    f"results of different players are not joined"
                )


UNDECIDED = 1
_WIDTH = 100


def report(options: argparse.Namespace) -> tuple[str, int]:
    """Give the report over all results and the exit status: 1 when gates are asked for and something does not hold.

    Where no gate of its own was decided a suite holds when every run passed; with gates when all of its runs are there
    and every gate holds. `--by` and `--summary` stand instead of the report. What keeps a gate from being decided goes
    to stderr where the results are printed as JSON.
    """
    paths, baseline = options.results or [LAST_SESSION], options.baseline
    documents = [read(path) for path in paths]
    if missing := [path for path in options.history if not path.is_file()]:
        raise ResultsError(f"--history: there is no file {missing[0]}")
    document = merge(documents)
    before = read(baseline) if baseline is not None else None
    problems: list[str] = []
    if options.gate:
        firsts = {one.suite for given in documents for one in given.gates if one.reason == FIRST_BASELINE}
        verdicts, problems = _decide(document, before.results if before else None, () if before else firsts)
        document = document.model_copy(update={"gates": verdicts})
    shown = document if options.gate or len(documents) > 1 else documents[0]
    if options.html is not None:
        reading = _reading(shown, zip(paths, documents, strict=True), baseline, before)
        write_atomic(options.html, html_report(shown, reading, baseline=before))
    if options.markdown is not None:
        write_atomic(options.markdown, markdown_report(shown, baseline=before))
    status = UNDECIDED if problems or any(verdict.failed for verdict in document.gates) else 0
    if options.json:
        print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
        return text_of(document).rstrip("\n"), status
    marks = glyphs_shown()
    by = [name.strip() for name in (options.by or "").split(",") if name.strip()]
    if options.summary or by:
        layout = Layout(marks, _WIDTH, options.verbose)
        lines = rows_by(shown, by, layout) if by else []
        lines += summary_lines(shown, history(options.history or _history(paths)), layout) if options.summary else []
        shown_failed = any(verdict.failed for verdict in shown.gates)
        return "\n".join([*(line.text for line in lines), *problems]), UNDECIDED if shown_failed else status
    lines = terminal_report(shown, verbose=options.verbose, unicode=marks.unicode)
    if before is not None:
        lines += against_baseline(before, document, baseline.name, marks, verbose=options.verbose)
    lines += _matrices(document, marks) if options.matrix else []
    marked = options.annotations or os.environ.get("GITHUB_ACTIONS") == "true"
    annotations = _annotations(document, os.environ.get("GITHUB_WORKSPACE", "")) if marked else []
    return "\n".join([*(line.text for line in lines), *problems, *annotations]), status


def _reading(
    document: Document, read_from: Iterable[tuple[Path, Document]], baseline: Path | None, before: Document | None
) -> Reading:
    """Say where the page's conversations come from, and those of the baseline."""
    found = Transcripts.beside(read_from)
    old = Transcripts.beside([(baseline, before)] if baseline and before else [])
    return Reading(
        transcript=found.read,
        path=lambda result: str(found.file(result) or result.transcript),
        baseline=conversations_before(before, old),
        root=Path(document.root) if document.root else None,
    )


def _history(paths: Sequence[Path]) -> list[Path]:
    """Find the history of sessions: beside the results files, in the folder above their sessions, or here."""
    folders = [folder for path in paths for folder in (path.parent, *path.resolve().parents[1:3])]
    found = (folder / FILE for folder in (*folders, Path(".agentbench")))
    return list(dict.fromkeys(file.resolve() for file in found if file.is_file()))[:1]


def _annotations(document: Document, workspace: str) -> list[str]:
    """Give workflow commands; where the shards ran in another checkout, paths count from the root of this one."""
    root = PurePosixPath(document.root.replace("\\", "/"))
    inside = not workspace or root.is_relative_to(PurePosixPath(workspace))
    return github_annotations(document, place=in_repository(str(root) if inside else workspace, workspace))


def _matrices(document: Document, marks: Glyphs) -> list[Line]:
    found = matrices(document)
    if not found:
        return [Line(""), Line("no suite and no run of these results names a policy: there is no matrix")]
    return [line for one in found for line in matrix_lines(one, marks)]


def _decide(
    document: Document, baseline: Sequence[Result] | None, firsts: Collection[str]
) -> tuple[tuple[GateVerdict, ...], list[str]]:
    """Evaluate the gates of every suite; say what keeps one from being decided, or failed without gates.

    `firsts` are the suites of which these results are the first baseline.
    """
    verdicts: tuple[GateVerdict, ...] = ()
    problems: list[str] = []
    for suite in document.suites:
        results = [result for result in document.results if result.key.suite == suite.path]
        if suite.gates and len(results) + suite.stopped < suite.total:
            problems.append(
                f"gates of {suite.name}: not evaluated, {len(results)} of {count(suite.total, 'run')} are here"
            )
            continue
        verdicts += evaluate_gates(
            suite.path,
            suite.gates,
            results,
            baseline=baseline,
            is_first=suite.path in firsts,
            facts=document.facts,
        )
        failed = sum(not result.passed and not result.set_aside for result in results)
        if failed and not decided_by_own(suite.path, suite.gates, verdicts):
            why = "no gate of its own was decided" if suite.gates else "has no gates"
            problems.append(f"{suite.name}: {why}, and {failed} of {count(len(results), 'run')} did not pass")
    known = {suite.path for suite in document.suites}
    own = [result for result in document.results if result.key.suite not in known]
    if failed := sum(not result.passed for result in own):
        problems.append(f"{failed} of {count(len(own), 'simulation')} in tests did not pass")
    return verdicts, problems


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = "With --gate the exit status is 1 unless every gate holds over all runs together."
    parser.add_argument("results", type=Path, nargs="*", metavar="RESULTS", help=f"results files ({LAST_SESSION})")
    parser.add_argument(
        "--complete",
        type=Path,
        nargs="?",
        const=Path(".agentbench"),
        metavar="FOLDER",
        help="exit with 1 unless the last session kept in FOLDER (.agentbench) came to its end",
    )
    parser.add_argument("--gate", action="store_true", help="evaluate the suites' gates")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write a page; conversations come from the transcripts beside RESULTS"
    )
    parser.add_argument(
        "--baseline", type=Path, metavar="FILE", help="compare with these results, which the gate `regression` needs"
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write a short report for a CI summary")
    parser.add_argument(
        "--by",
        metavar="COLUMN[,COLUMN]",
        help=f"show a row per combination of values of these columns instead: {', '.join(COLUMNS)}",
    )
    parser.add_argument(
        "--summary", action="store_true", help="show one page for people who do not read tests: ship or not, and why"
    )
    parser.add_argument(
        "--history",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="the history file for the trend of --summary; repeat it for files of other machines",
    )
    parser.add_argument("--matrix", action="store_true", help="show policies against complexity, tools and each other")
    parser.add_argument(
        "--annotations", action="store_true", help="print GitHub annotations, as is done where GITHUB_ACTIONS is set"
    )
    parser.add_argument("--json", action="store_true", help="print RESULTS as one results file")
    parser.add_argument("-v", "--verbose", action="store_true", help="show every row and every failure")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the report and the exit status."""
    if options.complete is not None and (why := incomplete(options.complete)):
        return printable(f"not complete: {why}"), UNDECIDED
    if not options.results and options.complete is not None:
        return f"complete: the last session in {options.complete}", 0
    return report(options)
