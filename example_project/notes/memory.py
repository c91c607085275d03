"""The four memories of a conversation (paper §3): by meaning, by concept, the user's profile, the last messages."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from notes.markdown import fold
from notes.minilm import Embed, load
from notes.model import Client, Wrong, tokens

RECENT = 4
"""Messages of the buffer: two turns (paper §3.2.4)."""

TOP = 3
"""Messages that are recalled by meaning at most (paper §3.4)."""

MOST_CONCEPTS = 5
"""Concepts kept of one message."""

_ALIKE = 0.35
"""Cosine from which two sentences of all-MiniLM-L6-v2 are about one thing."""


class ProfileError(Exception):
    """The profile's file cannot be used; the message says why and what to do."""


class Strategy(BaseModel):
    """Which memories a message needs, and the concepts to look up."""

    stores: list[Literal["semantic", "conceptual", "profile"]] = []
    concepts: list[str] = []


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """One message of the conversation."""

    number: int
    role: Literal["user", "assistant"]
    text: str

    def __str__(self) -> str:
        """Give the message on one line, with who said it."""
        return f"{self.role}: {' '.join(self.text.split())}"


class SemanticMemory:
    """Finds messages that mean something alike, by sentence embeddings; `off` says why it cannot."""

    def __init__(self, embed: Embed | None = None) -> None:
        self.off = ""
        self._messages: list[Remembered] = []
        self._vectors: dict[int, Sequence[float]] = {}
        self._embed = embed
        try:
            self._embed = embed or load()
        except ImportError as error:
            self.off = str(error)

    def add(self, message: Remembered) -> None:
        """Keep a message; it is embedded when somebody searches."""
        self._messages.append(message)

    def search(self, text: str) -> list[Remembered]:
        """Give the messages closest in meaning, best first, the later of equals first."""
        if self._embed is None:
            return []
        wanted = self._embed(text)
        scored = []
        for message in self._messages:
            if message.number not in self._vectors:
                self._vectors[message.number] = self._embed(message.text)
            likeness = sum(a * b for a, b in zip(wanted, self._vectors[message.number], strict=True))
            scored += [(-likeness, -message.number, message)] if likeness >= _ALIKE else []
        return [message for _, _, message in sorted(scored, key=lambda one: one[:2])[:TOP]]


@dataclass
class ConceptMemory:
    """Concept → messages that speak of it, and how often two concepts stood in one message.

    The model that answers names the concepts; nothing is read off the words here.
    """

    index: dict[str, list[Remembered]] = field(default_factory=lambda: defaultdict(list))
    together: Counter[tuple[str, str]] = field(default_factory=Counter)
    names: dict[str, str] = field(default_factory=dict)

    def add(self, message: Remembered, concepts: Iterable[str]) -> None:
        """Note which concepts a message is about."""
        found = sorted({fold(one).strip(): one.strip() for one in concepts if one.strip()}.items())[:MOST_CONCEPTS]
        for concept, name in found:
            self.names.setdefault(concept, name)
            self.index[concept].append(message)
        self.together.update(combinations([concept for concept, _ in found], 2))

    def search(self, concepts: Iterable[str]) -> list[Remembered]:
        """Give the messages about any of the concepts, in order, each once."""
        found = {one.number: one for concept in concepts for one in self.index.get(fold(concept).strip(), ())}
        return [found[number] for number in sorted(found)]

    def related(self, concept: str, most: int = 5) -> list[str]:
        """Give the concepts that stood most often beside one."""
        counts: Counter[str] = Counter()
        for pair, count in self.together.items():
            if concept in pair:
                counts[pair[pair[0] == concept]] += count
        return [self.names[one] for one, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]]


@dataclass
class Profile:
    """How often notes of each top folder were cited; kept in a JSON file, where one is named."""

    file: Path | None = None
    folders: Counter[str] = field(default_factory=Counter)

    @classmethod
    def load(cls, file: Path | None) -> "Profile":
        """Read a profile, an empty one where there is no file yet; raise `ProfileError` where the file is none."""
        if file is None or not file.exists():
            return cls(file=file)
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            counts = {str(name): int(count) for name, count in data["folders"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ProfileError(f"{file} is no profile ({error!r}); repair it, or delete it") from error
        return cls(file=file, folders=Counter(counts))

    @property
    def summary(self) -> str:
        """Name the interests, most frequent first: `AI (8), Oncology (3)`."""
        ranked = sorted(self.folders.items(), key=lambda item: (-item[1], item[0]))
        return ", ".join(f"{name} ({count})" for name, count in ranked)

    def note(self, sources: Iterable[str]) -> None:
        """Count the folders of what an answer cites, and save."""
        self.folders.update(sorted({source.partition("/")[0] for source in sources if "/" in source}))
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            counts = dict(sorted(self.folders.items()))
            self.file.write_text(json.dumps({"folders": counts}, indent=2) + "\n", encoding="utf-8")


@dataclass
class Memory:
    """All that is remembered; the last four messages are always recalled, the rest where the model asks for it."""

    client: Client
    budget: int
    profile: Profile
    semantic: SemanticMemory = field(default_factory=SemanticMemory)
    concepts: ConceptMemory = field(default_factory=ConceptMemory)
    messages: list[Remembered] = field(default_factory=list)

    def recall(self, message: str, read: Sequence[str]) -> str:
        """Give what a message needs to know: what was said, and which notes were read.

        As long as the buffer holds all that was said and nothing is known of the user from before, no other memory
        could add to it, and the model is not asked which it needs.
        """
        recent = self.messages[-RECENT:]
        strategy = Strategy()
        if len(self.messages) > RECENT or (self.profile.file and self.profile.folders):
            strategy = self._strategy(message, recent)
        recalled = self.semantic.search(message) if "semantic" in strategy.stores else []
        recalled += self.concepts.search(strategy.concepts) if "conceptual" in strategy.stores else []
        lines = list(map(str, self._fused(recent, recalled)))
        if "profile" in strategy.stores and self.profile.folders:
            lines.append(f"interests of the user: {self.profile.summary}")
        if read:
            lines.append(f"notes read so far: {', '.join(read)}")
        return "\n".join(lines)

    def hear(self, role: Literal["user", "assistant"], text: str, concepts: Iterable[str]) -> None:
        """Keep a message in every store."""
        message = Remembered(number=len(self.messages) + 1, role=role, text=text)
        self.messages.append(message)
        self.semantic.add(message)
        self.concepts.add(message, concepts)

    def _strategy(self, message: str, recent: Sequence[Remembered]) -> Strategy:
        known = ", ".join(sorted(self.concepts.names.values()))
        try:
            return self.client.ask_for(
                Strategy, "strategy", memory="\n".join(map(str, recent)), concepts=known, question=message
            )
        except Wrong:
            return Strategy(stores=["semantic"])

    def _fused(self, recent: Sequence[Remembered], recalled: Sequence[Remembered]) -> list[Remembered]:
        """Choose what fits the budget: the recent messages first, the latest of them before all. Then sort by time."""
        chosen: dict[int, Remembered] = {}
        left = self.budget
        for message in [*reversed(recent), *recalled]:
            cost = tokens(str(message))
            if message.number not in chosen and cost <= left:
                chosen[message.number] = message
                left -= cost
        return [chosen[number] for number in sorted(chosen)]
