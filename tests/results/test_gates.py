"""Gates: what they measure, and near misses."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.errors import GateError
from pytest_agentbench.core.gate_grammar import parse_gate
from pytest_agentbench.core.model import Usage
from pytest_agentbench.core.run import PolicyOutcome
from pytest_agentbench.core.scenario import Quarantine
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.verdict import Blame, Finding, OtherFault
from pytest_agentbench.results.gates import evaluate_gates
from pytest_agentbench.results.table import Facts, Table
from tests.results.make import SUITE, result, support_runs
from tests.tables import each

BASELINE = [
    result("a", usage={"agent": Usage(calls=1, input_tokens=90, output_tokens=10, cost_usd=0.02)}, turn_seconds=(1.0,)),
    result("b", usage={"agent": Usage(calls=1, input_tokens=90, output_tokens=10, cost_usd=0.04)}, turn_seconds=(3.0,)),
]

METRICS = [
    *(
        "success",
        "complete",
        "crashed",
        "stalled",
        "errors",
        "name_recall",
        "strict_recall",
        "succes",
        "success.x",
        "a b",
    ),
    *("finished", "agent.tokens", "turn.seconds.p95", "pass^4", "pass^9", "tool.refund", "rubric.invents"),
    *("policy.late", "policy", "policy.none", "complexity.5", "complexity.x", "tag.smoke", "tag."),
]
GATES = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(METRICS),
    st.sampled_from(["", " "]),
    st.sampled_from([">=", ">", "<=", "<", "==", "=", "!=", ""]),
    st.sampled_from(["", " ", "  "]),
    st.sampled_from(
        [
            "0",
            "1",
            "0.80",
            ".5",
            "1.1 * baseline",
            "baseline",
            "2 * basline",
            "2",
            "1.5",
            "80%",
            "80 %",
            "-1",
            "x",
            "",
            "0.5 x",
        ]
    ),
)


def decide(gate, runs):
    """Evaluate one gate and give its only verdict."""
    (verdict,) = [verdict for verdict in evaluate_gates(SUITE, [gate], runs) if verdict.gate == gate]
    return verdict


def test_a_rate_counts_scored_runs_only():
    """Success is passed / (passed + failed); errors is the unscored share of all."""
    success, errors = evaluate_gates(SUITE, ["success >= 0.92"], support_runs())
    assert (success.value, success.n, success.passed, success.reason) == (22 / 24, 24, False, "0.916667 < 0.92")
    assert (errors.value, errors.n, errors.passed) == (2 / 26, 26, False)


@each(
    "gate",
    [
        "success >= 0.1",
        "crashed <= 5",
        "policy.none >= 0.0",
        "complexity.99 >= 0.0",
        "tag.x >= 0.0",
        "complete >= 0.0",
        "name_recall >= 0.0",
        "errors <= 1",
        "finished >= 0.0",
        "safety_timeout <= 3",
        "category.x >= 0.0",
        "tool.x >= 0.0",
        "language.fr >= 0.0",
        "rubric.x >= 0.0",
        "pass^2 >= 0.0",
        "worst_scenario >= 0.0",
        "agent.cost_usd <= 9",
        "agent.tokens <= 9",
        "agent.seconds.p95 <= 9",
        "turn.seconds.p95 <= 9",
    ],
)
def test_what_was_not_exercised_fails(gate):
    """With n = 0 every gate fails as not exercised, however low its threshold."""
    verdict = decide(gate, [])
    assert (verdict.passed, verdict.value, verdict.n, verdict.reason) == (False, None, 0, "not exercised")
    assert verdict.near_miss is None


def test_a_threshold_met_exactly_holds():
    """9 of 10 meets 0.9, and so does a mean that rounds below it."""
    runs = [result(f"s{n}", "passed" if n else "failed", metrics={"name_recall": 0.1}) for n in range(10)]
    assert decide("success >= 0.9", runs).passed
    assert decide("name_recall >= 0.1", runs).passed
    assert not decide("success > 0.9", runs).passed


def test_crashes_count_only_with_the_agent_to_blame():
    """A crash of the environment is an error, not the agent's crash."""
    runs = [
        result("a", "failed", termination=Termination.CRASHED),
        result("b", "error", "environment", termination=Termination.CRASHED),
        result("c", "failed", termination=Termination.STALLED),
    ]
    assert decide("crashed <= 1", runs).value == 1
    assert not decide("crashed <= 0", runs).passed
    assert decide("stalled <= 1", runs).value == 1


