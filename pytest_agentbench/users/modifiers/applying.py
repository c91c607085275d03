"""What a modified user may know at a point of the conversation, and which instructions are in force there."""

import re
from collections.abc import Callable, Sequence

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.values import JsonValue, to_json
from pytest_agentbench.users.modifiers.behaviour import Behaviour
from pytest_agentbench.users.modifiers.spelling import normal, spelled

_FORGOTTEN = {"en": "(forgotten)", "fr": "(oublié)"}


def in_force(behaviours: Sequence[Behaviour], view: View, *, closing: bool = False) -> tuple[Behaviour, ...]:
    """Give the behaviours whose instruction belongs into the prompt now; `closing` adds those that wait.

    A behaviour with `from_message` N is in force once the agent has sent N messages of this run.
    """
    if not behaviours:
        return ()
    heard = agent_messages(view.messages[view.begun :])
    return tuple(behaviour for behaviour in behaviours if closing or heard >= behaviour.from_message)


def waiting(behaviours: Sequence[Behaviour], view: View) -> tuple[Behaviour, ...]:
    """Give the behaviours that are not in force yet; a user that would close should act on them first."""
    now = in_force(behaviours, view)
    return tuple(behaviour for behaviour in behaviours if behaviour not in now)


def apply(view: View, behaviours: Sequence[Behaviour], *, closing: bool = False) -> View:
    """Give the view without what the behaviours take away: forgotten values, and intents held back until they are due.

    Only what the user was told changes; the messages stay.
    """
    for behaviour in behaviours:
        if behaviour.forgets:
            view = _without_values(view, behaviour)
    due = in_force(behaviours, view, closing=closing)
    for behaviour in behaviours:
        if behaviour.held_back and behaviour not in due:
            view = _without_part(view, behaviour.held_back)
    return view


def agent_messages(messages: Sequence[Message]) -> int:
    """Count the agent's texts; those between two messages of the user are one."""
    count, speaking = 0, False
    for message in messages:
        if message.role == "user" and message.text.strip():
            speaking = False
        elif message.role == "assistant" and message.text.strip() and not speaking:
            count, speaking = count + 1, True
    return count


def _without_values(view: View, behaviour: Behaviour) -> View:
    gap = _FORGOTTEN[behaviour.language]

    def cut(text: str) -> str:
        for value in behaviour.forgets:
            text = spelled(value).sub(gap, text)
        return text

    gone = {normal(value) for value in behaviour.forgets}
    knows = {name: _pruned(to_json(value), gone) for name, value in view.knows.items() if not _is_gone(value, gone)}
    told = {name: _replaced(value, cut) for name, value in knows.items()}
    unknown = (*view.unknown, *([behaviour.unknown] if behaviour.unknown else []))
    return _rewritten(view, cut).model_copy(update={"knows": told, "unknown": unknown})


def _is_gone(value: JsonValue, gone: set[str]) -> bool:
    plain = to_json(value)
    return not isinstance(plain, dict | list) and normal(plain) in gone


def _pruned(value: JsonValue, gone: set[str]) -> JsonValue:
    if isinstance(value, dict):
        return {key: _pruned(item, gone) for key, item in value.items() if not _is_gone(item, gone)}
    if isinstance(value, list):
        return [_pruned(item, gone) for item in value if not _is_gone(item, gone)]
    return value


def _replaced(value: JsonValue, cut: Callable[[str], str]) -> JsonValue:
    if isinstance(value, dict):
        return {key: _replaced(item, cut) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, cut) for item in value]
    return cut(value) if isinstance(value, str) else value


def _without_part(view: View, part: str) -> View:
    says = tuple(line for line in view.says if line != part)
    if says != view.says:
        return view.model_copy(update={"says": says})
    return _rewritten(view, lambda text: _cut_end(text, part))


def _cut_end(text: str, part: str) -> str:
    """Cut `part` off the end of `text`, with the list mark before it."""
    if not text.rstrip().endswith(part):
        return text
    return re.sub(r"\s*(?:[-*•–]|\d{1,2}[.)]|[a-z]\))?\s*$", "", text.rstrip().removesuffix(part))


def _rewritten(view: View, change: Callable[[str], str]) -> View:
    return view.model_copy(
        update={
            "persona": None if view.persona is None else change(view.persona),
            "goal": change(view.goal),
            "says": tuple(map(change, view.says)),
            "known_info": change(view.known_info),
            "task_instructions": change(view.task_instructions),
            "unknown": tuple(map(change, view.unknown)),
        }
    )
