"""The terminal report: what it says, how it fits, how fast it is."""

import time
from pathlib import Path

import pytest

from pytest_agentbench.core.run import PolicyOutcome
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.verdict import Finding
from pytest_agentbench.report.failures import failed_findings
from pytest_agentbench.report.markdown import markdown_report
from pytest_agentbench.report.table import cells
from pytest_agentbench.report.terminal import terminal_report
from tests.results.make import SUITE, document, result, support_runs, unconfirmed, wrong_refund
from tests.tables import each

GOLDEN = Path(__file__).parent / "golden"
GATES = [
    "success >= 0.80",
    "policy.confirm-writes >= 0.95",
    "crashed <= 0",
    "complexity.5 >= 0.9",
    "tag.german >= 0.5",
    "strict_recall >= 0.9",
]
RETRIED = [result("case-03", "error", "user")]

HOSTILE = "\x1b[31mred\x1b[0m\r\n\u202eevil\ud83d \x07 \u4e2d\u6587 \u00e9"


def text(*arguments, **options):
    """Render a report as one text."""
    return "\n".join(line.text for line in terminal_report(*arguments, **options)) + "\n"


@each(
    ("name", "given", "options"),
    [
        ("mixed", document(support_runs(), GATES, retried=RETRIED), {"path": ".agentbench/runs/r/results.json"}),
        ("mixed_ascii", document(support_runs(), GATES, retried=RETRIED), {"unicode": False, "verbose": True}),
        ("passed", document([run for run in support_runs() if run.passed], ["success >= 0.8"]), {}),
        ("one", document([result()]), {}),
        ("unscored", document([result("a", "error", "user", stop_reason="lost")], ["success >= 0.5"]), {}),
        ("nothing", document([]), {}),
        (
            "variants",
            document(
                [
                    result("a", variant="careful"), wrong_refund("b", variant="hasty"),
                    result("b", variant="careful"), unconfirmed("a", variant="hasty"),
                ],
                ["success >= 0.5"],
            ),
            {},
        ),
    ],
)  # fmt: skip
def test_reports_read_as_they_were_approved(name, given, options):
    """The report of each kind of session is the one that was read and approved."""
    assert text(given, **options) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def test_a_passing_run_is_short():
    """When everything passed there are no breakdowns and no failures, at most a dozen lines."""
    lines = terminal_report(document([result(f"s{number}") for number in range(50)], ["success >= 0.8"]))
    assert len(lines) <= 12
    assert not any(line.style in ("bad", "warn") for line in lines)


def test_what_decided_nothing_is_listed_wherever_it_stands():
    """A run by somebody else's fault is never only a number, also where it waits for a reviewer."""
    pending = result("waits", "error", "scenario", pending=True, error="the user has no answer")
    lines = [line.text for line in terminal_report(document([result(), pending], []))]
    assert "not scored, pending review" in lines
    assert any("waits  scenario: FINISHED: the user has no answer" in line for line in lines)


def test_what_was_proven_comes_before_a_crash():
    """A crash is no reason for a policy that was broken before it; what is merely missing, it explains."""
    findings = (
        Finding(check="communicate", kind="communicate", passed=False, message="never said"),
        Finding(check="termination", kind="termination", passed=False, message="CRASHED: gone"),
        Finding(check="policy", kind="policy", policy="ask", passed=False, message="not asked", proven=True),
    )
    crashed = result("crash", "failed", findings=findings, termination=Termination.CRASHED)
    assert [one.check for one in failed_findings(crashed)] == ["policy", "termination", "communicate"]


def test_failed_gates_are_red_and_held_ones_green():
    """The rows of gates carry their decision as colour and as a word."""
    lines = terminal_report(document(support_runs(), GATES))
    red = [line.text for line in lines if line.style == "bad"]
    assert any("policy.confirm-writes" in line and "FAILED" in line for line in red)
    assert any("tag.german" in line and "not exercised" in line for line in red)
    assert any("success >= 0.80" in line.text for line in lines if line.style == "good")


