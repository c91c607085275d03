"""The live line, on a terminal: there while runs are played, gone in the end, and never where nobody watches."""

import io
import os
import re
import sys

import pytest

from pytest_agentbench.plugin.progress import is_wanted
from tests.plugin.project import Project
from tests.plugin.screen import run_on_terminal
from tests.tables import each

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

WIDTH = 50
IDS = [f"r{number}" for number in range(36)]
"""As many as fill two rows of dots on a terminal of so many columns."""

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
    project.suite(*IDS)
    options = ("--agentbench", *arguments)

    written, screen = run_on_terminal(project.pytester.path, *options, width=WIDTH)
    unwatched, plain = run_on_terminal(project.pytester.path, *options, width=WIDTH, environ={"TERM": "dumb"})

    assert re.search(r"done \d+/36", written)
    assert not re.search(r"done \d+/\d+", screen)
    assert "done " not in unwatched
    assert "\x1b[J" not in unwatched
    assert without_times(screen) == without_times(plain)
    assert "[100%]" in screen


def test_nothing_draws_any_more_when_the_loop_has_ended(project: Project) -> None:
    """Pytest prints "[100%]" after its loop: a line drawn then would erase it."""
    project.suite("a")
    project.pytester.makeconftest("""
        import threading

        import pytest

        @pytest.hookimpl(wrapper=True)
        def pytest_runtestloop():
            result = yield
            names = [thread.name for thread in threading.enumerate()]
            print("drawing" if "agentbench-progress" in names else "at rest")
            return result
    """)

    _, screen = run_on_terminal(project.pytester.path, "--agentbench")

    assert "at rest" in screen
    assert "drawing" not in screen


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


class Terminal(io.StringIO):
    """What a person reads."""

    def isatty(self) -> bool:
        return True


@each(
    ("arguments", "environ", "wanted"),
    [
        ((), {}, True),
        (("-q",), {}, True),
        (("-v",), {}, False),
        (("-s",), {}, False),
        (("-qq",), {}, False),
        (("--capture=tee-sys",), {}, False),
        (("--collect-only",), {}, False),
        (("-o", "log_cli=true"), {}, False),
        (("--log-cli-level=INFO",), {}, False),
        (("-p", "no:terminal"), {}, False),
        ((), {"CI": "true"}, False),
        ((), {"TERM": "dumb"}, False),
    ],
)
def test_nobody_is_shown_a_line_who_does_not_watch(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    environ: dict[str, str],
    wanted: bool,
) -> None:
    """Where something else writes to the terminal meanwhile, or no person reads it."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    config = pytester.parseconfigure("-p", "agentbench", *arguments)

    assert not is_wanted(config, {"TERM": "xterm", **environ}), "a pipe"
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert is_wanted(config, {"TERM": "xterm", **environ}) is wanted
    monkeypatch.undo()


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
