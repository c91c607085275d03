"""Gates decide once: missed runs, exit status, JUnit and `--lf` agree, whoever else looks at the reports."""

from xml.etree import ElementTree

import pytest

from pytest_agentbench.cli import main
from tests.plugin.project import Project

ONE_WRONG = """
import re

def build(tools):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        order = re.search(r"W[0-9]+", message)
        if order is None:
            return "You are welcome."
        call["refund"](order_id="W0" if order[0] == "W2" else order[0])
        return "It is refunded."

    return reply
"""


@pytest.fixture
def gated(anywhere: Project) -> Project:
    """A suite of four runs, the second of which fails, whose gate asks for three quarters."""
    anywhere.suite("a", "b", "c", "d", agent=ONE_WRONG, gates=["success >= 0.75"])
    return anywhere


def test_a_failing_run_is_missed_when_gates_hold(gated: Project) -> None:
    """With gates a failing run is yellow and the gates decide."""
    result = gated.run("-v")

    missed = [line for line in result.outlines if "MISSED" in line]
    assert len(missed) == 1
    assert "bench/agentbench.yaml::b" in missed[0]
    result.stdout.fnmatch_lines(["*success >= 0.75*0.75*4*ok*"])
    result.stdout.fnmatch_lines(["*3 passed, 1 missed in*"])
    assert result.ret == 0


