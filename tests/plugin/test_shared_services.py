"""Services that all runs share and that nothing resets: a warning says so as the suite is collected."""

import json

import pytest

from tests.plugin.project import Project

SERVE = {"command": ["no-such-command", "{port}"], "share": "session"}
TOOLS = [{"name": name, "parameters": {"type": "object", "properties": {}}} for name in ("find", "book")]


def suite(project: Project, name: str, *calls: str, reset: str = "", share: str = "session") -> None:
    """Write a suite behind a service, with a scenario for each call that is expected."""
    project.write("bench/tools.json", json.dumps(TOOLS))
    http = {"url": "http://127.0.0.1:{port}/", "serve": {**SERVE, "share": share}, "calls": "calls"}
    form = {
        "agent": {"http": {**http, "call": {"result": ""}, **({"reset": reset} if reset else {})}},
        "environment": {"tools": "tools.json", "reads": ["find"], "writes": ["book"]},
        "scenarios": [{"id": f"s{at}", "says": ["Hi"], "expect": [call]} for at, call in enumerate(calls)],
    }
    project.write(f"bench/{name}.agentbench.yaml", json.dumps(form))


def test_a_shared_service_without_a_reset_is_a_warning(project: Project) -> None:
    """It names the place, the runs whose changes the others meet, and what to write; other suites have none."""
    suite(project, "shared", "find", "book", "book")
    suite(project, "reads", "find", "find")
    suite(project, "alone", "book")
    suite(project, "reset", "book", "book", reset="POST /reset")
    suite(project, "own", "book", "book", share="run")

    result = project.run("bench", "--collect-only", "-W", "default")

    warned = [line.strip() for line in result.outlines if "every run may meet" in line]
    place = f"{project.pytester.path / 'bench/shared.agentbench.yaml'}:1:117: agent.http.serve.share"
    what = "every run may meet what others changed, with nothing that resets it; changes may be made by s1, s2"
    hint = "write `reset: POST /path` beside it, a request that puts all back, or `share: run`"
    assert [line.partition("Warning: ")[2] for line in warned] == [f"{place}: {what} ({hint})"]
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.parametrize(
    ("tools", "hint"),
    [
        ({"mcp": {"command": ["x"]}, "share": "session"}, "tools.share: every run may meet * (write `share: run`)"),
        (
            {"openapi": "api.json", "serve": SERVE},
            "tools.serve.share: every run may meet * changes may be made by s0, s1 (*",
        ),
    ],
)
def test_tools_of_a_shared_service_are_warned_of_as_well(project: Project, tools: dict[str, object], hint: str) -> None:
    """Where nobody has listed the tools, each run may change something."""
    project.write("bench/api.json", json.dumps({"openapi": "3.1.0", "info": {}, "paths": {}}))
    scenarios = [{"id": f"s{at}", "says": ["Hi"]} for at in range(2)]
    form = {"agent": {"openai": {"model": "m"}}, "environment": {"tools": tools}, "scenarios": scenarios}
    project.write("bench/agentbench.yaml", json.dumps(form))

    result = project.run("bench", "--collect-only", "-W", "default")

    result.stdout.fnmatch_lines([f"*agentbench.yaml:1:*: environment.{hint}*"])
