"""The same seam through the `openai` client (2 and 3), for those who need what it does on the way."""

import inspect
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_agentbench.core.errors import SendError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.llm.direct import endpoint, where
from pytest_agentbench.llm.http_errors import embedded_error, hide, status_error
from pytest_agentbench.llm.per_loop import PerLoop
from pytest_agentbench.llm.request import ChatRequest
from pytest_agentbench.llm.wire import decode, encode

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_NEVER_SENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol", "LocalProtocolError"})
"""The classes of httpx and httpx2 for requests that did not reach the server."""


class OpenAITransport:
    """Posts through `openai.AsyncOpenAI`, one client for each event loop, its own retries off.

    Proxies and certificates are taken from the environment as the client does. The size of a reply is checked once it
    is read.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        seconds: float,
        headers: Mapping[str, str] | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        endpoint(base_url)
        self._base_url = base_url
        self._where = where(base_url)
        self._key = key
        self._headers = dict(headers or {})
        self._seconds = seconds
        self._wall = wall
        self._clients = PerLoop(self._open, _close)

    async def send(self, request: ChatRequest) -> dict[str, Any]:
        """Post once and give the decoded JSON object; raise `SendError` for anything else."""
        import openai  # noqa: PLC0415 - it takes 0.6 s, and few need it

        client = await self._clients.get()
        try:
            content = await _post(client, encode(request.body()))
        except openai.APIStatusError as error:
            known = {name.lower(): value for name, value in error.response.headers.items()}
            status, said = error.response.status_code, error.response.content
            failed = status_error(status, known, said, where=self._where, wall=self._wall())
            raise self._safe(failed) from error
        except openai.APITimeoutError as error:
            message = f"{self._where} did not answer within {self._seconds:g} s"
            raise SendError(message, again=True, billed=_reached(error)) from error
        except openai.APIConnectionError as error:
            raise self._unconnected(error) from error
        except openai.OpenAIError as error:
            raise SendError(self._hidden(f"{self._where} cannot be asked: {_told(error)}"), billed=True) from error
        except (TimeoutError, OSError) as error:  # a body that breaks off is not wrapped by every transport
            message = f"{self._where} broke the connection off: {_told(error)}"
            raise SendError(message, again=True, billed=True) from error
        decoded = decode(content, self._where)
        if (failure := embedded_error(decoded, where=self._where)) is not None:
            raise self._safe(failure)
        return decoded

    async def close(self) -> None:
        """Close connections; closing twice is fine."""
        await self._clients.close()

    def _open(self) -> "AsyncOpenAI":
        import openai  # noqa: PLC0415 - it takes 0.6 s, and few need it

        headers: dict[str, Any] = dict(self._headers)
        if not self._key:
            headers = {"Authorization": openai.Omit(), **headers}
        return openai.AsyncOpenAI(
            api_key=self._key or "none",
            base_url=self._base_url,
            max_retries=0,
            timeout=self._seconds,
            default_headers=headers,
        )

    def _unconnected(self, error: Exception) -> SendError:
        told = self._hidden(_told(error.__cause__ or error))
        if _reached(error):
            return SendError(f"{self._where} broke the connection off: {told}", again=True, billed=True)
        return SendError(f"{self._where} cannot be reached: {told}", again=True)

    def _safe(self, error: SendError) -> SendError:
        error.args = (self._hidden(str(error)),)
        return error

    def _hidden(self, text: str) -> str:
        return hide(text, (self._key, *self._headers.values()))


async def _post(client: "AsyncOpenAI", content: bytes) -> bytes:
    # bytes of our own: the client's JSON is UTF-8, which cannot hold lone surrogates; before 2.15 they go in as `body`
    given = "content" if "content" in inspect.signature(client.post).parameters else "body"
    options: Any = {"headers": {"Content-Type": "application/json"}}
    sent: dict[str, Any] = {given: content}
    received: bytes = await client.post("/chat/completions", cast_to=bytes, options=options, **sent)
    return received


async def _close(client: "AsyncOpenAI") -> None:
    await client.close()


def _reached(error: Exception) -> bool:
    return not any(kind.__name__ in _NEVER_SENT for kind in type(error.__cause__).__mro__)


def _told(error: BaseException) -> str:
    return shorten(printable(str(error) or type(error).__name__), 200)
