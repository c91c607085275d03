"""The semantic types of an environment (§4.2), without a model: evidence first, then names of what is left.

Two places are of one type when a value was seen to go from one to the other, directly or over several arguments.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.tools.graph.names import GENERIC, identifier, nouns, words
from pytest_agentbench.generation.tools.graph.typing_rules import MOST, mended
from pytest_agentbench.generation.tools.probing.outputs import output_leaves
from pytest_agentbench.generation.tools.values import Card, Cards, Flow, Place, SemanticType, Taxonomy

_EVIDENCE = 8
_PARENTS = {"latitude": "coordinates", "longitude": "coordinates"}
"""Types that are parts of one concept."""


def build_taxonomy(cards: Cards) -> Taxonomy:
    """Give the semantic types of all tools.

    Connector types come from what was seen to flow; each further argument, and what else a tool gives, is a type of
    its own, up to six types a tool. The rules of D.1 hold: see `typing_rules`.
    """
    tools = [card.tool for card in cards.cards]
    connectors = _connectors(cards)
    types, _ = mended([*connectors, *_others(cards, connectors)], tools)
    return types


def typed_flows(cards: Cards) -> dict[int, list[Flow]]:
    """Give flows by the type they belong to: those into one argument, or out of one whole place, are of one type."""
    groups = _Groups()
    for flow in cards.flows:
        target = f"in {flow.target} {flow.target_path}"
        groups.join(target, f"out {flow.source} {flow.source_path} {flow.pattern} {flow.origin}")
    found: dict[str, list[Flow]] = defaultdict(list)
    for flow in cards.flows:
        found[groups.root(f"in {flow.target} {flow.target_path}")].append(flow)
    return dict(enumerate(found.values()))


def _connectors(cards: Cards) -> list[SemanticType]:
    used: Counter[str] = Counter()
    types: list[SemanticType] = []
    tools = {card.tool for card in cards.cards}
    for flows in typed_flows(cards).values():
        produced = [
            Place(tool=one.source, path=one.source_path, pattern=one.pattern, origin=one.origin) for one in flows
        ]
        consumed = [Place(tool=one.target, path=one.target_path) for one in flows]
        values = {dumps(value): value for one in flows for value in one.values}
        name = _name(flows, tools)
        used[name] += 1
        if used[name] > 1:
            nouns_of = sorted(nouns(*(one.target for one in flows)))
            name = identifier("_".join([*nouns_of[:1], name, *([str(used[name])] if not nouns_of else [])])) or name
            used[name] += 1
            name = name if used[name] == 1 else f"{name}_{used[name]}"
        types.append(
            SemanticType(
                id=name,
                parent=_PARENTS.get(name),
                produced=_sorted(produced),
                consumed=_sorted(consumed),
                evidence=tuple(values.values())[:_EVIDENCE],
            )
        )
    parents = sorted({one.parent for one in types if one.parent})
    return [*types, *(SemanticType(id=parent) for parent in parents)]


def _name(flows: list[Flow], tools: set[str]) -> str:
    """Give the most usual name of the arguments; one that says nothing gets the noun of the tools that it is for."""
    counted = Counter("_".join(words(_last(flow.target_path))) for flow in flows)
    sources = Counter("_".join(words(_last(flow.source_path))) for flow in flows if not flow.pattern)
    name = min(counted, key=lambda one: (-counted[one], set(one.split("_")) <= GENERIC, one)) or "value"
    if set(name.split("_")) <= GENERIC:
        about = [min(nouns(flow.target, *flow.target_path.split(".")[:-1]), default="") for flow in flows]
        given = next((one for one, _ in sources.most_common() if one and not set(one.split("_")) <= GENERIC), "")
        noun = Counter(one for one in about if one).most_common(1)
        name = given or (f"{noun[0][0]}_{name}" if noun else name)
    name = identifier(name) or "value"
    return f"{name}_value" if name in tools else name


def _others(cards: Cards, connectors: Iterable[SemanticType]) -> list[SemanticType]:
    """Give the types that connect nothing: arguments that only a user knows, and what a tool tells."""
    taken = {(place.tool, place.path) for one in connectors for place in one.consumed}
    counted: Counter[str] = Counter()
    ids = {one.id for one in connectors}
    for one in connectors:
        for tool in {place.tool for place in (*one.produced, *one.consumed)}:
            counted[tool] += 1
    found: dict[str, SemanticType] = {}
    for card in cards.cards:
        noun = _noun(card)
        for path in _arguments(card):
            if (card.tool, path) in taken or counted[card.tool] >= MOST - 1:
                continue
            last = "_".join(words(_last(path)))
            name = identifier(f"{noun}_{last}" if set(last.split("_")) <= GENERIC else last) or "value"
            name = f"{name}_input" if name in ids else name
            _add(found, name, consumed=(Place(tool=card.tool, path=path),))
            counted[card.tool] += 1
        if card.output and any(True for _ in output_leaves(card.output)):
            name = identifier(f"{noun}_data") or "data"
            name = f"{name}_result" if name in ids or name in {one.tool for one in cards.cards} else name
            _add(found, name, produced=(Place(tool=card.tool, path=""),))
            counted[card.tool] += 1
    # a name that one tool takes and another gives would connect them without evidence
    return [
        one if not one.is_connector else one.model_copy(update={"produced": (), "id": f"{one.id}_input"})
        for one in found.values()
    ]


def _add(
    found: dict[str, SemanticType], name: str, *, produced: tuple[Place, ...] = (), consumed: tuple[Place, ...] = ()
) -> None:
    before = found.get(name, SemanticType(id=name))
    update = {"produced": (*before.produced, *produced), "consumed": (*before.consumed, *consumed)}
    found[name] = before.model_copy(update=update)


def _arguments(card: Card) -> list[str]:
    """Give a tool's arguments, needed ones first."""
    needed = [one.path for one in card.parameters if one.required or (one.required is None and one.declared_required)]
    return [*needed, *(one.path for one in card.parameters if one.path not in needed)]


def _noun(card: Card) -> str:
    about = [word for word in words(card.tool) if word in nouns(card.tool)]
    return "_".join(about[-2:]) or "_".join(words(card.tool)[-1:]) or "result"


def _last(path: str) -> str:
    return next((step for step in reversed(path.split(".")) if step != "*"), path)


def _sorted(places: list[Place]) -> tuple[Place, ...]:
    distinct = {(place.tool, place.path, place.pattern, place.origin): place for place in places}
    return tuple(distinct[key] for key in sorted(distinct))


class _Groups:
    """Sets that grow together (union-find)."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def root(self, name: str) -> str:
        """Give the name that stands for the set."""
        self._parents.setdefault(name, name)
        while self._parents[name] != name:
            self._parents[name] = self._parents[self._parents[name]]
            name = self._parents[name]
        return name

    def join(self, one: str, other: str) -> None:
        """Make two sets one."""
        first, second = sorted((self.root(one), self.root(other)))
        self._parents[second] = first
