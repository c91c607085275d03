"""Long work tells on stderr how far it is, and on stdout nothing but its result."""

import io
import json
import re
import sys
from itertools import count
from pathlib import Path

import pytest

from pytest_agentbench.cli import main, progress
from pytest_agentbench.cli.progress import PAUSE, Progress

CASES = Path(__file__).parents[1] / "calibration" / "trace" / "state_only"
TOOLS = '''
def list_flights(state: dict) -> list:
    """List all flights."""
    return list(state["flights"].values())

def book(state: dict, flight_id: str) -> dict:
    """Book a flight.

    Args:
        flight_id: The flight to book.
    """
    state["flights"][flight_id]["booked"] = True
    return state["flights"][flight_id]
'''
RECIPE = """
agent: none:build
environment: {tools: air_tools, state: {json: state.json}}
scenarios: [made/*.yaml]
generate: {from: tools, count: 1, seed: 7, out: made}
"""
PLAYED = """
agent: {transcripts: logs.jsonl}
scenarios:
  - {id: hours, says: ["When are you open?"], communicate: ["9 am"]}
"""


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_line_comes_now_and_then_and_one_that_changes_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short work says nothing where there is no terminal; what is shown on one is bounded, escaped and taken off."""
    plain, terminal = io.StringIO(), Terminal()
    for stream in (plain, terminal):
        seconds = count()
        monkeypatch.setattr(sys, "stderr", stream)
        with Progress("score", clock=lambda seconds=seconds: float(next(seconds))) as told:
            for done in range(25):
                told.counted("conversation")(done, 25)
            told.line("\x1b[31m" + "long" * 100)

    every = int(PAUSE)
    assert plain.getvalue().splitlines() == [
        f"agentbench score: {done - 1} of 25 conversations" for done in range(every, 26, every)
    ]
    shown = terminal.getvalue().split("\r\x1b[K")
    assert shown[1:3] == ["0 of 25 conversations", "1 of 25 conversations"]
    assert (len(shown), shown[-1], len(shown[-2])) == (28, "", 100)
    assert "\x1b" not in shown[-2]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a recipe, recordings and a suite to validate, where every step is told."""
    messages = [{"role": "user", "content": "Open?"}, {"role": "assistant", "content": "From 9 am."}]
    (tmp_path / "logs.jsonl").write_text(json.dumps({"id": "hours", "messages": messages}) + "\n", encoding="utf-8")
    (tmp_path / "played.agentbench.yaml").write_text(PLAYED, encoding="utf-8")
    (tmp_path / "agentbench.yaml").write_text(RECIPE, encoding="utf-8")
    (tmp_path / "air_tools.py").write_text(TOOLS, encoding="utf-8")
    flights = {f"F{number}": {"flight_id": f"F{number}", "booked": False} for number in range(3)}
    (tmp_path / "state.json").write_text(json.dumps({"flights": flights}), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["generate", "agentbench.yaml", "--json"], "agentbench generate: "),
        (["validate", "played.agentbench.yaml"], "agentbench validate: 1 of 1 scenario\n"),
        (["score", "played.agentbench.yaml"], "agentbench score: 1 of 1 conversation\n"),
        (["calibrate", "signals", str(CASES)], "agentbench calibrate: signals has judged 1 conversation\n"),
        (["import", "logs.jsonl", "--into", "read", "--json"], "agentbench import: 1 conversation\n"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_every_long_command_tells_on_stderr_alone(
    project: Path, capsys: pytest.CaptureFixture[str], command: list[str], told: str
) -> None:
    """What a program reads from stdout stays what it is."""
    main(command)

    captured = capsys.readouterr()
    assert told in captured.err
    assert not re.search(r"^agentbench \w+: \d+ of|has judged \d", captured.out, re.MULTILINE)
    if "--json" in command:
        json.loads(captured.out)
