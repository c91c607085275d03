"""What becomes of gates, thresholds such as `success >= 0.80` that decide the exit status."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import GateError
from pytest_agentbench.core.gate_grammar import Gate, parse_gate, parse_gates
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import figure
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.results.comparison import Loss, losses_against
from pytest_agentbench.results.intervals import binomial_mass, quantile
from pytest_agentbench.results.numbers import COST, TOKENS, mean, value_of
from pytest_agentbench.results.table import NO_FACTS, SCALES, Facts, Row, Table, leaves_open, make_row, mean_of
from pytest_agentbench.results.trials import by_scenario, trials_report

NOT_EVALUATED = "not evaluated"
"""How the reason of a gate begins that decides nothing."""

NO_BASELINE = f"{NOT_EVALUATED}: no baseline was given (--agentbench-baseline FILE)"
"""Why a gate that compares with a baseline decides nothing."""

FIRST_BASELINE = f"{NOT_EVALUATED}: no baseline yet, this session is the first one"
"""Why such a gate decides nothing in the session that is kept as the first baseline."""

_UNTOLD = "the baseline does not tell it"
_NO_SAME = f"{NOT_EVALUATED}: no baseline, the one given has none of these scenarios"
_NO_GROUP = f"{NOT_EVALUATED}: no baseline, the one given has no run of this group"


class GateVerdict(Model):
    """What became of a gate. `label` names the gate, and the variant or scale where there are several.

    `value` is None when nothing was measured (`n` is 0). `passed` is None where the gate was not evaluated: it compares
    with a baseline that there is not, or the `pending` runs that it is about, which are set aside, are the only ones.
    `near_miss` is the chance, 0..1, that an agent exactly at the measured rate would miss the gate in as many runs;
    None for means, quantities, losses and where nothing was measured. `threshold` is what the value was held against,
    None where that is not known.
    """

    suite: str
    gate: str
    label: str
    variant: str = ""
    value: float | None = None
    n: int = 0
    pending: int = 0
    passed: bool | None
    threshold: float | None = None
    reason: str
    near_miss: float | None = None

    @property
    def failed(self) -> bool:
        """Whether the gate fails the session."""
        return self.passed is False

    @property
    def parsed(self) -> Gate | None:
        """The gate itself, None where a results file of another version names one that this version does not know."""
        try:
            return parse_gate(self.gate)
        except GateError:
            return None


def decided_by_own(suite: str, texts: Iterable[str], verdicts: Iterable[GateVerdict]) -> bool:
    """Whether one of the gates that a suite itself has was decided; where none was, its failing runs decide."""
    own = {text.strip() for text in texts}
    return any(one.suite == suite and one.gate in own and one.passed is not None for one in verdicts)


def evaluate_gates(
    suite: str,
    texts: Iterable[str],
    results: Iterable[Result],
    *,
    baseline: Sequence[Result] | None = None,
    is_first: bool = False,
    facts: Facts = NO_FACTS,
) -> tuple[GateVerdict, ...]:
    """Decide every gate of `suite` over its results; with several variants each of them must hold.

    Runs that are set aside count in none; a gate that is about such runs alone is not evaluated. `regression` and the
    factors of `baseline` are measured against the results of the same suite in `baseline`, over the scenarios that both
    played; where there is none, or no run of a gate's group, the gate is not evaluated, and a factor fails where those
    scenarios do not tell it. Without a baseline the first is not exercised and the others are not evaluated; neither is
    where `is_first` says that these results are to be the first baseline.
    """
    gates = parse_gates(texts)
    runs = [run for run in results if run.key.suite == suite]
    before = [run for run in baseline or () if run.key.suite == suite]
    losses = losses_against(before, runs) if any(gate.kind == "loss" for gate in gates) else {}
    variants = sorted({run.key.variant for run in runs})
    verdicts: list[GateVerdict] = []
    for gate in gates:
        for variant in variants or [""]:
            both = [run for run in runs if run.key.variant == variant]
            aside = [run.as_counted for run in both if run.set_aside]
            one = _OneGate(
                gate=gate,
                suite=suite,
                label=f"{gate.text} [{variant}]" if len(variants) > 1 else gate.text,
                variant=variant,
                facts=facts,
            )
            mine = [run for run in both if not run.set_aside]
            if waiting := _waiting(one, mine, aside):
                pending = any(run.pending for run in both)
                why = f"{NOT_EVALUATED}: {waiting} {'pending review' if pending else 'in quarantine'}"
                verdicts.append(one.undecided(why, pending=waiting))
                continue
            earlier = None if baseline is None else _same_variant(before, variant)
            if is_first and (gate.kind == "loss" or gate.is_relative):
                verdicts.append(one.undecided(FIRST_BASELINE))
            elif gate.kind == "loss" and mine and earlier is not None and not _played_in(earlier, mine):
                verdicts.append(one.undecided(_NO_SAME))
            elif gate.kind == "loss":
                verdicts.append(_loss(one, losses.get(variant)))
            else:
                verdicts += one.verdicts(mine, earlier)
    return tuple(verdicts)


class Measured(NamedTuple):
    """What a gate measures: a note for its label, the value, n, and how many count where it is a rate or a count."""

    note: str
    value: float | None
    n: int
    hits: int | None = None


class _OneGate(Model):
    """A gate of a suite under one variant."""

    gate: Gate
    suite: str
    label: str
    variant: str
    facts: Facts

    def measure(self, runs: Sequence[Result]) -> list[Measured]:
        """Give what the gate is about; several entries only where complexity has several scales."""
        return _measure(self.gate, Table(runs=runs, facts=self.facts))

    def verdict(self, *, note: str = "", passed: bool | None, reason: str, **fields: Any) -> GateVerdict:
        """Give the verdict, named and placed."""
        label = f"{self.label} ({note})" if note else self.label
        named = {"suite": self.suite, "gate": self.gate.text, "label": label, "variant": self.variant}
        return GateVerdict.model_validate({**named, "passed": passed, "reason": reason, **fields})

    def undecided(self, reason: str, **fields: Any) -> GateVerdict:
        """Give the verdict of a gate that was not evaluated."""
        return self.verdict(passed=None, reason=reason, **fields)

    def verdicts(self, runs: Sequence[Result], before: Sequence[Result] | None) -> Iterable[GateVerdict]:
        """Hold what the runs come to against the threshold, a factor of what `before` came to where it is relative."""
        gate = self.gate
        earlier: dict[str, float | None] = {}
        played = bool(runs)
        if gate.is_relative and before is not None:
            runs, before = _played_in(before, runs), _played_in(runs, before)
            earlier = {one.note: one.value for one in self.measure(before)}
        for note, value, n, hits in self.measure(runs):
            threshold: float | None = gate.threshold
            if gate.is_relative:
                old = earlier.get(note)
                if old is None:
                    if before is None:
                        yield self.undecided(NO_BASELINE, note=note, value=value, n=n)
                    elif played and not runs:
                        yield self.undecided(_NO_SAME, note=note)
                    elif gate.argument and value is not None:
                        yield self.undecided(_NO_GROUP, note=note, value=value, n=n)
                    else:
                        yield self.verdict(note=note, passed=False, reason=_UNTOLD)
                    continue
                threshold = gate.threshold * old
            passed = value is not None and gate.holds(value, threshold)
            is_open = value is None and _is_open(gate, runs)
            yield self.verdict(
                note=note,
                value=value,
                n=n,
                threshold=threshold,
                passed=passed,
                reason="not measured" if is_open else _reason(gate, value, threshold, passed=passed),
                near_miss=None if hits is None or n == 0 else _near_miss(gate, threshold, n, hits),
            )


def _same_variant(before: Sequence[Result], variant: str) -> list[Result]:
    """Give the counted runs of a baseline that are of the same variant."""
    names = {run.key.variant for run in before}
    meant = variant if variant in names or len(names) != 1 else next(iter(names))
    return [run for run in before if run.key.variant == meant and not run.set_aside]


def _played_in(others: Sequence[Result], runs: Sequence[Result]) -> list[Result]:
    """Give the runs whose scenario, as it stands and with the same fault, was also played in `others`."""
    played = {(run.key.scenario, run.key.fault, run.scenario_hash) for run in others}
    return [run for run in runs if (run.key.scenario, run.key.fault, run.scenario_hash) in played]


def _waiting(one: _OneGate, counted: Sequence[Result], aside: Sequence[Result]) -> int:
    """Count the runs set aside that a gate is about, 0 where others decide it or it is about none."""
    if not aside:
        return 0
    if not counted:
        return max((found.n for found in one.measure(aside)), default=0) or len(aside)
    if not one.gate.argument or _is_open(one.gate, counted) or any(found.n for found in one.measure(counted)):
        return 0
    return sum(found.n for found in one.measure(aside))


def _is_open(gate: Gate, runs: Sequence[Result]) -> bool:
    """Whether some run leaves open what became of a gate's policy, so that nobody knows that it was not exercised."""
    return gate.metric == "policy" and any(leaves_open(run, gate.argument) for run in runs)


