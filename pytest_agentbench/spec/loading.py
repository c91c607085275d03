"""Files as documents: bytes become text, text becomes YAML, JSON or JSON lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import yaml

from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.file_models import read_form
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import Keys, dotted
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.spec.document import MAX_DEPTH, TOO_DEEP, Document, FilePlace, read_json

MAX_ALIASED = 100_000
"""How many values aliases may repeat in one file: a billion laughs ends here."""

_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_WHOLE = {10: _INT, 8: re.compile(r"0o[0-7]+\Z"), 16: re.compile(r"0x[0-9a-fA-F]+\Z")}
"""Whole numbers by their base."""

_MOST_DIGITS = 4_300
_MOST_BITS = 14_284  # of the largest number of so many decimal digits
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_SPECIAL = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_TAG = "tag:yaml.org,2002:"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str, file: Path) -> Document:
    """Read one YAML document; raise `SuiteError` naming the place of what is wrong."""
    value, spot = _Composer(file).compose(text)
    return Document(file=file, value=value, locate=lambda path: _place(spot, path))


class _Spot(NamedTuple):
    """Where a value begins, where its key does, and the spots of what is in it."""

    mark: "_Mark | None"
    key: "_Mark | None"
    inside: "dict[str, _Spot] | list[_Spot] | None" = None


def _place(spot: _Spot | None, path: Keys) -> FilePlace | None:
    for step in path:
        inside = spot.inside if spot else None
        if isinstance(inside, dict):
            spot = inside.get(str(step))
        elif isinstance(inside, list) and isinstance(step, int) and 0 <= step < len(inside):
            spot = inside[step]
        else:
            return None
    return FilePlace(*_line_and_column(spot.key), *_line_and_column(spot.mark)) if spot else None


class _Mark(Protocol):
    """A position of the parser, counted from 0."""

    line: int
    column: int


@dataclass
class _Composer:
    """Builds the value from the parser's events."""

    file: Path
    anchors: dict[str, tuple[JsonValue, int]] = field(default_factory=dict)
    open_anchors: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    count: int = 0
    aliased: int = 0

    def compose(self, text: str) -> tuple[JsonValue, _Spot | None]:
        try:
            found = self._document(yaml.parse(text, Loader=LOADER))
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            if error.problem == "found unexpected end of stream":  # where it began, not the end of the file
                mark = error.context_mark or mark
            if "nesting depth" in (error.problem or ""):  # PyYAML 6.0.4 stops at 1,000 levels by itself
                raise self._last(mark, TOO_DEEP) from None
            message, hint = _unclosed(text, error)
            if not message:
                message = " ".join(part for part in (error.context, error.problem) if part) or "is not YAML"
                hint = next((cure for part, cure in _CURES.items() if part in (error.problem or "")), "")
            raise self._last(mark, f"this is not YAML: {message}", hint=hint) from None
        except yaml.YAMLError as error:
            message = f"this is not YAML: {' '.join(str(error).split())}"
            raise SuiteError([*self.problems, Problem(file=self.file, message=message)]) from None
        if self.problems:
            raise SuiteError(self.problems)
        return found

    def _document(self, events: Iterator[yaml.Event]) -> tuple[JsonValue, _Spot | None]:
        value: JsonValue = None
        spot: _Spot | None = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    hint = "one file holds one document; remove the ---"
                    raise self._last(event.start_mark, "a second document begins here", hint=hint)
            elif isinstance(event, yaml.NodeEvent):
                value, spot = self._node(event, events, (), event.start_mark)
        return value, spot

    def _node(
        self, event: yaml.Event, events: Iterator[yaml.Event], path: Keys, key: "_Mark | None"
    ) -> tuple[JsonValue, _Spot]:
        mark = event.start_mark
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path), _Spot(mark, key)
        before = self.count
        self.count += 1
        anchor = getattr(event, "anchor", None)
        if anchor:
            self.open_anchors.add(anchor)
        if len(path) > MAX_DEPTH:
            raise SuiteError([self._at(event.start_mark, TOO_DEEP)])
        value: JsonValue = None
        inside: dict[str, _Spot] | list[_Spot] | None = None
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event, path)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._check_tag(event, "seq", path)
            value, inside = self._sequence(events, path)
        elif isinstance(event, yaml.MappingStartEvent):
            self._check_tag(event, "map", path)
            value, inside = self._mapping(events, path)
        if anchor:
            self.open_anchors.discard(anchor)
            self.anchors[anchor] = (value, self.count - before)
        return value, _Spot(mark, key, inside)

    def _sequence(self, events: Iterator[yaml.Event], path: Keys) -> tuple[list[JsonValue], list[_Spot]]:
        items: list[JsonValue] = []
        spots: list[_Spot] = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            value, spot = self._node(event, events, (*path, len(items)), event.start_mark)
            items.append(value)
            spots.append(spot)
        return items, spots

    def _mapping(self, events: Iterator[yaml.Event], path: Keys) -> tuple[dict[str, JsonValue], dict[str, _Spot]]:
        mapping: dict[str, JsonValue] = {}
        spots: dict[str, _Spot] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self._key(event, path)
            mark = event.start_mark
            value, spot = self._node(next(events), events, (*path, key), mark)
            if key in mapping:
                message = f"the key {key!r} is repeated, first on line {_line_and_column(spots[key].key)[0]}"
                self.problems.append(self._at(mark, message, path=path, hint="remove one of them"))
            else:
                mapping[key], spots[key] = value, spot
        return mapping, spots

    def _key(self, event: yaml.Event, path: Keys) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise self._last(event.start_mark, "a key must be plain text", path=path)
        if event.value == "<<" and not event.style:
            hint = "merge keys are not part of YAML 1.2: write the keys out"
            self.problems.append(self._at(event.start_mark, "'<<' is not supported", path=path, hint=hint))
        return str(event.value)

    def _alias(self, event: yaml.AliasEvent, path: Keys) -> JsonValue:
        if event.anchor not in self.anchors:
            inside = event.anchor in self.open_anchors
            message = f"the alias *{event.anchor} " + ("contains itself" if inside else "has no anchor before it")
            raise self._last(event.start_mark, message, path=path)
        value, size = self.anchors[event.anchor]
        self.count += size
        self.aliased += size
        if self.aliased > MAX_ALIASED:
            message = f"aliases repeat more than {MAX_ALIASED} values"
            raise self._last(event.start_mark, message, path=path)
        return value

    def _scalar(self, event: yaml.ScalarEvent, path: Keys) -> JsonValue:
        text = str(event.value)
        tag = event.tag
        if tag is None or tag == "!":
            return text if event.style or tag == "!" else self._plain(text, event, path)
        name = tag.removeprefix(_TAG)
        if name == "str":
            return text
        value = self._plain(text, event, path)
        found = {bool: "bool", int: "int", float: "float", type(None): "null"}.get(type(value), "str")
        if name == "float" and found == "int":
            return self._float(value, event, path)
        if tag.startswith(_TAG) and name == found:
            return value
        self._refuse_tag(event, tag, path)
        return text

    def _plain(self, text: str, event: yaml.ScalarEvent, path: Keys) -> JsonValue:
        if text in _WORDS:
            return _WORDS[text]
        if _FLOAT.match(text) and not _INT.match(text):
            return float(text)
        if base := next((base for base, form in _WHOLE.items() if form.match(text)), 0):
            # Python writes no number of thousands of digits, whatever it was read from
            number = int(text, base) if len(text) <= _MOST_DIGITS else None
            if number is not None and number.bit_length() <= _MOST_BITS:
                return number
            self.problems.append(self._at(event.start_mark, "this number has too many digits", path=path))
            return 0
        if _SPECIAL.match(text):
            return float(text.replace(".", "", 1))
        return text

    def _float(self, value: JsonValue, event: yaml.ScalarEvent, path: Keys) -> float:
        try:
            return float(value)
        except OverflowError:
            self.problems.append(self._at(event.start_mark, "this number is too large for !!float", path=path))
            return 0.0

    def _check_tag(self, event: yaml.SequenceStartEvent | yaml.MappingStartEvent, name: str, path: Keys) -> None:
        if event.tag not in (None, "!", _TAG + name):
            self._refuse_tag(event, event.tag, path)

    def _refuse_tag(self, event: yaml.Event, tag: str, path: Keys) -> None:
        message = f"the tag {tag.replace(_TAG, '!!')!r} does not fit here"
        hint = "only the tags !!str, !!int, !!float, !!bool, !!null, !!seq and !!map on fitting values are read"
        self.problems.append(self._at(event.start_mark, message, path=path, hint=hint))

    def _last(self, mark: _Mark | None, message: str, *, path: Keys = (), hint: str = "") -> SuiteError:
        """Give the error of what cannot be read any further."""
        return SuiteError([*self.problems, self._at(mark, message, path=path, hint=hint)])

    def _at(self, mark: _Mark | None, message: str, *, path: Keys = (), hint: str = "") -> Problem:
        line, column = _line_and_column(mark)
        return Problem(file=self.file, line=line, column=column, key=dotted(path), message=message, hint=hint)


