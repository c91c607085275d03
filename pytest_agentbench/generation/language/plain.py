"""Plain wording: one honest template per call, out of identifiers and values; what it says is data first, then a line.

`said` gives what a line says as data: which actions are asked for, which values stand under which labels, which thing
of which answer is meant. `PlainWording` writes exactly that with the phrases of a language (`phrases.toml`), and the
blind solver reads exactly that.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from pytest_agentbench.core.acts import ActKind
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.draft import ANSWERS, Draft, Persona, PlannedCall, Reference
from pytest_agentbench.generation.wording import ConversationBrief, ConversationLines

PLAIN = "plain"
"""The name of plain wording, as provenance has it."""

LAST = -1
"""`SaidReference.nth` of the last answer."""

_CAMEL = re.compile(r"(?<=[a-zà-ÿ0-9])(?=[A-ZÀ-Ý])|(?<=[A-Z])(?=[A-Z][a-z])")
_SPLIT = re.compile(r"[\W_]+")
_LONGEST_NAME = 200
_LONGEST_VALUE = 2_000
_TITLE = 40
"""Characters up to which a schema's title is a label."""


class Phrases(Model):
    """The phrases of one language; `truth` is how false and true are said."""

    request: str
    value: str
    truth: tuple[str, str]
    nothing: str
    reference: str
    only: str
    among: str
    ordinals: tuple[str, ...]
    later: str
    last_answer: str
    answer: str
    numbered_answer: str
    wanted: str
    confirm: str
    condition: str
    decline: str
    withdraw: str
    close: str
    other: str
    goal: str
    persona: str
    instructions: str

    def ordinal(self, place: int) -> str:
        """Give the ordinal of a place (0-based)."""
        return self.ordinals[place] if place < len(self.ordinals) else self.later.format(number=place + 1)

    def spelt(self, value: JsonValue) -> str:
        """Give a value as it is said: verbatim, but for true, false and nothing."""
        if isinstance(value, bool):
            return self.truth[value]
        if isinstance(value, list):
            return ", ".join(map(self.spelt, value)) or self.nothing
        if isinstance(value, Mapping):
            return ", ".join(f"{words_of(name)} {self.spelt(item)}" for name, item in value.items()) or self.nothing
        text = "" if value is None else shorten(printable(str(value)), _LONGEST_VALUE)
        return text or self.nothing


@cache
def _languages() -> Mapping[str, Phrases]:
    text = (files("pytest_agentbench.generation.language") / "phrases.toml").read_text(encoding="utf-8")
    return {code: Phrases.model_validate(table) for code, table in tomllib.loads(text).items()}


def phrases_of(language: str) -> Phrases:
    """Give the phrases of a language (`fr`, `fr-CA`); raise `SuiteFaultError` for one that has none."""
    found = _languages().get(language) or _languages().get(language.replace("_", "-").partition("-")[0])
    if found is None:
        raise SuiteFaultError(
            f"generate.languages: there are no plain phrases for {language!r}, only for {listing(_languages())}; "
            "let a model word the scenarios (`llm`), or add a table to phrases.toml"
        )
    return found


def words_of(name: str) -> str:
    """Turn an identifier (`orderId`, `order_id`, `Order-ID`) into its words (`order id`)."""
    return " ".join(_SPLIT.sub(" ", _CAMEL.sub(" ", name[:_LONGEST_NAME])).lower().split())


def label_of(path: str, schema: Mapping[str, JsonValue] | None = None) -> str:
    """Name an argument (its dotted path) in plain words: the title of its schema if there is one, else its identifier.

    Of a nested argument the last two names count (`address.zip`: *address zip*); numbers of list entries do not.
    """
    title = (schema or {}).get("title")
    if isinstance(title, str) and 0 < len(title.strip()) <= _TITLE and "\n" not in title:
        return words_of(title) or title.strip().lower()
    names = [part for part in re.split(r"[.\[\]]+", path) if part and not part.isdecimal() and part != "*"]
    return words_of(" ".join(names[-2:])) or path


class SaidReference(Model):
    """A thing of an answer that the user points at: entry `position` of `count` that are called `thing`.

    `action` names the call whose answer is meant, `nth` which of those of this name (0-based), `LAST` the last answer;
    `several` says that there are more of this name.
    """

    label: str
    thing: str
    position: int = 0
    count: int = 1
    action: str = ""
    nth: int = LAST
    several: bool = False


