"""MCP servers that other people wrote, with the habits that theirs have.

Servers are looked for on the PATH, in the folder that AGENTBENCH_REAL_SERVERS names, and beside this Python: they may
pin another SDK than the client, and are best installed apart from it (`pip install mcp-server-time mcp-server-git
excel-mcp-server`; `apt install taskwarrior`, `pip install taskwarrior-mcp 'mcp<2'`;
`npm install @modelcontextprotocol/server-memory @modelcontextprotocol/server-filesystem`).
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.remote import McpSpec
from pytest_agentbench.core.tool import ToolSpec
from tests.environment.remote_support import remote_environment
from tests.environment.support import call, thread_runner

pytest.importorskip("mcp")
pytestmark = pytest.mark.real


def server(command: str, *arguments: str, env: dict[str, str] | None = None) -> McpSpec:
    """Give a server that is installed somewhere; skip where it is not."""
    folders = os.environ.get("AGENTBENCH_REAL_SERVERS", "").split(os.pathsep)
    path = os.pathsep.join([*filter(None, folders), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which(command, path=path)
    if found is None:
        pytest.skip(f"{command} is not installed")
    return McpSpec(command=(found, *arguments), env=env or {}, seconds=30.0)


def kinds(specs: Any) -> dict[str, list[str]]:
    """Give the names of tools by kind."""
    found: dict[str, list[str]] = {}
    for spec in specs:
        found.setdefault(spec.kind, []).append(spec.name)
    return found


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit and a change."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n", encoding="utf-8")
    for command in (
        "init -q -b main",
        "config user.name a",
        "config user.email a@example.com",
        "add .",
        "commit -qm first",
    ):
        subprocess.run(["git", *command.split()], cwd=folder, check=True)
    (folder / "a.txt").write_text("two\n", encoding="utf-8")
    return folder


async def test_time_gives_values_and_refuses_with_the_flag(tmp_path: Path) -> None:
    """Answers are JSON in a text, said once although they are structured too; both tools read."""
    async with remote_environment(server("mcp-server-time", "--local-timezone", "UTC"), tmp_path) as env:
        now = json.loads((await call(env, "get_current_time", timezone="Europe/Paris")).content)
        refused = await call(env, "convert_time", source_timezone="Nowhere", time="1:00", target_timezone="UTC")
        found = {tool.__name__: tool for tool in env.wrapped_tools(lambda *_: None)}
        value = await thread_runner(lambda: found["get_current_time"](timezone="UTC"))

        assert kinds(env.tools) == {"read": ["get_current_time", "convert_time"]}
        assert all(isinstance(spec, ToolSpec) and spec.returns for spec in env.tools)

    assert (now["timezone"], value["timezone"]) == ("Europe/Paris", "UTC")
    assert (refused.error, "Nowhere" in refused.content) == (True, True)


async def test_gits_hash_stands_in_prose_and_is_taken_by_another_tool(tmp_path: Path, repository: Path) -> None:
    """Nothing is declared of what a tool returns; the hash of a commit is found in its text, and shown."""
    path = str(repository)
    async with remote_environment(server("mcp-server-git", "--repository", path), tmp_path) as env:
        await call(env, "git_add", repo_path=path, files=["a.txt"])
        committed = await call(env, "git_commit", repo_path=path, message="second")
        hash_ = re.findall(r"[0-9a-f]{40}", committed.content)
        shown = await call(env, "git_show", repo_path=path, revision=hash_[0])
        refused = await call(env, "git_show", repo_path=path, revision="nowhere")

        assert all(spec.returns is None for spec in env.tools)
        assert {"git_log", "git_show", "git_status"} <= set(kinds(env.tools)["read"])
        assert {"git_add", "git_commit"} <= set(kinds(env.tools)["write"])

    assert "second" in shown.content
    assert refused.error


async def test_excel_refuses_fields_that_its_schema_admits(tmp_path: Path) -> None:
    """Schemas are closed without saying so; books lie in the run's folder; a destructive hint may be wrong."""
    spec = server("excel-mcp-server", "stdio", "--allow-dir", "{run_dir}")
    async with remote_environment(spec, tmp_path) as env:
        created = await call(env, "create_workbook", path="b.xlsx", sheets=["Data"])
        written = await call(env, "write_range", path="b.xlsx", sheet="Data", at="A1", rows=[["n"], [1], ["=A2+1"]])
        read = json.loads((await call(env, "read_range", path="b.xlsx", sheet="Data")).content)
        closed = await call(env, "read_range", path="b.xlsx", sheet="Data", bogus=1)
        create = env.tools.get("create_workbook")

    assert not created.error
    assert not written.error
    assert read == {"range": "A1:A3", "values": [["n"], [1], [2]]}
    assert (closed.error, "unknown field" in closed.content) == (True, True)
    assert create is not None
    assert "additionalProperties" not in create.parameters
    assert (create.kind, create.destructive) == ("write", True)


