"""Tools that a JSON file only describes: an OpenAI tools list, or {agent, user, kinds}."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.tool import Requestor, ToolSpec
from pytest_agentbench.environment.kinds import NO_LISTS, KindLists


def read_schema_tools(
    file: Path, *, requestor: Requestor | None = None, prefix: str = "", lists: KindLists = NO_LISTS
) -> list[ToolSpec]:
    """Give the tools that `file` describes; `requestor` overrides whom they belong to, `prefix` is put before names.

    A list holds the agent's tools; an object holds {agent: [...], user: [...], kinds: {name: {type, mutates_state}}}.
    Raise `EnvironmentFaultError` naming the file and what is wrong in it.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise EnvironmentFaultError(f"{file}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise EnvironmentFaultError(f"{file}: not JSON: {error}") from error
    if isinstance(content, list):
        content = {"agent": content}
    if not isinstance(content, dict) or not content.keys() & {"agent", "user"}:
        raise EnvironmentFaultError(f"{file}: must hold a list of tools, or an object with agent, user and kinds")
    kinds = content.get("kinds") or {}
    if not isinstance(kinds, dict):
        raise EnvironmentFaultError(f"{file}: kinds: must be an object {{tool name: {{type, mutates_state}}}}")
    specs: list[ToolSpec] = []
    parties: tuple[tuple[str, Requestor], ...] = (("agent", "assistant"), ("user", "user"))
    for key, party in parties:
        entries = content.get(key) or []
        if not isinstance(entries, list):
            raise EnvironmentFaultError(f"{file}: {key}: must be a list of tools")
        for index, entry in enumerate(entries):
            spec = _spec(entry, f"{file}: {key}[{index}]", requestor or party)
            name = f"{prefix}{spec.name}"
            kind, source = lists.declared(name, _declared(kinds.get(spec.name)))
            specs.append(spec.model_copy(update={"name": name, "kind": kind, "kind_from": source}))
    return specs


def _spec(entry: object, place: str, requestor: Requestor) -> ToolSpec:
    """Read `{type: function, function: {...}}` or the same without the inner object."""
    function = entry.get("function", entry) if isinstance(entry, dict) else None
    if not isinstance(function, dict):
        raise EnvironmentFaultError(f"{place}: must be an object {{type: function, function: {{name, parameters}}}}")
    name, parameters = function.get("name"), function.get("parameters")
    if parameters is None:
        parameters = {"type": "object", "properties": {}}
    if not isinstance(name, str) or not name:
        raise EnvironmentFaultError(f"{place}: name is {name!r}; it must be a text")
    if not isinstance(parameters, dict) or not isinstance(parameters.get("properties", {}), dict):
        raise EnvironmentFaultError(f"{place}: parameters of {name!r} must be a JSON Schema of type object")
    description = function.get("description")
    return ToolSpec(
        name=name,
        description=description if isinstance(description, str) else "",
        parameters=parameters,
        requestor=requestor,
    )


def _declared(kind: Any) -> str | None:
    """Give the kind that an export states; `think` does neither, and what mutates state writes."""
    if not isinstance(kind, Mapping):
        return kind if isinstance(kind, str) else None
    if kind.get("mutates_state") is True:
        return "write"
    stated = kind.get("type")
    return "generic" if stated == "think" else stated
