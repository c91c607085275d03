"""What a sentence tells of that for which its tool is asked: the amount, the code or the entries of a list.

*Give the balance of an account* is answered when the amount is told that the answer holds; nothing has to be asked for
besides. Told is what is called like something that the tool's description names, or the one amount where that speaks
of money. Dates are left out, since people write them in many ways.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.text import without_accents
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.graph.names import words
from pytest_agentbench.generation.tools.stories.flows import found_at
from pytest_agentbench.generation.tools.stories.labelled import coded

PROSE = "#"
"""What parts the path to a text from the value in it: `#amount.2` is the second amount of the answer."""
_CURRENCY = r"(?:€|\$|£|¥|EUR\b|USD\b|GBP\b|CHF\b|CAD\b|euros?\b|dollars?\b|pounds?\b|francs?\b)"
_NUMBER = r"\d{1,3}(?:[ \u00a0\u202f'.,]\d{3})+(?:[.,]\d{1,2})?|\d+(?:[.,]\d{1,2})?"
_AMOUNT = re.compile(rf"(?<![\w.,-])(?:({_NUMBER})\s?{_CURRENCY}|{_CURRENCY}\s?({_NUMBER}))(?!\d)", re.I)
_MONEY = frozenset({
    "amount", "balance", "betrag", "bill", "charge", "cost", "coste", "costo", "cout", "credit", "debt",
    "devi", "fare", "fee", "frai", "guthaben", "importe", "kontostand", "kosten", "montant", "precio",
    "preco", "prei", "prezzo", "price", "prix", "quote", "rate", "saldo", "solde", "summe", "tarif",
    "tariffa", "total", "totale", "valor",
})  # fmt: skip
"""Nouns that an amount answers, as `names.words` gives them."""
_LIST = re.compile(r"(?:^|(?<=[.;!?\n]))\s*([^:.;!?\n]{3,80}?)\s*:\s+([^:.;!?\n]{3,200}?)(?=[.;!?\n]|$)")
_ENTRY = re.compile(r"[^\W\d_][^\W\d_]+(?:[ '’-][^\W\d_]+){0,4}")
_ENTRIES = re.compile(r"\s*,\s*|\s+(?:et|and|und|y|e|ou|or)\s+")
_LETTERS = 4
"""Letters of words by which something is known to be asked for."""


@dataclass(frozen=True)
class Told:
    """A value of a sentence: what kind it is, which of its kind, what it is called, and how it is said."""

    kind: str
    place: int
    names: frozenset[str]
    text: str


def answers_in(text: str, description: str) -> Iterator[tuple[str, str, str]]:
    """Yield what of an answer in prose a tool with this description is asked for: a name, the path, how it is said."""
    asked = [word for word in words(without_accents(description)) if len(word) >= _LETTERS]
    every = list(_values(text))
    amounts = [one for one in every if one.kind == "amount"]
    money = next((word for word in asked if word in _MONEY), "")
    for one in every:
        name = next((word for word in asked if word in one.names), "")
        if one.kind == "amount":
            name = money if money and (len({plain(two.text) for two in amounts}) == 1 or money in one.names) else ""
        if name:
            yield _as_written(name, description), f"{PROSE}{one.kind}.{one.place}", one.text


def said_at(text: str, place: str) -> str | None:
    """Give what stands at a place of a text that `answers_in` gave, None where nothing does any more."""
    kind, _, number = place.rpartition(".")
    found = [one for one in _values(text) if one.kind == kind]
    return next((one.text for one in found if str(one.place) == number), None)


def prose_at(result: JsonValue, path: str) -> str | None:
    """Give what stands at a place in the prose of a result."""
    base, _, place = path.partition(PROSE)
    found = next(found_at(result, base), None)
    return said_at(found.value, place) if found is not None and isinstance(found.value, str) else None


def _values(text: str) -> Iterator[Told]:
    """Yield amounts, codes and entries of lists, in this order."""
    for place, match in enumerate(_AMOUNT.finditer(text), start=1):
        number = match[1] or match[2]
        if re.search(r"[1-9]", number):
            clause = re.split(r"[.,;:!?]\s|\n", text[: match.start()])[-1]
            yield Told("amount", place, _called(clause), number)
    for place, (name, code, _) in enumerate(coded(text), start=1):
        yield Told("code", place, _called(name), code)
    lists = list(_LIST.finditer(text))
    for match in lists if len(lists) == 1 else ():
        entries = _ENTRIES.split(match[2].strip())
        if all(_ENTRY.fullmatch(entry) for entry in entries):
            for place, entry in enumerate(entries, start=1):
                yield Told("entry", place, _called(match[1]), entry)


def _called(text: str) -> frozenset[str]:
    return frozenset(words(without_accents(text.lower())))


def _as_written(word: str, description: str) -> str:
    """Give a word as the description writes it, with its accents."""
    for match in re.finditer(r"[^\W\d_]+", description.lower()):
        if word in words(without_accents(match[0])):
            return match[0]
    return word
