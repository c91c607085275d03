"""Models through pydantic-ai's classes: requests, answers and errors as those of a server of chat completions."""

import asyncio
import json
import sys
from typing import Any

import pytest
from pydantic import BaseModel

from pytest_agentbench.core.errors import KeyMissingError, SendError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.reply import ChatReply
from pytest_agentbench.llm.structured import structured
from pytest_agentbench.testing import ModelRequest, ModelServer, call, fault, text
from tests.llm.test_chat import CALLER, HELLO, play
from tests.plugin.models_project import SCRIPT, models_suite
from tests.plugin.project import Project

pytestmark = pytest.mark.real

NAME = "openai-chat:small-1"
TOOL = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Find an order.",
        "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
    },
}


@pytest.fixture(autouse=True)
def installed() -> None:
    """Pass over where the extra is not installed."""
    pytest.importorskip("pydantic_ai.direct")
    pytest.importorskip("openai")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server that pydantic-ai finds by the variables of OpenAI's own."""
    with ModelServer() as serving:
        monkeypatch.setenv("OPENAI_BASE_URL", serving.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-1")
        yield serving


def ask(messages: list[dict[str, Any]] = HELLO, *, spec: ModelSpec | None = None, **options: Any) -> ChatReply:
    """Ask once."""
    spec = spec or ModelSpec.named(NAME, transport="pydantic_ai", retries=0)
    environ = {"OPENAI_API_KEY": "sk-planted-1"}
    return play(lambda models: models.chat(spec, CALLER).complete(messages, **options), environ=environ)


def test_a_conversation_with_calls_goes_out_as_it_came(server: ModelServer) -> None:
    """System, user, calls and their results keep order, names and ids; settings keep their values."""
    server.play([call("find", id="W2").using(input=11, output=3, cached=4)])
    asked = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where is W1?"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"id":"W1"}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "shipped"},
        {"role": "user", "content": "And W2?"},
    ]

    spec = ModelSpec.named(NAME, transport="pydantic_ai", seed=7, headers={"X-Team": "a"})
    reply = ask(asked, spec=spec, tools=[TOOL], tool_choice="required", temperature=0.5, max_tokens=50)

    (request,) = server.requests
    sent = [{key: one[key] for key in one if one[key] is not None} for one in request.messages]
    assert sent == asked
    assert request.body["tools"][0]["function"]["name"] == "find"
    assert (request.body["tool_choice"], request.body["temperature"], request.body["seed"]) == ("required", 0.5, 7)
    assert (request.body["max_completion_tokens"], request.headers["x-team"]) == (50, "a")
    assert [(one.name, json.loads(one.arguments)) for one in reply.calls] == [("find", {"id": "W2"})]
    assert reply.finish_reason == "tool_calls"
    assert reply.tokens is not None
    assert (reply.tokens.input, reply.tokens.output, reply.tokens.cached, reply.model) == (11, 3, 4, "small-1")


class Verdict(BaseModel):
    """What a judge says."""

    holds: bool


def test_an_answer_of_a_given_form_is_asked_for_by_schema(server: ModelServer) -> None:
    """Where the model's class offers it."""
    server.play([text('{"holds": true}')])
    spec = ModelSpec.named(NAME, transport="pydantic_ai")

    verdict = play(lambda models: structured(models.chat(spec, CALLER), Verdict, HELLO))

    assert verdict.holds is True
    assert server.requests[0].body["response_format"]["type"] == "json_schema"


def test_a_class_without_schemas_is_asked_by_a_tool_and_not_twice() -> None:
    """What it does not offer costs no request: the test model of pydantic-ai knows tools alone."""
    spec = ModelSpec.named("test", transport="pydantic_ai")

    verdict = play(lambda models: structured(models.chat(spec, CALLER), Verdict, HELLO))

    assert verdict.holds in {True, False}


