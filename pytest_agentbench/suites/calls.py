"""Expected and forbidden calls: the short forms and the full one."""

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.values import JsonValue


def call_form(item: JsonValue) -> dict[str, Any]:
    """Give the full form of a call that fits the schema: `"tool"`, `{tool: {…}}` or `{name: tool, …}`."""
    if isinstance(item, str):
        return {"name": item, "arguments": {}}
    if isinstance(item.get("name"), str):
        return {"arguments": {}, **item}
    ((name, arguments),) = item.items()
    return {"name": name, "arguments": arguments or {}}


def is_approval(item: JsonValue) -> bool:
    """Whether an item of a list of calls that fits the schema is an approval: `{approval: …}`, never a tool's name."""
    return isinstance(item, dict) and item.keys() == {"approval"}


def calls_of(items: Iterable[JsonValue]) -> list[JsonValue]:
    """Give the calls of a list of calls and approvals."""
    return [item for item in items if not is_approval(item)]


def stated_calls(expect: Sequence[JsonValue] | None) -> list[JsonValue] | None:
    """Give the expected calls; None where `expect` says nothing of calls: it is not there, or holds approvals alone."""
    calls = calls_of(expect or ())
    return None if expect is None or (expect and not calls) else calls


def approvals_of(items: Iterable[JsonValue]) -> tuple[ExpectedCall, ...]:
    """Give the approvals of such a list, each as the call that is asked for."""
    return tuple(ExpectedCall.model_validate(call_form(item["approval"])) for item in items if is_approval(item))


def approval_form(call: ExpectedCall) -> JsonValue:
    """Give an approval as a file writes it."""
    return {"approval": {call.name: call.arguments} if call.arguments else call.name}


def arguments_path(item: JsonValue) -> tuple[str, ...]:
    """Give the keys that lead to the arguments inside a call as the file writes it."""
    if not isinstance(item, dict):
        return ()
    if is_approval(item):
        return ("approval", *arguments_path(item["approval"]))
    return ("arguments",) if isinstance(item.get("name"), str) else tuple(item)[:1]
