"""What a policy's words demand of a row: a value, a limit, a date after another, a flag; with evidence.

Only what the words tie to a column or to a field of an answer becomes a condition; everything else is left to a judge.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation.policies.events.language import Lexicon, language_of, lexicon, stem
from pytest_agentbench.generation.policies.events.sentences import sentences
from pytest_agentbench.generation.policies.events.tables import Table
from pytest_agentbench.generation.policies.values import ExtractedPolicy

_ONLY = re.compile(
    r"\b(?:only|solely|exclusively|unless|seulement|uniquement|exclusivement|que si|ne \w+ que|sauf si|à moins)\b",
    re.IGNORECASE,
)
_NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NUMBER = rf"(?P<number>\d+(?:[.,]\d+)?|{'|'.join(_NUMBERS)})"
_UNIT = r"(?P<unit>[^\W\d]+|€|\$|£|%)"
_WITHIN = re.compile(
    r"\b(?:within|up to|at most|no more than|not more than|no later than|maximum of|dans les|sous|au plus|jusqu['’]à)"
    rf"\s+{_NUMBER}\s+{_UNIT}",
    re.IGNORECASE,
)
_OVER = re.compile(
    rf"\b(?:at least|no fewer than|no less than|minimum of|au moins)\s+{_NUMBER}\s+{_UNIT}", re.IGNORECASE
)
_BEYOND = re.compile(
    rf"\b(?:more than|over|above|exceed(?:s|ing)?|greater than|older than|longer than|later than|plus de)\s+"
    rf"{_NUMBER}\s+{_UNIT}",
    re.IGNORECASE,
)
_BELOW = re.compile(
    rf"\b(?:less than|fewer than|under|below|younger than|moins de)\s+{_NUMBER}\s+{_UNIT}", re.IGNORECASE
)
_PLAIN = re.compile(
    rf"\b(?:no more than|pas plus de|(?:a |au )?maximum(?: of| de)?)\s+{_NUMBER}\s+{_UNIT}", re.IGNORECASE
)
_OF_STATE = re.compile(r"\b(?:if|when|whenever|once|that|which|who|si|lorsqu\w*|quand|qui)\b[^,;:.]*$", re.IGNORECASE)
_AFTER = re.compile(
    r"(?P<one>[^\W\d]+)\s+(?P<way>after|before|après|avant)\s+(?P<other>[^\W\d]+(?: [^\W\d]+){0,2})",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MONEY = frozenset(map(stem, ("euro", "euros", "dollar", "dollars", "pounds", "eur", "usd", "gbp", "€", "$", "£")))


_PAST = {
    "held": "hold", "kept": "keep", "sent": "send", "paid": "pay", "lent": "lend", "made": "make", "bought": "buy",
    "sold": "sell", "left": "leave", "taken": "take", "given": "give", "written": "write", "spent": "spend",
    "hired": "hire", "won": "win", "lost": "lose", "met": "meet", "built": "build", "drawn": "draw", "driven": "drive",
}  # fmt: skip
"""Forms of English verbs that no ending tells; columns are named after the other one."""


class Condition(Model):
    """What must hold of a row for an act to be allowed; `evidence` quotes the words and names the column."""

    policy: str
    kind: Literal["value", "most", "least", "after", "argument"]
    field: str
    allowed: tuple[Any, ...] = ()
    limit: float = 0
    other: str = ""
    evidence: str = ""

    @property
    def is_measured(self) -> bool:
        """Whether it is about a number that a call gives, or about something that two rows have in common."""
        return self.kind == "argument" and self.other.startswith(("most:", "alike:"))

    def holds(self, facts: Mapping[str, Any]) -> bool | None:
        """Say whether it holds; None where the facts do not tell."""
        value = facts.get(self.field)
        if self.kind == "value":
            return None if value is None else value in self.allowed
        if self.kind == "after":
            other = facts.get(self.other)
            return None if not (isinstance(value, str) and isinstance(other, str)) else value > other
        if self.kind == "argument" or isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return value <= self.limit if self.kind == "most" else value >= self.limit


def conditions_of(policy: ExtractedPolicy, table: Table, facts: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Find what a policy demands of the rows of a table; `facts` is an example of a row with what answers add to it."""
    words = lexicon(language_of(policy.text))
    found = (
        condition
        for start, end in sentences(policy.text)
        for condition in _of_sentence(policy, policy.text[start:end], words, table, facts)
    )
    whole = (*_limits(policy, policy.text, ((_WITHIN, "most"), (_OVER, "least")), facts), *_dates(policy, facts))
    # what two parts of one text say of the same column is one condition: the first
    return tuple({(one.kind, one.field): one for one in reversed((*found, *whole))}.values())[::-1]


def _of_sentence(
    policy: ExtractedPolicy, text: str, words: Lexicon, table: Table, facts: Mapping[str, Any]
) -> Iterable[Condition]:
    forbids = words.occasions["prohibition"].search(text) is not None
    yield from _values(policy, text, table, forbids=forbids)
    yield from _flags(policy, text, facts, forbids=forbids)
    if forbids:
        yield from _limits(policy, text, ((_BEYOND, "most"), (_BELOW, "least")), facts)