def _loss(one: _OneGate, loss: Loss | None) -> GateVerdict:
    value = None if loss is None else loss.value
    gate = one.gate
    passed = value is not None and gate.holds(value)
    reason = _reason(gate, value, gate.threshold, passed=passed) if loss else "no scenario of a baseline was compared"
    told = f" (p = {loss.p:.2g})" if loss is not None and loss.value else ""
    n = 0 if loss is None else loss.n
    return one.verdict(value=value, n=n, threshold=gate.threshold, passed=passed, reason=reason + told)


_ENDINGS = {
    "crashed": Termination.CRASHED,
    "stalled": Termination.STALLED,
    "safety_timeout": Termination.SAFETY_TIMEOUT,
}


def _measure(gate: Gate, table: Table) -> list[Measured]:
    runs = table.runs
    scored = [run for run in runs if run.scored]
    match gate.metric:
        case "success":
            return [_of_row(make_row("", "", runs))]
        case "finished":
            return [_of_row(make_row("", "", runs, lambda run: run.termination is Termination.FINISHED))]
        case "errors":
            unscored = len(runs) - len(scored)
            return [Measured("", unscored / len(runs) if runs else None, len(runs), unscored)]
        case "crashed" | "stalled" | "safety_timeout":
            mine = (run for run in runs if run.termination is _ENDINGS[gate.metric] and run.blame is Blame.AGENT)
            count = sum(not run.ended_by_other for run in mine)
            return [Measured("", float(count) if runs else None, len(runs), count)]
        case "complete":
            found = mean_of("complete", scored)
            return [Measured("", found.value, found.n, None if found.value is None else round(found.value * found.n))]
        case "complexity":
            return _complexity(int(gate.argument), runs)
        case "policy":
            return [_of_row(*table.policies(only=gate.argument)[:1])]
        case "category" | "tool" | "agent" | "tag" | "language" | "rubric":
            return [_of_row(*(row for row in table.by(gate.metric) if row.label == gate.argument))]
        case "pass^":
            return [_pass_k(int(gate.argument), scored)]
        case "worst_scenario":
            rates = [one.rate for one in by_scenario(scored)]
            return [Measured("", min(rates, default=None), len(rates))]
        case "name_recall" | "strict_recall" | "measured":
            found = mean_of(gate.metric, runs if gate.metric == "measured" else scored)
            return [Measured("", found.value, found.n)]
        case _:
            return [_quantity(gate.metric, scored)]


