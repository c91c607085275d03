"""Proxies and authorities of the environment, as every HTTP client takes them: two for models, one for all else."""

import asyncio
import json
import os
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from pytest_agentbench.core.errors import EnvironmentFaultError, SendError
from pytest_agentbench.environment.openapi.transport import Request, Sender
from pytest_agentbench.llm.transport import DirectTransport, OpenAITransport

ANSWER = json.dumps({"choices": []}).encode()
NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")

ASKING = """
import asyncio, sys
from pytest_agentbench.environment.openapi.transport import Request
from pytest_agentbench.environment.openapi.transport import Sender
from pytest_agentbench.llm.transport import DirectTransport

async def main():
    transport = DirectTransport(sys.argv[1], "", seconds=20)
    print(await transport.send({"model": "m", "messages": []}))
    await transport.close()
    async with Sender(headers={}, seconds=20) as sender:
        sender.base_url = sys.argv[1]
        print((await sender.send(Request(method="GET", path="/notes"))).text)

asyncio.run(main())
"""


@pytest.fixture(autouse=True)
def _none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


class Forwarder:
    """A forward proxy that answers plain requests itself and leads tunnels to one place, whatever is asked for."""

    def __init__(self, to: int = 0) -> None:
        self.asked: list[str] = []
        self.credentials: list[str] = []
        self.port = 0
        self._to = to

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *headers = head.splitlines()
        method, target, _ = first.split(" ")
        self.asked.append(f"{method} {target}")
        self.credentials += [line.split(" ")[-1] for line in headers if line.lower().startswith("proxy-authorization")]
        if method != "CONNECT":
            await answer(writer)
            return
        there, away = await asyncio.open_connection("127.0.0.1", self._to)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(pass_on(reader, away), pass_on(there, writer))


