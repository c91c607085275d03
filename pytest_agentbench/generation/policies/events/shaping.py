"""Rows shaped so that a condition of a policy is broken, where no sampled row of the owner's breaks it.

Only what stays consistent is changed: a number or a yes-or-no column that nothing else follows from, a date by days, or
all own columns of a row as another sampled row has them, where no other table's rows hang on it.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from pytest_agentbench.generation.policies.events.conditions import Condition
from pytest_agentbench.generation.policies.events.learning import today
from pytest_agentbench.generation.policies.events.samples import Place, Samples

_SINCE = "days_since_"
_BEYOND = 3
"""How far beyond a limit a value goes at most."""


def breaking(
    condition: Condition, place: Place, samples: Samples, facts: Mapping[Place, Mapping[str, Any]]
) -> dict[str, Any]:
    """Give what is to change of a row for a condition not to hold; {} where nothing can be changed alone."""
    table, row = samples.schema.get(place[0]), samples.row(place)
    if table is None:
        return {}
    beyond = 1 + place[1] % _BEYOND
    column = table.column(condition.field)
    value = row.get(condition.field)
    links = {name for link in table.references for name in link.columns} | set(table.key)
    if condition.kind in ("most", "least") and condition.field.startswith(_SINCE):
        return _dated(condition, row, samples, beyond)
    if column is None or condition.field in links:
        return {}
    if condition.kind in ("most", "least"):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        changed = condition.limit + beyond if condition.kind == "most" else condition.limit - beyond
        if not is_number or changed < 0:
            return {}
        return {condition.field: int(changed) if isinstance(value, int) else float(changed)}
    if condition.kind == "value" and isinstance(value, bool):
        return {condition.field: not value}
    if condition.kind != "value" or any(
        link.table == place[0] for one in samples.schema.tables for link in one.references
    ):
        return {}
    like = next(
        (
            samples.row(other)
            for other, known in sorted(facts.items())
            if other[0] == place[0] and condition.holds(known) is False
        ),
        None,
    )
    return {name: like[name] for name in row if name not in links and name in like} if like else {}


def _dated(condition: Condition, row: Mapping[str, Any], samples: Samples, beyond: int) -> dict[str, Any]:
    """Move the date that days are counted from."""
    what, now = condition.field.removeprefix(_SINCE), today(samples)
    name = next(
        (one for one in (what, f"{what}_on", f"{what}_at", f"{what}_date") if isinstance(row.get(one), str)), ""
    )
    if now is None or not name:
        return {}
    days = condition.limit + beyond if condition.kind == "most" else max(condition.limit - beyond, 0)
    old = str(row[name])
    return {name: (now - timedelta(days=days)).strftime("%Y-%m-%d") + old[len("2000-01-01") :]}
