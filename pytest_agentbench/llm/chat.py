"""A model as one role of one run uses it: cassette, budget, limits, retries, usage."""

import asyncio
import random as randomness
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_agentbench.core.errors import ProviderError, SendError, TokenLimitError
from pytest_agentbench.core.model import ModelSpec, Usage, latency
from pytest_agentbench.core.text import printable
from pytest_agentbench.llm.answer_text import cut_off, written_call
from pytest_agentbench.llm.capabilities import Capabilities, Form, Paused, advised, is_denied
from pytest_agentbench.llm.completion import answering_model, read_reply, read_tokens
from pytest_agentbench.llm.http_errors import is_unknown_model, named
from pytest_agentbench.llm.ledger import SetAside
from pytest_agentbench.llm.limiter import Limiter, Ticket
from pytest_agentbench.llm.prices import cost_of, worst_case
from pytest_agentbench.llm.protocols import Budget, Caller, Recorded, Recorder, Transport
from pytest_agentbench.llm.reply import ChatReply, TokenCount
from pytest_agentbench.llm.wire import encode

LONGEST_WAIT = 60.0
"""Seconds that a `Retry-After` is followed at most."""

PATIENCE = 600.0
"""Seconds for which a call keeps trying a provider that asks to slow down."""

_FIRST, _LONGEST_BACKOFF = 0.5, 30.0


def slows_down(error: SendError) -> bool:
    """Whether the provider asks everybody to slow down: 429, or 503 with a time to come back, unless for good."""
    return error.again and (error.status == 429 or (error.status == 503 and error.retry_after is not None))


class Retries:
    """Decides about the retries of one call.

    After a failure that may pass, the next request waits a random time up to 0.5 s, 1 s, 2 s, … 30 s (full jitter), or
    what the server asked for, at most 60 s; after `retries` of them the call has failed. A request to slow down uses
    none of them up: it is repeated until `patience` seconds have passed since the first one.
    """

    def __init__(
        self, retries: int, *, random: Callable[[], float], now: Callable[[], float], patience: float = PATIENCE
    ) -> None:
        self._retries = retries
        self._random = random
        self._now = now
        self._patience = patience
        self._began = now()
        self._slowed_since: float | None = None
        self._failures = 0
        self.sent = 0

    def after(self, error: SendError) -> float:
        """Give the seconds to wait before sending again; 0 leaves the waiting to the limiter.

        Raise the `SendError` of the call, saying how often it was tried, where there is no point in going on.
        """
        self.sent += 1
        if not error.again:
            raise self._final(error)
        if slows_down(error):
            now = self._now()
            if self._slowed_since is None:
                self._slowed_since = now
            if now - self._slowed_since + min(error.retry_after or 0.0, LONGEST_WAIT) >= self._patience:
                raise self._final(error)
            return 0.0
        self._failures += 1
        if self._failures > self._retries:
            raise self._final(error)
        backoff = self._random() * min(_FIRST * 2.0 ** (self._failures - 1), _LONGEST_BACKOFF)
        return max(backoff, min(error.retry_after or 0.0, LONGEST_WAIT))

    def _final(self, error: SendError) -> SendError:
        message = str(error)
        if self.sent > 1:
            message += f" (tried {self.sent} times in {self._now() - self._began:.1f} s)"
        elif error.again:
            message += " (tried once)"
        error.args = (printable(message, newlines=True),)
        return error


_SET_BY = {"temperature": "temperature", "seed": "seed", "max_tokens": "max_tokens", "reasoning_effort": "effort"}
"""Parameters of a request that a suite sets by a key of its own."""


