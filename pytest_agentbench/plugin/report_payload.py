"""What tells the results of a session: which runs there are of which suites, and what became of each.

In one process that stays what it is. From an xdist worker to the controller it crosses as one ASCII JSON string per
report, metadata at setup, results at call: xdist serialises exact builtin types only, and a lone surrogate in any text
ends the whole run. Hence `make_sendable`, too, for everything else on a report that may hold text of an agent.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps, loads
from pytest_agentbench.core.run import PlannedRun, Result
from pytest_agentbench.results.document import SuiteRecord

_REFUSED = "agentbench_refused"
_META = "agentbench_meta"
_RESULT = "agentbench_result"


class CollectedSuite(Model):
    """What was collected of a suite, and whether its `gated` runs leave the decision to its gates.

    `kinds` asks for the kinds of tools that nothing settles, `unlabelled` counts lines that do not say what they mean,
    `states` says where their size bounds how many runs there are at once. `named` gives, where nobody describes the
    agent's tools, the place at which the suite first names each; `declared` are those whose kind it says.
    """

    record: SuiteRecord
    gated: bool = False
    kinds: str = ""
    unlabelled: int = 0
    states: str = ""
    named: dict[str, str] = {}
    declared: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What names the suite."""
        return self.record.path


class Meta(Model):
    """What is known of a run before it starts; `position` orders results as the suite files do.

    It is None for a test of the user's own that simulates. `suite` comes with the first of its runs that a process
    reports. `is_left_out` says that no rate counts the run.
    """

    run: PlannedRun
    position: int | None = None
    suite: CollectedSuite | None = None
    is_left_out: bool = False


class Collected(Model):
    """All suites of a session by key, and all of their runs by name."""

    suites: dict[str, CollectedSuite] = {}
    runs: dict[str, Meta] = {}


def refuse(config: pytest.Config, message: str) -> None:
    """Have an xdist worker tell the controller why it plays nothing; in one process nothing is to be done."""
    output = config.__dict__.get("workeroutput")
    if output is not None:
        output[_REFUSED] = message


def refusal_of(node: Any) -> str:
    """Give why a worker of the controller's plays nothing, "" where it did not say so."""
    return str(getattr(node, "workeroutput", {}).get(_REFUSED, ""))


def attach(report: pytest.TestReport, value: Meta | Sequence[Result], *, as_text: bool) -> None:
    """Put metadata on a setup report, which arrives even when the worker dies during the call, or results on one.

    There is one result of a scenario and one more for each attempt before; any number of a test of the user's.
    """
    if isinstance(value, Meta):
        report.__dict__[_META] = dumps(value.model_dump(exclude_defaults=True)) if as_text else value
    else:
        lean = [result.model_dump(exclude_defaults=True) for result in value] if as_text else []
        report.__dict__[_RESULT] = dumps(lean) if as_text else tuple(value)


def take_meta(report: pytest.TestReport) -> Meta | None:
    """Take the metadata off a report, which pytest keeps for the rest of the session."""
    held = report.__dict__.pop(_META, None)
    return Meta.model_validate(loads(held)) if isinstance(held, str) else held


def take_results(report: pytest.TestReport) -> tuple[Result, ...]:
    """Take the results off a report; a report of a subtest holds a copy, which does not count."""
    held = report.__dict__.pop(_RESULT, None)
    if not held or hasattr(report, "context"):
        return ()
    return tuple(Result.model_validate(result) for result in loads(held)) if isinstance(held, str) else tuple(held)


def sendable(text: str, redact: Callable[[str], str]) -> str:
    """Give a text without lone surrogates, and without the secrets that `redact` knows."""
    return redact(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def make_sendable(report: pytest.TestReport, redact: Callable[[str], str]) -> None:
    """Replace lone surrogates in the texts of a report, and the secrets that `redact` knows."""
    clean = partial(sendable, redact=redact)
    report.sections = [(clean(name), clean(text)) for name, text in report.sections]
    if isinstance(report.longrepr, str):
        report.longrepr = clean(report.longrepr)
    elif isinstance(report.longrepr, tuple):
        path, line, text = report.longrepr
        report.longrepr = (clean(path), line, clean(text))
    elif report.longrepr is not None:
        _clean_object(report.longrepr, clean, depth=0)


def _clean_object(value: Any, clean: Callable[[str], str], *, depth: int) -> None:
    """Clean the strings inside pytest's representation of a failure, in place."""
    if depth > 6 or not hasattr(value, "__dict__"):
        return
    for name, held in list(vars(value).items()):
        if isinstance(held, str):
            object.__setattr__(value, name, clean(held))
        elif isinstance(held, list | tuple):
            cleaned = [clean(entry) if isinstance(entry, str) else entry for entry in held]
            for entry in cleaned:
                for part in entry if isinstance(entry, tuple) else (entry,):
                    _clean_object(part, clean, depth=depth + 1)
            if any(isinstance(entry, str) for entry in held):
                object.__setattr__(value, name, type(held)(cleaned))
        else:
            _clean_object(held, clean, depth=depth + 1)
