"""The grammar of gates: `<metric> <comparison> <number>`, such as `success >= 0.80`."""

import re
from collections.abc import Collection, Iterable
from typing import Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import GateError
from pytest_agentbench.core.names import listing, suggestion

Operator = Literal[">=", ">", "<=", "<"]

Kind = Literal["rate", "share", "count", "mean", "loss"]
"""rate: passed / scored. share: unscored / all. count: runs that ended so. mean: of a metric between 0 and 1.

loss: how much of a rate was lost against a baseline, as far as chance does not explain it.
"""

DEFAULT_GATE = "errors <= 0.05"
"""Stands beside the gates of a suite that says nothing about errors."""

KINDS: dict[str, Kind] = {
    "success": "rate",
    "errors": "share",
    "crashed": "count",
    "stalled": "count",
    "regression": "loss",
    "complete": "rate",
    "name_recall": "mean",
    "strict_recall": "mean",
    "measured": "mean",
    "policy": "rate",
    "agent": "rate",
    "complexity": "rate",
    "tag": "rate",
}
"""What a gate can be about; the last four take a name after a dot."""

_NAMED = frozenset({"policy", "agent", "complexity", "tag"})
_FORM = re.compile(r"\s*(?P<name>[^\s<>=!]+)\s*(?P<operator>[<>=!]+)\s*(?P<number>\S.*?)\s*")
_WHOLE = re.compile("[0-9]{1,9}")
_DECIMAL = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_ROUNDING = 1e-9


class Gate(Model):
    """A parsed gate; `argument` is the policy, agent, complexity or tag after the dot."""

    text: str
    metric: str
    argument: str = ""
    operator: Operator
    threshold: float

    @property
    def kind(self) -> Kind:
        """What the gate measures."""
        return KINDS[self.metric]

    def holds(self, value: float) -> bool:
        """Whether `value` is on the right side of the threshold; rounding errors do not decide."""
        match self.operator:
            case ">=":
                return value >= self.threshold - _ROUNDING
            case ">":
                return value > self.threshold + _ROUNDING
            case "<=":
                return value <= self.threshold + _ROUNDING
            case "<":
                return value < self.threshold - _ROUNDING


def parse_gate(text: str, *, policies: Collection[str] | None = None) -> Gate:
    """Read a gate; raise `GateError` saying what was found, what is allowed and what to write instead.

    With `policies`, a policy after the dot must be among them.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise GateError(f"the gate {text!r} is not <metric> <comparison> <number>", "write it like `success >= 0.80`")
    metric, argument = _about(text, found["name"], policies)
    operator = _operator(text, metric, found)
    threshold = _threshold(text, metric, found["number"])
    return Gate(text=text.strip(), metric=metric, argument=argument, operator=operator, threshold=threshold)


def parse_gates(texts: Iterable[str]) -> tuple[Gate, ...]:
    """Read the gates of a suite and add `errors <= 0.05` unless errors are gated; no gates stay no gates."""
    gates = [parse_gate(text) for text in texts]
    if gates and all(gate.metric != "errors" for gate in gates):
        gates.append(parse_gate(DEFAULT_GATE))
    return tuple(gates)


def _about(text: str, name: str, policies: Collection[str] | None) -> tuple[str, str]:
    """Give the metric and the name after the dot."""
    metric, dot, argument = name.partition(".")
    gate = f"the gate {text!r} names"
    if metric not in KINDS:
        allowed = listing(f"{kind}.<name>" if kind in _NAMED else kind for kind in KINDS)
        raise GateError(f"{gate} the metric {name!r}, allowed: {allowed}", suggestion(metric, KINDS))
    if metric not in _NAMED:
        if dot:
            raise GateError(f"{gate} {name!r}, but {metric!r} takes no name", f"write `{metric}`")
        return metric, ""
    example = "5" if metric == "complexity" else "x"
    if not argument:
        raise GateError(f"{gate} {name!r}, which needs a name", f"write it like `{metric}.{example} >= 0.80`")
    if metric == "policy" and policies is not None and argument not in policies:
        listed = listing(map(repr, policies)) or "none"
        message = f"{gate} the policy {argument!r}, which is not listed; listed: {listed}"
        raise GateError(message, suggestion(argument, policies))
    if metric == "complexity" and not _WHOLE.fullmatch(argument):
        message = f"{gate} the complexity {argument!r}, expected a whole number"
        raise GateError(message, "write it like `complexity.5 >= 0.80`")
    return metric, argument


def _operator(text: str, metric: str, found: re.Match[str]) -> Operator:
    fewer_is_better = KINDS[metric] in ("share", "count", "loss")
    allowed: tuple[Operator, Operator] = ("<=", "<") if fewer_is_better else (">=", ">")
    for operator in allowed:
        if found["operator"] == operator:
            return operator
    why = "fewer is better" if fewer_is_better else "more is better"
    message = f"the gate {text!r} compares with {found['operator']!r}, allowed: {' and '.join(allowed)}, since {why}"
    raise GateError(message, f"write `{found['name']} {allowed[0]} {found['number']}`")


def _threshold(text: str, metric: str, number: str) -> float:
    gate = f"the gate {text!r} compares with {number!r}"
    if KINDS[metric] == "count":
        if not _WHOLE.fullmatch(number):
            raise GateError(f"{gate}, expected a number of runs: a whole number, 0 or more")
        return float(number)
    if not _DECIMAL.fullmatch(number) or float(number) > 1:
        plain = number.removesuffix("%").rstrip()
        is_percent = _DECIMAL.fullmatch(plain) is not None and float(plain) <= 100
        raise GateError(f"{gate}, expected a share from 0 to 1", f"write {float(plain) / 100:g}" if is_percent else "")
    return float(number)
