"""YAML with the scalars of YAML 1.2, duplicate keys refused, aliases bounded, and the place of every part.

PyYAML's own constructors follow YAML 1.1, which turns `no`, `12:30` and dates into other things; only its parser is
used here, and the nodes that it composes tell where everything stands. Integers with a leading zero stay text: they are
identifiers far more often than numbers.
"""

import re
from pathlib import Path
from typing import Any

import yaml

from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.misfit import Keys, dotted
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.spec.document import MAX_DEPTH, Document, Place

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
_NUMERIC = frozenset("+-.0123456789")
_TAG = "tag:yaml.org,2002:"
_TEXT = f"{_TAG}str"
_PLAIN = "plain"
"""The tag of a scalar without quotes and without a tag of its own."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # one of two
    """Composes nodes, and leaves to us what a plain scalar is."""

    def resolve(self, kind: type[yaml.Node], value: object, implicit: Any) -> str:
        """Give the tag of a node that has none."""
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _TEXT
        return f"{_TAG}seq" if kind is yaml.SequenceNode else f"{_TAG}map"


def read_yaml(text: str, file: Path) -> Document:
    """Read one YAML document; raise `SuiteError` naming the place of what is wrong."""
    root = _composed(text, file)
    if root is None:
        return Document(file=file, value=None, locate=lambda path: None if path else Place(1, 1, 1, 1))
    value = _Builder(root, file).build()
    return Document(file=file, value=value, locate=lambda path: _place(root, path))


def _composed(text: str, file: Path) -> yaml.Node | None:
    try:
        loader = _Loader(text)
        try:
            root: yaml.Node | None = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise SuiteError([_refused(error, text, file)]) from None
    except RecursionError:
        raise SuiteError([Problem(file=file, message=_TOO_DEEP)]) from None
    except yaml.YAMLError as error:
        message = f"this is not YAML: {' '.join(str(error).split())}"
        raise SuiteError([Problem(file=file, message=message)]) from None
    return root


_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"


def _refused(error: yaml.MarkedYAMLError, text: str, file: Path) -> Problem:
    """Say in our words why a text is no YAML."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    problem, hint = error.problem or "", ""
    if "nesting depth" in problem:  # PyYAML 6.0.4 stops at 1,000 levels by itself
        message = _TOO_DEEP
    elif "another document" in problem:
        message, hint = "a second document begins here", "one file holds one document; remove the ---"
    elif "undefined alias" in problem and mark:
        name = re.match(r"[^\s,\[\]{}]+", text.splitlines()[mark.line][mark.column :])
        message = f"the alias {name[0] if name else ''} has no anchor before it"
    elif "duplicate anchor" in (error.context or ""):
        message, hint = "this anchor stands twice", "give one of them another name"
    else:
        message = f"this is not YAML: {' '.join(part for part in (error.context, problem) if part) or 'is not YAML'}"
    return Problem(file=file, line=line, column=column, message=message, hint=hint)


def _place(root: yaml.Node, path: Keys) -> Place | None:
    key = node = root
    for step in path:
        if isinstance(node, yaml.MappingNode):
            found = next((pair for pair in node.value if pair[0].value == step), None)
            if found is None:
                return None
            key, node = found
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and 0 <= step < len(node.value):
            key = node = node.value[step]
        else:
            return None
    return Place(*_spot(key), *_spot(node))


def _spot(node: yaml.Node) -> tuple[int, int]:
    """Give line and column from 1."""
    mark = node.start_mark
    return mark.line + 1, mark.column + 1


