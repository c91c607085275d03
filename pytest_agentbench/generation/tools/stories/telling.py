"""The sentences of a story: worded by the narrator, held against what is known, sent back with the faults."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.stories.completeness import RequestCheck, request_faults
from pytest_agentbench.generation.tools.stories.critic import Speaker, described, names_of, sentence_faults
from pytest_agentbench.generation.tools.stories.faults import Fault
from pytest_agentbench.generation.tools.stories.narrator import (
    Answered,
    CloseGiven,
    ExtractGiven,
    Narrator,
    RequestGiven,
    TellGiven,
    WishGiven,
)
from pytest_agentbench.generation.tools.stories.propagation import Propagated
from pytest_agentbench.generation.tools.values import Cards
from pytest_agentbench.generation.tools.wording.phrasing import TONGUES
from pytest_agentbench.generation.tools.wording.saying import said_of
from pytest_agentbench.generation.tools.wording.tongue import Code

_REMEMBERED = 3
"""Faults of earlier attempts that a narrator is told of."""
_REWRITES = 2
"""Times that a sentence is sent back with what is wrong with it."""


Operation = Literal["select", "extract", "request", "tell", "close"]
"""What a narrator does; each is told of its own faults alone."""

Faults = Mapping[Operation, Sequence[str]]
"""What answers were refused for, by operation."""


class HydrationError(Exception):
    """A walk could not be hydrated: `reason` is counted, `detail` says what happened."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class WordingError(HydrationError):
    """A narrator said what nobody knows, also after it was told; `operation` is which of its operations did."""

    def __init__(self, reason: str, detail: str = "", *, operation: Operation) -> None:
        super().__init__(reason, detail)
        self.operation: Operation = operation


class Telling:
    """What was said in a story so far, and what is known in it."""

    def __init__(
        self, narrator: Narrator, cards: Cards, *, language: Code, faults: Faults, critique: Sequence[str] = ()
    ) -> None:
        """Begin a story; `faults` of earlier attempts are told to the narrator, each to the operation it is of.

        `critique` is what a reader did not believe of earlier stories.
        """
        self.language: Code = language
        self._narrator = narrator
        self._critique = tuple(critique[-_REMEMBERED:])
        self._faults = faults
        self._names = names_of(cards)
        self._grounds = described(cards)
        self._narrative: list[str] = []
        self.said = ""

    def given(self, operation: Operation, faults: tuple[str, ...] = ()) -> dict[str, Any]:
        """Give what an operation of the narrator sees, and what its own answers were refused for."""
        known = tuple(dict.fromkeys((*self._faults.get(operation, ())[-_REMEMBERED:], *faults)))
        return {
            "language": self.language,
            "narrative": tuple(self._narrative),
            "faults": known,
            "critique": self._critique if operation in ("select", "request", "tell") else (),
        }

    def learn(self, value: JsonValue) -> None:
        """Take a value in that may be said from now on."""
        self._grounds.add(value)

    async def extract(
        self, given: ExtractGiven, choose: Callable[[dict[str, JsonValue]], Propagated]
    ) -> tuple[Propagated, str]:
        """Give the arguments of a call that follows, and what the agent says about it; raise what `choose` does."""
        chosen: list[Propagated] = []

        async def ask(faults: tuple[str, ...]) -> str:
            extracted = await self._narrator.extract(given.model_copy(update={"faults": (*given.faults, *faults)}))
            chosen.append(choose(extracted.arguments))
            self.learn(chosen[-1].arguments)
            return extracted.sentence

        sentence = await self._worded(ask, "extract")
        return chosen[-1], sentence

    async def request(self, wishes: Sequence[WishGiven], asks_for: str) -> str:
        """Give the user's line for the calls of a turn."""
        check = RequestCheck(
            wishes=tuple(wishes), asks_for=asks_for, language=self.language, narrative=tuple(self._narrative)
        )
        self._grounds.add(asks_for)
        for wish in wishes:
            self.learn([one.text for one in said_of(wish.card, wish.given, wish.handle, TONGUES[self.language])])

        async def ask(faults: tuple[str, ...]) -> str:
            given = RequestGiven(wishes=tuple(wishes), asks_for=asks_for, **self.given("request", faults))
            return await self._narrator.request(given)

        line = await self._worded(ask, "request", further=lambda text: request_faults(text, check))
        self._narrative.append(f"user: {line}")
        self.said += f" {line}"
        return line

    async def tell(self, answers: Sequence[Answered], facts: Mapping[str, str]) -> str:
        """Give what the agent tells at the end of a turn, of all that its calls gave."""

        async def ask(faults: tuple[str, ...]) -> str:
            given = TellGiven(answers=tuple(answers), facts=dict(facts), **self.given("tell", faults))
            return await self._narrator.tell(given)

        sentence = await self._worded(ask, "tell")
        self._narrative.append(f"agent: {sentence}")
        self.said = " ".join([self.said, *facts.values()])
        return sentence

    async def close(self) -> str:
        """Give the user's last words."""

        async def ask(faults: tuple[str, ...]) -> str:
            return await self._narrator.close(CloseGiven(**self.given("close", faults)))

        return await self._worded(ask, "close")

    async def _worded(
        self,
        ask: Callable[[tuple[str, ...]], Awaitable[str]],
        operation: Operation,
        *,
        further: Callable[[str], list[Fault]] = lambda _: [],
    ) -> str:
        faults: tuple[str, ...] = ()
        speaker: Speaker = "agent" if operation in ("tell", "extract") else "user"
        for _ in range(1 + _REWRITES):
            sentence = " ".join((await ask(faults)).split())
            wrong = [*sentence_faults(sentence, self._grounds, self._names, speaker=speaker), *further(sentence)]
            if not wrong:
                return sentence
            faults = tuple(str(fault) for fault in wrong)
        detail = f"{wrong[0].detail} in {shorten(printable(sentence), 200)!r}"
        raise WordingError(wrong[0].reason, detail, operation=operation)
