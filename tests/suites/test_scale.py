"""Ten thousand scenarios load in seconds."""

import json
import resource
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench.suites.suite_file import load_suite
from tests.suites.forms import SCENARIO, TASK


@pytest.mark.slow
def test_ten_thousand_tasks_load_in_seconds(tmp_path: Path, record_property: Any) -> None:
    """A large τ² list is read without a slow pass for positions, and each scenario still knows its line."""
    tasks = [{**TASK, "id": f"task-{number}", "agentbench": {}} for number in range(10_000)]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks, indent=1))
    (tmp_path / "agentbench.yaml").write_text("agent: a:b\nscenarios: [tasks.json]\n")
    began = time.process_time()
    suite = load_suite(tmp_path / "agentbench.yaml", environ={})
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    record_property("seconds", round(seconds, 1))
    record_property("peak_mb", round(peak))
    lines = (tmp_path / "tasks.json").read_text().splitlines()
    assert json.loads("{" + lines[suite.scenarios[7_000].line].rstrip(",") + "}") == {"id": "task-7000"}
    assert len(suite.scenarios) == 10_000
    assert seconds < 60  # a slow machine; the usual figure is printed


@pytest.mark.slow
def test_two_thousand_yaml_scenarios_load_in_seconds(tmp_path: Path) -> None:
    """YAML is slower than JSON and still read once."""
    forms = [{**SCENARIO, "id": f"s-{number}", "policies": []} for number in range(2_000)]
    (tmp_path / "all.yaml").write_text(yaml.dump(forms, Dumper=_NoAliases))
    (tmp_path / "agentbench.yaml").write_text("agent: a:b\nscenarios: [all.yaml]\n")
    began = time.process_time()
    suite = load_suite(tmp_path / "agentbench.yaml", environ={})
    assert len(suite.scenarios) == 2_000
    assert time.process_time() - began < 60


class _NoAliases(yaml.SafeDumper):
    """Writes equal parts out each time, as people do."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
