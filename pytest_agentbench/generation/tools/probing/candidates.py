"""Values worth trying for an argument: given ones, declared ones, ones that its description names, then by its name."""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from random import Random
from typing import Any

from pytest_agentbench.core import patterns
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import PatternBoundError
from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.graph.names import words
from pytest_agentbench.generation.tools.probing.schemas import Slot

PLACES = (
    (48.8566, 2.3522), (51.5074, -0.1278), (40.7128, -74.006), (35.6762, 139.6503), (-33.8688, 151.2093),
    (52.52, 13.405), (45.764, 4.8357), (-23.5505, -46.6333), (43.2965, 5.3698), (30.0444, 31.2357),
)  # fmt: skip
"""Latitude and longitude of large cities of all continents, two more in one country: services may know one region."""

CITIES = ("Paris", "London", "New York", "Tokyo", "Sydney", "Berlin", "Lyon", "São Paulo", "Marseille", "Cairo")
"""The names of these places, in the same order."""

_BY_WORD: Mapping[str, tuple[Any, ...]] = {
    "latitude": tuple(pair[0] for pair in PLACES),
    "longitude": tuple(pair[1] for pair in PLACES),
    "language": ("en", "fr", "de", "es", "it"),
    "country": ("FR", "US", "GB", "DE"),
    "city": CITIES,
    "place": CITIES,
    "location": CITIES,
    "town": CITIES,
    "address": CITIES,
    "query": ("test", "a", *CITIES, "*"),
    "search": ("test", "a", *CITIES),
    "keyword": ("test", "a", *CITIES[:3]),
    "term": ("test", "a", *CITIES[:3]),
    "email": ("ada@example.org",),
    "phone": ("+15550100",),
    "url": ("https://example.org/",),
    "timezone": ("UTC", "Europe/Paris", "America/New_York"),
    "date": ("2026-03-16", "2025-01-15"),
    "day": ("2026-03-16",),
    "year": ("2026",),
    "time": ("12:00", "2026-03-16T12:00:00"),
    "datetime": ("2026-03-16T12:00:00",),
    "currency": ("EUR", "USD"),
    "color": ("red", "#ff0000"),
    "priority": ("H", "high", "1"),
    "file": ("notes.txt", "data.json"),
    "path": ("notes.txt", ".", "/"),
    "directory": (".", "/"),
    "expression": ("1 + 1",),
    "sql": ("SELECT 1",),
    "cell": ("A1",),
    "range": ("A1:B2",),
    "sheet": ("Sheet1",),
    "pattern": ("*", "**/*", ".*"),
    "branch": ("main", "master"),
    "revision": ("HEAD",),
    "target": ("HEAD", "main"),
    "title": ("Buy milk",),
    "description": ("Buy milk",),
    "text": ("Buy milk",),
    "message": ("Buy milk",),
    "content": ("Buy milk",),
    "note": ("Buy milk",),
    "name": ("alpha", "Ada"),
}
"""Values by a word of the argument's name: the most usual ones of their kind."""

_FORMATS: Mapping[str, tuple[str, ...]] = {
    "date": ("2026-03-16",),
    "date-time": ("2026-03-16T12:00:00Z",),
    "time": ("12:00:00",),
    "email": ("ada@example.org",),
    "uri": ("https://example.org/",),
    "url": ("https://example.org/",),
    "uuid": ("123e4567-e89b-42d3-a456-426614174000",),
    "ipv4": ("127.0.0.1",),
    "hostname": ("example.org",),
}

_CENTS = 2
"""Decimals of a made-up number where what it is like has no more: of money there are no smaller parts."""
_QUOTED = re.compile(r"(?<!\w)(['\"`«])\s?([^'\"`«»\n]{1,60}?)\s?(['\"`»])(?!\w)")
_EXAMPLE = re.compile(
    r"(?:e\.g\.|eg\.|for example|for instance|such as|like|examples?:|ex\.\s?:?|par exemple)\s*[:,]?\s*"
    r"([^\s,;()\"'`]+)",
    re.I,
)
_CODES = re.compile(r"(?:\(|:|one of|among|parmi)\s*((?:[a-z]{2}|[A-Z]{2,3}|\w{1,12})(?:\s*(?:,|/|\||or|ou|and|et)\s*"
                    r"(?:[a-z]{2}|[A-Z]{2,3}|\w{1,12})){1,12})")  # fmt: skip
_SENTENCES = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!eg\.)(?<!ex\.)(?<=[.;\n])\s+", re.I)
_STEM = re.compile(r"[A-Za-z0-9]+(?=(?:\.[A-Za-z]{1,5})?$)")
_SPAN = re.compile(r"(?<![\w.])(-?\d+(?:\.\d+)?)\s*(?:-|–|to|à|\.\.\.?|…)\s*(-?\d+(?:\.\d+)?)(?![\w.])")
_LENGTH = re.compile(
    r"\s*(?:characters?|chars?|letters?|digits?|bytes?|words?|caractères?|lettres?|chiffres?|mots?)\b", re.I
)
"""What a span counts that bounds the length of a text, not its value."""
_NUMBER = re.compile(r"(?<![\w.-])(-?\d+(?:\.\d+)?)(?![\w.])")


