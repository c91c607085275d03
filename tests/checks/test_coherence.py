"""Redundant calls, and whether turns go on from what was before."""

import pytest

from pytest_agentbench.checks.verdict import coherence, redundant_calls
from pytest_agentbench.core.acts import Act
from pytest_agentbench.core.run import Run, RunKey
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message, Transcript
from tests.tables import each

TOOLS = Toolset(specs=(ToolSpec(name="look", kind="read"), ToolSpec(name="change", kind="write"), ToolSpec(name="odd")))


def user(text):
    """The user says something."""
    return [Message(role="user", content=text)]


def says(text):
    """The agent says something."""
    return [Message(role="assistant", content=text)]


def calls(name, number=0, *, error=False, requestor="assistant", **arguments):
    """A call with its result."""
    role = "assistant" if requestor == "assistant" else "user"
    call = ToolCall(id=f"c{number}", name=name, arguments=arguments, requestor=requestor)
    answer = Message(role="tool", content="…", tool_call_id=f"c{number}", requestor=requestor, error=error)
    return [Message(role=role, tool_calls=(call,)), answer]


def run(*parts, **scenario):
    """A closed run of these messages."""
    messages = tuple(message for part in parts for message in part)
    return Run(
        key=RunKey(suite="s", scenario="a"),
        scenario=Scenario(id="a", title="a", task=Task(id="a"), **scenario),
        transcript=Transcript(messages=messages),
        termination=Termination.FINISHED,
        toolset=TOOLS,
    )


def redundant(*parts):
    """The names of the redundant calls among these messages."""
    return [record.call.name for record in redundant_calls(run(*parts).transcript.trajectory, TOOLS)]


@each(
    ("parts", "expected"),
    [
        pytest.param([calls("look", 1, a=1), calls("look", 2, a=1)], ["look"], id="same-again"),
        pytest.param([calls("look", 1, a=1), calls("look", 2, a=2)], [], id="other-arguments"),
        pytest.param([calls("look", 1, error=True), calls("look", 2)], [], id="after-a-failure"),
        pytest.param([calls("look", 1), calls("change", 2), calls("look", 3)], [], id="after-a-write"),
        pytest.param(
            [calls("look", 1), calls("change", 2, requestor="user"), calls("look", 3)], [], id="after-the-users-call"
        ),
        pytest.param([calls("look", 1), calls("odd", 2), calls("look", 3)], [], id="after-who-knows-what"),
        pytest.param([calls("change", 1), calls("change", 2)], [], id="writes-are-not-reads"),
        pytest.param([calls("look", 1), calls("change", 2, error=True), calls("look", 3)], ["look"], id="failed-write"),
    ],
)
def test_a_call_is_redundant_when_its_answer_is_known(parts, expected):
    """Same call, no failure, and nothing in between that may have changed the answer."""
    assert redundant(user("Hi"), *parts) == expected


def test_one_turn_has_no_coherence():
    """There is nothing to go on from."""
    assert coherence(run(user("Hi"), says("Hello, how can I help?"))) is None


def test_turns_that_go_on_are_coherent():
    """New calls and new texts."""
    found = run(
        user("W1"), calls("look", 1, id=1), says("It is here."), user("W2"), calls("look", 2, id=2), says("Gone.")
    )

    assert coherence(found) == 1.0


def test_a_turn_that_looks_the_same_thing_up_again_is_not():
    """One of two later turns repeats a lookup."""
    found = run(
        user("W1"), calls("look", 1), says("It is here."), user("Again?"), calls("look", 2), says("Yes, as I said."),
        user("Thanks"), says("You are welcome."),
    )  # fmt: skip

    assert coherence(found) == 0.5


def test_a_turn_that_says_the_same_again_is_not_but_manners_are():
    """24 signs and more, alike but for a few; short courtesies may come again."""
    long = "I can help you with orders and returns."

    assert coherence(run(user("Hi"), says(long), user("W1"), says(long))) == 0.0
    assert coherence(run(user("Hi"), says("You are welcome."), user("Bye"), says("You are welcome."))) == 1.0


def test_a_turn_that_asks_for_what_was_told_is_not():
    """The user gives a fact that it had given before: whatever the words, it was asked for again."""
    told = [Message(role="user", content="…", acts=(Act(kind="inform", facts={"email": "ada@example.org"}),))]
    other = [Message(role="user", content="…", acts=(Act(kind="inform", facts={"phone": "0123"}),))]

    assert coherence(run(told, says("Welche Bestellung?"), user("W1"), says("Und die E-Mail-Adresse?"), told)) == 0.0
    assert coherence(run(told, says("Welche Bestellung?"), user("W1"), says("Und die Nummer?"), other)) == 1.0
    assert coherence(run(user("Hi"), says("Welche?"), user("W1"), says("Und die Adresse?"), told)) == 1.0
