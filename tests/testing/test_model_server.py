"""The scripted model server, as clients over HTTP meet it: scripts, answers, the record of requests, its life."""

import asyncio
import json
import threading
from collections.abc import Iterator

import aiohttp
import pytest
from openai import BadRequestError, NotFoundError, OpenAI
from openai.types.chat import ChatCompletion

import pytest_agentbench.testing as kit
from pytest_agentbench.testing import (
    Answer,
    ModelRequest,
    ModelServer,
    call,
    calls,
    refusal,
    structured,
    text,
    truncated,
)
from tests.tables import each
from tests.testing import http


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server without a script yet."""
    with ModelServer() as running:
        yield running


def ask(server: ModelServer, *said: str, model: str = "m") -> ChatCompletion:
    """Send the texts as user messages through the official client."""
    client = OpenAI(base_url=server.base_url, api_key="none", max_retries=0, timeout=5)
    return client.chat.completions.create(model=model, messages=[{"role": "user", "content": one} for one in said])


def test_a_list_is_played_in_order(server: ModelServer) -> None:
    """Calls come as the API gives them, strings are texts, and what is left is counted."""
    server.play([call("lookup", order_id="W1"), "It is on its way."])

    first, second = ask(server, "Where is W1?"), ask(server, "And now?")

    [made] = first.choices[0].message.tool_calls or []
    assert (made.id, made.type) == ("call_1", "function")
    assert made.function.name == "lookup"
    assert json.loads(made.function.arguments) == {"order_id": "W1"}
    assert first.choices[0].finish_reason == "tool_calls"
    assert second.choices[0].message.content == "It is on its way."
    assert second.choices[0].finish_reason == "stop"
    assert server.left == 0


def test_an_exhausted_script_says_how_many_answers_it_had(server: ModelServer) -> None:
    """The client gets an error that it does not try again, and the server keeps what it said."""
    server.play(["one"])
    ask(server, "1")

    with pytest.raises(BadRequestError, match="request 2 has no answer: the script holds 1 answer, all given"):
        ask(server, "2")

    assert server.problems == ["request 2 has no answer: the script holds 1 answer, all given"]


def test_a_function_answers_from_the_request(server: ModelServer) -> None:
    """It may be a coroutine function, too."""

    async def later(request: ModelRequest) -> str:
        await asyncio.sleep(0)
        return request.last[::-1]

    server.play(lambda request: f"{request.model}: {request.last}")
    now = ask(server, "abc").choices[0].message.content
    server.play(later)

    assert now == "m: abc"
    assert ask(server, "abc").choices[0].message.content == "cba"


def test_one_server_plays_several_models(server: ModelServer) -> None:
    """Each name has a script of its own, is listed, and any other name is not found."""
    server.play({"agent": ["I am the agent."], "user": lambda _: "I am the user."})

    said = [ask(server, "?", model=model).choices[0].message.content for model in ("user", "agent", "user")]

    assert said == ["I am the user.", "I am the agent.", "I am the user."]
    listed = OpenAI(base_url=server.base_url, api_key="none").models.list()
    assert [model.id for model in listed] == ["agent", "user"]
    with pytest.raises(NotFoundError, match="no script for model 'judge'; there are scripts for: 'agent', 'user'"):
        ask(server, "?", model="judge")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (lambda _: 1 / 0, "the script raised ZeroDivisionError: division by zero"),
        (lambda _: pytest.fail("unexpected"), "the script raised Failed: unexpected"),
        ([5], "the script gave 5, which is no answer"),
        ([None], "the script gave None, which is no answer"),
    ],
)
def test_a_script_that_breaks_is_told_to_the_client(server: ModelServer, script: object, expected: str) -> None:
    """Whatever a function raises or gives, the next request is answered."""
    server.play(script)

    with pytest.raises(BadRequestError, match=expected):
        ask(server, "?")

    server.play(["fine"])
    assert ask(server, "?").choices[0].message.content == "fine"


@each("script", ["text", 5, {"m": "text"}])
def test_what_is_no_script_is_refused_at_once(script: object) -> None:
    """A bare string would be played letter by letter."""
    with pytest.raises(TypeError, match="a script is a list of answers, a function, or a mapping"):
        ModelServer(script)


def test_refusals_truncation_and_structured_answers(server: ModelServer) -> None:
    """Each has the form that the API gives it."""
    server.play([refusal("I cannot."), truncated("It is on"), structured({"verdict": True, "reason": "é"})])

    refused, cut, formed = (ask(server, "?").choices[0] for _ in range(3))

    assert (refused.message.refusal, refused.message.content) == ("I cannot.", None)
    assert (cut.message.content, cut.finish_reason) == ("It is on", "length")
    assert json.loads(formed.message.content or "") == {"verdict": True, "reason": "é"}


def test_several_calls_at_once_with_text_and_broken_arguments(server: ModelServer) -> None:
    """Arguments may be any text; ids count on within the conversation."""
    server.play([calls(call("a", {"x": 1}, y=2), call("b", '{"x":'), content="One moment.")])
    earlier = {"id": "call_1", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [earlier]},
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
    ]

    got = http.ask(server.base_url, messages=messages).json()

    message = got["choices"][0]["message"]
    assert message["content"] == "One moment."
    assert [made["id"] for made in message["tool_calls"]] == ["call_2", "call_3"]
    assert [made["function"]["arguments"] for made in message["tool_calls"]] == ['{"x":1,"y":2}', '{"x":']


def test_usage_is_estimated_given_or_left_out(server: ModelServer) -> None:
    """Four characters are a token, where the script does not know better."""
    server.play(["x" * 8, text("x").using(input=1000, output=20, cached=900), text("x").without_usage()])

    estimated, given, none = (ask(server, "12345678").usage for _ in range(3))

    assert estimated is not None
    assert estimated.prompt_tokens == 3  # "user" and 8 characters
    assert estimated.completion_tokens == 2
    assert given is not None
    assert (given.prompt_tokens, given.completion_tokens, given.total_tokens) == (1000, 20, 1020)
    assert given.prompt_tokens_details is not None
    assert given.prompt_tokens_details.cached_tokens == 900
    assert none is None


def test_equal_requests_get_equal_bytes(server: ModelServer) -> None:
    """Ids and times follow from the request, never from a clock or the order of arrival."""
    server.play(lambda request: call("a", said=request.last))

    first, second, third = (http.ask(server.base_url, said) for said in ("hi", "ho", "hi"))

    assert first.content == third.content
    assert first.json()["created"] == 0
    assert first.json()["id"] != second.json()["id"]


def test_every_request_is_kept_with_its_headers(server: ModelServer) -> None:
    """What was asked is read back in order of arrival."""
    server.play(["a", "b"])
    headers = {"Authorization": "Bearer secret", "X-Run": "7"}
    body = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]},
        ],
        "tools": [{"type": "function", "function": {"name": "find", "parameters": {}}}],
        "temperature": 0,
    }

    http.ask(server.base_url, headers=headers, **body)
    ask(server, "again")

    first, second = server.requests
    assert (first.number, first.model, first.system, first.last) == (1, "m", "Be kind.", "Hello")
    assert first.body == body
    assert first.tools == ["find"]
    assert not first.stream
    assert (first.headers["authorization"], first.headers["x-run"]) == ("Bearer secret", "7")
    assert (second.number, second.last) == (2, "again")


def test_lone_surrogates_pass_in_both_directions(server: ModelServer) -> None:
    """Hostile text is no reason to answer with an error."""
    server.play(lambda request: text(request.last + "\ud800"))

    answer = http.ask(server.base_url, "\udc00 and ")

    assert answer.json()["choices"][0]["message"]["content"] == "\udc00 and \ud800"


@pytest.mark.parametrize(
    ("where", "content", "status", "said"),
    [
        ("POST /chat/completion", "{}", 404, "nothing at POST /v1/chat/completion; there are POST /v1/chat/compl"),
        ("POST /embeddings", "{}", 404, "nothing at POST /v1/embeddings"),
        ("GET /chat/completions", "", 405, "/v1/chat/completions does not take GET"),
        ("POST /chat/completions", "{", 400, "the body is no JSON: "),
        ("POST /chat/completions", b"\xff", 400, "the body is no JSON: "),
        ("POST /chat/completions", "[]", 400, "the body must be a JSON object"),
        ("POST /chat/completions", "{}", 400, "the body must be a JSON object with a list of messages"),
        ("POST /chat/completions", '{"messages": "hi"}', 400, "the body must be a JSON object with a list"),
        ("POST /chat/completions", '{"messages": [1]}', 400, "every message must be a JSON object"),
        ("POST /chat/completions", "[" * 100_000, 400, "the body is no JSON: "),
    ],
)
def test_what_is_no_chat_completion_gets_a_clear_error(
    server: ModelServer, where: str, content: str | bytes, status: int, said: str
) -> None:
    """Wrong paths and bodies answer in the API's own error format."""
    method, path = where.split()

    answer = http.send(server.base_url, content, method=method, path=path)

    assert answer.status == status
    assert said in answer.json()["error"]["message"]
    assert server.requests == []
    assert len(server.problems) == 1


