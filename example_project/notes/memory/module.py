"""The memory of a conversation: which of its parts to consult, what they recall, and what a message refers to."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from notes.memory.conceptual import ConceptualMemory
from notes.memory.exchange import Exchange, Remembered
from notes.memory.fusion import fuse, render
from notes.memory.profile import Profile
from notes.memory.referring import Resolved, refers, resolve
from notes.memory.semantic import TOP, EmbeddingMemory, SemanticMemory, WordMemory
from notes.memory.strategy import Store, strategy
from notes.settings import Settings
from notes.text import key_words

RECENT = 4
"""Messages of the buffer, two turns (paper §3.2.4)."""

SHORT = 2
"""Key words of a message that hardly asks anything by itself."""

ChooseStores = Callable[[str, str], frozenset[Store]]
"""Decides which long-term stores a message needs, beside the recent messages as text."""


@dataclass
class Memory:
    """Everything that is remembered; `choose` decides what a message needs of it."""

    semantic: SemanticMemory
    profile: Profile
    budget: int
    choose: ChooseStores = strategy
    conceptual: ConceptualMemory = field(default_factory=ConceptualMemory)
    recent: deque[Remembered] = field(default_factory=lambda: deque(maxlen=RECENT))
    exchanges: list[Exchange] = field(default_factory=list)
    said: int = 0

    @classmethod
    def of(cls, settings: Settings, choose: ChooseStores = strategy) -> "Memory":
        """Open the memory that the settings ask for."""
        semantic: SemanticMemory = EmbeddingMemory() if settings.semantic == "embeddings" else WordMemory()
        profile = Profile.load(Path(settings.profile) if settings.profile else None)
        return cls(semantic=semantic, profile=profile, budget=settings.memory_tokens, choose=choose)

    @property
    def last(self) -> Exchange | None:
        """The last exchange that was about something."""
        return self.exchanges[-1] if self.exchanges else None

    def resolve(self, message: str) -> Resolved:
        """Fill in what a message refers to."""
        last = self.last
        if last is None or refers(message) or len(key_words(message)) < SHORT:
            return resolve(message, last)
        note = last.sources[0].path if last.sources else ""
        return Resolved(text=message, favour=(note,) if note else ())

    def recall(self, message: str) -> tuple[Remembered, ...]:
        """Give what to keep in mind for a message: the recent ones, and what the chosen stores recall.

        As long as the buffer holds everything that was said, and nothing is known of the user, no store is chosen: none
        could add to it.
        """
        more = self.said > RECENT or bool(self.profile.summary and self.profile.file)
        stores = self.choose(message, render(list(self.recent))) if more else frozenset()
        consulted: list[Callable[[str], Sequence[Remembered]]] = []
        if "semantic" in stores:
            consulted.append(lambda text: self.semantic.search(text, TOP))
        if "conceptual" in stores:
            consulted.append(self.conceptual.search)
        if len(consulted) < 2:
            found: list[Sequence[Remembered]] = [one(message) for one in consulted]
        else:
            with ThreadPoolExecutor(max_workers=len(consulted)) as threads:
                found = list(threads.map(lambda one: one(message), consulted))
        if "profile" in stores and self.profile.summary:
            found.append([Remembered(number=0, role="user", text=f"My interests: {self.profile.summary}")])
        return fuse(list(self.recent), found, self.budget)

    def hear(self, role: Literal["user", "assistant"], text: str) -> None:
        """Keep a message in every store."""
        self.said += 1
        message = Remembered(number=self.said, role=role, text=text)
        self.recent.append(message)
        self.semantic.add(message)
        self.conceptual.add(message)

    def note(self, exchange: Exchange, *, french: bool) -> None:
        """Keep what a question and its answer were about."""
        self.exchanges.append(exchange)
        self.profile.note(exchange.sources, french=french)