def _values(policy: ExtractedPolicy, text: str, table: Table, *, forbids: bool) -> Iterable[Condition]:
    """Find fixed values that a sentence names with *only*, or that it forbids an act for."""
    only = _ONLY.search(text) is not None
    if not (only or forbids):
        return
    words = text.lower()
    for column in table.columns:
        named = tuple(
            value
            for value in column.values
            if isinstance(value, str) and re.search(rf"\b{re.escape(humanize(value))}\b", words)
        )
        if named and len(named) < len(column.values):
            said = ", ".join(named)
            yield Condition(
                policy=policy.id,
                kind="value",
                field=column.name,
                allowed=named if only else tuple(value for value in column.values if value not in named),
                evidence=f"says {'only' if only else 'not'} and {said}, which {table.name}.{column.name} can be",
            )


def _flags(policy: ExtractedPolicy, text: str, facts: Mapping[str, Any], *, forbids: bool) -> Iterable[Condition]:
    """Find yes-or-no columns that an act is forbidden for, or allowed for alone."""
    only = _ONLY.search(text) is not None
    if not (only or forbids):
        return
    for name, value in facts.items():
        plain = re.sub(r"^(?:is|has|was)_", "", name)
        if not isinstance(value, bool) or not re.search(rf"(?<![-\w]){re.escape(humanize(plain))}\b", text.lower()):
            continue
        yield Condition(
            policy=policy.id,
            kind="value",
            field=name,
            allowed=(True, 1) if only else (False, 0),
            evidence=f"says {'only' if only else 'not'} and {humanize(plain)}, which {name} tells",
        )


def _limits(
    policy: ExtractedPolicy, text: str, patterns: Iterable[tuple[re.Pattern[str], str]], facts: Mapping[str, Any]
) -> Iterable[Condition]:
    """Find limits whose unit and thing a numeric field is named after; money limits what an amount is named after."""
    words = stems_of(text)
    for pattern, kind in patterns:
        for match in pattern.finditer(text):
            unit = stem(match["unit"].lower())
            for name, value in facts.items():
                own = [stem(word) for word in humanize(name).split() if len(word) > 3 and word != "since"]
                numeric = isinstance(value, int | float) and not isinstance(value, bool)
                counted = unit in own and len(own) > 1 and set(own) <= words
                counts = name.startswith(COUNT) and unit == stem(humanize(name).split()[-1])
                priced = unit in _MONEY and bool(own) and set(own) <= words
                if (numeric or value is None) and (counted or counts or priced):
                    yield Condition(
                        policy=policy.id,
                        kind=kind,  # type: ignore[arg-type]  # one of the two above
                        field=name,
                        limit=_number(match["number"]),
                        evidence=f"says {match[0]!r}, which {name} counts",
                    )


COUNT = "count_of_"
"""Begins the names of facts that count the rows which belong to a row."""


def stems_of(text: str) -> set[str]:
    """Give the stems of a text's words, those of irregular verbs too."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    return {stem(word) for word in words} | {stem(_PAST[word]) for word in words if word in _PAST}


def limits_on(text: str, noun: str) -> list[int]:
    """Give the most of something that a text allows for: `at most 7 days`, `never more than three packs`."""
    counted = {stem(word) for word in humanize(noun).split() if len(word) > 3}
    found = []
    for start, end in sentences(text):
        said = text[start:end]
        forbids = lexicon(language_of(said)).occasions["prohibition"].search(said) is not None
        for pattern in (_WITHIN, *((_BEYOND,) if forbids else ()), _PLAIN):
            for match in pattern.finditer(said):
                limit = _number(match["number"])
                if _OF_STATE.search(said[: match.start()]):
                    continue  # it is about what there is already
                if stem(match["unit"].lower()) in counted and limit == int(limit):
                    found.append(int(limit))
    return list(dict.fromkeys(found))


def _number(text: str) -> float:
    lowered = text.lower()
    return float(_NUMBERS.index(lowered) + 1) if lowered in _NUMBERS else float(text.replace(",", "."))


def _dates(policy: ExtractedPolicy, facts: Mapping[str, Any]) -> Iterable[Condition]:
    """Find two dates of which one must come after the other."""
    dates = [name for name, value in facts.items() if isinstance(value, str) and _DATE.match(value)]
    empty = [name for name, value in facts.items() if value is None and name.endswith(("_on", "_at", "_date"))]
    for match in _AFTER.finditer(policy.text):
        one = _named(match["one"], [*dates, *empty])
        others = (_named(word, [*dates, *empty]) for word in match["other"].split())
        other = next((name for name in others if name), None)
        if one and other and one != other:
            first, second = (one, other) if match["way"].lower() in ("after", "après") else (other, one)
            yield Condition(
                policy=policy.id,
                kind="after",
                field=first,
                other=second,
                evidence=f"says {match[0]!r}: {first} after {second}",
            )


def _named(word: str, names: Iterable[str]) -> str | None:
    return next((name for name in names if stem(word.lower()) in {stem(part) for part in humanize(name).split()}), None)
