"""Messages with a role: OpenAI's chat, Anthropic's, LangChain's, Gemini's contents, τ²-bench's; and lone parts."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from pytest_agentbench.core.acts import ACT_KINDS, Act, GoalItem
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Role
from pytest_agentbench.messages.approvals import approvals_of, decisions_of
from pytest_agentbench.messages.assembly import Assembly, read_call, read_result
from pytest_agentbench.messages.blocks import is_call, is_part, is_thought, known_calls, read_part
from pytest_agentbench.messages.content import (
    UnreadableError,
    field,
    found,
    is_list,
    shown,
    text_field,
    validated,
)
from pytest_agentbench.messages.responses import is_responses_call, is_responses_item

ROLES: dict[str, Role] = {
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "user": "user",
    "human": "user",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_CLASSES: dict[str, Role] = {
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "HumanMessage": "user",
    "HumanMessageChunk": "user",
    "SystemMessage": "system",
    "SystemMessageChunk": "system",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "FunctionMessage": "tool",
    "FunctionMessageChunk": "tool",
    "chat": "user",
}
"""LangChain's types and classes."""

SAID_FIELDS = ("content", "parts", "tool_calls", "function_call", "refusal", "audio", "approvals")
"""Fields of a message that hold what its sender says or calls."""

_THOUGHT_FIELDS = ("reasoning_content", "reasoning", "thoughts")
"""Fields in which servers hand on what a model thought."""


def read_message(item: object, at: Keys, into: Assembly) -> None:
    """Read one message, or a part that stands by itself; raise `UnreadableError` where it is neither."""
    item = _unwrapped(item)
    kind = text_field(item, "type")
    if not text_field(item, "role") and kind not in ROLES and (is_part(kind) or is_responses_item(kind)):
        into.go_on(call=is_call(kind) or is_responses_call(kind), thought=is_thought(kind))
        read_part(item, at, into)
        return
    content = field(item, "content")
    if not kind and not text_field(item, "role") and is_list(field(content, "parts")):  # an event of Google ADK's
        read_message(content, (*at, "content"), into)
        return
    role = _role(item, at)
    parts = field(item, "parts") if is_list(field(item, "parts")) else content
    if role == "tool" and not _holds_results(parts):
        read_result(item, into)
        return
    into.begin("user" if role == "tool" else role, **_fields(item, role, at))
    place = (*at, "content" if parts is content else "parts")
    _read_content(item, parts, place, at, into)


def _fields(item: object, role: Role, at: Keys) -> dict[str, Any]:
    """Read what a message of ours says besides words, thoughts and calls."""
    if role == "user":
        return {
            "acts": _acts_of(item, (*at, "acts")),
            "goal_items": _goal_items_of(item, (*at, "goal_items")),
            "shows": _shows_of(item, (*at, "shows")),
            "decisions": decisions_of(field(item, "decisions"), (*at, "decisions")),
        }
    if role == "assistant":
        return {
            "approvals": approvals_of(field(item, "approvals"), (*at, "approvals")),
            "by": text_field(item, "name") or None,
            "events": _events(field(item, "events")),
            "output": _output(item),
        }
    return {}


def _read_content(item: object, parts: object, place: Keys, at: Keys, into: Assembly) -> None:
    calls = _calls(item, at)
    for name in _THOUGHT_FIELDS:
        if isinstance(thought := field(item, name), str):
            into.think(thought)
    aside = field(item, "additional_kwargs")
    into.think(text_field(aside, "reasoning_content"))
    said = field(item, "refusal") or text_field(field(item, "audio"), "transcript")
    if isinstance(parts, str):
        into.say(str.__str__(parts) or said or str.__str__(parts))
    elif is_list(parts):
        is_known = known_calls(calls)
        for index, part in enumerate(parts):
            read_part(part, (*place, index), into, skip=is_known)
    elif parts is not None:
        raise UnreadableError(f"{found(parts)} as the content of a message; expected text or a list of parts", place)
    elif isinstance(said, str) and said:
        into.say(said)
    for call in calls:
        into.call(call)
    outputs = field(aside, "tool_outputs")
    for index, output in enumerate(outputs if is_list(outputs) else ()):
        read_part(output, (*at, "additional_kwargs", "tool_outputs", index), into)


def _events(given: object) -> tuple[Event, ...]:
    """Read events of the form in which an import writes them; a list of anything else is somebody else's."""
    try:
        return tuple(Event.model_validate(one) for one in given) if is_list(given) else ()
    except ValidationError:
        return ()


