"""Expected and forbidden calls, handoffs and approvals: the short forms and the full one."""

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.values import JsonValue

HANDOFF = "handoff"
"""The key of a handoff in a list of calls; a tool of this name is written in full: `{name: handoff, …}`."""


def call_form(item: JsonValue) -> dict[str, Any]:
    """Give the full form of a call that fits the schema: `"tool"`, `{tool: {…}, by: agent}` or `{name: tool, …}`."""
    if isinstance(item, str):
        return {"name": item, "arguments": {}}
    if isinstance(item.get("name"), str):
        return {"arguments": {}, **item}
    ((name, arguments),) = ((key, value) for key, value in item.items() if key != "by" or len(item) == 1)
    made = {"by": item["by"]} if "by" in item and len(item) > 1 else {}
    return {"name": name, "arguments": arguments or {}, **made}


def is_handoff(item: JsonValue) -> bool:
    """Whether an entry of a list of calls is a handoff: `{handoff: {from: …, to: …}}` or `{handoff: to}`."""
    return isinstance(item, dict) and item.keys() == {HANDOFF}


def is_approval(item: JsonValue) -> bool:
    """Whether an entry of a list of calls is an approval: `{approval: …}`, never a tool's name."""
    return isinstance(item, dict) and item.keys() == {"approval"}


def calls_of(items: Iterable[JsonValue]) -> list[JsonValue]:
    """Give the entries that are calls."""
    return [item for item in items if not is_handoff(item) and not is_approval(item)]


def stated_calls(expect: Sequence[JsonValue] | None) -> list[JsonValue] | None:
    """Give the expected calls; None where `expect` says nothing of calls: it is not there, or holds approvals alone."""
    return None if expect is None or (expect and all(map(is_approval, expect))) else calls_of(expect)


def approvals_of(items: Iterable[JsonValue]) -> tuple[ExpectedCall, ...]:
    """Give the entries that are approvals, each as the call that is asked for."""
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
    return ("arguments",) if isinstance(item.get("name"), str) else tuple(key for key in item if key != "by")[:1]


def handoffs_of(items: Sequence[JsonValue]) -> tuple[ExpectedHandoff, ...]:
    """Give the entries that are handoffs, each with the number of calls before it."""
    found: list[ExpectedHandoff] = []
    place = 0
    for item in items:
        if is_handoff(item):
            body = item[HANDOFF]
            named = {"to": body} if isinstance(body, str) else body or {}
            found.append(ExpectedHandoff.model_validate({**named, "place": place}))
        elif not is_approval(item):
            place += 1
    return tuple(found)