def test_worst_come_first():
    """Wrong writes, then policies, other state, strict recall, the rest; more findings first among equals."""

    def failing(name, *kinds):
        findings = tuple(Finding(check=kind, kind=kind, passed=False, message=f"{kind} is wrong") for kind in kinds)
        return result(name, "failed", findings=findings)

    runs = [
        failing("f-said", "communicate"), failing("e-calls", "calls"), failing("d-state", "state"),
        failing("c-policy", "policy"), failing("b-write", "write"), failing("a-write", "write", "state"),
        failing("g-end", "termination"),
    ]  # fmt: skip
    lines = text(document(runs)).splitlines()
    failures = lines[lines.index("worst first") + 1 :]
    listed = [line.split()[0] for line in failures[: failures.index("")] if line.startswith("    ")]
    assert listed == ["a-write", "b-write", "c-policy", "d-state", "e-calls", "f-said", "g-end"]


def test_at_most_ten_failures_are_listed():
    """The eleventh failure is only counted, unless the user asks for all."""
    runs = [wrong_refund(f"s{number:02}") for number in range(14)]
    assert "… and 4 more (-v)" in text(document(runs))
    assert "s13" in text(document(runs), verbose=True)


def test_a_rerun_names_the_variant_that_does_not_run_by_itself():
    """The first variant needs no option; another one does."""
    runs = [result("a", variant="careful"), wrong_refund("a", variant="hasty")]
    rerun = f"rerun: pytest --agentbench --agentbench-variant hasty --agentbench-seed 7 '{SUITE}::a[hasty]' -vv"
    assert rerun in text(document(runs))
    assert f"rerun: pytest --agentbench --agentbench-seed 7 '{SUITE}::a[hasty]' -vv" in text(document(runs[1:]))


def test_equal_names_in_two_suites_are_told_apart():
    """What each suite broke stands under its name, and the command explains a run that there is once."""
    one, other = SUITE, "bench/z.agentbench.yaml"
    runs = [wrong_refund("a"), wrong_refund("a")]
    runs[1] = runs[1].model_copy(update={"key": runs[1].key.model_copy(update={"suite": other})})
    alone = document(runs[:1])
    both = alone.model_copy(
        update={
            "results": tuple(runs),
            "suites": (*alone.suites, alone.suites[0].model_copy(update={"path": other, "name": "z"})),
        }
    )

    assert "why: agentbench explain a\n" in text(alone)
    assert "  wrong write: 1 run\n" in text(alone)
    told = text(both)
    assert f"why: agentbench explain {one}::a\n" in told
    assert "  support, wrong write: 1 run\n" in told
    assert "  z, wrong write: 1 run\n" in told


def test_a_session_that_played_nothing_has_one_line_and_no_table():
    """Pytest stops where a suite cannot be read; what the other suites would have played is only counted."""
    runs = [result(name, "error", "environment", not_run="not run: stopped") for name in "ab"]

    lines = text(document(runs)).splitlines()[1:]

    assert lines == ["2 runs not played: stopped"]


def test_gates_that_were_not_evaluated_say_why():
    """A partial selection, and a session cut short, name how much there was."""
    full = document([result("a"), result("b")], ["success >= 0.8"])
    suite = full.suites[0]
    partial = full.model_copy(update={"gates": (), "suites": (suite.model_copy(update={"total": 24}),)})
    assert "gates of support: not evaluated (2 of 24 runs selected)" in text(partial)
    cut = full.model_copy(
        update={
            "gates": (),
            "complete": False,
            "suites": (suite.model_copy(update={"total": 24, "selected": 24}),),
        }
    )
    assert "cut short: 2 of 24 runs finished" in text(cut)
    assert "not evaluated (2 of 24 runs finished)" in text(cut)
    undecided = document([result("a")], ["success >= 0.5", "policy.confirm-writes >= baseline", "regression <= 0"])
    lines = text(undecided).splitlines()
    assert any(line.split()[:3] == ["success", ">=", "0.5"] and "100 %" not in line for line in lines)
    assert "policy.confirm-writes >= baseline" in text(undecided)
    assert "  policy.confirm-writes >= baseline: no baseline was given (--agentbench-baseline FILE)" in lines


