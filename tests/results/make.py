"""Results for tests: small ones by hand, many by rule."""

import math

from pytest_agentbench.core.run import PolicyOutcome, Result, RunKey
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.verdict import Blame, CallExplanation, Finding, Unmeasured, Verdict
from pytest_agentbench.results.document import Document, SuiteRecord
from pytest_agentbench.results.gates import evaluate_gates

SUITE = "bench/agentbench.yaml"


def result(
    scenario="refund-late", verdict="passed", blame=None, *, suite=SUITE, variant="", trial=1, attempt=1, **fields
):
    """Make a result; failed ones are the agent's fault unless said otherwise."""
    if verdict == "failed" and blame is None:
        blame = "agent"
    suffix = f"[{variant}]" if variant else ""
    values = {
        "termination": Termination.FINISHED,
        "asked": 1,
        "nodeid": f"{suite}::{scenario}{suffix}",
        "metrics": {"name_recall": 1.0, "strict_recall": 1.0, "complete": 1.0, "agent_turns": 6.0, "tool_calls": 4.0},
        **fields,
    }
    return Result(
        key=RunKey(suite=suite, scenario=scenario, variant=variant, trial=trial, attempt=attempt),
        verdict=Verdict(verdict),
        blame=Blame(blame) if blame else None,
        **values,
    )


def wrong_refund(scenario="two-orders-one-card", **fields):
    """Make a failed result: a refund to another payment method."""
    expected, actual = {"order_id": "W77", "method": "paypal_1"}, {"order_id": "W77", "method": "card_2"}
    return result(
        scenario,
        "failed",
        findings=(
            Finding(
                check="state",
                kind="state",
                passed=False,
                message="orders.W77.refunded_to is 'card_2', expected 'paypal_1'",
                expected="'paypal_1'",
                actual="'card_2'",
            ),
            Finding(
                check="state",
                kind="write",
                passed=False,
                message="refund: argument 'method' was 'card_2', expected 'paypal_1'",
                turn=6,
                tool="refund",
                expected="'paypal_1'",
                actual="'card_2'",
            ),
        ),
        calls=(
            CallExplanation(status="matched", tool="find_order", expected={"id": "W77"}, actual={"id": "W77"}, turn=2),
            CallExplanation(
                status="wrong_arguments",
                tool="refund",
                expected=expected,
                actual=actual,
                differing={"method": ("paypal_1", "card_2")},
                turn=6,
                write=True,
            ),
        ),
        complexity=9,
        complexity_scale="policies",
        tools=("find_order", "refund"),
        **{"metrics": {"name_recall": 1.0, "strict_recall": 0.5, "agent_turns": 8.0, "tool_calls": 5.0}, **fields},
    )


def unconfirmed(scenario="exchange-after-window", **fields):
    """Make a failed result: a write that the user did not confirm."""
    return result(
        scenario,
        "failed",
        findings=(
            Finding(
                check="policy",
                kind="policy",
                policy="confirm-writes",
                passed=False,
                message='exchange_items(order_id="W104", items=["a", "b"]) without a yes from the user',
                turn=5,
                tool="exchange_items",
            ),
        ),
        policies=(PolicyOutcome(policy="confirm-writes", exercised=True, kept=False),),
        listed_policies=("confirm-writes", "be-polite"),
        complexity=7,
        complexity_scale="policies",
        tools=("exchange_items",),
        **fields,
    )


POLITE = Unmeasured(
    part="policy be-polite",
    why="not measured: it has no rule",
    cure="give the policy a `rule`, or the suite a `judge`",
)


def support_runs():
    """Make 26 runs of a suite as a real one might give: 22 pass, 2 fail, 2 are not the agent's."""
    runs = [unconfirmed(), wrong_refund()]
    for number in range(22):
        exercised = number < 13
        runs.append(
            result(
                f"case-{number:02}",
                policies=(
                    PolicyOutcome(policy="confirm-writes", exercised=exercised, kept=exercised or None),
                    PolicyOutcome(policy="refund-window", exercised=number % 3 == 0, kept=number % 3 == 0 or None),
                    PolicyOutcome(policy="gift-cards", exercised=False),
                ),
                listed_policies=("confirm-writes", "be-polite") if number % 2 else ("refund-window",),
                asked=3,
                unmeasured=(POLITE,) if number % 2 else (),
                complexity=2 + number % 8,
                complexity_scale="policies",
                tools=("find_order", "refund" if number % 2 else "exchange_items"),
                tags=("french",) if number % 5 == 0 else (),
                seconds=0.4,
                metrics={**result().metrics, "measured": 2 / 3 if number % 2 else 1.0},
            )
        )
    runs.append(
        result(
            "user-lost",
            "error",
            "user",
            termination=Termination.STALLED,
            stop_reason="the scripted user cannot answer: 'Which colour?'",
            complexity=3,
            complexity_scale="policies",
        )
    )
    runs.append(result("late-one", "error", termination=None, not_run="not run: budget"))
    return runs


def document(runs, gates=(), retried=(), **fields):
    """Make a complete document of one suite, gates evaluated."""
    suite = SuiteRecord(
        path=SUITE, name="support", gates=tuple(gates), scenarios=len(runs), total=len(runs), selected=len(runs),
        variants=tuple(dict.fromkeys(run.key.variant for run in runs if run.key.variant)),
    )  # fmt: skip
    values = {
        "created": "2026-11-20T10:41:00+00:00",
        "run": "20261120T104100.000001-ab12",
        "root": "/project",
        "seed": 7,
        "seconds": 11.4,
        "complete": True,
        "suites": (suite,),
        "gates": evaluate_gates(SUITE, gates, runs),
        "results": tuple(runs),
        "retried": tuple(retried),
        **fields,
    }
    return Document(**values)


def mcnemar_exact(lost, won):
    """Twice the smaller binomial tail of what changed one way and the other, at most 1."""
    n = lost + won
    return min(1.0, 2 * sum(math.comb(n, count) for count in range(min(lost, won) + 1)) / 2**n)
