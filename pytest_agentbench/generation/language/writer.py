"""Model wording: one call for a whole conversation, its person and its personas; guarded, repaired once.

The writer sees the draft's calls with their answers. It may cut the conversation at either end or call it absurd, and
never changes a call or a value.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel

from pytest_agentbench.core.text import shorten
from pytest_agentbench.generation.asking import ask, language_name
from pytest_agentbench.generation.draft import Draft, Origin, Persona, PlannedCall, Turn
from pytest_agentbench.generation.language.guard import line_faults, scalars_of, stated
from pytest_agentbench.generation.language.plain import label_of, words_of
from pytest_agentbench.generation.wording import ConversationBrief, ConversationLines
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.llm.templates import Templates

TEMPLATES = Templates("pytest_agentbench.generation.language")
PROMPT = "writer.v1"
TEMPERATURE = 0.8

_ANSWER = 700
"""Characters of an answer that a writer is shown."""
_TOLD = 8
"""Faults that a writer is told."""


class WrittenPersona(BaseModel):
    """A person who could say the lines."""

    task_instructions: str
    reason_for_call: str
    known_info: str
    unknown_info: str = ""


class WrittenConversation(BaseModel):
    """What the person says, one line for each turn that is kept, or why nobody would."""

    absurd: str = ""
    person: str = ""
    first: int = 1
    last: int = 0
    lines: list[str] = []
    personas: list[WrittenPersona] = []


class ModelWording:
    """Implements `Wording`: `policies` are the texts that no user knows."""

    def __init__(self, chat: Chat, policies: Sequence[str] = ()) -> None:
        self.name = chat.spec.model
        self.spec = chat.spec
        self._chat = chat
        self._policies = tuple(policies)

    async def lines(self, asked: ConversationBrief, /) -> ConversationLines:
        """Ask for the lines of a draft; faults that a repair leaves are there for the driver's guard to find."""
        draft = asked.draft
        values = {"personas": str(asked.personas), "language": language_name(draft.language)}
        written, _ = await ask(
            self._chat,
            WrittenConversation,
            TEMPLATES,
            PROMPT,
            values=values,
            data=data_of(asked),
            seed=draft.id,
            guard=lambda answer: list(self._faults(answer, asked))[:_TOLD],
            temperature=TEMPERATURE,
        )
        first, last = _kept(written, draft)
        personas = [
            Persona(**{**one.model_dump(), "unknown_info": one.unknown_info.strip() or None})
            for one in written.personas
        ]
        return ConversationLines(
            lines=tuple(line.strip() for line in written.lines),
            personas=tuple(personas),
            absurd=written.absurd.strip(),
            first=first,
            last=last,
        )

    def _faults(self, written: WrittenConversation, asked: ConversationBrief) -> Iterator[str]:
        if written.absurd.strip():
            return
        first, last = _kept(written, asked.draft)
        if why := uncuttable(asked.draft, first, last):
            yield why
            return
        draft = cut(asked.draft, first, last)
        if len(written.lines) != len(draft.turns):
            yield f"there are {len(written.lines)} lines for the {len(draft.turns)} turns that are kept"
            return
        for number, (turn, line) in enumerate(zip(draft.turns, written.lines, strict=True), start=1):
            yield from (f"line {number}: {one}" for one in line_faults(line, turn, draft, policies=self._policies))
        if len(written.personas) != asked.personas:
            yield f"there are {len(written.personas)} personas, {asked.personas} are asked for"
        for number, one in enumerate(written.personas, start=1):
            yield from (f"persona {number}: {fault}" for fault in persona_faults(one, draft))


def persona_faults(one: WrittenPersona | Persona, draft: Draft) -> Iterator[str]:
    """Say what a persona states that the draft does not have, and what of it is missing."""
    every = Turn(
        states=tuple(one for turn in draft.turns for one in turn.states),
        references=tuple(one for turn in draft.turns for one in turn.references),
        wanted=tuple(one for turn in draft.turns for one in turn.wanted),
    )
    whole = draft.model_copy(update={"turns": (*draft.turns, every)})
    for label, value in draft.values.items():
        for scalar in scalars_of(value):
            if not stated(scalar, one.known_info, draft.language):
                yield f"known_info does not state {label} {scalar!r}"
    bare = every.model_copy(update={"states": ()})
    alone = whole.model_copy(update={"turns": (*whole.turns, bare)})
    texts = {name: getattr(one, name) for name in ("known_info", "reason_for_call", "task_instructions")}
    if one.unknown_info and one.unknown_info.strip():
        texts["unknown_info"] = one.unknown_info
    for name, text in texts.items():
        yield from (f"{name}: {fault.replace('the line', 'it')}" for fault in line_faults(text, bare, alone))


