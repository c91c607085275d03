"""What counts, whoever dies, skips or lies outside: no run is lost, counted twice or blamed for another."""

import json
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.results.document import read
from tests.plugin.project import ASYNCIO, Project
from tests.plugin.test_crashes import bad_at


def test_runs_that_nobody_is_left_to_run_are_not_lost(pytester: pytest.Pytester) -> None:
    """When the last worker dies, the session fails and every run is in the results."""
    project = Project(pytester=pytester, arguments=("-n1", "--max-worker-restart=0"))
    project.suite(*"abcdef", agent=bad_at("time.sleep(0.2)\n            os._exit(9)", 3))

    result = project.run(process="forked")

    document = project.document
    assert result.ret != 0
    assert len(document.results) == 6
    assert not document.complete


@pytest.mark.slow
def test_a_death_during_another_items_setup_names_the_one_that_killed(pytester: pytest.Pytester) -> None:
    """A run that was started ahead dies while an innocent item is being set up."""
    project = Project(pytester=pytester, arguments=("-n1",))
    project.suite(*"abcd", agent=bad_at("time.sleep(0.2)\n            os._exit(9)", 4))
    project.write(
        "bench/conftest.py",
        """
        import time

        def pytest_runtest_setup(item):
            if item.name == "b":
                time.sleep(0.8)
        """,
    )

    project.run(process="forked")

    assert project.verdicts() == {"a": "passed", "b": "passed", "c": "passed", "d": "failed"}


def test_two_suites_outside_the_root_are_two(project: Project) -> None:
    """pytest gives both the same node ids; their runs are told apart all the same."""
    for name, order in (("one", "W1"), ("two", "W2")):
        scenario = {"id": "a", "says": ["Refund W1"], "expect": [{"refund": {"order_id": order}}]}
        project.suite(scenario)
        folder = (project.pytester.path / "bench").rename(project.pytester.path / name)
        for module in ("agent", "tools"):
            (folder / f"shop_{module}.py").rename(folder / f"{name}_{module}.py")
        suite = folder / "agentbench.yaml"
        suite.write_text(suite.read_text().replace("shop_", f"{name}_"))
    (project.pytester.path / "root").mkdir()

    result = project.run("--rootdir=root", "one", "two", process="forked")

    results = read(project.pytester.path / "root/.agentbench/results.json").results
    assert result.ret == 1
    assert sorted(run.verdict for run in results) == ["failed", "passed"]


def test_what_an_interrupted_session_did_not_run_is_listed(project: Project) -> None:
    """With `-x` the runs behind the first failure are not run, and the count says so."""
    project.suite(*"abcdef", agent=bad_at("return None", 1))

    result = project.run("-x", "--agentbench-concurrency=1")

    assert [run.not_run is None for run in project.document.results] == [True] + [False] * 5
    result.stdout.fnmatch_lines(["*cut short: 1 of 6 runs finished*"])


def test_a_session_that_ends_early_for_no_reason_is_red(project: Project) -> None:
    """Whoever ended it, as a worker's internal error may: a run that did not take place is no success."""
    project.suite("a", "b", gates=["success >= 0.5"])
    project.write(
        "conftest.py",
        """
        def pytest_runtestloop(session):
            first = session.items[0]
            first.config.hook.pytest_runtest_protocol(item=first, nextitem=None)
            return True
        """,
    )

    result = project.run("bench")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*the session ended before all of its runs, for an unknown reason*"])


def test_dist_each_is_refused(pytester: pytest.Pytester) -> None:
    """Every worker would run every scenario, and the last one would win."""
    project = Project(pytester=pytester)
    project.suite("a")

    result = project.run("--dist=each", "--tx=2*popen", process="forked")

    assert result.ret == 4


SIMULATING = """
import pytest

def reply(message):
    return "Hello."

class TestOne:
    def test_it(self, agentbench):
        assert agentbench.simulate(agent=reply, says=["Hi"]).finished

class TestTwo:
    def test_it(self, agentbench):
        assert agentbench.simulate(agent=reply, says=["Hi"]).finished

@pytest.mark.xfail
def test_known(agentbench):
    assert not agentbench.simulate(agent=reply, says=["Hi"]).finished

def test_failing(agentbench):
    assert not agentbench.simulate(agent=reply, says=["Hi"]).finished
"""


