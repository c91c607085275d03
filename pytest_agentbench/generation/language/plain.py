"""Plain language: what a line of the user says, as data, and the phrases of a language that say exactly that.

`said` gives which actions are asked for, which values stand under which labels, which thing of which answer is meant;
`worded` writes it with `phrases.toml`, and the blind solver reads it.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from pytest_agentbench.core.acts import ActKind
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.draft import ANSWERS, Draft, Reference

PLAIN = "plain"
"""The name of plain wording, as provenance has it."""

LAST = -1
"""`SaidReference.nth` of the last answer."""

_FIXED: tuple[ActKind, ...] = ("confirm", "condition", "decline", "withdraw", "close")
"""Acts that a phrase of their own says."""
_CAMEL = re.compile(r"(?<=[a-zà-ÿ0-9])(?=[A-ZÀ-Ý])|(?<=[A-Z])(?=[A-Z][a-z])")
_SPLIT = re.compile(r"[\W_]+")
_CURRENCIES = frozenset({
    "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "INR", "JPY", "NOK", "PLN", "SEK", "USD",
})  # fmt: skip
"""Codes of currencies that columns of amounts end with, and that are no words."""
_LONGEST_NAME = 200
_LONGEST_VALUE = 2_000
_TITLE = 40
"""Characters up to which a schema's title is a label."""


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
    `several` says that there are more of this name, `here` that the answer comes while this turn is served.
    """

    label: str
    thing: str
    position: int = 0
    count: int = 1
    action: str = ""
    nth: int = LAST
    several: bool = False
    here: bool = False


class SaidCall(Model):
    """One thing asked for: the action in words ("" for values that nobody asks to act on), values by their labels.

    `reads` says that the user wants to see something, and not to have it changed.
    """

    action: str = ""
    reads: bool = False
    values: tuple[tuple[str, JsonValue], ...] = ()
    references: tuple[SaidReference, ...] = ()


class SaidTurn(Model):
    """What one line says: its act, what is asked for, and what the user wants to be told: a label, and of what."""

    act: ActKind = "request"
    calls: tuple[SaidCall, ...] = ()
    wanted: tuple[tuple[str, str], ...] = ()


def said(draft: Draft, turn: int) -> SaidTurn:
    """Give what the line of a turn says, as data."""
    own = draft.turns[turn]
    first = sum(len(one.calls) for one in draft.turns[:turn])
    calls = []
    for number, (call, before) in enumerate(draft.placed(turn)):
        is_asked = call.asked and own.act not in ANSWERS
        found = SaidCall(
            action=words_of(call.call.name) if is_asked else "",
            reads=is_asked and not call.writes,
            values=tuple((one.label, one.value) for one in own.states if one.call == number),
            references=tuple(_pointed(one, draft, before, first) for one in own.references if one.call == number),
        )
        calls += [found] if found != SaidCall() else []
    return SaidTurn(act=own.act, calls=tuple(calls), wanted=tuple((one.label, one.thing) for one in own.wanted))


def _pointed(one: Reference, draft: Draft, before: int, first: int) -> SaidReference:
    names = [call.call.name for call in draft.calls]
    label = label_of(one.argument) if one.argument else one.label
    found = SaidReference(label=label, thing=one.label, position=one.position, count=one.count)
    found = found.model_copy(update={"here": one.source >= first})
    if one.source == before - 1 or one.source >= len(names):
        return found
    name = names[one.source]
    several = names[:before].count(name) > 1
    update = {"action": words_of(name), "nth": names[: one.source].count(name), "several": several}
    return found.model_copy(update=update)


class Phrases:
    """The phrases of one language, a table of `phrases.toml`."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._table = table

    def __call__(self, phrase: str, **places: object) -> str:
        """Give a phrase with its places filled in; a label begins with a capital."""
        label = str(places.get("label", ""))
        return str(self._table[phrase]).format(**{**places, "label": label[:1].upper() + label[1:]})

    def asked(self, call: SaidCall) -> str:
        """Ask for an action by its words: to be shown what a looking verb leads to, else in a form for any name."""
        first, _, rest = call.action.partition(" ")
        is_looking = first in self._table["looking"]
        if is_looking and call.reads and rest:
            return self("question", action=rest)
        return self("named" if call.reads and not is_looking else "request", action=call.action)

    def ordinal(self, place: int) -> str:
        """Give the ordinal of a place (0-based)."""
        ordinals = self._table["ordinals"]
        return str(ordinals[place]) if place < len(ordinals) else self("later", number=place + 1)

    def spelt(self, value: JsonValue) -> str:
        """Give a value as it is said: verbatim, but for true, false and nothing."""
        if isinstance(value, bool):
            return str(self._table["truth"][value])
        if isinstance(value, list):
            text = ", ".join(map(self.spelt, value))
        elif isinstance(value, Mapping):
            text = ", ".join(f"{words_of(name)} {self.spelt(item)}" for name, item in value.items())
        else:
            text = "" if value is None else shorten(printable(str(value)), _LONGEST_VALUE)
        return text or self("nothing")

    def measured(self, label: str) -> str:
        """Name an amount: *limit in EUR* for the label *limit eur*."""
        name, _, unit = label.rpartition(" ")
        is_amount = name and unit.upper() in _CURRENCIES
        return self("measured", name=name, unit=unit.upper()) if is_amount else label

    def value(self, label: str, value: JsonValue) -> str:
        """Say a value under its label."""
        return self("value", label=label, value=self.spelt(value))


