"""The effective schema of results: what all of them hold, what some hold, and codes among a few numbers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_agentbench.generation.tools.probing.reading import inner, parsed
from pytest_agentbench.generation.tools.probing.schemas import plain
from pytest_agentbench.generation.tools.probing.session import ProbeRecord

_DEEP = 8
_ENTRIES = 50
_CODES = 8


def output_of(records: Sequence[ProbeRecord]) -> dict[str, Any]:
    """Infer the schema of results that worked: types, properties, which of them all results hold (`required`)."""
    values = [inner(parsed(record.answer.content)) for record in records]
    return inferred(values) if values else {}


def inferred(values: Sequence[Any], depth: int = 0) -> dict[str, Any]:
    """Infer one schema for several values."""
    kinds = sorted({_type(value) for value in values})
    schema: dict[str, Any] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    objects = [value for value in values if isinstance(value, Mapping)]
    lists = [value for value in values if isinstance(value, list)]
    if objects and depth < _DEEP:
        names = list(dict.fromkeys(str(name) for value in objects for name in value))[:100]
        schema["properties"] = {
            name: inferred([inner(value[name]) for value in objects if name in value], depth + 1) for name in names
        }
        schema["required"] = [name for name in names if all(name in value for value in objects)]
    if lists and depth < _DEEP:
        entries = [inner(entry) for value in lists for entry in value[:_ENTRIES]][:500]
        if entries:
            schema["items"] = inferred(entries, depth + 1)
    if kinds == ["integer"] and len(values) >= 12:
        codes = sorted({value for value in values if isinstance(value, int)})
        if len(codes) <= _CODES:
            schema["enum"] = codes
    return schema


def output_leaves(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Give (dotted path, type) of what holds nothing further."""
    properties = schema.get("properties")
    items = schema.get("items")
    if isinstance(properties, Mapping):
        for name, part in properties.items():
            yield from output_leaves(part, f"{path}.{name}" if path else str(name))
    if isinstance(items, Mapping):
        yield from output_leaves(items, f"{path}.*" if path else "*")
    if not isinstance(properties, Mapping) and not isinstance(items, Mapping):
        yield path, str(schema.get("type"))


def missing_fields(
    returns: Mapping[str, Any], records: Sequence[ProbeRecord]
) -> Iterator[tuple[str, str, list[ProbeRecord]]]:
    """Give fields that are declared and missing, or of another type, in results that worked: path, why, by which."""
    found: dict[tuple[str, str], list[ProbeRecord]] = {}
    for record in records:
        for path, why in _misfits(plain(returns, returns), inner(parsed(record.answer.content)), returns, "", 0):
            found.setdefault((path, why), []).append(record)
    for (path, why), wrong in found.items():
        yield path, why, wrong


def undocumented_codes(returns: Mapping[str, Any], output: Mapping[str, Any]) -> Iterator[tuple[str, list[int]]]:
    """Give whole numbers of declared results of which nothing is said, and which take few values: codes, path first."""
    yield from _codes(plain(returns, returns), output, returns, "", 0)


def _codes(
    schema: Mapping[str, Any], output: Mapping[str, Any], root: Mapping[str, Any], path: str, depth: int
) -> Iterator[tuple[str, list[int]]]:
    if depth > _DEEP or not output:
        return
    said = {"description", "enum", "title", "format", "const"} & schema.keys()
    codes = output.get("enum")
    if schema.get("type") == "integer" and not said and isinstance(codes, list) and len(codes) > 1:
        yield path, codes
    properties, seen = schema.get("properties"), output.get("properties")
    if isinstance(properties, Mapping) and isinstance(seen, Mapping):
        for name, part in properties.items():
            step = f"{path}.{name}" if path else str(name)
            yield from _codes(plain(part, root), seen.get(name, {}), root, step, depth + 1)
    items, entries = schema.get("items"), output.get("items")
    if isinstance(items, Mapping) and isinstance(entries, Mapping):
        yield from _codes(plain(items, root), entries, root, f"{path}.*" if path else "*", depth + 1)


def _misfits(
    schema: Mapping[str, Any], value: Any, root: Mapping[str, Any], path: str, depth: int
) -> Iterator[tuple[str, str]]:
    if depth > _DEEP or not schema:
        return
    declared = schema.get("type")
    allowed = set(declared) if isinstance(declared, list) else {declared} if isinstance(declared, str) else set()
    if schema.get("nullable") is True:
        allowed.add("null")
    kind = _type(value)
    if allowed and kind not in allowed and not (kind == "integer" and "number" in allowed):
        yield path, f"is {kind}, declared {' or '.join(sorted(allowed))}"
    elif isinstance(value, Mapping):
        yield from _missing(schema, value, root, path, depth)
    elif isinstance(value, list):
        yield from _wrong_entries(schema, value, root, path, depth)


def _missing(
    schema: Mapping[str, Any], value: Mapping[str, Any], root: Mapping[str, Any], path: str, depth: int
) -> Iterator[tuple[str, str]]:
    properties = schema.get("properties")
    for name in schema.get("required") or ():
        if name not in value:
            yield (f"{path}.{name}" if path else str(name)), "is missing from some results"
    for name, part in (properties if isinstance(properties, Mapping) else {}).items():
        if name in value:
            step = f"{path}.{name}" if path else str(name)
            yield from _misfits(plain(part, root), value[name], root, step, depth + 1)


def _wrong_entries(
    schema: Mapping[str, Any], value: list[Any], root: Mapping[str, Any], path: str, depth: int
) -> Iterator[tuple[str, str]]:
    low, high = schema.get("minItems"), schema.get("maxItems")
    if (isinstance(low, int) and len(value) < low) or (isinstance(high, int) and len(value) > high):
        yield path, f"holds {len(value)} entries, declared {low or 0} to {high if high is not None else 'any number'}"
    items = schema.get("items")
    if isinstance(items, Mapping):
        found = {
            misfit: None
            for one in value[:_ENTRIES]
            for misfit in _misfits(plain(items, root), one, root, f"{path}.*" if path else "*", depth + 1)
        }
        yield from found


def _type(value: Any) -> str:
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"
