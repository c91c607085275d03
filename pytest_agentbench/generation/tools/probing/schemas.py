"""Declared schemas made plain: references inlined as deep as needed, and arguments flattened to slots."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
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

    `required` says that each step of the way is required, `schema` is without references. `told` is what is said of it
    elsewhere, where the schema says nothing.
    """

    path: str
    schema: Mapping[str, Any] = field(hash=False)
    required: bool
    nullable: bool = False
    told: str = ""

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
        kind = type(values[0]) if isinstance(values, list) and values else None
        kinds: dict[type | None, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}
        return kinds.get(kind, "any")

    @property
    def described(self) -> str:
        """The declared description, or what is told in its place."""
        text = self.schema.get("description")
        return text if text and isinstance(text, str) else self.told

    @property
    def is_open(self) -> bool:
        """Whether the schema leaves open which values there are: one plain value, and no enum."""
        return self.type not in ("boolean", "object", "array") and not self.schema.get("enum")


def slots_of(spec: ToolSpec) -> tuple[Slot, ...]:
    """Give the plain arguments of a tool, declared order, `MANY` at most; a schema that is none gives no slots.

    What is said of a tool with one argument is said of that argument.
    """
    root = spec.parameters
    every = list(_slots(plain(root, root), root, "", True, 0))
    every = [replace(every[0], told=spec.description)] if len(every) == 1 else every
    first = sorted(every, key=lambda slot: (not slot.required, slot.path.count(".")))[:MANY]
    kept = {slot.path for slot in first}
    return tuple(slot for slot in every if slot.path in kept)


def plain(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any]:
    """Follow references and merge what `allOf` and a nullable `anyOf` say; what refers to itself ends as `{}`."""
    if not isinstance(schema, Mapping) or depth > 2 * _DEEP:
        return {}
    key = next((key for key in ("$ref", "allOf", "anyOf", "oneOf") if schema.get(key)), "")
    rest = {name: value for name, value in schema.items() if name != key}
    if key == "$ref" and isinstance(schema[key], str):
        return {**plain(_target(schema[key], root), root, depth + 1), **rest}
    if not isinstance(schema.get(key), list):
        return schema
    parts = [plain(part, root, depth + 1) for part in schema[key]]
    if key == "allOf":
        for part in parts:
            for name, value in part.items():
                if name == "properties":
                    rest[name] = {**value, **rest.get(name, {})}
                elif name == "required":
                    rest[name] = [*rest.get(name, ()), *value]
                else:
                    rest.setdefault(name, value)
        return rest
    real = [part for part in parts if part.get("type") != "null"]
    nullable = {"nullable": True} if len(real) < len(parts) else {}
    return {**(real[0] if real else {}), **rest, **nullable}


def _slots(schema: Mapping[str, Any], root: Mapping[str, Any], path: str, required: bool, depth: int) -> Iterator[Slot]:
    properties, items, kind = schema.get("properties"), schema.get("items"), schema.get("type")
    if isinstance(properties, Mapping) and properties and depth < _DEEP:
        needed = schema.get("required")
        names = set(needed) if isinstance(needed, list) else set()
        for name, part in properties.items():
            step = f"{path}.{name}" if path else str(name)
            yield from _slots(plain(part, root), root, step, required and name in names, depth + 1)
    elif path and kind == "array" and isinstance(items, Mapping) and depth < _DEEP:
        yield from _slots(plain(items, root), root, f"{path}.*", required, depth + 1)
    elif path:
        nullable = schema.get("nullable") is True or (isinstance(kind, list) and "null" in kind)
        yield Slot(path=path, schema=schema, required=required, nullable=nullable)


def _target(reference: str, root: Mapping[str, Any]) -> Any:
    found: Any = root if reference.startswith("#") else {}
    for part in filter(None, reference[1:].split("/")):
        key = part.replace("~1", "/").replace("~0", "~")
        found = found.get(key, {}) if isinstance(found, Mapping) else {}
    return found


def build(values: Mapping[str, Any]) -> dict[str, Any]:
    """Give the arguments in which the slots at these paths hold these values; a list gets one entry."""
    arguments: dict[str, Any] = {}
    for path, value in values.items():
        holder: Any = arguments
        steps = path.split(".")
        for step, following in zip(steps, [*steps[1:], ""], strict=True):
            inside: Any = value if not following else [] if following == "*" else {}
            if step != "*":
                holder[step] = inside if not following else holder.get(step, inside)
                holder = holder[step]
            elif not following or not holder:
                holder.append(inside)
                holder = holder[-1]
            else:
                holder = holder[0]
    return arguments


def read_slots(arguments: Any, prefix: str = "") -> dict[str, Any]:
    """Give the plain values of arguments by slot path; of a list the first entry."""
    if isinstance(arguments, Mapping) and arguments:
        inside = [read_slots(value, f"{prefix}.{name}" if prefix else str(name)) for name, value in arguments.items()]
        return {path: value for several in inside for path, value in several.items()}
    if isinstance(arguments, list) and arguments and prefix:
        return read_slots(arguments[0], f"{prefix}.*")
    return {prefix: arguments} if prefix else {}
