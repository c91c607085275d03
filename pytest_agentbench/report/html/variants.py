"""What the page says about variants beside success: their numbers, their time, and how far their own scores agree."""

from collections.abc import Sequence

from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.run import Result
from pytest_agentbench.report.html.shown import ends, shown
from pytest_agentbench.results.intervals import Interval
from pytest_agentbench.results.numbers import numbers_of
from pytest_agentbench.results.variants import variant_row

_ELSEWHERE = frozenset({"name_recall", "strict_recall", "agent_turns", "tool_calls", "seconds"})
"""Numbers that the page shows of any group of runs, and the mean of what is shown as quantiles here."""


def figures(names: Sequence[str], groups: Sequence[Sequence[Result]]) -> list[JsonValue]:
    """Give a line for each number that some variant has: its title, its digits, and each variant's value and interval.

    Shares of pairs in which a passed run has the higher score of its own stand last, as numbers from 0 to 1.
    """
    numbers = numbers_of([run for group in groups for run in group])
    rows = [variant_row(name, group, numbers) for name, group in zip(names, groups, strict=True)]
    lines: list[tuple[str, int, list[Interval | None]]] = [
        (one.title, one.digits, [row.mean(one.name) for row in rows]) for one in numbers if one.name not in _ELSEWHERE
    ]
    lines.append(("seconds (median)", 2, [row.median for row in rows]))
    lines.append(("seconds (p95)", 2, [row.p95 for row in rows]))
    for own in dict.fromkeys(score.name for row in rows for score in row.agreement):
        chances = [next((score.chance for score in row.agreement if score.name == own), None) for row in rows]
        lines.append((f"{own}: a pass scores higher than a failure", 2, chances))
    return [
        {"label": shown(title, 80), "digits": digits, "cells": [ends(one) for one in cells]}
        for title, digits, cells in lines
        if any(cells)
    ]
