"""Worlds that agents act on: isolation of states, user tools, context, histories, agents of every shape."""

import json
import textwrap
from typing import Any

import pytest

from pytest_agentbench.core.run import Result
from tests.plugin.project import Project


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process."""
    return Project(pytester=pytester)


def write(project: Project, suite: dict[str, Any], **modules: str) -> None:
    """Write a suite and its modules."""
    project.write("bench/agentbench.yaml", json.dumps(suite))
    for name, text in modules.items():
        project.write(f"bench/{name}.py", textwrap.dedent(text))


def only(project: Project) -> Result:
    """Give the one result of the last session."""
    (result,) = project.document.results
    return result


PROVIDER = """
import json, os, time

class Shared:
    isolation = "{isolation}"

    def open(self, initial, run):
        with open("spans", "a") as file:
            file.write(json.dumps(["open", os.getpid(), time.monotonic()]) + "\\n")
        time.sleep(0.05)
        return {{"n": 0}}

    def snapshot(self, handle):
        return {{"counter": dict(handle)}}

    def close(self, handle):
        with open("spans", "a") as file:
            file.write(json.dumps(["close", os.getpid(), time.monotonic()]) + "\\n")
"""

COUNTING = {
    "agent": "counting:build",
    "environment": {"tools": "counting_tools", "state": {"own": "provider:Shared"}},
    "scenarios": [{"id": f"s{n}", "says": ["Count"], "expect": [{"count": {}}]} for n in range(6)],
}

COUNTING_AGENT = """
def build(tools):
    def reply(message):
        tools[0]()
        return "Counted."
    return reply
"""

COUNTING_TOOLS = """
def count(state) -> int:
    state["n"] += 1
    return state["n"]
"""


@pytest.mark.parametrize(
    ("isolation", "across_processes", "workers"),
    [
        ("exclusive", True, "-n0"),
        pytest.param("exclusive", True, "-n2", marks=pytest.mark.slow),
        ("per_worker", False, "-n0"),
        pytest.param("per_worker", False, "-n2", marks=pytest.mark.slow),
    ],
)
def test_states_never_overlap_beyond_their_isolation(
    project: Project, isolation: str, across_processes: bool, workers: str
) -> None:
    """`exclusive` states are open one at a time anywhere, `per_worker` ones one at a time in a process."""
    provider = PROVIDER.format(isolation=isolation)
    write(project, COUNTING, provider=provider, counting=COUNTING_AGENT, counting_tools=COUNTING_TOOLS)

    result = project.run(workers, "--agentbench-concurrency=6")

    events = [json.loads(line) for line in (project.pytester.path / "spans").read_text().splitlines()]
    for process in {0} if across_processes else {event[1] for event in events}:
        mine = sorted(
            (event for event in events if across_processes or event[1] == process), key=lambda event: event[2]
        )
        assert [event[0] for event in mine] == ["open", "close"] * (len(mine) // 2)
    assert result.ret == 0


def test_per_run_states_overlap_and_do_not_leak(project: Project) -> None:
    """Runs at the same time have states of their own: each counts to one."""
    provider = PROVIDER.format(isolation="per_run")
    write(project, COUNTING, provider=provider, counting=COUNTING_AGENT, counting_tools=COUNTING_TOOLS)

    project.run("--agentbench-concurrency=6", process="forked")

    assert all(result.passed for result in project.document.results)


def test_modules_of_tools_keep_nothing_between_runs(project: Project) -> None:
    """A tools module is executed anew per run, so that its globals are the run's own."""
    tools = "SEEN = []\n\ndef look(item: str) -> int:\n    SEEN.append(item)\n    return len(SEEN)\n"
    agent = "def build(tools):\n    return lambda message: f'I have looked {tools[0](item=message)} times.'\n"
    scenarios = [{"id": f"s{n}", "says": [f"Look at {n}"], "communicate": ["looked 1 times"]} for n in range(5)]
    suite = {"agent": "looking:build", "environment": {"tools": "looking_tools"}, "scenarios": scenarios}
    write(project, suite, looking=agent, looking_tools=tools)

    result = project.run()

    result.assert_outcomes(passed=5)


