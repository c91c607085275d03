"""A user's project in a temporary folder, written and run in a few words."""

import json
import os
import sys
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_agentbench.environment.import_path import SuiteFolder
from pytest_agentbench.results.document import Document, comparable, read
from tests.forking import CAN_FORK, CONTEXT, begin, start

TWO_WORKERS = pytest.param("-n2", marks=pytest.mark.slow)
"""The argument of a session in two workers: each costs the start of three processes, so most are slow tests."""

ASYNCIO = ("-p", "asyncio", "-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function")
"""Arguments for a session in which coroutine tests run."""

TOOLS = '''
def get_order(state: dict, order_id: str) -> dict:
    """Look an order up."""
    return state["orders"][order_id]

def refund(state: dict, order_id: str) -> dict:
    """Refund an order."""
    state["orders"][order_id]["status"] = "refunded"
    return state["orders"][order_id]
'''

AGENT = """
import re

def build(tools, wrong=False):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        order = re.search(r"W[0-9]+", message)
        if order is None:
            return "You are welcome."
        call["refund"](order_id="W0" if wrong else order[0])
        return "It is refunded."

    return reply
"""


Where = Literal["this", "forked", "fresh"]
"""The process of an inner session: this one, a copy of it that has all imported, or one that starts from nothing."""


def forked(pytester: pytest.Pytester, arguments: Sequence[str], timeout: float) -> pytest.RunResult:
    """Run pytest in a copy of this process: a fresh one costs a second for its imports alone."""
    if not CAN_FORK:
        return pytester.runpytest_subprocess(*arguments, timeout=timeout)
    written = [pytester.path / f"{name}.{len(list(pytester.path.glob('stdout.*')))}" for name in ("stdout", "stderr")]
    child = CONTEXT.Process(target=_session, args=(arguments, *written))
    started = time.perf_counter()
    start(child)
    child.join(timeout)
    is_late = child.is_alive()
    child.kill()
    child.join()
    outlines, errlines = (path.read_text(encoding="utf-8").splitlines() for path in written)
    assert not is_late, "\n".join(outlines + errlines)
    return pytest.RunResult(child.exitcode or 0, outlines, errlines, time.perf_counter() - started)


def _session(arguments: Sequence[str], stdout: Path, stderr: Path) -> None:
    """Run pytest, and write to files what it would write to its streams."""
    begin()
    for number, name, path in ((1, "stdout", stdout), (2, "stderr", stderr)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, number)
        setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False))
    sys.path.insert(0, "")
    sys.exit(int(pytest.main(list(arguments))))


@dataclass(kw_only=True)
class Project:
    """A folder with a suite, its agent and its tools; `run` starts an inner pytest session in it."""

    pytester: pytest.Pytester
    arguments: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ("-p", "agentbench", "-p", "xdist")
    is_frozen: bool = True
    """Whether this process froze its objects: a session leaves them alone then, but counting them takes long."""

    def write(self, name: str, text: str) -> Path:
        """Write a file."""
        path = self.pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def suite(self, *scenarios: Any, agent: str = AGENT, tools: str = TOOLS, orders: int = 40, **keys: Any) -> Path:
        """Write `bench/agentbench.yaml` with one refund scenario per given id (as YAML mappings otherwise)."""
        self.write("bench/shop_agent.py", agent)
        self.write("bench/shop_tools.py", tools)
        rows = {"orders": {f"W{number}": {"status": "delivered"} for number in range(orders)}}
        self.write("bench/state.json", json.dumps(rows))
        suite: dict[str, Any] = {
            "agent": "shop_agent:build",
            "environment": {"tools": "shop_tools", "state": {"json": "state.json"}},
            "scenarios": [refund(entry, number) for number, entry in enumerate(scenarios, 1)],
            **keys,
        }
        return self.write("bench/agentbench.yaml", json.dumps(suite, indent=1))

    def run(self, *arguments: str, process: Where = "this", timeout: float = 120) -> pytest.RunResult:
        """Run pytest with `--agentbench`, only with the plugins that the test asks for; workers need another."""
        return self.pytest("--agentbench", *arguments, process=process, timeout=timeout)

    def pytest(self, *arguments: str, process: Where = "this", timeout: float = 120) -> pytest.RunResult:
        """Run pytest in the project."""
        environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PY_COLORS": "0", "COLUMNS": "100"}
        self.pytester._monkeypatch.delenv("CI", raising=False)  # CI changes how pytest cuts its summary
        for name, value in environment.items():
            self.pytester._monkeypatch.setenv(name, value)
        # folders of suites that another test loaded in this process
        own = [entry for entry in sys.path if not isinstance(entry, SuiteFolder)]
        self.pytester._monkeypatch.setattr(sys, "path", own)
        given = (*self.plugins, *self.arguments, *arguments)
        if process == "fresh":
            return self.pytester.runpytest_subprocess(*given, timeout=timeout)
        if self.is_frozen:
            given = ("-p", "no:agentbench-garbage", *given)
        if process == "forked" or "-n2" in given:
            return forked(self.pytester, given, timeout)
        return self.pytester.runpytest_inprocess(*given)

    @property
    def document(self) -> Document:
        """The results of the last session."""
        return read(self.pytester.path / ".agentbench" / "results.json")

    @property
    def comparable(self) -> Any:
        """The results of the last session without times and places."""
        return comparable(self.document)

    def verdicts(self) -> dict[str, str]:
        """The verdict of each run by the last part of its node id."""
        return {result.nodeid.rpartition("::")[2]: result.verdict.value for result in self.document.results}

    def line_count(self, name: str) -> int:
        """The number of lines of a file that agents or tools append to; 0 when there is none."""
        path = self.pytester.path / name
        return len(path.read_text().splitlines()) if path.exists() else 0


def refund(entry: Any, number: int) -> Any:
    """Give a scenario in which the user wants order W<number> refunded; a mapping stays as it is."""
    if not isinstance(entry, str):
        return entry
    order = f"W{number}"
    return {"id": entry, "says": [f"Refund {order}"], "expect": [{"refund": {"order_id": order}}]}


def environment_without_pytest() -> dict[str, str]:
    """Give the environment without what an outer pytest session put there."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
