"""Baselines: results that were kept, for a session to be compared and gated with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.gates import parse_gate
from pytest_agentbench.plugin import compat
from pytest_agentbench.plugin.options import Options
from pytest_agentbench.report.comparison import against_baseline, is_partial
from pytest_agentbench.report.glyphs import Line, glyphs
from pytest_agentbench.results.document import Document, read


def read_baseline(path: Path | None) -> Document | None:
    """Read the baseline asked for; raise `pytest.UsageError` where it cannot be read, before anything runs."""
    if path is None:
        return None
    try:
        return read(path)
    except ResultsError as error:
        hint = "keep one with --agentbench-save-baseline FILE"
        raise pytest.UsageError(f"--agentbench-baseline: {error} ({hint})") from None


def can_decide(gates: Iterable[str], options: Options) -> bool:
    """Whether a gate that a suite itself has can be decided.

    A factor of a baseline needs one, and a session that is to be the first baseline has nothing to regress from.
    """
    mine = [parse_gate(gate) for gate in gates]
    if options.is_first_baseline:
        mine = [gate for gate in mine if gate.kind != "loss"]
    return any(options.baseline is not None or not gate.is_relative for gate in mine)


def save_baseline(options: Options, document: Document, text: str) -> tuple[list[str], list[str]]:
    """Keep the results where asked for; give what is worth telling and what went wrong.

    Results that are not whole are not kept, since scenarios that they lack would never be compared.
    """
    if options.save_baseline is None:
        return [], []
    path = options.save_baseline
    if not document.complete:
        return [], [f"baseline not written to {path}: not every run finished"]
    if is_partial(document):
        return [], [f"baseline not written to {path}: only a part of the runs was selected"]
    try:
        write_atomic(path, text)
    except OSError as error:
        return [], [f"baseline could not be written to {path}: {error.strerror or error}"]
    return [f"baseline: {path}"], []


def comparison_with(
    baseline: Document | None,
    document: Document,
    options: Options,
    config: pytest.Config,
    reporter: pytest.TerminalReporter,
) -> list[Line]:
    """Give the lines that compare a session with its baseline, if it has one."""
    if baseline is None or options.baseline is None:
        return []
    return against_baseline(
        baseline,
        document,
        options.baseline.name,
        glyphs(unicode=compat.shows_unicode(config)),
        width=compat.report_width(config, reporter),
        verbose=config.get_verbosity() > 0,
    )