def declared(slot: Slot) -> list[Any]:
    """Give the values that the schema itself names: const, default, examples, enum."""
    schema = slot.schema
    found: list[Any] = [schema[key] for key in ("const", "default", "example") if schema.get(key) is not None]
    for key in ("examples", "enum"):
        given = schema.get(key)
        if isinstance(given, list):
            found += [value for value in given if value is not None]
        elif isinstance(given, Mapping):  # OpenAPI: named examples
            found += [value["value"] for value in given.values() if isinstance(value, Mapping) and "value" in value]
    return _distinct(found)


def described(slot: Slot, tool_description: str = "") -> list[Any]:
    """Give the values that the descriptions name, as the argument's type: quoted ones, examples, lists, spans' ends.

    Of the tool's description only sentences count that name the argument.
    """
    sentences = [part for part in _SENTENCES.split(tool_description) if _names(part, slot.name)]
    text = " ".join([slot.described, *sentences])
    found: list[Any] = [match[2] for match in _QUOTED.finditer(text)]
    found += [match[1].rstrip(".:") for match in _EXAMPLE.finditer(text)]
    for match in _CODES.finditer(text):
        found += re.split(r"\s*(?:,|/|\||\bor\b|\bou\b|\band\b|\bet\b)\s*", match[1])
    for match in _SPAN.finditer(text):
        if slot.type in ("integer", "number") or not _LENGTH.match(text, match.end()):
            found += [match[1], match[2]]
    if slot.type in ("integer", "number"):
        found += [match[1] for match in _NUMBER.finditer(text)]
    typed = [_as_type(value, slot) for value in found if value and value != slot.name]
    return _distinct([value for value in typed if value is not None and fits(value, slot)])[:14]


def described_span(slot: Slot) -> tuple[float, float] | None:
    """Give the bounds that a number's description states (`1-15`, `0 to 5`), None where it states none."""
    for match in _SPAN.finditer(slot.described):
        low, high = float(match[1]), float(match[2])
        if low < high:
            return low, high
    return None


def usual(slot: Slot, random: Random) -> list[Any]:
    """Give values by format, by bounds and by the words of the name, then any of the type."""
    schema = slot.schema
    kind = slot.type
    if kind == "boolean":
        return [True, False]
    if kind in ("integer", "number"):
        return _numbers(slot)
    if kind == "object":
        return [{}, {"note": "test"}]
    if kind == "array":
        return _tables(schema) or [["alpha"], []]
    found: list[Any] = list(_FORMATS.get(str(schema.get("format")), ()))
    for word in reversed(words(slot.name)):
        found += [value for value in _BY_WORD.get(word, ()) if kind == "any" or isinstance(value, str)]
    if kind == "string" and {"latitude", "longitude"} & set(words(slot.name)):
        word = "latitude" if "latitude" in words(slot.name) else "longitude"
        found += [str(value) for value in _BY_WORD[word]]
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        found = [value for value in found if _matches(pattern, value)] + from_pattern(pattern)
    found += ["alpha", f"item-{random.randrange(100, 999)}", "1"]
    return _distinct([value for value in found if fits(value, slot)])


def fits(value: Any, slot: Slot) -> bool:
    """Whether a value conforms to what the schema declares: type, enum, bounds, lengths, pattern."""
    schema = slot.schema
    kind = slot.type
    if value is None:
        return slot.nullable
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return value in schema["enum"]
    if kind == "boolean":
        return isinstance(value, bool)
    if kind in ("integer", "number"):
        if not is_number(value) or (kind == "integer" and value != int(value)):
            return False
        low, high = bounds(slot)
        if low is not None and (value < low or (value == low and _excludes(schema, "exclusiveMinimum", low))):
            return False
        return not (
            high is not None and (value > high or (value == high and _excludes(schema, "exclusiveMaximum", high)))
        )
    if kind == "string":
        if not isinstance(value, str):
            return False
        if len(value) < int(schema.get("minLength") or 0) or len(value) > int(schema.get("maxLength") or 10**9):
            return False
        pattern = schema.get("pattern")
        return not isinstance(pattern, str) or _matches(pattern, value)
    if kind == "object":
        return isinstance(value, Mapping)
    return isinstance(value, list) if kind == "array" else True


def bounds(slot: Slot) -> tuple[float | None, float | None]:
    """Give the declared bounds of a number, exclusive ones of either dialect included."""
    schema = slot.schema
    lows = [schema[key] for key in ("minimum", "exclusiveMinimum") if is_number(schema.get(key))]
    highs = [schema[key] for key in ("maximum", "exclusiveMaximum") if is_number(schema.get(key))]
    return (max(lows) if lows else None), (min(highs) if highs else None)


