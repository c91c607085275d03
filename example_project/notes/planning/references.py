"""`from_task_N` in a parameter becomes what the parameter takes: a path, a title, a number, out of another result."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from notes.library import failed, items, passage, places
from notes.planning.plan import REFERENCE

_PATH = re.compile(r"^\s*(?:[-*]\s)?(.+?\.(?:md|markdown))(?=:\d|:$|,|\s*$)", re.IGNORECASE | re.MULTILINE)
_OUTLINE = re.compile(r"^\d+-\d+: (?:#{1,6}|\*\*|¶) (.+)$", re.MULTILINE)
_FOLDER = re.compile(r"^(.+)/$", re.MULTILINE)
_NUMBER = re.compile(r"\d+")
_QUOTED = re.compile(r"[\"“«] ?([^\"”»]{2,60}?) ?[\"”»]")
_NAMED = re.compile(
    r"(?<=[a-zà-ÿ,;:] )[A-ZÀ-Ý][\w'’-]*(?: (?:(?:of|to|the|de|du|des|la|le|et|and) )*[A-ZÀ-Ý][\w'’-]*)*"
)


class ReferenceMissError(Exception):
    """A result holds nothing that the parameter could take; the message says what was looked for."""


def resolve(parameters: Mapping[str, Any], results: Mapping[int, str]) -> dict[str, Any]:
    """Replace every reference in `parameters`; raise `ReferenceMissError` where a result has nothing of the kind."""
    return {name: _resolved(name, value, results) for name, value in parameters.items()}


def _resolved(name: str, value: Any, results: Mapping[int, str]) -> Any:
    if isinstance(value, list):
        return [_resolved(name, item, results) for item in value]
    if isinstance(value, dict):
        return resolve(value, results)
    if not isinstance(value, str):
        return value
    whole = REFERENCE.fullmatch(value.strip())
    if whole:
        return _taken(name, int(whole[1]), results)
    return REFERENCE.sub(lambda match: str(_taken(name, int(match[1]), results)), value)


def _taken(name: str, number: int, results: Mapping[int, str]) -> Any:
    text = results.get(number, "")
    if not text or failed(text):
        raise ReferenceMissError(f"sub-task {number} gave nothing for {name!r}")
    taken = _TAKERS.get(name, _first_line)(text)
    if taken is None:
        raise ReferenceMissError(f"what sub-task {number} gave holds no {name.replace('_', ' ')}: {text[:80]!r}")
    return taken


def _path(text: str) -> str | None:
    header, _, rest = text.partition("\n")
    found = _PATH.search(rest) if places(text) or not passage(text) else None
    found = found or _PATH.search(header)
    return found[1] if found else None


def _title(text: str) -> str | None:
    hits = places(text) or places(f"\n{text}")
    if hits:
        return hits[0].title or None
    outline = _OUTLINE.search(text)
    if outline:
        return outline[1]
    read = passage(text)
    return (read.title or None) if read else _first_line(text)


def _folder(text: str) -> str | None:
    found = _FOLDER.search(text)
    return found[1] if found else _path(text)


def _number(text: str) -> int | None:
    found = _NUMBER.search(text)
    return int(found[0]) if found else None


def _first_line(text: str) -> str | None:
    lines = items(text) or [line for line in text.split("\n") if line.strip()]
    return lines[0].strip() if lines else None


def names_in(text: str) -> str:
    """Give what a text names: what it puts in quotes or capitals inside a sentence; else its first line."""
    said = _first_line(text) or ""
    found = _QUOTED.findall(said) or _NAMED.findall(said)
    return " ".join(dict.fromkeys(found)) or said


_TAKERS: dict[str, Callable[[str], Any]] = {
    "file_path": _path,
    "keyword": names_in,
    "section_title": _title,
    "folder": _folder,
    "max_lines": _number,
    "preview_lines": _number,
    "max_results": _number,
}
"""By parameter: the tools know nothing of each other, so each takes what it can use."""
