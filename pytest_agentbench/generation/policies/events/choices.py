"""What a policy's words demand of a call's arguments: the method that was used before, something that is in stock."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation.policies.events.acts import Argument, Scene
from pytest_agentbench.generation.policies.events.conditions import Condition, limits_on
from pytest_agentbench.generation.policies.events.language import stem
from pytest_agentbench.generation.policies.events.offers import own_of
from pytest_agentbench.generation.policies.events.samples import Place, Samples
from pytest_agentbench.generation.policies.events.tables import Table
from pytest_agentbench.generation.policies.values import ExtractedPolicy

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
_POSITIVE, _ALIKE, _MOST = "left", "alike", "most"
"""What a condition wants of an argument: that some is left, that it is like the one before, that it is no more."""
_SAME_THING = re.compile(r"\b(?:same|même)\s+(?P<what>[^\W\d]+(?: [^\W\d]+)?)", re.IGNORECASE)
_TOTAL = re.compile(r"\b(?:in total|altogether|in all|overall|au total|en tout)\b", re.IGNORECASE)


def choices_of(
    policy: ExtractedPolicy, arguments: Sequence[Argument], samples: Samples, main: str
) -> tuple[Condition, ...]:
    """Find what a policy demands of the keys that a tool takes."""
    found = [one for argument in arguments if (one := _counted(policy, argument, samples.schema.get(main))) is not None]
    for argument in arguments:
        table = samples.schema.get(argument.table) if argument.role == "key" else None
        if table is None or argument.table == main:
            continue
        one = (
            _same(policy, argument, table, samples.schema.get(main))
            or _alike(policy, argument, table, samples.schema.get(main))
            or _in_stock(policy, argument, table)
        )
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


def _alike(policy: ExtractedPolicy, argument: Argument, table: Table, main: Table | None) -> Condition | None:
    """A row that must have in common with the one that it replaces what a policy names: a slot of the same site."""
    told = _SAME_THING.search(policy.text)
    links = [link for link in main.references if link.table == table.name] if main else []
    if told is None or not links or not _BINDING.search(policy.text):
        return None
    words = [stem(word) for word in told["what"].lower().split()]
    column = next((one.name for one in table.columns if stem(humanize(one.name)) in words), None)
    if column is None or column in table.key:
        return None
    evidence = f"says {told[0]!r}, which {table.name}.{column} tells"
    return Condition(
        policy=policy.id, kind="argument", field=argument.name, other=f"{_ALIKE}:{column}", evidence=evidence
    )


def _counted(policy: ExtractedPolicy, argument: Argument, main: Table | None) -> Condition | None:
    """A number that may be so high at most; *in total*, with what the row says there was before."""
    if argument.role != "enum" or not argument.number:
        return None
    limits = limits_on(policy.text, argument.name)
    if not limits:
        return None
    unit = {stem(word) for word in humanize(argument.name).split()}
    before = ""
    if _TOTAL.search(policy.text) and main is not None:
        numeric = [one.name for one in main.columns if one.type in ("integer", "real")]
        before = next((name for name in numeric if unit & {stem(word) for word in humanize(name).split()}), "")
    evidence = f"allows for {limits[0]} {humanize(argument.name)} at most"
    return Condition(
        policy=policy.id,
        kind="argument",
        field=argument.name,
        limit=limits[0],
        other=f"{_MOST}:{before}",
        evidence=evidence,
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
    condition: Condition,
    values: Mapping[str, Any],
    arguments: Sequence[Argument],
    scene: Scene,
    focus: Place,
    *,
    surely: bool = False,
) -> bool:
    """Whether a call's arguments break what a policy demands of them; `surely`: in whatever way it is read."""
    argument = next((one for one in arguments if one.name == condition.field), None)
    if argument is None or condition.field not in values:
        return False
    given = values[condition.field]
    if condition.other.startswith(f"{_MOST}:"):
        before = 0 if surely else scene.rows[focus].get(condition.other.partition(":")[2]) or 0
        return isinstance(given, int) and given + before > condition.limit
    rows = [_row(argument, one, scene) for one in (given if isinstance(given, list) else [given])]
    prefix, _, column = condition.other.partition(":")
    if prefix == _POSITIVE and column:
        is_chosen = argument.new  # what is given back needs no stock
        return is_chosen and any(isinstance(left := row.get(column), int | float) and left <= 0 for row in rows)
    if prefix == _ALIKE and column:
        old = _row(argument, own_of(argument, scene, focus), scene)
        return any(row.get(column) != old.get(column) for row in rows) if old and rows[0] else False
    own = scene.rows[focus].get(condition.other)
    exempt = any(value in condition.allowed for row in rows for value in row.values() if isinstance(value, str))
    return own is not None and given != own and not exempt


def _row(argument: Argument, value: Any, scene: Scene) -> Mapping[str, Any]:
    fresh = next((one for one in scene.of(argument.table) if one.get(argument.column) == value), None)
    place = scene.samples.place_of(argument.table, argument.column, value)
    return fresh or (scene.samples.row(place) if place else {})