def _output(item: object) -> JsonValue:
    """Read a typed answer beside a message's content; a text is none."""
    output = item.get("output") if isinstance(item, Mapping) else None
    return None if output is None or isinstance(output, str) else to_json(output)


def _holds_results(parts: object) -> bool:
    """Whether the content of a tool's message names calls itself, part by part."""
    if not isinstance(parts, list | tuple) or not parts:
        return False
    return all(
        text_field(part, "type") in ("tool_call_response", "tool-result", "tool_result")
        or field(part, "functionResponse", "function_response") is not None
        for part in parts
    )


def _unwrapped(item: object) -> object:
    """Take LangChain's wrapping off: `{lc, id, kwargs}` of serialized objects, `{type, data}` of dumped messages."""
    if not isinstance(item, Mapping):
        return item
    path = item.get("id")
    if item.get("lc") == 1 and is_list(path) and path and isinstance(item.get("kwargs"), Mapping):
        fields: Mapping[str, object] = item["kwargs"]
        return fields if fields.get("type") else {**fields, "type": path[-1]}
    data = item.get("data")
    if isinstance(item.get("type"), str) and isinstance(data, Mapping) and "content" in data:
        return {**data, "type": item["type"]}
    return item


def _role(item: object, at: Keys) -> Role:
    for name in ("role", "type"):
        given = field(item, name)
        text = getattr(given, "value", given)  # smolagents and others have an enumeration
        if not isinstance(text, str) or not text:
            continue
        role = ROLES.get(text) or _CLASSES.get(text)
        if role:
            return role
        if name == "type" and text == "message":
            break
        raise UnreadableError(f"found {shown(text)}, allowed: {listing(map(repr, ROLES))}", (*at, name))
    if any(field(item, name) is not None for name in SAID_FIELDS):
        return "assistant"
    raise UnreadableError(f"{found(item)}, expected a message: a role with content, calls or parts", at)


def _calls(item: object, at: Keys) -> list[ToolCall]:
    """Read the calls that stand beside a message's content."""
    calls = _listed(field(item, "tool_calls"), (*at, "tool_calls"))
    calls += _listed(field(item, "invalid_tool_calls"), (*at, "invalid_tool_calls"))
    single = field(item, "function_call")
    if single is not None:
        calls.append(read_call(single, (*at, "function_call")))
    aside = field(item, "additional_kwargs")
    if not calls and aside is not None:
        calls = _listed(field(aside, "tool_calls"), (*at, "additional_kwargs", "tool_calls"))
        legacy = field(aside, "function_call")
        calls += [read_call(legacy, (*at, "additional_kwargs", "function_call"))] if legacy is not None else []
    return calls


def _listed(calls: object, at: Keys) -> list[ToolCall]:
    if calls is None:
        return []
    if not is_list(calls):
        raise UnreadableError(f"{found(calls)}, expected a list of tool calls", at)
    return [read_call(call, (*at, index)) for index, call in enumerate(calls)]


def _acts_of(item: object, at: Keys) -> tuple[Act, ...] | None:
    """Give what a user meant with a message: `acts`, a list of kinds or `{kind, about, facts}`; None where unsaid."""
    given = field(item, "acts")
    if given is None:
        return None
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise UnreadableError(f"found {shown(given)}, expected a list of acts", at)
    return tuple(one if isinstance(one, Act) else _act(one, (*at, index)) for index, one in enumerate(given))


def _act(given: object, at: Keys) -> Act:
    form = given if isinstance(given, dict) else {"kind": given}
    if form.get("kind") not in ACT_KINDS:
        raise UnreadableError(f"found {shown(form.get('kind'))}, allowed: {listing(map(repr, ACT_KINDS))}", at)
    return validated(Act, form, at)


def _goal_items_of(item: object, at: Keys) -> tuple[GoalItem, ...]:
    """Give what a user said of its goal with a message: `goal_items`, a list of `{text, done}`."""
    return tuple(
        validated(GoalItem, one, (*at, index)) for index, one in enumerate(_several(field(item, "goal_items"), at))
    )


def _shows_of(item: object, at: Keys) -> tuple[str, ...]:
    """Give the modifiers that a user said it acted out with a message: `shows`, a list of names."""
    several = _several(field(item, "shows"), at)
    for index, one in enumerate(several):
        if not isinstance(one, str):
            raise UnreadableError(f"found {shown(one)}, expected the name of a modifier", (*at, index))
    return tuple(map(str, several))


def _several(given: object, at: Keys) -> Sequence[object]:
    if given is not None and not is_list(given):
        raise UnreadableError(f"found {shown(given)}, expected a list", at)
    return given or ()
