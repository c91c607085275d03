"""A suite's `agent:` becomes the agent of one run."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.agents.callables import AdaptedAgent, declares_tools, parameters
from pytest_agentbench.agents.factory import base_url_default, build_agent, factory_arguments
from pytest_agentbench.core.conversation import Turn
from pytest_agentbench.core.errors import AgentBenchError, AgentError, ImportPathError, SuiteFaultError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.protocols import Agent, RunSync
from pytest_agentbench.core.suite import AgentSpec, HttpAgentSpec, OpenAIAgentSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller, Chat
from pytest_agentbench.testing import ModelServer
from tests.agents.http_endpoint import endpoint
from tests.tables import each

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
def build(tmp_path: Path, run_sync: RunSync, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Give a function that builds `name` of a module written for this test."""
    module = f"agents_of_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(AGENTS)
    monkeypatch.syspath_prepend(tmp_path)

    async def built(name: str, kind: Any = "factory", **keywords: Any) -> Agent:
        spec = AgentSpec(kind=kind, target=f"{module}:{name}")
        offered = {"tools": "TOOLS", "state": "STATE", "context": "CONTEXT", "session_id": "s1"}
        return await build_agent(spec, root=tmp_path, keywords=keywords, offered=offered, run_sync=run_sync)

    return built


async def said(agent: Agent) -> str:
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

    arguments = factory_arguments(
        parameters(factory), "m:factory", keywords={"tools": "mine"}, offered={"tools": "theirs"}
    )
    assert arguments == {"tools": "mine"}
    assert factory_arguments(parameters(dict), "m:dict", keywords={"a": 1}, offered={"tools": 2}) == {"a": 1}
    assert declares_tools(factory)
    assert not declares_tools(dict)


BASED = """
class Based:
    def __init__(self, base_url="http://own/v1"):
        self.base_url = base_url

    def reply(self, message):
        return self.base_url


def unbased():
    return lambda message: "none"


def required(base_url):
    return lambda message: base_url
"""


@dataclass
class Offer:
    """Offers a base URL, and remembers what it was asked with."""

    url: str | None = "http://proxy/v1"
    asked: list[str | None] = field(default_factory=list)

    async def __call__(self, default: str | None) -> str | None:
        """Give the URL."""
        self.asked.append(default)
        return self.url


@pytest.fixture
def build_based(tmp_path: Path, run_sync: RunSync) -> Build:
    """Give a function that builds an agent which may be offered a base URL."""
    module = f"based_of_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(BASED)

    async def built(name: str, offer: object, **keywords: str) -> Agent:
        spec = AgentSpec(kind="factory", target=f"{module}:{name}")
        offered = {"base_url": offer}
        return await build_agent(spec, root=tmp_path, keywords=keywords, offered=offered, run_sync=run_sync)

    return built


@pytest.mark.parametrize(
    ("name", "keywords", "offer", "gives"),
    [
        ("Based", {}, Offer(), ("http://proxy/v1", ["http://own/v1"])),
        ("Based", {}, Offer(None), ("http://own/v1", ["http://own/v1"])),
        ("Based", {"base_url": "http://mine/v1"}, Offer(), ("http://mine/v1", [])),
        ("unbased", {}, Offer(), ("none", [])),
        ("required", {}, Offer(), ("http://proxy/v1", [None])),
    ],
)
async def test_a_base_url_is_made_only_for_a_factory_that_takes_it(
    name: str, keywords: dict[str, str], offer: Offer, gives: tuple[str, list[str | None]], build_based: Build
) -> None:
    """The offer is asked with the factory's own default, which stays where nothing is offered; a variant's wins."""
    agent = await build_based(name, offer, **keywords)

    assert (await said(agent), offer.asked) == gives


async def test_a_base_url_may_be_offered_as_it_is(build_based: Build) -> None:
    """A text needs no asking, and a factory that needs one and is offered none says so."""
    assert await said(await build_based("required", "http://proxy/v1")) == "http://proxy/v1"
    with pytest.raises(SuiteFaultError, match="requires base_url"):
        await build_based("required", Offer(None))


