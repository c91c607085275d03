"""The numbers of a run that are compared: what each is called, which way is better, and where it is found."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_agentbench.core.run import Result
from pytest_agentbench.results.trials import scenarios_of

REPORTED = "reported."
"""How the names of an agent's own numbers begin."""

TOKENS, COST = "tokens", "cost_usd"
"""The agent's own numbers that stand for what could not be observed."""

_COUNTS = frozenset({"agent_turns", "tool_calls", "resumed", "consent_unclear"})


@dataclass(frozen=True, kw_only=True)
class Number:
    """A number of a run: its name, its heading, the digits it is shown with, and which way is better, if any.

    `is_share` tells that it lies between 0 and 1.
    """

    name: str
    title: str
    digits: int
    better: Literal["more", "fewer", ""]
    is_share: bool = False

    @property
    def bounds(self) -> tuple[float, float]:
        """What the number cannot go beyond: recalls and shares 0 and 1, counts 0, others nothing."""
        if self.is_share:
            return 0.0, 1.0
        return 0.0 if self.better or self.name in _COUNTS else -math.inf, math.inf


NUMBERS = (
    Number(name="complete", title="complete", digits=2, better="more", is_share=True),
    Number(name="name_recall", title="R_name", digits=2, better="more", is_share=True),
    Number(name="strict_recall", title="R_strict", digits=2, better="more", is_share=True),
    Number(name="agent_turns", title="agent turns", digits=1, better=""),
    Number(name="tool_calls", title="calls", digits=1, better=""),
    Number(name="redundant_calls", title="redundant", digits=2, better="fewer"),
    Number(name="tool_errors", title="tool errors", digits=2, better="fewer"),
    Number(name="coherence", title="coherence", digits=2, better="more", is_share=True),
    Number(name="measured", title="measured", digits=2, better="more", is_share=True),
    Number(name=TOKENS, title="tokens", digits=0, better="fewer"),
    Number(name=COST, title="cost USD", digits=4, better="fewer"),
    Number(name="seconds", title="seconds", digits=2, better="fewer"),
)
"""What is measured of runs beside success; further metrics and the agent's own numbers come behind."""

_LEFT_OUT = frozenset({"errors_then_retried", "calls_ratio", "echo_rate", "endings_unchecked"})
"""Metrics that say no more than others do of how variants differ, or are of the simulated user."""


def numbers_of(runs: Sequence[Result]) -> tuple[Number, ...]:
    """Give the numbers to compare over `runs`: the common ones, further metrics by name, the agent's own by name."""
    own: dict[str, bool] = {}
    for run in runs:
        for name, value in run.reported.items():
            own[name] = own.get(name, True) and 0 <= value <= 1
    known = {number.name for number in NUMBERS} | _LEFT_OUT
    further = sorted({name for run in runs for name, value in run.metrics.items() if value is not None} - known)
    return (
        *NUMBERS,
        *(Number(name=name, title=name, digits=2, better="") for name in further),
        *(
            Number(name=f"{REPORTED}{name}", title=name, digits=2, better="", is_share=own[name])
            for name in sorted(own.keys() - {TOKENS, COST})
        ),
    )


def value_of(run: Result, name: str) -> float | None:
    """Give a number of a run, None where it was not measured.

    tokens: input and output of the agent's model calls, else what the agent says. cost_usd: their price in US dollars
    where all of them were live and priced, else what the agent says. seconds: the run's own time, without waits.
    """
    value: float | None
    if name == "seconds":
        value = run.seconds
    elif name == TOKENS:
        value = _tokens(run)
    elif name == COST:
        value = _cost(run)
    elif name.startswith(REPORTED):
        value = run.reported.get(name.removeprefix(REPORTED))
    else:
        value = run.metrics.get(name)
    return value if value is not None and math.isfinite(value) else None


def scenario_means(runs: Iterable[Result], value: Callable[[Result], float | None]) -> dict[str, float]:
    """Give the mean of what `value` measures over the scored runs of each scenario that have it."""
    held = {
        scenario: [measured for run in mine if run.scored and (measured := value(run)) is not None]
        for scenario, mine in scenarios_of(runs).items()
    }
    return {scenario: mean(values) for scenario, values in held.items() if values}


def mean(values: Sequence[float]) -> float:
    """Give the mean, rounded once, so that the order cannot show."""
    return math.fsum(values) / len(values)


def _tokens(run: Result) -> float | None:
    usage = run.usage.get("agent")
    if usage is None or not usage.calls + usage.replayed:
        return run.reported.get(TOKENS)
    return float(usage.input_tokens + usage.output_tokens)


def _cost(run: Result) -> float | None:
    usage = run.usage.get("agent")
    if usage is None or not usage.calls + usage.replayed:
        return run.reported.get(COST)
    return None if usage.unpriced or usage.replayed else usage.cost_usd
