"""One party behind the proxy: where its requests go, what they took, and what went wrong whatever it made of that."""

import asyncio
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, CassetteMissError, SendError
from pytest_agentbench.core.model import ModelSpec, Price, Usage, latency
from pytest_agentbench.llm.apis.api import ANTHROPIC, OPENAI, Api, Home
from pytest_agentbench.llm.apis.registry import APIS
from pytest_agentbench.llm.reading import tokens_of
from pytest_agentbench.llm.reply import TokenCount
from pytest_agentbench.llm.seams import Caller, Recorder
from pytest_agentbench.llm.turns import Paused

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
