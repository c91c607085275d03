"""The page for people who do not read tests, and rows by columns: nothing is said that nothing supports."""

import json
from pathlib import Path

from pytest_agentbench.core.verdict import Finding
from pytest_agentbench.report.breakdown import rows_by
from pytest_agentbench.report.markdown import markdown_report
from pytest_agentbench.report.summary import summary_lines
from pytest_agentbench.report.table import UNICODE, Layout
from pytest_agentbench.results.document import history
from tests.results.make import document, result, wrong_refund
from tests.tables import each

LAYOUT = Layout(UNICODE, 100, False)
LATER = "agent.seconds.p95 <= 1.10 * baseline"


@each(
    ("gate", "verdict", "selected", "answer", "why"),
    [
        ("success >= 0.5", "passed", 2, "ship", "all 2 gates are met"),
        ("success >= 0.5", "passed", 1, "not decided", "not every conversation of the suite was played"),
        (LATER, "passed", 2, "not decided", "no gate of its own was decided"),
        (LATER, "failed", 2, "do not ship", "no gate of its own was decided"),
    ],
)
def test_it_says_ship_only_where_gates_of_the_suite_over_all_of_it_say_so(
    gate: str, verdict: str, selected: int, answer: str, why: str
) -> None:
    """The gate on errors alone, or a part of the suite, supports nothing."""
    found = document([result("a"), result("b", verdict)], gates=[gate])
    suite = found.suites[0].model_copy(update={"total": 2, "selected": selected})
    lines = [line.text for line in summary_lines(found.model_copy(update={"suites": (suite,)}), (), LAYOUT)]

    assert lines[0] == f"support: {answer}"
    assert why in "\n".join(lines)


def test_what_waits_for_a_reviewer_is_counted_and_how_to_review_it_is_said() -> None:
    """The page is not silent about runs that decide nothing."""
    waiting = [result(name, pending=True, file=f"bench/generated/{name}.yaml") for name in ("b", "c")]
    lines = [line.text for line in summary_lines(document([result("a"), *waiting]), (), LAYOUT)]

    assert lines[-2:] == ["pending review: 2 runs in no rate and no gate", "review: agentbench review bench/generated"]


def test_a_suite_of_which_nothing_was_scored_says_that_and_no_more() -> None:
    """Beside another one, which is good: no sentence sounds as if it had been measured, in Markdown neither."""
    found = document([result("a"), result("b", suite="two.yaml", pending=True)])
    other = found.suites[0].model_copy(update={"path": "two.yaml", "name": "two"})
    found = found.model_copy(update={"suites": (*found.suites, other)})

    lines = [line.text for line in summary_lines(found, (), LAYOUT)]

    assert lines.count("all that was asked for was measured") == 1
    assert lines[lines.index("two: not decided") + 1] == "  no conversation was scored"
    assert ": 1 of 1 passed, nothing was scored in `two`" in markdown_report(found)


def test_each_conversation_that_did_not_pass_has_a_line_with_whose_fault_it_is_and_why() -> None:
    """On the page and in the tables of the Markdown report; what the user did wrong is its fault's cause."""
    spoilt = Finding(check="user facts", kind="user", passed=False, message="said W2, knows W1", turn=3)
    lost = result("lost", "error", "user", findings=(spoilt,))
    found = document([wrong_refund(), lost, result("fine")])

    lines = [line.text for line in summary_lines(found, (), LAYOUT)]
    text = markdown_report(found)

    told = lines.index("conversations that did not pass")
    assert lines[told + 1 : told + 3] == [
        '  two-orders-one-card  agent: state, turn 6: refund(method="card_2", …)  expected method="paypal_1"',
        "  lost  user: facts: turn 3: said W2, knows W1",
    ]
    assert "| scenario | complexity | whose fault | check | what happened |" in text
    assert "| `two-orders-one-card` | 9 | agent | `state` |" in text
    assert "| `lost` | user | `facts: turn 3: said W2, knows W1` |" in text


def test_by_suite_a_suite_without_variants_stays_beside_one_that_has_some() -> None:
    """Its row is labelled as having none."""
    runs = [result("a", suite="one.yaml"), result("b", suite="two.yaml", variant="new")]
    lines = [line.text for line in rows_by(document(runs), ["suite"], LAYOUT)]

    assert any(line.startswith("one.yaml · (none)") for line in lines)
    assert any(line.startswith("two.yaml · new") for line in lines)


def test_a_history_holds_only_lines_that_add_up(tmp_path: Path) -> None:
    """A line in which more passed than ran is none of ours."""
    good, bad = ({"run": run, "created": run, "standings": [{"suite": "s", "passed": passed, "n": 2}]}
                 for run, passed in (("1", 2), ("2", 3)))  # fmt: skip
    file = tmp_path / "history.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in (good, bad)))

    assert [session.run for session in history([file])] == ["1"]
