"""Recorded conversations are scored as items, without running anything."""

import json
from collections import defaultdict

import pytest

from pytest_agentbench.core.run import Result
from tests.plugin.project import Project
from tests.shared_data import SHARED, needs_shared

LOG = [
    {
        "task_id": "refund-w1",
        "messages": [
            {"role": "user", "content": "Refund W1"},
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "refund", "arguments": '{"order_id": "W1"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "1", "content": "ok"},
            {"role": "assistant", "content": "Refunded."},
        ],
    },
    {
        "task_id": "refund-w1",
        "status": "crashed",
        "messages": [
            {"role": "user", "content": "Refund W1"},
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "refund", "arguments": "{broken"}}]},
        ],
    },
]


def test_openai_logs_are_items_with_trials(anywhere: Project) -> None:
    """Several recordings of one scenario are its trials; a status field is respected, its absence inferred."""
    anywhere.write("bench/runs.jsonl", "\n".join(json.dumps(line) for line in LOG))
    anywhere.write(
        "bench/agentbench.yaml",
        """\
        agent: {transcripts: runs.jsonl}
        scenarios:
          - id: refund-w1
            expect: [{refund: {order_id: W1}}]
        """,
    )

    result = anywhere.run()

    result.assert_outcomes(passed=1, failed=1)
    runs = anywhere.document.results
    assert [(run.key.trial, run.termination, run.verdict) for run in runs] == [
        (1, "FINISHED", "passed"),
        (2, "CRASHED", "failed"),
    ]
    assert runs[0].metrics["strict_recall"] == 1.0


def test_a_log_that_breaks_off_is_nobodys_known_fault(project: Project) -> None:
    """A log without a status that was cut off counts against the agent only by what is proven before that."""
    logs = [{"task_id": task, "messages": LOG[1]["messages"]} for task in ("cut", "forbidden")]
    project.write("bench/runs.jsonl", "\n".join(map(json.dumps, logs)))
    project.write(
        "bench/agentbench.yaml",
        """\
        agent: {transcripts: runs.jsonl}
        scenarios: [{id: cut, says: [Hi], expect: [refund, pay]}, {id: forbidden, says: [Hi], never: [refund]}]
        """,
    )

    result = project.run()

    runs = project.document.results
    assert [(run.termination, run.verdict, run.blame) for run in runs] == [
        ("CRASHED", "error", "unclear"),
        ("CRASHED", "failed", "agent"),
    ]
    result.stdout.fnmatch_lines(["*the log ends with a call that has no answer, and nothing tells how it went on*"])


def test_a_recording_without_a_scenario_is_a_collection_error(project: Project) -> None:
    """The line of the recording is named."""
    project.write("bench/runs.jsonl", "\n".join(json.dumps(line) for line in LOG))
    project.write(
        "bench/agentbench.yaml", "agent: {transcripts: runs.jsonl}\nscenarios: [{id: other, says: [hello]}]\n"
    )

    result = project.run()

    assert result.ret == 2
    result.stdout.fnmatch_lines(["*runs.jsonl:1:1: the suite has no scenario 'refund-w1'*"])


@pytest.mark.slow
@needs_shared
def test_the_recorded_tau2_conversations_run_as_items(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """351 recordings of real models: each an item, with recall and a breakdown per model (printed)."""
    data = SHARED / "data/tau2"
    for domain in ("airline", "retail", "telecom"):
        suite = {
            "agent": {"transcripts": str(data / f"transcripts/{domain}.jsonl")},
            "environment": {"tools": str(data / f"domains/{domain}/tools.json")},
            "scenarios": [str(data / f"transcripts/{domain}.tasks.jsonl")],
        }
        project.write(f"bench/{domain}.agentbench.yaml", json.dumps(suite))

    project.run("--tb=no", "-q")

    by_model: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for run in project.document.results:
        by_model[run.key.suite.split(".")[0].rpartition("/")[2], run.key.variant].append(run)
    with capsys.disabled():
        print(f"\n{'domain':8} {'model':54} {'n':>4} {'passed':>6} {'R_name':>7} {'R_strict':>8}")
        for (domain, model), runs in sorted(by_model.items()):
            passed = sum(run.passed for run in runs)
            print(f"{domain:8} {model:54} {len(runs):4} {passed:6} {mean(runs, 'name_recall')} ", end="")
            print(mean(runs, "strict_recall"))
    assert len(project.document.results) == 351
    assert {len(runs) for runs in by_model.values()} >= {20, 40, 50}


def mean(runs: list[Result], metric: str) -> str:
    """Give the mean of a metric over the runs that measured it."""
    values = [value for run in runs if (value := run.metrics.get(metric)) is not None]
    return f"{sum(values) / len(values):7.2f}" if values else f"{'–':>7}"
