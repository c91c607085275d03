"""Finds messages by meaning: BM25 over stems, or sentence embeddings where the extra is installed."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from notes.memory.exchange import Remembered
from notes.memory.minilm import load
from notes.text import stems

TOP = 3
"""Messages that are recalled at most (paper §3.4)."""

K1, B = 1.2, 0.75
"""The usual constants of BM25."""

LIKE = 0.35
"""Cosine similarity from which two sentences of all-MiniLM-L6-v2 are about one thing."""


class SemanticMemory(Protocol):
    """Keeps messages and finds those that mean something alike."""

    def add(self, message: Remembered) -> None:
        """Keep a message."""
        ...

    def search(self, text: str, top: int = TOP) -> list[Remembered]:
        """Give the messages closest in meaning, best first."""
        ...


class WordMemory:
    """BM25: no model, no network; misses what is said in other words."""

    def __init__(self) -> None:
        self._messages: list[tuple[Remembered, Counter[str]]] = []

    def add(self, message: Remembered) -> None:
        """Keep a message."""
        self._messages.append((message, Counter(stems(message.text))))

    def search(self, text: str, top: int = TOP) -> list[Remembered]:
        """Give the messages that share words with `text`, best first, the later of equals."""
        wanted = set(stems(text))
        scored = [(self._score(counts, wanted), message) for message, counts in self._messages]
        found = sorted((item for item in scored if item[0] > 0), key=lambda item: (-item[0], -item[1].number))
        return [message for _, message in found[:top]]

    def _score(self, counts: Counter[str], wanted: set[str]) -> float:
        total = len(self._messages)
        average = sum(sum(other.values()) for _, other in self._messages) / total or 1.0
        length = K1 * (1 - B + B * sum(counts.values()) / average)
        score = 0.0
        for word in wanted & counts.keys():
            holding = sum(word in other for _, other in self._messages)
            rarity = math.log(1 + (total - holding + 0.5) / (holding + 0.5))
            score += rarity * counts[word] * (K1 + 1) / (counts[word] + length)
        return score


class EmbeddingMemory:
    """Sentence embeddings (all-MiniLM-L6-v2, 384 dimensions) whose weights come with a package, so without network."""

    def __init__(self) -> None:
        self._embed = load()
        self._messages: list[tuple[Remembered, Sequence[float]]] = []

    def add(self, message: Remembered) -> None:
        """Keep a message."""
        self._messages.append((message, self._embed(message.text)))

    def search(self, text: str, top: int = TOP) -> list[Remembered]:
        """Give the messages whose embedding is closest, best first, if they are about the same thing at all."""
        wanted = self._embed(text)
        scored = [(_cosine(wanted, vector), message) for message, vector in self._messages]
        found = sorted((item for item in scored if item[0] >= LIKE), key=lambda item: (-item[0], -item[1].number))
        return [message for _, message in found[:top]]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    size = math.sqrt(sum(a * a for a in one)) * math.sqrt(sum(b * b for b in other))
    return product / size if size else 0.0
