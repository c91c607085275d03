"""Who sees what: nobody ever sees what another party thought."""

from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.simulation.views import agent_turn, user_view

SAID = (
    Message(role="user", content="Refund W1.", thoughts="I shall not say why."),
    Message(role="assistant", content="It is refunded.", thoughts="Was it W2?"),
)


def test_the_agent_keeps_its_own_thoughts_and_sees_none_of_the_user() -> None:
    """What a simulated user thinks may be what the agent is to find out."""
    turn = agent_turn(SAID, [], session_id="s", context={}, tools=Toolset())

    assert [(message.text, message.thoughts) for message in turn.messages] == [
        ("Refund W1.", None),
        ("It is refunded.", "Was it W2?"),
    ]


def test_the_user_hears_what_is_said() -> None:
    """What the agent thinks besides is none of its words."""
    scenario = Scenario(id="a", title="a", task=Task(id="a"))

    view = user_view(scenario, SAID, begun=0, tools=Toolset())

    assert [message.text for message in view.messages] == ["Refund W1.", "It is refunded."]
    assert not any(message.thoughts for message in view.messages)