def test_a_large_request_is_read(server: ModelServer) -> None:
    """No limit of the HTTP library's is in the way."""
    server.play(lambda request: str(len(request.last)))

    assert ask(server, "x" * 3_000_000).choices[0].message.content == "3000000"


def test_streams_add_up_to_the_whole_answer(server: ModelServer) -> None:
    """Text, refusals and calls come in pieces, the reason next, the usage last where it is asked for."""
    answer = calls(call("a", text="y" * 60), call("b"), content="One moment, please: I look that up for you.")
    server.play([answer, answer])
    client = OpenAI(base_url=server.base_url, api_key="none", max_retries=0)
    whole = ask(server, "hi")

    events = list(
        client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "hi"}],
            stream=True,
            stream_options={"include_usage": True},
        )
    )

    deltas = [event.choices[0].delta for event in events if event.choices]
    assert "".join(delta.content or "" for delta in deltas) == whole.choices[0].message.content
    pieces = [piece for delta in deltas for piece in delta.tool_calls or []]
    assert [(piece.id, piece.function.name) for piece in pieces if piece.id and piece.function] == [
        ("call_1", "a"),
        ("call_2", "b"),
    ]
    written = "".join(piece.function.arguments or "" for piece in pieces if piece.index == 0 and piece.function)
    assert json.loads(written) == {"text": "y" * 60}
    assert [event.choices[0].finish_reason for event in events if event.choices][-1] == "tool_calls"
    assert events[-1].usage == whole.usage
    assert server.requests[-1].stream