def test_several_suites_have_rows_and_named_gates():
    """With more than one suite each has a row, and gates say whose they are."""
    one = document([result("a")], ["success >= 0.8"])
    other_suite = one.suites[0].model_copy(update={"path": "other/agentbench.yaml", "name": "weather"})
    verdict = one.gates[0].model_copy(update={"suite": "other/agentbench.yaml", "passed": False})
    both = one.model_copy(
        update={
            "suites": (*one.suites, other_suite),
            "results": (*one.results, result("b", "failed", suite="other/agentbench.yaml")),
            "gates": (*one.gates, verdict),
        }
    )
    shown = text(both)
    assert "agentbench: support, weather" in shown
    for report in (shown, markdown_report(both)):
        assert "support: success >= 0.8" in report
        assert "weather: success >= 0.8" in report
    same = both.model_copy(update={"suites": tuple(suite.model_copy(update={"name": "x"}) for suite in both.suites)})
    assert "other/agentbench.yaml: success >= 0.8" in markdown_report(same)
    assert "  other/agentbench.yaml" in shown


@each("unicode", [True, False])
@each("width", [40, 80, 100, 200])
def test_hostile_text_cannot_break_the_report(unicode, width):
    """Escape sequences, bidi marks, surrogates and wide characters neither reach the terminal nor widen a line."""
    findings = (
        Finding(check=HOSTILE, kind="state", passed=False, message=HOSTILE * 20, expected=HOSTILE, actual=HOSTILE),
    )
    runs = [
        result("a", "failed", findings=findings, tools=(HOSTILE,), tags=(HOSTILE * 10,)),
        result("b", "error", "user", stop_reason=HOSTILE * 30, termination=Termination.STALLED),
        wrong_refund("x" * 200),
        result("c", policies=(PolicyOutcome(policy=HOSTILE, exercised=True, kept=True),), listed_policies=("q",)),
    ]
    lines = terminal_report(document(runs, ["success >= 0.8"]), width=width, unicode=unicode, path=HOSTILE)
    for line in lines:
        assert not set(line.text) & set("\x1b\r\n\x07\u202e\ud83d")
        assert unicode or line.text.isascii()
        assert cells(line.text) <= width or line.text.startswith(("rerun:", "why:", "results:"))
        line.text.encode("utf-8")


def test_rates_never_round_to_perfect():
    """999 of 1,000 is not shown as 100 %, nor a recall of 0.999 as 1.00."""
    runs = [result(f"s{number}", metrics={"name_recall": 0.999}) for number in range(999)] + [wrong_refund()]
    row = next(line for line in text(document(runs)).splitlines() if line.startswith("all"))
    assert ">99 %" in row
    assert "0.99" in row
    assert "1.00" not in row


@pytest.mark.slow
def test_ten_thousand_runs_take_seconds_at_most():
    """Aggregation and report of 10,000 runs take half a second of processor time, and a few on a busy machine."""
    runs = []
    for number in range(400):
        runs += [
            run.model_copy(update={"key": run.key.model_copy(update={"scenario": f"{run.key.scenario}-{number}"})})
            for run in support_runs()
        ]
    given = document(runs[:10_000])
    start = time.process_time()
    lines = terminal_report(given)
    assert time.process_time() - start < 5
    assert len(lines) < 70


def test_long_names_are_cut_in_the_middle():
    """Generated names differ at their end, which stays to be seen beside the variant."""
    names = [f"create-order-get-order-list-orders-1-more-w00{number}" for number in (20, 23)]

    shown = text(document([result(name, "failed", variant="hasty") for name in names]))

    assert all(f"…ore-w00{number}[hasty]" in shown for number in (20, 23))
