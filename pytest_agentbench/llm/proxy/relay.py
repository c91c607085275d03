"""One live request: what its answer counts for, and a streamed one passed on while it comes."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import aiohttp
from aiohttp import web

from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.llm.apis.api import Api
from pytest_agentbench.llm.prices import cost_of
from pytest_agentbench.llm.proxy.line import Line
from pytest_agentbench.llm.reading import answering_model, tokens_of
from pytest_agentbench.llm.setting_aside import SetAside
from pytest_agentbench.llm.wire import LONGEST_REPLY, too_long, where

_DONE = "[DONE]"
_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_OVERLAP = 3
"""Bytes at the end of what was searched that may be the beginning of an event's end."""


class Event(NamedTuple):
    """One event of a stream: its bytes as they came, and the JSON object of its data, if it is one."""

    raw: bytes
    data: dict[str, Any] | None = None
    done: bool = False


class Events:
    """Cuts a stream of bytes into events."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._searched = 0

    def feed(self, part: bytes) -> list[Event]:
        """Give the events that `part` finishes."""
        rest = self._rest
        rest += part
        # nothing is searched or moved twice: a server may send megabytes in events of a few bytes, or in one
        ends = [found.end() for found in _END.finditer(rest, self._searched)]
        blocks = [bytes(rest[start:end]) for start, end in pairwise([0, *ends])]
        if ends:
            del rest[: ends[-1]]
        self._searched = max(len(rest) - _OVERLAP, 0)
        return [_event(block) for block in blocks]

    def rest(self) -> Event:
        """Give what stands behind the last whole event."""
        block = bytes(self._rest)
        self._rest.clear()
        self._searched = 0
        return _event(block)


def _event(block: bytes) -> Event:
    # split as bytes: text also splits at separators that may stand in JSON
    lines = (line for line in block.splitlines() if line.startswith(b"data:"))
    data = b"\n".join(line[5:].removeprefix(b" ") for line in lines).decode("utf-8", "replace")
    if data == _DONE:
        return Event(block, done=True)
    try:
        value = json.loads(data) if data else None
    except (ValueError, RecursionError):
        value = None
    return Event(block, value if isinstance(value, dict) else None)


@dataclass(kw_only=True)
class Exchange:
    """One live request of a line, and what is done with its answer.

    `body` decides the answer, and is what it is recorded under where its `api` is one whose answers are. `spec` says
    where it goes. `with_usage` says that the client wants the chunk of a stream that tells the tokens. `began` is when
    it was sent, `proxy` what of the environment it goes through.
    """

    line: Line
    spec: ModelSpec
    body: dict[str, Any]
    api: Api | None
    with_usage: bool = True
    metered: bool = True
    began: float = 0.0
    proxy: str | None = None
    accounted: bool = False

    @property
    def server(self) -> str:
        """The model server, without what its URL may hide."""
        return where(self.spec.base_url)

    def failed(self, what: str, status: int = 0) -> str:
        """Note that the server gave no good answer to a request that is recorded; give the whole sentence.

        A run may end for want of one, but not for want of another path, which agents try to see what there is.
        """
        message = f"{self.server} {what}"
        if self.api is not None:
            self.line.failed(self.body, message, status)
        return message

    def account(self, money: SetAside, response: dict[str, Any] | None, seconds: float) -> None:
        """Settle what an answer cost, count it, and keep it where it is whole; what is accounted for once stays so."""
        if self.accounted:
            return
        self.accounted = True
        if not self.metered:
            return
        tokens = tokens_of(response) if response else None
        model = answering_model(response or {}, str(self.body.get("model", "")))
        cost = cost_of(self.spec, model, tokens) if tokens else None
        money.spend(cost)
        self.line.answered(tokens, cost, seconds)
        if self.api is None:
            return
        if response and self.api.is_whole(response):
            self.line.keep(self.api, self.body, response)
        else:
            self.failed(f"answered with no whole {self.api.noun}", 200)


class ClientGoneError(Exception):
    """Whoever asked has closed the connection."""


class Stream:
    """Passes a streamed answer on, event by event, and puts it together; `account` is called when it has all of it."""

    def __init__(self, exchange: Exchange, account: Callable[[], None]) -> None:
        self._exchange = exchange
        self._account = account
        self._assembly = exchange.api.assembly() if exchange.api is not None else None
        self._last: dict[str, Any] | None = None

    @property
    def whole(self) -> dict[str, Any] | None:
        """The whole answer, or what is known of one that is not recorded; None where it is not whole (yet)."""
        return self._assembly.whole() if self._assembly is not None else self._last

    async def pass_on(self, response: aiohttp.ClientResponse, answer: web.StreamResponse) -> None:
        """Pass all on. The answer is accounted for before its last event: a client that has it may end at once.

        Raise `ClientGoneError` where nobody listens any more, what aiohttp raises where the server broke off,
        `SendError` beyond 32 MB.
        """
        events = Events()
        size = 0
        async for part in response.content.iter_any():
            if (size := size + len(part)) > LONGEST_REPLY:
                raise too_long(self._exchange.server)
            for event in events.feed(part):
                await self._pass_on(event, answer)
        rest = events.rest()
        self._read(rest)
        self._account()
        if rest.raw:
            await _write(answer, rest.raw)

    async def _pass_on(self, event: Event, answer: web.StreamResponse) -> None:
        # what is accounted for is not put together again: a server may end its answer as often as it likes
        if self._read(event) and not self._exchange.accounted and self.whole is not None:
            self._account()
        if self._exchange.with_usage or not _tells_only_usage(event):
            await _write(answer, event.raw)

    def _read(self, event: Event) -> bool:
        """Read an event; give whether it is the last that matters."""
        if event.data is None:
            return event.done
        if self._assembly is None or self._exchange.api is None:
            self._last = event.data
            return False
        self._assembly.add(event.data)
        return self._exchange.api.is_last(event.data)


async def _write(answer: web.StreamResponse, part: bytes) -> None:
    try:
        await answer.write(part)
    except (OSError, aiohttp.ClientError) as error:
        raise ClientGoneError from error


def _tells_only_usage(event: Event) -> bool:
    return event.data is not None and event.data.get("choices") == [] and bool(event.data.get("usage"))
