"""Conversations that begin in the middle: τ²'s `message_history` as messages."""

from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.reading import read


def history_of(scenario: Scenario) -> tuple[Message, ...]:
    """Give the messages that were exchanged before the run starts; empty for most scenarios.

    Suites whose histories cannot be read do not load.
    """
    initial = scenario.task.initial_state
    return tuple(read((initial and initial.message_history) or ()))
