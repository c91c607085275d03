"""An agent that a framework gave the tools of an MCP server: its calls show like any others, and nothing is left."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, call, text

pytest.importorskip("agents")
pytest.importorskip("mcp")
pytestmark = pytest.mark.real

AGENTS = Path(__file__).parent / "agents"

SUITE = """
agent: mcp_agent:build
scenarios:
  - id: converts
    says: ["What is noon in Paris in Tokyo time?", "And back?"]
    expect:
      - {convert_time: {source_timezone: Europe/Paris, target_timezone: Asia/Tokyo}}
      - {convert_time: {source_timezone: Asia/Tokyo, target_timezone: Europe/Paris}}
  - id: fails
    says: ["What is noon in Atlantis?"]
    expect: []
"""


def answer(request: ModelRequest) -> Answer:
    """Ask the server for what the user wants to know, then say what it answered."""
    if request.messages[-1]["role"] == "tool":
        return text(f"It says {request.last}"[:200])
    zones = ("Atlantis/City", "Europe/Paris") if "Atlantis" in request.last else ("Europe/Paris", "Asia/Tokyo")
    source, target = reversed(zones) if "back" in request.last else zones
    return call("convert_time", source_timezone=source, time="12:00", target_timezone=target)


def test_a_suite_whose_agent_uses_an_mcp_server(tmp_path: Path) -> None:
    """A server for each run: calls, results and errors show, and the session ends by itself."""
    folder = Path(sys.executable).parent
    if shutil.which("mcp-server-time", path=f"{folder}{os.pathsep}{os.environ.get('PATH', '')}") is None:
        pytest.skip("mcp-server-time is not installed")
    shutil.copy(AGENTS / "mcp_agent.py", tmp_path)
    (tmp_path / "agentbench.yaml").write_text(SUITE)
    with ModelServer(answer) as server:
        environ = {**os.environ, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "--agentbench",
            "--agentbench-json=out.json",
            "-p",
            "no:cacheprovider",
        ]
        done = subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=280, check=False
        )

    assert done.returncode == 0, done.stdout + done.stderr
    converts, fails = json.loads((tmp_path / "out.json").read_text())["results"]
    assert [converts["metrics"]["tool_calls"], fails["metrics"]["tool_calls"]] == [2, 1]
    [folder] = (tmp_path / ".agentbench/runs").iterdir()
    told = json.loads((folder / fails["transcript"]).read_text())["messages"]
    assert "No time zone found with key Atlantis/City" in told[2]["content"]  # the SDK keeps to itself that it failed
