"""What the page says about policies: by complexity and tool, with holes and intervals; what was planned, and never."""

from collections.abc import Sequence

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.report.html.shown import number, shown
from pytest_agentbench.report.policy_matrix import Matrix, PolicyMatrices, matrices
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.table import Row

MOST_PAIRS = 200
"""Pairs of policies that are listed; all are counted."""

_LABEL = 120


def policies(document: Document) -> list[JsonValue]:
    """Give the matrices of each suite that has policies; rates are 0..1, and a hole is None."""
    return [_of_suite(one) for one in matrices(document)]


def _of_suite(found: PolicyMatrices) -> JsonValue:
    return {
        "suite": shown(found.suite, _LABEL),
        "scale": found.scale,
        "totals": [_named(one) for one in found.policies],
        "by_complexity": _matrix(found.by_complexity),
        "by_tool": _matrix(found.by_tool),
        "levels": [
            [exact[0], exact[1], above[1]]
            for exact, above in zip(map(_named, found.complexities), map(_named, found.at_least), strict=True)
        ],
        "categories": [_named(one) for one in found.categories],
        "plans": [
            [shown(one.policy, _LABEL), one.planned, one.exercised, one.unknown, one.unplanned] for one in found.plans
        ],
        "pairs": found.pairs,
        "untried": _pairs(found.untried),
        "unmet": _pairs(found.unmet),
    }


def _matrix(given: Matrix) -> JsonValue:
    return {
        "columns": [shown(name, _LABEL) for name in given.columns],
        "cells": [[_share(cell) for cell in row] for row in given.cells],
        "holes": given.holes,
    }


def _named(given: Row) -> list[JsonValue]:
    return [shown(given.label, _LABEL), _share(given)]


def _share(given: Row | None) -> JsonValue:
    if given is None or not given.n:
        return None
    return [given.passed, given.n, number(given.rate), number(given.low), number(given.high)]


def _pairs(given: Sequence[tuple[str, str]]) -> JsonValue:
    listed = [[shown(one, _LABEL), shown(other, _LABEL)] for one, other in given[:MOST_PAIRS]]
    return {"count": len(given), "listed": listed}