def test_requests_in_flight_are_counted() -> None:
    """The server holds as many conversations at a time as there are; the peak stays."""
    arrived = 0
    everyone: asyncio.Event | None = None

    async def together(request: ModelRequest) -> Answer:
        nonlocal arrived, everyone
        everyone = everyone or asyncio.Event()
        arrived += 1
        if arrived == 64:
            everyone.set()
        await everyone.wait()
        return text(str(server.in_flight))

    async def many() -> list[int]:
        async with aiohttp.ClientSession() as session:
            return await asyncio.gather(*(post(session, number) for number in range(64)))

    async def post(session: aiohttp.ClientSession, number: int) -> int:
        body = {"model": "m", "messages": [{"role": "user", "content": str(number)}]}
        async with session.post(f"{server.base_url}/chat/completions", json=body) as answer:
            return answer.status

    with ModelServer(together) as server:
        statuses = asyncio.run(many())
        peak = server.peak_in_flight

    assert statuses == [200] * 64
    assert peak == 64


def test_a_server_comes_back_on_its_port() -> None:
    """A stopped server can be started again; a second one cannot take its port."""
    server = ModelServer(["one", "two"])
    with pytest.raises(RuntimeError, match="the server is not running"):
        _ = server.base_url
    with server:
        url = server.base_url
        port = int(url.split(":")[2].split("/")[0])
        ask(server, "1")
        with pytest.raises(OSError, match="address already in use"):
            ModelServer(port=port).start()
        with pytest.raises(RuntimeError, match="running already"):
            server.start()
    server.stop()

    with server:
        assert server.base_url == url
        assert ask(server, "2").choices[0].message.content == "two"


def test_public_names_are_sorted_and_say_what_they_are() -> None:
    """What users import has a docstring of its own."""
    assert kit.__all__ == sorted(kit.__all__, key=lambda name: (name.islower(), name))
    assert [name for name in kit.__all__ if not getattr(kit, name).__doc__] == []


def test_the_end_waits_for_no_connection(server: ModelServer) -> None:
    """A client that keeps its connection open does not keep the server's thread."""
    server.play(["one"])
    client = OpenAI(base_url=server.base_url, api_key="none")
    client.models.list()

    server.stop()

    assert [thread for thread in threading.enumerate() if thread.name == "agentbench-model-server"] == []
    client.close()
