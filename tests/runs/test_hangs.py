"""Code of the user that never ends: each step of a run is bounded, and what hung is named."""

import asyncio
import json
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.run import Result, Run
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.verdict import Blame, Verdict
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.runs.plan import RunPlan, plans
from pytest_agentbench.runs.runner import Services, run_scenario
from pytest_agentbench.runs.transcript_replay import RecordedWorlds
from pytest_agentbench.runs.transcript_runs import judge_recorded
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.suites.transcripts import Recording

HANG = "import threading\nhang = threading.Event().wait\n"
TOOLS = HANG + textwrap.dedent("""
    def work(state: dict) -> str:
        hang()

    async def work_async(state: dict) -> str:
        import asyncio
        await asyncio.Event().wait()

    def fine(state: dict) -> str:
        return "ok"
    """)
PROVIDER = HANG + textwrap.dedent("""
    class Hanging:
        isolation = "per_run"
        def __init__(self, where):
            self.where = where
        def open(self, initial, run):
            return hang() if self.where == "open" else {}
        def snapshot(self, handle):
            return hang() if self.where == "snapshot" else {}
        def close(self, handle):
            return hang() if self.where == "close" else None
    """)
IDLE = "def build():\n    return lambda message: 'Done.'\n"
STATE = {"tools": "slow_tools", "state": {"json": "state.json"}}


def plan(root: Path, scenario: dict[str, Any], *, agent: str = IDLE, **keys: Any) -> RunPlan:
    """Write a suite of one scenario and give its run."""
    stem = f"hanging_{root.name}".replace("-", "_")
    suite = {
        "agent": f"{stem}:build",
        "environment": STATE,
        "scenarios": [{"id": "a", "says": ["Go"], **scenario}],
        "limits": {"seconds": 0.3},
        **keys,
    }
    (root / "agentbench.yaml").write_text(json.dumps(suite).replace("hanging:", f"{stem}:"))
    (root / f"{stem}.py").write_text(agent + "\n" + PROVIDER + "\ndef check(run):\n    hang()\n")
    (root / "slow_tools.py").write_text(TOOLS)
    (root / "state.json").write_text("{}")
    loaded = load_suite(root / "agentbench.yaml", environ={})
    (only,) = plans(loaded, "agentbench.yaml", ("",), load_toolset(loaded.environment, root))
    return only


async def conducted(root: Path, scenario: dict[str, Any], **keys: Any) -> tuple[Run, Result]:
    """Conduct a run whose steps may take 0.3 seconds each, and fail where it takes ten times as long."""
    async with asyncio.timeout(5):
        services = Services(isolation=IsolationGate(root / "locks"), grace=0.3, now=time.monotonic)
        return await run_scenario(plan(root, scenario, **keys), services)


@pytest.mark.parametrize("tool", ["work", "work_async"])
async def test_an_expected_call_that_hangs_is_named(tmp_path: Path, tool: str) -> None:
    """The run is not scored."""
    _, result = await conducted(tmp_path, {"expect": [{tool: {}}]})

    assert (result.verdict, result.blame) == (Verdict.ERROR, Blame.SCENARIO)
    (finding,) = result.findings
    assert f"replay of the expected calls has not ended within 0.3 s while the tool '{tool}' was" in finding.message


@pytest.mark.parametrize(
    ("where", "says"), [("open", "Hanging.open() has not ended within"), ("snapshot", "Hanging.snapshot() has not")]
)
async def test_a_state_provider_that_hangs_is_named(tmp_path: Path, where: str, says: str) -> None:
    """Opening and reading state are bounded."""
    environment = {"state": {"own": "hanging:Hanging", "where": where}}

    run, _ = await conducted(tmp_path, {}, environment=environment)

    assert (run.termination, run.blame) == (Termination.CRASHED, Blame.ENVIRONMENT)
    assert says in run.stop_reason


async def test_a_state_that_never_closes_is_left_behind(tmp_path: Path) -> None:
    """The run keeps its verdict."""
    environment = {"state": {"own": "hanging:Hanging", "where": "close"}}

    _, result = await conducted(tmp_path, {"communicate": ["Done"]}, environment=environment)

    assert result.verdict is Verdict.PASSED


async def test_an_initialization_action_that_hangs_is_named(tmp_path: Path) -> None:
    """The tools that prepare a world are bounded too."""
    actions = [{"env_type": "assistant", "func_name": "work", "arguments": {}}]

    run, _ = await conducted(tmp_path, {"initial_state": {"initialization_actions": actions}, "says": ["Go"]})

    assert run.blame is Blame.ENVIRONMENT
    assert "initialization actions have not ended within 0.3 s while the tool 'work'" in run.stop_reason


AWAITING = "def build(tools):\n    async def reply(message):\n        await tools[1]()\n    return reply\n"
CALLING = "def build(tools):\n    def reply(message):\n        tools[0]()\n    return reply\n"
SLOW = HANG + "def build(tools):\n    def reply(message):\n        tools[2]()\n        hang()\n    return reply\n"


@pytest.mark.parametrize(("agent", "tool"), [(CALLING, "work"), (AWAITING, "work_async")])
async def test_a_tool_in_flight_when_time_is_up_is_named(tmp_path: Path, agent: str, tool: str) -> None:
    """Who waits for a tool is not slow: the environment is."""
    run, _ = await conducted(tmp_path, {}, agent=agent)

    assert (run.termination, run.blame) == (Termination.SAFETY_TIMEOUT, Blame.ENVIRONMENT)
    assert run.stop_reason == f"limits.seconds = 0.3 spent while the tool '{tool}' was running"


async def test_time_that_the_agent_spends_is_its_own(tmp_path: Path) -> None:
    """Tools that have ended are not to blame."""
    run, _ = await conducted(tmp_path, {}, agent=SLOW)

    assert run.blame is Blame.AGENT
    assert run.stop_reason == "limits.seconds = 0.3 spent while the agent was acting"


async def test_checks_that_hang_decide_nothing(tmp_path: Path) -> None:
    """Neither of a played run nor of a recorded one."""
    recording = Recording(source=tmp_path / "r.json", scenario="a", transcript=Transcript())
    made = plan(tmp_path, {"checks": ["hanging:check"]}, environment={})

    played = await run_scenario(made, Services(isolation=IsolationGate(tmp_path / "locks"), grace=0.3))
    recorded = await judge_recorded(made, recording, RecordedWorlds(), grace=0.3)

    for _, result in (played, recorded):
        assert result.verdict is Verdict.ERROR
        assert "the checks did not decide within 0.3 s" in result.findings[0].message