def test_a_policy_gate_counts_what_was_measured_alone():
    """It is kept / exercised; a policy that no run measured fails its gate and says so."""
    runs = [
        result("a", "failed", policies=(PolicyOutcome(policy="p", exercised=True, kept=True),), listed_policies=("q",)),
        result("b", policies=(PolicyOutcome(policy="p", exercised=False),), listed_policies=("p", "q")),
    ]
    ruled, listed = decide("policy.p >= 1", runs), decide("policy.q >= 0.5", runs)
    assert (ruled.value, ruled.n, ruled.label) == (1.0, 1, "policy.p >= 1")
    assert (listed.value, listed.n, listed.passed, listed.reason) == (None, 0, False, "not measured")


def test_measured_is_gated_over_all_runs_whose_parties_did_their_part():
    """A run of which nothing was measured is not scored, and counts here."""
    runs = [result("a", metrics={"measured": 1.0}), result("b", "error", "scenario", metrics={"measured": 0.0})]
    verdict = decide("measured >= 0.9", runs)
    assert (verdict.value, verdict.n, verdict.passed) == (0.5, 2, False)
    assert decide("measured >= 0.9", [result("a", metrics={})]).reason == "not exercised"


def test_a_crash_by_others_is_none_of_the_agents_though_it_failed_before():
    """What ended the conversation is not what it failed by."""
    ended = OtherFault(blame=Blame.PROVIDER, reason="gone", ended=True)
    runs = [result("a", "failed", termination=Termination.CRASHED, also=(ended,))]
    assert decide("crashed <= 0", runs).passed


def test_each_variant_must_hold():
    """When several variants ran, each is judged alone and named; one alone is not."""
    runs = [result("a", variant="careful"), result("a", "failed", variant="hasty"), result("b", suite="other.yaml")]
    verdicts = evaluate_gates(SUITE, ["success >= 0.5", "errors <= 1"], runs)
    assert [(verdict.label, verdict.passed) for verdict in verdicts[:2]] == [
        ("success >= 0.5 [careful]", True),
        ("success >= 0.5 [hasty]", False),
    ]
    assert decide("success >= 0.5", runs[:1]).label == "success >= 0.5"


def test_a_complexity_gate_never_mixes_scales():
    """Equal numbers on two scales are two verdicts."""
    runs = [result("a", complexity=5, complexity_scale="policies"), result("b", complexity=5, complexity_scale="calls")]
    verdicts = evaluate_gates(SUITE, ["complexity.5 >= 1", "errors <= 1"], runs)
    assert [(verdict.label, verdict.n) for verdict in verdicts[:2]] == [
        ("complexity.5 >= 1 (policies)", 1),
        ("complexity.5 >= 1 (calls)", 1),
    ]


def test_near_miss_is_the_exact_binomial():
    """At 9 of 10 against 0.9 an equal agent misses with P[Binomial(10, 0.9) < 9] = 0.2639."""
    runs = [result(f"s{n}", "passed" if n else "failed") for n in range(10)]
    assert decide("success >= 0.9", runs).near_miss == pytest.approx(0.26390107, abs=1e-8)
    assert decide("success >= 0.1", runs).near_miss == pytest.approx(1e-10, abs=1e-12)
    assert decide("errors <= 0.05", runs).near_miss == 0
    assert decide("strict_recall >= 0.9", runs).near_miss is None


