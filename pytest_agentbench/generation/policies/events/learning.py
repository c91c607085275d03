"""What is known of each sampled row beside its own columns: what a lookup adds, days since its dates, parts counted."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pytest_agentbench.generation.policies.events.conditions import COUNT
from pytest_agentbench.generation.policies.events.samples import Place, Samples

_TODAY = ("today", "now", "current_date", "current_time", "current_day", "as_of")
"""Columns by which a state says what day it is."""


def derived(samples: Samples, place: Place) -> dict[str, Any]:
    """Give what follows from a row and those around it: days and hours since its dates, parts, flags."""
    row = samples.row(place)
    found: dict[str, Any] = {}
    now = today(samples)
    for name, value in row.items():
        then = _moment(value)
        if now is not None and then is not None:
            what = name.removesuffix("_on").removesuffix("_at").removesuffix("_date")
            found[f"days_since_{what}"] = (now.date() - then.date()).days
            if len(str(value)) > len("2000-01-01"):
                found[f"hours_since_{what}"] = (now - then).total_seconds() / 3600
        if isinstance(value, int) and not isinstance(value, bool) and _is_flag(samples, place[0], name):
            found[name] = bool(value)
    table = samples.schema.get(place[0])
    if table is None or len(table.key) != 1:
        return found
    for other in samples.schema.tables:
        for link in other.references:
            if link.table == table.name and len(link.columns) == 1 and other.name != table.name:
                rows = samples.rows.get(other.name, ())
                own = sum(one.get(link.columns[0]) == row.get(table.key[0]) for one in rows)
                found[f"{COUNT}{other.name}"] = own
    for name, value in row.items():
        if isinstance(value, list):
            found[f"{COUNT}{name}"] = len(value)
    return found


def today(samples: Samples) -> datetime | None:
    """Give the moment that a state itself says it is, where it does."""
    for rows in samples.rows.values():
        if len(rows) == 1:
            for name in _TODAY:
                moment = _moment(rows[0].get(name))
                if moment is not None:
                    return moment
    return None


def _is_flag(samples: Samples, table: str, column: str) -> bool:
    declared = samples.schema.get(table)
    known = declared.column(column) if declared else None
    values = {row.get(column) for row in samples.rows.get(table, ())} - {None}
    is_yes_or_no = values <= {0, 1} and (known is None or known.type in ("integer", "boolean", "any"))
    return is_yes_or_no and not (declared is not None and column in declared.key)


def _moment(value: Any) -> datetime | None:
    if not isinstance(value, str) or len(value) < len("2000-01-01"):
        return None
    try:
        return datetime.fromisoformat(value).replace(tzinfo=None)
    except ValueError:
        return None


def merged(derived_facts: Mapping[str, Any], told: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Join what is known of a row; what a lookup tells goes before what follows, the row's own columns before both."""
    flags = {name: value for name, value in derived_facts.items() if isinstance(value, bool)}
    return {**derived_facts, **told, **row, **flags}