def test_returned_calls_are_executed_in_order_and_their_results_come_back(project: Project) -> None:
    """An agent that returns several calls in one message gets all results and goes on."""
    agent = """
    import json

    def reply(messages):
        if messages[-1]["role"] == "user":
            calls = [{"id": str(n), "function": {"name": "add", "arguments": json.dumps({"n": n})}} for n in (2, 3)]
            return {"role": "assistant", "content": None, "tool_calls": calls}
        return "The sums are " + " and ".join(m["content"] for m in messages if m["role"] == "tool")
    """
    tools = """
    def add(state: dict, n: int) -> int:
        state["sum"] += n
        return state["sum"]
    """
    suite = {
        "agent": {"callable": "adding:reply"},
        "environment": {"tools": "adding_tools", "state": {"json": "sum.json"}},
        "scenarios": [
            {
                "id": "twice",
                "says": ["Add 2 and 3"],
                "expect": [{"add": {"n": 2}}, {"add": {"n": 3}}],
                "match": {"order": "exact"},
                "communicate": ["2 and 5"],
            }
        ],
    }
    project.write("bench/sum.json", '{"sum": 0}')
    write(project, suite, adding=agent, adding_tools=tools)

    result = project.run()

    result.assert_outcomes(passed=1)
    assert only(project).metrics["strict_recall"] == 1.0


def test_context_reaches_factory_and_tools_and_never_the_user(project: Project) -> None:
    """`context` of suite and scenario is merged for the agent's side; a secret in it is never written."""
    agent = """
    def build(tools, context):
        return lambda message: f"{context['user']} in {context['shop']}: {tools[0]()}"
    """
    tools = "def whoami(context: dict) -> str:\n    return context['user'] + context['key'][:3]\n"
    suite = {
        "agent": "knowing:build",
        "environment": {"tools": "knowing_tools"},
        "context": {"shop": "north", "user": "nobody", "key": "${SHOP_KEY}"},
        "scenarios": [
            {"id": "who", "says": ["Who am I?"], "context": {"user": "ada"}, "communicate": ["ada in north: adazyx"]}
        ],
    }
    write(project, suite, knowing=agent, knowing_tools=tools)
    project.pytester._monkeypatch.setenv("SHOP_KEY", "zyx-planted-secret-42")

    result = project.run("-vv")

    result.assert_outcomes(passed=1)
    written = "".join(path.read_text() for path in project.pytester.path.glob(".agentbench/**/*.json*"))
    assert "planted-secret" not in written + result.stdout.str()


def test_an_unset_variable_is_a_collection_error(project: Project) -> None:
    """`${VAR}` that is not set is named with its place."""
    write(
        project, {"agent": "a:b", "context": {"key": "${NOT_SET_ANYWHERE}"}, "scenarios": [{"id": "a", "says": ["x"]}]}
    )

    result = project.run()

    assert result.ret == 2
    result.stdout.fnmatch_lines(["*agentbench.yaml:1:*NOT_SET_ANYWHERE*"])


def test_the_users_own_tools_share_the_state(project: Project) -> None:
    """Dual control: the user acts on the same world, and its calls are in the transcript as its own."""
    agent = """
    def build(tools):
        return lambda message: "Please switch it on." if "broken" in message else f"It is {tools[0]()}."
    """
    tools = "def status(state: dict) -> str:\n    return state['lamp']\n"
    user_tools = "def switch(state: dict, to: str) -> str:\n    state['lamp'] = to\n    return 'done'\n"
    suite = {
        "agent": "lamp:build",
        "environment": {"tools": "lamp_tools", "user_tools": "lamp_user", "state": {"json": "lamp.json"}},
        "scenarios": [
            {
                "id": "lamp",
                "says": ["My lamp is broken.", 'switch(to="on")', "And now?"],
                "expect": [{"name": "switch", "arguments": {"to": "on"}, "requestor": "user"}, {"status": {}}],
                "communicate": ["It is on"],
            }
        ],
    }
    project.write("bench/lamp.json", '{"lamp": "off"}')
    write(project, suite, lamp=agent, lamp_tools=tools, lamp_user=user_tools)

    result = project.run("-vv")

    result.assert_outcomes(passed=1)
    assert only(project).metrics["strict_recall"] == 1.0


def test_a_conversation_may_begin_in_the_middle(project: Project) -> None:
    """τ²'s message history is there before the first line, and the agent sees it."""
    agent = "def reply(messages):\n    return f'We have said {len(messages)} things.'\n"
    history = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    scenario = {
        "id": "later",
        "says": ["And again"],
        "initial_state": {"message_history": history},
        "communicate": ["said 3 things"],
    }
    write(project, {"agent": {"callable": "talking:reply"}, "scenarios": [scenario]}, talking=agent)

    result = project.run()

    result.assert_outcomes(passed=1)