@given(st.permutations(support_runs()))
def test_order_does_not_matter(runs):
    """Gates over a permutation of the results give the same verdicts."""
    gates = ["success >= 0.9", "policy.confirm-writes >= 0.9", "strict_recall >= 0.95", "complexity.5 >= 1"]
    assert evaluate_gates(SUITE, gates, runs) == evaluate_gates(SUITE, gates, support_runs())


@settings(max_examples=150)
@given(gate=GATES)
def test_gates_that_load_can_be_evaluated(gate):
    """Every gate that the grammar admits can be decided, and no other."""
    try:
        parse_gate(gate)
    except GateError:
        with pytest.raises(GateError):
            evaluate_gates(SUITE, [gate], support_runs())
    else:
        assert gate.strip() in {verdict.gate for verdict in evaluate_gates(SUITE, [gate], support_runs())}


def test_an_agent_gate_counts_the_runs_in_which_it_took_part():
    """One of the two runs of refunds passed; an agent that never came is not exercised."""
    runs = [result("a", agents=("triage", "refunds")), result("b", "failed", agents=("refunds",)), result("c")]
    verdict = decide("agent.refunds >= 0.9", runs)
    assert (verdict.value, verdict.n, verdict.passed) == (0.5, 2, False)
    assert decide("agent.legal >= 0.1", runs).reason == "not exercised"


def criterion(name, passed):
    """Make the finding of a criterion of a rubric."""
    return Finding(check=f"rubric:{name}", kind="rubric", passed=passed, message="", required=False)


@each(
    ("gate", "value", "n"),
    [
        ("finished >= 0.5", 0.75, 4),
        ("safety_timeout <= 1", 1.0, 4),
        ("category.consent >= 0.5", 0.5, 2),
        ("tool.refund >= 0.1", 1 / 3, 3),
        ("language.fr >= 0.5", 0.5, 2),
        ("rubric.invents >= 0.5", 2 / 3, 3),
        ("pass^2 >= 0.1", 0.5, 2),
        ("worst_scenario >= 0.0", 0.0, 2),
        ("agent.cost_usd <= 9", 0.03, 2),
        ("agent.tokens <= 9", 110.0, 2),
        ("agent.seconds.p50 <= 9", 3.0, 2),
        ("turn.seconds.p95 <= 9", 2.9, 3),
    ],
)
def test_every_group_and_number_of_the_table_can_be_gated(gate, value, n):
    """Rates are over scored runs that have the label, quantities over runs that tell them."""
    told = Usage(calls=1, input_tokens=100, output_tokens=10)
    both = {"tools": ("refund",), "language": "fr"}
    asked = PolicyOutcome(policy="ask", exercised=True, kept=True)
    runs = [
        result(
            "a",
            usage={"agent": told.model_copy(update={"cost_usd": 0.02})},
            turn_seconds=(1.0, 2.0),
            policies=(asked,),
            findings=(criterion("invents", True),),
            **both,
        ),
        result(
            "a",
            trial=2,
            usage={"agent": told.model_copy(update={"cost_usd": 0.04})},
            turn_seconds=(3.0,),
            findings=(criterion("invents", True),),
        ),
        result(
            "b",
            "failed",
            policies=(asked, PolicyOutcome(policy="late", exercised=True, kept=False)),
            findings=(criterion("invents", False),),
            **both,
        ),
        result("b", "failed", trial=2, termination=Termination.SAFETY_TIMEOUT, tools=("refund",)),
    ]
    facts = Facts(categories={(SUITE, "ask"): "consent", (SUITE, "late"): "consent"})
    (verdict, _) = evaluate_gates(SUITE, [gate], runs, facts=facts)
    assert verdict.value == pytest.approx(value)
    assert verdict.n == n


