"""The same seam through the `openai` client (2 and 3), for those who need what it does on the way."""

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_agentbench.core.errors import SendError
from pytest_agentbench.core.proxies import is_loopback, proxy_for
from pytest_agentbench.core.text import printable
from pytest_agentbench.llm.connection_errors import connection_error
from pytest_agentbench.llm.direct import check_headers, endpoint
from pytest_agentbench.llm.http_errors import hidden, understood
from pytest_agentbench.llm.model_listing import LISTING, listed
from pytest_agentbench.llm.per_loop import PerLoop
from pytest_agentbench.llm.wire import encode, where

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class OpenAITransport:
    """Posts through `openai.AsyncOpenAI`, one client for each event loop, its own retries off.

    Proxies and certificates are taken from the environment as the client does, for a loopback address none at all. The
    size of a reply is checked once it is read.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        seconds: float,
        key_header: str = "Authorization",
        headers: Mapping[str, str] | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._host = endpoint(base_url).host or ""
        self._base_url = base_url
        self._where = where(base_url)
        self._key = key
        self._is_bearer = bool(key) and key_header == "Authorization"
        self._headers = {**({key_header: key} if key and not self._is_bearer else {}), **(headers or {})}
        check_headers({"Authorization": key, **self._headers}, self._where)
        self._secrets = (key, *self._headers.values())
        self._seconds = seconds
        self._wall = wall
        self._clients = PerLoop(self._open, _close)

    async def send(self, body: dict[str, Any]) -> dict[str, Any]:
        """Post once and give the decoded JSON object; raise `SendError` for anything else."""
        import openai  # noqa: PLC0415 - it takes 0.6 s, and few need it

        try:
            proxy_for(self._base_url)  # its client raises what it likes where the environment names no proxy's address
            client = await self._clients.get()
        except (ImportError, ValueError) as error:  # it speaks SOCKS with a package that may be missing
            raise SendError(f"{self._where} cannot be asked: {printable(str(error))}") from error
        try:
            async with asyncio.timeout(self._seconds):  # the client's own bounds each read, not the whole
                content = await self._post(client, encode(body))
        except openai.APIStatusError as error:
            response = error.response
            return self._understood(response.status_code, response.headers, response.content)
        except (openai.OpenAIError, OSError, ValueError) as error:  # what a transport raises is not always wrapped
            raise hidden(connection_error(error, where=self._where, seconds=self._seconds), self._secrets) from error
        return self._understood(200, {}, content)

    async def models(self) -> tuple[str, ...]:
        """Give the names of the models that the server lists; () where it lists none."""
        import openai  # noqa: PLC0415 - as above

        client = await self._clients.get()
        try:
            async with asyncio.timeout(min(self._seconds, LISTING)):
                content: bytes = await client.get("/models", cast_to=bytes, options={"headers": self._sent_headers()})
        except (openai.OpenAIError, OSError, ValueError):
            return ()
        return listed(content, self._secrets)

    async def close(self) -> None:
        """Close connections; closing twice is fine."""
        await self._clients.close()

    def _open(self) -> "AsyncOpenAI":
        import openai  # noqa: PLC0415 - it takes 0.6 s, and few need it

        return openai.AsyncOpenAI(
            api_key=self._key or "none",
            base_url=self._base_url,
            max_retries=0,
            timeout=self._seconds,
            http_client=_http_client(trust_env=not is_loopback(self._host)),
        )

    async def _post(self, client: "AsyncOpenAI", content: bytes) -> bytes:
        # bytes of our own: the client's JSON is UTF-8, which cannot hold lone surrogates; older ones take them as body
        given = "content" if "content" in inspect.signature(client.post).parameters else "body"
        options: Any = {"headers": {"Content-Type": "application/json", **self._sent_headers()}}
        sent: dict[str, Any] = {given: content}
        received: bytes = await client.post("/chat/completions", cast_to=bytes, options=options, **sent)
        return received

    def _sent_headers(self) -> dict[str, Any]:
        from openai import Omit  # noqa: PLC0415 - as above

        return {**({} if self._is_bearer else {"Authorization": Omit()}), **self._headers}

    def _understood(self, status: int, headers: Mapping[str, str], content: bytes) -> dict[str, Any]:
        known = {name.lower(): value for name, value in headers.items()}
        secrets = self._secrets
        return understood(status, known, content, where=self._where, wall=self._wall(), secrets=secrets)


def _http_client(*, trust_env: bool) -> Any:
    """Give the client's own aiohttp transport, or its default one where openai 2 lacks its extra `aiohttp`.

    What a call takes over either is in docs/research/performance.md. Neither follows a redirect: the key is for this
    server alone, and one in a header of its own would go along.
    """
    from openai import DefaultAioHttpClient, DefaultAsyncHttpxClient  # noqa: PLC0415 - as above

    try:
        return DefaultAioHttpClient(trust_env=trust_env, follow_redirects=False)
    except RuntimeError:
        return DefaultAsyncHttpxClient(trust_env=trust_env, follow_redirects=False)


async def _close(client: "AsyncOpenAI") -> None:
    await client.close()
