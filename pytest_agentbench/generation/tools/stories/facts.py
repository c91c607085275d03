"""Which value of a result a user asks to be told: one that has a name, is short, and can only be said in one way."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.values import JsonValue, is_number
from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation.tools.probing.reading import inner
from pytest_agentbench.generation.tools.probing.schemas import plain as plain_schema
from pytest_agentbench.generation.tools.stories.flows import found_at
from pytest_agentbench.generation.tools.stories.prose_facts import PROSE, answers_in, prose_at
from pytest_agentbench.generation.tools.stories.tracing import places_in
from pytest_agentbench.generation.tools.values import Card
from pytest_agentbench.generation.tools.wording.phrasing import contracted, language_of, name_of, with_article
from pytest_agentbench.generation.tools.wording.tongue import Tongue

_DEEP = 2
"""Objects within a result that are looked into: what lies deeper has no short name."""
_TEXT = re.compile(r"[^\W_][\w .'’@&/-]{1,38}[^\W_]")
_DATED = re.compile(r"\d{4}-\d{2}|\d{1,2}:\d{2}|T\d{2}")
_WRAPPERS = frozenset(("data", "result", "results", "response", "body", "payload", "item", "object", "attributes"))
"""What answers are put into that is no thing of its own."""
_PARTICIPLE = re.compile(r"[a-z]{2,}[^e\W]ed")
"""Keys that say what was done (`cancelled`) and not what their value is."""
_LEAST = 10
"""Smaller numbers are often written as words."""
_DECIMALS = 2
"""Decimals beyond which people round."""


@dataclass(frozen=True)
class Fact:
    """A value that can be asked for: its name in words, where it stands in the result, and how it is said.

    `answers` says that the request itself asks for it, as *the balance* does that a sentence tells.
    """

    name: str
    path: str
    text: str
    answers: bool = False


def facts_of(
    result: JsonValue, card: Card, tongue: Tongue, said: str, *, returns: Mapping[str, JsonValue] | None = None
) -> Iterator[Fact]:
    """Yield what a user may ask to be told about a result; `said` is what it has said itself, which asks for nothing.

    A value is named as the declared result `returns` describes it, else by the words of its key where they are words
    and not short for some. Descriptions in another language than the user's name nothing.
    """
    known = plain(said)
    described = f"{card.declared_description} {' '.join(_descriptions(returns))}"
    if language_of([described]) != tongue.code:
        return
    text = inner(result)
    if isinstance(text, str):
        for name, path, told in () if card.writes is not False else answers_in(text, card.declared_description):
            if plain(told) not in known:
                yield Fact(name, path, told, answers=True)
        return
    spelt = {plain(word): word for word in re.findall(r"[^\W\d_]+", f"{_texts(result)} {described}".lower())}
    listed = set(spelt)
    found = [(path, value, _named(path, returns, tongue)) for path, value in _scalars(inner(result), "", 0)]
    names = Counter(name for _, _, (name, _) in found)
    for path, value, (name, is_described) in found:
        text = spoken_form(value)
        if text is None or names[name] > 1 or not (is_described or _is_a_name(name, listed)):
            continue
        if not is_described and _PARTICIPLE.fullmatch(name):
            continue
        if tongue.code != "en" and not is_described and not all(word in listed for word in plain(name).split()):
            continue
        if plain(text) not in known and plain(name) != plain(text):
            whole = " ".join(spelt.get(plain(word), word) for word in name.split())
            yield Fact(name if is_described else _asked_for(whole, value, tongue), path, text)


def _asked_for(name: str, value: JsonValue, tongue: Tongue) -> str:
    """Ask for the number of a contract where the contract is told as a code, and for the number of days."""
    if is_number(value) and re.search(r"[a-z][a-rt-z]s$", name) and float(value).is_integer():
        return contracted(tongue.number_of.format(what=name), tongue)
    is_code = isinstance(value, str) and re.fullmatch(r"[A-Z]{1,5}[-/]?\d[\w/-]*|\d{5,}", value) is not None
    if not is_code or tongue.identifying & set(name.split()):
        return name
    what, of, above = name.partition(" of ")
    if tongue.code == "en":
        return f"{tongue.code_of.format(what=what)}{of}{above}"
    return contracted(tongue.code_of.format(what=with_article(name, tongue)), tongue)


def _named(path: str, returns: Mapping[str, JsonValue] | None, tongue: Tongue) -> tuple[str, bool]:
    """Name a value, and tell whether a description did."""
    root = returns or {}
    schema = plain_schema(root, root)
    for part in path.split("."):
        properties = schema.get("properties")
        schema = plain_schema(properties.get(part), root) if isinstance(properties, Mapping) else {}
    text = schema.get("description")
    if isinstance(text, str) and text.strip():
        key = humanize(path.rsplit(".", 1)[-1])
        name = name_of(path, text, tongue)
        if name != key and name != tongue.abbreviations.get(key, key):
            return name, True
    above, _, key = path.rpartition(".")
    holder = above.rpartition(".")[2]
    if holder and not holder.isdigit() and holder.lower() not in tongue.questions | _WRAPPERS:
        return tongue.of_thing.format(what=humanize(key), thing=humanize(above.rpartition(".")[2])), False
    return humanize(key), False


def _descriptions(schema: JsonValue, depth: int = 0) -> Iterator[str]:
    if isinstance(schema, Mapping) and depth < 8:
        if isinstance(schema.get("description"), str):
            yield str(schema["description"])
        for part in schema.values():
            yield from _descriptions(part, depth + 1)


def _texts(result: JsonValue) -> str:
    return " ".join(value for _, value in places_in(result) if isinstance(value, str))[:20_000]


def spoken_form(value: JsonValue) -> str | None:
    """Give a value as any agent would write it; None where agents differ (dates, codes with `_`, long decimals)."""
    if is_number(value):
        text = f"{value:.10f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
        return text if abs(value) >= _LEAST and len(text.partition(".")[2]) <= _DECIMALS and value > 0 else None
    if not isinstance(value, str) or "_" in value or _DATED.search(value) or not _TEXT.fullmatch(value):
        return None
    return value


def said_at(result: JsonValue, path: str) -> str | None:
    """Give how what stands at a fact's path is said; None where nothing stands there, or agents differ."""
    if PROSE in path:
        return prose_at(result, path)
    found = next(found_at(result, path), None)
    return None if found is None else spoken_form(found.value)


