"""State that remote tools tell: read before and after, never made, and a fault where it cannot be read."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.remote import OpenApiSpec
from pytest_agentbench.core.suite import EnvironmentSpec, StateSpec, ToolsSpec
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.local import LocalEnvironment
from tests.environment.remote_support import Notes, serving
from tests.environment.support import call, thread_runner


def environment(root: Path, url: str, calls: list[Any], state: dict[str, Any] | None = None) -> LocalEnvironment:
    """Give an environment whose state is what `calls` tell."""
    one = {"operationId": "get_folder", "parameters": [{"name": "name", "in": "path"}]}
    paths = {"/folders/{name}": {"get": one}, "/missing": {"get": {"operationId": "missing"}}}
    (root / "spec.json").write_text(json.dumps({"openapi": "3.1.0", "paths": paths}), encoding="utf-8")
    tools = (ToolsSpec(kind="openapi", target="spec.json", remote=OpenApiSpec(document="spec.json", base_url=url)),)
    return LocalEnvironment(
        EnvironmentSpec(tools=tools, state=StateSpec(kind="tools", options={"tools": calls})),
        root=root,
        scenario_state=state or {},
        context={},
        run_name="run-1",
        runner=thread_runner,
        gate=IsolationGate(root / "locks"),
    )


async def test_the_state_is_what_tools_answer(tmp_path: Path) -> None:
    """By the call, decoded; calls of the agent go on beside it."""
    async with serving(Notes()) as url, environment(tmp_path, url, [{"get_folder": {"name": "a"}}]) as env:
        result = await call(env, "get_folder", name="b")
        state = await env.snapshot()

    assert (result.error, result.wrote) == (False, None)
    assert state == {"get_folder(name='a')": {"path": "/folders/a", "query": []}}


@pytest.mark.parametrize(
    ("calls", "state", "message"),
    [
        (["get_folde"], {}, r"'get_folde' is no tool of another process \(did you mean 'get_folder'"),
        (["missing"], {"a": 1}, "the scenario gives initial state"),
        (["missing"], {}, "'missing' did not tell the state: HTTP 404"),
    ],
)
async def test_what_cannot_be_read_is_a_fault(
    tmp_path: Path, calls: list[Any], state: dict[str, Any], message: str
) -> None:
    """A name that no tool has, a state that is to be made, a tool that refuses."""
    async with serving(Notes()) as url:
        with pytest.raises(EnvironmentFaultError, match=message):
            async with environment(tmp_path, url, calls, state) as env:
                await env.snapshot()
