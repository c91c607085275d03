"""Policy rules: what a suite file may say, read into one type per operator.

A rule is a mapping with one operator:
`{before: {calls: [cancel], first: [authenticate]}}`: each such call needs an earlier call of one of `first` that did
not fail; `{never: {calls: [refund], where: {method: cash}}}`; `{confirm_before: {calls: writes}}`: each such call
needs the user's yes; `{at_most: {calls: [refund], times: 1}}`. `calls: writes` means every tool that writes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_agentbench.core.matchers import matcher_misfits
from pytest_agentbench.core.tool import Toolset

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

_KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "before": (("calls", "first"), ()),
    "never": (("calls",), ("where",)),
    "confirm_before": (("calls",), ()),
    "at_most": (("calls", "times"), ()),
}


def rule_problems(rule: object, toolset: Toolset | None = None) -> list[str]:
    """Say everything that is wrong with a rule, one sentence each; with a toolset also which tools it lacks."""
    if not isinstance(rule, Mapping) or len(rule) != 1:
        return [f"a rule is a mapping with exactly one of {', '.join(_KEYS)}, found {_shown(rule)}"]
    ((operator, body),) = rule.items()
    if operator not in _KEYS:
        return [f"unknown operator {operator!r}; there are {', '.join(_KEYS)}"]
    if not isinstance(body, Mapping):
        return [f"{operator}: takes a mapping, found {body!r}"]
    required, optional = _KEYS[operator]
    found = [f"{operator}: {key!r} is missing" for key in required if key not in body]
    allowed = ", ".join(required + optional)
    found += [f"{operator}: unknown key {key!r}; there are {allowed}" for key in body if key not in required + optional]
    for key in ("calls", "first"):
        if key in body and key in required:
            found += [f"{operator}.{key}: {text}" for text in _tool_problems(key, body[key], toolset)]
    return found + [f"{operator}.{text}" for text in _value_problems(operator, body, toolset)]


def read_rule(rule: object) -> Rule:
    """Read a rule; raise `ValueError` with everything that is wrong with it."""
    problems = rule_problems(rule)
    if problems or not isinstance(rule, Mapping):
        raise ValueError("; ".join(problems))
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


def _tool_problems(key: str, value: object, toolset: Toolset | None) -> list[str]:
    if key == "calls" and value == "writes":
        return []
    word = "a list of tool names" + (" or 'writes'" if key == "calls" else "")
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        return [f"takes {word}, found {value!r}"]
    wrong = [f"takes {word}, found {name!r} in it" for name in value if not isinstance(name, str)]
    known = {spec.name for spec in toolset.of("assistant")} if toolset else set()
    if known:
        wrong += [
            f"the agent has no tool {name!r}; there are {', '.join(sorted(known))}"
            for name in value
            if isinstance(name, str) and name not in known
        ]
    return wrong


def _value_problems(operator: str, body: Mapping[str, Any], toolset: Toolset | None) -> list[str]:
    if operator == "at_most" and "times" in body:
        times = body["times"]
        fits = isinstance(times, int) and not isinstance(times, bool) and times >= 0
        return [] if fits else [f"times: takes a whole number from 0, found {times!r}"]
    if operator == "never" and body.get("where") is not None:
        where = body["where"]
        if not isinstance(where, Mapping):
            return [f"where: takes a mapping from argument to value, found {where!r}"]
        wrong = [str(one) for one in matcher_misfits(where, ("where",))]
        return wrong + _argument_problems(where, body.get("calls"), toolset)
    return []


def _argument_problems(where: Mapping[str, Any], calls: object, toolset: Toolset | None) -> list[str]:
    if not toolset or not isinstance(calls, list | tuple):
        return []
    wrong: list[str] = []
    for name in calls:
        spec = toolset.get(name) if isinstance(name, str) else None
        if spec is not None and spec.arguments is not None:
            there = ", ".join(sorted(spec.arguments)) or "none"
            wrong += [
                f"where: {name!r} has no argument {key!r}; there are {there}"
                for key in where
                if key not in spec.arguments and not str(key).startswith("$")
            ]
    return wrong


def _shown(rule: object) -> str:
    return ", ".join(map(repr, rule)) if isinstance(rule, Mapping) and rule else repr(rule)