def test_initialization_actions_prepare_the_world(project: Project) -> None:
    """τ²'s initialization actions are calls of tools, made before the run and in what is expected of it alike."""
    agent = "def build(tools):\n    return lambda message: f'It is {tools[1]()}.'\n"
    tools = """
    def switch(state: dict, to: str) -> None:
        state["lamp"] = to

    def status(state: dict) -> str:
        return state["lamp"]
    """
    actions = [{"env_type": "assistant", "func_name": "switch", "arguments": {"to": "on"}}]
    scenarios = [
        {"id": "on", "says": ["Now?"], "initial_state": {"initialization_actions": actions}, "communicate": ["is on"]},
        {
            "id": "gone",
            "says": ["Now?"],
            "initial_state": {"initialization_actions": [{**actions[0], "func_name": "dim"}]},
        },
    ]
    for scenario in scenarios:
        scenario["expect"] = [{"status": {}}]
    suite = {
        "agent": "lamp:build",
        "environment": {"tools": "lamp_tools", "state": {"json": "lamp.json"}},
        "scenarios": scenarios,
    }
    project.write("bench/lamp.json", '{"lamp": "off"}')
    write(project, suite, lamp=agent, lamp_tools=tools)

    project.run()

    runs = {run.key.scenario: run for run in project.document.results}
    assert runs["on"].passed
    assert (runs["gone"].blame, runs["gone"].scored) == ("environment", False)
    assert "no such tool" in (runs["gone"].error or "")


def test_limits_end_a_run_that_goes_on_and_on(project: Project) -> None:
    """Agent turns and tool calls are bounded: SAFETY_TIMEOUT, with the limit that was spent."""
    agent = """
    def build(tools):
        turn = 0

        def reply(message):
            nonlocal turn
            turn += 1
            if "calls" in message:
                for n in range(9):
                    tools[0](n=n)
            return f"Working on part {turn} of it."

        return reply
    """
    tools = "def work(n: int) -> int:\n    return n\n"
    suite = {
        "agent": "working:build",
        "environment": {"tools": "working_tools"},
        "limits": {"turns": 3, "tool_calls": 5},
        "scenarios": [
            {"id": "turns", "says": [f"Line {n}" for n in range(9)]},
            {"id": "calls", "says": ["Many calls"]},
            {"id": "own", "says": [f"Line {n}" for n in range(5)], "limits": {"turns": 9}},
        ],
    }
    write(project, suite, working=agent, working_tools=tools)

    project.run()

    ends = {run.key.scenario: (str(run.termination), run.stop_reason) for run in project.document.results}
    assert ends["turns"] == ("SAFETY_TIMEOUT", "limits.turns = 3 agent turns spent")
    assert ends["calls"] == ("SAFETY_TIMEOUT", "limits.tool_calls = 5 spent (6 calls)")
    assert ends["own"][0] == "FINISHED"


def test_a_serial_agent_never_runs_twice_at_a_time(project: Project) -> None:
    """`serial: true` keeps runs of an agent with global state apart."""
    agent = """
    import time

    BUSY = []

    def build():
        def reply(message):
            assert not BUSY
            BUSY.append(1)
            time.sleep(0.05)
            BUSY.clear()
            return "Done."
        return reply
    """
    scenarios = [{"id": f"s{n}", "says": ["Go"]} for n in range(5)]
    write(project, {"agent": {"factory": "one:build", "serial": True}, "scenarios": scenarios}, one=agent)

    result = project.run(process="forked")

    result.assert_outcomes(passed=5)


def test_custom_checks_decide_too_and_one_that_raises_is_an_error(project: Project) -> None:
    """`checks` are callables on the run; raising is the scenario's fault, never a pass."""
    checks = """
    from pytest_agentbench import Finding

    def short(run):
        text = run.transcript.texts("assistant")[0][1]
        yield Finding(check="short", kind="check", passed=len(text) < 10, message=f"{len(text)} characters")

    def broken(run):
        raise RuntimeError("no idea")
    """
    agent = "def reply(message):\n    return message\n"
    scenarios = [
        {"id": "short", "says": ["Hi"], "checks": ["own_checks:short"]},
        {"id": "long", "says": ["A rather long line"], "checks": ["own_checks:short"]},
        {"id": "broken", "says": ["Hi"], "checks": ["own_checks:broken"]},
    ]
    write(project, {"agent": {"callable": "echo:reply"}, "scenarios": scenarios}, own_checks=checks, echo=agent)

    project.run()

    assert {run.key.scenario: (str(run.verdict), run.blame) for run in project.document.results} == {
        "short": ("passed", None),
        "long": ("failed", "agent"),
        "broken": ("error", "scenario"),
    }


def test_calls_that_nobody_can_see_are_not_measured(project: Project) -> None:
    """An agent that only gives text neither passes nor fails a check on its calls; the run says how to see them."""
    agent = "def reply(message):\n    return 'It is refunded.'\n"
    scenario = {"id": "refund", "says": ["Refund W1"], "expect": [{"refund": {"order_id": "W1"}}]}
    write(project, {"agent": {"callable": "mute:reply"}, "scenarios": [scenario]}, mute=agent)

    result = project.run()

    run = only(project)
    assert run.metrics["name_recall"] is None
    assert (run.verdict, run.blame, run.scored) == ("error", "scenario", False)
    result.stdout.fnmatch_lines(["*not measured*"])


