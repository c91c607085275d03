"""The sentences of a story: worded by the narrator, held against what is known, sent back with the faults."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.critic import (
    Fault,
    RequestCheck,
    Speaker,
    described,
    names_of,
    request_faults,
    sentence_faults,
)
from pytest_agentbench.generation.tools.narrator import CloseGiven, Narrator, RequestGiven, TellGiven, WishGiven
from pytest_agentbench.generation.tools.tongue import Code
from pytest_agentbench.generation.tools.values import Card, Cards

_REMEMBERED = 3
"""Faults of earlier attempts that a narrator is told of."""
_REWRITES = 2
"""Times that a sentence is sent back with what is wrong with it."""


class HydrationError(Exception):
    """A walk could not be hydrated: `reason` is counted, `detail` says what happened."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class WordingError(HydrationError):
    """A narrator said what nobody knows, also after it was told."""


class Telling:
    """What was said in a story so far, and what is known in it."""

    def __init__(self, narrator: Narrator, cards: Cards, *, language: Code, faults: Sequence[str]) -> None:
        """Begin a story; `faults` of earlier attempts are told to the narrator."""
        self._narrator = narrator
        self._language: Code = language
        self._faults = tuple(faults[-_REMEMBERED:])
        self._names = names_of(cards)
        self._grounds = described(cards)
        self._narrative: list[str] = []
        self.said = ""

    def given(self, faults: tuple[str, ...] = ()) -> dict[str, Any]:
        """Give what every operation of the narrator sees."""
        known = (*self._faults, *faults)
        return {"language": self._language, "narrative": tuple(self._narrative), "faults": known}

    def learn(self, value: JsonValue) -> None:
        """Take a value in that may be said from now on."""
        self._grounds.add(value)

    def check(self, sentence: str, *, speaker: Speaker) -> None:
        """Raise `WordingError` where a sentence says what nobody knows."""
        if faults := sentence_faults(sentence, self._grounds, self._names, speaker=speaker):
            raise WordingError(faults[0].reason, faults[0].detail)

    async def request(self, wishes: Sequence[WishGiven], asks_for: str) -> str:
        """Give the user's line for the calls of a turn."""
        check = RequestCheck(
            wishes=tuple(wishes), asks_for=asks_for, language=self._language, narrative=tuple(self._narrative)
        )
        self._grounds.add(asks_for)

        async def ask(faults: tuple[str, ...]) -> str:
            given = RequestGiven(wishes=tuple(wishes), asks_for=asks_for, **self.given(faults))
            return await self._narrator.request(given)

        line = await self._worded(ask, speaker="user", further=lambda text: request_faults(text, check))
        self._narrative.append(f"user: {line}")
        self.said += f" {line}"
        return line

    async def tell(self, card: Card, arguments: Mapping[str, JsonValue], content: str, facts: Mapping[str, str]) -> str:
        """Give what the agent tells at the end of a turn."""

        async def ask(faults: tuple[str, ...]) -> str:
            given = TellGiven(
                card=card, arguments=dict(arguments), content=content, facts=dict(facts), **self.given(faults)
            )
            return await self._narrator.tell(given)

        sentence = await self._worded(ask, speaker="agent")
        self._narrative.append(f"agent: {sentence}")
        self.said = " ".join([self.said, *facts.values()])
        return sentence

    async def close(self) -> str:
        """Give the user's last words."""

        async def ask(faults: tuple[str, ...]) -> str:
            return await self._narrator.close(CloseGiven(**self.given(faults)))

        return await self._worded(ask, speaker="user")

    async def _worded(
        self,
        ask: Callable[[tuple[str, ...]], Awaitable[str]],
        *,
        speaker: Speaker,
        further: Callable[[str], list[Fault]] = lambda _: [],
    ) -> str:
        faults: tuple[str, ...] = ()
        for _ in range(1 + _REWRITES):
            sentence = " ".join((await ask(faults)).split())
            wrong = [*sentence_faults(sentence, self._grounds, self._names, speaker=speaker), *further(sentence)]
            if not wrong:
                return sentence
            faults = tuple(str(fault) for fault in wrong)
        raise WordingError(wrong[0].reason, f"{wrong[0].detail} in {shorten(printable(sentence), 200)!r}")
