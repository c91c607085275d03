"""What the report says of scenarios that wait for a reviewer, changed since, were rejected, or were never asked for."""

import posixpath
import shlex
from collections import Counter
from collections.abc import Iterable

from pytest_agentbench.report.glyphs import Line
from pytest_agentbench.report.table import Layout, count
from pytest_agentbench.results.document import Document

_COMMAND = "review: agentbench review "

_MOST_NAMES = 5


def review_lines(document: Document, layout: Layout) -> list[Line]:
    """Give a line for each thing that people should know of reviews; the command, which they copy, is never broken."""
    return _lines(review_texts(document), layout)


def pending_lines(document: Document, layout: Layout) -> list[Line]:
    """Give those about runs that wait for a reviewer."""
    return _lines(_pending_texts(document), layout)


def _lines(texts: Iterable[str], layout: Layout) -> list[Line]:
    return [
        line
        for text in texts
        for line in (
            [Line(layout.marks.plain(text), "warn")]
            if text.startswith(_COMMAND)
            else layout.wrapped(text, style="warn")
        )
    ]


def quarantine_texts(document: Document) -> list[str]:
    """Name the scenarios that decide nothing for now, whose task each is, why, and until when."""
    told: dict[str, str] = {}
    for run in document.results:
        if run.quarantine is not None:
            why = run.quarantine
            told[f"{run.key.suite}::{run.key.scenario}"] = (
                f"quarantine until {why.until.isoformat()}: {run.key.scenario} ({why.owner}): {why.reason}"
            )
    return list(told.values())


def quarantine_lines(document: Document, layout: Layout) -> list[Line]:
    """Give the same as lines of a report."""
    return [line for text in quarantine_texts(document) for line in layout.wrapped(text, style="warn")]


def review_texts(document: Document) -> list[str]:
    """Say which runs count nowhere and how to review them, and which scenarios count though nobody did."""
    texts = _pending_texts(document)
    for suite in document.suites:
        name = suite.name or suite.path
        review = suite.review
        if review.lapsed:
            named = ", ".join(review.lapsed[:_MOST_NAMES])
            more = f" and {len(review.lapsed) - _MOST_NAMES} more" if len(review.lapsed) > _MOST_NAMES else ""
            texts.append(f"{name}: changed since they were accepted, and pending again: {named}{more}")
        if review.unreviewed:
            texts.append(
                f"{name}: {count(review.unreviewed, 'generated scenario')} {_verb(review.unreviewed, 'count')}, "
                f"though nobody reviewed {_them(review.unreviewed)}"
            )
        if review.rejected:
            texts.append(f"{name}: {count(review.rejected, 'scenario')} rejected in review, not collected")
    return texts


def _pending_texts(document: Document) -> list[str]:
    runs = [run for run in document.results if run.pending]
    if not runs:
        return []
    places = {(run.file, run.key.scenario) for run in runs}
    suites = {suite.path for suite in document.suites}
    folders = sorted({posixpath.dirname(file) or "." for file, _ in places if file not in suites})
    inside = Counter(file for file, _ in places if file in suites)  # the command reads scenario files alone
    return [
        f"pending review: {count(len(runs), 'run')} in no rate and no gate",
        *(f"{_COMMAND}{shlex.quote(folder)}" for folder in folders),
        *(
            f"{file}: {count(number, 'scenario')} pending review {_verb(number, 'stand')} in the suite itself; "
            f"remove the key `review` to count {_them(number)}, or move {_them(number)} to a scenario file"
            for file, number in sorted(inside.items())
        ),
    ]


def _verb(number: int, verb: str) -> str:
    return f"{verb}s" if number == 1 else verb


def _them(number: int) -> str:
    return "it" if number == 1 else "them"
