"""What becomes of gates, thresholds such as `success >= 0.80` that decide the exit status."""

from collections.abc import Callable, Iterable, Sequence

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.gates import Gate, parse_gates
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.results.aggregate import SCALES, Row, exercised_rows, make_row, mean_of
from pytest_agentbench.results.comparison import Loss, losses_against
from pytest_agentbench.results.grouping import GROUPS, grouped, leaves_open
from pytest_agentbench.results.intervals import binomial_mass


class GateVerdict(Model):
    """What became of a gate. `label` names the gate, and the variant or scale where there are several.

    `value` is None when nothing was measured (`n` is 0). `passed` is None where the gate was not evaluated, since the
    `pending` runs that it is about, of scenarios that nobody reviewed, are the only ones. `near_miss` is the chance,
    0..1, that an agent exactly at the measured rate would miss the gate in as many runs; None for means, losses and
    where nothing was measured.
    """

    suite: str
    gate: str
    label: str
    variant: str = ""
    value: float | None = None
    n: int = 0
    pending: int = 0
    passed: bool | None
    reason: str
    near_miss: float | None = None

    @property
    def failed(self) -> bool:
        """Whether the gate fails the session."""
        return self.passed is False


def evaluate_gates(
    suite: str, texts: Iterable[str], results: Iterable[Result], *, baseline: Sequence[Result] = ()
) -> tuple[GateVerdict, ...]:
    """Decide every gate of `suite` over its results; with several variants each of them must hold.

    Runs of scenarios that nobody reviewed count in none; a gate that is about such runs alone is not evaluated.
    `regression` is measured against the results of the same suite in `baseline`, and not exercised without any.
    """
    gates = parse_gates(texts)
    runs = [run for run in results if run.key.suite == suite]
    before = [run for run in baseline if run.key.suite == suite]
    losses = losses_against(before, runs) if any(gate.kind == "loss" for gate in gates) else {}
    variants = sorted({run.key.variant for run in runs})
    verdicts: list[GateVerdict] = []
    for gate in gates:
        for variant in variants or [""]:
            both = [run for run in runs if run.key.variant == variant]
            mine = [run for run in both if not run.pending]
            pending = [run.model_copy(update={"pending": False}) for run in both if run.pending]
            named = f"{gate.text} [{variant}]" if len(variants) > 1 else gate.text
            if waiting := _waiting(gate, mine, pending):
                verdicts.append(_not_evaluated(gate, suite, named, variant, waiting))
            elif gate.kind == "loss":
                verdicts.append(_loss(gate, suite, named, variant, losses.get(variant)))
            else:
                verdicts += _verdicts(gate, suite, named, variant, mine)
    return tuple(verdicts)


def _waiting(gate: Gate, counted: Sequence[Result], pending: Sequence[Result]) -> int:
    """Count the pending runs that a gate is about, 0 where others decide it or it is about none."""
    if not pending:
        return 0
    if not counted:
        return max((n for _, _, n, _ in _measure(gate, pending)), default=0) or len(pending)
    if not gate.argument or _is_open(gate, counted) or any(n for _, _, n, _ in _measure(gate, counted)):
        return 0
    return sum(n for _, _, n, _ in _measure(gate, pending))


def _not_evaluated(gate: Gate, suite: str, label: str, variant: str, waiting: int) -> GateVerdict:
    return GateVerdict(
        suite=suite,
        gate=gate.text,
        label=label,
        variant=variant,
        pending=waiting,
        passed=None,
        reason=f"not evaluated: {waiting} pending review",
    )


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
            reason="not measured" if value is None and _is_open(gate, runs) else _reason(gate, value, passed=passed),
            near_miss=None if hits is None or n == 0 else _near_miss(gate, n, hits),
        )


def _is_open(gate: Gate, runs: Sequence[Result]) -> bool:
    """Whether some run leaves open what became of a gate's policy, so that nobody knows that it was not exercised."""
    return gate.metric == "policy" and any(leaves_open(run, gate.argument) for run in runs)


def _loss(gate: Gate, suite: str, label: str, variant: str, loss: Loss | None) -> GateVerdict:
    value = None if loss is None else loss.value
    passed = value is not None and gate.holds(value)
    reason = _reason(gate, value, passed=passed) if loss else "no scenario of a baseline was compared"
    told = f" (p = {loss.p:.2g})" if loss is not None and loss.value else ""
    n = 0 if loss is None else loss.n
    return GateVerdict(
        suite=suite, gate=gate.text, label=label, variant=variant, value=value, n=n, passed=passed, reason=reason + told
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
            mine = (run for run in runs if run.termination is ending and run.blame is Blame.AGENT)
            count = sum(not run.ended_by_other for run in mine)
            return [("", float(count) if runs else None, len(runs), count)]
        case "complete":
            mean = mean_of("complete", scored)
            return [("", mean.value, mean.n, None if mean.value is None else round(mean.value * mean.n))]
        case "policy":
            return [_policy(gate.argument, runs)]
        case "complexity":
            return _complexity(int(gate.argument), runs)
        case "agent" | "tag":
            return [_of_row("", make_row("", "", grouped(runs, GROUPS[gate.metric]).get(gate.argument, [])))]
        case _:
            mean = mean_of(gate.metric, runs if gate.metric == "measured" else scored)
            return [("", mean.value, mean.n, None)]


def _of_row(note: str, row: Row) -> _Measure:
    return (note, row.rate, row.n, row.passed)


def _policy(policy: str, runs: Sequence[Result]) -> _Measure:
    for row in exercised_rows(runs, only=policy):
        return _of_row("", row)
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
