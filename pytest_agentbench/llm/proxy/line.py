"""One party behind the proxy: where its requests go, what they took, and what went wrong whatever it made of that."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, CassetteMissError, SendError
from pytest_agentbench.core.model import ModelSpec, Price, Usage, latency
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.prices import cost_of, server_of
from pytest_agentbench.llm.reading import answering_model, read_tokens
from pytest_agentbench.llm.reply import TokenCount
from pytest_agentbench.llm.seams import Recorder
from pytest_agentbench.llm.turns import Paused

_WRONG_REQUEST = frozenset({400, 404, 413, 422})
"""Statuses by which a model server says that the request was wrong, which is its sender's fault."""


class Line:
    """The calls of one caller through the proxy.

    `upstream` "" means `OPENAI_BASE_URL`, else OpenAI's. `replaying` says that nothing may be asked live. `asked` maps
    each request that has no answer yet to when it was sent. `paused` stops the clock of the caller's run while it waits
    for a budget.
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
    ) -> None:
        self.caller = caller
        self.spec = ModelSpec(model="", base_url=server_of(ModelSpec(model="", base_url=upstream)), price=price)
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
        self._unanswered: Counter[str] = Counter()

    def note(self, error: AgentBenchError) -> None:
        """Remember what decides the run, whatever the agent makes of the error that it is told."""
        self.faults = (*self.faults, error)

    def find(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """Give the recorded answer to a request, or None: it is to be asked live; raise as `Recorder.find`."""
        # sent again by the client: the recorder has counted this request already
        if self._unanswered and self._unanswered[key := digest(body)]:
            self._unanswered[key] -= 1
            self._unanswered += Counter()  # drops what is used up
            self.usage += Usage(retries=1)
            return None
        recorded = self._recorder.find(self.caller, body) if self._recorder else None
        if recorded is None:
            if self.replaying:
                raise CassetteMissError(
                    "nothing may be asked live, and nothing is recorded for requests of no known run"
                )
            return None
        tokens = read_tokens(recorded.response) or TokenCount(input=0, output=0)
        self.usage += Usage(replayed=1) + _counted(tokens)
        return recorded.response

    def keep(self, body: dict[str, Any], response: dict[str, Any]) -> None:
        """Remember a good answer."""
        self.failure = None
        if self._recorder:
            self._recorder.keep(self.caller, body, response)

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
            raise CassetteMissError(f"{what} cannot be replayed: only chat completions are recorded")

    def cost_of(self, response: Mapping[str, Any], model: str, tokens: TokenCount | None) -> float | None:
        """Give what an answer cost, None where that is not known."""
        return cost_of(self.spec, answering_model(dict(response), model), tokens) if tokens else None

    def answered(self, tokens: TokenCount | None, cost: float | None, seconds: float) -> None:
        """Count one live call."""
        counted = _counted(tokens or TokenCount(input=0, output=0))
        took = Usage(seconds=seconds, latencies=(latency(seconds),))
        self.usage += took + counted + Usage(calls=1, cost_usd=cost or 0.0, unpriced=int(cost is None))

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
