"""The semantic types of an environment (§4.2), without a model, and the rules that any taxonomy keeps (D.1).

Two places are of one type when a value was seen to go from one to the other, directly or over several arguments. What
is left of arguments and results is named after itself. What breaks the rules is mended, and said.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

import networkx

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.tools.data_types import Card, Cards, Flow, Place, SemanticType, Taxonomy
from pytest_agentbench.generation.tools.graph.name_match import GENERIC, identifier, nouns, words
from pytest_agentbench.generation.tools.probing.outputs import output_leaves

MOST = 6
"""Types of one tool (D.1: 3 to 6); connectors are never given up for it."""
_EVIDENCE = 8
_ID = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


def build_taxonomy(cards: Cards) -> Taxonomy:
    """Give the types that observed flows make, then one for each further argument and result, six a tool at most."""
    connectors = _connectors(cards)
    taxonomy, _ = mended([*connectors, *_others(cards, connectors)], [card.tool for card in cards.cards])
    return taxonomy


def _connectors(cards: Cards) -> list[SemanticType]:
    """Give a type for each group of flows that share an argument, or one whole place of a result."""
    groups: networkx.Graph[tuple[str, ...]] = networkx.Graph()
    for flow in cards.flows:
        out = ("out", flow.source, flow.source_path, flow.pattern)
        groups.add_edge(("in", flow.target, flow.target_path), out)
    tools = {card.tool for card in cards.cards}
    used: Counter[str] = Counter()
    types = []
    for group in networkx.connected_components(groups):
        flows = [flow for flow in cards.flows if ("in", flow.target, flow.target_path) in group]
        name = _name(flows, tools)
        used[name] += 1
        if used[name] > 1:
            about = sorted(nouns(*(one.target for one in flows)))
            name = identifier("_".join([*about[:1], name])) if about else f"{name}_{used[name]}"
            used[name] += 1
            name = name if used[name] == 1 else f"{name}_{used[name]}"
        produced = [Place(tool=f.source, path=f.source_path, pattern=f.pattern) for f in flows]
        consumed = [Place(tool=f.target, path=f.target_path) for f in flows]
        evidence = {dumps(value): value for flow in flows for value in flow.values}
        types.append(
            SemanticType(
                id=name,
                produced=distinct(sorted(produced, key=_key)),
                consumed=distinct(sorted(consumed, key=_key)),
                evidence=tuple(evidence.values())[:_EVIDENCE],
            )
        )
    return types


def _name(flows: list[Flow], tools: set[str]) -> str:
    """Give the most usual name of the arguments; one that says nothing gets the noun of the tools that it is for."""
    counted = Counter("_".join(words(_last(flow.target_path))) for flow in flows)
    name = min(counted, key=lambda one: (-counted[one], _is_generic(one), one)) or "value"
    if _is_generic(name):
        sources = Counter("_".join(words(_last(flow.source_path))) for flow in flows if not flow.pattern)
        telling = next((one for one, _ in sources.most_common() if one and not _is_generic(one)), "")
        about = Counter(min(nouns(flow.target, *flow.target_path.split(".")[:-1]), default="") for flow in flows)
        noun = next((one for one, _ in about.most_common() if one), "")
        name = telling or (f"{noun}_{name}" if noun else name)
    name = identifier(name) or "value"
    return f"{name}_value" if name in tools else name


def _others(cards: Cards, connectors: Sequence[SemanticType]) -> list[SemanticType]:
    """Give the types that connect nothing: arguments that only a user knows, and what a tool tells."""
    tools = {card.tool for card in cards.cards}
    ids = {one.id for one in connectors}
    taken = {(place.tool, place.path) for one in connectors for place in one.consumed}
    counted = Counter(tool for one in connectors for tool in _tools_of(one))
    found: dict[str, tuple[list[Place], list[Place]]] = defaultdict(lambda: ([], []))
    for card in cards.cards:
        about = [word for word in words(card.tool) if word in nouns(card.tool)]
        noun = "_".join(about[-2:]) or "_".join(words(card.tool)[-1:]) or "result"
        for path in _arguments(card):
            if (card.tool, path) not in taken and counted[card.tool] < MOST - 1:
                last = "_".join(words(_last(path)))
                name = identifier(f"{noun}_{last}" if _is_generic(last) else last) or "value"
                found[f"{name}_input" if name in ids else name][0].append(Place(tool=card.tool, path=path))
                counted[card.tool] += 1
        if card.output and any(output_leaves(card.output)):
            name = identifier(f"{noun}_data") or "data"
            found[f"{name}_result" if name in ids | tools else name][1].append(Place(tool=card.tool, path=""))
            counted[card.tool] += 1
    # a name that one tool takes and another gives would connect them without evidence
    return [
        SemanticType(id=f"{name}_input", consumed=tuple(takes))
        if takes and gives
        else SemanticType(id=name, consumed=tuple(takes), produced=tuple(gives))
        for name, (takes, gives) in found.items()
    ]


def _arguments(card: Card) -> list[str]:
    """Give a tool's arguments, needed ones first."""
    needed = [one for one in card.parameters if one.required or (one.required is None and one.declared_required)]
    return [one.path for one in (*needed, *(one for one in card.parameters if one not in needed))]


