"""The reports for people beside the terminal's: the HTML page, Markdown, and annotations where GitHub runs us."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.run import Result
from pytest_agentbench.plugin.session import Session
from pytest_agentbench.report.annotations import github_annotations, in_repository
from pytest_agentbench.report.before import conversations_before
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.transcripts import Transcripts


def write_pages(session: Session, document: Document, root: Path, baseline: Document | None) -> Iterator[str]:
    """Write what `--agentbench-html` and `--agentbench-markdown` ask for; yield what went wrong.

    With a `baseline` both say what changed since.

    The file that `GITHUB_STEP_SUMMARY` names is added to, since other commands of the step write there too.
    """
    options, folder = session.options, session.store.path
    html, markdown = options.html, options.markdown
    if html is not None:
        from pytest_agentbench.report.html.page import Reading, html_report  # noqa: PLC0415 - loads only when asked for

        def path(result: Result) -> str:
            file = folder / result.transcript if folder else Path(result.transcript)
            return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.as_posix()

        found = Transcripts(default=[folder] if folder else [])
        before = Transcripts.beside([(options.baseline, baseline)] if options.baseline and baseline else [])
        reading = Reading(transcript=found.read, path=path, baseline=conversations_before(baseline, before), root=root)
        yield from _written(html, "the HTML report", html_report(document, reading, baseline=baseline))
    if markdown is not None:
        from pytest_agentbench.report.markdown import markdown_report  # noqa: PLC0415 - same

        text = _text(markdown) if str(markdown) == os.environ.get("GITHUB_STEP_SUMMARY") else ""
        yield from _written(markdown, "the Markdown report", text + markdown_report(document, baseline=baseline))


def annotation_lines(document: Document, root: Path, environ: Mapping[str, str]) -> list[str]:
    """Give the lines that GitHub reads off the log; none anywhere else."""
    if environ.get("GITHUB_ACTIONS") != "true":
        return []
    workspace = environ.get("GITHUB_WORKSPACE") or str(root)
    return github_annotations(document, place=in_repository(root.as_posix(), Path(workspace).as_posix()))


def _written(path: Path, what: str, text: str) -> Iterator[str]:
    try:
        write_atomic(path, text, encoding="utf-8")
    except OSError as error:
        yield f"{what} could not be written to {path}: {error.strerror or error}"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