class _Builder:
    """Builds the value of a tree of nodes, and notes all that is wrong in it."""

    def __init__(self, root: yaml.Node, file: Path) -> None:
        self._root = root
        self._file = file
        self._problems: list[Problem] = []
        self._made: dict[int, tuple[JsonValue, int]] = {}
        self._open: set[int] = set()
        self._count = 0
        self._aliased = 0

    def build(self) -> JsonValue:
        """Give the value; raise `SuiteError` with every problem."""
        value = self._value(self._root, 0)
        if self._problems:
            raise SuiteError(self._problems)
        return value

    def _value(self, node: yaml.Node, depth: int) -> JsonValue:
        if isinstance(node, yaml.ScalarNode):
            self._count += 1
            return self._plain(node.value, node) if node.tag == _PLAIN else self._tagged(node)
        name = id(node)
        if name in self._made or name in self._open:
            return self._again(node)
        if depth > MAX_DEPTH:
            self._stop(node, _TOO_DEEP)
        before = self._count
        self._count += 1
        self._open.add(name)
        build = self._mapping if isinstance(node, yaml.MappingNode) else self._list
        value: JsonValue = build(node, depth)
        self._open.discard(name)
        self._made[name] = (value, self._count - before)
        return value

    def _again(self, node: yaml.Node) -> JsonValue:
        """Give the value of a node that an alias repeats."""
        if id(node) in self._open:
            self._stop(node, "an alias inside of it stands for the whole: it contains itself")
        value, size = self._made[id(node)]
        self._count += size
        self._aliased += size
        if self._aliased > MAX_ALIASED:
            self._stop(node, f"aliases repeat more than {MAX_ALIASED} values")
        return value

    def _list(self, node: yaml.Node, depth: int) -> list[JsonValue]:
        if node.tag != f"{_TAG}seq":
            self._refuse_tag(node)
        return [self._value(item, depth + 1) for item in node.value]

    def _mapping(self, node: yaml.Node, depth: int) -> dict[str, JsonValue]:
        if node.tag != f"{_TAG}map":
            self._refuse_tag(node)
        mapping: dict[str, JsonValue] = {}
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._stop(key, "a key must be plain text", at=node)
            name = str(key.value)
            if name == "<<" and not key.style:
                hint = "merge keys are not part of YAML 1.2: write the keys out"
                self._note(key, "'<<' is not supported", hint, at=node)
            if name in mapping:
                first = next(_spot(other)[0] for other, _ in node.value if other.value == name)
                message = f"the key {name!r} stands twice, first on line {first}"
                self._note(key, message, "remove one of them", at=node)
            value = self._value(item, depth + 1)
            mapping.setdefault(name, value)
        return mapping

    def _tagged(self, node: yaml.ScalarNode) -> JsonValue:
        text, tag = str(node.value), str(node.tag)
        if tag == _TEXT:
            return text
        value = self._plain(text, node)
        found = {bool: "bool", int: "int", float: "float", type(None): "null"}.get(type(value), "str")
        if tag == f"{_TAG}float" and isinstance(value, int) and not isinstance(value, bool):
            return self._float(value, node)
        if tag == f"{_TAG}{found}":
            return value
        self._refuse_tag(node)
        return text

    def _plain(self, text: str, node: yaml.ScalarNode) -> JsonValue:
        if text in _WORDS:
            return _WORDS[text]
        if text[0] not in _NUMERIC:
            return text
        if _FLOAT.match(text) and not _INT.match(text):
            return float(text)
        if base := next((base for base, form in _WHOLE.items() if form.match(text)), 0):
            # Python writes no number of thousands of digits, whatever it was read from
            number = int(text, base) if len(text) <= _MOST_DIGITS else None
            if number is not None and number.bit_length() <= _MOST_BITS:
                return number
            self._note(node, "this number has too many digits")
            return 0
        if _SPECIAL.match(text):
            return float(text.replace(".", "", 1))
        return text

    def _float(self, value: int, node: yaml.ScalarNode) -> float:
        try:
            return float(value)
        except OverflowError:
            self._note(node, "this number is too large for !!float")
            return 0.0

    def _refuse_tag(self, node: yaml.Node) -> None:
        message = f"the tag {node.tag.replace(_TAG, '!!')!r} does not fit here"
        hint = "only the tags !!str, !!int, !!float, !!bool, !!null, !!seq and !!map on fitting values are read"
        self._note(node, message, hint)

    def _note(self, node: yaml.Node, message: str, hint: str = "", *, at: yaml.Node | None = None) -> None:
        """Note a problem where a node begins; its key is that of `at`, the node itself unless given."""
        line, column = _spot(node)
        key = dotted(_path_to(at or node, self._root))
        self._problems.append(Problem(file=self._file, line=line, column=column, key=key, message=message, hint=hint))

    def _stop(self, node: yaml.Node, message: str, *, at: yaml.Node | None = None) -> None:
        self._note(node, message, at=at)
        raise SuiteError(self._problems)


def _path_to(node: yaml.Node, root: yaml.Node) -> Keys:
    """Give the way to a node, which is looked for; nothing where it lies too deep."""
    level: list[tuple[Keys, yaml.Node]] = [((), root)]
    for _ in range(MAX_DEPTH):
        below: list[tuple[Keys, yaml.Node]] = []
        for path, one in level:
            if one is node:
                return path
            if isinstance(one, yaml.MappingNode):
                below += [((*path, str(key.value)), value) for key, value in one.value]
            elif isinstance(one, yaml.SequenceNode):
                below += [((*path, index), value) for index, value in enumerate(one.value)]
        level = below
    return ()