LISTING = {
    "agent": "listing:build",
    "environment": {"tools": "listing_tools", "state": {"json": "state.json", "unordered": ["orders.*.items"]}},
    "scenarios": [{"id": "add", "says": ["Add"], "expect": [{"add": {"item": "a"}}, {"add": {"item": "b"}}]}],
}
LISTING_AGENT = "def build(tools):\n    return lambda message: str([tools[0](item=item) for item in ('b', 'a')])\n"
LISTING_TOOLS = """
def add(state, item: str) -> int:
    state["orders"]["W1"]["items"].append(item)
    return len(state["orders"]["W1"]["items"])
"""


@pytest.mark.parametrize(
    ("unordered", "outcome"),
    [(["orders.*.items"], {"passed": 1}), ([], {"failed": 1}), (["order.*.items"], {"failed": 1})],
)
def test_the_order_of_a_list_may_be_ignored(project: Project, unordered: list[str], outcome: dict[str, int]) -> None:
    """As far as the suite says so, and a pattern that names nothing is told."""
    state = {"json": "state.json", "unordered": unordered}
    suite = {**LISTING, "environment": {"tools": "listing_tools", "state": state}}
    project.write("bench/state.json", json.dumps({"orders": {"W1": {"items": []}}}))
    write(project, suite, listing=LISTING_AGENT, listing_tools=LISTING_TOOLS)

    result = project.run()

    result.assert_outcomes(**outcome)
    if unordered == ["order.*.items"]:
        result.stdout.fnmatch_lines(["*unordered 'order.?.items': the state has no 'order'*"])


@pytest.mark.parametrize(("stall", "ends"), [({}, "STALLED"), ({"repeats": 9}, "FINISHED")])
def test_a_suite_says_from_when_a_conversation_is_stalled(project: Project, stall: dict[str, int], ends: str) -> None:
    """Patient suites let the same exchange happen more often."""
    suite = {
        "agent": "deaf:build",
        "stall": stall,
        "scenarios": [{"id": "patience", "says": ["Is it open?"] * 4}],
    }
    write(project, suite, deaf="def build():\n    return lambda message: 'We are open.'\n")

    project.run()

    assert only(project).termination == ends


WAYS = {
    "agent": "buying:build",
    "environment": {"tools": "buying_tools", "state": {"json": "state.json"}},
    "variants": {"train": {"by": "train"}, "bus": {"by": "bus"}, "boat": {"by": "boat"}, "both": {"by": "train bus"}},
    "scenarios": [{"id": "go", "says": ["Go"], "expect_any": [[{"book": {"by": "train"}}], [{"book": {"by": "bus"}}]]}],
}
WAYS_AGENT = """
def build(tools, by):
    return lambda message: str([tools[0](by=one) for one in by.split()])
"""
WAYS_TOOLS = "def book(state, by: str) -> str:\n    state['booked'][by] = True\n    return by\n"


@pytest.mark.parametrize("sees_state", [True, False])
def test_several_ways_may_be_right(project: Project, sees_state: bool) -> None:
    """Each of them alone passes, by state or by calls; neither another one nor two at once does."""
    suite = dict(WAYS)
    tools = WAYS_TOOLS
    if not sees_state:
        suite["environment"] = {"tools": "buying_tools"}
        tools = "def book(by: str) -> str:\n    return by\n"
    project.write("bench/state.json", json.dumps({"booked": {}}))
    write(project, suite, buying=WAYS_AGENT, buying_tools=tools)

    result = project.run("--agentbench-variant=all")

    verdicts = {one.key.variant: str(one.verdict) for one in project.document.results}
    assert verdicts == {"train": "passed", "bus": "passed", "boat": "failed", "both": "failed"}, result.outlines


def test_every_way_is_checked_against_the_tools(project: Project) -> None:
    """The place of a wrong call in any way is named."""
    project.write("bench/state.json", json.dumps({"booked": {}}))
    scenario = {"id": "go", "says": ["Go"], "expect": [], "expect_any": [[{"book": {"by": "bus"}}], [{"bok": {}}]]}
    write(project, {**WAYS, "scenarios": [scenario]}, buying=WAYS_AGENT, buying_tools=WAYS_TOOLS)

    result = project.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*scenarios?0?.expect_any?1??0?.bok: *no tool 'bok'*did you mean 'book'*"])
