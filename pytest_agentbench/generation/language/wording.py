"""Wording: the one place where words of generated users are made, by plain phrases or by a model.

A model gives all lines of a draft and its people in one answer, which is held against the guard and repaired once. It
sees the draft's calls with their answers; it may cut the conversation at either end or call it absurd, and never
changes a call or a value.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from pydantic import BaseModel

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.draft import Draft, Persona, PlannedCall, Reason, Stage, Turn
from pytest_agentbench.generation.language.guard import line_faults, own_value, scalars_of, stated, telling, unsaid
from pytest_agentbench.generation.language.plain import PLAIN, label_of, phrases_of, said, worded, words_of
from pytest_agentbench.generation.language.turn_cuts import cut, is_cuttable, spoilt_by_cut, uncuttable
from pytest_agentbench.generation.roles import ask
from pytest_agentbench.generation.tools.hydration.rules import SuiteRules
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.llm.templates import Templates
from pytest_agentbench.suites.language import language_name

TEMPLATES = Templates("pytest_agentbench.generation.language")
PROMPT = "writer.v2"
TEMPERATURE = 0.8

_ANSWER, _SUMMARY = 700, 160
"""Characters of an answer, and of what a tool declares to do, that a writer is shown."""
_MOST_FAULTS = 8
"""Faults that a writer is shown."""


class ConversationBrief(Model):
    """All that a writer may see: a draft with its calls and answers, the tools, rows touched, earlier purposes."""

    draft: Draft
    tools: tuple[ToolSpec, ...] = ()
    rows: tuple[dict[str, JsonValue], ...] = ()
    earlier: tuple[str, ...] = ()
    personas: int = 1


class ConversationLines(Model):
    """One line per turn of the draft, and who says them; `absurd` says why nobody would ask for this, "" where it is
    fine. `first` and `last` are the turns that are kept where the writer cuts the chain at an end.
    """

    lines: tuple[str, ...] = ()
    personas: tuple[Persona, ...] = ()
    absurd: str = ""
    first: int = 0
    last: int | None = None

    def kept(self, draft: Draft) -> tuple[int, int]:
        """Give the first and the last turn of a draft that are kept."""
        return self.first, len(draft.turns) - 1 if self.last is None else self.last

    def of(self, draft: Draft, rules: SuiteRules) -> Draft:
        """Give a draft with these lines and people; what is kept of it keeps the rules."""
        found = cut(draft, *self.kept(draft), rules)
        turns = [turn.model_copy(update={"line": line}) for turn, line in zip(found.turns, self.lines, strict=True)]
        return found.model_copy(update={"turns": tuple(turns), "personas": self.personas})


class Wording(Protocol):
    """Words a draft; plain or model-backed, same types and same guard."""

    name: str

    async def lines(self, asked: ConversationBrief, /) -> ConversationLines:
        """Give the lines of a draft."""
        ...


class PlainWording:
    """Implements `Wording`: the same draft, the same lines."""

    name = PLAIN

    async def lines(self, asked: ConversationBrief, /) -> ConversationLines:
        """Give the lines of a draft, and a persona that knows its values."""
        draft = asked.draft
        phrases = phrases_of(draft.language)
        turns = [said(draft, turn) for turn in range(len(draft.turns))]
        actions = dict.fromkeys(call.action for turn in turns for call in turn.calls if call.action)
        known = [phrases.value(label, value) for label, value in draft.known.items()]
        persona = Persona(
            task_instructions=phrases("instructions"),
            reason_for_call=phrases("goal", actions="; ".join(actions)),
            known_info=" ".join(known) or phrases("persona"),
            unknown_info=", ".join(draft.unknown) or None,
        )
        return ConversationLines(
            lines=tuple(worded(turn, phrases) for turn in turns), personas=(persona,) * asked.personas
        )


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

    def read(self, draft: Draft) -> ConversationLines:
        """Give the answer with the turns of a draft counted from 0."""
        last = self.last if self.last > 0 else len(draft.turns)
        return ConversationLines(
            lines=tuple(line.strip() for line in self.lines),
            personas=tuple(
                Persona(**{**one.model_dump(), "unknown_info": one.unknown_info.strip() or None})
                for one in self.personas
            ),
            absurd=self.absurd.strip(),
            first=max(self.first, 1) - 1,
            last=min(last, len(draft.turns)) - 1,
        )


class ModelWording:
    """Implements `Wording`: what is kept must keep `rules`, and no user knows their texts."""

    def __init__(self, chat: Chat, rules: SuiteRules) -> None:
        self.name = chat.spec.model
        self.spec = chat.spec
        self._chat = chat
        self._rules = rules

    async def lines(
        self, asked: ConversationBrief, /, last: ConversationLines | None = None, faults: Sequence[str] = ()
    ) -> ConversationLines:
        """Ask for the lines of a draft, or for `last` again without these faults; faults that a repair leaves are there
        for the driver to find.
        """

        def guard(answer: WrittenConversation) -> list[str]:
            found = answer.read(asked.draft)
            faults = [fault for _, _, fault in faults_of(found, asked.draft, self._rules)]
            if not found.absurd and len(found.personas) != asked.personas:
                faults.append(f"there are {len(found.personas)} personas, {asked.personas} are asked for")
            return faults[:_MOST_FAULTS]

        written, _ = await ask(
            self._chat,
            WrittenConversation,
            TEMPLATES,
            PROMPT,
            values={"personas": str(asked.personas), "language": language_name(asked.draft.language)},
            data=_data(asked) if last is None else {**_data(asked), **_again(asked.draft, last, faults)},
            seed=asked.draft.id,
            guard=guard,
            temperature=TEMPERATURE,
        )
        found = written.read(asked.draft)
        several = [found.personas[at % len(found.personas)] for at in range(asked.personas) if found.personas]
        return found.model_copy(update={"personas": tuple(several)})


def faults_of(found: ConversationLines, draft: Draft, rules: SuiteRules) -> Iterator[tuple[Stage, Reason, str]]:
    """Say what is wrong with the lines and people of a draft: the stage, the reason in a few words, the fault."""
    if found.absurd:
        return
    if why := uncuttable(draft, *found.kept(draft)):
        yield "wording", "cut where it cannot be", why
        return
    for why in spoilt_by_cut(draft, *found.kept(draft), rules):
        yield "wording", "cut where it cannot be", why
    kept = cut(draft, *found.kept(draft), rules)
    policies = [policy.text for policy in rules.policies]
    if len(found.lines) != len(kept.turns):
        why = f"there are {len(found.lines)} lines for the {len(kept.turns)} turns that are kept"
        yield "wording", "not a line for each turn", why
        return
    for number, (turn, line) in enumerate(zip(kept.turns, found.lines, strict=True), start=1):
        for fault in line_faults(line, turn, kept, policies=policies):
            yield "wording", "a line that does not say what it must", f"line {number}: {fault}"
    for number, one in enumerate(found.personas, start=1):
        for fault in persona_faults(one, kept):
            yield "persona", "a persona that does not know what it must", f"persona {number}: {fault}"


def persona_faults(one: Persona, draft: Draft) -> Iterator[str]:
    """Say what a persona states that the draft does not have, and what of it is missing."""
    for label, value in draft.values.items():
        for scalar in scalars_of(value):
            if not stated(scalar, one.known_info, draft.language, unit=label):
                yield f"known_info does not state {label} {scalar!r}"
    whole = Turn(
        calls=draft.calls,
        references=tuple(one for turn in draft.turns for one in turn.references),
        wanted=tuple(one for turn in draft.turns for one in turn.wanted),
    )
    behind = draft.model_copy(update={"turns": (*draft.turns, whole)})
    for name in ("known_info", "reason_for_call", "task_instructions", "unknown_info"):
        if (text := getattr(one, name)) is not None:
            yield from (f"{name}: {fault.replace('the line', 'it')}" for fault in line_faults(text, whole, behind))


def _data(asked: ConversationBrief) -> dict[str, Any]:
    """Give what a writer sees, as JSON."""
    draft = asked.draft
    used = {call.call.name for turn in draft.turns for call in (*turn.calls, *turn.refused)}
    tools = [(words_of(one.name), " ".join(one.description.split())) for one in asked.tools if one.name in used]
    rest = {
        "owner": draft.owner.model_dump(exclude_defaults=True),
        "rows": list(asked.rows),
        "earlier": list(asked.earlier),
        "reason": draft.provenance.get("goal", ""),
    }
    return {
        "tools": [f"{name}: {summary[:_SUMMARY]}" for name, summary in tools],
        "turns": [_turn(draft, place) for place in range(len(draft.turns))],
        "fixed": not is_cuttable(draft),
        **{name: value for name, value in rest.items() if value},
    }


def _again(draft: Draft, last: ConversationLines, faults: Sequence[str]) -> Mapping[str, Any]:
    """Give an answer back, with what is wrong with it."""
    first, end = last.kept(draft)
    personas = [one.model_dump(include=set(WrittenPersona.model_fields)) for one in last.personas]
    answer = {"first": first + 1, "last": end + 1, "lines": list(last.lines), "personas": personas}
    return {"last_answer": answer, "faults": list(faults)[:_MOST_FAULTS]}


def _turn(draft: Draft, place: int) -> Mapping[str, Any]:
    turn = draft.turns[place]
    new = unsaid(draft, turn)
    asked = [(number, call) for number, call in enumerate(draft.requested(place)) if call.asked]
    steps = {number for number, call in asked if _leads_on(turn, number, call, draft.requested(place), draft)}
    found: dict[str, Any] = {
        "turn": place + 1,
        "act": turn.act,
        "asks_for": [
            {"action": words_of(call.call.name), **({"refused": True} if call in turn.refused else {})}
            for number, call in asked
            if number not in steps
        ],
        "on_the_way": [words_of(call.call.name) for number, call in asked if number in steps],
        "must_say": [{one.label: one.value} for one in new],
        "has_said": [{one.label: one.value} for one in turn.states if all(one.value != said.value for said in new)],
        "points_at": [_pointed(draft, place, number) for number in range(len(turn.references))],
        "wants_to_know": [f"{one.label} of the {one.thing}" if one.thing else one.label for one in turn.wanted],
        "answers": [shorten(call.answer, _ANSWER) for call in turn.calls],
    }
    return {key: value for key, value in found.items() if value not in ([], "")}


def _leads_on(turn: Turn, number: int, call: PlannedCall, others: Sequence[PlannedCall], draft: Draft) -> bool:
    """Whether a requested call is a lookup of which the turn takes values for its further calls, and tells none."""
    if call.writes or call.fails or call not in turn.calls or any(one.call == number for one in turn.wanted):
        return False
    source = next((place for place, one in enumerate(draft.calls) if one is call), -1)
    later = [origin.call for one in others[number + 1 :] for origin in one.origins.values()]
    return source in later


def _pointed(draft: Draft, place: int, number: int) -> str:
    one = draft.turns[place].references[number]
    calls = draft.calls
    answer = f"the answer to {words_of(calls[one.source].call.name)}" if one.source < len(calls) else "an answer"
    which = f"entry {one.position + 1} of {one.count}" if one.count > 1 else "the only one"
    known = " or ".join(f"{name} {value!r}" for name, value in telling(draft, one).items())
    if known and one.count > 1 and one.source >= sum(len(turn.calls) for turn in draft.turns[:place]):
        which = f"one of {one.count} that the person has not seen"  # so that its place says nothing
    apart = f"; say which by {known}, as far as the person knows that" if known else ""
    if own := own_value(draft, one):
        apart = f"; the person knows it itself ({own[0]} {own[1]!r})" + apart
    return f"{label_of(one.argument)}: {one.label}, {which} in {answer} (at {one.path}){apart}"
