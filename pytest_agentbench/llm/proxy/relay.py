"""One live request: what its answer counts for, and a streamed one passed on while it comes."""

from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web

from pytest_agentbench.llm.direct import where
from pytest_agentbench.llm.proxy.line import Line
from pytest_agentbench.llm.proxy.sse import Assembly, Event, Events
from pytest_agentbench.llm.proxy.usage import tokens_of
from pytest_agentbench.llm.setting_aside import SetAside
from pytest_agentbench.llm.wire import LONGEST_REPLY, too_long


@dataclass(kw_only=True)
class Exchange:
    """One live request of a line, and what is done with its answer.

    `body` decides the answer, and is what it is recorded under where it is `recorded`. `with_usage` says that the
    client wants the last chunk of a stream, which tells the tokens. `began` is when it was sent.
    """

    line: Line
    body: dict[str, Any]
    recorded: bool
    with_usage: bool = True
    metered: bool = True
    began: float = 0.0
    accounted: bool = False

    @property
    def server(self) -> str:
        """The model server, without what its URL may hide."""
        return where(self.line.spec.base_url)

    def failed(self, what: str, status: int = 0) -> str:
        """Note that the server gave no good answer to a chat completion; give the whole sentence.

        A run may end for want of one, but not for want of another path, which agents try to see what there is.
        """
        message = f"{self.server} {what}"
        if self.recorded:
            self.line.failed(self.body, message, status)
        return message

    def account(self, money: SetAside, response: dict[str, Any] | None, seconds: float) -> None:
        """Settle what an answer cost, count it, and keep it where it is a whole completion."""
        self.accounted = True
        if not self.metered:
            return
        tokens = tokens_of(response) if response else None
        cost = self.line.cost_of(response or {}, str(self.body.get("model", "")), tokens)
        money.spend(cost)
        self.line.answered(tokens, cost, seconds)
        if not self.recorded:
            return
        if response and isinstance(response.get("choices"), list) and response["choices"]:
            self.line.keep(self.body, response)
        else:
            self.failed("answered with no whole chat completion", 200)


class ClientGoneError(Exception):
    """Whoever asked has closed the connection."""


class Stream:
    """Passes a streamed answer on, event by event, and puts it together."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._assembly = Assembly()
        self._last: dict[str, Any] | None = None

    @property
    def whole(self) -> dict[str, Any] | None:
        """The whole answer, or what is known of one that is not recorded; None where it is not whole (yet)."""
        return self._assembly.completion() if self._exchange.recorded else self._last

    async def pass_on(self, response: aiohttp.ClientResponse, answer: web.StreamResponse) -> bytes:
        """Pass on all but the last word, which is given: a client that has it may go on, or end, at once.

        Raise `ClientGoneError` where nobody listens any more, what aiohttp raises where the server broke off,
        `SendError` beyond 32 MB.
        """
        events = Events()
        ending = b""
        size = 0
        async for part in response.content.iter_any():
            if (size := size + len(part)) > LONGEST_REPLY:
                raise too_long(self._exchange.server)
            for event in events.feed(part):
                if event.done:
                    ending += event.raw
                    continue
                self._read(event)
                if self._exchange.with_usage or not _tells_only_usage(event):
                    await _write(answer, event.raw)
        rest = events.rest()
        self._read(rest)
        return ending + rest.raw

    def _read(self, event: Event) -> None:
        if event.data is None:
            return
        if self._exchange.recorded:
            self._assembly.add(event.data)
        else:
            self._last = event.data


async def _write(answer: web.StreamResponse, part: bytes) -> None:
    try:
        await answer.write(part)
    except (OSError, aiohttp.ClientError) as error:
        raise ClientGoneError from error


def _tells_only_usage(event: Event) -> bool:
    return event.data is not None and event.data.get("choices") == [] and bool(event.data.get("usage"))