@pytest.mark.parametrize(
    ("answer", "status", "again", "says"),
    [
        (fault.status(429, "slow down", retry_after=3), 429, True, "429 Too Many Requests: 'slow down'"),
        (fault.status(500, "sorry"), 500, True, "500 Internal Server Error: 'sorry'"),
        (fault.status(401, "bad key sk-planted-1"), 401, False, r"401 Unauthorized: 'bad key \[hidden\]"),
        (fault.reset(sent=0), 0, True, "broke off"),
        (fault.malformed(), 0, False, "cannot be asked"),
    ],
)
def test_errors_say_whether_to_ask_again(
    server: ModelServer, answer: fault.Fault, status: int, again: bool, says: str
) -> None:
    """As if they had been answered to us; the client's own retries are off, and no key is shown."""
    from pytest_agentbench.llm.pydantic_ai_client import PydanticAITransport

    server.play([answer])

    async def scene() -> None:
        transport = PydanticAITransport(NAME, seconds=20, secrets=["sk-planted-1"])
        try:
            await transport.send({"model": NAME, "messages": HELLO})
        finally:
            await transport.close()
            await transport.close()

    with pytest.raises(SendError, match=says) as raised:
        asyncio.run(scene())

    assert (raised.value.status, raised.value.again) == (status, again)
    assert len(server.requests) == 1
    assert raised.value.retry_after == (3 if status == 429 else None)
    assert "planted" not in str(raised.value)


def test_a_refused_parameter_is_learnt_by_the_field_that_the_error_names(server: ModelServer) -> None:
    """One wasted request, as with any other transport."""

    def picky(request: ModelRequest) -> Any:
        return fault.refused("temperature") if "temperature" in request.body else text("hi")

    server.play(picky)

    assert ask(temperature=0.5).text == "hi"
    assert len(server.requests) == 2


def test_an_answer_has_its_time(server: ModelServer) -> None:
    """`seconds` bounds the whole call."""
    server.play([fault.hang()])

    with pytest.raises(SendError, match=r"did not answer within 0\.2 s"):
        ask(spec=ModelSpec.named(NAME, transport="pydantic_ai", seconds=0.2, retries=0))


def test_thoughts_are_kept_apart() -> None:
    """Whatever a provider calls them, they are no words of the answer."""
    from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart

    from pytest_agentbench.llm.completion import read_reply
    from pytest_agentbench.llm.pydantic_ai_client import completion

    response = ModelResponse(parts=[ThinkingPart(content="Hm."), TextPart(content="Yes.")], finish_reason="length")

    reply = read_reply(completion(response, "bedrock:m"), "bedrock:m")

    assert (reply.text, reply.thoughts, reply.truncated, reply.model) == ("Yes.", "Hm.", True, "bedrock:m")


def test_a_key_that_is_missing_makes_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """pydantic-ai says which variable it looked for."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    with pytest.raises(KeyMissingError, match=r"no key for model 'openai-chat:small-1': .*OPENAI_API_KEY"):
        ask()


@pytest.mark.parametrize(
    ("name", "says"),
    [("nobody:m", "pydantic-ai knows no provider of 'nobody:m'"), ("small", "pydantic-ai knows no model 'small'")],
)
def test_an_unknown_name_is_told(name: str, says: str) -> None:
    """The provider's list is pydantic-ai's own."""
    with pytest.raises(SendError, match=says):
        ask(spec=ModelSpec.named(name, transport="pydantic_ai"))


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what to install."""
    monkeypatch.setitem(sys.modules, "pydantic_ai.direct", None)
    monkeypatch.delitem(sys.modules, "pytest_agentbench.llm.pydantic_ai_client", raising=False)

    with pytest.raises(SendError, match=r"needs the extra `providers`: pip install 'pytest-agentbench\[providers\]'"):
        ask()


def test_a_session_is_played_recorded_and_replayed(
    pytester: pytest.Pytester, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agent and user of a suite, tool calls included; a recording needs neither server nor key."""
    project = Project(pytester=pytester)
    server.play(SCRIPT)
    models_suite(
        project,
        "",
        count=2,
        llm={"transport": "pydantic_ai", "price": {"input": 1, "output": 1}},
        agent={"openai": {"model": "openai-chat:agent", "system": "You refund orders."}},
        user={"llm": {"model": "openai-chat:user"}},
    )

    played = project.run("--agentbench-cassette=record")
    asked = len(server.requests)
    monkeypatch.delenv("OPENAI_API_KEY")
    replayed = project.run("--agentbench-cassette=replay")

    played.assert_outcomes(passed=2)
    replayed.assert_outcomes(passed=2)
    assert len(server.requests) == asked > 0


def test_its_server_is_named_by_its_provider() -> None:
    """No address is known; limits are those of the provider."""
    models = Models(environ={})

    models.chat(ModelSpec.named("bedrock:m", transport="pydantic_ai", in_flight=1), CALLER)

    assert list(models.limiters) == ["bedrock"]
