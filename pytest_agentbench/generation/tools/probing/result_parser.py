"""What stands in a result: JSON, JSON inside strings, Python literals, and in texts what has a form of its own.

Texts are not understood: what is read of them are identifiers, paths and lines that are one value. Each of these forms
is a strategy that can be switched off.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pytest_agentbench.core.json_values import is_number

LONGEST = 300_000
"""Characters of a result that are read; the rest of a huge one holds more of the same."""
_DEEP = 12
_ENTRIES = 25
"""Entries of a list, and values of one form, that are read: the others look like these."""
KEYS = "~"
"""The last step of a path to the keys of an object that holds things by their names: `{"a.txt": 12, "b.txt": 7}`."""
_WHOLE = 60
"""Characters up to which a text on one line is also a value as a whole."""

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
# form -> (name of the value, pattern with one group): the pattern finds the value in other results, too
_FORMS: dict[str, tuple[tuple[str, str], ...]] = {
    "text_ids": (
        ("uuid", rf"({_UUID})"),
        ("hash", r"(?<![\w-])(?<!\.\.)((?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,64})(?![\w-]|\.\.)"),
        ("code", r"(?<![\w-])((?=[A-Z\d-]{0,30}\d)[A-Z][A-Z\d]{0,20}(?:-[A-Z\d]{1,12}){0,3})(?![\w-])"),
    ),
    "text_paths": (
        ("url", r"(https?://[^\s\"'<>)\]]+)"),
        ("email", r"([\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})"),
        ("path", r"(?<![\w./:])(/(?:[\w.@+-]+/)*[\w.@+-]*[\w@+-])"),
        ("file", r"(?<![\w/.-])((?:[\w@+-]+/)*[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,4})(?![\w/])"),
    ),
}
_LISTED = re.compile(
    r"^[ \t]*(?:[*+-][ \t]+|\d{1,3}\.[ \t]+)?(?:\[[A-Za-z]+\][ \t]*)?\**((?=\S*\w)[^\s:\[\]{}*]{1,100})\**[ \t]*$", re.M
)
LISTED = f"(?m){_LISTED.pattern}"
"""Finds a line that is one value, after a bullet or a tag such as `[FILE]`."""
_FIELD = re.compile(r"[A-Za-z_$@-]*|[a-z][A-Za-z]*\d{0,2}|[a-z]+(_[a-z0-9]+)*")
"""What fields of objects are called; names of things have blanks, points or numbers in them."""


@dataclass(frozen=True)
class Atom:
    """One scalar of a result: its value, the dotted path to it, the pattern within a text, and what it is called.

    `names` are what stands on the way to it, the nearest last; `form` is the strategy that found it in a text.
    """

    value: Any
    path: str
    pattern: str = ""
    names: tuple[str, ...] = ()
    form: str = ""


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


def inner(value: Any) -> Any:
    """Give the JSON that a string holds, else the value itself."""
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        read = parsed(value)
        return read if isinstance(read, dict | list) else value
    return value


def atoms(content: str) -> list[Atom]:
    """Give every scalar of a result, those inside JSON strings and texts included, each place and value once."""
    seen: dict[tuple[str, str, str], Atom] = {}
    for atom in _within(parsed(content), "", (), 0):
        seen.setdefault((atom.path, atom.pattern, repr(atom.value)), atom)
    return list(seen.values())


def keys_of_things(value: Mapping[Any, Any]) -> list[str]:
    """Give the keys of an object that holds things by their names: none is one of a field, and all hold the like."""
    keys = [key for key in value if isinstance(key, str)]
    alike = len({type(entry) for entry in value.values()}) == 1
    return keys if alike and keys and not any(_FIELD.fullmatch(key) for key in keys) else []


def _within(value: Any, path: str, names: tuple[str, ...], depth: int) -> Iterator[Atom]:
    if depth > _DEEP:
        return
    value = inner(value)
    if isinstance(value, dict):
        for key in keys_of_things(value)[:_ENTRIES]:
            yield Atom(key, f"{path}.{KEYS}" if path else KEYS, "", names)
        for key, entry in list(value.items())[:200]:
            name = str(key)
            if "." not in name and name:  # no path leads to the others
                yield from _within(entry, f"{path}.{name}" if path else name, (*names, name), depth + 1)
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
    if len(stripped) <= _WHOLE and "\n" not in stripped and (path or " " not in stripped):
        yield Atom(text, path, "", names)
        if " " not in stripped:
            return
    text = text[:LONGEST]
    for form, several in _FORMS.items():
        for name, pattern in several:
            for match in islice(re.finditer(pattern, text), _ENTRIES):
                yield Atom(match[1], path, pattern, (*names, name), form)
    if "\n" in stripped or not path:
        for match in islice(_LISTED.finditer(text), _ENTRIES):
            yield Atom(match[1], path, LISTED, names, "text_lines")
