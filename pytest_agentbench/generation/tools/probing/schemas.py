"""Declared schemas made plain: references inlined as deep as needed, and arguments flattened to slots."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.core.tool import ToolSpec

_DEEP = 5
"""Objects within objects that are looked into: recursive schemas have no end."""

MANY = 40
"""Slots of a tool that are probed, the required ones first, then those that lie least deep; some operations of large
services have more.
"""


@dataclass(frozen=True)
class Slot:
    """One argument that takes a plain value: where it lies (`*`: any entry of a list), and what is declared of it.

    `required` says that each step of the way is required, `schema` is without references, `optional_in` the path of
    the nearest optional object or list around it.
    """

    path: str
    schema: Mapping[str, Any] = field(hash=False)
    required: bool
    nullable: bool = False

    @property
    def name(self) -> str:
        """What it is called: the last name on its path."""
        return next((part for part in reversed(self.path.split(".")) if part != "*"), self.path)

    @property
    def type(self) -> str:
        """The declared JSON type, guessed from the enum where none is given; `any` where nothing is."""
        declared = self.schema.get("type")
        if isinstance(declared, list):
            declared = next((one for one in declared if one != "null"), "any")
        if isinstance(declared, str):
            return declared
        values = self.schema.get("enum")
        if isinstance(values, list) and values:
            return {bool: "boolean", int: "integer", float: "number", str: "string"}.get(type(values[0]), "any")
        return "any"

    @property
    def described(self) -> str:
        """The declared description."""
        text = self.schema.get("description")
        return text if isinstance(text, str) else ""


def slots_of(spec: ToolSpec) -> tuple[Slot, ...]:
    """Give the plain arguments of a tool, declared order, `MANY` at most; a schema that is none gives no slots."""
    root = spec.parameters
    every = _slots(plain(root, root), root, "", True, 0)
    first = sorted(every, key=lambda slot: (not slot.required, slot.path.count(".")))[:MANY]
    kept = {slot.path for slot in first}
    return tuple(slot for slot in every if slot.path in kept)


def plain(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any]:
    """Follow references and merge what `allOf` and a nullable `anyOf` say; what refers to itself ends as `{}`."""
    if not isinstance(schema, Mapping) or depth > 2 * _DEEP:
        return {}
    if isinstance(schema.get("$ref"), str):
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**plain(_target(schema["$ref"], root), root, depth + 1), **rest}
    if isinstance(schema.get("allOf"), list):
        merged: dict[str, Any] = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema["allOf"]:
            for key, value in plain(part, root, depth + 1).items():
                if key == "properties":
                    merged[key] = {**value, **merged.get(key, {})}
                elif key == "required":
                    merged[key] = [*merged.get(key, ()), *value]
                else:
                    merged.setdefault(key, value)
        return merged
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if not isinstance(options, list) or not options:
            continue
        taken = [plain(option, root, depth + 1) for option in options]
        real = [option for option in taken if option.get("type") != "null"]
        rest = {name: value for name, value in schema.items() if name != key}
        nullable = {"nullable": True} if len(real) < len(taken) else {}
        return {**(real[0] if real else {}), **rest, **nullable}
    return schema


def _slots(schema: Mapping[str, Any], root: Mapping[str, Any], path: str, required: bool, depth: int) -> list[Slot]:
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and properties and depth < _DEEP:
        needed = schema.get("required")
        names = set(needed) if isinstance(needed, list) else set()
        found: list[Slot] = []
        for name, part in properties.items():
            step = f"{path}.{name}" if path else str(name)
            found += _slots(plain(part, root), root, step, required and name in names, depth + 1)
        return found
    if not path:
        return []
    items = schema.get("items")
    if schema.get("type") == "array" and isinstance(items, Mapping) and depth < _DEEP:
        return _slots(plain(items, root), root, f"{path}.*", required, depth + 1)
    kind = schema.get("type")
    nullable = schema.get("nullable") is True or (isinstance(kind, list) and "null" in kind)
    return [Slot(path=path, schema=schema, required=required, nullable=nullable)]


def _target(reference: str, root: Mapping[str, Any]) -> Any:
    if not reference.startswith("#"):
        return {}
    found: Any = root
    for part in reference[1:].strip("/").split("/"):
        if not part:
            continue
        key = part.replace("~1", "/").replace("~0", "~")
        found = found.get(key, {}) if isinstance(found, Mapping) else {}
    return found


def build(values: Mapping[str, Any]) -> dict[str, Any]:
    """Give the arguments in which the slots at these paths hold these values; a list gets one entry."""
    arguments: dict[str, Any] = {}
    for path, value in values.items():
        _put(arguments, path.split("."), value)
    return arguments


def _put(holder: Any, path: list[str], value: Any) -> None:
    head, rest = path[0], path[1:]
    if not rest:
        if head == "*":
            holder.append(value)
        else:
            holder[head] = value
        return
    fresh: Any = [] if rest[0] == "*" else {}
    if head == "*":
        if not holder:
            holder.append(fresh)
        _put(holder[0], rest, value)
    else:
        _put(holder.setdefault(head, fresh), rest, value)


def read_slots(arguments: Any, prefix: str = "") -> dict[str, Any]:
    """Give the plain values of arguments by slot path; of a list the first entry."""
    if isinstance(arguments, Mapping) and arguments:
        found: dict[str, Any] = {}
        for name, value in arguments.items():
            found.update(read_slots(value, f"{prefix}.{name}" if prefix else str(name)))
        return found
    if isinstance(arguments, list) and arguments and prefix:
        return read_slots(arguments[0], f"{prefix}.*")
    return {prefix: arguments} if prefix else {}
