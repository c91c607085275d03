"""What stands in a result: JSON, JSON inside strings, Python literals, prose; each value with the place to find it."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from pytest_agentbench.core import patterns
from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.probing.labelled import coded

LONGEST = 300_000
"""Characters of a result that are read; the rest of a huge one holds more of the same."""

_DEEP = 12
_ENTRIES = 25
"""Entries of a list that are read: the others look like these."""
KEYS = "~"
"""The last step of a path to the keys of an object that holds things by their names: `{"a.txt": 12, "b.txt": 7}`."""
_PROSE = 60
"""Characters up to which a text on one line is also a value as a whole."""

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"

# (name of the value, pattern with one group); a general form that extracts the value from other results too
_FORMS: tuple[tuple[str, str], ...] = (
    ("uuid", rf"({_UUID})"),
    ("hash", r"(?<![\w-])(?<!\.\.)((?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,64})(?![\w-]|\.\.)"),
    ("url", r"(https?://[^\s\"'<>)\]]+)"),
    ("email", r"([\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})"),
    ("path", r"(?<![\w./:])(/(?:[\w.@+-]+/)*[\w.@+-]*[\w@+-])"),
    ("file", r"(?<![\w/.-])((?:[\w@+-]+/)*[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,4})(?![\w/])"),
    ("date", r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)"),
    ("code", r"(?<![\w-])([A-Z]{1,6}-?\d{1,12})(?![\w-])"),
)
_NUMBERED = (
    ("id", r"(?m)(?:^|(?<=[\s(\[]))#(\d{1,12})(?!\w)"),
    ("id", r"(?m)^[ \t>*#-]*\[(\d{1,12})\](?=[ \t])"),
)
"""How lists number their things: `#12`, and `[12]` where a line begins."""
_FIELD = re.compile(r"[A-Za-z_$@-]*|[a-z][A-Za-z]*\d{0,2}|[a-z]+(_[a-z0-9]+)*")
"""What fields of objects are called; names of things have blanks, points or numbers in them."""
_ROW = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$")
_RULE = re.compile(r"[ \t|:-]+")
_PAIR = re.compile(r"(?<![\d.])(-?\d{1,3}\.\d{1,10})\s*[,;/]\s*(-?\d{1,3}\.\d{1,10})(?![\d.])")
_LATITUDE = r"(?<![\d.])(-?\d{1,2}\.\d{1,10})\s*[,;/]\s*-?\d{1,3}\.\d{1,10}(?![\d.])"
_LONGITUDE = r"(?<![\d.])-?\d{1,2}\.\d{1,10}\s*[,;/]\s*(-?\d{1,3}\.\d{1,10})(?![\d.])"
_COUNTED = re.compile(
    r"(?<![\w-])([A-Za-z][A-Za-z_]{1,30})(?: id| no\.?| number)?\s*(?:[:=#]\s*)?#?(\d{1,12})(?!\w|[.,-]\d)", re.I
)
_HEADING = r"^#{{1,6}}[ \t](?:[^\n]{{0,80}}[^\w\n])?{word}[^\w\n]{{0,9}}\n(?:[ \t]*\n)*"
_TALLY = r"[ \t]*[*+-][ \t]+([^:\n]{1,60}):[ \t]*\d+[ \t]*$"
_TALLIED = re.compile(_HEADING.format(word="([A-Za-z]{1,40}s)") + _TALLY, re.M)
"""Names with how many there are of each, below a heading that says what they are."""
_TALLIES = 4
"""Such lines that are read below one heading."""
_QUOTED = re.compile(r"(?<!\w)(['\"`])([^'\"`\n]{1,100}?)\1(?!\w)")
_KEYED = re.compile(
    r"(?:^[ \t>*-]*|\|[ \t]*\**)([A-Za-z][A-Za-z _-]{0,30}?)\**[ \t]*[:=]\**[ \t]*([^\s*][^|\n]{0,120}?)[ \t]*(?=\||$)",
    re.M,
)
_LISTED = re.compile(r"^[ \t]*(?:[*+-][ \t]+)?(?:\[[A-Za-z]+\][ \t]*)?((?=\S*\w)[^\s:\[\]{}]{1,100})[ \t]*$", re.M)
_ANY_QUOTED = r"['\"`]([^'\"`\n]{1,100}?)['\"`]"
LISTED = f"(?m){_LISTED.pattern}"
QUOTED_AFTER = r"(?i)\b{word}[ :=]+['\"`]([^'\"`\n]{{1,100}}?)['\"`]"
COUNTED_AFTER = r"(?i)(?<![\w-]){word}(?: id| no\.?| number)?\s*[:=#]?\s*#?(\d{{1,12}})(?!\w|[.,-]\d)"
KEYED_AFTER = r"(?mi)(?:^[ \t>*-]*|\|[ \t]*\**){word}\**[ \t]*[:=]\**[ \t]*([^\s*][^|\n]{{0,120}}?)[ \t]*(?=\||$)"
BOLD = r"(?m)^[ \t]*(?:[*+-]|\d{1,3}\.)[ \t]+\*\*([^*\n]{1,60})\*\*"


@dataclass(frozen=True)
class Atom:
    """One scalar of a result: its value, the dotted path to it, the pattern within a text, and what it is called.

    `names` are what stands on the way to it, the nearest last.
    """

    value: Any
    path: str
    pattern: str = ""
    names: tuple[str, ...] = ()


def is_quoted(atom: Atom) -> bool:
    """Whether a value stood in quotes."""
    return atom.pattern == _ANY_QUOTED or atom.pattern.endswith(_ANY_QUOTED)


def parsed(content: str) -> Any:
    """Give the JSON (or Python literal) that a result is, else the text itself; a huge one is cut off first."""
    text = content.strip()
    if text[:1] not in '{["tfn-0123456789(' or not text:
        return content[:LONGEST]
    if len(text) <= 20 * LONGEST:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    if text[:1] in "{[(" and len(text) <= LONGEST:
        try:
            literal = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return content[:LONGEST]
        return list(literal) if isinstance(literal, tuple) else literal
    return content[:LONGEST]


def atoms(content: str) -> list[Atom]:
    """Give every scalar of a result, those inside JSON strings and prose included, each place and value once."""
    seen: dict[tuple[str, str, str], Atom] = {}
    for atom in _within(parsed(content), "", (), 0):
        seen.setdefault((atom.path, atom.pattern, repr(atom.value)), atom)
    return list(seen.values())


def at(content: str, path: str, pattern: str = "") -> list[Any]:
    """Give the values at a place of a result, in order; numbers found in prose are numbers as well as texts there."""
    found = list(_at(parsed(content), path.split(".") if path else []))
    if not pattern:
        return [value for value in found if not isinstance(value, dict | list)]
    expression = patterns.pattern(pattern)
    texts = [value for value in found if isinstance(value, str)]
    return [one for text in texts for one in expression.found(text[:LONGEST])]


def inner(value: Any) -> Any:
    """Give the JSON that a string holds, else the value itself."""
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        read = parsed(value)
        return read if isinstance(read, dict | list) else value
    return value


def _at(value: Any, path: list[str]) -> Iterator[Any]:
    if not path:
        yield value
        return
    value = inner(value)
    if path[0] == "*" and isinstance(value, list):
        for entry in value:
            yield from _at(entry, path[1:])
    elif path == [KEYS] and isinstance(value, dict):
        yield from _things(value)
    elif isinstance(value, dict):
        if path[0] in value:
            yield from _at(value[path[0]], path[1:])
        elif path[0] == "*":
            for entry in value.values():
                yield from _at(entry, path[1:])


def _things(value: dict[Any, Any]) -> list[str]:
    """Give the keys of an object that holds things by their names: none is one of a field, and all hold the like."""
    keys = [key for key in value if isinstance(key, str)]
    alike = len({type(entry) for entry in value.values()}) == 1
    return keys if alike and keys and not any(_FIELD.fullmatch(key) for key in keys) else []


def _within(value: Any, path: str, names: tuple[str, ...], depth: int) -> Iterator[Atom]:
    if depth > _DEEP:
        return
    value = inner(value)
    if isinstance(value, dict):
        for key in _things(value)[:_ENTRIES]:
            yield Atom(key, f"{path}.{KEYS}" if path else KEYS, "", names)
        for key, entry in list(value.items())[:200]:
            name = str(key)
            step = f"{path}.{name}" if path else name
            if "." in name or not name:
                continue  # no path leads there
            yield from _within(entry, step, (*names, name), depth + 1)
    elif isinstance(value, list):
        for entry in value[:_ENTRIES]:
            yield from _within(entry, f"{path}.*" if path else "*", names, depth + 1)
    elif isinstance(value, str):
        yield from _in_text(value, path, names)
    elif value is not None and (isinstance(value, bool) or is_number(value)):
        yield Atom(value, path, "", names)


def _in_text(text: str, path: str, names: tuple[str, ...]) -> Iterator[Atom]:
    stripped = text.strip()
    if not stripped:
        return
    if len(stripped) <= _PROSE and "\n" not in stripped and (path or " " not in stripped):
        yield Atom(text, path, "", names)
        if " " not in stripped:
            return
    text = text[:LONGEST]
    called = list(coded(text))
    told = {value for _, value, _ in called}
    found = chain(
        called,
        (one for one in _formed(text) if one[1] not in told),
        _paired(text),
        _counted(text),
        _quoted(text),
        _keyed(text),
        _numbered(text),
        _cells(text),
        _tallied(text),
    )
    for name, value, pattern in found:
        yield Atom(value, path, pattern, (*names, name))
    for match in islice(re.finditer(BOLD, text), _ENTRIES):
        yield Atom(match[1], path, BOLD, names)
    if "\n" in stripped or not path:
        for match in list(_LISTED.finditer(text))[:_ENTRIES]:
            yield Atom(match[1], path, LISTED, names)


Found = tuple[str, Any, str]
"""What a value in prose is called, the value, and the pattern that finds it."""


def _formed(text: str) -> Iterator[Found]:
    for name, form in _FORMS:
        for match in islice(re.finditer(form, text), _ENTRIES):
            yield name, match[1], form


def _numbered(text: str) -> Iterator[Found]:
    for name, form in _NUMBERED:
        for match in islice(re.finditer(form, text), _ENTRIES):
            yield name, int(match[1]), form


def _cells(text: str) -> Iterator[Found]:
    """Give the cells of tables as Markdown writes them, under the names of their columns."""
    lines = text.splitlines()
    for place, line in enumerate(lines[:-1]):
        head = _ROW.match(line)
        if head is None or "|" not in lines[place + 1] or not _RULE.fullmatch(lines[place + 1]):
            continue
        names = [name.strip() for name in head[1].split("|")]
        first = re.escape(names[0])
        for column, name in enumerate(names):
            form = (
                rf"(?m)^[ \t]*\|(?![ \t]*(?::?-|{first}[ \t]*\|))"
                rf"(?:[^|\n]*\|){{{column}}}[ \t]*([^|\n]*?)[ \t]*\|"
            )
            for match in islice(re.finditer(form, text), _ENTRIES):
                if name and match[1] not in ("", "-"):
                    value = int(match[1]) if re.fullmatch(r"\d{1,15}", match[1]) else match[1]
                    yield name.lower().replace(" ", "_"), value, form


def _tallied(text: str) -> Iterator[Found]:
    """Give the names of things in lists that count them: `- alpha: 3` below `## Projects`."""
    for heading in islice(_TALLIED.finditer(text), _ENTRIES):
        for place in range(_TALLIES):
            above = rf"(?m){_HEADING.format(word=re.escape(heading[1]))}(?:[ \t]*[*+-][^\n]*\n)"
            form = f"{above}{{{place}}}{_TALLY}"
            match = re.search(form, text)
            if match is None:
                break
            yield heading[1].lower(), match[1].strip(), form


def _paired(text: str) -> Iterator[Found]:
    for match in islice(_PAIR.finditer(text), _ENTRIES):
        yield "latitude", float(match[1]), _LATITUDE
        yield "longitude", float(match[2]), _LONGITUDE


def _counted(text: str) -> Iterator[Found]:
    for match in islice(_COUNTED.finditer(text), _ENTRIES):
        if match[1].isupper() and match.end(1) == match.start(2):
            continue  # `CE1` is a code, no number of a thing
        word = match[1].lower()
        yield word, int(match[2]), COUNTED_AFTER.format(word=re.escape(word))


def _quoted(text: str) -> Iterator[Found]:
    for match in islice(_QUOTED.finditer(text), _ENTRIES):
        before = re.search(r"([A-Za-z]\w*)[ :=]+$", text[: match.start()][-40:])
        word = before[1].lower() if before else ""
        yield word or "quoted", match[2], QUOTED_AFTER.format(word=re.escape(word)) if word else _ANY_QUOTED


def _keyed(text: str) -> Iterator[Found]:
    for match in islice(_KEYED.finditer(text), _ENTRIES):
        word = match[1].strip().lower()
        yield word.replace(" ", "_"), match[2], KEYED_AFTER.format(word=re.escape(word))