_SHOWN = 30
_INDENTATION = "check the indentation of this line and that above: what belongs together begins in one column"
_CURES = {
    "'-' indicator": _INDENTATION,
    "expected key": _INDENTATION,
    "expected <block end>": _INDENTATION,
    "cannot start any token": "indent with blanks, no tabs, and put a text that begins with @, % or ` in quotes",
    "unexpected end of stream": "close the quotation marks that open here",
    "mapping values are not allowed": "put a text that holds a colon in quotes",
}
"""What to do about what the parser says, by a part of its words."""


_CLOSING = {"[": "]", "{": "}"}


def _unclosed(text: str, error: yaml.MarkedYAMLError) -> tuple[str, str]:
    """Say which bracket opened where and is not closed, and what to do; two blanks where that is not what is wrong."""
    begun, found = error.context_mark, error.problem_mark
    lines = text.splitlines()
    if begun is None or found is None or begun.line >= len(lines) or "expected ','" not in (error.problem or ""):
        return "", ""
    opening = lines[begun.line][begun.column : begun.column + 1]
    if opening not in _CLOSING:
        return "", ""
    closing = _CLOSING[opening]
    line = lines[found.line] if found.line < len(lines) else ""
    rest = line[found.column :].strip()
    shown = line.strip() if found.line > begun.line else rest
    what = repr(shorten(printable(shown), _SHOWN)) if shown else "the end of the file"
    message = (
        f"the {opening} that opens on line {begun.line + 1}, column {begun.column + 1} is not closed before {what}"
    )
    is_other = rest[:1] in (*_CLOSING.values(),) and rest[:1] != closing
    hint = f"{rest[0]} closes another bracket: remove it, or write {closing} before it" if is_other else ""
    return message, hint or f"write {closing} where it ends, or a comma before its next entry"


