"""The hooks that other plugins and conftest files may implement; all of them are optional.

They are asked in sessions with `--agentbench`. Whatever one raises is told as the fault of what it was asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_agentbench.core.extensions import EnvironmentOffer
    from pytest_agentbench.core.misfit import Misfit
    from pytest_agentbench.core.model import Price
    from pytest_agentbench.core.protocols import Check, StateProvider
    from pytest_agentbench.core.run import Run
    from pytest_agentbench.core.scenario import Scenario
    from pytest_agentbench.core.verdict import NotMeasured
    from pytest_agentbench.results.document import Document
    from pytest_agentbench.suites.record import RecordingFormat


@pytest.hookspec(firstresult=True)
def pytest_agentbench_agent(made: object) -> object | None:
    """Give an agent (an object with `reply`, or a function) for what a factory gave, None to leave it to others."""


@pytest.hookspec(firstresult=True)
def pytest_agentbench_state(name: str, options: dict[str, Any]) -> StateProvider | None:
    """Give the state provider of a suite that says `state: {plugin: name, …options}`, None to leave it to others."""


@pytest.hookspec
def pytest_agentbench_environments() -> Mapping[str, EnvironmentOffer]:
    """Give environments that a suite may name, by the key that names them: `environment: {key: …, …options}`."""
    return {}


@pytest.hookspec(firstresult=True)
def pytest_agentbench_scenario(value: Any, path: tuple[str | int, ...]) -> Scenario | Iterable[Misfit] | None:
    """Give a scenario for a value of a JSON file that is not in our form, or what is wrong with it; None: another's.

    `path` leads to the value in its file, and is what misfits begin with.
    """


@pytest.hookspec
def pytest_agentbench_recordings() -> RecordingFormat | None:
    """Give a format of recorded conversations."""


@pytest.hookspec
def pytest_agentbench_questions(run: Run) -> Iterable[str]:
    """Give sentences on a closed run of which the suite's judge is to say whether they are true (`run.answers`).

    Without a judge nobody is asked. Metrics are asked for again once it has answered.
    """
    return ()


@pytest.hookspec
def pytest_agentbench_checks(run: Run) -> Iterable[Check]:
    """Give further checks of a closed run; each yields findings, as a scenario's own `checks` do."""
    return ()


@pytest.hookspec
def pytest_agentbench_metrics(run: Run) -> Mapping[str, float | NotMeasured | None]:
    """Give numbers on a closed run, by name; they are kept in its result. None, or why, is *not measured*."""
    return {}


@pytest.hookspec(firstresult=True)
def pytest_agentbench_price(model: str, base_url: str) -> Price | None:
    """Give the price of a model at a server, US dollars per million tokens, None to leave it to others."""


@pytest.hookspec
def pytest_agentbench_report(document: Document) -> Iterable[str]:
    """Give lines for the end of the terminal report; the first one is a headline."""
    return ()
