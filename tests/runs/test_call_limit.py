"""`limits.tool_calls` bounds what is done, whoever executes the calls: the one that exceeds it is refused."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.errors import CallsSpentError
from pytest_agentbench.core.remote import OpenApiSpec
from tests.environment.remote_support import Notes, remote_environment, serving
from tests.environment.support import call
from tests.plugin.project import Project

MCP_SERVER = Path(__file__).parent.parent / "environment" / "mcp" / "server.py"

AGENT = """
import asyncio, json
from concurrent.futures import ThreadPoolExecutor

def build(tools, how="swallows"):
    work = {tool.__name__: tool for tool in tools}

    def asks(n):
        calls = [{"id": f"c{i}", "name": "work", "arguments": {"n": i}} for i in range(n)]
        return {"role": "assistant", "tool_calls": calls}

    def tried(i):
        try:
            return work["work"](n=i)
        except Exception:
            return None

    def by_the_loop(message):
        return [asks(500)]

    def swallows(message):
        made = [tried(i) for i in range(500)]
        return f"Did {sum(one is not None for one in made)}."

    def raises(message):
        return [work["work"](n=i) for i in range(500)]

    def in_threads(message):
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(tried, range(500)))
        return "Done."

    async def awaits(message):
        async def one(i):
            try:
                return await work["later"](n=i)
            except Exception:
                return None
        await asyncio.gather(*[one(i) for i in range(500)])
        return "Done."

    return {one.__name__: one for one in (by_the_loop, swallows, raises, in_threads, awaits)}[how]
"""
TOOLS = """
import pathlib

def work(state: dict, n: int) -> str:
    with open("made", "a") as file:
        file.write("x\\n")
    return "ok"

async def later(state: dict, n: int) -> str:
    return work(state, n)
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process."""
    return Project(pytester=pytester)


def transcript(project: Project) -> list[dict[str, Any]]:
    """Give the messages of the one run of the last session."""
    (file,) = project.pytester.path.glob(".agentbench/runs/*/transcripts/*.json")
    messages: list[dict[str, Any]] = json.loads(file.read_text())["messages"]
    return messages


@pytest.mark.parametrize("how", ["by_the_loop", "swallows", "raises", "in_threads", "awaits"])
def test_the_call_that_exceeds_the_limit_is_not_made(project: Project, how: str) -> None:
    """Of 500 calls within one turn five are made; a sixth is shown as refused and ends the run, blame agent."""
    project.suite(
        {"id": "many", "says": ["Go"]}, agent=AGENT, tools=TOOLS, limits={"tool_calls": 5}, variants={"v": {"how": how}}
    )

    project.run()

    (result,) = project.document.results
    assert project.line_count("made") == 5
    assert (result.termination, result.verdict, result.blame) == ("SAFETY_TIMEOUT", "failed", "agent")
    assert result.stop_reason.startswith("limits.tool_calls = 5 spent")
    answers = [message for message in transcript(project) if message["role"] == "tool"]
    refused = [one for one in answers if "limits.tool_calls = 5 spent" in one["content"]]
    assert len(answers) - len(refused) == 5
    assert refused
    assert all(one["error"] for one in refused)


def test_five_of_five_are_made(project: Project) -> None:
    """A limit is what may be made, not one less."""
    agent = AGENT.replace("range(500)", "range(5)").replace("asks(500)", "asks(5)")
    project.suite({"id": "many", "says": ["Go"]}, agent=agent, tools=TOOLS, limits={"tool_calls": 5})

    project.run()

    (result,) = project.document.results
    assert project.line_count("made") == 5
    assert result.termination == "FINISHED"


def test_the_users_calls_are_refused_too_and_blamed_on_the_user(project: Project) -> None:
    """The limit is of both parties; who exceeds it answers for it."""
    project.write("bench/own_tools.py", TOOLS)
    project.suite(
        {"id": "own", "says": ["Hello", *(f"work(n={n})" for n in range(9))]},
        agent="def build(tools):\n    return lambda message: 'Try that.'\n",
        environment={"tools": "shop_tools", "user_tools": "own_tools", "state": {"json": "state.json"}},
        limits={"tool_calls": 3, "turns": 30},
    )

    project.run()

    (result,) = project.document.results
    assert project.line_count("made") == 3 * 2  # a run that the user spoilt is played once more
    assert (result.termination, result.blame) == ("SAFETY_TIMEOUT", "user")


def test_tools_of_an_mcp_server_are_bounded(project: Project) -> None:
    """The server never hears of the calls that exceed the limit."""
    pytest.importorskip("mcp")
    agent = """
    def build(tools):
        remember = {tool.__name__: tool for tool in tools}["remember"]

        def reply(message):
            said = []
            for n in range(50):
                try:
                    said.append(remember(text=str(n)))
                except Exception as error:
                    said.append(type(error).__name__)
            return f"{said[:4]}"

        return reply
    """
    project.write("bench/noting.py", agent)
    suite = {
        "agent": "noting:build",
        "environment": {"tools": {"mcp": {"command": [sys.executable, str(MCP_SERVER)]}}},
        "scenarios": [{"id": "notes", "says": ["Go"]}],
        "limits": {"tool_calls": 3},
    }
    project.write("bench/agentbench.yaml", json.dumps(suite))

    project.run()

    contents = [message["content"] for message in transcript(project) if message["role"] == "tool"]
    assert contents[:3] == ["1 notes", "2 notes", "3 notes"]
    assert len(contents) == 4
    assert "['1 notes', '2 notes', '3 notes', 'CallsSpentError']" in transcript(project)[-1]["content"]
    assert project.document.results[0].termination == "SAFETY_TIMEOUT"


async def test_operations_of_a_service_are_bounded(tmp_path: Path) -> None:
    """Neither the loop nor a wrapped tool sends the request of a call that exceeds the limit."""
    notes = Notes()
    notes.paths = {"/notes": {"get": {"operationId": "list_notes", "responses": {"200": {"description": "ok"}}}}}
    async with serving(notes) as url:
        spec = OpenApiSpec.model_validate({"document": f"{url}/spec.json", "reset": "POST /reset"})
        async with remote_environment(spec, tmp_path) as env:
            notes.seen.clear()
            env.calls.limit(3)
            made = [await call(env, "list_notes") for _ in range(2)]
            (wrapped,) = env.wrapped_tools(lambda *_: None)
            await wrapped()
            refused = await call(env, "list_notes")
            with pytest.raises(CallsSpentError):
                wrapped()

    assert [one.error for one in [*made, refused]] == [False, False, True]
    assert len(notes.seen) == 3
