"""Expected and forbidden calls and handoffs: the short forms and the full one."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.misfit import Keys, Misfit
from pytest_agentbench.core.values import JsonValue

HANDOFF = "handoff"
"""The key of a handoff in a list of calls; a tool of this name is written in full: `{name: handoff, …}`."""


def call_form(item: JsonValue) -> dict[str, Any]:
    """Give the full form of a call that fits the schema: `"tool"`, `{tool: {…}, by: agent}` or `{name: tool, …}`."""
    if isinstance(item, str):
        return {"name": item, "arguments": {}}
    if isinstance(item.get("name"), str):
        return {"arguments": {}, **item}
    ((name, arguments),) = ((key, value) for key, value in item.items() if key != "by")
    made = {"by": item["by"]} if "by" in item else {}
    return {"name": name, "arguments": arguments or {}, **made}


def arguments_path(item: JsonValue) -> tuple[str, ...]:
    """Give the keys that lead to the arguments inside a call as the file writes it."""
    if not isinstance(item, dict):
        return ()
    return ("arguments",) if isinstance(item.get("name"), str) else tuple(key for key in item if key != "by")[:1]


def is_handoff(item: JsonValue) -> bool:
    """Whether an entry of a list of calls is a handoff: `{handoff: {from: …, to: …}}` or `{handoff: to}`."""
    return isinstance(item, dict) and item.keys() == {HANDOFF}


def calls_of(items: Iterable[JsonValue]) -> list[JsonValue]:
    """Give the entries that are calls."""
    return [item for item in items if not is_handoff(item)]


def handoffs_of(items: Sequence[JsonValue]) -> tuple[ExpectedHandoff, ...]:
    """Give the entries that are handoffs, each with the number of calls before it."""
    found: list[ExpectedHandoff] = []
    place = 0
    for item in items:
        if is_handoff(item):
            body = item[HANDOFF]
            named = {"to": body} if isinstance(body, str) else body or {}
            found.append(ExpectedHandoff.model_validate({**named, "place": place}))
        else:
            place += 1
    return tuple(found)


def handoff_misfits(ways: Iterable[Sequence[JsonValue]], path: Keys) -> Iterator[Misfit]:
    """Yield the handoffs that stand in a list of ways: nothing says between which calls of the others they would."""
    for way, items in enumerate(ways):
        for index, item in enumerate(items):
            if is_handoff(item):
                message = "a handoff stands under expect or never; each of these ways is a list of calls"
                yield Misfit(path=(*path, way, index), message=message, at_key=True)
