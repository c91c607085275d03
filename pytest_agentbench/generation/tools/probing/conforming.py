"""Values that a schema declares, and values made to conform to it: type, enum, format, bounds, pattern.

A small generator of our own, simplest values first: a library that draws at random (hypothesis-jsonschema) finds odd
values, where a service is rather asked for the most ordinary ones.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from pytest_agentbench.core import patterns
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import PatternBoundError
from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.graph.names import words
from pytest_agentbench.generation.tools.probing.schemas import Slot

_CENTS = 2
"""Decimals of a made-up number where what it is like has no more: of money there are no smaller parts."""
_MOST_DESCRIBED = 14
_QUOTED = re.compile(r"(?<!\w)(['\"`«])\s?([^'\"`«»\n]{1,60}?)\s?(['\"`»])(?!\w)")
_CODES = re.compile(r"[(\[:]\s*(\w{1,14}(?:\s*(?:,|/|\||(?<= )[a-z]{1,3}(?= ))\s*\w{1,14}){1,12})\s*[)\].;]")
_BETWEEN = re.compile(r"\s*[,/|]\s*|\s+[a-z]{1,3}\s+")
"""Short words one after the other, in brackets or after a colon: `(fr, en, de)`, `kind: a | b.`, `(zone: X or Y)`."""
_CODED = re.compile(r"(?<![\w.-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*(?![\w-])")
"""A word of letters and digits, as codes are that a description gives for example: `W1041`, `AB-12`."""
_DATE_FORM = re.compile(r"\b[A-Z]{4}[-/.][A-Z]{2}[-/.][A-Z]{2}\b")
"""How descriptions write the form of a date: `YYYY-MM-DD`, `AAAA-MM-JJ`."""
_SENTENCES = re.compile(r"(?<=[;\n])\s+|(?<=\.)\s*\n\s*|(?<=\.)[^\S\n]+(?![\sa-z'\"`«])")
"""Ends of sentences. The dot of an abbreviation is none: `its name, e.g. 'Oak'`."""
_STEM = re.compile(r"[A-Za-z0-9]+(?=(?:\.[A-Za-z]{1,5})?$)")
_SPAN = re.compile(r"(?<![\w.-])(-?\d+(?:\.\d+)?)\s*(?:-|–|…|\.\.\.?|[a-zà]{1,3})\s*(-?\d+(?:\.\d+)?)(?![\w.-])")
"""Two numbers with little between them: `1-15`, `0 to 5`, `0 à 5`."""


@cache
def _usual() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "usual_values.toml").read_text(encoding="utf-8"))


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
    """Give the values that the descriptions quote, list in brackets, or bound, as the argument's type.

    Of the tool's description only sentences count that name the argument.
    """
    is_named = re.compile(rf"(?<!\w){re.escape(slot.name)}(?!\w)")
    text = " ".join([slot.described, *(part for part in _SENTENCES.split(tool_description) if is_named.search(part))])
    found: list[str] = [match[2] for match in _QUOTED.finditer(text)]
    for match in _CODES.finditer(text):
        found += _BETWEEN.split(match[1])
    found += _CODED.findall(text)
    if slot.type in ("integer", "number"):
        found += [end for match in _SPAN.finditer(text) for end in match.groups()]
    typed = [_as_type(value, slot) for value in found if value and value != slot.name]
    return _distinct([value for value in typed if value is not None and fits(value, slot)])[:_MOST_DESCRIBED]


def takes_dates(slot: Slot, tool_description: str = "") -> bool:
    """Whether an argument's format, or a form such as `YYYY-MM-DD` in what is told of it, says that it is a date."""
    if str(slot.schema.get("format", "")).startswith("date") or _DATE_FORM.search(slot.described):
        return True
    return slot.type == "string" and not slot.described and _DATE_FORM.search(tool_description) is not None


def described_span(slot: Slot) -> tuple[float, float] | None:
    """Give the bounds that a number's description states (`1-15`, `0 to 5`), None where it states none."""
    for match in _SPAN.finditer(slot.described):
        low, high = float(match[1]), float(match[2])
        if low < high:
            return low, high
    return None


def usual(slot: Slot) -> list[Any]:
    """Give the most usual values, by format and by a word of the name."""
    table = _usual()
    found: list[Any] = list(table["format"].get(str(slot.schema.get("format")), ()))
    for word in reversed(words(slot.name)):
        for value in table.get(word, ()) if word != "format" else ():
            is_text = isinstance(value, str)
            if slot.type == "string" and not is_text:
                found.append(str(value))
            elif slot.type in ("string", "any") or (slot.type == "number" and not is_text):
                found.append(value)
    return _distinct([value for value in found if fits(value, slot)])


def conforming(slot: Slot, random: Random) -> list[Any]:
    """Give any values of the declared type, the plainest first."""
    kind = slot.type
    if kind == "boolean":
        return [True, False]
    if kind in ("integer", "number"):
        return _numbers(slot)
    if kind == "object":
        return [{}, {"note": "test"}]
    if kind == "array":
        return [["alpha"], []]
    pattern = slot.schema.get("pattern")
    made = from_pattern(pattern) if isinstance(pattern, str) else []
    found = [*made, "alpha", f"item-{random.randrange(100, 999)}", "1"]
    low = int(slot.schema.get("minLength") or 0)
    return _distinct([value for value in (*found, "alpha".ljust(low, "a")[:low]) if value and fits(value, slot)])


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
    """Give a text that a simple pattern admits: classes, groups, first choices, counts; [] where it is not simple."""
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


def _numbers(slot: Slot) -> list[Any]:
    low, high = bounds(slot)
    found: list[Any] = [1, 2, 3, 10, 0]
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
    return value if slot.type in ("string", "any") else None


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


def distinct_fitting(values: Iterator[Any], slot: Slot, hints: Sequence[Any] = ()) -> list[Any]:
    """Give values once each, those alone that conform to the schema; hints of the user stay whatever it says."""
    return _distinct([value for value in values if value in hints or fits(value, slot)])
