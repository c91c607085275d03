"""What a modified user may know at a point of the conversation, and which instructions are in force there."""

import re
from collections.abc import Sequence
from typing import Any

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.values import JsonValue, to_json
from pytest_agentbench.users.modifiers.behaviour import Behaviour
from pytest_agentbench.users.modifiers.records import normal

_ITEM = re.compile(r"^[ \t]*(?:[-*•–]|\d{1,2}[.)])[ \t]+(?P<text>\S.*?)[ \t]*$", re.MULTILINE)
"""An item of a list in a goal, as Markdown has it and people write it."""

_TEXTS = ("persona", "goal", "known_info", "task_instructions")
"""Fields of a view that are texts."""

_GONE = object()


def in_force(behaviours: Sequence[Behaviour], view: View, *, closing: bool = False) -> tuple[Behaviour, ...]:
    """Give the behaviours whose instruction counts now; `closing` adds those that wait.

    A behaviour with `from_message` N is in force once the agent has sent N messages of this run.
    """
    heard = agent_messages(view.messages[view.begun :])
    return tuple(behaviour for behaviour in behaviours if closing or heard >= behaviour.from_message)


def waiting(behaviours: Sequence[Behaviour], view: View) -> tuple[Behaviour, ...]:
    """Give the behaviours that are not in force yet; a user that would close should act on them first."""
    now = in_force(behaviours, view)
    return tuple(behaviour for behaviour in behaviours if behaviour not in now)


def apply(view: View, behaviours: Sequence[Behaviour]) -> View:
    """Give the view without what the behaviours take away, which is the same in the whole conversation.

    That is a forgotten value, and a part of goal or lines that the instruction of the behaviour tells when it is due.
    """
    for behaviour in behaviours:
        for value in behaviour.forgets:
            view = _view_without(view, value)
        if behaviour.unknown:
            view = view.model_copy(update={"unknown": (*view.unknown, behaviour.unknown)})
        if behaviour.held_back in view.says:
            says = tuple(line for line in view.says if line != behaviour.held_back)
            view = view.model_copy(update={"says": says})
        elif behaviour.held_back and behaviour.held_back in list_items(view.goal):
            view = view.model_copy(update={"goal": view.goal[: list(_ITEM.finditer(view.goal))[-1].start()].rstrip()})
    return view


def agent_messages(messages: Sequence[Message]) -> int:
    """Count the agent's texts; those between two messages of the user are one."""
    speakers = [one.role for one in messages if one.role in ("user", "assistant") and one.text.strip()]
    return sum(role == "assistant" != before for before, role in zip(["", *speakers], speakers, strict=False))


def list_items(text: str) -> list[str]:
    """Give the items of the list that a text ends with."""
    found = list(_ITEM.finditer(text))
    return [item["text"] for item in found] if found and not text[found[-1].end() :].strip() else []


def without(text: str, value: str) -> str:
    """Give a text without a value and the lines that are a fact with it; no trace of the place is kept."""
    body = r"[\s_]+".join(map(re.escape, value.lstrip("#").replace("_", " ").split())) or r"(?!)"
    spelled = re.compile(rf"([^\S\n]*)(?<![^\W_])#?{body}(?![^\W_])([^\S\n]*)", re.IGNORECASE)
    lines = [line for line in text.split("\n") if normal(line.partition(": ")[2]) != normal(value)]
    return "\n".join(spelled.sub(lambda found: found[1] and found[2], line) for line in lines)


def _view_without(view: View, value: str) -> View:
    told: dict[str, Any] = {name: without(text, value) for name in _TEXTS if (text := getattr(view, name))}
    told |= {name: tuple(without(text, value) for text in getattr(view, name)) for name in ("says", "unknown")}
    knows = {str(name): _pruned(to_json(item), value) for name, item in view.knows.items()}
    return view.model_copy(update={**told, "knows": {name: one for name, one in knows.items() if one is not _GONE}})


def _pruned(item: JsonValue, value: str) -> JsonValue:
    """Give a fact without a value, `_GONE` where it is nothing else."""
    if isinstance(item, dict):
        kept = {name: _pruned(one, value) for name, one in item.items()}
        return {name: one for name, one in kept.items() if one is not _GONE}
    if isinstance(item, list):
        return [one for one in (_pruned(one, value) for one in item) if one is not _GONE]
    if item is not None and normal(item) == normal(value):
        return _GONE
    return without(item, value) if isinstance(item, str) else item