@each(
    ("gate", "passed", "threshold", "reason"),
    [
        ("agent.tokens <= 1.10 * baseline", True, 110.0, "110 <= 110"),
        ("agent.cost_usd <= baseline", False, 0.03, "0.05 > 0.03"),
        ("success >= 0.95 * baseline", False, 0.95, "0.50 < 0.95"),
        ("turn.seconds.p95 <= 2 * baseline", False, None, "the baseline does not tell it"),
    ],
)
def test_a_gate_may_be_a_factor_of_what_a_baseline_measured(gate, passed, threshold, reason):
    """The same measure over the same scenarios; what the baseline does not tell fails."""
    usage = {"agent": Usage(calls=1, input_tokens=100, output_tokens=10, cost_usd=0.05)}
    runs = [result("a", usage=usage, turn_seconds=(1.0,)), result("b", "failed", usage=usage)]
    before = [run.model_copy(update={"turn_seconds": ()}) for run in BASELINE]
    (verdict, _) = evaluate_gates(SUITE, [gate], runs, baseline=before)
    assert (verdict.passed, verdict.reason) == (passed, reason)
    assert verdict.threshold == pytest.approx(threshold)


def test_without_a_baseline_a_relative_gate_is_not_evaluated():
    """It says how to give one, and fails nobody."""
    verdict = decide("agent.tokens <= 1.10 * baseline", BASELINE)
    assert (verdict.passed, verdict.failed) == (None, False)
    assert "--agentbench-baseline" in verdict.reason


def test_a_factor_of_a_baseline_is_over_what_both_sides_played():
    """A new scenario, one that changed and one under a fault are in neither figure; with none left there is none."""
    both = {"scenario_hash": "1"}
    faulty = result("a", "failed", **both)
    others = [
        result("new", "failed", **both),
        result("b", "failed", scenario_hash="2"),
        faulty.model_copy(update={"key": faulty.key.model_copy(update={"fault": "slow"})}),
    ]
    before = [result("a", **both), result("b", **both), result("gone", "failed", **both)]
    gate = "success >= baseline"
    (verdict, _) = evaluate_gates(SUITE, [gate], [result("a", **both), *others], baseline=before)
    (apart, _) = evaluate_gates(SUITE, [gate], others, baseline=before)
    assert (verdict.value, verdict.n, verdict.threshold, verdict.passed) == (1.0, 1, 1.0, True)
    assert apart.passed is None
    assert apart.reason == "not evaluated: no baseline, the one given has none of these scenarios"


@each("gate", ["regression <= 0", "success >= baseline", "tag.new >= baseline"])
def test_what_is_new_since_the_baseline_has_none(gate):
    """A suite, and a group of a suite, of which the baseline has no run are not evaluated, and fail nobody."""
    runs = [result("a", tags=("new",))]
    other = [result("a", suite="other.yaml")]
    before = other if "tag" not in gate else [result("a")]
    (verdict, _) = evaluate_gates(SUITE, [gate], runs, baseline=before)
    assert (verdict.passed, verdict.failed) == (None, False)
    assert verdict.reason.startswith("not evaluated: no baseline")
    (first, _) = evaluate_gates(SUITE, [gate], runs, is_first=True)
    assert first.reason == "not evaluated: no baseline yet, this session is the first one"
    (nothing, _) = evaluate_gates(SUITE, [gate], [], baseline=before)
    assert nothing.failed


def test_a_policy_stands_in_rows_with_its_own_category_alone():
    """Policies and categories are not crossed: a run of two policies has two rows, not four."""
    kept = [PolicyOutcome(policy=name, exercised=True, kept=True) for name in ("ask", "late")]
    facts = Facts(categories={(SUITE, "ask"): "consent", (SUITE, "late"): "time"})
    rows = Table(runs=[result("a", policies=tuple(kept))], facts=facts).by("policy", "category")
    assert [row.label for row in rows] == ["ask · consent", "late · time"]


def test_what_is_in_quarantine_stands_in_no_gate():
    """A gate that is about nothing else is not evaluated."""
    why = Quarantine(owner="payments", reason="flaky server", until=date(2026, 12, 31))
    runs = [result("a"), result("b", "failed", quarantine=why, tags=("late",))]
    assert decide("success >= 1", runs).passed
    assert decide("tag.late >= 0.1", runs).reason == "not evaluated: 1 in quarantine"
