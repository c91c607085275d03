"""Our parts beside those of τ²'s own evaluators, in one process: equal, and faster (printed)."""

import json
import os
import statistics
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.tau2_databases import Theirs, compared
from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.run import Run, RunKey
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.suites.transcripts import read_recordings
from pytest_agentbench.tau2.checkout import CheckoutSource, package_of
from pytest_agentbench.tau2.replay import Replayer
from pytest_agentbench.tau2.reward import tau2_reward
from tests.shared_data import SHARED, needs_shared

DATA = SHARED / "data/tau2/transcripts"


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package of the checkout that `TAU2_BENCH` names; its modules are gone afterwards."""
    if "TAU2_BENCH" not in os.environ:
        pytest.skip("TAU2_BENCH names no checkout of τ²-bench")
    found = package_of(Path(os.environ["TAU2_BENCH"]))
    monkeypatch.setenv("TAU2_DATA_DIR", str(found.parent.parent / "data"))
    yield found
    for name in [name for name in sys.modules if name.partition(".")[0] == "tau2"]:
        del sys.modules[name]


@needs_shared
@pytest.mark.real
@pytest.mark.parametrize("domain", ["airline", "retail", "telecom"])
def test_equal_parts_in_less_time(domain: str, package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every recorded conversation that a party closed, CPU time of both printed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs, replayer = Theirs(package), Replayer(CheckoutSource(domain, package))
        except (ImportError, EnvironmentFaultError) as error:
            pytest.skip(f"τ²-bench cannot be loaded: {error}")
        spent: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for line, run in closed(domain):
            task = theirs.task.model_validate(run.scenario.task.model_dump(exclude_unset=True))
            messages = [theirs.message[one["role"]].model_validate(one) for one in line["messages"]]
            begun = time.process_time()
            expected = theirs.parts(domain, task, messages, solo=line["solo"])
            between = time.process_time()
            calls = [record.call for record in run.transcript.trajectory]
            ours = tau2_reward(run, replayer.replay(run.scenario.task, calls, solo=line["solo"]))
            spent["solo" if line["solo"] else ""].append((between - begun, time.process_time() - between))
            assert {part: ours.parts[part] for part in expected} == expected, line["sim_id"]
    for mode, pairs in spent.items():
        them, us = (1000 * statistics.mean(one) for one in zip(*pairs, strict=True))
        with capsys.disabled():
            print(f"\n{domain} {mode}: n={len(pairs)} theirs {them:.1f} ms, ours {us:.2f} ms: {them / us:.0f} x")
        assert us < them


@pytest.mark.real
def test_equal_databases_where_nothing_is_recorded(package: Path) -> None:
    """All 97 tasks of `banking_knowledge`: its expected calls, and none, by both evaluators; no retrieval is asked."""
    try:
        found = list(compared("banking_knowledge", package, ("oracle", "noop")))
    except (ImportError, EnvironmentFaultError) as error:
        pytest.skip(f"τ²-bench cannot be loaded: {error}")
    assert [one for one in found if one[2] is not one[3]] == []
    assert sum(name == "oracle" and theirs for _, name, theirs, _ in found) == 97
    assert sum(name == "noop" and theirs for _, name, theirs, _ in found) == 4  # they ask for reads alone
    assert len(found) == 2 * 97


def closed(domain: str) -> Iterator[tuple[dict[str, Any], Run]]:
    """The conversations that a party closed, as recorded and as runs."""
    lines = [json.loads(text) for text in (DATA / f"{domain}.jsonl").read_text().splitlines()]
    stated = map(json.loads, (DATA / f"{domain}.tasks.jsonl").read_text().splitlines())
    tasks = {one["task_key"]: Task.model_validate(one["task"]) for one in stated}
    for line, recording in zip(lines, read_recordings(DATA / f"{domain}.jsonl"), strict=True):
        if recording.termination is Termination.FINISHED:
            yield (
                line,
                Run(
                    key=RunKey(suite=domain, scenario=line["task_id"]),
                    scenario=Scenario(id="t", title="t", task=tasks[line["task_key"]]),
                    transcript=recording.transcript,
                    termination=Termination.FINISHED,
                    stop_reason=recording.stop_reason,
                ),
            )
