"""The grammar of gates: `success >= 0.80`, or compared with a baseline: `agent.tokens <= 1.10 * baseline`."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import GateError
from pytest_agentbench.core.names import listing, suggestion

Operator = Literal[">=", ">", "<=", "<"]

GateKind = Literal["rate", "share", "count", "mean", "quantity", "loss"]
"""rate: passed / scored. share: unscored / all. count: runs that ended so. mean: of a metric between 0 and 1.

quantity: what the agent took, of which less is better. loss: how much of a rate was lost against a baseline, as far as
chance does not explain it.
"""

DEFAULT_GATE = "errors <= 0.05"
"""Stands beside the gates of a suite that says nothing about errors."""

KINDS: dict[str, GateKind] = {
    "success": "rate",
    "finished": "rate",
    "errors": "share",
    "crashed": "count",
    "stalled": "count",
    "safety_timeout": "count",
    "regression": "loss",
    "complete": "rate",
    "name_recall": "mean",
    "strict_recall": "mean",
    "measured": "mean",
    "worst_scenario": "mean",
    "agent.cost_usd": "quantity",
    "agent.tokens": "quantity",
    "agent.seconds.p50": "quantity",
    "agent.seconds.p95": "quantity",
    "turn.seconds.p50": "quantity",
    "turn.seconds.p95": "quantity",
    "pass^": "rate",
    "policy": "rate",
    "category": "rate",
    "complexity": "rate",
    "tool": "rate",
    "agent": "rate",
    "tag": "rate",
    "language": "rate",
    "rubric": "rate",
}
"""What a gate can be about; `NAMED` ones take a name after a dot, `pass^` a number of trials."""

NAMED = frozenset({"policy", "category", "complexity", "tool", "agent", "tag", "language", "rubric"})
PASS_K = "pass^"  # noqa: S105 - a metric
MOST_K = 8
"""The largest k of pass@k and pass^k that is computed."""

_FEWER = frozenset({"share", "count", "quantity", "loss"})
_FORM = re.compile(r"\s*(?P<name>[^\s<>=!]+)\s*(?P<operator>[<>=!]+)\s*(?P<number>\S.*?)\s*")
_WHOLE = re.compile("[0-9]{1,9}")
_DECIMAL = re.compile(r"[0-9]{1,12}(?:\.[0-9]*)?|\.[0-9]+")
_RELATIVE = re.compile(r"(?:(?P<factor>[0-9]{1,12}(?:\.[0-9]*)?|\.[0-9]+)\s*\*\s*)?(?P<word>[A-Za-z]\w*)")
_BASELINE = "baseline"
_ROUNDING = 1e-9


class Gate(Model):
    """A parsed gate; `argument` is the name after the dot, or the k of `pass^k`.

    With `is_relative` the threshold is a factor of what the baseline measured.
    """

    text: str
    metric: str
    argument: str = ""
    operator: Operator
    threshold: float
    is_relative: bool = False

    @property
    def kind(self) -> GateKind:
        """What the gate measures."""
        return KINDS[self.metric]

    def holds(self, value: float, threshold: float | None = None) -> bool:
        """Whether `value` is on the right side of the threshold, or of another; rounding errors do not decide."""
        bound = self.threshold if threshold is None else threshold
        slack = _ROUNDING * max(1.0, abs(bound))
        match self.operator:
            case ">=":
                return value >= bound - slack
            case ">":
                return value > bound + slack
            case "<=":
                return value <= bound + slack
            case "<":
                return value < bound - slack


KnownNames = Mapping[str, Collection[str]]
"""The names that there are, by metric."""


def parse_gate(text: str, *, known: KnownNames | None = None) -> Gate:
    """Read a gate; raise `GateError` saying what was found, what is allowed and what to write instead.

    With `known`, a name after the dot must be one that there is.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise GateError(f"the gate {text!r} is not <metric> <comparison> <number>", "write it like `success >= 0.80`")
    metric, argument = _about(text, found["name"])
    operator = _operator(text, metric, found)
    threshold, is_relative = _threshold(text, metric, found["number"])
    if known is not None and metric in known:
        _check_name(text, metric, argument, known[metric])
    return Gate(
        text=text.strip(),
        metric=metric,
        argument=argument,
        operator=operator,
        threshold=threshold,
        is_relative=is_relative,
    )


def parse_gates(texts: Iterable[str]) -> tuple[Gate, ...]:
    """Read the gates of a suite and add `errors <= 0.05` unless errors are gated; no gates stay no gates."""
    gates = [parse_gate(text) for text in texts]
    if gates and all(gate.metric != "errors" for gate in gates):
        gates.append(parse_gate(DEFAULT_GATE))
    return tuple(gates)


