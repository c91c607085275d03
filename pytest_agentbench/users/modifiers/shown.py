"""Whether a behaviour showed in a finished conversation."""

from collections.abc import Callable

from pytest_agentbench.core.modifier import ModifierName
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.users.modifiers.behaviour import Behaviour
from pytest_agentbench.users.modifiers.talk import Talk
from pytest_agentbench.users.modifiers.traces import (
    added_intent,
    asked_beside,
    changed_mind,
    forgot,
    pressed,
    was_wrong_first,
)

_TRACES: dict[ModifierName, Callable[[Behaviour, Talk, Scenario], bool]] = {
    "forgets_identifier": forgot,
    "wrong_value_first": was_wrong_first,
    "changes_mind": changed_mind,
    "adds_intent": added_intent,
    "impatient": pressed,
    "out_of_scope": asked_beside,
}


def shown(behaviour: Behaviour, transcript: Transcript, scenario: Scenario) -> bool:
    """Tell whether the user behaved as told: whether the whole of it can be read off what was said.

    It reads the words of both parties and the calls of the agent, never the final state. A conversation that ends
    before the behaviour could show does not show it.
    """
    return _TRACES[behaviour.name](behaviour, Talk(transcript), scenario)
