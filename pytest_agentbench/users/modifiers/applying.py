"""What a modifier comes to in one scenario, what its user may know, and whether the behaviour showed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.core.acts import ActKind
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.ids import plain_values
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.modifier import ModifierName
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.transcript import CallRecord, Message, Transcript
from pytest_agentbench.llm.templates import Templates
from pytest_agentbench.users.modifiers.records import is_stated, normal

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


_ANSWERS: frozenset[ActKind] = frozenset({"confirm", "condition", "decline"})
"""Acts that are about what the agent said."""


def shown(behaviour: Behaviour, transcript: Transcript, scenario: Scenario) -> bool | None:
    """Tell whether the user behaved as told; None where a turn that does not say what it does may have shown it.

    What a turn does is told by its acts with their values, its goal items and the modifiers that it says it acts out,
    never by how its words read. A conversation that ends before the behaviour could show does not show it.
    """
    messages = transcript.messages
    said = [(at, one) for at, one in enumerate(messages) if one.role == "user" and one.text.strip()]
    turns = [_Turn(at, one, agent_messages(messages[:at])) for at, one in said if _is_typed(one)]
    if _is_shown(behaviour, turns, transcript, scenario):
        return True
    return False if len(turns) == len(said) else None


@dataclass(frozen=True)
class _Turn:
    """One message of the user that says what it does: its place, and how often the agent had spoken before."""

    at: int
    message: Message
    after: int

    def gives(self, value: str) -> bool:
        """Whether its facts, what it is about, or its words hold a value; what an answer is about the agent gave."""
        held = [[act.facts, [] if act.kind in _ANSWERS else list(act.about)] for act in self.message.acts or ()]
        texts = [self.message.text, *(str(one).replace("_", " ") for _, one in plain_values(held))]
        return is_stated(value, "\n".join(texts))

    def adds(self, before: "_Turn | None") -> bool:
        """Whether the turn asks for something, or has more goal items than the one before."""
        more = before is not None and len(self.message.goal_items) > len(before.message.goal_items)
        return more or any(act.kind in ("request", "ask") for act in self.message.acts or ())


def _is_typed(message: Message) -> bool:
    return message.acts is not None or bool(message.goal_items or message.shows)


def _is_shown(behaviour: Behaviour, turns: Sequence[_Turn], transcript: Transcript, scenario: Scenario) -> bool:
    acting = [place for place, turn in enumerate(turns) if behaviour.label in turn.message.shows]
    swaps = [_between(swap, turns, transcript) for swap in behaviour.wrong]
    expected = {call.name for call in scenario.expected_calls}
    match behaviour.name:
        case "wrong_value_first":
            return None not in swaps
        case "changes_mind":  # in time: the first option was not carried out before the other was wished for
            pairs = zip(behaviour.wrong, swaps, strict=True)
            return None not in swaps and not any(
                _carries_out(record, swap.first, expected) for swap, between in pairs for record in between or ()
            )
        case "forgets_identifier":
            return bool(acting) and not any(_gives_unheard(value, turns, transcript) for value in behaviour.forgets)
        case "adds_intent":
            before = [None, *turns]
            return any(turns[at].after and turns[at].adds(before[at]) for at in acting)
        case "out_of_scope":  # once, and then it went back to its matter
            return len(acting) == 1 and turns[acting[0]] is not turns[-1]
        case "impatient":
            return bool(acting)


def _gives_unheard(value: str, turns: Sequence[_Turn], transcript: Transcript) -> bool:
    """Tell whether the user gives a value that the agent has not named before."""
    heard = next((at for at, text in transcript.texts("assistant") if is_stated(value, text)), None)
    return any(turn.gives(value) and (heard is None or turn.at < heard) for turn in turns)


def _between(swap: Swap, turns: Sequence[_Turn], transcript: Transcript) -> list[CallRecord] | None:
    """Give the calls between the first turns that give each value; None where these are not, in this order, apart."""
    start, end = (next((turn.at for turn in turns if turn.gives(one)), None) for one in (swap.first, swap.right))
    if start is None or end is None or start >= end:
        return None
    return [record for record in transcript.trajectory if start < record.message < end]


def _carries_out(record: CallRecord, value: str, expected: set[str]) -> bool:
    if record.failed or record.call.requestor == "user":
        return False
    wrote = record.result.wrote if record.result else None
    changes = record.call.name in expected if wrote is None else wrote
    return changes and normal(value) in {normal(one) for _, one in plain_values(record.call.arguments)}