@cache
def _languages() -> Mapping[str, Phrases]:
    text = (files("pytest_agentbench.generation.language") / "phrases.toml").read_text(encoding="utf-8")
    return {code: Phrases(table) for code, table in tomllib.loads(text).items()}


def phrases_of(language: str) -> Phrases:
    """Give the phrases of a language (`fr`, `fr-CA`); raise `SuiteFaultError` for one that has none."""
    found = _languages().get(language) or _languages().get(language.replace("_", "-").partition("-")[0])
    if found is None:
        raise SuiteFaultError(
            f"generate.languages: there are no plain phrases for {language!r}, only for {listing(_languages())}; "
            "let a model word the scenarios (`llm`), or add a table to phrases.toml"
        )
    return found


def worded(turn: SaidTurn, phrases: Phrases) -> str:
    """Write what a turn says with the phrases of a language."""
    return " ".join(_sentences(turn, phrases)) or phrases("other")


def _sentences(turn: SaidTurn, phrases: Phrases) -> Iterator[str]:
    if turn.act in _FIXED:
        yield phrases(turn.act)
    said: set[tuple[str, str]] = set()
    for call in sorted(turn.calls, key=lambda call: not call.action):  # what is asked for first, then what helps
        if call.action:
            yield phrases.asked(call)
        yield from (phrases.value(*one) for one in call.values if (one[0], str(one[1])) not in said)
        said |= {(label, str(value)) for label, value in call.values}
        yield from (_reference(one, phrases) for one in call.references)
    if turn.wanted:
        named = [(phrases.measured(label), thing) for label, thing in turn.wanted]
        labels = [phrases("of", name=name, thing=thing) if thing else name for name, thing in named]
        yield phrases("wanted", labels=", ".join(labels))


def _reference(one: SaidReference, phrases: Phrases) -> str:
    last = "found" if one.here else "last_answer"
    which = last if one.nth == LAST else "numbered_answer" if one.several else "answer"
    answer = phrases(which, action=one.action, ordinal=phrases.ordinal(max(one.nth, 0)))
    thing = phrases("among" if one.count > 1 else "only", thing=one.thing, ordinal=phrases.ordinal(one.position))
    return phrases("reference", label=one.label, thing=thing, answer=answer)
