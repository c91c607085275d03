"""What GitHub shows beside the lines of a pull request: a workflow command per failed run, on its scenario's line."""

import posixpath
from collections.abc import Callable

from pytest_agentbench.core.names import count
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.text import shorten
from pytest_agentbench.report.auditor import mark_of_gate, marks_of
from pytest_agentbench.report.failures import check_name, failed_findings, finding_text, no_finding_text, worst_first
from pytest_agentbench.report.table import UNICODE
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.gates import GateVerdict

MOST = 10
"""Annotations of one kind that GitHub shows for a step; it drops the others without a word."""

_WIDTH = 600


def github_annotations(
    document: Document, *, place: Callable[[str], str] = lambda file: file, most: int = MOST
) -> list[str]:
    """Give the lines to print, in all at most `most` and one that counts the others; pending runs have none.

    Failed gates come first, on their suite's file, then runs that the agent failed, worst first: errors where they
    fail the session, warnings where gates decided and hold. `place` tells where a file lies in the repository.
    """
    gates = [_gate(verdict, place, mark_of_gate(verdict, document)) for verdict in document.gates if verdict.failed]
    gated = document.decided
    runs = [
        _run(run, place, missed=run.key.suite in gated, noted=marks_of(run, document))
        for run in worst_first(document.results)
    ]
    everything = [*gates, *runs]
    lines = everything[:most]
    if len(everything) > most:
        lines.append(_command("notice", f"{count(len(everything) - most, 'more failure')}; the report names them all"))
    return lines


def _gate(verdict: GateVerdict, place: Callable[[str], str], noted: str) -> str:
    text = f"gate {verdict.label}: {verdict.reason} (n {verdict.n}{f', {noted}' if noted else ''})"
    return _command("error", text, file=place(verdict.suite), line=1, title="agentbench: gate failed")


def _run(run: Result, place: Callable[[str], str], *, missed: bool, noted: str) -> str:
    found = failed_findings(run)
    what = (
        f"{check_name(found[0])}: {finding_text(run, found[0], UNICODE, _WIDTH)}"
        if found
        else no_finding_text(run, UNICODE)
    )
    label = f"[{run.key.label}]" if run.key.label else ""
    title = f"{run.key.scenario}{label} {'missed' if missed else 'failed'}{f' ({noted})' if noted else ''}"
    file = place(run.file) if run.file else ""
    return _command("warning" if missed else "error", what, file=file, line=run.line, title=title)


def _command(level: str, text: str, *, file: str = "", line: int = 0, title: str = "agentbench") -> str:
    """Give one workflow command; what stands in it can end neither the command nor a property of it.

    Source: GitHub's toolkit, packages/core/src/command.ts: `%`, CR and LF are escaped in both, in properties `:` and
    `,` as well.
    """
    properties = {
        "file": posixpath.normpath(file) if file else "",
        "line": str(line) if file and line else "",
        "title": title,
    }
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{level} {told}::{_data(shorten(UNICODE.plain(text, newlines=True), _WIDTH))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(UNICODE.plain(text)).replace(":", "%3A").replace(",", "%2C")


def in_repository(root: str, workspace: str) -> Callable[[str], str]:
    """Give what turns a file under `root` into a path within `workspace`, the checked-out repository.

    Both are absolute POSIX paths; a file that lies elsewhere stays as it is.
    """

    def place(file: str) -> str:
        whole = posixpath.normpath(posixpath.join(root, file))
        inside = posixpath.relpath(whole, workspace) if workspace else file
        return file if inside.startswith("..") else inside

    return place