@each(
    ("parameter", "default"),
    [
        ("base_url='http://own/v1'", "http://own/v1"),
        ("*, base_url='http://own/v1'", "http://own/v1"),
        ("base_url=''", None),
        ("base_url=None", None),
        ("base_url", None),
        ("**base_url", None),
        ("url='http://own/v1'", None),
    ],
)
def test_the_default_of_base_url_is_what_a_factory_leads_to(parameter: str, default: str | None) -> None:
    """Only a text that is not empty says where a model is."""
    made: dict[str, Any] = {}
    exec(f"def factory({parameter}): ...", made)

    assert base_url_default(made["factory"]) == default


@dataclass
class Opened:
    """Opens chats of the real model access, and remembers which models were asked for."""

    base_url: str
    specs: list[ModelSpec] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.models = Models(environ={})

    def __call__(self, spec: ModelSpec) -> Chat:
        """Give the chat of an agent."""
        self.specs.append(spec)
        return self.models.chat(spec, Caller(role="agent"))


async def test_a_chat_model_is_built_as_its_variant_says(run_sync: RunSync, tmp_path: Path) -> None:
    """Keywords of the variant reach the model that is asked, whose calls are always visible."""
    with ModelServer(lambda request: f"{request.model} {request.system}") as server:
        chat = OpenAIAgentSpec(model=ModelSpec(model="big", base_url=server.base_url), system="Be kind.")
        opened = Opened(server.base_url)
        agent = await build_agent(
            AgentSpec(kind="openai", target="openai:big", openai=chat),
            root=tmp_path,
            keywords={"model": "small", "system": "Be brief."},
            offered={},
            run_sync=run_sync,
            chat=opened,
        )
        reply = await agent.reply(Turn(message="Hi", messages=(Message(role="user", content="Hi"),)))
        await opened.models.close()

    assert reply.messages[0].text == "small Be brief."
    assert [spec.model for spec in opened.specs] == ["small"]
    assert agent.calls_visible is True  # both adapters have it, the seam does not


async def test_an_endpoint_is_built_as_its_variant_says(run_sync: RunSync, tmp_path: Path) -> None:
    """Keywords of the variant reach the request; the context offered fills it."""
    async with endpoint({"reply": "Hello."}) as there:
        http = HttpAgentSpec(url="http://127.0.0.1:1", headers={"X-Token": "$context.token"})
        agent = await build_agent(
            AgentSpec(kind="http", target=http.url, http=http),
            root=tmp_path,
            keywords={"url": there.url},
            offered={"context": {"token": "t-1"}},
            run_sync=run_sync,
        )
        await agent.reply(Turn(message="Hi", context={"token": "t-1"}))

    assert there.headers[0]["X-Token"] == "t-1"


@pytest.mark.parametrize(
    ("spec", "keywords", "says"),
    [
        (AgentSpec(kind="http", http=HttpAgentSpec(url="http://h")), {"urll": "x"}, "did you mean 'url'"),
        (AgentSpec(kind="openai", openai=OpenAIAgentSpec(model=ModelSpec(model="m"))), {"seeed": 1}, "mean 'seed'"),
        (
            AgentSpec(kind="openai", target="openai:m", openai=OpenAIAgentSpec(model=ModelSpec(model="m"))),
            {},
            "reached",
        ),
    ],
)
async def test_what_no_model_or_endpoint_takes_is_the_suites_fault(
    spec: AgentSpec, keywords: dict[str, object], says: str, run_sync: RunSync, tmp_path: Path
) -> None:
    """An unknown keyword names the one that was meant; a model that cannot be reached from here says so."""
    with pytest.raises(SuiteFaultError, match=says):
        await build_agent(spec, root=tmp_path, keywords=keywords, offered={}, run_sync=run_sync)
