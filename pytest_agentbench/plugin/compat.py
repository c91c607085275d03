"""The only place that touches private parts of pytest and pytest-xdist; each has a fallback and a test."""

import inspect
import locale
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Protocol, cast

import pytest


class JUnit(Protocol):
    """What is used of pytest's JUnit writer."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a report."""

    def add_global_property(self, name: str, value: object) -> None:
        """Add a property to the test suite."""


def fixture_scopes(item: pytest.Item) -> Iterator[tuple[str, str, Callable[..., Any]]] | None:
    """Give (name, scope, function) of every fixture in the item's closure; None when pytest does not tell."""
    info = getattr(item, "_fixtureinfo", None)
    definitions = getattr(info, "name2fixturedefs", None)
    if definitions is None:
        return None
    return ((name, found.scope, found.func) for name, several in definitions.items() for found in several)


def read_id_as_pytest_does(item: pytest.Item) -> None:
    """Let `--lf` and `--nf` find an item whose id holds `[variant]`: pytest 9.2 compares ids that were parsed.

    Older versions compare texts and need nothing.
    """
    parse = getattr(type(getattr(item, "id", None)), "parse", None)
    if parse is not None and hasattr(item, "_id"):
        item._id = parse(item.nodeid)


def upcoming(session: pytest.Session, position: int | None, nextitem: pytest.Item | None) -> Iterable[pytest.Item]:
    """Give the items this process will run after the one at `position`, as far as they are known.

    In one process that is the rest of the session; an xdist worker knows its queue, else just the next item.
    """
    items = session.items
    if not hasattr(session.config, "workerinput"):
        return [] if position is None else islice(items, position + 1, None)
    if nextitem is None:
        return []
    for plugin in session.config.pluginmanager.get_plugins():
        queue = getattr(plugin, "torun", None)
        if queue is None or type(plugin).__name__ != "WorkerInteractor":
            continue
        try:
            with queue.lock() as indices:
                return [nextitem, *(items[index] for index in indices if isinstance(index, int))]
        except (AttributeError, TypeError, IndexError):
            break
    return [nextitem]


def shows_unicode(config: pytest.Config) -> bool:
    """Whether the terminal's encoding can show what the report is written with."""
    file = getattr(config.get_terminal_writer(), "_file", None)
    encoding = getattr(file, "encoding", None) or locale.getpreferredencoding(False)
    try:
        "–×·…²".encode(encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def report_width(config: pytest.Config, terminalreporter: pytest.TerminalReporter) -> int:
    """Give the columns of the report: 100 in a log, at most 120 and at least 60 on a terminal."""
    if not getattr(terminalreporter, "isatty", False):
        return 100
    return max(60, min(config.get_terminal_writer().fullwidth, 120))


class _Unwrapped(str):
    """A text that pytest's terminal takes for none, and its writers of files for what it is."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def removeprefix(self, prefix: str, /) -> str:
        return self


def unwrapped(reason: str) -> str:
    """Give the reason of a report for JUnit alone.

    The terminal puts reasons behind the item, and loses their beginning where that is longer than the line (pytest 9.2
    with -vv, and a scenario file beside the suite's); the report below has them anyhow.
    """
    return _Unwrapped(reason)


def owns_process(config: pytest.Config) -> bool:
    """Whether this session is all that the process is for: pytest's own command runs it, not a caller of `main`."""
    if hasattr(config, "workerinput"):
        return False
    frame = inspect.currentframe()
    callers = []
    while frame is not None:
        if frame.f_globals.get("__name__") == "_pytest.config":
            callers.append(frame.f_code.co_name.lstrip("_"))
        frame = frame.f_back
    return "main" in callers and callers[callers.index("main") + 1 :][:1] == ["console_main"]


def junit(config: pytest.Config) -> JUnit | None:
    """Find pytest's JUnit writer; None without `--junitxml`."""
    for plugin in config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "LogXML" and hasattr(plugin, "add_global_property"):
            return cast("JUnit", plugin)
    return None
