"""One line of a script given its label in its file, every other byte kept.

The new text is read before it is written: it must mean what the old one did but for that line. Whatever cannot be
changed so (a block of text, a line that an alias repeats) is left to people, with the reason.
"""

import json
import re
from collections.abc import Sequence

import yaml

from pytest_agentbench.core.acts import ActKind
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import AgentBenchError, SuiteError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.spec.document import Document, read_json
from pytest_agentbench.spec.loading import YAML_SUFFIXES, node_at, read_yaml

_BOM = b"\xef\xbb\xbf"
_CHANGED = "the file has changed since it was read"
_BLOCKS = ("|", ">")


class ByHandError(AgentBenchError):
    """A line that cannot be given its label without changing something else; the message says why."""


def write_act(document: Document, path: Keys, act: ActKind) -> None:
    """Turn the plain line at `path` into `{act: line}` in its file; raise `ByHandError` where that cannot be done.

    So it is where the file holds something else by now than the document that was read from it.
    """
    data = document.file.read_bytes()
    mark = _BOM if data.startswith(_BOM) else b""
    text = data.removeprefix(mark).decode("utf-8")
    changed = mark + with_act(text, document, path, act).encode("utf-8")
    draft = document.file.with_name(f".{document.file.name}.labelled")
    draft.write_bytes(changed)  # a file that is written in place may be left half written
    draft.chmod(document.file.stat().st_mode)
    draft.replace(document.file)


def with_act(text: str, document: Document, path: Keys, act: ActKind) -> str:
    """Give the text of a document's file with the plain line at `path` as `{act: line}`; raise `ByHandError`."""
    line = _part(document.value, path)
    if not isinstance(line, str):
        raise ByHandError(_CHANGED)
    label: str = act
    if document.file.suffix.lower() in YAML_SUFFIXES:
        begin, end = _yaml_span(text, path)
        words = _quoted(text[begin:end])
    else:
        begin, end = _json_span(text, document, path)
        label, words = json.dumps(act), text[begin:end]
    new = f"{text[:begin]}{{{label}: {words}}}{text[end:]}"
    if _values(text, document) != _values(text, document, path, line):
        raise ByHandError(_CHANGED)
    if _values(new, document) != _values(text, document, path, {act: line}):
        raise ByHandError("more than this line would change its meaning: an alias repeats it, or it has a tag")
    return new


def _yaml_span(text: str, path: Keys) -> tuple[int, int]:
    """Give where the scalar at `path` begins and ends."""
    node = node_at(text, path)
    if not isinstance(node, yaml.ScalarNode):
        raise ByHandError(_CHANGED)
    if node.style in _BLOCKS:
        raise ByHandError("it is a block of text")
    return node.start_mark.index, node.end_mark.index


def _quoted(words: str) -> str:
    """Give a scalar as it may stand inside braces: what has no quotes gets them."""
    if words[0] in "\"'&!":
        return words
    escaped = words.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _json_span(text: str, document: Document, path: Keys) -> tuple[int, int]:
    """Give where the text at `path` begins and ends."""
    place = document.locate(path)
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    if place is None or place.line > len(starts):
        raise ByHandError(_CHANGED)
    begin = starts[place.line - 1] + place.column - 1
    try:
        return begin, json.JSONDecoder().raw_decode(text, begin)[1]
    except (ValueError, IndexError):
        raise ByHandError(_CHANGED) from None


def _values(text: str, document: Document, path: Keys = (), put: JsonValue = None) -> list[str]:
    """Give what a text holds, of JSON lines each; with `path`, what it holds with `put` there in the document."""
    suffix = document.file.suffix.lower()
    try:
        if suffix == ".jsonl":
            number = _first_line(document)
            lines = text.split("\n")
            found = [json.loads(line) if line.strip() else None for line in lines]
        else:
            number = 1
            found = [(read_yaml if suffix in YAML_SUFFIXES else read_json)(text, document.file).value]
    except (SuiteError, ValueError):
        return []
    if path and number <= len(found):
        found[number - 1] = _with(found[number - 1], path, put)
    return list(map(dumps, found))


def _first_line(document: Document) -> int:
    place = document.locate(())
    return place.line if place else 1


def _part(value: JsonValue, path: Keys) -> JsonValue:
    """Give the part of a value at `path`, None where there is none."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _with(value: JsonValue, path: Sequence[str | int], put: JsonValue) -> JsonValue:
    """Give a value with another part at `path`; raise `ByHandError` where it has none there."""
    if not path:
        return put
    step, *rest = path
    if isinstance(value, dict) and step in value:
        return {key: _with(one, rest, put) if key == step else one for key, one in value.items()}
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return [_with(one, rest, put) if at == step else one for at, one in enumerate(value)]
    raise ByHandError(_CHANGED)
