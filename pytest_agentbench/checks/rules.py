"""Policy rules, read into one type per operator.

A rule is a mapping with one operator:
`{before: {calls: [cancel], first: [authenticate]}}`: each such call needs an earlier call of one of `first` that did
not fail; `{never: {calls: [refund], where: {method: cash}}}`; `{confirm_before: {calls: writes}}`: each such call
needs the user's yes; `{at_most: {calls: [refund], times: 1}}`. `calls: writes` means every tool that writes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_agentbench.suites.rule_check import rule_misfits

Calls = tuple[str, ...] | Literal["writes"]
"""The tools that a rule is about."""


@dataclass(frozen=True)
class Before:
    """Each of `calls` needs an earlier call of one of `first` that did not fail."""

    calls: Calls
    first: tuple[str, ...]


@dataclass(frozen=True)
class Never:
    """None of `calls` is made with arguments that match `where`; an empty `where` matches any."""

    calls: Calls
    where: Mapping[str, Any]


@dataclass(frozen=True)
class ConfirmBefore:
    """Each of `calls` needs the user's yes to the agent's question, in the user turn directly before."""

    calls: Calls


@dataclass(frozen=True)
class AtMost:
    """`calls` are made without failing at most `times` times in all; a retry after an error costs nothing."""

    calls: Calls
    times: int


Rule = Before | Never | ConfirmBefore | AtMost


def read_rule(rule: Mapping[str, Any]) -> Rule:
    """Read a rule; raise `ValueError` with everything that is wrong with it."""
    wrong = list(rule_misfits(rule))
    if wrong:
        raise ValueError("; ".join(map(str, wrong)))
    ((operator, body),) = rule.items()
    calls: Calls = "writes" if body["calls"] == "writes" else tuple(body["calls"])
    match operator:
        case "before":
            return Before(calls, tuple(body["first"]))
        case "never":
            return Never(calls, dict(body.get("where") or {}))
        case "confirm_before":
            return ConfirmBefore(calls)
        case _:
            return AtMost(calls, body["times"])
