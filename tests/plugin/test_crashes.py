"""Agents that exit, die, hang or answer rubbish: only the culprit is named, and nothing hangs."""

import pytest

from tests.plugin.project import Project, refund

SCENARIOS = [f"s{number:02d}" for number in range(1, 25)]

BAD_AT = """
import asyncio, os, re, sys, time

def build(tools):
    call = {{tool.__name__: tool for tool in tools}}

    {kind}def reply(message):
        order = re.search(r"W([0-9]+)", message)
        if order is None:
            return "You are welcome."
        if int(order[1]) in {numbers}:
            {bad}
        call["refund"](order_id=order[0])
        return "It is refunded."

    return reply
"""


BROKEN_STATE = """
class State:
    isolation = "per_run"

    def open(self, initial, run):
        raise OSError("the disk is full")

    def snapshot(self, handle):
        return {}

    def close(self, handle):
        pass
"""


def bad_at(bad: str, *numbers: int, kind: str = "") -> str:
    """Give an agent that does something bad for some orders."""
    return BAD_AT.format(bad=bad, numbers=set(numbers), kind=kind)


EXITS = {
    "sync_exit": bad_at("sys.exit(3)", 2),
    "async_exit": bad_at("sys.exit(3)", 2, kind="async "),
    "task_exit": bad_at("await asyncio.gather(asyncio.create_task(asyncio.to_thread(sys.exit, 3)))", 2, kind="async "),
    "keyboard_interrupt": bad_at("raise KeyboardInterrupt", 2),
    "cancelled_error": bad_at("raise asyncio.CancelledError", 2, kind="async "),
    "pytest_exit": bad_at("__import__('pytest').exit('bye')", 2),
    "pytest_skip": bad_at("__import__('pytest').skip('bye')", 2, kind="async "),
    "recursion_error": bad_at("return reply(message)", 2),
    "none": bad_at("return None", 2),
}


def test_an_exit_inside_an_agent_crashes_that_run_alone(project: Project) -> None:
    """Whatever an agent raises or returns, the session goes on and the run is CRASHED."""
    for kind, agent in EXITS.items():
        scenarios = [{**refund("", number), "id": f"{kind}-{number}"} for number in range(1, 4)]
        path = project.suite(*scenarios, agent=agent)
        path.with_name("shop_agent.py").rename(path.with_name(f"{kind}_agent.py"))
        path.rename(path.with_name(f"{kind}.agentbench.yaml")).write_text(
            path.with_name(f"{kind}.agentbench.yaml").read_text().replace("shop_agent", f"{kind}_agent")
        )

    project.run(process="forked", timeout=60)

    results = {result.key.scenario: result for result in project.document.results}
    assert len(results) == 3 * len(EXITS)
    assert {name for name, result in results.items() if not result.passed} == {f"{kind}-2" for kind in EXITS}
    assert {result.termination for result in results.values() if not result.passed} == {"CRASHED"}


def test_six_hung_sync_agents_are_the_only_ones_to_time_out(anywhere: Project) -> None:
    """A hung agent has a thread of its own: it hits its limit while the others pass, and the session ends."""
    agent = bad_at("time.sleep(600)", *range(3, 9))
    anywhere.suite(*SCENARIOS[:12], agent=agent, limits={"seconds": 2})

    result = anywhere.run(process="forked", timeout=100)

    verdicts = anywhere.verdicts()
    assert {name for name, verdict in verdicts.items() if verdict == "failed"} == {f"s{n:02d}" for n in range(3, 9)}
    assert {result.termination for result in anywhere.document.results if not result.passed} == {"SAFETY_TIMEOUT"}
    assert result.duration < 60


@pytest.mark.slow
def test_a_process_that_dies_names_the_run_that_killed_it(pytester: pytest.Pytester) -> None:
    """With eight runs in flight the suspects run again alone; only the one that dies again is CRASHED.

    A crash is missed where gates decide, and stays in their denominator; a test of the user's own is red.
    """
    project = Project(pytester=pytester, arguments=("-n2",))
    gates = ["success >= 0.9", "crashed <= 1"]
    project.suite(*SCENARIOS, agent=bad_at("os._exit(9)", 6), gates=gates)
    own = """
    import os

    def test_dying(agentbench):
        agentbench.simulate(agent=lambda message: os._exit(9), says=["Hi"])
    """
    project.write("test_shop.py", own)

    result = project.run("--agentbench-concurrency=8", "-v", timeout=120)

    results = project.document.results
    ends = {run.key.scenario: str(run.termination) for run in results}
    assert len(results) == len(SCENARIOS) + 1
    assert [name for name in ends if name in SCENARIOS] == SCENARIOS
    assert [str(run.termination) for run in results if not run.passed] == ["CRASHED"] * 2
    assert ends["s06"] == "CRASHED"
    result.stdout.fnmatch_lines(
        ["*success >= 0.9*0.96*24*ok*", "*crashed <= 1*1*24*ok*", "*1 failed, 23 passed, *1 missed in*"]
    )
    assert result.ret == 1


def test_an_async_agent_that_is_cancelled_by_its_time_limit_is_a_timeout(project: Project) -> None:
    """The limit of a run ends an async agent at its next await."""
    agent = bad_at("await asyncio.sleep(600)", 2, kind="async ")
    project.suite(*SCENARIOS[:3], agent=agent, limits={"seconds": 1})

    project.run(process="forked", timeout=60)

    assert project.verdicts() == {"s01": "passed", "s02": "failed", "s03": "passed"}


def test_a_tool_that_raises_is_a_result_that_the_agent_sees(project: Project) -> None:
    """A tool error is not the end of a run; unknown orders raise KeyError here and the agent may go on."""
    agent = """
    def build(tools):
        def reply(message):
            try:
                tools[-1](order_id="nope")
            except KeyError as error:
                return f"I could not find it: {error}"
        return reply
    """
    scenario = {"id": "missing", "says": ["Refund it"], "expect": [], "communicate": ["could not find"]}
    project.suite(scenario, agent=__import__("textwrap").dedent(agent))

    project.run()

    (result,) = project.document.results
    assert (result.verdict, result.metrics["tool_errors"]) == ("passed", 1.0)


def test_an_environment_that_breaks_is_not_the_agents_fault(project: Project) -> None:
    """A fault of the environment is unscored, and says what broke."""
    project.suite("a", environment={"tools": "shop_tools", "state": {"own": "shop_state:State"}})
    project.write("bench/shop_state.py", BROKEN_STATE)

    result = project.run()

    (run,) = project.document.results
    assert (run.verdict, run.blame, run.scored) == ("error", "environment", False)
    result.stdout.fnmatch_lines(["*blame environment*not counted against the agent*the disk is full*"])
    assert result.ret == 1