def test_tests_of_equal_names_are_kept_apart_and_expected_failures_left_out(
    anywhere: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each simulation has a key of its own; a user's xfail is in no rate; `report --gate` knows a failed test."""
    anywhere.write("test_shop.py", SIMULATING)

    anywhere.run("test_shop.py")

    results = anywhere.document.results
    assert sorted(run.verdict for run in results) == ["failed", "passed", "passed"]
    assert len({str(run.key) for run in results}) == 3
    assert main(["report", "--gate", str(anywhere.pytester.path / ".agentbench/results.json")]) == 1
    assert "1 of 3 simulations in tests did not pass" in capsys.readouterr().out


def test_simulations_with_subtests_are_kept(project: Project) -> None:
    """A subtest's report comes first and must not take the result away."""
    if tuple(map(int, pytest.__version__.split(".")[:2])) < (9, 0):
        pytest.skip("subtests are built in since pytest 9.0")
    project.write(
        "test_shop.py",
        """
        def test_it(agentbench, subtests):
            run = agentbench.simulate(agent=lambda message: "Hello.", says=["Hi"])
            with subtests.test("one"):
                assert run.finished
        """,
    )

    project.run("test_shop.py")

    assert len(project.document.results) == 1


def test_many_simulations_at_once_on_loops_of_the_tests(project: Project) -> None:
    """Each test's loop has its own slots: a second test works as the first did."""
    project.write(
        "test_shop.py",
        """
        import asyncio
        import pytest

        @pytest.mark.parametrize("number", [1, 2])
        def test_gathered(agentbench, number):
            async def reply(message):
                await asyncio.sleep(0.01)
                return "Hello."

            async def many():
                return await asyncio.gather(
                    *(agentbench.simulate_async(agent=reply, says=["Hi"]) for _ in range(12))
                )

            runs = asyncio.run(many())
            assert all(run.passed for run in runs)
        """,
    )

    result = project.run("test_shop.py", *ASYNCIO, process="forked")

    result.assert_outcomes(passed=2)
    assert len({str(run.key) for run in project.document.results}) == 24


def test_an_agent_that_cancels_its_own_task_crashes_alone(project: Project) -> None:
    """A cancellation that is not ours is the agent's."""
    agent = bad_at("asyncio.current_task().cancel()\n            await asyncio.sleep(1)", 2, kind="async ")
    project.suite("a", "b", "c", agent=agent)

    project.run(process="forked")

    assert project.verdicts() == {"a": "passed", "b": "failed", "c": "passed"}


def test_an_agent_that_swallows_its_cancellation_does_not_hang_the_session(project: Project) -> None:
    """It is left behind when its time is up."""
    agent = bad_at(
        "while True:\n                try:\n                    await asyncio.sleep(60)\n"
        "                except asyncio.CancelledError:\n                    pass",
        2,
        kind="async ",
    )
    project.suite("a", "b", "c", agent=agent, limits={"seconds": 1})

    result = project.run(process="forked", timeout=60)

    assert project.verdicts() == {"a": "passed", "b": "failed", "c": "passed"}
    assert result.duration < 30


def test_places_that_cannot_be_written_are_said_in_one_line(project: Project) -> None:
    """A results folder is needed before anything runs; a lost extra file costs no report."""
    project.suite("a")
    project.write(".agentbench", "a file where the folder should be")

    folder = project.run()
    (project.pytester.path / ".agentbench").unlink()
    to_folder = project.run("--agentbench-json=bench")
    lost = project.run("--agentbench-json=/proc/nowhere/results.json")

    assert folder.ret == 4
    folder.stderr.fnmatch_lines(["*results cannot be written to*choose another folder with*"])
    assert to_folder.ret == 4
    assert lost.ret == 1
    lost.stdout.fnmatch_lines(["*results could not be written to /proc/nowhere/results.json*"])
    lost.stdout.no_fnmatch_line("*Traceback*")


def test_secrets_are_taken_out_of_failures_and_junit(anywhere: Project) -> None:
    """What an agent says of a secret is neither on the terminal nor in the XML file."""
    agent = "def build(context):\n    return lambda message: f'The key is {context[\"key\"]}.'\n"
    anywhere.suite("a", agent=agent, context={"key": "${SHOP_KEY}"})
    anywhere.write(
        "bench/test_shop.py",
        """
        import pytest

        @pytest.mark.agentbench("agentbench.yaml")
        def test_it(agentbench):
            assert agentbench.simulate().reply == "bye"
        """,
    )
    anywhere.pytester._monkeypatch.setenv("SHOP_KEY", "planted-secret-42")

    result = anywhere.run("-vv", "--junitxml=junit.xml")

    shown = result.stdout.str() + Path(anywhere.pytester.path / "junit.xml").read_text()
    assert "planted-secret" not in shown
    assert "The key is" in shown


def test_a_stored_failure_is_played_again_when_it_is_rerun(project: Project) -> None:
    """`--reruns` after `--agentbench-resume` starts a fresh conversation."""
    project.suite("a", agent=bad_at("return None", 1))
    project.run()
    project.write("bench/shop_agent.py", bad_at("return None", 99))

    result = project.run("--agentbench-resume", "-p", "pytest_rerunfailures", "--reruns=1", process="forked")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*the agent's code is not compared*"])


@pytest.mark.parametrize("left_out", [{"skip": "later"}, {"xfail": "a known bug", "communicate": ["something else"]}])
def test_gates_hold_of_what_is_counted(project: Project, left_out: dict[str, object]) -> None:
    """A scenario that its file leaves out does not keep the gates from being evaluated."""
    project.suite("a", {"id": "b", "says": ["Refund W1"], **left_out}, gates=["success >= 0.9"])
    result = project.run("--agentbench-gates=auto")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*success >= 0.9*1.00*ok*"])


def test_shards_count_the_same_in_any_order(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """A skipped scenario belongs to no shard, so it is missing in none."""
    skipped = {"id": "d", "says": ["Refund W1"], "skip": "later"}
    project.suite("a", "b", "c", skipped, gates=["success >= 0.9"])
    ids = {name: f"bench/agentbench.yaml::{name}" for name in "abcd"}
    project.run("--agentbench-json=1.json", ids["a"], ids["d"])
    project.run("--agentbench-json=2.json", ids["b"], ids["c"])
    files = [str(project.pytester.path / f"{number}.json") for number in (1, 2)]

    statuses = [main(["report", "--gate", *order]) for order in (files, files[::-1])]

    assert statuses == [0, 0]
    assert json.loads(Path(files[0]).read_text())["suites"][0]["total"] == 3