def mended(
    types: Sequence[SemanticType], tools: Sequence[str], *, most: int | None = MOST
) -> tuple[Taxonomy, tuple[str, ...]]:
    """Give the types without faults, and what was wrong with them and was changed for it.

    Ids are respelt, those of tools get `_value`; equal ids become one type; parents that are missing or lead round in a
    circle are dropped; unknown tools leave; of more than `most` types of a tool those that connect nothing leave first.
    """
    changed: list[str] = []
    renamed: dict[str, str] = {}
    merged: dict[str, SemanticType] = {}
    for one in types:
        name = one.id if _ID.fullmatch(one.id) else identifier(one.id) or "value"
        name = renamed[one.id] = f"{name}_value" if name in tools else name
        if name != one.id:
            why = "is the name of a tool" if one.id in tools else "is not ASCII snake_case"
            changed.append(f"{one.id!r} {why}, and was renamed to {name!r}: a type names a concept")
        kept = _without(one, lambda place: place.tool not in tools)
        if kept != one:
            changed.append(f"{name!r} lost places of unknown tools")
        if name in merged:
            changed.append(f"two types were called {name!r}")
        before = merged.get(name, SemanticType(id=name))
        update = {
            "id": name,
            "produced": distinct((*before.produced, *kept.produced)),
            "consumed": distinct((*before.consumed, *kept.consumed)),
            "evidence": (*before.evidence, *one.evidence),
        }
        merged[name] = one.model_copy(update=update)
    for name, one in merged.items():
        parent = renamed.get(one.parent, one.parent) if one.parent else None
        if parent is not None and parent not in merged:
            changed.append(f"the parent {parent!r} of {name!r} was dropped: no such type")
            parent = None
        merged[name] = one.model_copy(update={"parent": parent})
    while cyclic := _cyclic(merged.values()):
        name = next(name for name in merged if name in cyclic)
        changed.append(f"the parent of {name!r} was dropped: it led round in a circle")
        merged[name] = merged[name].model_copy(update={"parent": None})
    if most is not None:
        _bound(merged, tools, most, changed)
    parents = {one.parent for one in merged.values()}
    left = (one for name, one in merged.items() if one.produced or one.consumed or name in parents)
    return Taxonomy(types=tuple(left)), tuple(changed)


def _bound(types: dict[str, SemanticType], tools: Sequence[str], most: int, changed: list[str]) -> None:
    """Take types that connect nothing from tools that have too many, the last ones first."""
    for tool in tools:
        mine = [name for name, one in types.items() if tool in _tools_of(one)]
        idle = [name for name in mine if not types[name].is_connector]
        for name in idle[::-1][: max(0, len(mine) - most)]:
            changed.append(f"{tool!r} has more than {most} types: it left {name!r}, which connects nothing")
            types[name] = _without(types[name], lambda place, tool=tool: place.tool == tool)  # type: ignore[misc]


def _without(one: SemanticType, leaves: Callable[[Place], bool]) -> SemanticType:
    sides = {
        side: tuple(place for place in getattr(one, side) if not leaves(place)) for side in ("produced", "consumed")
    }
    return one.model_copy(update=sides)


def _cyclic(types: Iterable[SemanticType]) -> set[str]:
    """Give the types that are their own ancestors, or lead to one that is."""
    parents: networkx.DiGraph[str] = networkx.DiGraph((one.id, one.parent) for one in types if one.parent)
    rings = [one for ring in networkx.simple_cycles(parents) for one in ring]
    return {name for one in rings for name in (one, *networkx.ancestors(parents, one))}


def distinct(places: Iterable[Place]) -> tuple[Place, ...]:
    """Give places once each, in order."""
    return tuple({_key(place): place for place in places}.values())


def _key(place: Place) -> tuple[str, ...]:
    return place.tool, place.path, place.pattern


def _tools_of(one: SemanticType) -> set[str]:
    return {place.tool for place in (*one.produced, *one.consumed)}


def _is_generic(name: str) -> bool:
    return set(name.split("_")) <= GENERIC


def _last(path: str) -> str:
    return next((step for step in reversed(path.split(".")) if step != "*"), path)