def _scalars(value: JsonValue, path: str, depth: int) -> Iterator[tuple[str, JsonValue]]:
    if not isinstance(value, Mapping) or depth > _DEEP:
        return
    for key, item in value.items():
        where = f"{path}.{key}" if path else str(key)
        if isinstance(item, Mapping):
            yield from _scalars(item, where, depth + 1)
        elif not isinstance(item, list):
            yield where, item


def _is_a_name(name: str, listed: set[str]) -> bool:
    """Whether a key reads as words: `due date`, `status`; not `id2`, `x`, `err` or `alti` where `altitude` is known."""
    parts = name.split()
    return 1 <= len(parts) <= 5 and all(
        part.isalpha() and (len(part) > 3 or part in _SHORT) and not _is_cut(plain(part), listed) for part in parts
    )


def _is_cut(part: str, listed: set[str]) -> bool:
    """Whether a word is the beginning of a longer one and stands nowhere itself."""
    return part not in listed and any(
        word.startswith(part) and word[len(part) :] not in ("s", "es", "d", "ed", "ing") for word in listed
    )


_SHORT = frozenset(
    [
        "of",
        "the",
        "de",
        "name",
        "city",
        "type",
        "town",
        "zip",
        "age",
        "fee",
        "nom",
        "prix",
        "lieu",
        "ville",
        "due",
        "for",
    ]
)