def _of_row(row: Row | None = None) -> Measured:
    return Measured("", None, 0, 0) if row is None else Measured("", row.rate, row.n, row.passed)


def _complexity(value: int, runs: Sequence[Result]) -> list[Measured]:
    measures = []
    for scale in SCALES:
        mine = [run for run in runs if run.complexity == value and run.complexity_scale == scale]
        if mine:
            measures.append(_of_row(make_row("", "", mine))._replace(note=scale))
    return measures or [_of_row()]


def _pass_k(k: int, scored: Sequence[Result]) -> Measured:
    """Give the chance that k trials of a scenario all pass, over the scenarios with at least k scored trials."""
    report = trials_report(scored)
    if report is None and k == 1:
        return _of_row(make_row("", "", scored))
    found = next((one for one in report.passes if one.k == k), None) if report is not None else None
    return Measured("", None, 0) if found is None else Measured("", found.all.value, found.n)


def _quantity(metric: str, scored: Sequence[Result]) -> Measured:
    """Give the mean of a run's cost or tokens, or a quantile of seconds of the agent in runs or in its turns."""
    what, _, rest = metric.partition(".")
    if rest in (COST, TOKENS):
        values = [value for run in scored if (value := value_of(run, rest)) is not None]
        return Measured("", mean(values) if values else None, len(values))
    if what == "turn":
        values = [seconds for run in scored for seconds in run.turn_seconds]
    else:
        values = [sum(run.turn_seconds) for run in scored if run.turn_seconds]
    return Measured("", quantile(values, 0.95 if rest.endswith("p95") else 0.5) if values else None, len(values))


_NEGATED = {">=": "<", ">": "<=", "<=": ">", "<": ">="}


def _reason(gate: Gate, value: float | None, threshold: float | None, *, passed: bool) -> str:
    if value is None or threshold is None:
        return "not exercised"
    shown, bound = _shown(gate, value), _shown(gate, threshold)
    if shown == bound and not passed:
        shown = f"{value:.6g}"
    return f"{shown} {gate.operator if passed else _NEGATED[gate.operator]} {bound}"


def _shown(gate: Gate, value: float) -> str:
    if gate.kind == "count" and value == int(value):
        return f"{value:.0f}"
    if gate.kind == "quantity":
        return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
    return figure(value)


def _near_miss(gate: Gate, threshold: float | None, n: int, hits: int) -> float:
    """Give P[the gate fails] when the count is Binomial(n, hits / n)."""
    scale: Callable[[int], float] = float if gate.kind == "count" else lambda count: count / n
    failing = [count for count in range(n + 1) if not gate.holds(scale(count), threshold)]
    if len(failing) * 2 > n:
        kept = set(failing)
        return max(0.0, 1 - binomial_mass(n, hits / n, [count for count in range(n + 1) if count not in kept]))
    return binomial_mass(n, hits / n, failing)
