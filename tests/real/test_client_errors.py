"""What real clients raise at a server that refuses, hangs, breaks off or fails is the provider's failure."""

import asyncio
import contextlib
import importlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.error import HTTPError

import pytest

from pytest_agentbench.agents.callables import adapt
from pytest_agentbench.core.conversation import Turn
from pytest_agentbench.core.errors import AgentError, ProviderError
from tests.agents.threads import run_thread

pytestmark = pytest.mark.real

HOLE = "http://127.0.0.1:1"
"""Nobody listens there."""


@contextlib.contextmanager
def server(answer: bytes | None) -> Iterator[str]:
    """Serve one answer to every request: None never answers, an empty one hangs up."""
    listening = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()
    held: list[socket.socket] = []

    def serve() -> None:
        while not over.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            held.append(connection)
            if answer is not None:
                connection.recv(65536)
                connection.sendall(answer)
                connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        over.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for one in held:
            one.close()
        thread.join(5)


def status(code: int) -> bytes:
    """Give an answer with a status and a body as model servers have it."""
    body = b'{"error": {"message": "no", "type": "t", "code": %d, "status": "NO"}}' % code
    head = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    return head % (code, len(body)) + body


def use(name: str) -> Any:
    """Import a client library, or skip."""
    return pytest.importorskip(name)


def openai(url: str) -> object:
    client = use("openai").OpenAI(api_key="k", base_url=url, max_retries=0, timeout=0.3)
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])


def anthropic(url: str) -> object:
    client = use("anthropic").Anthropic(api_key="k", base_url=url, max_retries=0, timeout=0.3)
    return client.messages.create(model="m", max_tokens=5, messages=[{"role": "user", "content": "Hi"}])


def google(url: str) -> object:
    genai = use("google.genai")
    options = genai.types.HttpOptions(base_url=url, timeout=300)
    client = genai.Client(api_key="k", http_options=options)
    return client.models.generate_content(model="m", contents="Hi")


def httpx(url: str) -> object:
    return use("httpx").get(url, timeout=0.3).raise_for_status()


def httpx2(url: str) -> object:
    return use("httpx2").get(url, timeout=0.3).raise_for_status()


def requests(url: str) -> object:
    return use("requests").get(url, timeout=0.3).raise_for_status()


def urllib3(url: str) -> object:
    return use("urllib3").PoolManager(retries=False, timeout=0.3).request("GET", url)


def urllib(url: str) -> object:
    try:
        return importlib.import_module("urllib.request").urlopen(url, timeout=0.3)
    except HTTPError as error:
        error.close()
        raise


def botocore(url: str) -> object:
    session = use("botocore.session").get_session()
    session.set_credentials("a", "b")
    config = use("botocore.config").Config(read_timeout=0.3, connect_timeout=0.3, retries={"max_attempts": 0})
    return session.create_client("dynamodb", "us-east-1", endpoint_url=url, config=config).list_tables()


async def aiohttp(url: str) -> object:
    client = use("aiohttp")
    async with client.ClientSession(timeout=client.ClientTimeout(total=0.3)) as session, session.get(url) as got:
        return got.raise_for_status()


CLIENTS = [openai, anthropic, google, httpx, httpx2, requests, urllib3, urllib, botocore, aiohttp]


def blamed(client: Callable[[str], object], url: str) -> str:
    """Tell who is blamed for what an agent's client raises."""

    def sync(message: str) -> str:
        return str(client(url))

    async def awaited(message: str) -> str:
        return str(await client(url))  # this one is async

    with run_thread() as runner:
        agent = adapt(awaited if asyncio.iscoroutinefunction(client) else sync, run_sync=runner)
        try:
            asyncio.run(agent.reply(Turn(message="Hello")))
        except ProviderError:
            return "provider"
        except AgentError:
            return "agent"
    return "nobody"


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__)
def test_a_server_that_is_not_there_or_does_not_answer(client: Callable[[str], object]) -> None:
    """Refused, silent, and hanging up."""
    with server(None) as silent, server(b"") as rude:
        assert [blamed(client, url) for url in (HOLE, silent, rude)] == ["provider"] * 3


@pytest.mark.parametrize("client", [one for one in CLIENTS if one is not urllib3], ids=lambda client: client.__name__)
def test_the_status_tells(client: Callable[[str], object]) -> None:
    """A rate limit and a failure are the server's, a refused request and a wrong address the agent's."""
    told = {}
    for code in (429, 500, 503, 400, 404, 422):
        with server(status(code)) as url:
            told[code] = blamed(client, url)

    assert told == dict.fromkeys((429, 500, 503), "provider") | dict.fromkeys((400, 404, 422), "agent")