def _line_and_column(mark: _Mark | None) -> tuple[int, int]:
    """Give line and column from 1, or zeros where the parser does not say."""
    return (mark.line + 1, mark.column + 1) if mark else (0, 0)


YAML_SUFFIXES = frozenset({".yaml", ".yml"})


def read_document(file: Path) -> Document:
    """Read a `.json` file as JSON and any other as YAML; raise `SuiteError` on whatever is wrong with it."""
    text = read_text(file)
    return read_json(text, file) if file.suffix.lower() == ".json" else read_yaml(text, file)


def node_at(text: str, path: Keys) -> yaml.Node | None:
    """Give what stands at `path` of a YAML text as the parser has it, with its marks; None where nothing does."""
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=LOADER)
    except yaml.YAMLError:
        return None
    for step in path:
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
        elif isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if key.value == step), None)
        else:
            return None
    return node


def begins_with_key(file: Path, key: str) -> bool:
    """Whether a YAML file is a mapping with a key at its top, as far as it can be read until there."""
    depth, is_key = 0, True
    try:
        for event in yaml.parse(read_text(file), Loader=LOADER):
            if isinstance(event, yaml.CollectionStartEvent):
                if depth == 0 and isinstance(event, yaml.SequenceStartEvent):
                    return False
                depth += 1
                continue
            if isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif depth == 1 and is_key and isinstance(event, yaml.ScalarEvent) and event.value == key:
                return True
            if depth == 1 and isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
                is_key = not is_key
    except yaml.YAMLError:
        return False
    return False


def read_part(document: Document, kind: Any, path: Keys = ()) -> Any:
    """Give what stands at `path` of a document as a model or a type; raise `SuiteError` with all that does not fit."""
    value = document.value
    for step in path:
        value = value[step]
    found, wrong = read_form(value, kind, path)
    if wrong:
        raise SuiteError([document.problem(one.path, one.message, one.hint, at_key=one.at_key) for one in wrong])
    return found


def read_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Give (line number from 1, text) of each line that is not blank, without holding the whole file."""
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                data = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if data.strip():
                    yield number, _decode(data, file, first_line=number)
    except OSError as error:
        raise _unreadable(file, error) from None


def read_text(file: Path) -> str:
    """Read UTF-8 text, a byte order mark dropped; raise `SuiteError` on other encodings, NUL bytes, empty files."""
    try:
        data = file.read_bytes()
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from None
    text = _decode(data.removeprefix(b"\xef\xbb\xbf"), file, first_line=1)
    if not text.strip():
        raise SuiteError([Problem(file=file, message="the file is empty")])
    return text


def _decode(data: bytes, file: Path, *, first_line: int) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SuiteError([Problem(file=file, line=first_line, column=1, message="the file is UTF-16, not UTF-8")])
    nul = data.find(b"\0")
    if nul >= 0:
        raise SuiteError([_at(data, nul, file, first_line, "the file holds a NUL byte: it is not text")])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"byte 0x{data[error.start]:02x} is not UTF-8: save the file as UTF-8"
        raise SuiteError([_at(data, error.start, file, first_line, message)]) from None


def _at(data: bytes, offset: int, file: Path, first_line: int, message: str) -> Problem:
    line = first_line + data.count(b"\n", 0, offset)
    column = offset - (data.rfind(b"\n", 0, offset) + 1) + 1
    return Problem(file=file, line=line, column=column, message=message)


def _unreadable(file: Path, error: Exception) -> SuiteError:
    reason = getattr(error, "strerror", None) or str(error)
    return SuiteError([Problem(file=file, message=f"the file cannot be read: {reason}")])
