"""What τ²-bench adds through the hooks that others implement, too; see `plugin/hookspecs.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.extensions import EnvironmentOffer
from pytest_agentbench.core.file_models import Filled, Says, Written
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import Keys, Misfit
from pytest_agentbench.core.protocols import Check
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.verdict import NotMeasured

if TYPE_CHECKING:
    from pytest_agentbench.suites.record import RecordingFormat
    from pytest_agentbench.tau2.environment import Tau2Environment


class Tau2Form(Written):
    """What a suite says under `environment` of a domain of τ²-bench."""

    expected: ClassVar[str] = "{tau2: DOMAIN, checkout: the folder of τ²-bench, split: test, solo: false}"
    instead: ClassVar[dict[str, str]] = {"tau2": "checkout belongs beside tau2: write tau2: DOMAIN"}

    tau2: Annotated[str, Field(pattern=r"^[a-z0-9_-]+\Z"), Says("a domain of τ²-bench")]
    """A domain of τ²-bench, which brings tools and state of its own."""
    checkout: Annotated[Filled, Says("a folder with τ²-bench's source")] | None = None
    """A folder with τ²-bench's source."""
    split: Annotated[Filled, Says("a split of the domain's tasks, such as test")] | None = None
    """The split of the domain's tasks that is played; without it all that the suite lists."""
    solo: Annotated[bool, Says("true or false")] = False
    """Whether the agent works alone: it has the user's tools, too, and is told the task's ticket."""

    def folder(self, suite: Path) -> Path | None:
        """Give the folder of τ²-bench's source, None where it is looked for."""
        return None if self.checkout is None else suite / self.checkout


def pytest_agentbench_environments() -> Mapping[str, EnvironmentOffer]:
    """Offer the domains of τ²-bench."""
    return {"tau2": EnvironmentOffer(form=Tau2Form, open=_open, misfits=_misfits, adapt=_adapt)}


def pytest_agentbench_scenario(value: JsonValue, path: Keys) -> Scenario | list[Misfit]:
    """Read a task of τ²-bench, which is what any mapping may be."""
    from pytest_agentbench.tau2.tasks import task_to_scenario  # noqa: PLC0415 - suites of our own need none of it

    if isinstance(value, dict) and "id" not in value and "instruction" in value and "actions" in value:
        hint = "turn the list into scenarios with: agentbench convert FILE -o tasks.json"
        return [Misfit(path=path, message="this is a task of τ-bench v1, not of τ²-bench", hint=hint)]
    return task_to_scenario(value, path=path)


def pytest_agentbench_recordings() -> RecordingFormat:
    """Read simulations and results files of τ²-bench."""
    from pytest_agentbench.tau2.recording import Tau2Recordings  # noqa: PLC0415 - same

    return Tau2Recordings()


def pytest_agentbench_checks(run: Run) -> Iterable[Check]:
    """Ask what a `reward_basis` asks for that is no part of our own verdict."""
    criteria = run.scenario.task.evaluation_criteria
    if criteria is None or not {"ENV_ASSERTION", "ACTION"} & set(criteria.reward_basis or ()):
        return []
    from pytest_agentbench.tau2.reward import BasisCheck  # noqa: PLC0415 - same

    return [BasisCheck()]


def pytest_agentbench_questions(run: Run) -> list[str]:
    """Have a judge answer the `nl_assertions` of a graded run; τ² asks another model in other words."""
    criteria = run.scenario.task.evaluation_criteria
    return list(criteria.nl_assertions or ()) if criteria is not None and _is_graded(run) and run.finished else []


def pytest_agentbench_metrics(run: Run) -> Mapping[str, float | NotMeasured | None]:
    """Measure τ²'s reward and its parts, which decide nothing."""
    if not _is_graded(run):
        return {}
    from pytest_agentbench.tau2.reward import metrics_of  # noqa: PLC0415 - same

    return metrics_of(run)


def _is_graded(run: Run) -> bool:
    """Whether τ² grades the run's task: it states a `reward_basis`, or the run's environment is a domain of τ²."""
    criteria = run.scenario.task.evaluation_criteria
    return (criteria is not None and criteria.reward_basis is not None) or run.replay is not None


def _misfits(form: Tau2Form, folder: Path) -> Iterator[Misfit]:
    if form.checkout is not None and not (folder / form.checkout).is_dir():
        message = f"there is no folder {form.checkout!r} in {folder}"
        yield Misfit(path=("checkout",), message=message, hint="paths are relative to the suite's folder")
    elif form.split is not None and form.split not in (there := _splits(form, folder)):
        names = f"the splits are {', '.join(sorted(there))}" if there else "no splits of it are at hand"
        yield Misfit(path=("split",), message=f"{form.tau2!r} has no split {form.split!r}: {names}")


def _adapt(form: Tau2Form, folder: Path, scenario: Scenario) -> Scenario | Misfit | None:
    """Leave out what is in another split; give an agent that works alone the ticket, and all calls."""
    if form.split is not None and scenario.task.id not in _splits(form, folder)[form.split]:
        return None
    from pytest_agentbench.tau2.tasks import played_alone, with_read_log  # noqa: PLC0415 - same

    return played_alone(scenario) if form.solo else with_read_log(scenario)


def _splits(form: Tau2Form, folder: Path) -> Mapping[str, frozenset[str]]:
    from pytest_agentbench.tau2.checkout import find_splits  # noqa: PLC0415 - same

    try:
        return find_splits(form.tau2, form.folder(folder))
    except EnvironmentFaultError:  # opening the domain says so
        return {}


def _open(form: Tau2Form, folder: Path) -> Tau2Environment:
    return _environment(form.tau2, form.folder(folder), form.solo)


@lru_cache(maxsize=16)
def _environment(domain: str, checkout: Path | None, solo: bool) -> Tau2Environment:
    """Give the one environment of a domain, which keeps what expected calls lead to."""
    from pytest_agentbench.tau2.checkout import find_source  # noqa: PLC0415 - same
    from pytest_agentbench.tau2.environment import Tau2Environment  # noqa: PLC0415 - same

    return Tau2Environment(find_source(domain, checkout, solo=solo), solo=solo)
