"""Expected and forbidden calls: the short forms and the full one."""

from typing import Any

from pytest_agentbench.core.values import JsonValue


def call_form(item: JsonValue) -> dict[str, Any]:
    """Give the full form of a call that fits the schema: `"tool"`, `{tool: {…}}` or `{name: tool, …}`."""
    if isinstance(item, str):
        return {"name": item, "arguments": {}}
    if isinstance(item.get("name"), str):
        return {"arguments": {}, **item}
    ((name, arguments),) = item.items()
    return {"name": name, "arguments": arguments or {}}


def arguments_path(item: JsonValue) -> tuple[str, ...]:
    """Give the keys that lead to the arguments inside a call as the file writes it."""
    if not isinstance(item, dict):
        return ()
    return ("arguments",) if isinstance(item.get("name"), str) else tuple(item)[:1]
