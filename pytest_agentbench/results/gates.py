"""Gates: thresholds such as `success >= 0.80` that decide the exit status."""

import difflib
import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import GateError
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.results.aggregate import SCALES, Row, exercised_rows, listed_rows, make_row, mean_of
from pytest_agentbench.results.intervals import binomial_mass

Operator = Literal[">=", ">", "<=", "<"]

Kind = Literal["rate", "share", "count", "mean"]
"""rate: passed / scored. share: unscored / all. count: runs that ended so. mean: of a metric between 0 and 1."""

DEFAULT_GATE = "errors <= 0.05"
"""Stands beside the gates of a suite that says nothing about errors."""

KINDS: dict[str, Kind] = {
    "success": "rate",
    "errors": "share",
    "crashed": "count",
    "stalled": "count",
    "complete": "rate",
    "name_recall": "mean",
    "strict_recall": "mean",
    "policy": "rate",
    "complexity": "rate",
    "tag": "rate",
}
"""What a gate can be about; the last three take a name after a dot."""

_NAMED = frozenset({"policy", "complexity", "tag"})
_FORM = re.compile(r"\s*(?P<name>[^\s<>=!]+)\s*(?P<operator>[<>=!]+)\s*(?P<number>\S+)\s*(?P<rest>.*)")
_EXAMPLE = "a gate reads like `success >= 0.80`"
_ROUNDING = 1e-9


class Gate(Model):
    """A parsed gate; `argument` is the policy, complexity or tag after the dot."""

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


class GateVerdict(Model):
    """What became of a gate. `label` names the gate, and the variant or scale where there are several.

    `value` is None when nothing was measured (`n` is 0). `near_miss` is the chance, 0..1, that an agent exactly at
    the measured rate would miss the gate in as many runs; None for means and where nothing was measured.
    """

    suite: str
    gate: str
    label: str
    variant: str = ""
    value: float | None = None
    n: int = 0
    passed: bool
    reason: str
    near_miss: float | None = None


