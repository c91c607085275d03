"""What a policy's words demand of a row: a value out of a fixed set, a limit, one date after another; with evidence.

Only what the words tie to a column or to a field of an answer becomes a condition; everything else is left to a judge.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.generation.policies.language import stem
from pytest_agentbench.generation.policies.tables import Table
from pytest_agentbench.generation.policies.values import ExtractedPolicy
from pytest_agentbench.users.kinds import humanize

_ONLY = re.compile(
    r"\b(?:only|solely|exclusively|seulement|uniquement|exclusivement|que si|ne \w+ que)\b", re.IGNORECASE
)
_WITHIN = re.compile(
    r"\b(?:within|up to|at most|no more than|dans les|sous|au plus)\s+(?P<number>\d+)\s+(?P<unit>[^\W\d]+)",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\b(?:at least|no fewer than|no less than|minimum of|au moins)\s+(?P<number>\d+)\s+(?P<unit>[^\W\d]+)",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"(?P<one>[^\W\d]+)\s+(?P<way>after|before|après|avant)\s+(?P<other>[^\W\d]+(?: [^\W\d]+){0,2})",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class Condition(Model):
    """What must hold of a row for an act to be allowed; `evidence` quotes the words and names the column."""

    policy: str
    kind: Literal["value", "most", "least", "after"]
    field: str
    allowed: tuple[Any, ...] = ()
    limit: float = 0
    other: str = ""
    evidence: str = ""

    def holds(self, facts: Mapping[str, Any]) -> bool | None:
        """Say whether it holds; None where the facts do not tell."""
        value = facts.get(self.field)
        if self.kind == "value":
            return None if value is None else value in self.allowed
        if self.kind == "after":
            other = facts.get(self.other)
            return None if not (isinstance(value, str) and isinstance(other, str)) else value > other
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return value <= self.limit if self.kind == "most" else value >= self.limit


def conditions_of(policy: ExtractedPolicy, table: Table, facts: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Find what a policy demands of the rows of a table; `facts` is an example of a row with what answers add to it."""
    return (*_values(policy, table), *_limits(policy, facts), *_dates(policy, facts))


def _values(policy: ExtractedPolicy, table: Table) -> Iterable[Condition]:
    """Find fixed values that a policy with *only* names."""
    if not _ONLY.search(policy.text):
        return
    words = policy.text.lower()
    for column in table.columns:
        named = tuple(
            value
            for value in column.values
            if isinstance(value, str) and re.search(rf"\b{re.escape(humanize(value))}\b", words)
        )
        if named and len(named) < len(column.values):
            said = ", ".join(named)
            yield Condition(
                policy=policy.id,
                kind="value",
                field=column.name,
                allowed=named,
                evidence=f"says only and {said}, which {table.name}.{column.name} can be",
            )


def _limits(policy: ExtractedPolicy, facts: Mapping[str, Any]) -> Iterable[Condition]:
    """Find limits whose unit and thing a numeric field is named after."""
    words = {stem(word) for word in re.findall(r"[^\W\d_]+", policy.text.lower())}
    for pattern, kind in ((_WITHIN, "most"), (_OVER, "least")):
        for match in pattern.finditer(policy.text):
            unit = stem(match["unit"].lower())
            for name, value in facts.items():
                own = [stem(word) for word in humanize(name).split() if len(word) > 3 and word != "since"]
                numeric = isinstance(value, int | float) and not isinstance(value, bool)
                if (numeric or value is None) and unit in own and len(own) > 1 and set(own) <= words:
                    yield Condition(
                        policy=policy.id,
                        kind=kind,  # type: ignore[arg-type]  # one of the two above
                        field=name,
                        limit=float(match["number"]),
                        evidence=f"says {match[0]!r}, which {name} counts",
                    )


def _dates(policy: ExtractedPolicy, facts: Mapping[str, Any]) -> Iterable[Condition]:
    """Find two dates of which one must come after the other."""
    dates = [name for name, value in facts.items() if isinstance(value, str) and _DATE.match(value)]
    empty = [name for name, value in facts.items() if value is None and name.endswith(("_on", "_at", "_date"))]
    for match in _AFTER.finditer(policy.text):
        one = _named(match["one"], [*dates, *empty])
        others = (_named(word, [*dates, *empty]) for word in match["other"].split())
        other = next((name for name in others if name), None)
        if one and other and one != other:
            first, second = (one, other) if match["way"].lower() in ("after", "après") else (other, one)
            yield Condition(
                policy=policy.id,
                kind="after",
                field=first,
                other=second,
                evidence=f"says {match[0]!r}: {first} after {second}",
            )


def _named(word: str, names: Iterable[str]) -> str | None:
    return next((name for name in names if stem(word.lower()) in {stem(part) for part in humanize(name).split()}), None)