async def test_memory_declares_what_it_returns_and_keeps_runs_apart(tmp_path: Path) -> None:
    """Its file lies in the run's folder, so that a second run finds an empty graph; bad arguments are an error."""
    spec = server("mcp-server-memory", env={"MEMORY_FILE_PATH": "{run_dir}/memory.json"})
    entity = {"name": "Ada", "entityType": "person", "observations": []}
    async with remote_environment(spec, tmp_path) as env:
        await call(env, "create_entities", entities=[entity])
        graph = json.loads((await call(env, "read_graph")).content)
        wrong = await call(env, "open_nodes", names=3)

        assert env.tools.get("read_graph").returns  # it is there
        assert env.tools.get("read_graph").parameters["$schema"]  # a dialect of its own

    async with remote_environment(spec, tmp_path) as env:
        again = json.loads((await call(env, "read_graph")).content)

    assert ([one["name"] for one in graph["entities"]], again["entities"]) == (["Ada"], [])
    assert (wrong.error, "-32602" in wrong.content) == (True, True)


async def test_filesystem_names_files_in_prose(tmp_path: Path) -> None:
    """The declared result is one text; names stand behind a mark in it."""
    async with remote_environment(server("mcp-server-filesystem", "{run_dir}"), tmp_path) as env:
        folder = (await call(env, "list_allowed_directories")).content.splitlines()[-1]
        await call(env, "write_file", path=f"{folder}/notes.txt", content="hello")
        listed = await call(env, "list_directory", path=folder)
        outside = await call(env, "read_text_file", path="/etc/hostname")

    assert listed.content == "[FILE] notes.txt"
    assert outside.error


async def test_taskwarrior_lies_about_errors_and_renumbers(tmp_path: Path) -> None:
    """A failure comes without the flag, arguments lie one level down, and ids change when tasks are completed."""
    if shutil.which("task") is None:
        pytest.skip("taskwarrior is not installed")
    spec = server("taskwarrior-mcp", env={"TASKDATA": "{run_dir}/data", "TASKRC": "{run_dir}/rc"})
    async with remote_environment(spec, tmp_path) as env:
        flat = await call(env, "taskwarrior_add", description="buy milk")
        for text in ("buy milk", "bake cake"):
            await call(env, "taskwarrior_add", params={"description": text})
        missing = await call(env, "taskwarrior_get", params={"task_id": "99"})
        await call(env, "taskwarrior_complete", params={"task_id": "1"})
        listed = json.loads((await call(env, "taskwarrior_list", params={"response_format": "json"})).content)
        returns = {json.dumps(sorted((spec.returns or {}).get("properties", {}))) for spec in env.tools}

    assert flat.error
    assert returns == {'["result"]'}  # a schema for each tool, which says nothing
    assert (missing.error, missing.content.startswith("Error: ")) == (False, True)
    assert [(task["id"], task["description"]) for task in listed["tasks"]] == [(1, "bake cake")]
