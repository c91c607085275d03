"""`agentbench validate` lists lines that do not say what they mean; `--fix` asks for them on a terminal."""

import os
import pty
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.cli.validate import QUESTION
from tests.validation.worlds import TOOLS

SUITE = """\
agent: nowhere:build
environment: {tools: tools, state: {json: state.json}, reads: [find_person, get_person]}
scenarios:
  - id: close
    says:
      - Close ticket T1, please. I am ada@example.org.
      - Not a problem, do that  # she agrees
      - "yes"
      - 'Leave the other one'
    expect: [{close_ticket: {ticket_id: T1}}]
  - more.yaml
"""
MORE = """\
- id: other
  says: ["Close T2, please", |-]
  expect: []
"""
STATE = '{"people": {}, "tickets": {"T1": {"status": "open"}, "T2": {"status": "open"}}}'


Ran = tuple[int, str, str]
"""Status, what was shown on the terminal, and what stdout got."""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite with a line that agrees and one that does not, neither of which says so."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "state.json").write_text(STATE)
    (tmp_path / "more.yaml").write_text(MORE.replace("|-", "thanks a lot"))
    (tmp_path / "agentbench.yaml").write_text(SUITE)
    return tmp_path / "agentbench.yaml"


@pytest.fixture
def at_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Ran]:
    """Give what runs `validate --fix` at a terminal on which a text is typed."""

    def run(typed: str) -> Ran:
        ours, theirs = pty.openpty()
        os.write(ours, f"{typed}\x04".encode())  # who asks for more than was typed gets the end of input
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", os.fdopen(theirs, closefd=False))
            patch.setattr(sys, "stderr", os.fdopen(theirs, "w", buffering=1, closefd=False))
            status = main(["validate", "agentbench.yaml", "--no-mutants", "--fix"])
        os.close(theirs)
        shown = b""
        while part := _read(ours):
            shown += part
        os.close(ours)
        return status, shown.decode(), capsys.readouterr().out

    return run


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed, and all was read
        return b""


def test_lines_are_listed_with_their_places(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of them, with the acts to choose from; that is no problem of the suite."""
    main(["validate", "agentbench.yaml", "--no-mutants", "--only", "close"])

    text = capsys.readouterr().out
    assert "lines that do not say what they mean; --fix asks (2)" in text
    assert "  agentbench.yaml:7:9: 'Not a problem, do that'\n" in text
    assert "  agentbench.yaml:9:9: 'Leave the other one'\n" in text
    assert "the user may say yes before such a line: write" in text
    assert "acts: request, inform, confirm, condition, decline" in " ".join(text.split())
    assert "1 of 1 scenario valid" in text


def test_nothing_is_listed_where_no_script_is_played(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A user that a model plays says other lines, and recordings hold what was said."""
    for key in ("user: {llm: {model: m, base_url: 'http://x/v1'}}", "agent: {transcripts: runs.jsonl}"):
        own = SUITE.replace("agent: nowhere:build\n", "") if key.startswith("agent") else SUITE
        suite.write_text(f"{key}\n{own}")
        (suite.parent / "runs.jsonl").write_text("")
        main(["validate", "agentbench.yaml", "--no-mutants"])

        assert "do not say what they mean" not in capsys.readouterr().out


def test_answers_are_written_into_the_files(suite: Path, at_a_terminal: Callable[[str], Ran]) -> None:
    """By number or word; a wrong answer is asked for again. What follows is about the suite as it is then."""
    _, shown, printed = at_a_terminal("3\nleave\ndecline\nclose\n")

    assert suite.read_text() == SUITE.replace(
        "- Not a problem, do that  #", '- {confirm: "Not a problem, do that"}  #'
    ).replace("- 'Leave the other one'", "- {decline: 'Leave the other one'}")
    assert (suite.parent / "more.yaml").read_text() == MORE.replace("|-", '{close: "thanks a lot"}')
    assert "1 of 3 · close · agentbench.yaml:7:9" in shown
    assert "    Close ticket T1, please. I am ada@example.org.\r\n  > Not a problem, do that\r\n    yes\r\n" in shown
    assert "1 request  2 inform  3 confirm" in shown
    assert "'leave' is no act: a number from 1 to 9, or one of these words" in shown
    assert printed.startswith("--fix: 3 labelled\n")
    assert "do not say what they mean" not in printed


def test_without_an_answer_nothing_changes(suite: Path, at_a_terminal: Callable[[str], Ran]) -> None:
    """Enter skips a line; q and the end of input stop."""
    for typed in ("q\n", "\n\n\n", "\x04"):
        _, shown, printed = at_a_terminal(typed)

        assert QUESTION in shown
        assert printed.startswith("--fix: nothing was changed, 3 left as they are"), typed
        assert (suite.read_text(), (suite.parent / "more.yaml").read_text()) == (
            SUITE,
            MORE.replace("|-", "thanks a lot"),
        )


def test_without_a_terminal_nothing_changes(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says so, and lists the lines."""
    main(["validate", "agentbench.yaml", "--no-mutants", "--fix"])

    text = capsys.readouterr().out
    assert text.startswith("--fix: nothing was changed: 3 without a label, and no terminal to ask on\n")
    assert suite.read_text() == SUITE


def test_a_block_of_text_is_left_to_people(suite: Path, at_a_terminal: Callable[[str], Ran]) -> None:
    """The reason is told, and what to write."""
    (suite.parent / "more.yaml").write_text("id: other\nsays:\n- Close T2\n- |-\n  thanks\n  a lot\nexpect: []\n")

    _, shown, printed = at_a_terminal("\n\nclose\n")

    assert 'not changed, it is a block of text; do it by hand: write `{confirm: "…"}`' in shown
    assert printed.startswith("--fix: nothing was changed, 2 left as they are, 1 to be done by hand")
