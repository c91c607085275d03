"""What a modifier comes to in one scenario, what its user may know, and which instructions are in force."""

import re
from collections.abc import Sequence
from typing import Any

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.modifier import ModifierName
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.values import JsonValue, to_json
from pytest_agentbench.llm.templates import Templates
from pytest_agentbench.users.modifiers.records import normal

_VERSION = "v2"
"""The version of the instructions; recorded answers belong to the one that they were given to."""

_PROMPTS = Templates("pytest_agentbench.users.modifiers")


class Swap(Model):
    """A value that is said first, and the scenario's own that takes its place; `label` names what they are."""

    label: str
    first: str
    right: str


class Behaviour(Model):
    """One modifier as it applies to one scenario.

    `instruction` is English text for the prompt, whatever language the user speaks. `forgets` are the values that the
    user does not have, `unknown` is what they are. `wrong` is what is said first and what it is corrected to. `intent`
    is what the user wants on top, `ask` what it asks beside the matter ("": what it likes). The instruction is in force
    from the agent's message `from_message` on (0: from the start). `held_back` is the line, or the item of the goal's
    list, that the intent is taken from. `nth` tells behaviours of one name apart.
    """

    name: ModifierName
    instruction: str
    forgets: tuple[str, ...] = ()
    unknown: str = ""
    wrong: tuple[Swap, ...] = ()
    intent: str = ""
    held_back: str = ""
    ask: str = ""
    from_message: int = 0
    nth: int = 1

    @property
    def label(self) -> str:
        """The name by which the user, and what is found of it, tells this behaviour from others."""
        return self.name if self.nth == 1 else f"{self.name}_{self.nth}"

    @property
    def may_say(self) -> tuple[str, ...]:
        """The texts that the user may say although its view does not hold them."""
        return tuple(filter(None, (*(swap.first for swap in self.wrong), self.intent, self.ask)))


def instruction(name: ModifierName, /, **values: str) -> str:
    """Fill the instruction of a modifier."""
    return _PROMPTS.render(f"{name}.{_VERSION}", values)


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
    cut: dict[str, Any] = {name: without(text, value) for name in _TEXTS if (text := getattr(view, name))}
    cut |= {name: tuple(without(text, value) for text in getattr(view, name)) for name in ("says", "unknown")}
    return view.model_copy(update={**cut, "knows": _pruned(to_json(view.knows), value)})


def _pruned(item: JsonValue, value: str) -> JsonValue:
    """Give a fact without a value, `_GONE` where it is nothing else."""
    if isinstance(item, dict):
        return {name: kept for name, one in item.items() if (kept := _pruned(one, value)) is not _GONE}
    if isinstance(item, list):
        return [kept for one in item if (kept := _pruned(one, value)) is not _GONE]
    if item is not None and normal(item) == normal(value):
        return _GONE
    return without(item, value) if isinstance(item, str) else item
