"""The syntax of gates as a suite file is checked for it: `<metric> <comparison> <number>`.

The floor that evaluates gates parses them again; here they are only told apart from mistakes, with their place.
"""

import re
from collections.abc import Iterable

from pytest_agentbench.suites.names import listing, suggestion

_RATES = ("success", "complete", "name_recall", "strict_recall")
_COUNTS = ("crashed", "stalled")
_METRICS = (*_RATES, *_COUNTS, "errors")
_GROUPS = ("policy", "complexity", "tag")

_GATE = re.compile(r"\s*(?P<metric>[^\s<>=!]+)\s*(?P<operator>[<>=!]+)\s*(?P<number>\S+)\s*")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")


def gate_fault(gate: str, policies: Iterable[str]) -> tuple[str, str] | None:
    """Say what is wrong with a gate as (message, hint), or None when it is well-formed and its policy exists."""
    match = _GATE.fullmatch(gate)
    if match is None:
        return f"the gate {gate!r} is not <metric> <comparison> <number>", "write it like 'success >= 0.80'"
    metric, operator, number = match["metric"], match["operator"], match["number"]
    return (
        _metric_fault(metric, list(policies))
        or _operator_fault(gate, metric, operator)
        or _number_fault(gate, metric, number)
    )


def _metric_fault(metric: str, policies: list[str]) -> tuple[str, str] | None:
    if metric in _METRICS:
        return None
    group, dot, name = metric.partition(".")
    if not dot or group not in _GROUPS:
        allowed = [*_METRICS, *(f"{group}.<name>" for group in _GROUPS)]
        close = suggestion(group, _GROUPS) if dot else suggestion(metric, _METRICS)
        return f"the gate names the metric {metric!r}, allowed: {listing(allowed)}", close
    if not name:
        return f"the gate names an empty {group}", f"write it like '{group}.x >= 0.80'"
    if group == "policy" and name not in policies:
        known = listing(map(repr, policies)) or "none"
        return f"the gate names the policy {name!r}, which is not listed; listed: {known}", suggestion(name, policies)
    if group == "complexity" and not re.fullmatch("[0-9]+", name):
        return f"the gate names the complexity {name!r}, expected a whole number", ""
    return None


def _operator_fault(gate: str, metric: str, operator: str) -> tuple[str, str] | None:
    fewer_is_better = metric in (*_COUNTS, "errors")
    allowed = ("<=", "<") if fewer_is_better else (">=", ">")
    if operator in allowed:
        return None
    why = "fewer is better" if fewer_is_better else "more is better"
    return f"the gate {gate!r} compares with {operator!r}, allowed: {' and '.join(allowed)}, since {why}", ""


def _number_fault(gate: str, metric: str, number: str) -> tuple[str, str] | None:
    if metric in _COUNTS:
        if re.fullmatch("[0-9]+", number):
            return None
        return f"the gate {gate!r} compares with {number!r}, expected a number of runs", ""
    if _NUMBER.fullmatch(number) and float(number) <= 1:
        return None
    return f"the gate {gate!r} compares with {number!r}, expected a share from 0 to 1", "80 % is 0.8"
