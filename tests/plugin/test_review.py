"""Generated scenarios wait for a reviewer: they run, they stand in a row of their own, and they decide nothing."""

from datetime import date
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from pytest_agentbench.cli import main
from pytest_agentbench.suites.review_form import accepted, rejected
from tests.plugin.project import AGENT, Project
from tests.plugin.test_gates import ONE_WRONG

DAY = date(2026, 11, 24)

EXITING = AGENT.replace(
    "        call[", "        if order[0] == 'W9':\n            os._exit(3)\n        call["
).replace("import re\n", "import os\nimport re\n")
"""An agent that ends its process at W9."""


def generated(name: str, order: str, review: Any = "pending", **keys: Any) -> dict[str, Any]:
    """Give a refund scenario as a generator would write it; the agent gets W2 wrong."""
    form = {
        "id": name,
        "says": [f"Refund {order}"],
        "expect": [{"refund": {"order_id": order}}],
        "provenance": {"generated": {"recipe": "0", "tools": "0", "policies": "0"}},
        **keys,
    }
    return {**form, "review": accepted(form, "Ann", DAY) if review == "accepted" else review}


def test_a_failing_pending_run_is_missed_without_gates(anywhere: Project) -> None:
    """Nothing is red, the row is its own, and the report says how to review."""
    anywhere.suite("a", generated("g1", "W1"), generated("g2", "W2"), agent=ONE_WRONG)

    result = anywhere.run("-vv")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["_* g2 (missed) _*", "g2 failed: *", "*expected  refund(*", "conversation"])
    result.stdout.fnmatch_lines(["*1 passed*2 pending review*", "all * 1 * 1 *100*", "pending review * 2 * 1 *50*"])
    result.stdout.fnmatch_lines(["missed, pending review", "*g2*", "*2 scenarios pending review in the suite itself*"])
    assert any("g2" in line and "MISSED (pending review)" in line for line in result.outlines)
    assert any("g1" in line and "PASSED (pending review)" in line for line in result.outlines)


@pytest.mark.parametrize("gates", [[], ["success >= 0"]], ids=["without gates", "with gates"])
def test_pytest_counts_runs_as_the_report_does(anywhere: Project, gates: list[str]) -> None:
    """Pending runs are apart in both lines, whether they passed; where the words differ a line says how they relate."""
    unread = {"id": "c", "says": ["Thanks"], "policies": ["kind"]}
    aside = [generated("g1", "W1"), generated("g2", "W2")]
    policies = [{"id": "kind", "text": "Be kind."}]
    anywhere.suite("a", "b", unread, *aside, agent=ONE_WRONG, gates=gates, policies=policies)

    result = anywhere.run()

    result.stdout.fnmatch_lines(["1 passed · 1 failed · 1 not scored · 2 pending review"])
    if gates:
        result.stdout.fnmatch_lines(["*counts failed runs of suites whose gates decide as missed"])
        counted = {"1 passed", "1 missed", "1 not scored", "2 pending review"}
    else:
        result.stdout.fnmatch_lines(
            ["no gate decides, so *failed* in pytest's last line includes runs that were not scored"]
        )
        counted = {"2 failed", "1 passed", "2 pending review"}
    last = result.outlines[-1].strip("= ").partition(" in ")[0]
    assert counted <= set(last.split(", ")), last  # in the order in which they were counted


def test_pending_runs_count_in_no_gate(anywhere: Project) -> None:
    """The gate holds over what counts; the pending failure changes neither rate nor exit status."""
    anywhere.suite("a", generated("g2", "W2"), agent=ONE_WRONG, gates=["success >= 1", "errors <= 0"])

    result = anywhere.run()

    assert result.ret == 0
    assert [(one.value, one.n, one.passed) for one in anywhere.document.gates] == [(1.0, 1, True), (0.0, 1, True)]


def test_a_gate_on_pending_runs_alone_is_not_evaluated(anywhere: Project) -> None:
    """It neither holds nor fails, and says how many runs wait."""
    anywhere.suite(
        "a",
        generated("g1", "W1", tags=["hard"]),
        generated("g2", "W2", tags=["hard"]),
        agent=ONE_WRONG,
        gates=["success >= 1", "tag.hard >= 0.9"],
    )

    result = anywhere.run()

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*tag.hard >= 0.9*not evaluated: 2 pending review*"])
    gate = next(one for one in anywhere.document.gates if one.gate == "tag.hard >= 0.9")
    assert (gate.passed, gate.failed, gate.pending, gate.n) == (None, False, 2, 0)


