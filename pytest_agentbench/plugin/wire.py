"""What crosses from worker to controller: one ASCII JSON string per report, metadata at setup, the result at call.

xdist serialises exact builtin types only, and a lone surrogate in any text ends the whole run; hence one string, and
hence `make_sendable` for everything else on a report that may hold text of an agent.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps, loads
from pytest_agentbench.core.run import Result
from pytest_agentbench.results.document import PolicyRecord, ReviewRecord
from pytest_agentbench.results.standing import AuditorStanding

_META = "agentbench_meta"
_RESULT = "agentbench_result"


class SuiteInfo(Model):
    """What the controller needs to know of a suite; `total` counts its runs, `selected` those that pytest kept.

    `auditor` is how its auditor did on labelled runs. `kinds` asks for the kinds of tools that nothing settles,
    `unlabelled` counts lines that do not say what they mean, `states` says where their size bounds how many runs there
    are at once.
    """

    key: str
    name: str
    owner: str = ""
    content_hash: str = ""
    gates: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    trials: int = 1
    scenarios: int = 0
    total: int = 0
    selected: int = 0
    gated: bool = False
    policies: tuple[PolicyRecord, ...] = ()
    auditor: AuditorStanding | None = None
    kinds: str = ""
    unlabelled: int = 0
    states: str = ""
    review: ReviewRecord = ReviewRecord()


class Meta(Model):
    """What is known of a run before it starts; `position` orders results as the suite files do.

    `suite` is None for a test of the user's own that simulates. `is_left_out` says that no rate counts the run.
    """

    blank: Result
    suite: SuiteInfo | None = None
    position: int = 0
    is_left_out: bool = False

    @property
    def name(self) -> str:
        """What tells the run from all others, also where node ids do not."""
        return str(self.blank.key.model_copy(update={"attempt": 1}))


def attach_meta(report: pytest.TestReport, meta: Meta) -> None:
    """Put the metadata on a setup report; it arrives even when the worker dies during the call."""
    report.__dict__[_META] = dumps(meta.model_dump(exclude_defaults=True))


def attach_results(report: pytest.TestReport, results: Sequence[Result]) -> None:
    """Put the results on a call report: one of a scenario, any number of a test of the user's."""
    report.__dict__[_RESULT] = dumps([result.model_dump(exclude_defaults=True) for result in results])


def take_meta(report: pytest.TestReport) -> Meta | None:
    """Take the metadata off a report, which pytest keeps for the rest of the session."""
    text = report.__dict__.pop(_META, None)
    return Meta.model_validate(loads(text)) if text else None


def take_results(report: pytest.TestReport) -> tuple[Result, ...]:
    """Take the results off a report; a report of a subtest holds a copy, which does not count."""
    text = report.__dict__.pop(_RESULT, None)
    if not text or hasattr(report, "context"):
        return ()
    return tuple(Result.model_validate(result) for result in loads(text))


def make_sendable(report: pytest.TestReport, redact: Callable[[str], str]) -> None:
    """Replace lone surrogates in the texts of a report, and the secrets that `redact` knows."""

    def clean(text: str) -> str:
        return redact(text.encode("utf-8", "backslashreplace").decode("utf-8"))

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
