"""Values that a schema declares, and values made to conform to it: type, enum, format, bounds, pattern.

A small generator of our own, simplest values first: a library that draws at random (hypothesis-jsonschema) finds odd
values, where a service is rather asked for the most ordinary ones.
"""

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from pytest_agentbench.core import patterns
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import PatternBoundError
from pytest_agentbench.core.json_values import is_number
from pytest_agentbench.generation.tools.graph.name_match import words
from pytest_agentbench.generation.tools.probing.schemas import Slot

_CENTS = 2
"""Decimals of a made-up number where what it is like has no more: of money there are no smaller parts."""
_MOST_DESCRIBED = 14
_QUOTED = re.compile(r"(?<!\w)(['\"`«])\s?([^'\"`«»\n]{1,60}?)\s?(['\"`»])(?!\w)")
_CODES = re.compile(r"[(\[:]\s*(\w{1,14}(?:\s*(?:,|/|\||(?<= )[a-z]{1,3}(?= ))\s*\w{1,14}){1,12})\s*[)\].;]")
_BETWEEN = re.compile(r"\s*[,/|]\s*|\s+[a-z]{1,3}\s+")
"""Short words one after the other, in brackets or after a colon: `(fr, en, de)`, `kind: a | b.`, `(zone: X or Y)`."""
_CODED = re.compile(r"(?<![\w./-])(?=[\w/-]*\d)(?=[\w/-]*[A-Za-z])[A-Za-z0-9]+(?:[-_/][A-Za-z0-9]+)*(?![\w/-])")
"""A word of letters and digits, as codes are that a description gives for example: `W1041`, `AB-12`, `HC/7719`."""
_REACHED = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w.-])\+?\d{2,}(?: \d{2,})+(?![\w-])")
"""An e-mail address, or a number in groups, as of a telephone: `ada@roy.example`, `0421 555 0117`."""
_EXAMPLE = re.compile(r"(?<![\w.])(?:[^\W\d]{1,2}\.\s?){2}[:,]?\s*(\w[^;()\[\]\n]{0,80}?)(?=[;()\[\]\n]|\.(?:\s|$)|$)")
"""What follows an abbreviation of one or two letters each, in which examples are announced: `e.g. Ada Roy or Ben Low`,
`z. B. Köln`, `p. ex. Lyon`."""
_NAMES = re.compile(r"(?<=[\w,:(] )[A-ZÀ-Þ][\w'’-]*(?: (?:[a-z]{1,3} )?[A-ZÀ-Þ][\w'’-]*){0,3}")
"""Words with a capital that do not begin a sentence, as proper names are: `such as Ada Roy`."""
_SENTENCES = re.compile(r"(?<=[;\n])\s+|(?<=\.)\s*\n\s*|(?<=\.)[^\S\n]+(?![\sa-z'\"`«])")
"""Ends of sentences. The dot of an abbreviation is none: `its name, e.g. 'Oak'`."""
_STEM = re.compile(r"[A-Za-z0-9]+(?=(?:\.[A-Za-z]{1,5})?$)")
_SPAN = re.compile(r"(?<![\w.-])(-?\d+(?:\.\d+)?)\s*(?:-|–|…|\.\.\.?|[a-zà]{1,3})\s*(-?\d+(?:\.\d+)?)(?![\w.-])")
"""Two numbers with little between them: `1-15`, `0 to 5`, `0 à 5`."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_DAYS = (21, 45, -21)
"""How far from the clock days lie that are tried, an end after its beginning, and those of what has happened last."""
_ABOVE = 1e-6
"""How far above an exclusive bound the first number lies, where it need not be a whole one."""


@cache
def _usual() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "usual_values.toml").read_text(encoding="utf-8"))


def declared(slot: Slot) -> list[Any]:
    """Give the values that the schema itself names: const, default, examples, enum."""
    found: list[Any] = [slot.schema.get(key) for key in ("const", "default", "example")]
    for key in ("examples", "enum"):
        named = slot.schema.get(key)
        if isinstance(named, Mapping):  # OpenAPI: named examples
            named = [value.get("value") for value in named.values() if isinstance(value, Mapping)]
        found += named if isinstance(named, list) else []
    return distinct(value for value in found if value is not None)


def described(slot: Slot, tool_description: str = "") -> list[Any]:
    """Give the values that descriptions quote, list in brackets, name for example, or bound, as the argument's type.

    Of the tool's description only sentences count that name the argument.
    """
    is_named = re.compile(rf"(?<!\w){re.escape(slot.name)}(?!\w)")
    text = " ".join([slot.described, *(part for part in _SENTENCES.split(tool_description) if is_named.search(part))])
    found = [match[2] for match in _QUOTED.finditer(text)]
    found += [one for match in _CODES.finditer(text) for one in _BETWEEN.split(match[1])]
    found += [*_CODED.findall(text), *_REACHED.findall(text)]
    if slot.type == "string":
        found += [one for match in _EXAMPLE.finditer(slot.described) for one in _BETWEEN.split(match[1].strip())]
        found += _NAMES.findall(slot.described)
    if slot.type in ("integer", "number"):
        found += [end for match in _SPAN.finditer(text) for end in match.groups()]
    typed = (_as_type(value, slot) for value in found if value and value != slot.name)
    return distinct(value for value in typed if value is not None and fits(value, slot))[:_MOST_DESCRIBED]


def described_span(slot: Slot) -> tuple[float, float] | None:
    """Give the bounds that a number's description states (`1-15`, `0 to 5`), None where it states none."""
    spans = ((float(match[1]), float(match[2])) for match in _SPAN.finditer(slot.described))
    return next((span for span in spans if span[0] < span[1]), None)