@dataclass(frozen=True, kw_only=True)
class Ways:
    """What all chats of a process share: time, chance and the budget."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = randomness.random
    now: Callable[[], float] = time.monotonic
    patience: float = PATIENCE
    budget: Budget | None = None


class ChatModel:
    """The `Chat` of one role of one run.

    `transport` opens the way to the server when a call has to be made live, and only then. `capabilities` is what was
    learnt about the server and the model. `working` holds a slot while a request is out, and no longer: what is made of
    an answer keeps nobody from asking. `was_denied` says that the server did not let it in.
    """

    def __init__(
        self,
        spec: ModelSpec,
        caller: Caller,
        *,
        transport: Callable[[], Transport],
        limiter: Limiter,
        ways: Ways | None = None,
        recorder: Recorder | None = None,
        capabilities: Capabilities | None = None,
        paused: Paused = nullcontext,
        working: Paused = nullcontext,
    ) -> None:
        self.spec = spec
        self.caller = caller
        self.capabilities = capabilities or Capabilities()
        self._open_transport = transport
        self._transport: Transport | None = None
        self._limiter = limiter
        self._ways = ways or Ways()
        self._recorder = recorder
        self.paused = paused
        self._working = working
        self._meter = Meter()
        self.was_denied = False
        self._asked_at: float | None = None
        self._noted: tuple[str, ...] | None = None
        self._asked = {"max_tokens"}  # every answer is bounded
        named = (name for name, key in _SET_BY.items() if getattr(spec, key) is not None)
        # what the suite set itself is sent or refused, never left out
        self._own = frozenset({*named, *spec.extra_body})

    @property
    def usage(self) -> Usage:
        """What the role's calls took so far; answers from a cassette took nothing and only count as `replayed`."""
        usage = self._meter.usage
        facts = self.capabilities.facts_of(self._asked) if usage.calls else ()
        return usage.model_copy(update={"adapted": facts}) if facts else usage

    @property
    def unanswered(self) -> float:
        """Seconds for which the request in flight, or the one that was broken off, has had no answer; 0 without one."""
        return 0.0 if self._asked_at is None else self._ways.now() - self._asked_at

    def understood(self, form: Form) -> None:
        """Remember that this form of structured answers brought one."""
        self.capabilities.understood(form)
        self._asked.add("response_format")
        if self._recorder is not None and self._noted is not None:
            self._note_facts(self._recorder)

    async def complete(
        self,
        messages: Sequence[dict[str, Any]],
        *,
        tools: Sequence[dict[str, Any]] = (),
        tool_choice: str | dict[str, Any] | None = None,
        response_format: dict[str, Any] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> ChatReply:
        """Ask once. What the spec sets holds; what it leaves open is as the role prefers.

        Raise `ProviderError` where no usable answer comes, `NotRunError` where the call may not be made.
        """
        spec = self.spec
        asked = {
            "tools": list(tools) or None,
            "tool_choice": tool_choice,
            "response_format": response_format,
            "temperature": temperature if spec.temperature is None else spec.temperature,
            "seed": spec.seed,
            "max_tokens": max_tokens if spec.max_tokens is None else spec.max_tokens,
            "reasoning_effort": spec.effort,
        }
        set_here = {name: value for name, value in asked.items() if value is not None}
        body = {"model": spec.model, "messages": list(messages), **set_here, **spec.extra_body}
        recorded = self._recorder.find(self.caller, body) if self._recorder is not None else None
        try:
            reply = await self._live(body) if recorded is None else self._replayed(recorded)
            return self._checked(reply, body, tools)
        except ProviderError as error:
            self.was_denied = self.was_denied or is_denied(error)
            error.args = (f"{self.caller.role}, model {spec.model!r}: {error}",)
            raise

    def _replayed(self, recorded: Recorded) -> ChatReply:
        """Read a recorded answer, which costs nothing."""
        reply = read_reply(recorded.response, self.spec.model)
        self._meter.replayed += 1
        return reply.model_copy(update={"replayed": True, "cost_usd": 0.0})

    def _checked(self, reply: ChatReply, body: dict[str, Any], tools: Sequence[dict[str, Any]]) -> ChatReply:
        """Note a call that was written as text; raise `TokenLimitError` where the limit left no word."""
        if reply.truncated and not reply.calls and not reply.text.strip() and not reply.refusal:
            bound = body.get("max_tokens", body.get("max_completion_tokens"))
            raise TokenLimitError(f"{printable(repr(reply.model))} was {cut_off(reply, bound)}")
        if tools and not reply.calls and reply.content:
            offered = [str(tool["function"]["name"]) for tool in tools]
            if written := written_call(reply.content, offered):
                return reply.model_copy(update={"written_call": written})
        return reply

    async def _live(self, body: dict[str, Any]) -> ChatReply:
        if self._transport is None:
            self._transport = self._open_transport()
        self._asked |= body.keys() - self._own
        ways = self._ways
        budget = ways.budget if ways.budget is not None and ways.budget.bounds(self.caller) else None
        worst = None if budget is None else worst_case(self.spec, self.capabilities.fit(body, self._own))
        async with SetAside(budget, self.caller, worst, rest=self._rest) as money:
            response = await self._send(self._transport, body, money)
            tokens = read_tokens(response)
            cost = None
            if tokens is not None:
                cost = cost_of(self.spec, answering_model(response, self.spec.model), tokens)
            money.spend(cost)
        self._meter.spent(tokens, cost)
        reply = read_reply(response, self.spec.model, tokens=tokens, cost_usd=cost)
        if self._recorder is not None:
            self._recorder.keep(self.caller, body, response)
            self._note_facts(self._recorder)
        return reply

    def _note_facts(self, recorder: Recorder) -> None:
        """Have what was learnt kept with the recordings, once."""
        facts = self.capabilities.facts
        if facts != self._noted:
            self._noted = facts
            recorder.note(self.spec.model, facts)

    async def _send(self, transport: Transport, body: dict[str, Any], money: SetAside) -> dict[str, Any]:
        """Send, and again where that may help, with the run's clock stopped in between."""
        ways = self._ways
        retries = Retries(self.spec.retries, random=ways.random, now=ways.now, patience=ways.patience)
        self._asked_at = None
        while True:
            try:
                async with self.capabilities.turn(body, self.paused):
                    response = await self._send_fitted(transport, body, money)
                self._asked_at = None
                return response
            except SendError as error:
                wait = retries.after(error)
            if wait > 0:
                await self._rest(wait)
            await money.hold()
            self._meter.retries += 1

    async def _send_fitted(self, transport: Transport, asked: dict[str, Any], money: SetAside) -> dict[str, Any]:
        """Send what the server takes, as far as that is known, and learn from what it refuses."""
        learnt, own = self.capabilities, self._own
        left_out: frozenset[str] = frozenset()
        refused: SendError | None = None
        while True:
            body = learnt.fit(asked, own, without=left_out)
            try:
                async with learnt.trial(refused, body, self.paused), self._working():
                    self._asked_at = self._asked_at or self._ways.now()
                    response = await self._send_once(transport, body, asked, money)
            except SendError as error:
                if is_unknown_model(error):
                    if learnt.models is None:
                        learnt.models = await transport.models()
                    raise named(error, self.spec.model, learnt.models) from error.__cause__
                if not learnt.learn(error, body, own):
                    if error.again or (refused is None and not (left_out := learnt.suspects(error, body, own))):
                        raise advised(error, self.spec, learnt.meant(error, body, own)) from error.__cause__
                    if refused is not None:
                        learnt.tried_in_vain(refused, body)
                        raise advised(refused, self.spec, learnt.meant(refused, body, own)) from refused.__cause__
                    refused = error
            else:
                learnt.answered(body, left_out, refused)
                return response
            await money.hold()

    async def _send_once(
        self, transport: Transport, body: dict[str, Any], asked: dict[str, Any], money: SetAside
    ) -> dict[str, Any]:
        limiter = self._limiter
        ticket = await self._ticket(asked)
        began = self._ways.now()
        try:
            response = await transport.send(body)
        except SendError as error:
            if slows_down(error) or error.status == 503:
                limiter.refused(ticket, error.retry_after, pause=slows_down(error))
            else:
                limiter.left(ticket)
            if error.billed:
                money.spend(None)
            raise
        except BaseException:  # cancelled while the server worked on it
            limiter.left(ticket)
            money.spend(None)
            raise
        finally:
            took = self._ways.now() - began
            self._meter.seconds += max(took, 0.0)
        self._meter.latencies.append(latency(took))
        tokens = read_tokens(response) if ticket.spent is not None else None
        limiter.answered(ticket, None if tokens is None else tokens.input + tokens.output)
        return response

    async def _ticket(self, body: dict[str, Any]) -> Ticket:
        tokens = 0
        if self._limiter.counts_tokens:
            # four characters a token is what providers estimate by as well; the answer's own count corrects it
            tokens = len(encode(body)) // 4 + (body.get("max_tokens") or 0)
        ticket = self._limiter.enter_now(tokens)
        if ticket is not None:
            return ticket
        try:
            async with self.paused():
                ticket = await self._limiter.enter(tokens)
        except BaseException:  # the clock may find that time is up just when the wait has ended
            if ticket is not None:
                self._limiter.left(ticket)
            raise
        return ticket

    async def _rest(self, seconds: float) -> None:
        async with self.paused():
            await self._ways.sleep(seconds)


@dataclass(slots=True)
class Meter:
    """Counts up to a `Usage`, which is only made when it is asked for: every call adds to it several times."""

    calls: int = 0
    replayed: int = 0
    retries: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        """What was counted so far."""
        return Usage(**asdict(self))

    def spent(self, tokens: TokenCount | None, cost_usd: float | None) -> None:
        """Count a live call with its tokens, as far as the server told, and its cost, None where nobody knows it."""
        self.calls += 1
        if tokens is not None:
            self.input_tokens += tokens.input
            self.cached_tokens += tokens.cached
            self.output_tokens += tokens.output
            self.reasoning_tokens += tokens.reasoning
        self.cost_usd += cost_usd or 0.0
        self.unpriced += cost_usd is None
