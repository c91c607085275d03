"""Options of the Python interface, checked before anything is read or played."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypedDict

from pytest_agentbench.core.errors import with_hint
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.llm.cassette.modes import Mode

_MOST_CALLS = 2**62
_MOST_COST = 1e9


class Options(TypedDict, total=False):
    """How runs are played: as the options of pytest of the same names.

    `concurrency` is 8, `seed` 0, `cassette` "off", `judge` True; without `max_calls` and `max_cost` only the suite's
    limits bound what models take.
    """

    concurrency: int
    seed: int
    cassette: Literal["off", "replay", "record", "refresh"]
    judge: bool
    max_calls: int | None
    max_cost: float | None


def check_options(function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Raise `TypeError` for an option that a function does not take, `ValueError` for a value that it cannot have."""
    own = [name for name, one in inspect.signature(function).parameters.items() if one.kind is not one.VAR_KEYWORD]
    there = [*own, *Options.__annotations__]
    for name, value in options.items():
        if name not in there:
            hint = suggestion(name, there) or f"there are: {listing(there)}"
            raise TypeError(with_hint(f"{function.__name__}() has no option {name!r}", hint))
        is_allowed, allowed = _ALLOWED[name]
        if not is_allowed(value):
            raise ValueError(f"{name} must be {allowed}, got {value!r}")


def check_trials(trials: Any) -> None:
    """Raise `ValueError` unless a number of trials is left to the suite, or is one."""
    if trials is not None and not _is_whole(trials, 1):
        raise ValueError(f"trials must be a whole number >= 1, or None for the suite's own, got {trials!r}")


def check_list(name: str, value: Any, what: str) -> None:
    """Raise `ValueError` for what is no list, such as a text, whose characters would be taken for its entries."""
    if value is not None and (isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable)):
        kind = "the text " if isinstance(value, str) else ""
        raise ValueError(f"{name} must be a list of {what}, got {kind}{value!r}")


def _is_whole(value: Any, least: float, below: float = math.inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < below


def _is_cost(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST_COST


_ALLOWED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "concurrency": (lambda value: _is_whole(value, 1), "a whole number >= 1"),
    "seed": (lambda value: _is_whole(value, -math.inf), "a whole number"),
    "cassette": (lambda value: value in tuple(Mode), f"one of {', '.join(repr(str(mode)) for mode in Mode)}"),
    "judge": (lambda value: isinstance(value, bool), "True or False"),
    "max_calls": (
        lambda value: value is None or _is_whole(value, 0, _MOST_CALLS),
        "a whole number >= 0 and less than 2**62, or None",
    ),
    "max_cost": (
        lambda value: value is None or _is_cost(value),
        "US dollars >= 0 and less than a billion, or None",
    ),
}