def data_of(asked: ConversationBrief) -> dict[str, Any]:
    """Give what a writer sees, as JSON."""
    draft = asked.draft
    used = {call.call.name for turn in draft.turns for call in (*turn.calls, *turn.refused)}
    owner = draft.owner.model_dump(exclude_defaults=True)
    return {
        "tools": [f"{words_of(one.name)}: {one.summary}" for one in asked.tools if one.name in used],
        "turns": [_turn(draft, place) for place in range(len(draft.turns))],
        "fixed": not is_cuttable(draft),
        **({"owner": owner} if owner else {}),
        **({"rows": list(asked.rows)} if asked.rows else {}),
        **({"earlier": list(asked.earlier)} if asked.earlier else {}),
    }


def _turn(draft: Draft, place: int) -> dict[str, Any]:
    turn = draft.turns[place]
    asks = [
        {"action": words_of(call.call.name), **({"refused": True} if call in turn.refused else {})}
        for call in draft.requested(place)
        if call.asked
    ]
    found: dict[str, Any] = {
        "turn": place + 1,
        "act": turn.act,
        "asks_for": asks,
        "must_say": [{one.label: one.value} for one in turn.states],
        "points_at": [_pointed(draft, place, number) for number in range(len(turn.references))],
        "wants_to_know": [one.label for one in turn.wanted],
        "answers": [shorten(call.answer, _ANSWER) for call in turn.calls],
    }
    return {key: value for key, value in found.items() if value not in ([], "")}


def _pointed(draft: Draft, place: int, number: int) -> str:
    one = draft.turns[place].references[number]
    made = draft.calls
    answer = f"the answer to {words_of(made[one.source].call.name)}" if one.source < len(made) else "an answer"
    which = f"entry {one.position + 1} of {one.count}" if one.count > 1 else "the only one"
    return f"{label_of(one.argument)}: {one.label}, {which} in {answer} (at {one.path})"


def is_cuttable(draft: Draft) -> bool:
    """Whether turns may be left out: none decides a policy."""
    return draft.source != "policies" and not draft.policies


def _kept(written: WrittenConversation, draft: Draft) -> tuple[int, int]:
    """Give the first and the last turn (0-based) that are kept."""
    last = written.last if written.last > 0 else len(draft.turns)
    return max(written.first, 1) - 1, min(last, len(draft.turns)) - 1


def uncuttable(draft: Draft, first: int, last: int) -> str:
    """Say why a draft cannot be cut so, "" where it can."""
    if (first, last) == (0, len(draft.turns) - 1):
        return ""
    if not is_cuttable(draft):
        return "this conversation is fixed: keep all turns"
    if not 0 <= first <= last < len(draft.turns):
        return f"there are no turns from {first + 1} to {last + 1}"
    cut_calls = sum(len(turn.calls) for turn in draft.turns[:first])
    for turn in draft.turns[first : last + 1]:
        origins = [one for call in (*turn.calls, *turn.refused) for one in call.origins.values()]
        sources = [one.call for one in origins if one.source == "result" and one.call is not None]
        if any(source < cut_calls for source in [*sources, *(one.source for one in turn.references)]):
            return f"the turns from {first + 1} on need an answer of one that is cut"
    return ""


def cut(draft: Draft, first: int, last: int) -> Draft:
    """Keep the turns from `first` to `last`; numbers of calls move with them."""
    gone = sum(len(turn.calls) for turn in draft.turns[:first])
    if (first, last) == (0, len(draft.turns) - 1):
        return draft
    turns = tuple(_moved(turn, gone) for turn in draft.turns[first : last + 1])
    tools = {call.call.name for turn in turns for call in turn.calls}
    faults = tuple(one for one in draft.faults if one.tool in tools or one.tool == "*")
    return draft.model_copy(update={"turns": turns, "faults": faults})


def _moved(turn: Turn, gone: int) -> Turn:
    references = tuple(one.model_copy(update={"source": one.source - gone}) for one in turn.references)
    calls = tuple(_call(call, gone) for call in turn.calls)
    refused = tuple(_call(call, gone) for call in turn.refused)
    return turn.model_copy(update={"references": references, "calls": calls, "refused": refused})


def _call(call: PlannedCall, gone: int) -> PlannedCall:
    def moved(one: Origin) -> Origin:
        return one if one.call is None else one.model_copy(update={"call": one.call - gone})

    return call.model_copy(update={"origins": {path: moved(one) for path, one in call.origins.items()}})
