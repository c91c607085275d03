"""The rules of a taxonomy (§4.2, D.1), each held or mended: what is wrong with types, and types without it."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_agentbench.generation.tools.graph.names import identifier
from pytest_agentbench.generation.tools.values import Place, SemanticType, Taxonomy

MOST = 6
"""Types of one tool (D.1: 3 to 6); connectors are never given up for it."""

_ID = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


def faults(taxonomy: Taxonomy, tools: Iterable[str]) -> list[str]:
    """Say what breaks the rules: ids, parents, cycles, unknown tools; how many types a tool has is mended, no fault."""
    known = set(tools)
    ids = Counter(one.id for one in taxonomy.types)
    parents = {one.id: one.parent for one in taxonomy.types}
    found = [f"the type {name!r} stands {count} times" for name, count in ids.items() if count > 1]
    for one in taxonomy.types:
        if not _ID.fullmatch(one.id):
            found.append(f"the type {one.id!r} is not ASCII snake_case")
        if one.id in known:
            found.append(f"the type {one.id!r} is the name of a tool; a type names a concept")
        if one.parent is not None and one.parent not in ids:
            found.append(f"the parent {one.parent!r} of {one.id!r} is no type")
        if _is_cyclic(one.id, parents):
            found.append(f"{one.id!r} is its own ancestor")
        strangers = sorted({place.tool for place in (*one.produced, *one.consumed)} - known)
        found += [f"{one.id!r} names the unknown tool {tool!r}" for tool in strangers]
    return found


def mended(types: Sequence[SemanticType], tools: Iterable[str]) -> tuple[Taxonomy, tuple[str, ...]]:
    """Give the types without faults, and what was changed for it.

    Ids are respelt, those of tools get `_value`; equal ids become one type; parents that are missing or lead round in a
    circle are dropped; unknown tools leave; of more than six types of a tool those that connect nothing leave first.
    """
    known = list(tools)
    changed: list[str] = []
    renamed: dict[str, str] = {}
    merged: dict[str, SemanticType] = {}
    for one in types:
        name = one.id if _ID.fullmatch(one.id) else identifier(one.id) or "value"
        name = f"{name}_value" if name in known else name
        if name != one.id:
            changed.append(f"{one.id!r} was renamed to {name!r}")
        renamed[one.id] = name
        produced = tuple(place for place in one.produced if place.tool in known)
        consumed = tuple(place for place in one.consumed if place.tool in known)
        if len(produced) + len(consumed) < len(one.produced) + len(one.consumed):
            changed.append(f"{name!r} lost places of unknown tools")
        before = merged.get(name)
        if before is not None:
            changed.append(f"two types were called {name!r}")
            produced, consumed = (*before.produced, *produced), (*before.consumed, *consumed)
        merged[name] = one.model_copy(
            update={
                "id": name,
                "produced": distinct(produced),
                "consumed": distinct(consumed),
                "evidence": (*(before.evidence if before else ()), *one.evidence),
            }
        )
    for name, one in merged.items():
        parent = renamed.get(one.parent, one.parent) if one.parent else None
        if parent is not None and parent not in merged:
            changed.append(f"the parent {parent!r} of {name!r} was dropped: no such type")
            parent = None
        merged[name] = one.model_copy(update={"parent": parent})
    parents = {name: one.parent for name, one in merged.items()}
    for name in list(merged):
        if _is_cyclic(name, parents):
            changed.append(f"the parent of {name!r} was dropped: it led round in a circle")
            parents[name] = None
            merged[name] = merged[name].model_copy(update={"parent": None})
    kept = _within_measure(merged, known, changed)
    return Taxonomy(types=tuple(kept.values())), tuple(changed)


def distinct(places: Iterable[Place]) -> tuple[Place, ...]:
    """Give places once each, in order."""
    return tuple({(place.tool, place.path, place.pattern, place.origin): place for place in places}.values())


def _within_measure(
    types: dict[str, SemanticType], tools: Sequence[str], changed: list[str]
) -> dict[str, SemanticType]:
    kept = dict(types)
    for tool in tools:
        mine = [
            name for name, one in kept.items() if any(place.tool == tool for place in (*one.produced, *one.consumed))
        ]
        idle = [name for name in mine if not kept[name].is_connector]
        for name in reversed(idle):
            if len(mine) <= MOST:
                break
            one = kept[name]
            left = one.model_copy(
                update={
                    "produced": tuple(place for place in one.produced if place.tool != tool),
                    "consumed": tuple(place for place in one.consumed if place.tool != tool),
                }
            )
            mine.remove(name)
            changed.append(f"{tool!r} has more than {MOST} types: it left {name!r}, which connects nothing")
            kept[name] = left
    parents = {one.parent for one in kept.values()}
    return {name: one for name, one in kept.items() if one.produced or one.consumed or name in parents}


def _is_cyclic(name: str, parents: dict[str, str | None]) -> bool:
    seen = {name}
    parent = parents.get(name)
    while parent is not None:
        if parent in seen:
            return True
        seen.add(parent)
        parent = parents.get(parent)
    return False
