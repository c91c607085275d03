"""The example's suites for frameworks: each passes as it stands, with a scripted model where it asks one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, call, text

pytestmark = pytest.mark.real

EXAMPLE = Path(__file__).parents[2] / "example_project"
FOLDERS = {"langgraph": "langchain_openai", "agents_sdk": "agents", "fastapi": "fastapi"}


def answer(request: ModelRequest) -> Answer:
    """Look up what the user asks for, then say what was found."""
    said = str(request.last)
    return text(said) if "Order" in said else call("get_order", order_id="W1" if "W1" in said else "W2")


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_framework_suite_of_the_example_passes(folder: str, tmp_path: Path) -> None:
    """As the commands in its first line say."""
    pytest.importorskip(FOLDERS[folder])
    shutil.copytree(EXAMPLE / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", ".agentbench"))
    with ModelServer(answer) as server:
        environ = {**os.environ, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        environ |= {"LANGSMITH_TRACING": "false", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
        command = [sys.executable, "-m", "pytest", "--agentbench", folder, "-p", "no:cacheprovider"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=100, check=False
        )

    assert done.returncode == 0, done.stdout + done.stderr