def test_a_gate_that_does_not_hold_fails_the_session_and_has_a_test_case_of_its_own(
    anywhere: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """Terminal, pytest's last line, exit status, JUnit and a later report agree."""
    anywhere.suite("a", "b", "c", "d", agent=ONE_WRONG, gates=["success >= 0.9"])

    result = anywhere.run("--junitxml=junit.xml")

    suite = ElementTree.parse(anywhere.pytester.path / "junit.xml").getroot()[0]
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert result.ret == 1
    assert (suite.get("failures"), failed) == ("1", ["gate success >= 0.9"])
    result.stdout.fnmatch_lines(["*success >= 0.9*FAILED*", "*3 passed, 1 missed, 1 gate failed in*"])
    assert main(["report"]) == 0
    assert "FAILED" in capsys.readouterr().out.partition("gates  ")[2]


@pytest.mark.parametrize(
    "option",
    [
        pytest.param(("-x",), id="x"),
        pytest.param(("--sw",), id="sw"),
        pytest.param(("--runxfail",), id="runxfail"),
        pytest.param(("-o", "xfail_strict=true"), id="xfail_strict"),
        pytest.param(("-p", "pytest_rerunfailures", "--reruns=1"), id="reruns"),
    ],
)
def test_missed_runs_stop_nothing_and_are_not_rerun(gated: Project, option: tuple[str, ...]) -> None:
    """Options about failures and expected failures do not change what gates decide."""
    result = gated.run(*option)

    result.stdout.fnmatch_lines(["*3 passed, 1 missed in*"])
    assert result.ret == 0


def test_last_failed_reruns_what_was_missed(gated: Project) -> None:
    """`--lf` selects missed runs; on that selection gates are not evaluated and the run fails."""
    gated.run()

    result = gated.run("--lf")

    result.stdout.fnmatch_lines(["*gates of *: not evaluated (1 of 4 runs selected)*"])
    result.assert_outcomes(failed=1)
    assert result.ret == 1


def test_gates_never_makes_each_run_decide(gated: Project) -> None:
    """`--agentbench-gates=never` fails each failing run."""
    result = gated.run("--agentbench-gates=never")

    result.assert_outcomes(passed=3, failed=1)
    assert result.ret == 1


def test_gates_always_evaluates_a_selection(gated: Project) -> None:
    """`--agentbench-gates=always` evaluates gates over what ran."""
    chosen = [f"bench/agentbench.yaml::{name}" for name in "ab"]

    result = gated.run("--agentbench-gates=always", *chosen)

    result.stdout.fnmatch_lines(["*success >= 0.75*0.50*2*FAILED*"])
    assert result.ret == 1


def test_a_policy_that_no_run_exercised_fails_its_gate(anywhere: Project) -> None:
    """A gate with nothing to measure fails as not exercised."""
    policy = {"id": "ask", "text": "Ask.", "rule": {"confirm_before": {"calls": ["get_order"]}}}
    anywhere.suite("a", policies=[policy], gates=["policy.ask >= 0.9"])

    result = anywhere.run()

    result.stdout.fnmatch_lines(["*policy.ask >= 0.9*not exercised*"])
    assert result.ret == 1


@pytest.mark.parametrize("listed", [(), ("legal",)])
def test_a_policy_that_no_run_could_measure_fails_its_gate_as_that(project: Project, listed: tuple[str, ...]) -> None:
    """An agent that tells no handoffs leaves open whether there were any, also where no scenario lists the policy."""
    policy = {"id": "legal", "text": "Leave the lawyers out.", "rule": {"never": {"handoff": "legal"}}}
    project.suite({"id": "a", "policies": list(listed)}, policies=[policy], gates=["policy.legal >= 0.9"])

    result = project.run()

    result.stdout.fnmatch_lines(["*policy.legal >= 0.9*not measured*"])
    assert result.ret == 1


def test_without_gates_every_scenario_must_pass(anywhere: Project) -> None:
    """A failing scenario of a suite without gates is an ordinary failure."""
    anywhere.suite("a", "b", agent=ONE_WRONG)

    result = anywhere.run()

    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == 1


def test_a_skip_at_run_time_is_the_users_own_and_gates_decide_about_the_rest(anywhere: Project) -> None:
    """A run that a fixture skips is in no rate, like one that the suite file skips."""
    anywhere.suite("a", "b", agent=ONE_WRONG, gates=["success >= 0.1"])
    anywhere.write(
        "bench/conftest.py",
        """
        import pytest

        @pytest.fixture(autouse=True)
        def not_today(request):
            if request.node.name == "a":
                pytest.skip("not today")
        """,
    )

    result = anywhere.run()

    result.stdout.fnmatch_lines(["*success >= 0.1*0.00*1*FAILED*"])
    assert result.ret == 1


def test_last_failed_finds_runs_whose_ids_hold_brackets(anywhere: Project) -> None:
    """Variants and trials stand in brackets, which pytest takes for parameters."""
    anywhere.suite("a", "b", agent=ONE_WRONG, variants={"careful": {}}, trials=2)
    anywhere.run()

    result = anywhere.run("--lf")

    result.assert_outcomes(failed=2)


LATER = "agent.seconds.p95 <= 1.10 * baseline"


@pytest.mark.parametrize(
    ("gate", "options"),
    [
        pytest.param(LATER, (), id="factor of no baseline"),
        pytest.param(LATER, ("--agentbench-gates=always",), id="always"),
        pytest.param("regression <= 0", ("--agentbench-save-baseline=base.json",), id="first baseline"),
    ],
)
def test_where_no_gate_of_its_own_is_decided_the_runs_of_a_suite_decide(
    anywhere: Project, capsys: pytest.CaptureFixture[str], gate: str, options: tuple[str, ...]
) -> None:
    """The gate on errors that every suite has is no gate of its own; session, `report --gate` and Markdown agree."""
    anywhere.suite("a", "b", agent=ONE_WRONG, gates=[gate])

    result = anywhere.run("--agentbench-json=results.json", *options)

    file, page = (anywhere.pytester.path / name for name in ("results.json", "page.md"))
    status = main(["report", str(file), "--gate", "--markdown", str(page)])
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*errors*0.00*2*ok*", "*no gate of its own was decided, so each failing run*"])
    assert (result.ret, status) == (1, 1)
    assert page.read_text("utf-8").startswith("### ❌")
    if gate == LATER:
        assert "no gate of its own was decided, and 1 of 2 runs did not pass" in capsys.readouterr().out
        assert "no gate of its own was decided" in page.read_text("utf-8")


def test_a_gate_about_runs_in_quarantine_alone_leaves_the_others_to_decide(anywhere: Project) -> None:
    """The failing run that counts is missed, and fails the session all the same."""
    why = {"owner": "x", "reason": "flaky", "until": "2999-01-01"}
    late = {"id": "c", "says": ["Refund W3"], "expect": [{"refund": {"order_id": "W3"}}]}
    late |= {"tags": ["late"], "quarantine": why}
    anywhere.suite("a", "b", late, agent=ONE_WRONG, gates=["tag.late >= 0.5"])

    assert anywhere.run().ret == 1


def test_a_session_that_is_the_first_baseline_keeps_the_gate_on_errors(anywhere: Project) -> None:
    """Where all crashed it is not green."""
    crash = "def build(tools):\n    def reply(message):\n        raise RuntimeError('down')\n    return reply\n"
    anywhere.suite("a", "b", agent=crash, gates=["regression <= 0"])

    assert anywhere.run("--agentbench-save-baseline=base.json").ret == 1


def test_a_first_baseline_has_nothing_to_regress_from(anywhere: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Session and `report --gate` say so, and fail nobody."""
    anywhere.suite("a", gates=["success >= 0.5", "regression <= 0"])

    result = anywhere.run("--agentbench-save-baseline=base.json")

    file = anywhere.pytester.path / "base.json"
    status = main(["report", "--gate", str(file)])
    why = "regression <= 0: no baseline yet, this session is the first one"
    assert (result.ret, status) == (0, 0)
    result.stdout.fnmatch_lines([f"*{why}"])
    assert why in capsys.readouterr().out
