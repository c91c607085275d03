"""Faults strike remote tools as they strike functions."""

import json
from pathlib import Path

import pytest

from pytest_agentbench.core.fault import FaultSpec
from pytest_agentbench.core.remote import OpenApiSpec
from pytest_agentbench.environment.injection import Schedule
from pytest_agentbench.environment.remote_tools import ToolFailedError
from tests.environment.remote_support import Notes, remote_environment, serving
from tests.environment.support import call, thread_runner


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with an OpenAPI document."""
    paths = {"/folders/a": {"get": {"operationId": "get_folder"}}, "/missing": {"get": {"operationId": "missing"}}}
    (tmp_path / "spec.json").write_text(json.dumps({"openapi": "3.1.0", "paths": paths}), encoding="utf-8")
    return tmp_path


async def test_a_struck_call_fails_and_the_next_is_answered_letter_for_letter(root: Path) -> None:
    """Calls of the loop: the fault's error instead of the answer, then the answer as it came."""
    notes = Notes()
    async with serving(notes) as url, remote_environment(OpenApiSpec(document="spec.json", base_url=url), root) as env:
        plain = await call(env, "get_folder")
        schedule = Schedule([FaultSpec(kind="error", tool="get_folder", message="out of order")], seed="1")
        await env.strike(schedule)
        struck = await call(env, "get_folder")
        after = await call(env, "get_folder")
        refused = await call(env, "missing")

    assert (struck.error, "out of order" in struck.content) == (True, True)
    assert (after, refused.content) == (plain, 'HTTP 404: {"detail": "no such note"}')
    assert (len(schedule.met), len(notes.seen)) == (1, 3)


async def test_an_agent_that_calls_tools_itself_is_struck_too(root: Path) -> None:
    """The function raises what the fault says."""
    async with (
        serving(Notes()) as url,
        remote_environment(OpenApiSpec(document="spec.json", base_url=url), root) as env,
    ):
        await env.strike(Schedule([FaultSpec(kind="error", message="out of order")], seed="1"))
        found = {tool.__name__: tool for tool in env.wrapped_tools(lambda *_: None)}

        with pytest.raises(ToolFailedError, match="out of order"):
            await thread_runner(found["get_folder"])
        value = await thread_runner(found["get_folder"])

    assert value["path"] == "/folders/a"
