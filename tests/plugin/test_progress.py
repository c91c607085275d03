"""The live line, on a terminal: there while runs are played, gone in the end, and never where nobody watches."""

import os
import re
import sys

import pytest

from tests.plugin.project import Project
from tests.plugin.screen import run_on_terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

IDS = [f"r{number}" for number in range(60)]
"""As many as fill two rows of dots on a terminal of 50 columns."""

ENDLESS = """
import asyncio

def build():
    async def reply(message):
        await asyncio.Event().wait()
    return reply
"""


@pytest.mark.parametrize("arguments", [(), pytest.param(("-n2",), marks=pytest.mark.slow), ("-q",)])
def test_a_watched_session_shows_the_line_and_leaves_no_trace(project: Project, arguments: tuple[str, ...]) -> None:
    """The screen is in the end what it is without the line, several rows of dots included."""
    project.suite(*IDS, orders=61)

    written, screen = run_on_terminal(project.pytester.path, "--agentbench", *arguments, width=50)
    _, plain = run_on_terminal(project.pytester.path, "--agentbench", *arguments, width=50, environ={"TERM": "dumb"})

    assert re.search(r"done \d+/60", written)
    assert not re.search(r"done \d+/\d+", screen)
    assert without_times(screen) == without_times(plain)
    assert "[100%]" in screen


def test_the_line_is_cut_to_the_terminal(project: Project) -> None:
    """A narrow terminal gets the beginning."""
    project.suite("a", "b")

    written, screen = run_on_terminal(project.pytester.path, "--agentbench", width=20)

    assert "done 0/2" in written
    assert "in flight" not in written
    assert "done 0/2" not in screen


def test_ctrl_c_takes_the_line_away(project: Project) -> None:
    """What pytest says of the interrupt stands where the line was."""
    project.suite("a", agent=ENDLESS)

    _, screen = run_on_terminal(project.pytester.path, "--agentbench", interrupt_after="done 0/1")

    assert "KeyboardInterrupt" in screen
    assert "done 0/1" not in screen


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        (("-v",), {}),
        (("-s",), {}),
        (("-qq",), {}),
        (("--capture=tee-sys",), {}),
        (("--collect-only",), {}),
        (("-o", "log_cli=true"), {}),
        ((), {"CI": "true"}),
        ((), {"TERM": "dumb"}),
    ],
)
def test_nobody_is_shown_a_line_who_does_not_watch(
    project: Project, arguments: tuple[str, ...], environ: dict[str, str]
) -> None:
    """Where something else writes to the terminal meanwhile, or no person reads it."""
    project.suite("a")

    written, _ = run_on_terminal(project.pytester.path, "--agentbench", *arguments, environ=environ)

    assert "done " not in written
    assert "\x1b[J" not in written


def test_a_pipe_gets_no_line(project: Project) -> None:
    """A log holds nothing of it."""
    project.suite("a")

    result = project.run(process="forked")

    assert "done 0/1" not in result.stdout.str()
    assert os.linesep in result.stdout.str()


def without_times(screen: str) -> str:
    """Take out what differs between two equal sessions."""
    return re.sub(
        r"\d+\.\d+ ?s( \(\d+:\d\d:\d\d\))?|\d{8}T[^/]+|^=+|=+$|bringing up nodes.*", "", screen, flags=re.MULTILINE
    )
