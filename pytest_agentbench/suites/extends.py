"""`extends:` of a suite: what it does not say itself, another suite file says.

Mappings merge key by key, everything else is replaced; positions stay those of the file that wrote a part.
"""

from dataclasses import replace
from pathlib import Path

from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.spec.document import Document, FilePlace
from pytest_agentbench.spec.loading import read_document

KEY = "extends"

_OWN = frozenset({KEY, "name"})
"""Keys that say something of one file, which no other takes over."""

_ALTERNATIVES: dict[Keys, frozenset[str]] = {
    ("agent",): frozenset({"factory", "callable", "openai", "http", "transcripts"}),
    ("environment", "state"): frozenset({"sqlite", "json", "tools", "own", "plugin"}),
    ("environment", "tools"): frozenset({"python", "schema", "openapi", "mcp"}),
    ("environment", "user_tools"): frozenset({"python", "schema", "openapi", "mcp"}),
    ("user",): frozenset({"scripted", "llm"}),
}
"""Mappings of which one key says what they are: another one there replaces the whole, and is not laid beside it."""

_LONGEST_CHAIN = 10


def read_suite_document(file: Path) -> Document:
    """Read a suite file with what it extends; raise `SuiteError` on whatever is wrong with one of the files."""
    return _extended(read_document(file), ())


def extended_file(file: Path) -> Path | None:
    """Give the file that a suite file extends; None where it extends none, or cannot be read."""
    try:
        form = read_document(file).value
    except SuiteError:
        return None
    base = form.get(KEY) if isinstance(form, dict) else None
    return (file.parent / base).resolve() if isinstance(base, str) else None


def _extended(document: Document, below: tuple[Path, ...]) -> Document:
    form = document.value
    if not isinstance(form, dict) or not isinstance(form.get(KEY), str):
        return document
    base = (document.file.parent / form[KEY]).resolve()
    below = (*below, document.file.resolve())
    if base in below or len(below) > _LONGEST_CHAIN:
        circle = f"{form[KEY]!r} extends this file"
        message = circle if base in below else f"more than {_LONGEST_CHAIN} files in a chain"
        raise SuiteError([document.problem((KEY,), message)])
    if not base.is_file():
        hint = "the path is relative to the folder of this file"
        raise SuiteError([document.problem((KEY,), f"there is no file {form[KEY]!r}", hint)])
    return _laid_over(document, _extended(read_document(base), below))


def _laid_over(document: Document, base: Document) -> Document:
    if not isinstance(base.value, dict):
        raise SuiteError([Problem(file=base.file, line=1, column=1, message="a suite is a mapping")])
    inherited = {key: value for key, value in base.value.items() if key not in _OWN}
    origin: dict[Keys, Document] = {}
    value = _merged(document.value, inherited, (), origin, base)

    def locate(path: Keys) -> FilePlace | None:
        if (place := document.locate(path)) is not None:
            return place
        from_base = any(path[:length] in origin for length in range(1, len(path) + 1))
        place = base.locate(path) if from_base else None
        return place if place is None or place.file else replace(place, file=base.file)

    return replace(document, value=value, locate=locate)


def _merged(own: JsonValue, other: JsonValue, path: Keys, origin: dict[Keys, Document], base: Document) -> JsonValue:
    """Lay `own` over `other`; `origin` takes the paths of the parts that come from the other file."""
    if not (isinstance(own, dict) and isinstance(other, dict)) or _is_replaced(own, other, path):
        return own
    merged: dict[str, JsonValue] = {}
    for key in [*own, *(key for key in other if key not in own)]:
        if key not in own:
            merged[key] = other[key]
            origin[*path, key] = base
        else:
            merged[key] = _merged(own[key], other[key], (*path, key), origin, base) if key in other else own[key]
    return merged


def _is_replaced(own: dict[str, JsonValue], other: dict[str, JsonValue], path: Keys) -> bool:
    kinds = _ALTERNATIVES.get(path, frozenset())
    return bool(own.keys() & kinds) and own.keys() & kinds != other.keys() & kinds
