"""The page: figures, a list of runs and each run's conversation, in one file under a strict policy."""

import base64
import hashlib
import html
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.report.auditor import marks_of
from pytest_agentbench.report.comparison import compared
from pytest_agentbench.report.failures import Divergence, from_baseline, from_expected, rerun_of, worst_first
from pytest_agentbench.report.html.overview import changes, overview
from pytest_agentbench.report.html.policies_and_tools import ToolUse, coverage, graphs_of, policies
from pytest_agentbench.report.html.runs import details, row, without_conversation
from pytest_agentbench.report.html.shown import script_json, shown
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.run_directory import without_attempt
from pytest_agentbench.results.table import complexity_groups

MOST_RUNS = 5_000
"""Runs that the page lists, the worst first; its figures are about all."""

MOST_BYTES = 32_000_000
"""Size beyond which the page holds no more conversations; they are left out from the best run upwards."""

STYLES = ("colours", "frame", "figures", "tables", "graph", "runs", "run", "conversation")
"""The style sheets, in the order in which they stand in the page."""

SCRIPTS = (
    "dom",
    "data",
    "figures",
    "heat",
    "beyond",
    "policies",
    "tools",
    "filters",
    "list",
    "conversation",
    "run",
    "keys",
    "main",
)
"""The scripts, in the order in which they stand in the page."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Where the page's conversations come from.

    `transcript` gives the conversation of a run and `path` what to call its file; `baseline` gives the conversation
    to hold it against, where there is one. `root` is the folder that suites' paths start from, None where not here.
    """

    transcript: Callable[[Result], Transcript | None]
    path: Callable[[Result], str] = lambda result: result.transcript
    baseline: Callable[[Result], Transcript | None] = lambda _: None
    root: Path | None = None


@dataclass
class _Runs:
    """The parts of the page that hold a run each; `size` is in bytes."""

    rows: list[JsonValue] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    size: int = 0
    dropped: int = 0


def html_report(
    document: Document,
    reading: Reading,
    *,
    baseline: Document | None = None,
    max_bytes: int = MOST_BYTES,
    max_runs: int = MOST_RUNS,
) -> str:
    """Give the page as ASCII text: the same bytes for the same document and transcripts.

    With a `baseline` it says what changed; `reading.baseline` gives the conversations of that time.
    Past `max_bytes` runs are listed without their conversation, past `max_runs` not at all; the page says so.
    """
    use = ToolUse()
    runs = _runs(document, reading, use, max_bytes=max_bytes, max_runs=max_runs)
    data: dict[str, JsonValue] = {
        **overview(document),
        "changes": changes(compared(baseline, document), document),
        "policies": policies(document),
        "tools": use.data(),
        "coverage": [
            coverage(path, graph, use.tools, use.steps)
            for path, graph in (graphs_of(document, reading.root) if reading.root else ())
        ],
        "rows": runs.rows,
        "unlisted": len(document.results) - len(runs.rows),
        "dropped": runs.dropped,
    }
    names = ", ".join(suite.name or suite.path for suite in document.suites[:3])
    parts = {
        "policy": _policy(),
        "title": html.escape(shown(f"{names} · agentbench" if names else "agentbench", 120)),
        "style": _style(),
        "script": _script(),
        "data": script_json(data),
        "runs": "\n".join(runs.parts),
    }
    text = _part("page.html")
    # split first, so that no part can hold a place of another
    pieces = text.split("{{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        filled += [parts[name], rest]
    return "".join(filled).encode("ascii", "xmlcharrefreplace").decode("ascii")


def _runs(document: Document, reading: Reading, use: ToolUse, *, max_bytes: int, max_runs: int) -> _Runs:
    """Go through the runs from the worst on; a conversation is read, put into the page, and forgotten."""
    earlier: defaultdict[RunKey, list[Result]] = defaultdict(list)
    for attempt in document.retried:
        earlier[without_attempt(attempt.key)].append(attempt)
    levels = {
        run.key: label for (_, label), group in complexity_groups(document.results).items() for run in group
    }  # every run stands in one group at most
    held = _Runs()
    for place, run in enumerate(in_order(document)):
        if place == max_runs:
            break
        transcript = reading.transcript(run) if run.transcript else None
        use.add(run, transcript)
        data = details(
            run,
            transcript,
            divergences=_divergences(run, transcript, reading),
            rerun=rerun_of(run, document),
            path=reading.path(run) if run.transcript else "",
            earlier=earlier.get(without_attempt(run.key), ()),
        )
        text = script_json(data)
        if held.size + len(text) > max_bytes and transcript is not None:
            held.dropped += 1
            text = script_json(without_conversation(data))
        held.size += len(text)
        held.rows.append(row(run, levels.get(run.key, ""), marks_of(run, document)))
        held.parts.append(f'<script type="application/json" id="run-{place}">{text}</script>')
    return held


def in_order(document: Document) -> Iterator[Result]:
    """Give the runs as the page lists them: failures, worst first, what is set aside or not scored, what passed."""
    failed = worst_first(document.results)
    yield from failed
    aside = [run for run in document.results if run.set_aside]
    yield from sorted(aside, key=lambda run: (run.passed, str(run.key)))
    others = (run for run in document.results if not run.scored and not run.set_aside)
    yield from sorted(others, key=lambda run: (run.not_run is not None, str(run.key)))
    yield from (run for run in document.results if run.scored and run.passed)


def _divergences(run: Result, transcript: Transcript | None, reading: Reading) -> list[Divergence]:
    if transcript is None:
        return []
    baseline = reading.baseline(run)
    found = [None if run.passed else from_expected(run, transcript)]
    found.append(None if baseline is None else from_baseline(transcript, baseline))
    return [one for one in found if one is not None]


def _policy() -> str:
    """Allow the page's own style and script, known by their hashes, and nothing else: no request of any kind."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(_script())}'",
            f"style-src '{_hash(_style())}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _style() -> str:
    return "\n".join(_part(f"style/{name}.css") for name in STYLES)


@cache
def _script() -> str:
    body = "\n".join(_part(f"script/{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{body}\n}})();'


def _part(name: str) -> str:
    return (files("pytest_agentbench.report.html") / name).read_text(encoding="ascii").replace("\r\n", "\n")
