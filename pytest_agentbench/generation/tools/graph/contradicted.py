"""Which edges of a shared type probing speaks against: the target refused the source's values, and accepted none."""

from collections.abc import Iterator
from functools import lru_cache

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.tools.probing.reading import at
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.values import Card, Cards, Place, SemanticType


class Contradictions:
    """Answers from the probes of cards whether a value of one place was ever taken at another."""

    def __init__(self, cards: Cards) -> None:
        self._cards = {card.tool: card for card in cards.cards}
        self._unfit = {
            (one.source, one.source_path, one.pattern, one.origin, one.target, one.target_path) for one in cards.unfit
        }
        self._given = lru_cache(maxsize=None)(self._read)

    def of(self, one: SemanticType, source: str, target: str) -> bool:
        """Whether a type joins two tools in vain: its values were tried, none was taken, or none of prose was tried.

        What a form finds in prose (a hash, a path), and a name that a call was given, need not be of one kind, so that
        only trying it joins two tools.
        """
        pairs = {
            self.between(given, taken)
            for given in one.produced
            if given.tool == source
            for taken in one.consumed
            if taken.tool == target
        }
        is_mixed = all(given.pattern or given.origin == "argument" for given in one.produced if given.tool == source)
        return False not in pairs and (True in pairs or is_mixed)

    def between(self, source: Place, target: Place) -> bool | None:
        """Whether values of a place were refused at another and none accepted; None where none was tried."""
        if (source.tool, source.path, source.pattern, source.origin, target.tool, target.path) in self._unfit:
            return True
        if source.tool not in self._cards or target.tool not in self._cards:
            return None
        if source.origin == "argument":
            given = frozenset(text for text, is_ok in _tried(self._cards[source.tool], source.path) if is_ok)
        else:
            given = self._given(source.tool, source.path, source.pattern)
        accepted, refused = set[str](), set[str]()
        for text, is_ok in _tried(self._cards[target.tool], target.path):
            if text in given:
                (accepted if is_ok else refused).add(text)
        return not accepted if accepted or refused else None

    def _read(self, tool: str, path: str, pattern: str) -> frozenset[str]:
        probes = (probe for probe in self._cards[tool].probes if probe.verdict == "ok")
        return frozenset(str(value) for probe in probes for value in at(probe.content, path, pattern))


def _tried(card: Card, path: str) -> Iterator[tuple[str, bool]]:
    for probe in card.probes:
        value = read_slots(probe.arguments).get(path)
        if value is not None and probe.verdict in ("ok", "refused", "broken"):
            yield (value if isinstance(value, str) else dumps(value)), probe.verdict == "ok"
