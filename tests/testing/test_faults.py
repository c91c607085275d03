"""What goes wrong on purpose, as an HTTP client meets it, whole or streamed."""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from http.client import HTTPException

import aiohttp
import pytest
from openai import APIConnectionError, APITimeoutError, OpenAI, RateLimitError
from openai.types.chat import ChatCompletionUserMessageParam

from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, fault, text
from tests.tables import each
from tests.testing import http

USER: ChatCompletionUserMessageParam = {"role": "user", "content": "hi"}
BODY = {"model": "m", "messages": [USER]}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server without a script yet."""
    with ModelServer() as running:
        yield running


def post(server: ModelServer, *, stream: bool = False) -> http.Response:
    """Ask once."""
    return http.ask(server.base_url, "hi", stream=stream)


def client(server: ModelServer, retries: int = 0) -> OpenAI:
    """Give the official client."""
    return OpenAI(base_url=server.base_url, api_key="none", max_retries=retries, timeout=0.5)


def test_an_error_status_has_the_form_of_the_api(server: ModelServer) -> None:
    """The header that says when to come back is there when it was given."""
    server.play([fault.status(429, retry_after=2), fault.status(500, "on fire")])

    limited, broken = post(server), post(server)

    assert (limited.status, limited.headers["retry-after"]) == (429, "2")
    assert limited.json()["error"]["type"] == "rate_limit_error"
    assert (broken.status, broken.json()["error"]["message"]) == (500, "on fire")
    assert "retry-after" not in broken.headers


def test_the_official_client_recovers_where_it_retries(server: ModelServer) -> None:
    """Faults take their turn in the list: what comes after them is what the client gets in the end."""
    server.play([fault.status(429, retry_after=0.001), fault.reset(sent=0), fault.status(500, retry_after=0.001), "ok"])

    answer = client(server, retries=3).chat.completions.create(model="m", messages=[USER])

    assert answer.choices[0].message.content == "ok"
    assert len(server.requests) == 4
    assert server.problems == []


@pytest.mark.parametrize(
    ("broken", "expected"),
    [(fault.status(429), RateLimitError), (fault.reset(), APIConnectionError), (fault.hang(), APITimeoutError)],
)
def test_the_official_client_tells_them_apart(
    server: ModelServer, broken: fault.Fault, expected: type[Exception]
) -> None:
    """Each fault is the exception that users handle."""
    server.play([broken])

    with pytest.raises(expected):
        client(server).chat.completions.create(model="m", messages=[USER])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("sent", [0.0, 0.5])
def test_a_reset_breaks_the_connection(server: ModelServer, sent: float, stream: bool) -> None:
    """Before the status line or in the middle of the body, the next request is served."""
    server.play([fault.reset(sent=sent), "fine"])

    with pytest.raises((OSError, HTTPException)):
        post(server, stream=stream)

    assert post(server).status == 200


@each("stream", [False, True])
@each("sent", [0.0, 0.5])
def test_a_hanging_request_ends_with_its_client(sent: float, stream: bool) -> None:
    """Who gives up is no longer in flight, and the server's end waits for nobody."""

    async def hang_until_left() -> None:
        async with aiohttp.ClientSession() as session:
            with suppress(TimeoutError):
                timeout = aiohttp.ClientTimeout(total=0.2)
                async with session.post(url, json={**BODY, "stream": stream}, timeout=timeout) as answer:
                    await answer.read()
            async with session.post(url, json=BODY) as answer:
                assert answer.status == 200

    with ModelServer([fault.hang(sent=sent), "fine", fault.hang()]) as server:
        url = f"{server.base_url}/chat/completions"
        asyncio.run(hang_until_left())
        assert (server.in_flight, len(server.requests)) == (0, 2)
        with pytest.raises(TimeoutError):
            http.send(server.base_url, json.dumps(BODY), seconds=0.5)


def test_a_malformed_body_is_no_json(server: ModelServer) -> None:
    """The status is 200 and the body breaks off; a stream has one broken event."""
    server.play([fault.malformed(), fault.malformed()])

    whole, streamed = post(server), post(server, stream=True)

    assert whole.status == 200
    with pytest.raises(json.JSONDecodeError):
        whole.json()
    *_, last = streamed.text.strip().split("\n\n")
    assert streamed.headers["content-type"] == "text/event-stream"
    with pytest.raises(json.JSONDecodeError):
        json.loads(last.removeprefix("data: "))


def test_any_body_can_be_sent(server: ModelServer) -> None:
    """Text and bytes go out as they are."""
    server.play([fault.raw("<html>", status=502, content_type="text/html"), fault.raw(b"\xff\x00")])

    page, junk = post(server), post(server)

    assert (page.status, page.text, page.headers["content-type"]) == (502, "<html>", "text/html")
    assert (junk.status, junk.content) == (200, b"\xff\x00")


def test_a_completion_without_choices(server: ModelServer) -> None:
    """It is valid in form; streamed it says nothing."""
    server.play([fault.no_choices(), fault.no_choices()])

    assert post(server).json()["choices"] == []
    assert post(server, stream=True).text == "data: [DONE]\n\n"


def test_a_big_reply_arrives(server: ModelServer) -> None:
    """Its size is what was asked for."""
    server.play([fault.big(2)])

    assert len(post(server).json()["choices"][0]["message"]["content"]) == 2_000_000


def test_latency_of_an_answer_goes_before_the_servers() -> None:
    """One answer overtakes another that was asked for first."""
    arrived: Future[None] = Future()
    order: list[str] = []

    def script(request: ModelRequest) -> Answer:
        if request.last == "slow":
            arrived.set_result(None)
            return text("slow")
        return text("fast").after(0)

    async def ask(said: str) -> None:
        answer = await asyncio.to_thread(http.ask, server.base_url, said)
        order.append(answer.json()["choices"][0]["message"]["content"])

    async def both() -> None:
        slow = asyncio.create_task(ask("slow"))
        await asyncio.wrap_future(arrived)
        await ask("fast")
        await slow

    with ModelServer(script, latency=0.3) as server:
        asyncio.run(both())

    assert order == ["fast", "slow"]