def top_of(slot: Slot) -> float | None:
    """Give the largest number that is declared, or described."""
    span = described_span(slot)
    high = bounds(slot)[1]
    return high if high is not None else span[1] if span else None


def usual(slot: Slot, now: datetime | None = None) -> list[Any]:
    """Give the most usual values, by format and by a word of the name; days lie around the clock, where one is known:
    what is booked is booked ahead.
    """
    table = _usual()
    found: list[Any] = list(table["format"].get(str(slot.schema.get("format")), ()))
    for word in reversed(words(slot.name)):
        found += table.get(word, ()) if word != "format" else ()
    as_text = [str(value) if slot.type == "string" else value for value in found]
    around = [value for one in as_text for value in (_around(one, now) if now and isinstance(one, str) else [one])]
    return distinct(value for value in around if fits(value, slot))


def _around(value: str, now: datetime) -> list[str]:
    """Give days after and before a moment in the place of one that a text begins with."""
    if not _DAY.match(value):
        return [value]
    return [f"{(now + timedelta(days=days)).date()}{value[10:]}" for days in _DAYS]


def conforming(slot: Slot, random: Random) -> list[Any]:
    """Give any values of the declared type, the plainest first."""
    kind = slot.type
    simple: dict[str, list[Any]] = {
        "boolean": [True, False], "object": [{}, {"note": "test"}], "array": [["alpha"], []],
    }  # fmt: skip
    if kind in simple:
        return simple[kind]
    if kind in ("integer", "number"):
        low, high = bounds(slot)
        ends = [low, (low + high) / 2 if low is not None and high is not None else None]
        numbers: list[float] = [1, 2, 3, 10, 0, *(end for end in ends if end is not None)]
        typed = [int(value) if kind == "integer" else value for value in numbers]
        return distinct(value for value in typed if fits(value, slot))
    pattern = slot.schema.get("pattern")
    low = int(slot.schema.get("minLength") or 0)
    found = [*(from_pattern(pattern) if isinstance(pattern, str) else []), "alpha"]
    found += [f"item-{random.randrange(100, 999)}", "1", "alpha".ljust(low, "a")[:low]]
    return distinct(value for value in found if value and fits(value, slot))


def fits(value: Any, slot: Slot) -> bool:
    """Whether a value conforms to what the schema declares: type, enum, bounds, lengths, pattern."""
    schema, kind = slot.schema, slot.type
    if value is None:
        return slot.nullable
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return value in schema["enum"]
    if kind in ("integer", "number"):
        low, high = bounds(slot)
        is_typed = is_number(value) and (kind == "number" or value == int(value))
        return is_typed and (low is None or value >= low) and (high is None or value <= high)
    if kind == "string":
        pattern = schema.get("pattern")
        shortest, longest = int(schema.get("minLength") or 0), int(schema.get("maxLength") or 10**9)
        is_typed = isinstance(value, str) and shortest <= len(value) <= longest
        return is_typed and (not isinstance(pattern, str) or _matches(pattern, value))
    types: dict[str, type] = {"boolean": bool, "object": Mapping, "array": list}
    return isinstance(value, types.get(kind, object))