def stranger(value: Any, random: Random) -> Any:
    """Give another value of the same shape: every letter and digit is drawn anew, the rest stays."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return int(f"9{random.randrange(10**5, 10**6)}")
    if isinstance(value, float):
        return round(value + random.uniform(0.5, 5.0), _CENTS if round(value, _CENTS) == value else 4)
    text = str(value)
    is_hex = bool(re.fullmatch(r"[0-9a-f-]{7,}", text))
    drawn = []
    for char in text:
        if char.isdigit():
            drawn.append(random.choice("0123456789abcdef" if is_hex else "0123456789"))
        elif char.isalpha():
            drawn.append(random.choice("abcdef" if is_hex else "bcdfghjkmpqrstvwxz"))
            drawn[-1] = drawn[-1].upper() if char.isupper() else drawn[-1]
        else:
            drawn.append(char)
    made = "".join(drawn)
    return made if made != text else f"{text}x"


def sibling(value: Any, random: Random) -> Any:
    """Give another name like this one, in the same folder and with the same extension; what is no text stays."""
    found = _STEM.search(value) if isinstance(value, str) else None
    if found is None:
        return value
    drawn = "".join(
        random.choice("0123456789") if char.isdigit() else random.choice("bcdfghjkmpqrstvwxz") for char in found[0]
    )
    drawn = f"{drawn[0].upper()}{drawn[1:]}" if found[0][0].isupper() else drawn
    made = f"{value[: found.start()]}{drawn}{value[found.end() :]}"
    return made if made != value else f"{value[: found.start()]}{drawn}x{value[found.end() :]}"


def from_pattern(pattern: str) -> list[str]:
    """Give a text that a simple pattern admits: classes, groups without choice, counts; [] where it is not simple."""
    parser = import_module("re._parser")  # the standard library's own reader of patterns
    try:
        made = "".join(_piece(part) for part in parser.parse(pattern))
    except (re.error, ValueError, TypeError, RecursionError, OverflowError):
        return []
    return [made] if _matches(pattern, made) else []


def _piece(part: tuple[Any, Any]) -> str:
    name, given = str(part[0]), part[1]
    if name == "LITERAL":
        return chr(given)
    if name == "ANY":
        return "a"
    if name == "IN":
        first = given[0]
        return {"RANGE": lambda: chr(first[1][0]), "LITERAL": lambda: chr(first[1])}.get(str(first[0]), lambda: "1")()
    if name in ("MAX_REPEAT", "MIN_REPEAT"):
        low, _, body = given
        return "".join(_piece(inner) for inner in body) * (low or 1)
    if name == "SUBPATTERN":
        return "".join(_piece(inner) for inner in given[-1])
    if name == "BRANCH":
        return "".join(_piece(inner) for inner in given[1][0])
    return ""


def _tables(schema: Mapping[str, Any]) -> list[Any]:
    """Give tables for a list of lists: names of columns above, then rows, in the types that its entries may have."""
    rows = schema.get("items")
    cell = rows.get("items") if isinstance(rows, Mapping) and rows.get("type") == "array" else None
    if not isinstance(cell, Mapping):
        return []
    kinds = set(cell.get("type") or ())
    numbers, texts = bool(kinds & {"integer", "number"}), "string" in kinds or not kinds
    if texts and (numbers or not kinds):
        return [[["name", "city", "amount"], ["alpha", "Paris", 10], ["beta", "Lyon", 20]]]
    if texts:
        return [[["name", "city"], ["alpha", "Paris"], ["beta", "Lyon"]]]
    return [[[1, 2], [3, 4]]] if numbers else []


def _numbers(slot: Slot) -> list[Any]:
    low, high = bounds(slot)
    found: list[Any] = []
    for word in words(slot.name):
        found += [value for value in _BY_WORD.get(word, ()) if is_number(value)]
    found += [1, 2, 3, 10, 0]
    if low is not None:
        found.append(low if not _excludes(slot.schema, "exclusiveMinimum", low) else low + 1)
    if low is not None and high is not None:
        found.append((low + high) / 2)
    whole = slot.type == "integer"
    return _distinct([int(value) if whole else value for value in found if fits(int(value) if whole else value, slot)])


def _as_type(value: str, slot: Slot) -> Any:
    if slot.type == "integer":
        return int(value) if re.fullmatch(r"-?\d{1,15}", value) else None
    if slot.type == "number":
        return float(value) if re.fullmatch(r"-?\d{1,15}(?:\.\d+)?", value) else None
    if slot.type in ("string", "any"):
        return value
    return None


def _names(sentence: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence) is not None


def _excludes(schema: Mapping[str, Any], key: str, bound: float) -> bool:
    given = schema.get(key)
    return given is True or (not isinstance(given, bool) and given == bound)


def _matches(pattern: str, value: str) -> bool:
    try:
        return patterns.pattern(pattern).search(value)
    except (patterns.PatternSyntaxError, PatternBoundError):
        return True


def _distinct(values: Sequence[Any]) -> list[Any]:
    return list({dumps(value): value for value in values}.values())


def numbers_in(text: str) -> Iterator[float]:
    """Give the numbers that a text holds."""
    for match in _NUMBER.finditer(text):
        yield float(match[1])
