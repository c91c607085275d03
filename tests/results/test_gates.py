"""Gates: what they measure, and near misses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.errors import GateError
from pytest_agentbench.core.gates import parse_gate
from pytest_agentbench.core.run import PolicyOutcome
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.verdict import Blame, OtherFault
from pytest_agentbench.results.gates import evaluate_gates
from tests.results.make import SUITE, result, support_runs

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
    *("policy.late", "policy", "policy.none", "complexity.5", "complexity.x", "tag.smoke", "tag."),
]
GATES = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(METRICS),
    st.sampled_from(["", " "]),
    st.sampled_from([">=", ">", "<=", "<", "==", "=", "!=", ""]),
    st.sampled_from(["", " ", "  "]),
    st.sampled_from(["0", "1", "0.80", ".5", "2", "1.5", "80%", "80 %", "-1", "x", "", "0.5 x"]),
)


def decide(gate, runs):
    """Evaluate one gate and give its only verdict."""
    (verdict,) = [verdict for verdict in evaluate_gates(SUITE, [gate], runs) if verdict.gate == gate]
    return verdict


def test_a_rate_counts_scored_runs_only():
    """Success is passed / (passed + failed); errors is the unscored share of all."""
    success, errors = evaluate_gates(SUITE, ["success >= 0.92"], support_runs())
    assert (success.value, success.n, success.passed, success.reason) == (22 / 24, 24, False, "0.917 < 0.92")
    assert (errors.value, errors.n, errors.passed) == (2 / 26, 26, False)


@pytest.mark.parametrize(
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


@settings(max_examples=500)
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