async def answer(writer: asyncio.StreamWriter) -> None:
    """Answer a request."""
    lines = ["Content-Type: application/json", f"Content-Length: {len(ANSWER)}", "Connection: close"]
    writer.write("\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode() + ANSWER)
    await writer.drain()
    writer.close()


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes on until there are no more."""
    try:
        while part := await reader.read(65536):
            writer.write(part)
            await writer.drain()
    except ConnectionError:
        pass
    writer.close()


@asynccontextmanager
async def served(handle: Any, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve on loopback for the block; give the port."""
    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def ask_model(url: str) -> object:
    """Ask over the client of models."""
    transport = DirectTransport(url, "key", seconds=20)
    try:
        return await transport.send({"model": "m", "messages": []})
    finally:
        await transport.close()


async def ask_service(url: str) -> object:
    """Ask over the client of all else."""
    async with Sender(headers={}, seconds=20) as sender:
        sender.base_url = url
        return json.loads((await sender.send(Request(method="POST", path="/chat/completions", body=b"{}"))).text)


async def ask_model_by_openai(url: str) -> object:
    """Ask over the `openai` client."""
    transport = OpenAITransport(url, "key", seconds=20)
    try:
        return await transport.send({"model": "m", "messages": []})
    finally:
        await transport.close()


ALL = pytest.mark.parametrize("ask", [ask_model, ask_model_by_openai, ask_service])


@ALL
@pytest.mark.filterwarnings("ignore:(BasicAuth is|The 'proxy_auth'):DeprecationWarning")  # what the openai client uses
async def test_a_proxy_is_asked_with_its_credentials(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole address goes to it, and who may use it is told to it alone."""
    proxy = Forwarder()
    async with served(proxy.serve) as port:
        monkeypatch.setenv("HTTP_PROXY", f"http://ada:secret@127.0.0.1:{port}")

        got = await ask("http://models.example/v1")

    assert got == {"choices": []}
    assert proxy.asked == ["POST http://models.example/v1/chat/completions"]
    assert proxy.credentials == ["YWRhOnNlY3JldA=="]


@ALL
async def test_loopback_and_exempted_servers_are_asked_directly(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in the environment is no reason to send it what stands on this machine."""
    proxy = Forwarder()

    async def direct(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await answer(writer)

    async with served(proxy.serve) as port, served(direct) as there:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{port}")

        got = [await ask(f"http://{host}:{there}/v1") for host in ("127.0.0.1", "localhost")]

    assert got == [{"choices": []}] * 2
    assert proxy.asked == []


@ALL
@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9"])
async def test_a_proxy_that_cannot_be_used_is_told(ask: Any, proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server that was meant is named, and nothing is asked around the proxy."""
    monkeypatch.setenv("HTTP_PROXY", proxy)

    with pytest.raises(
        (SendError, EnvironmentFaultError), match=r"http://models\.example/v1\S* cannot be (reached|asked)"
    ):
        await ask("http://models.example/v1")


@ALL
@pytest.mark.parametrize("proxy", ["nonsense://ada:secret@proxy:1", "http://ada:secret@proxy:port", "http://"])
async def test_an_address_that_is_no_proxys_is_told(ask: Any, proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables are named, and no password of theirs is shown."""
    monkeypatch.setenv("HTTP_PROXY", proxy)

    with pytest.raises((SendError, EnvironmentFaultError), match="HTTP_PROXY or ALL_PROXY is no address") as raised:
        await ask("http://models.example/v1")

    assert "secret" not in str(raised.value)


async def test_a_password_in_the_address_of_a_service_is_in_no_error() -> None:
    """It is sent to the service alone."""
    async with Sender(headers={}, seconds=20) as sender:
        sender.base_url = "http://ada:secret@127.0.0.1:9"

        with pytest.raises(
            EnvironmentFaultError, match=r"^GET http://127\.0\.0\.1:9/notes: cannot be reached: "
        ) as raised:
            await sender.send(Request(method="GET", path="/notes", query=[("key", "secret")]))

    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("scheme", ["socks5", "socks"])
async def test_nothing_but_socks_is_said_to_a_socks_proxy(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not sent a request with a key in it, and the error says what to name instead."""
    proxy = Forwarder()
    async with served(proxy.serve) as port:
        monkeypatch.setenv("ALL_PROXY", f"{scheme}://127.0.0.1:{port}")

        with pytest.raises(SendError, match=r"models\.example/v1 cannot be asked: .* socks5? proxy.*NO_PROXY"):
            await ask_model("http://models.example/v1")

    assert proxy.asked == []


async def test_a_servers_models_are_listed_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No request goes around it, the one that explains an error included."""
    proxy = Forwarder()
    async with served(proxy.serve) as port:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{port}")
        transport = DirectTransport("http://models.example/v1", "key", seconds=20)

        assert await transport.models() == ()
        await transport.close()

    assert proxy.asked == ["GET http://models.example/v1/models"]


async def test_authorities_of_the_environment_are_trusted_through_a_tunnel(tmp_path: Path) -> None:
    """With `SSL_CERT_FILE` both clients trust a company's authority, also behind a proxy that only tunnels."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("models.example").configure_cert(tls)
    (tmp_path / "asking.py").write_text(ASKING)

    async def secure(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await answer(writer)

    async with served(secure, tls) as there:
        proxy = Forwarder(there)
        async with served(proxy.serve) as port:
            reached = {"HTTPS_PROXY": f"http://127.0.0.1:{port}"}
            trusting = await run(tmp_path, {**reached, "SSL_CERT_FILE": str(tmp_path / "ca.pem")})
            asked = list(proxy.asked)
            doubting = await run(tmp_path, reached)

    assert trusting[0].split("\n")[:2] == ["{'choices': []}", '{"choices": []}']
    assert asked == ["CONNECT models.example:443"] * 2
    assert "certificate verify failed" in doubting[1]


async def run(folder: Path, environ: dict[str, str]) -> tuple[str, str]:
    """Ask in a process of its own, since a process reads its authorities once; give what it printed."""
    kept = {name: value for name, value in os.environ.items() if name.lower() not in (*NAMES, "ssl_cert_file")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(folder / "asking.py"),
        "https://models.example/v1",
        env={**kept, **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, error = await process.communicate()
    return out.decode(), error.decode()
