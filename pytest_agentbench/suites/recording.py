"""Recordings: conversations that took place elsewhere, and the scenarios they belong to."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.suites.scenario_files import TASK_KEY


class Recording(Model):
    """A recorded conversation.

    `scenario` is the task id as written, empty where the log names none; `scenario_key` names one version of a task.
    `variant` is a slug of the agent's name, unique ignoring case, `label` the name as written. `trial` counts the
    recordings of one scenario and variant from 0 in reading order, `position` those of one file. `line` is 1-based, 0
    in files that are not one recording per line. `extra` holds all other keys of the record.
    """

    scenario: str = ""
    scenario_key: str | None = None
    variant: str = ""
    label: str = ""
    trial: int = 0
    transcript: Transcript
    termination: Termination | None = None
    stop_reason: str = ""
    source: Path
    line: int = 0
    position: int = 0
    reward: float | None = None
    extra: dict[str, Any] = {}


class ScenarioIndex:
    """Finds the scenario of a recording among those of a suite."""

    def __init__(self, scenarios: Iterable[Scenario]) -> None:
        self._scenarios = tuple(scenarios)
        self._by_key: dict[str, Scenario] = {}
        self._by_id: dict[str, Scenario] = {}
        for scenario in self._scenarios:
            key = scenario.provenance.get(TASK_KEY)
            if key is not None:
                self._by_key.setdefault(str(key), scenario)
            self._by_id.setdefault(scenario.id, scenario)
        for scenario in self._scenarios:
            self._by_id[scenario.task.id] = scenario

    def find(self, recording: Recording) -> Scenario | None:
        """Give the scenario by key, by id as written or as shown, or by position where the log names none.

        A key leads to exactly that version of a task; where scenarios bear keys and none is it, the answer is None.
        """
        if recording.scenario_key is not None and self._by_key:
            return self._by_key.get(recording.scenario_key)
        if recording.scenario:
            return self._by_id.get(recording.scenario)
        return self._scenarios[recording.position] if recording.position < len(self._scenarios) else None