def test_a_suite_of_pending_runs_alone_evaluates_no_gate(anywhere: Project) -> None:
    """Every gate says how many runs wait, the one on errors included."""
    anywhere.suite(generated("g1", "W1"), generated("g2", "W2"), agent=ONE_WRONG, gates=["success >= 1"])

    result = anywhere.run()

    assert result.ret == 0
    assert [one.reason for one in anywhere.document.gates] == ["not evaluated: 2 pending review"] * 2


@pytest.mark.parametrize("wanted", ["-x", "--sw", "--runxfail", "--agentbench-gates=never"])
def test_a_pending_failure_ends_nothing(anywhere: Project, wanted: str) -> None:
    """No option of pytest's turns it red; partial selections neither."""
    anywhere.suite("a", generated("g2", "W2"), agent=ONE_WRONG, gates=["success >= 1"])

    assert anywhere.run(wanted).ret == 0
    assert anywhere.run(wanted, "-k", "g2").ret == 0


def test_last_failed_reruns_a_missed_pending_run(anywhere: Project) -> None:
    """`--lf` takes what was missed."""
    anywhere.suite("a", generated("g2", "W2"), agent=ONE_WRONG)
    anywhere.run()

    anywhere.run("--lf")

    assert set(anywhere.verdicts()) == {"g2"}


def test_an_accepted_scenario_counts(anywhere: Project) -> None:
    """It is a test like any other: its failure is red."""
    anywhere.suite("a", generated("g2", "W2", "accepted"), agent=ONE_WRONG)

    result = anywhere.run()

    assert result.ret == 1
    assert "pending" not in result.stdout.str()


def test_an_acceptance_lapses_when_the_scenario_changes(anywhere: Project) -> None:
    """It is pending again, and the report names it."""
    form = generated("g2", "W2", "accepted")
    anywhere.suite("a", {**form, "says": ["Refund W2 now"]}, agent=ONE_WRONG)

    result = anywhere.run()

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*changed since they were accepted, and pending again: g2"])


def test_a_rejected_scenario_is_not_collected(anywhere: Project) -> None:
    """One line counts those that a reviewer rejected."""
    anywhere.suite("a", generated("g2", "W2", rejected("nobody says so", "Ann", DAY)), agent=ONE_WRONG)

    result = anywhere.run()

    assert result.ret == 0
    assert anywhere.verdicts() == {"a": "passed"}
    result.stdout.fnmatch_lines(["*1 scenario rejected in review, not collected"])


def test_without_review_generated_scenarios_count_at_once_and_the_report_says_so(anywhere: Project) -> None:
    """`review: off` in the recipe."""
    anywhere.suite("a", generated("g2", "W2"), agent=ONE_WRONG, generate={"from": "tools", "review": "off"})

    result = anywhere.run("-W", "ignore::pytest.PytestCollectionWarning")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1 generated scenario counts, though nobody reviewed it"])


def test_junit_and_marks_know_what_is_pending(anywhere: Project) -> None:
    """A property of the test case, and a selection by mark."""
    anywhere.suite("a", generated("g1", "W1"))

    anywhere.run("--junitxml=junit.xml", "-m", "agentbench(review='pending')")

    cases = list(ElementTree.parse(anywhere.pytester.path / "junit.xml").getroot()[0])
    properties = {one.get("name"): one.get("value") for case in cases for one in case.iter("property")}
    assert set(anywhere.verdicts()) == {"g1"}
    assert properties["agentbench.review"] == "pending"


def test_reports_say_what_waits(anywhere: Project) -> None:
    """Markdown and the page: the row, how to review, and which gate was not evaluated; nobody calls it failed."""
    anywhere.suite(
        "a", generated("g2", "W2", tags=["hard"]), agent=ONE_WRONG, gates=["success >= 1", "tag.hard >= 0.9"]
    )

    result = anywhere.run("--agentbench-markdown=report.md", "--agentbench-html=report.html")

    text = (anywhere.pytester.path / "report.md").read_text(encoding="utf-8")
    page = (anywhere.pytester.path / "report.html").read_text(encoding="utf-8")
    assert result.ret == 0
    assert text.startswith("### ✅")
    assert "1 pending review" in text
    assert "| – | `tag.hard >= 0.9` | `not evaluated: 1 pending review` |" in text
    assert "Missed among them: `g2`" in text
    assert "By pending review" in text
    assert "pending review: 1 run in no rate and no gate" in page
    assert "pending review, failed" in page


