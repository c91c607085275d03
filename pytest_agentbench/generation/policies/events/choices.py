"""What a policy's words demand of a call's arguments: the method that was used before, something that is in stock."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_agentbench.generation.policies.events.acts import Argument, Scene
from pytest_agentbench.generation.policies.events.conditions import Condition
from pytest_agentbench.generation.policies.events.samples import Place, Samples
from pytest_agentbench.generation.policies.events.tables import Table
from pytest_agentbench.generation.policies.extraction.language import stem
from pytest_agentbench.generation.policies.values import ExtractedPolicy
from pytest_agentbench.users.kinds import humanize

_SAME = re.compile(
    r"\b(?:original(?:ly)?|same|initial|(?:was|were|been) (?:\w+ )?(?:paid|charged|booked|bought|used)|used for|"
    r"d['’]origine|initiale?|même)\b",
    re.IGNORECASE,
)
_BINDING = re.compile(
    r"\b(?:only|nothing else|no other|must|either|cannot|never|always|uniquement|seulement|doit|aucun autre)\b",
    re.IGNORECASE,
)
_LEFT = re.compile(
    r"\b(?:in stock|out of stock|sold out|available|availability|free seats?|en stock|disponibles?)\b", re.IGNORECASE
)
_STOCK = frozenset(("stock", "available", "availability", "inventory", "quantity", "seats", "copies", "left", "places"))
"""Columns that say how many there are left."""
_POSITIVE = "left"


def choices_of(
    policy: ExtractedPolicy, arguments: Sequence[Argument], samples: Samples, main: str
) -> tuple[Condition, ...]:
    """Find what a policy demands of the keys that a tool takes."""
    found = []
    for argument in arguments:
        table = samples.schema.get(argument.table) if argument.role == "key" else None
        if table is None or argument.table == main:
            continue
        one = _same(policy, argument, table, samples.schema.get(main)) or _in_stock(policy, argument, table)
        if one is not None:
            found.append(one)
    return tuple(found)


def _same(policy: ExtractedPolicy, argument: Argument, table: Table, main: Table | None) -> Condition | None:
    """A key that the row itself has, and that a policy wants again: a refund to where it was paid from."""
    text = policy.text
    told = _SAME.search(text)
    words = {stem(word) for word in re.findall(r"[^\W\d_]+", text.lower())}
    nouns = {stem(word) for word in humanize(argument.column).split() if word != "id"}
    if argument.many or argument.new or main is None or main.column(argument.column) is None:
        return None
    if told is None or not _BINDING.search(text) or not (nouns & words):
        return None
    fixed = [value for column in table.columns for value in column.values if isinstance(value, str)]
    named = tuple(value for value in fixed if re.search(rf"\b{re.escape(humanize(value))}\b", text.lower()))
    evidence = f"says {told[0]!r} of what {argument.name} names"
    return Condition(
        policy=policy.id, kind="argument", field=argument.name, other=argument.column, allowed=named, evidence=evidence
    )


def _in_stock(policy: ExtractedPolicy, argument: Argument, table: Table) -> Condition | None:
    """A row of which some must be left."""
    told = _LEFT.search(policy.text)
    column = next((one.name for one in table.columns if one.name in _STOCK and one.type in ("integer", "any")), None)
    if told is None or column is None or not (argument.new or argument.many):
        return None
    evidence = f"says {told[0]!r}, which {table.name}.{column} tells"
    return Condition(
        policy=policy.id, kind="argument", field=argument.name, other=f"{_POSITIVE}:{column}", evidence=evidence
    )


def is_broken(
    condition: Condition, values: Mapping[str, Any], arguments: Sequence[Argument], scene: Scene, focus: Place
) -> bool:
    """Whether a call's arguments break what a policy demands of them."""
    argument = next((one for one in arguments if one.name == condition.field), None)
    if argument is None or condition.field not in values:
        return False
    given = values[condition.field]
    rows = [_row(argument, one, scene) for one in (given if isinstance(given, list) else [given])]
    prefix, _, column = condition.other.partition(":")
    if prefix == _POSITIVE and column:
        is_chosen = argument.new  # what is given back needs no stock
        return is_chosen and any(isinstance(left := row.get(column), int | float) and left <= 0 for row in rows)
    own = scene.rows[focus].get(condition.other)
    exempt = any(value in condition.allowed for row in rows for value in row.values() if isinstance(value, str))
    return own is not None and given != own and not exempt


def _row(argument: Argument, value: Any, scene: Scene) -> Mapping[str, Any]:
    fresh = next((one for one in scene.of(argument.table) if one.get(argument.column) == value), None)
    place = scene.samples.place_of(argument.table, argument.column, value)
    return fresh or (scene.samples.row(place) if place else {})
