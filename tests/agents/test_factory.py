"""A suite's `agent:` becomes the agent of one run."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.agents.callables import AdaptedAgent
from pytest_agentbench.agents.factory import build_agent, factory_arguments
from pytest_agentbench.agents.visibility import declares_tools
from pytest_agentbench.core.conversation import Turn
from pytest_agentbench.core.errors import AgentBenchError, AgentError, ImportPathError, SuiteFaultError
from pytest_agentbench.core.suite import AgentSpec
from pytest_agentbench.environment.runner import Runner

AGENTS = """
import threading


def build(greeting="Hello", *, session_id=""):
    return lambda message: f"{greeting}, {message} ({session_id})"


async def build_async(tools, context):
    async def reply(message):
        return f"{tools} {context}"
    return reply


def build_any(**keywords):
    return lambda message: repr(keywords)


class Agent:
    def __init__(self, state):
        self.state = state
        self.thread = threading.current_thread().name

    def reply(self, message):
        return f"{self.state} {self.thread}"


def echo(message):
    return message


def raises():
    raise SystemExit("no licence")


def needs(model):
    return model


def gives_text():
    return "hello"


number = 3
"""

Build = Callable[..., Awaitable[AdaptedAgent]]


@pytest.fixture
def build(tmp_path: Path, run_sync: Runner, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Give a function that builds `name` of a module written for this test."""
    module = f"agents_of_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(AGENTS)
    monkeypatch.syspath_prepend(tmp_path)

    async def built(name: str, kind: Any = "factory", **keywords: Any) -> AdaptedAgent:
        spec = AgentSpec(kind=kind, target=f"{module}:{name}")
        offered = {"tools": "TOOLS", "state": "STATE", "context": "CONTEXT", "session_id": "s1"}
        return await build_agent(spec, root=tmp_path, keywords=keywords, offered=offered, run_sync=run_sync)

    return built


async def said(agent: AdaptedAgent) -> str:
    """Give the agent's answer to a greeting."""
    return (await agent.reply(Turn(message="you"))).messages[-1].text


async def test_a_factory_gets_the_variants_keywords_and_what_it_declares(build: Build) -> None:
    """Keywords of the variant and offered things go to the parameters of their names."""
    assert await said(await build("build", greeting="Hi")) == "Hi, you (s1)"
    assert await said(await build("build_async")) == "TOOLS CONTEXT"
    assert await said(await build("build_any", depth=2)) == "{'depth': 2}"


async def test_a_class_is_a_factory_built_in_the_runs_thread(build: Build) -> None:
    """A class is called like a function, where all sync code of the run is called."""
    assert (await said(await build("Agent"))).startswith("STATE the-run")


async def test_a_callable_is_the_reply_function_itself(build: Build) -> None:
    """Nothing is built for a plain reply function, and it takes no variant keywords."""
    assert await said(await build("echo", "callable")) == "you"
    with pytest.raises(SuiteFaultError, match="takes no variant keywords, got depth"):
        await build("echo", "callable", depth=2)


async def test_tools_given_to_the_factory_make_calls_visible(build: Build) -> None:
    """Only a factory that declares `tools` works with the environment's."""
    assert (await build("build_async")).calls_visible
    assert not (await build("build")).calls_visible


@pytest.mark.parametrize(
    ("name", "keywords", "says"),
    [
        (
            "build",
            {"greting": "Hi"},
            r"no parameter 'greting'.* are greeting, session_id \(did you mean 'greeting'\?\)",
        ),
        ("needs", {}, r"requires model, which is neither .* \(none\) nor offered here \(tools, state"),
        ("echo", {}, r"requires message.*write `agent: \{callable: agents_of_.*:echo\}`"),
        ("raises", {}, r"SystemExit: no licence \(agents_of_.*\.py:\d+ in raises\)"),
        ("gives_text", {}, "str 'hello' is no agent"),
        ("number", {}, "int 3, which cannot be called"),
    ],
)
async def test_what_cannot_be_built_says_why(name: str, keywords: dict[str, str], says: str, build: Build) -> None:
    """The error names the factory, what was found and what is allowed; only what it raises is the agent's own."""
    with pytest.raises(AgentBenchError, match=says) as caught:
        await build(name, **keywords)
    assert type(caught.value) is (AgentError if name == "raises" else SuiteFaultError)


async def test_a_path_that_leads_nowhere_is_an_import_path_error(build: Build) -> None:
    """What is wrong with the path is not blamed on the agent."""
    with pytest.raises(ImportPathError):
        await build("missing")


def test_positional_only_parameters_and_missing_signatures_are_planned() -> None:
    """A keyword of the variant wins over what is offered; builtins get the keywords."""

    def factory(tools: object, /, depth: int = 1) -> None: ...

    arguments = factory_arguments(factory, "m:factory", keywords={"tools": "mine"}, offered={"tools": "theirs"})
    assert arguments == {"tools": "mine"}
    assert factory_arguments(dict, "m:dict", keywords={"a": 1}, offered={"tools": 2}) == {"a": 1}
    assert declares_tools(factory)
    assert not declares_tools(dict)
