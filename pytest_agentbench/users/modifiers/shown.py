"""Whether a behaviour showed in a finished conversation, by what the user's own turns say that they do."""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_agentbench.core.acts import ActKind
from pytest_agentbench.core.ids import plain_values
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.transcript import CallRecord, Message, Transcript
from pytest_agentbench.users.modifiers.applying import Behaviour, Swap, agent_messages
from pytest_agentbench.users.modifiers.records import is_stated, normal

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
