"""Which concepts were spoken of where: an inverted index, and a graph of what was spoken of together."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations

from notes.memory.exchange import Remembered
from notes.text import key_words, stem
from notes.wording import WEAK

MOST_A_MESSAGE = 12
"""Concepts taken from one message: a long answer would join everything with everything."""


@dataclass
class ConceptualMemory:
    """Concept → messages, and how often two concepts were in one message."""

    index: dict[str, list[Remembered]] = field(default_factory=dict)
    frequency: Counter[str] = field(default_factory=Counter)
    together: Counter[tuple[str, str]] = field(default_factory=Counter)
    names: dict[str, str] = field(default_factory=dict)
    """How each concept was first written."""

    def add(self, message: Remembered) -> None:
        """Take up a message's concepts."""
        found: dict[str, str] = {}
        for word in key_words(message.text):
            if word not in WEAK and not word.isdigit() and len(word) > 2:
                found.setdefault(stem(word), word)
        concepts = sorted(list(found)[:MOST_A_MESSAGE])
        for concept in concepts:
            self.names.setdefault(concept, found[concept])
            self.index.setdefault(concept, []).append(message)
            self.frequency[concept] += 1
        self.together.update(combinations(concepts, 2))

    def search(self, text: str) -> list[Remembered]:
        """Give the messages that speak of the concepts of `text`, in order, each once."""
        found = {m.number: m for word in key_words(text) for m in self.index.get(stem(word), ())}
        return [found[number] for number in sorted(found)]

    def related(self, text: str, most: int = 5) -> list[str]:
        """Give the concepts that were most often spoken of together with those of `text`."""
        wanted = {stem(word) for word in key_words(text)}
        counts: Counter[str] = Counter()
        for (one, other), count in self.together.items():
            if (one in wanted) != (other in wanted):
                counts[other if one in wanted else one] += count
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return [self.names[concept] for concept, _ in ranked[:most]]