def parse_gate(text: str, *, policies: Collection[str] | None = None, tags: Collection[str] | None = None) -> Gate:
    """Read a gate; raise `GateError` saying what is wrong and what to write instead.

    With `policies` and `tags`, names after the dot must be among them.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise GateError(f"gate {text!r}: {_EXAMPLE}{_did_you_mean(text.strip(), KINDS)}")
    metric, _, argument = found["name"].partition(".")
    _check_name(text, metric, argument)
    known = {"policy": policies, "tag": tags}.get(metric)
    if known is not None and argument not in known:
        raise GateError(f"gate {text!r}: no {metric} is named {argument!r}{_did_you_mean(argument, known)}")
    if metric == "complexity" and not re.fullmatch(r"\d+", argument):
        raise GateError(
            f"gate {text!r}: a complexity is a whole number, found {argument!r}; write `complexity.5 >= 0.8`"
        )
    operator = _operator(text, metric, found["name"], found["operator"], found["number"])
    threshold = _threshold(text, metric, found["number"] + found["rest"])
    return Gate(text=text.strip(), metric=metric, argument=argument, operator=operator, threshold=threshold)


def parse_gates(
    texts: Iterable[str], *, policies: Collection[str] | None = None, tags: Collection[str] | None = None
) -> tuple[Gate, ...]:
    """Read the gates of a suite and add `errors <= 0.05` unless errors are gated; no gates stay no gates."""
    gates = [parse_gate(text, policies=policies, tags=tags) for text in texts]
    if gates and all(gate.metric != "errors" for gate in gates):
        gates.append(parse_gate(DEFAULT_GATE))
    return tuple(gates)


def evaluate_gates(suite: str, texts: Iterable[str], results: Iterable[Result]) -> tuple[GateVerdict, ...]:
    """Decide every gate of `suite` over its results; with several variants each of them must hold."""
    gates = parse_gates(texts)
    runs = [run for run in results if run.key.suite == suite]
    variants = sorted({run.key.variant for run in runs})
    verdicts: list[GateVerdict] = []
    for gate in gates:
        for variant in variants or [""]:
            mine = [run for run in runs if run.key.variant == variant]
            named = f"{gate.text} [{variant}]" if len(variants) > 1 else gate.text
            verdicts += _verdicts(gate, suite, named, variant, mine)
    return tuple(verdicts)


def _verdicts(gate: Gate, suite: str, label: str, variant: str, runs: Sequence[Result]) -> Iterable[GateVerdict]:
    for note, value, n, hits in _measure(gate, runs):
        passed = value is not None and gate.holds(value)
        yield GateVerdict(
            suite=suite,
            gate=gate.text,
            label=f"{label} ({note})" if note else label,
            variant=variant,
            value=value,
            n=n,
            passed=passed,
            reason=_reason(gate, value, passed=passed),
            near_miss=None if hits is None or n == 0 else _near_miss(gate, n, hits),
        )


_Measure = tuple[str, float | None, int, int | None]
"""A note for the label, the value, n, and the number of runs that count where the value is a rate or a count."""


def _measure(gate: Gate, runs: Sequence[Result]) -> list[_Measure]:
    scored = [run for run in runs if run.scored]
    match gate.metric:
        case "success":
            return [_of_row("", make_row("", "", runs))]
        case "errors":
            unscored = len(runs) - len(scored)
            return [("", unscored / len(runs) if runs else None, len(runs), unscored)]
        case "crashed" | "stalled":
            ending = Termination.CRASHED if gate.metric == "crashed" else Termination.STALLED
            count = sum(1 for run in runs if run.termination is ending and run.blame is Blame.AGENT)
            return [("", float(count) if runs else None, len(runs), count)]
        case "complete":
            mean = mean_of("complete", scored)
            return [("", mean.value, mean.n, None if mean.value is None else round(mean.value * mean.n))]
        case "policy":
            return [_policy(gate.argument, runs)]
        case "complexity":
            return _complexity(int(gate.argument), runs)
        case "tag":
            return [_of_row("", make_row("", "", [run for run in runs if gate.argument in run.tags]))]
        case _:
            mean = mean_of(gate.metric, scored)
            return [("", mean.value, mean.n, None)]


def _of_row(note: str, row: Row) -> _Measure:
    return (note, row.rate, row.n, row.passed)


def _policy(policy: str, runs: Sequence[Result]) -> _Measure:
    for row in exercised_rows(runs, only=policy):
        return _of_row("", row)
    for row in listed_rows(runs, only=policy):
        return _of_row("listed", row)
    return _of_row("", make_row("", policy, []))


def _complexity(value: int, runs: Sequence[Result]) -> list[_Measure]:
    measures = []
    for scale in SCALES:
        mine = [run for run in runs if run.complexity == value and run.complexity_scale == scale]
        if mine:
            measures.append(_of_row(scale, make_row("", "", mine)))
    return measures or [_of_row("", make_row("", "", []))]


def _reason(gate: Gate, value: float | None, *, passed: bool) -> str:
    if value is None:
        return "not exercised"
    negated = {">=": "<", ">": "<=", "<=": ">", "<": ">="}
    shown, threshold = _shown(gate, value), _shown(gate, gate.threshold)
    if shown == threshold and not passed:
        shown = f"{value:.6g}"
    return f"{shown} {gate.operator if passed else negated[gate.operator]} {threshold}"


def _shown(gate: Gate, value: float) -> str:
    return f"{value:.0f}" if gate.kind == "count" else f"{value:.2f}" if round(value, 2) == value else f"{value:.3f}"


def _near_miss(gate: Gate, n: int, hits: int) -> float:
    """Give P[the gate fails] when the count is Binomial(n, hits / n)."""
    scale: Callable[[int], float] = float if gate.kind == "count" else lambda count: count / n
    failing = [count for count in range(n + 1) if not gate.holds(scale(count))]
    if len(failing) * 2 > n:
        kept = set(failing)
        return max(0.0, 1 - binomial_mass(n, hits / n, [count for count in range(n + 1) if count not in kept]))
    return binomial_mass(n, hits / n, failing)


def _check_name(text: str, metric: str, argument: str) -> None:
    if metric not in KINDS:
        raise GateError(f"gate {text!r}: unknown name {metric!r}; allowed: {_allowed()}{_did_you_mean(metric, KINDS)}")
    if metric in _NAMED and not argument:
        raise GateError(
            f"gate {text!r}: {metric!r} needs a name, as in `{metric}.{'5' if metric == 'complexity' else 'x'} >= 0.8`"
        )
    if metric not in _NAMED and argument:
        raise GateError(f"gate {text!r}: {metric!r} takes no name; write `{metric}`")


def _operator(text: str, metric: str, name: str, operator: str, number: str) -> Operator:
    lower = KINDS[metric] in ("share", "count")
    if lower and operator in ("<=", "<"):
        return "<=" if operator == "<=" else "<"
    if not lower and operator in (">=", ">"):
        return ">=" if operator == ">=" else ">"
    best, why = ("<=", "fewer is better") if lower else (">=", "more is better")
    raise GateError(f"gate {text!r}: {operator!r} does not fit {name!r}, where {why}; write `{name} {best} {number}`")


def _threshold(text: str, metric: str, number: str) -> float:
    try:
        value = float(number)
    except ValueError:
        percent = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", number)
        hint = f"; write {float(percent[1]) / 100:g}" if percent else f"; {_EXAMPLE}"
        raise GateError(f"gate {text!r}: {number!r} is not a number{hint}") from None
    if not math.isfinite(value) or value < 0:
        raise GateError(f"gate {text!r}: the threshold must be 0 or more, found {number!r}")
    if KINDS[metric] == "count":
        if value != int(value):
            raise GateError(f"gate {text!r}: {metric!r} counts runs, found {number!r}; write a whole number")
    elif value > 1:
        hint = f"; write {value / 100:g}" if value <= 100 else ""
        raise GateError(f"gate {text!r}: {metric!r} lies between 0 and 1, found {number!r}{hint}")
    return value


def _allowed() -> str:
    return ", ".join(f"{name}.<name>" if name in _NAMED else name for name in KINDS)


def _did_you_mean(found: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(found, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
