"""Suites whose environment is a domain of τ²-bench: played, recorded, judged, and without τ² at hand."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, structured
from tests.plugin.project import Project
from tests.tau2.toy import write_checkout

AGENT = """
def build(tools, text="NY"):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        call["write"](key="d", text=text)
        return "Written: NY, as you wished."

    return reply
"""

TASK = {
    "id": "t1",
    "user_scenario": {
        "instructions": {"domain": "notes", "reason_for_call": "Write a note d", "task_instructions": ""}
    },
    "initial_state": {
        "initialization_actions": [{"env_type": "assistant", "func_name": "drop", "arguments": {"key": "a"}}]
    },
    "evaluation_criteria": {
        "actions": [{"action_id": "1", "name": "write", "arguments": {"key": "d", "text": "NY"}}],
        "env_assertions": [{"env_type": "assistant", "func_name": "has_note", "arguments": {"key": "d"}}],
        "communicate_info": ["NY"],
        "nl_assertions": ["The agent says what it wrote."],
        "reward_basis": ["DB", "ENV_ASSERTION", "COMMUNICATE"],
    },
}


def write(
    project: Project, *, agent: Any = "notes_agent:build", task: dict[str, Any] | None = None, **keys: Any
) -> None:
    """Write a suite on the toy domain."""
    form = {
        "agent": agent,
        "environment": {"tau2": "notes", "checkout": "checkout"},
        "scenarios": ["tasks.json"],
        **keys,
    }
    if "checkout" in form["environment"]:
        write_checkout(project.pytester.path / "bench/checkout")
    project.write("bench/agentbench.yaml", json.dumps(form))
    project.write("bench/tasks.json", json.dumps([task or TASK]))
    project.write("bench/notes_agent.py", AGENT)


def only(project: Project) -> Result:
    """Give the one result of the last session."""
    (result,) = project.document.results
    return result


@pytest.mark.usefixtures("checkout")
def test_a_domain_is_played_and_graded_as_tau2_does(project: Project) -> None:
    """The task's own initial calls are made, our verdict is the state's, and the reward stands beside it."""
    write(project)

    project.run().assert_outcomes(passed=1)

    metrics = only(project).metrics
    assert {name: metrics[f"tau2_{name}"] for name in ("reward", "db", "env_assertion", "action", "communicate")} == {
        "reward": 1.0,
        "db": 1.0,
        "env_assertion": 1.0,
        "action": 1.0,
        "communicate": 1.0,
    }
    assert metrics["tau2_nl_assertion"] is None


@pytest.mark.usefixtures("checkout")
def test_a_difference_is_told_by_row(project: Project) -> None:
    """What τ² calls 0 is a row that differs."""
    write(project, variants={"wrong": {"text": "LA"}})

    result = project.run()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*notes.d.text: expected 'NY', is 'LA'*"])
    metrics = only(project).metrics
    assert (metrics["tau2_reward"], metrics["tau2_db"], metrics["tau2_env_assertion"]) == (0.0, 0.0, 1.0)


RECORDED = {
    "task_id": "t1",
    "termination_reason": "user_stop",
    "messages": [
        {"role": "user", "content": "Write a note d"},
        {"role": "assistant", "tool_calls": [{"id": "1", "name": "write", "arguments": {"key": "d", "text": "NY"}}]},
        {"role": "tool", "id": "1", "content": "{'key': 'd'}"},
        {"role": "assistant", "content": "Written: NY."},
        {"role": "user", "content": "###STOP###"},
    ],
}


@pytest.mark.usefixtures("checkout")
def test_recordings_are_replayed(project: Project) -> None:
    """The recorded calls are made again in the domain, and compared."""
    write(project, agent={"transcripts": "runs.jsonl"})
    project.write("bench/runs.jsonl", json.dumps(RECORDED))

    project.run().assert_outcomes(passed=1)

    assert only(project).metrics["tau2_reward"] == 1.0


@pytest.mark.usefixtures("checkout")
def test_a_recording_that_ended_elsewhere_tells_the_rows(project: Project) -> None:
    """Beside the calls that were wrong stand the rows in which the replayed world differs from the expected one."""
    write(project, agent={"transcripts": "runs.jsonl"})
    project.write("bench/runs.jsonl", json.dumps(RECORDED).replace('"text": "NY"', '"text": "LA"'))

    project.run().assert_outcomes(failed=1)

    result = only(project)
    rows = [finding.message for finding in result.findings if finding.message.startswith("notes.d.")]
    assert result.metrics["tau2_db"] == 0.0
    assert rows == ["notes.d.text: expected 'NY', is 'LA'"]


def test_without_tau2_recordings_are_judged_by_what_needs_no_world(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts that need a world are not measured, and say what is missing."""
    monkeypatch.setenv("TAU2_BENCH", str(project.pytester.path / "nowhere"))
    write(project, agent={"transcripts": "runs.jsonl"}, environment={"tau2": "notes"})
    project.write("bench/runs.jsonl", json.dumps(RECORDED))

    project.run().assert_outcomes(passed=1)

    result = only(project)
    assert (result.metrics["tau2_reward"], result.metrics["tau2_db"]) == (None, None)
    assert (result.metrics["tau2_action"], result.metrics["tau2_communicate"]) == (1.0, 1.0)
    assert any("tau2_reward, not measured" in finding.message for finding in result.findings)


