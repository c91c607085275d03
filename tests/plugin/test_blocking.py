"""Asynchronous agents that block the event loop: whoever blocks is named, and whoever waits is not blamed."""

import pytest

from tests.plugin.project import Project
from tests.plugin.test_crashes import bad_at


def test_an_agent_that_blocks_for_a_while_is_over_its_limit_and_told_what_to_do(project: Project) -> None:
    """No deadline interrupts a blocked loop, so the limit is looked at when it comes round; others go on."""
    agent = bad_at("time.sleep(2.5)", 2, kind="async ")
    project.suite("a", "b", "c", agent=agent, limits={"seconds": 1})

    project.run(process="forked", timeout=60)

    runs = {run.key.scenario: run for run in project.document.results}
    assert (runs["b"].termination, runs["b"].blame) == ("SAFETY_TIMEOUT", "agent")
    assert "blocked the event loop" in runs["b"].stop_reason
    assert "make it a plain function" in runs["b"].stop_reason
    assert all(runs[name].blame != "agent" for name in "ac")


@pytest.mark.slow
def test_an_agent_that_blocks_for_good_costs_its_own_run(project: Project) -> None:
    """The loop is given up, and the other runs go on in a new one."""
    agent = bad_at("time.sleep(600)", 2, kind="async ")
    project.write("conftest.py", "from pytest_agentbench.runs import pool\n\npool.BLOCKED = 1.0\n")
    project.suite("a", "b", "c", agent=agent, limits={"seconds": 1})

    result = project.run(process="forked", timeout=100)

    verdicts = project.verdicts()
    assert verdicts["b"] == "failed"
    assert (verdicts["a"], verdicts["c"]) == ("passed", "passed")
    assert result.duration < 60


@pytest.mark.slow
def test_a_simulation_that_blocks_for_good_costs_its_own_test(project: Project) -> None:
    """It has crashed, and says what to do; the next test has a loop of its own."""
    project.write("conftest.py", "from pytest_agentbench.runs import pool\n\npool.BLOCKED = 1.0\n")
    project.suite("a", "b", agent=bad_at("time.sleep(600)", 1, kind="async "), limits={"seconds": 1})
    project.write(
        "test_code.py",
        """
        import pytest


        @pytest.mark.agentbench("bench/agentbench.yaml", scenario="a")
        def test_blocks(agentbench):
            run = agentbench.simulate()
            assert run.finished


        @pytest.mark.agentbench("bench/agentbench.yaml", scenario="b")
        def test_next(agentbench):
            assert agentbench.simulate().finished
        """,
    )

    result = project.pytester.runpytest_subprocess("--agentbench", "test_code.py", "-p", "no:randomly", timeout=60)

    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*CRASHED*blocked the event loop*make it a plain function*"])
    result.stdout.no_fnmatch_line("*LoopBlockedError*")
