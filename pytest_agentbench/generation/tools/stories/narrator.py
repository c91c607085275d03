"""The Narrator: what is said at each arc of a walk, and which verified arguments the call takes.

Tool-to-scenario (§4.4, D.3) has one agent with four operations: choose an entry of the pool, take arguments from a
result, tell what a call gave, close. A user's request for several calls in a row can only be worded when all of them
are known, so wording it is asked for apart. The template narrator needs no model.
"""

from random import Random
from typing import Protocol

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.values import Card, Handle, PoolEntry
from pytest_agentbench.generation.tools.wording.lines import request
from pytest_agentbench.generation.tools.wording.phrasing import TONGUES, value_text
from pytest_agentbench.generation.tools.wording.tongue import Code
from pytest_agentbench.generation.tools.wording.wishes import Reference, Wish


class Given(Model):
    """What every operation sees: the language, what was said so far, and what was wrong with its last answers.

    `critique` is why a reader did not believe earlier stories.
    """

    language: Code = "en"
    narrative: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    critique: tuple[str, ...] = ()


class SelectGiven(Given):
    """SELECT: a turn of the user begins with a call of this tool; `then` are the tools that follow on its result.

    `handles` are what the user would call each entry, where it does not say its arguments.
    """

    card: Card
    entries: tuple[PoolEntry, ...]
    handles: tuple[Handle | None, ...] = ()
    then: tuple[Card, ...] = ()


class Selected(Model):
    """The index of the entry that fits best."""

    entry_index: int


class ExtractGiven(Given):
    """EXTRACT: the call takes its arguments from a result; `options` are what types say that the result gives."""

    card: Card
    source: str
    result: str
    options: tuple[dict[str, JsonValue], ...]


class Extracted(Model):
    """The arguments, and what the agent says about the call."""

    arguments: dict[str, JsonValue]
    sentence: str


class WishGiven(Model):
    """One call of a request: what it is for, what the user gives, and which entry of the result before it is about.

    `given` are arguments; those of them that `handle` replaces are not said, but what they are called. `taken` are
    those that results give, `earlier` those of them that a result before the last one gives.
    """

    card: Card
    given: dict[str, JsonValue] = {}
    handle: Handle | None = None
    places: tuple[int, ...] | None = None
    count: int = 1
    taken: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()


class RequestGiven(Given):
    """REQUEST: the user's line for a turn; `asks_for` names a value that it wants to be told."""

    wishes: tuple[WishGiven, ...]
    asks_for: str = ""


class Answered(Model):
    """One call of a turn with its whole answer."""

    card: Card
    arguments: dict[str, JsonValue] = {}
    content: str = ""


class TellGiven(Given):
    """TELL: what the agent says with what the calls of the turn gave; `facts` are values that it must tell, by name."""

    answers: tuple[Answered, ...]
    facts: dict[str, str] = {}


class CloseGiven(Given):
    """CLOSE: the user's last words."""


class Narrator(Protocol):
    """Words a story; deterministic or model-backed, same types."""

    async def select(self, given: SelectGiven) -> Selected:
        """Choose an entry."""
        ...

    async def extract(self, given: ExtractGiven) -> Extracted:
        """Take arguments from a result."""
        ...

    async def request(self, given: RequestGiven) -> str:
        """Word the user's line."""
        ...

    async def tell(self, given: TellGiven) -> str:
        """Word what the agent tells."""
        ...

    async def close(self, given: CloseGiven) -> str:
        """Word the user's closing."""
        ...


class TemplateNarrator:
    """Words stories from descriptions and values; the same seed gives the same words."""

    def __init__(self, random: Random) -> None:
        self._random = random

    async def select(self, given: SelectGiven) -> Selected:
        """Choose the entry with most in common with what was said, the first among equals."""
        said = " ".join(given.narrative)

        def fit(place: int) -> int:
            values = list(read_slots(given.entries[place].arguments).values())
            handle = given.handles[place] if place < len(given.handles) else None
            values += [handle.value] if handle else []
            return sum(isinstance(value, str) and len(value) > 2 and value in said for value in values)

        return Selected(entry_index=max(range(len(given.entries)), key=lambda place: (fit(place) == 1, -place)))

    async def extract(self, given: ExtractGiven) -> Extracted:
        """Take the first option."""
        tongue = TONGUES[given.language]
        values = tongue.joined.join(value_text(value, tongue) for value in read_slots(given.options[0]).values())
        return Extracted(arguments=given.options[0], sentence=tongue.step.format(values=values))

    async def request(self, given: RequestGiven) -> str:
        """Word the line from the tools' descriptions."""
        wishes = [
            Wish(
                wish.card,
                wish.given,
                None if wish.places is None else Reference(wish.places, wish.count, wish.taken, wish.earlier),
                wish.handle,
            )
            for wish in given.wishes
        ]
        opens = not given.narrative
        return request(wishes, TONGUES[given.language], self._random, opens=opens, asks_for=given.asks_for)

    async def tell(self, given: TellGiven) -> str:
        """Say the facts, each after its name."""
        tongue = TONGUES[given.language]
        if not given.facts:
            return tongue.answer_nothing
        facts = ", ".join(f"{name}: {text}" for name, text in given.facts.items())
        return tongue.answer.format(facts=facts[0].upper() + facts[1:])

    async def close(self, given: CloseGiven) -> str:
        """Thank and go."""
        return self._random.choice(TONGUES[given.language].closings)
