"""What the calls of one chat took, added up as they come."""

from pytest_agentbench.core.model import Usage, latency
from pytest_agentbench.llm.reply import TokenCount


class Meter:
    """Counts up to a `Usage`, which is only made when it is asked for: every call adds to it several times."""

    __slots__ = ("_cached", "_calls", "_cost", "_input", "_latencies", "_output", "_reasoning", "_replayed", "_retries",
                 "_unpriced", "_waited")  # fmt: skip

    def __init__(self) -> None:
        self._calls = self._replayed = self._retries = self._unpriced = 0
        self._input = self._cached = self._output = self._reasoning = 0
        self._cost = self._waited = 0.0
        self._latencies: list[float] = []

    @property
    def usage(self) -> Usage:
        """What was counted so far."""
        return Usage(
            calls=self._calls,
            replayed=self._replayed,
            retries=self._retries,
            input_tokens=self._input,
            cached_tokens=self._cached,
            output_tokens=self._output,
            reasoning_tokens=self._reasoning,
            cost_usd=self._cost,
            unpriced=self._unpriced,
            seconds=self._waited,
            latencies=tuple(self._latencies),
        )

    def replayed(self) -> None:
        """Count an answer from a cassette, which took nothing."""
        self._replayed += 1

    def retried(self) -> None:
        """Count a request that is sent again."""
        self._retries += 1

    def waited(self, seconds: float) -> None:
        """Add the seconds for which a request was out, answered or not."""
        self._waited += max(seconds, 0.0)

    def answered(self, seconds: float) -> None:
        """Note how long one answer took."""
        self._latencies.append(latency(seconds))

    def spent(self, tokens: TokenCount | None, cost_usd: float | None) -> None:
        """Count a live call with its tokens, as far as the server told, and its cost, None where nobody knows it."""
        self._calls += 1
        if tokens is not None:
            self._input += tokens.input
            self._cached += tokens.cached
            self._output += tokens.output
            self._reasoning += tokens.reasoning
        self._cost += cost_usd or 0.0
        self._unpriced += cost_usd is None
