"""The effective schema of results: what all of them hold, what some hold, and codes among a few numbers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_agentbench.generation.tools.probing.result_parser import inner, parsed
from pytest_agentbench.generation.tools.probing.schemas import plain
from pytest_agentbench.generation.tools.probing.session import ProbeRecord

_DEEP = 8
_ENTRIES = 50
_CODES = 8
_TYPES: tuple[tuple[type, str], ...] = (
    (type(None), "null"), (bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"),
)  # fmt: skip


def output_of(records: Sequence[ProbeRecord]) -> dict[str, Any]:
    """Infer the schema of results that worked: types, properties, which of them all results hold (`required`)."""
    values = [inner(parsed(record.answer.content)) for record in records]
    return _inferred(values) if values else {}


def _inferred(values: Sequence[Any], depth: int = 0) -> dict[str, Any]:
    kinds = sorted({_type(value) for value in values})
    schema: dict[str, Any] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    objects = [value for value in values if isinstance(value, Mapping)]
    if objects and depth < _DEEP:
        names = list(dict.fromkeys(str(name) for value in objects for name in value))[:100]
        inside = {name: [inner(value[name]) for value in objects if name in value] for name in names}
        schema["properties"] = {name: _inferred(several, depth + 1) for name, several in inside.items()}
        schema["required"] = [name for name, several in inside.items() if len(several) == len(objects)]
    lists = [value for value in values if isinstance(value, list)]
    entries = [inner(entry) for value in lists for entry in value[:_ENTRIES]][:500]
    if entries and depth < _DEEP:
        schema["items"] = _inferred(entries, depth + 1)
    if kinds == ["integer"] and len(values) >= 12 and len(set(values)) <= _CODES:
        schema["enum"] = sorted(set(values))
    return schema


def output_leaves(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Give (dotted path, type) of what holds nothing further."""
    parts = list(_parts(schema, path))
    for step, part in parts:
        yield from output_leaves(part, step)
    if not parts:
        yield path, str(schema.get("type"))


def missing_fields(
    returns: Mapping[str, Any], records: Sequence[ProbeRecord]
) -> Iterator[tuple[str, str, list[ProbeRecord]]]:
    """Give fields that are declared and missing, or of another type, in results that worked: path, why, by which."""
    found: dict[tuple[str, str], list[ProbeRecord]] = {}
    for record in records:
        for misfit in dict.fromkeys(_misfits(returns, inner(parsed(record.answer.content)), returns, "", 0)):
            found.setdefault(misfit, []).append(record)
    for (path, why), wrong in found.items():
        yield path, why, wrong


def undocumented_codes(
    returns: Mapping[str, Any], output: Mapping[str, Any], root: Mapping[str, Any] | None = None, path: str = ""
) -> Iterator[tuple[str, list[int]]]:
    """Give whole numbers of declared results of which nothing is said, and which take few values: codes, path first."""
    root = returns if root is None else root
    schema = plain(returns, root)
    is_said = {"description", "enum", "title", "format", "const"} & schema.keys()
    codes = output.get("enum")
    if schema.get("type") == "integer" and not is_said and isinstance(codes, list) and len(codes) > 1:
        yield path, codes
    seen = dict(_parts(output, path))
    for step, part in _parts(schema, path):
        if seen.get(step):
            yield from undocumented_codes(part, seen[step], root, step)


def _parts(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """Give (path, schema) of each property, and of the entries of a list."""
    properties, items = schema.get("properties"), schema.get("items")
    named = properties.items() if isinstance(properties, Mapping) else ()
    for name, part in (*named, *([("*", items)] if isinstance(items, Mapping) else ())):
        yield (f"{path}.{name}" if path else str(name)), part


def _misfits(
    schema: Mapping[str, Any], value: Any, root: Mapping[str, Any], path: str, depth: int
) -> Iterator[tuple[str, str]]:
    """Give (path, why) where a value is not as its schema declares."""
    schema = plain(schema, root)
    if depth > _DEEP or not schema:
        return
    declared = schema.get("type")
    allowed = set(declared) if isinstance(declared, list) else {declared} if isinstance(declared, str) else set()
    kind = _type(value)
    is_null = kind == "null" and schema.get("nullable") is True
    if allowed and kind not in allowed and not is_null and not (kind == "integer" and "number" in allowed):
        yield path, f"is {kind}, declared {' or '.join(sorted(allowed))}"
        return
    parts = dict(_parts(schema, path))
    if isinstance(value, Mapping):
        for name in schema.get("required") or ():
            if name not in value:
                yield (f"{path}.{name}" if path else str(name)), "is missing from some results"
        inside = [(f"{path}.{name}" if path else str(name), item) for name, item in value.items()]
    elif isinstance(value, list):
        low, high = schema.get("minItems"), schema.get("maxItems")
        if (isinstance(low, int) and len(value) < low) or (isinstance(high, int) and len(value) > high):
            most = high if high is not None else "any number"
            yield path, f"holds {len(value)} entries, declared {low or 0} to {most}"
        inside = [(f"{path}.*" if path else "*", item) for item in value[:_ENTRIES]]
    else:
        return
    for step, item in inside:
        if step in parts:
            yield from _misfits(parts[step], item, root, step, depth + 1)


def _type(value: Any) -> str:
    return next((name for kind, name in _TYPES if isinstance(value, kind)), "object")
