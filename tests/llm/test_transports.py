"""What both transports put on the wire and what they never do: headers, queries, redirects, secrets."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from pytest_agentbench.core.errors import SendError
from pytest_agentbench.llm.transport import DirectTransport, OpenAITransport, endpoint
from pytest_agentbench.llm.wire import where
from pytest_agentbench.testing import ModelServer, text

BOTH = pytest.mark.parametrize("kind", [DirectTransport, OpenAITransport])


def send(transport: Any, *messages: dict[str, Any]) -> dict[str, Any]:
    """Send one request and close."""

    async def sending() -> dict[str, Any]:
        try:
            return await transport.send({"model": "m", "messages": [*messages]})
        finally:
            await transport.close()
            await transport.close()

    return asyncio.run(sending())


@BOTH
def test_lone_surrogates_go_out_and_come_in(kind: Any) -> None:
    """Text that is no Unicode reaches the server, and its own reaches us."""
    with ModelServer([text("\udfff!")]) as server:
        response = send(kind(server.base_url, "k", seconds=30), {"role": "user", "content": "\ud800?"})
        asked = server.requests[0].last

    assert asked == "\ud800?"
    assert response["choices"][0]["message"]["content"] == "\udfff!"


@BOTH
def test_headers_of_the_spec_win_and_no_key_sends_no_authorization(kind: Any) -> None:
    """A server with a header of its own for keys, or with none, gets what it expects."""
    with ModelServer(["a", "b", "c"]) as server:
        send(kind(server.base_url, "k", seconds=30))
        send(kind(server.base_url, "", seconds=30, headers={"api-key": "secret"}))
        send(kind(server.base_url, "k", seconds=30, headers={"authorization": "Basic abc"}))
        seen = [(request.headers.get("authorization"), request.headers.get("api-key")) for request in server.requests]

    assert seen == [("Bearer k", None), (None, "secret"), ("Basic abc", None)]


@BOTH
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(kind: Any) -> None:
    """A line break in a key fails the call, not the process, and the key is in no message."""
    with ModelServer(["a"]) as server, pytest.raises(SendError) as raised:
        send(kind(server.base_url, "sk-planted\r\nX-Evil: 1", seconds=30))

    assert "planted" not in str(raised.value)
    assert server.requests == []


def test_the_query_of_a_base_url_is_kept_and_shown_to_nobody() -> None:
    """`?api-version=…` stays behind the path; users, passwords and queries are in no message."""
    assert (
        str(endpoint("https://here/a%20b/v1/?api-version=7")) == "https://here/a%20b/v1/chat/completions?api-version=7"
    )
    assert where("https://user:password@here:81/v1?key=secret") == "https://here:81/v1"
    assert where("nonsense") == "nonsense"


def test_credentials_in_a_url_and_a_key_are_one_too_many() -> None:
    """Which of the two is meant cannot be told: the call fails and says so, showing neither."""
    with ModelServer(["a"]) as server, pytest.raises(SendError, match="credentials encoded in URL") as raised:
        send(DirectTransport(server.base_url.replace("//", "//user:password@"), "sk-planted", seconds=30))

    assert "password" not in str(raised.value)
    assert "planted" not in str(raised.value)


@BOTH
@pytest.mark.parametrize("key_header", ["Authorization", "api-key"])
def test_a_redirect_is_not_followed(kind: Any, key_header: str) -> None:
    """A server that sends us elsewhere gets neither our key nor our words sent there."""

    async def scene() -> list[str]:
        reached = []

        async def answer(request: web.BaseRequest) -> web.Response:
            reached.append(request.path)
            return web.Response(status=307, headers={"Location": f"http://localhost:{port}/elsewhere"})

        server = web.ServerRunner(web.Server(answer))
        await server.setup()
        site = web.TCPSite(server, "127.0.0.1", 0)
        await site.start()
        port = server.addresses[0][1]
        transport = kind(f"http://127.0.0.1:{port}/v1", "k", seconds=30, key_header=key_header)
        try:
            with pytest.raises(SendError, match=r"307 Temporary Redirect: a redirect to 'http://localhost:\d+/"):
                await transport.send({"model": "m", "messages": []})
            assert await transport.models() == ()
        finally:
            await transport.close()
            await server.cleanup()
        return reached

    assert asyncio.run(scene()) == ["/v1/chat/completions", "/v1/models"]


def test_one_connection_serves_call_after_call() -> None:
    """Connections are kept alive: 20 calls one after another need one."""

    async def scene() -> None:
        ports = set()

        async def answer(request: web.BaseRequest) -> web.Response:
            ports.add(request.transport.get_extra_info("peername")[1] if request.transport else 0)
            return web.json_response({"choices": []})

        server = web.ServerRunner(web.Server(answer))
        await server.setup()
        site = web.TCPSite(server, "127.0.0.1", 0)
        await site.start()
        transport = DirectTransport(f"http://127.0.0.1:{server.addresses[0][1]}/v1", "k", seconds=30)
        for _ in range(20):
            await transport.send({"model": "m", "messages": []})
        await transport.close()
        await server.cleanup()
        assert len(ports) == 1

    asyncio.run(scene())
