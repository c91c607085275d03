"""Which edges of a shared type probing speaks against: the target refused the source's values, and accepted none."""

from collections.abc import Iterator
from functools import lru_cache

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.tools.reading import at
from pytest_agentbench.generation.tools.schemas import read_slots
from pytest_agentbench.generation.tools.values import Card, Cards, Place, SemanticType


class Contradictions:
    """Answers from the probes of cards whether a value of one place was ever taken at another."""

    def __init__(self, cards: Cards) -> None:
        self._cards = {card.tool: card for card in cards.cards}
        self._given = lru_cache(maxsize=None)(self._read)

    def of(self, one: SemanticType, source: str, target: str) -> bool:
        """Whether values of the type were tried from one tool to the other, and all of them in vain."""
        pairs = [
            self.between(given, taken)
            for given in one.produced
            if given.tool == source
            for taken in one.consumed
            if taken.tool == target
        ]
        return True in pairs and False not in pairs

    def between(self, source: Place, target: Place) -> bool | None:
        """Whether values of a place were refused at another and none accepted; None where none was tried."""
        if source.tool not in self._cards or target.tool not in self._cards or source.origin == "argument":
            return None
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