def test_merged_results_count_pending_runs_in_no_gate(anywhere: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """`agentbench report --gate` decides as the session did, with gates and without."""
    for gates in ({"gates": ["success >= 1"]}, {}):
        anywhere.suite("a", generated("g2", "W2"), agent=ONE_WRONG, **gates)
        assert anywhere.run("--agentbench-json=results.json").ret == 0

        assert main(["report", "--gate", str(anywhere.pytester.path / "results.json")]) == 0
        assert "1 pending review" in capsys.readouterr().out


def test_a_baseline_compares_no_pending_run(anywhere: Project) -> None:
    """What fails now and passed then is no loss while nobody has reviewed it."""
    anywhere.suite("a", generated("g1", "W1"), generated("g2", "W2"), gates=["regression <= 0"])
    anywhere.run("--agentbench-json=before.json")
    anywhere.suite("a", generated("g1", "W1"), generated("g2", "W2"), agent=ONE_WRONG, gates=["regression <= 0"])

    result = anywhere.run("--agentbench-baseline=before.json")

    gate = next(one for one in anywhere.document.gates if one.gate.startswith("regression"))
    assert (result.ret, gate.n, gate.passed) == (0, 1, True)


@pytest.mark.slow
def test_a_pending_run_that_takes_its_process_down_is_missed(project: Project) -> None:
    """With workers: the crash is in its row, and the session passes."""
    project.suite("a", "b", generated("g9", "W9"), agent=EXITING)

    result = project.run("-n2")

    assert result.ret == 0
    assert project.verdicts() == {"a": "passed", "b": "passed", "g9": "failed"}
    result.stdout.fnmatch_lines(["pending review * 1 * 0 *"])


OWN = """
import pytest

@pytest.mark.agentbench("bench/agentbench.yaml", scenario="g2")
def test_refunds(agentbench):
    run = agentbench.simulate()
    assert run.called("refund", order_id="W2")
"""
"""A test of the user's own, which plays a scenario that nobody has reviewed."""


def test_a_test_of_your_own_counts_whatever_reviewers_said(anywhere: Project) -> None:
    """Who writes the assertion vouches for it: red, in its own row, and nothing of it waits for a reviewer."""
    anywhere.suite("a", generated("g2", "W2"), agent=ONE_WRONG)
    anywhere.write("test_own.py", OWN)

    result = anywhere.run("--agentbench-json=results.json")

    assert result.ret == 1
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*1 passed*1 pending review*", "pending review * 1 * 0 *"])
    result.stdout.fnmatch_lines(["worst first", "*test_refunds*", "tests of your own*", "*test_own.py * 1 * 0 *"])
    result.stdout.fnmatch_lines(["pending review: 1 run in no rate and no gate"])
    assert not [line for line in result.outlines if "agentbench review ." in line]
    assert main(["report", "--gate", str(anywhere.pytester.path / "results.json")]) == 1


def test_a_test_of_your_own_alone_waits_for_nobody(anywhere: Project) -> None:
    """Without the suite beside it, all that there is counts, and its file is where the root has it."""
    anywhere.suite("a", generated("g2", "W2"), agent=ONE_WRONG)
    anywhere.write("test_own.py", OWN)

    result = anywhere.run("test_own.py")

    (run,) = anywhere.document.results
    assert (result.ret, run.pending, run.scored, run.file) == (1, False, True, "bench/agentbench.yaml")
    assert "pending" not in result.stdout.str()


def test_a_pending_scenario_of_the_suite_file_is_reviewed_by_hand(
    anywhere: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command reads scenario files; where there is none it is not named, and where there is it works."""
    folder = "bench/generated/scenarios"
    anywhere.write(f"{folder}/g1.yaml", yaml.safe_dump(generated("g1", "W1")))
    anywhere.suite("a", agent=ONE_WRONG, scenarios=["generated/scenarios/*.yaml", generated("g2", "W2")])

    result = anywhere.run()

    commands = [line for line in result.outlines if "agentbench review" in line]
    assert commands == [f"review: agentbench review {folder}"]
    result.stdout.fnmatch_lines(["bench/agentbench.yaml: 1 scenario pending review in the suite itself*"])
    assert main(["review", "--list", str(anywhere.pytester.path / folder)]) == 0
    assert "1 pending" in capsys.readouterr().out
