"""One live request: what its answer counts for, and a streamed one passed on while it comes."""

import asyncio
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import aiohttp
from aiohttp import web

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, CassetteMissError, SendError
from pytest_agentbench.core.model import ModelSpec, Price, Usage, latency
from pytest_agentbench.llm.apis.api import ANTHROPIC, OPENAI, Api, Home
from pytest_agentbench.llm.apis.registry import APIS
from pytest_agentbench.llm.capabilities import Paused
from pytest_agentbench.llm.completion import answering_model, tokens_of
from pytest_agentbench.llm.ledger import SetAside
from pytest_agentbench.llm.prices import cost_of
from pytest_agentbench.llm.protocols import Caller, Recorder
from pytest_agentbench.llm.reply import TokenCount
from pytest_agentbench.llm.wire import LONGEST_REPLY, parsed, too_long, where

_WRONG_REQUEST = frozenset({400, 404, 413, 422})
"""Statuses by which a model server says that the request was wrong, which is its sender's fault."""

_RECORDED = ", ".join(f"/{api.path}" for api in APIS)


class Line:
    """The calls of one caller through the proxy.

    `upstream` "" means `OPENAI_BASE_URL`, else OpenAI's; for Anthropic's API `ANTHROPIC_BASE_URL`, else Anthropic's.
    `replaying` says that nothing may be asked live. `asked` maps each request that has no answer yet to when it was
    sent. `paused` stops the clock of the caller's run while it waits for a budget. `replayed` holds what recordings
    answered, by the ids of the answers.
    """

    def __init__(
        self,
        caller: Caller,
        *,
        upstream: str,
        price: Price | None,
        recorder: Recorder | None,
        replaying: bool,
        paused: Paused = nullcontext,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.caller = caller
        self._specs = {
            home: ModelSpec(model="", base_url=home.base_url(upstream, environ), price=price)
            for home in (OPENAI, ANTHROPIC)
        }
        self.replaying = replaying
        self.paused = paused
        self.usage = Usage()
        self.faults: tuple[AgentBenchError, ...] = ()
        self.failure: SendError | None = None
        self.unrecorded: Counter[str] = Counter()
        self.closed = False
        self.working: set[asyncio.Task[Any]] = set()
        self.asked: dict[int, float] = {}
        self._recorder = recorder
        self.replayed: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._remembered: dict[str, int] = {}
        self._unanswered: Counter[str] = Counter()

    def note(self, error: AgentBenchError) -> None:
        """Remember what decides the run, whatever the agent makes of the error that it is told."""
        self.faults = (*self.faults, error)

    def spec(self, home: Home) -> ModelSpec:
        """Give how the models of an API's home are reached, and at which price."""
        return self._specs[home]

    def find(self, api: Api, body: dict[str, Any]) -> dict[str, Any] | None:
        """Give the recorded answer to a request, or None: it is to be asked live; raise as `Recorder.find`."""
        # sent again by the client: the recorder has counted this request already
        if self._unanswered and self._unanswered[key := digest(body)]:
            self._unanswered[key] -= 1
            self._unanswered += Counter()  # drops what is used up
            self.usage += Usage(retries=1)
            return None
        recorded = self._recorder.find(self.caller, body, api.name) if self._recorder else None
        if recorded is None:
            if self.replaying:
                raise CassetteMissError(
                    "nothing may be asked live, and nothing is recorded for requests of no known run"
                )
            return None
        tokens = tokens_of(recorded.response)
        self._remember(api, recorded.response, tokens)
        if api.ids(recorded.response, ""):
            self.replayed[str(recorded.response.get("id"))] = (body, recorded.response)
        self.usage += Usage(replayed=1) + _counted(tokens or TokenCount(input=0, output=0))
        return recorded.response

    def keep(self, api: Api, body: dict[str, Any], response: dict[str, Any]) -> None:
        """Remember a good answer."""
        self.failure = None
        self._remember(api, response, tokens_of(response))
        if self._recorder:
            self._recorder.keep(self.caller, body, response, api.name)

    def earlier(self, body: Mapping[str, Any]) -> int:
        """Give the tokens of the conversation that a request continues without repeating it, as far as it is known."""
        named = body.get("previous_response_id")
        return self._remembered.get(named, 0) if isinstance(named, str) else 0

    def failed(self, body: dict[str, Any], message: str, status: int = 0) -> None:
        """Note that the server gave no good answer to a request, which the client may send again.

        Where the request itself was refused as wrong, nothing of the server's has failed.
        """
        self.failure = None if status in _WRONG_REQUEST else SendError(message, status=status)
        self._unanswered[digest(body)] += 1

    def refuse_unrecorded(self, what: str) -> None:
        """Count a request that is never recorded; raise `CassetteMissError` where nothing may be asked live."""
        self.unrecorded[what] += 1
        if self.replaying:
            raise CassetteMissError(f"{what} cannot be replayed: only POST of {_RECORDED} is recorded")

    def answered(self, tokens: TokenCount | None, cost: float | None, seconds: float) -> None:
        """Count one live call."""
        counted = _counted(tokens or TokenCount(input=0, output=0))
        took = Usage(seconds=seconds, latencies=(latency(seconds),))
        self.usage += took + counted + Usage(calls=1, cost_usd=cost or 0.0, unpriced=int(cost is None))

    def _remember(self, api: Api, response: Mapping[str, Any], tokens: TokenCount | None) -> None:
        """Note how long the conversation is that an answer ends: whoever names it is billed for all of it."""
        if tokens is not None and api.ids(response, ""):
            self._remembered[str(response.get("id"))] = tokens.input + tokens.output

    def close(self) -> None:
        """End what is in flight and refuse what comes later."""
        self.closed = True
        for task in tuple(self.working):
            task.cancel()


def _counted(tokens: TokenCount) -> Usage:
    return Usage(
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cached_tokens=tokens.cached,
        reasoning_tokens=tokens.reasoning,
    )


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
    value = parsed(data)
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
