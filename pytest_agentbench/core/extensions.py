"""What others add to runs: agents, states, checks, metrics and prices that the suite itself does not name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.core.model import ModelSpec, Price
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.seams import Check, StateProvider


def _nothing(*_: object) -> None:
    return None


def _no_checks(_: Run) -> Iterable[Check]:
    return ()


def _no_metrics(_: Run) -> Mapping[str, float | None]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Extensions:
    """Each gives None, or nothing, where nobody has anything to add.

    `agent` turns what a factory gave into an agent; `state` gives the provider of a name with its options; `checks` and
    `metrics` are asked about each closed run; `price` is asked for the model and the base URL of a role without one.
    """

    agent: Callable[[object], object | None] = _nothing
    state: Callable[[str, dict[str, Any]], StateProvider | None] = _nothing
    checks: Callable[[Run], Iterable[Check]] = _no_checks
    metrics: Callable[[Run], Mapping[str, float | None]] = _no_metrics
    price: Callable[[str, str], Price | None] = _nothing

    def priced(self, spec: ModelSpec, server: str) -> ModelSpec:
        """Give the model with a price, where it has none of its own and somebody knows one."""
        found = None if spec.price is not None else self.price(spec.model, server)
        return spec if found is None else spec.model_copy(update={"price": found})


NO_EXTENSIONS = Extensions()
"""Nobody adds anything."""
