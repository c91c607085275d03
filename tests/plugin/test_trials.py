"""Trials from the option: ids, reports, early stop."""

from typing import Any

import pytest

from pytest_agentbench.results.trials import by_scenario
from tests.plugin.project import Project

MOODY = """
import re

def build(tools, session_id):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        order = re.search(r"W[0-9]+", message)
        if order is None:
            return "You are welcome."
        bad = order[0] == "W2" or (order[0] == "W3" and TURN)
        call["refund"](order_id="W0" if bad else order[0])
        return "It is refunded."

    return reply
"""


def early(most: int) -> dict[str, Any]:
    """Give trials that stop early."""
    return {"most": most, "stop": "sequential"}


def names(project: Project) -> list[str]:
    """The ids of the runs that are in the results."""
    return sorted(project.verdicts())


def flaky(project: Project, **keys: Any) -> Project:
    """Write three scenarios: one passes, one fails, and one fails in every second run by a count kept in a file."""
    agent = """
    import re
    from pathlib import Path

    COUNT = Path(__file__).with_name("count.txt")

    def build(tools):
        call = {tool.__name__: tool for tool in tools}

        def reply(message):
            order = re.search(r"W[0-9]+", message)
            if order is None:
                return "You are welcome."
            bad = order[0] == "W2"
            if order[0] == "W3":
                with COUNT.open("a") as file:
                    file.write("x")
                bad = len(COUNT.read_text()) % 2 == 0
            call["refund"](order_id="W0" if bad else order[0])
            return "It is refunded."

        return reply
    """
    project.suite("good", "bad", "moody", agent=agent, **keys)
    return project


def test_the_option_adds_ids_and_renames_none(project: Project) -> None:
    """The first trial keeps the id that the suite file gives it; those beyond it have ids of their own."""
    project.suite("late", "early")
    project.run()
    before = names(project)

    project.run("--agentbench-trials=3")

    assert before == ["early", "late"]
    assert names(project) == ["early", "early[t2]", "early[t3]", "late", "late[t2]", "late[t3]"]


def test_the_option_replaces_what_the_suite_declares(project: Project) -> None:
    """Fewer or more trials than declared, named as the suite names them."""
    project.suite("late", trials=2, variants={"careful": {}})

    project.run("--agentbench-trials=1")
    fewer = names(project)
    project.run("--agentbench-trials=3")

    assert fewer == ["late[careful-t1]"]
    assert names(project) == ["late[careful-t1]", "late[careful-t2]", "late[careful-t3]"]


def test_a_run_that_the_option_added_reruns_by_its_command(project: Project) -> None:
    """The rerun command brings the option along, without which the id would not be there."""
    project.suite("late", agent=MOODY.replace("TURN", "True"), trials=1)
    project.suite("late", "bad", agent=MOODY.replace("TURN", "False"))

    project.run("--agentbench-trials=2", "-k", "t2").stdout.fnmatch_lines(
        ["rerun: pytest --agentbench --agentbench-trials 2 'bench/agentbench.yaml::bad?t2?' -vv"]
    )

    again = project.run("--agentbench-trials=2", "bench/agentbench.yaml::bad[t2]")
    again.assert_outcomes(failed=1)


def test_no_trials_are_refused(project: Project) -> None:
    """Zero makes no sense."""
    project.suite("late")

    result = project.run("--agentbench-trials=0")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--agentbench-trials must be >= 1, got 0*"])


def test_several_trials_are_summed_up_and_flaky_scenarios_named(project: Project) -> None:
    """pass@k and pass^k, and the one scenario that passes sometimes with its count."""
    result = flaky(project).run("--agentbench-trials=4", "--agentbench-concurrency=1")

    result.stdout.fnmatch_lines(["trials*scenarios*pass@k*pass^k*", "  k = 4 *3*67 %*33 %*"])
    result.stdout.fnmatch_lines(["flaky: 1 of 3 scenarios  moody 2/4"])


def test_early_stop_leaves_out_what_is_decided(anywhere: Project) -> None:
    """The good one has four trials, the bad one two, the flaky one more; the rest is skipped with its reason."""
    result = flaky(anywhere, trials=early(8)).run("-rs", "-p", "no:randomly")

    played = {one.scenario: (one.passed, one.n) for one in by_scenario(anywhere.document.results)}
    assert played["good"] == (4, 4)
    assert played["bad"] == (0, 2)
    assert played["moody"][1] > 4
    result.stdout.fnmatch_lines(["*not needed: 4 of 4 trials passed*"])
    left_out = 24 - len(anywhere.document.results)
    result.stdout.fnmatch_lines([f"early stop: {left_out} of 24 trials not needed;*"])
    assert anywhere.document.complete
    assert anywhere.document.suites[0].stopped == left_out


def test_early_stop_leaves_gates_whole(project: Project) -> None:
    """Trials that were not needed are not missing ones: gates are evaluated, also from the results file."""
    from pytest_agentbench.cli import main

    project.suite("a", "b", gates=["success >= 0.9"], trials=early(6))

    result = project.run()

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*success >= 0.9*1.00*8*ok*"])
    assert main(["report", "--gate", str(project.pytester.path / ".agentbench/results.json")]) == 0


def test_early_stop_of_a_selection_plays_what_it_knows_nothing_of(project: Project) -> None:
    """Without the earlier trials there is no evidence that a later one is not needed."""
    project.suite("a", trials=early(6))

    project.run("-k", "t6")

    assert names(project) == ["a[t6]"]


def test_early_stop_takes_stored_trials_for_evidence(project: Project) -> None:
    """A session that goes on with another knows how its trials ended."""
    project.suite("a", trials=early(8))
    project.run()

    project.run("--agentbench-resume")

    assert len(project.document.results) == 4


def test_an_agents_own_numbers_are_kept(project: Project) -> None:
    """The last value under each name is the run's."""
    agent = """
    def build():
        turns = []

        def reply(message):
            turns.append(message)
            return {"role": "assistant", "content": "Yes.", "metrics": {"tokens": 10 * len(turns), "self_score": 0.5}}

        return reply
    """
    project.suite({"id": "talk", "says": ["Hello", "Really?"]}, agent=agent)

    project.run()

    assert project.document.results[0].reported == {"tokens": 20.0, "self_score": 0.5}


@pytest.mark.parametrize("metrics", ["[1]", "{'tokens': 'many'}", "{'tokens': float('nan')}", "{1: 2}"])
def test_numbers_that_are_none_crash_the_agent_with_a_reason(project: Project, metrics: str) -> None:
    """What an agent reports must be numbers by name."""
    agent = f"def build():\n    return lambda message: {{'role': 'assistant', 'content': 'Hi', 'metrics': {metrics}}}\n"
    project.suite("a", agent=agent)

    result = project.run()

    result.stdout.fnmatch_lines(["*unusable reply*metrics*"])
    result.assert_outcomes(failed=1)


def test_the_suite_itself_may_ask_for_no_more_trials_than_needed(anywhere: Project) -> None:
    """`trials: {most: 8, stop: sequential}` says what two options do, with and without `-n`."""
    anywhere.suite("steady", trials={"most": 8, "stop": "sequential"})

    anywhere.run().assert_outcomes(passed=4, skipped=4)

    assert [result.key.trial for result in anywhere.document.results] == [1, 2, 3, 4]


def test_what_trials_may_say_is_told(project: Project) -> None:
    """A misspelt rule is named with what is allowed."""
    project.suite("steady", trials={"most": 8, "stop": "sequentially"})

    project.run().stdout.fnmatch_lines(["*trials.stop: found 'sequentially', *sequential*"])