class SaidCall(Model):
    """One thing asked for: the action in words ("" for values that nobody asks to act on), values by their labels."""

    action: str = ""
    values: tuple[tuple[str, JsonValue], ...] = ()
    references: tuple[SaidReference, ...] = ()


class SaidTurn(Model):
    """What one line says: its act, what is asked for, and the labels of what the user wants to be told."""

    act: ActKind = "request"
    calls: tuple[SaidCall, ...] = ()
    wanted: tuple[str, ...] = ()


def said(draft: Draft, turn: int) -> SaidTurn:
    """Give what the line of a turn says, as data."""
    own = draft.turns[turn]
    is_answer = own.act in ANSWERS
    calls = []
    for number, (call, before) in enumerate(draft.placed(turn)):
        values = tuple((one.label, one.value) for one in own.states if one.call == number)
        pointed = tuple(_pointed(one, draft, before) for one in own.references if one.call == number)
        is_asked = call.asked and not is_answer
        if is_asked or values or pointed:
            action = words_of(call.call.name) if is_asked else ""
            calls.append(SaidCall(action=action, values=values, references=pointed))
    return SaidTurn(act=own.act, calls=tuple(calls), wanted=tuple(one.label for one in own.wanted))


def _pointed(one: Reference, draft: Draft, before: int) -> SaidReference:
    made: tuple[PlannedCall, ...] = draft.calls
    found = SaidReference(
        label=label_of(one.argument) if one.argument else one.label,
        thing=one.label,
        position=one.position,
        count=one.count,
    )
    if one.source == before - 1 or one.source >= len(made):
        return found
    name = made[one.source].call.name
    nth = sum(call.call.name == name for call in made[: one.source])
    several = sum(call.call.name == name for call in made[:before]) > 1
    return found.model_copy(update={"action": words_of(name), "nth": nth, "several": several})


class PlainWording:
    """Implements `Wording`: the same draft, the same lines."""

    name = PLAIN

    async def lines(self, asked: ConversationBrief, /) -> ConversationLines:
        """Give the lines of a draft, and a persona that knows its values."""
        draft = asked.draft
        phrases = phrases_of(draft.language)
        lines = [worded(said(draft, turn), phrases) for turn in range(len(draft.turns))]
        actions = dict.fromkeys(one.action for turn in range(len(draft.turns)) for one in said(draft, turn).calls)
        known = [
            phrases.value.format(label=_capital(label), value=phrases.spelt(value))
            for label, value in draft.values.items()
        ]
        persona = Persona(
            task_instructions=phrases.instructions,
            reason_for_call=phrases.goal.format(actions="; ".join(filter(None, actions))),
            known_info=" ".join(known) or phrases.persona,
            unknown_info=", ".join(draft.unknown) or None,
        )
        return ConversationLines(lines=tuple(lines), personas=(persona,))


def worded(turn: SaidTurn, phrases: Phrases) -> str:
    """Write what a turn says with the phrases of a language."""
    parts = list(_opening(turn, phrases))
    for call in turn.calls:
        if call.action:
            parts.append(phrases.request.format(action=call.action))
        for label, value in call.values:
            parts.append(phrases.value.format(label=_capital(label), value=phrases.spelt(value)))
        parts += [_reference(one, phrases) for one in call.references]
    if turn.wanted:
        parts.append(phrases.wanted.format(labels=", ".join(turn.wanted)))
    return " ".join(parts) or phrases.other


def _opening(turn: SaidTurn, phrases: Phrases) -> Iterator[str]:
    fixed: Mapping[ActKind, str] = {
        "confirm": phrases.confirm,
        "condition": phrases.condition,
        "decline": phrases.decline,
        "withdraw": phrases.withdraw,
        "close": phrases.close,
    }
    if turn.act in fixed:
        yield fixed[turn.act]


def _reference(one: SaidReference, phrases: Phrases) -> str:
    if one.nth == LAST:
        answer = phrases.last_answer
    elif not one.several:
        answer = phrases.answer.format(action=one.action)
    else:
        answer = phrases.numbered_answer.format(ordinal=phrases.ordinal(one.nth), action=one.action)
    thing = (
        phrases.only.format(thing=one.thing)
        if one.count < 2
        else phrases.among.format(ordinal=phrases.ordinal(one.position), thing=one.thing)
    )
    return phrases.reference.format(label=_capital(one.label), thing=thing, answer=answer)


def _capital(label: str) -> str:
    return label[:1].upper() + label[1:]
