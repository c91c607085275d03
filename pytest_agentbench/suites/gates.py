"""The syntax of gates: `<metric> <comparison> <number>`."""

import re
from collections.abc import Iterable

from pytest_agentbench.suites.names import listing, suggestion

METRICS = ("success", "complete", "crashed", "stalled", "errors", "name_recall", "strict_recall")
GROUPS = ("policy", "complexity", "tag")

_GATE = re.compile(r"\s*(?P<metric>\S.*?)\s*(?P<operator>>=|<=|==|>|<)\s*(?P<number>\S+)\s*\Z")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?\Z")


def gate_fault(gate: str, policies: Iterable[str]) -> tuple[str, str] | None:
    """Say what is wrong with a gate as (message, hint), or None when it is well-formed and its policy exists."""
    match = _GATE.match(gate)
    if match is None:
        return f"the gate {gate!r} is not <metric> <comparison> <number>", "write it like 'success >= 0.80'"
    number = match["number"]
    if not _NUMBER.match(number) or float(number) > 1:
        return f"the gate {gate!r} compares with {number!r}, expected a share from 0 to 1", "80 % is 0.8"
    return _metric_fault(match["metric"], list(policies))


def _metric_fault(metric: str, policies: list[str]) -> tuple[str, str] | None:
    if metric in METRICS:
        return None
    group, dot, name = metric.partition(".")
    if not dot or group not in GROUPS:
        allowed = [*METRICS, *(f"{group}.<name>" for group in GROUPS)]
        close = suggestion(group, GROUPS) if dot else suggestion(metric, METRICS)
        return f"the gate names the metric {metric!r}, allowed: {listing(allowed)}", close
    if group == "policy" and name not in policies:
        known = listing(map(repr, policies)) or "none"
        return f"the gate names the policy {name!r}, which is not listed; listed: {known}", suggestion(name, policies)
    if group == "complexity" and not re.fullmatch("[0-9]+", name):
        return f"the gate names the complexity {name!r}, expected a whole number", ""
    if not name:
        return f"the gate names an empty {group}", ""
    return None