def _about(text: str, name: str) -> tuple[str, str]:
    """Give the metric and the name after the dot."""
    gate = f"the gate {text!r} names"
    if name in KINDS and name not in NAMED and name != PASS_K:
        return name, ""
    if name.startswith(PASS_K):
        k = name.removeprefix(PASS_K)
        if not k.isascii() or not k.isdecimal() or not 1 <= int(k[:9]) <= MOST_K:
            raise GateError(f"{gate} {name!r}, expected pass^1 to pass^{MOST_K}", "write it like `pass^4 >= 0.80`")
        return PASS_K, str(int(k))
    metric, dot, argument = name.partition(".")
    if metric not in NAMED:
        if metric in KINDS and dot:
            raise GateError(f"{gate} {name!r}, but {metric!r} takes no name", f"write `{metric}`")
        raise GateError(f"{gate} the metric {name!r}, allowed: {_allowed()}", _nearest(name, metric, argument))
    example = "5" if metric == "complexity" else "x"
    if not argument:
        raise GateError(f"{gate} {name!r}, which needs a name", f"write it like `{metric}.{example} >= 0.80`")
    if metric == "complexity" and not _WHOLE.fullmatch(argument):
        message = f"{gate} the complexity {argument!r}, expected a whole number"
        raise GateError(message, "write it like `complexity.5 >= 0.80`")
    return metric, str(int(argument)) if metric == "complexity" else argument


def _allowed() -> str:
    shown = (f"{kind}.<name>" if kind in NAMED else f"{kind}4" if kind == PASS_K else kind for kind in KINDS)
    return listing(shown)


def _nearest(name: str, metric: str, argument: str) -> str:
    """Say which metric was probably meant: of the whole name, else of what stands before the dot."""
    whole = suggestion(name, [kind for kind in KINDS if kind not in NAMED and kind != PASS_K])
    return whole or (suggestion(metric, sorted(NAMED)) if argument else suggestion(metric, KINDS))


_ABOUT = {
    "policy": ("policy", "which is not listed; listed"),
    "category": ("category", "which no policy has; there are"),
    "tool": ("tool", "which there is not; there are"),
    "rubric": ("criterion", "which no rubric has; there are"),
}


def _check_name(text: str, metric: str, argument: str, names: Collection[str]) -> None:
    if argument not in names:
        what, why = _ABOUT.get(metric, (metric, "which no scenario has; there are"))
        listed = listing(map(repr, sorted(names))) or "none"
        message = f"the gate {text!r} names the {what} {argument!r}, {why}: {listed}"
        raise GateError(message, suggestion(argument, names))


def _operator(text: str, metric: str, found: re.Match[str]) -> Operator:
    fewer_is_better = KINDS[metric] in _FEWER
    allowed: tuple[Operator, Operator] = ("<=", "<") if fewer_is_better else (">=", ">")
    for operator in allowed:
        if found["operator"] == operator:
            return operator
    why = "fewer is better" if fewer_is_better else "more is better"
    message = f"the gate {text!r} compares with {found['operator']!r}, allowed: {' and '.join(allowed)}, since {why}"
    raise GateError(message, f"write `{found['name']} {allowed[0]} {found['number']}`")


def _threshold(text: str, metric: str, number: str) -> tuple[float, bool]:
    """Give the threshold, and whether it is a factor of the baseline's value."""
    gate = f"the gate {text!r} compares with {number!r}"
    relative = _RELATIVE.fullmatch(number)
    if relative and (relative["factor"] or suggestion(relative["word"], [_BASELINE])):
        return _factor(gate, metric, relative), True
    kind = KINDS[metric]
    if kind == "count":
        if not _WHOLE.fullmatch(number):
            raise GateError(f"{gate}, expected a number of runs: a whole number, 0 or more")
        return float(number), False
    if kind == "quantity":
        if not _DECIMAL.fullmatch(number):
            raise GateError(f"{gate}, expected a number, 0 or more, or a factor such as 1.10 * baseline")
        return float(number), False
    if not _DECIMAL.fullmatch(number) or float(number) > 1:
        plain = number.removesuffix("%").rstrip()
        is_percent = _DECIMAL.fullmatch(plain) is not None and float(plain) <= 100
        raise GateError(f"{gate}, expected a share from 0 to 1", f"write {float(plain) / 100:g}" if is_percent else "")
    return float(number), False


def _factor(gate: str, metric: str, found: re.Match[str]) -> float:
    if found["word"] != _BASELINE:
        hint = suggestion(found["word"], [_BASELINE])
        raise GateError(f"{gate}, expected a number, or a factor such as 1.10 * baseline", hint)
    if KINDS[metric] == "loss":
        raise GateError(f"{gate}, but {metric!r} is a difference from the baseline already", f"write `{metric} <= 0`")
    return float(found["factor"] or 1)