def bounds(slot: Slot) -> tuple[float | None, float | None]:
    """Give the least and the largest number that is declared, exclusive bounds of either dialect included."""
    is_whole = slot.type == "integer"

    def above(number: float) -> float:
        return math.floor(number) + 1 if is_whole else number + _ABOVE

    def below(number: float) -> float:
        return math.ceil(number) - 1 if is_whole else number - _ABOVE

    def bound(key: str, exclusive: str, inside: Callable[[float], float]) -> list[float]:
        plain, beyond = slot.schema.get(key), slot.schema.get(exclusive)
        found = [inside(plain) if beyond is True else plain] if is_number(plain) else []
        return [*found, inside(beyond)] if is_number(beyond) else found

    lows, highs = bound("minimum", "exclusiveMinimum", above), bound("maximum", "exclusiveMaximum", below)
    return max(lows, default=None), min(highs, default=None)


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
    digits, letters = ("0123456789abcdef", "abcdef") if is_hex else ("0123456789", "bcdfghjkmpqrstvwxz")
    made = "".join(_drawn(char, digits, letters, random) for char in text)
    return made if made != text else f"{text}x"


def sibling(value: Any, random: Random) -> Any:
    """Give another name like this one, in the same folder and with the same extension; what is no text stays."""
    found = _STEM.search(value) if isinstance(value, str) else None
    if found is None:
        return value
    stem = "".join(_drawn(char.lower(), "0123456789", "bcdfghjkmpqrstvwxz", random) for char in found[0])
    stem = f"{stem[0].upper()}{stem[1:]}" if found[0][0].isupper() else stem
    stem = f"{stem}x" if stem == found[0] else stem
    return f"{value[: found.start()]}{stem}{value[found.end() :]}"


def _drawn(char: str, digits: str, letters: str, random: Random) -> str:
    if char.isdigit():
        return random.choice(digits)
    if not char.isalpha():
        return char
    drawn = random.choice(letters)
    return drawn.upper() if char.isupper() else drawn


def from_pattern(pattern: str) -> list[str]:
    """Give a text that a simple pattern admits: classes, groups, first choices, counts; [] where it is not simple."""
    parser = import_module("re._parser")  # the standard library's own reader of patterns
    try:
        made = _admitted(parser.parse(pattern))
    except (re.error, ValueError, TypeError, RecursionError, OverflowError):
        return []
    return [made] if _matches(pattern, made) else []


def _admitted(parts: Iterable[tuple[Any, Any]]) -> str:
    made = ""
    for name, part in parts:
        match str(name), part:
            case "LITERAL", code:
                made += chr(code)
            case "ANY", _:
                made += "a"
            case "IN", [(first, code), *_]:
                made += {"RANGE": lambda c=code: chr(c[0]), "LITERAL": lambda c=code: chr(c)}.get(
                    str(first), lambda: "1"
                )()
            case "MAX_REPEAT" | "MIN_REPEAT", (low, _, body):
                made += _admitted(body) * (low or 1)
            case "SUBPATTERN", (*_, body):
                made += _admitted(body)
            case "BRANCH", (_, [body, *_]):
                made += _admitted(body)
    return made


def _as_type(value: str, slot: Slot) -> Any:
    if slot.type in ("integer", "number"):
        digits = re.fullmatch(r"-?\d{1,15}" + (r"(?:\.\d+)?" if slot.type == "number" else ""), value)
        return (int(value) if slot.type == "integer" else float(value)) if digits else None
    return value if slot.type in ("string", "any") else None


def _matches(pattern: str, value: str) -> bool:
    try:
        return patterns.pattern(pattern).search(value)
    except (patterns.PatternSyntaxError, PatternBoundError):
        return True


def distinct(values: Iterable[Any]) -> list[Any]:
    """Give values once each, as JSON writes them: `1` and `1.0` are two."""
    return list({dumps(value): value for value in values}.values())