def test_without_tau2_nothing_is_played(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The collection error names both ways to get a domain."""
    monkeypatch.delenv("TAU2_BENCH", raising=False)
    write(project, environment={"tau2": "no-such-domain"})

    result = project.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*environment: no world of the τ² domain 'no-such-domain': *inspect_evals*"])


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"tau2": "notes", "tools": "mine"}, "tau2: notes brings its own tools"),
        ({"tau2": "notes", "state": {"json": "x.json"}}, "tau2: notes brings its own state"),
        ({"checkout": "."}, "checkout belongs beside tau2"),
        ({"tau2": "notes", "checkout": "nowhere"}, "there is no folder 'nowhere'"),
    ],
)
def test_what_does_not_go_with_a_domain_is_refused(project: Project, environment: dict[str, Any], told: str) -> None:
    """A domain brings tools and state."""
    write(project, environment=environment)

    result = project.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*{told}*"])


def judging(met: int) -> Callable[[ModelRequest], Answer]:
    """Give a judge that answers every sentence alike."""

    def answer(request: ModelRequest) -> Answer:
        shown = {"evidence": [{"turn": 2, "quote": "Written: NY"}], "reason": "so it is"}
        return structured({"verdicts": [{"criterion": "nl-1", "applies": True, **shown, "score": met}]})

    return answer


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize("met", [0, 1])
def test_a_judge_answers_the_sentences(project: Project, met: int) -> None:
    """With a judge NL_ASSERTION is measured, and counts where the basis names it; our verdict stays what it is."""
    criteria = TASK["evaluation_criteria"] | {"reward_basis": ["DB", "NL_ASSERTION"]}
    with ModelServer({"judge": judging(met)}) as server:
        write(
            project,
            task={**TASK, "evaluation_criteria": criteria},
            llm={"base_url": server.base_url},
            judge={"llm": {"model": "judge"}},
        )
        project.run("--agentbench-cassette=off").assert_outcomes(passed=1)

    metrics = only(project).metrics
    assert (metrics["tau2_nl_assertion"], metrics["tau2_reward"], metrics["tau2_db"]) == (met, met, 1.0)


SPLITS = {"train": ["t1"], "test": ["t2"]}


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize(
    ("split", "told"),
    [
        ("test", "bench/agentbench.yaml::t2"),
        ("tset", "*:1:*: environment.split: 'notes' has no split 'tset': the splits are test, train"),
    ],
)
def test_a_split_is_played_by_its_name(project: Project, split: str, told: str) -> None:
    """The other tasks of the files are left out; a name that there is not is told with those that there are."""
    write(project, environment={"tau2": "notes", "checkout": "checkout", "split": split})
    project.write("bench/tasks.json", json.dumps([TASK, {**TASK, "id": "t2"}]))
    project.write("bench/checkout/data/tau2/domains/notes/split_tasks.json", json.dumps(SPLITS))

    result = project.run("--co", "-q")

    result.stdout.fnmatch_lines([told])
    result.stdout.no_fnmatch_line("*::t1")


ALONE = """
def build(tools, state):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        assert message == "Ring the bell." and state.policy == "Alone."
        call["ring"]()
        return "Rung."

    return reply
"""


@pytest.mark.usefixtures("checkout")
def test_an_agent_works_alone(project: Project) -> None:
    """It is told the ticket and nothing else, and has the user's tools; a task without a ticket is refused."""
    write(project, environment={"tau2": "bells", "checkout": "checkout", "solo": True})
    task = {
        "id": "bell",
        "user_scenario": {"instructions": "You want the bell rung."},
        "ticket": "Ring the bell.",
        "evaluation_criteria": {"actions": [{"action_id": "1", "name": "ring", "requestor": "user", "arguments": {}}]},
    }
    project.write("bench/tasks.json", json.dumps([task]))
    project.write("bench/notes_agent.py", ALONE)

    project.run().assert_outcomes(passed=1)
    assert only(project).metrics["tau2_db"] == 1.0

    project.write("bench/tasks.json", json.dumps([{**task, "ticket": None}]))
    project.run().stdout.fnmatch_lines(["*task 'bell' has no ticket, so no agent can play it alone"])
