"""What a framework made is told by its type's bases; real frameworks are tried in tests/real."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_agentbench import Termination, simulate
from pytest_agentbench.agents.factory import build_agent
from pytest_agentbench.agents.frameworks.agent import Answered, FrameworkAgent
from pytest_agentbench.agents.frameworks.recognition import framework_of
from pytest_agentbench.core.conversation import Turn
from pytest_agentbench.core.errors import AgentError, SuiteFaultError
from pytest_agentbench.core.protocols import RunSync
from pytest_agentbench.core.suite import AgentSpec
from pytest_agentbench.core.transcript import Message
from tests.tables import each


def made_by(module: str, name: str, **members: object) -> object:
    """Give an instance of a subclass of `module.name`, as a user's own class of a framework's is."""
    base = type(name, (), {"__module__": module})
    return type("Mine", (base,), {"__module__": "my_agent", **members})()


@each(
    ("module", "name", "framework"),
    [
        ("langgraph.pregel.main", "Pregel", "LangGraph"),
        ("pydantic_ai.agent.abstract", "AbstractAgent", "pydantic-ai"),
        ("agents.agent", "Agent", "OpenAI Agents SDK"),
        ("smolagents.agents", "MultiStepAgent", "smolagents"),
        ("google.adk.agents.base_agent", "BaseAgent", "Google ADK"),
        ("google.adk.apps.app", "App", "Google ADK"),
        ("langgraphical.pregel", "Pregel", None),
        ("agents.mine", "Agent", None),
        ("my_agent", "Pregel", None),
    ],
)
def test_the_bases_of_a_type_tell_its_framework(module: str, name: str, framework: str | None) -> None:
    """A package of the user's with a similar name is none."""
    assert framework_of(made_by(module, name)) == framework


@each("thing", [None, "text", 3, len, int, Path, lambda message: message])
def test_whatever_else_is_no_frameworks(thing: object) -> None:
    """Functions, classes and values are left to others."""
    assert framework_of(thing) is None


def test_an_object_with_a_reply_of_its_own_is_used_by_that() -> None:
    """A user who wrapped a framework's class meant to."""
    assert framework_of(made_by("pydantic_ai.agent", "AbstractAgent", reply=str)) is None


def test_a_graph_that_is_not_compiled_says_what_to_write() -> None:
    """A builder is a common slip."""
    with pytest.raises(SuiteFaultError, match=r"StateGraph that is not compiled; name `builder.compile\(\)`"):
        framework_of(made_by("langgraph.graph.state", "StateGraph"))


GRAPH = """
from types import SimpleNamespace
from typing import TypedDict


class Pregel:
    __module__ = "langgraph.pregel.main"
    checkpointer = None

    def __init__(self, *channels):
        self.channels = channels


graph = Pregel("messages")
other = Pregel("question", "answer")


class Mail(TypedDict):
    email: str


mail = Pregel("messages", "email")
mail.builder = SimpleNamespace(input_schema=Mail)


def build():
    return graph
"""


@pytest.fixture
def build(run_sync: RunSync, tmp_path: Path) -> Callable[..., object]:
    """Give what builds an agent of a module with a stand-in for a graph."""
    module = f"graph_{abs(hash(tmp_path))}"
    (tmp_path / f"{module}.py").write_text(GRAPH)

    def built(name: str, **keywords: object) -> object:
        spec = AgentSpec(kind="factory", target=f"{module}:{name}")
        return asyncio.run(build_agent(spec, root=tmp_path, keywords=keywords, offered={}, run_sync=run_sync))

    return built


@pytest.mark.parametrize("name", ["graph", "build"])
def test_the_path_may_lead_to_it_or_a_factory_give_it(build: Callable[..., object], name: str) -> None:
    """Both are the agent of a run, whose calls show."""
    agent = build(name)

    assert isinstance(agent, FrameworkAgent)
    assert agent.framework == "LangGraph"
    assert agent.calls_visible


def test_it_takes_no_keywords_of_a_variant(build: Callable[..., object]) -> None:
    """Only a factory could."""
    with pytest.raises(SuiteFaultError, match=r"is an agent of LangGraph and takes no variant keywords, got tone"):
        build("graph", tone="curt")


def test_a_graph_without_messages_is_refused(build: Callable[..., object]) -> None:
    """Nobody can tell what else to give it."""
    with pytest.raises(SuiteFaultError, match=r"has no `messages` \(it has answer, question\)"):
        build("other")


def test_a_graph_that_is_given_something_else_is_refused(build: Callable[..., object]) -> None:
    """Its state has messages, and what it is called with has not: it would crash, and the agent be blamed."""
    with pytest.raises(SuiteFaultError, match=r"takes no `messages` \(it takes email\)"):
        build("mail")


class Session:
    """A session that gives what it is told."""

    def __init__(self, given: Answered) -> None:
        self._given = given

    def answer(self, message: str) -> Answered:
        """Answer."""
        return self._given


def replied(given: Answered, run_sync: RunSync) -> object:
    """Give what an agent on such a session replies."""
    agent = FrameworkAgent(Session(given), framework="Frame", run_sync=run_sync)
    return asyncio.run(agent.reply(Turn(message="Hello")))


@pytest.mark.parametrize(
    ("messages", "reason", "said"),
    [
        ([], "", "it gave no message"),
        ([], "its model gave SAFETY", "its model gave SAFETY"),
        ([Message(role="assistant", content=" ")], "", "its last message is empty"),
        ([Message(role="tool", content="found")], "", "its last message is the tool result 'found'"),
    ],
)
def test_silence_is_a_crash_with_its_reason(run_sync: RunSync, messages: list[Message], reason: str, said: str) -> None:
    """An empty answer never reaches the user as one."""
    with pytest.raises(AgentError, match=f"the Frame run ended without an answer: {said}"):
        replied(Answered(messages=messages, reason=reason), run_sync)


class Pregel:
    """A graph whose model is gone after it made two calls, of which the first was refused."""

    __module__ = "langgraph.pregel.main"
    checkpointer = object()
    channels = ("messages",)

    async def ainvoke(self, given: object, config: object) -> None:
        """Raise."""
        raise RuntimeError("the model is gone")

    async def aget_state(self, config: object) -> SimpleNamespace:
        """Give what the checkpointer kept."""
        calls = [{"name": "book", "args": {"hours": hours}, "id": id_} for hours, id_ in (("three", "a"), (3, "b"))]
        said = [
            {"type": "human", "id": "1", "content": "Book it"},
            {"type": "ai", "id": "2", "content": "", "tool_calls": calls[:1]},
            {"type": "tool", "id": "3", "content": "no number", "tool_call_id": "a", "status": "error"},
            {"type": "ai", "id": "4", "content": "", "tool_calls": calls[1:]},
        ]
        return SimpleNamespace(values={"messages": [SimpleNamespace(**one) for one in said]})


def test_what_was_done_before_a_turn_broke_off_stands() -> None:
    """A refused call is no call that was never made; one that nothing answered is not known to have been made."""
    run = simulate(Pregel(), says=["Book it"], expect=[{"book": {"hours": 3}}])

    assert run.termination is Termination.CRASHED
    assert [(record.call.arguments, record.failed) for record in run.calls] == [({"hours": "three"}, True)]
    assert [message.role for message in run.transcript.messages] == ["user", "assistant", "tool"]
    assert [call.status for call in run.explanations] == ["wrong_arguments"]
