"""What a modified user may know at a point of the conversation, and which instructions are in force there."""

import re
from collections.abc import Callable, Sequence

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
            view = without_value(view, value)
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


def without_value(view: View, value: str) -> View:
    """Give the view without a value: facts that are it are gone, texts lose it and keep no trace of the place."""
    key = normal(value)
    body = r"[\s_]+".join(map(re.escape, value.lstrip("#").replace("_", " ").split())) or r"(?!)"
    spelled = re.compile(rf"([^\S\n]*)(?<![^\W_])#?{body}(?![^\W_])([^\S\n]*)", re.IGNORECASE)

    def cut(text: str) -> str:
        """Leave out the lines that are a fact with this value, and the value in all others."""
        lines = [line for line in text.split("\n") if normal(line.partition(": ")[2]) != key]
        return "\n".join(spelled.sub(lambda found: found[1] and found[2], line) for line in lines)

    texts = {name: cut(text) for name in _TEXTS if (text := getattr(view, name))}
    knows = {str(name): _without(to_json(item), key, cut) for name, item in view.knows.items()}
    told = {
        "knows": {name: item for name, item in knows.items() if item is not _GONE},
        "says": tuple(map(cut, view.says)),
        "unknown": tuple(map(cut, view.unknown)),
    }
    return view.model_copy(update={**texts, **told})


def _without(value: JsonValue, key: str, cut: Callable[[str], str]) -> JsonValue:
    if isinstance(value, dict):
        kept = {name: _without(item, key, cut) for name, item in value.items()}
        return {name: item for name, item in kept.items() if item is not _GONE}
    if isinstance(value, list):
        return [item for item in (_without(item, key, cut) for item in value) if item is not _GONE]
    if value is not None and normal(value) == key:
        return _GONE
    return cut(value) if isinstance(value, str) else value
