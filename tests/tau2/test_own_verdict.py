"""Our own verdict on recorded conversations beside the recorded reward: every difference is listed with its reason."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.runs.transcript_runs import Scored, look_over, score
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.tau2.checkout import find_source
from pytest_agentbench.tau2.convert import read_tau_bench
from pytest_agentbench.tau2.tasks import export_tasks
from tests.shared_data import SHARED, needs_shared

DATA = SHARED / "data/tau2"
LISTED: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("own_verdict.json").read_text())
"""Recordings whose verdict is not their reward, each with the reason; a reader gave every one of them to us."""


def judged(folder: Path, **suite: Any) -> list[Scored]:
    """Judge the recordings of a suite."""
    path = folder / "agentbench.yaml"
    path.write_text(json.dumps(suite))
    loaded = load_suite(path, environ={})
    toolset = load_toolset(loaded.environment, loaded.root, recorded=True)
    return list(score(loaded, "suite", toolset, look_over(loaded, toolset, ()), ()))


def apart(found: list[Scored], name: str) -> dict[str, bool]:
    """Give the recordings whose verdict is not their reward, and whether they passed; print all verdicts."""
    print(name, dict(Counter((one.recording.reward, one.result.verdict.value, one.result.blame) for one in found)))
    return {
        str(
            one.recording.extra.get("sim_id") or f"{one.recording.scenario} {one.recording.label} {one.recording.trial}"
        )[:60]: one.result.passed
        for one in found
        if one.result.passed != (one.recording.reward == 1)
    }


@pytest.fixture
def _installed() -> None:
    """τ²'s domains, or a skip: `TAU2_BENCH` names a checkout."""
    find_source.cache_clear()
    if "TAU2_BENCH" not in os.environ:
        pytest.skip("TAU2_BENCH names no checkout of τ²-bench")


@needs_shared
@pytest.mark.real
@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize("domain", ["airline", "retail", "telecom"])
def test_verdicts_on_recorded_conversations(domain: str, tmp_path: Path) -> None:
    """351 conversations of real models."""
    file = DATA / f"transcripts/{domain}.jsonl"
    tasks = str(file.with_suffix(".tasks.jsonl"))
    found = judged(tmp_path, agent={"transcripts": str(file)}, environment={"tau2": domain}, scenarios=[tasks])

    differing = apart(found, domain)
    assert differing.keys() == LISTED[domain].keys()
    assert not any(differing.values())


@needs_shared
@pytest.mark.real
@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize("domain", ["mock", "retail", "telecom"])
def test_verdicts_on_labelled_trajectories(domain: str, tmp_path: Path) -> None:
    """1,465 right and perturbed trajectories, graded by τ²'s evaluator."""
    file = DATA / f"labelled/{domain}.jsonl"
    tasks = str(DATA / f"domains/{domain}/tasks.json")
    found = judged(tmp_path, agent={"transcripts": str(file)}, environment={"tau2": domain}, scenarios=[tasks])

    differing = apart(found, f"labelled {domain}")
    assert differing.keys() == LISTED[f"labelled {domain}"].keys()


@needs_shared
@pytest.mark.real
def test_verdicts_on_the_logs_of_tau_bench(tmp_path: Path) -> None:
    """At least 199 of 200 conversations of gpt-4o; `TAU_BENCH` names a checkout of τ-bench, which has them."""
    if "TAU_BENCH" not in os.environ:
        pytest.skip("TAU_BENCH names no checkout of τ-bench")
    log = Path(os.environ["TAU_BENCH"]) / "historical_trajectories/gpt-4o-airline.json"
    runs = json.loads(log.read_text())
    tasks = {run["task_id"]: run["info"]["task"] for run in runs}
    (tmp_path / "v1.json").write_text(json.dumps([tasks[number] for number in sorted(tasks)]))
    (tmp_path / "tasks.json").write_text(json.dumps(export_tasks(read_tau_bench(tmp_path / "v1.json"))))
    tools = str(DATA / "domains/airline/tools.json")
    found = judged(tmp_path, agent={"transcripts": str(log)}, environment={"tools": tools}, scenarios=["tasks.json"])

    assert len(found) == 200
    assert apart(found, "τ-bench").keys() == LISTED["τ-bench"].keys()
    assert len(LISTED["τ-bench"]) <= 1
