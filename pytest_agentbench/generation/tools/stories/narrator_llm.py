"""The Narrator played by a model: it chooses indices and words, and never values (tool-to-scenario D.3)."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any, TypeVar

from pydantic import BaseModel, Field

from pytest_agentbench.core.codec import loads
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.asking import ask
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.stories.narrator import (
    CloseGiven,
    Extracted,
    ExtractGiven,
    Given,
    RequestGiven,
    Selected,
    SelectGiven,
    TellGiven,
    WishGiven,
)
from pytest_agentbench.generation.tools.stories.showing import shown
from pytest_agentbench.generation.tools.values import Card
from pytest_agentbench.generation.tools.wording.phrasing import TONGUES, label_of, task_of
from pytest_agentbench.generation.tools.wording.saying import said_of
from pytest_agentbench.llm.seams import Chat

TEMPERATURE = 0.7
"""The paper's temperature for this role (Annex D)."""
_SHOWN = 4_000
"""Characters of an answer that is told or taken from."""
_GLIMPSE = 300
"""Characters of an answer that is chosen by."""

M = TypeVar("M", bound=BaseModel)


class Entry(BaseModel):
    """The entry that fits the conversation best."""

    entry_index: int = Field(description="the index of the entry")


class Propagation(BaseModel):
    """The arguments of the next call."""

    arguments: str = Field(description="a JSON object of arguments, written as text")
    sentence: str = Field(description="one sentence of the agent about the call")


class Sentence(BaseModel):
    """One line of the conversation."""

    sentence: str = Field(description="the words alone, without quotation marks or labels")


class ModelNarrator:
    """Asks a model at each arc."""

    def __init__(self, chat: Chat, random: Random) -> None:
        self._chat = chat
        self._random = random

    async def select(self, given: SelectGiven) -> Selected:
        """Have an entry chosen by its index; a single one needs no choice."""
        if len(given.entries) == 1:
            return Selected(entry_index=0)
        handles = given.handles or (None,) * len(given.entries)
        tongue = TONGUES[given.language]
        entries: list[dict[str, JsonValue]] = []
        for index, (entry, handle) in enumerate(zip(given.entries, handles, strict=True)):
            said = said_of(given.card, read_slots(entry.arguments), handle, tongue)
            answer = shown(entry.content, (), _GLIMPSE)
            entries.append({"index": index, "values": {one.label: one.text for one in said}, "answer": answer})
        data = {"next_request": _about(given.card), "then": [_about(card) for card in given.then], "entries": entries}
        return Selected(entry_index=(await self._ask(Entry, "narrator_select.v2", given, data)).entry_index)

    async def extract(self, given: ExtractGiven) -> Extracted:
        """Have arguments taken from a result; raise `UnusableAnswerError` where they are no JSON object."""
        data = {
            "next_call": {**_about(given.card), "arguments": [one.path for one in given.card.parameters]},
            "previous_result": shown(given.result, _values(given.options), _SHOWN),
            "possible_arguments": list(given.options),
        }
        answer = await self._ask(Propagation, "narrator_extract.v1", given, data)
        try:
            arguments = loads(answer.arguments)
        except ValueError:
            arguments = None
        if not isinstance(arguments, dict):
            said = shorten(printable(answer.arguments), 200)
            raise UnusableAnswerError(f"the narrator gave no JSON object as arguments: {said!r}")
        return Extracted(arguments=arguments, sentence=answer.sentence)

    async def request(self, given: RequestGiven) -> str:
        """Have the user's line worded."""
        data = {
            "requests": [_wish(wish, given) for wish in given.wishes],
            "wants_to_be_told": given.asks_for or None,
            "is_opening": not given.narrative,
        }
        return (await self._ask(Sentence, "narrator_request.v2", given, data)).sentence

    async def tell(self, given: TellGiven) -> str:
        """Have the agent's words worded."""
        values = [*given.facts.values(), *_values([one.arguments for one in given.answers])]
        results = [
            {**_about(one.card), "called_with": one.arguments, "result": shown(one.content, values, _SHOWN)}
            for one in given.answers
        ]
        data = {"results": results, "must_tell": given.facts}
        return (await self._ask(Sentence, "narrator_tell.v1", given, data)).sentence

    async def close(self, given: CloseGiven) -> str:
        """Have the closing worded."""
        return (await self._ask(Sentence, "narrator_close.v1", given, {})).sentence

    async def _ask(self, answer: type[M], task: str, given: Given, data: dict[str, Any]) -> M:
        told: dict[str, Any] = {**data, "conversation": list(given.narrative)}
        if given.critique:
            told["why_a_reader_did_not_believe_earlier_conversations"] = list(given.critique)
        if given.faults:
            told["your_answers_were_refused_because"] = list(given.faults)
        return await ask(
            self._chat, answer, task, told, random=self._random, temperature=TEMPERATURE, language=given.language
        )


def _values(several: Iterable[Mapping[str, JsonValue]]) -> list[JsonValue]:
    return [value for arguments in several for value in read_slots(dict(arguments)).values()]


def _about(card: Card) -> dict[str, JsonValue]:
    """Give what a card is for, without the tool's name, which users do not say."""
    return {"what_it_does": card.declared_description or card.actual_description or task_of(card, TONGUES["en"])}


def _wish(wish: WishGiven, given: RequestGiven) -> dict[str, JsonValue]:
    tongue = TONGUES[given.language]
    values: dict[str, JsonValue] = {one.label: one.text for one in said_of(wish.card, wish.given, wish.handle, tongue)}
    about: dict[str, JsonValue] = {**_about(wish.card), "values_to_say": values}
    if wish.places is not None:
        numbers = ".".join(str(place + 1) for place in wish.places)
        entry = f"entry {numbers} of {wish.count}" if numbers else "the result as a whole"
        names = ", ".join(label_of(wish.card, path, tongue) for path in wish.taken)
        about["takes_from_the_result_before"] = f"{names or 'what it needs'}: {entry}"
    return about
