"""What the Python interface refuses before it plays anything, and what of a suite counts in it."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench import SuiteError, run_suite, run_suite_async, simulate, simulate_async
from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.results.document import comparable, read
from tests.forking import Worker, session

AGENT = """
from pathlib import Path


def build():
    def reply(message):
        Path("played").write_text(message)
        return "no" if message == "bad" else "OK"

    return reply
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Give what writes a suite: whether a scenario passes is what its user says, `good` or `bad`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "options_agent.py").write_text(AGENT)

    def write(*scenarios: dict[str, Any], **keys: Any) -> Path:
        file = tmp_path / "agentbench.yaml"
        stated = [{"communicate": ["OK"], **one} for one in scenarios or [GOOD]]
        file.write_text(json.dumps({"agent": "options_agent:build", "scenarios": stated, **keys}))
        return file

    return write


GOOD = {"id": "good", "says": ["good"]}
BAD = {"id": "bad", "says": ["bad"]}
OVER = {"owner": "ann", "reason": "flaky", "until": "2020-01-01"}
APART = {**OVER, "until": "2999-01-01"}


def test_what_is_left_out_is_in_no_plan_gate_and_count(suite: Callable[..., Path]) -> None:
    """As in pytest, which writes the same results."""
    file = suite(GOOD, {**BAD, "skip": "broken"}, {**BAD, "id": "worse", "xfail": "known"}, gates=["success >= 1"])
    played = run_suite(file)
    Worker(session, Path.cwd(), "--agentbench-json=theirs.json").result()
    theirs, ours = (comparable(read(one)) for one in (Path("theirs.json"), played.write("here")))

    assert [one.result.key.scenario for one in played] == ["good"]
    assert (played.passed, [gate.n for gate in played.gates]) == (True, [1, 1])
    assert (ours["suites"], ours["gates"]) == (theirs["suites"], theirs["gates"])
    with pytest.raises(ValueError, match=r"nothing to play: each scenario asked for says `skip` or `xfail`"):
        run_suite(file, scenarios=["bad"])


def test_what_is_set_aside_fails_nothing_until_its_quarantine_is_over(suite: Callable[..., Path]) -> None:
    """Nor do gates that no run can meet wait for one."""
    played = run_suite(suite(GOOD, {**BAD, "quarantine": APART}))

    assert ([one.passed for one in played], played.passed) == ([True, False], True)
    assert not run_suite(suite(GOOD, BAD)).passed
    Path("played").unlink()
    file = suite({**BAD, "quarantine": OVER}, gates=["pass^3 >= 1"])
    with pytest.raises(SuiteError) as caught:
        run_suite(file)
    assert "that of bad ended on 2020-01-01; ann owns it: flaky" in str(caught.value)
    assert "the gate 'pass^3 >= 1' needs 3 trials of a scenario, and the suite plays 1" in str(caught.value)
    assert not Path("played").exists()


def test_a_suite_is_held_against_a_baseline(suite: Callable[..., Path]) -> None:
    """Given as results or as their file; one that cannot be read is told before anything is played."""
    gates = ["regression < 0.5", "success >= 1 * baseline"]
    before = run_suite(suite(GOOD, gates=gates))
    kept = before.write("kept")

    assert not before.passed
    assert run_suite(suite(GOOD, gates=gates), baseline=kept).passed
    assert asyncio.run(run_suite_async(suite(GOOD, gates=gates), baseline=before.document)).passed
    Path("worse_agent.py").write_text(AGENT.replace('"OK"', '"no"'))
    worse = run_suite(suite(GOOD, gates=gates, agent="worse_agent:build"), baseline=kept)
    assert not worse.passed
    assert [gate.label for gate in worse.gates if gate.failed] == ["success >= 1 * baseline"]
    Path("played").unlink()
    with pytest.raises(ResultsError, match=r"none.json cannot be read"):
        run_suite(suite(), baseline="none.json")
    assert not Path("played").exists()


@pytest.mark.parametrize(
    ("asked", "error", "why"),
    [
        ({"scenarios": []}, ValueError, "scenarios must name at least one"),
        ({"scenarios": "good"}, ValueError, "scenarios must be a list of names, got the text 'good'"),
        ({"trials": 0}, ValueError, "trials must be a whole number >= 1, or None for the suite's own, got 0"),
        ({"trials": -1}, ValueError, "trials must be a whole number >= 1"),
        ({"scenrios": ["good"]}, TypeError, r"run_suite\w*\(\) has no option 'scenrios' .did you mean 'scenarios'"),
        ({"max_cots": 1}, TypeError, r"has no option 'max_cots' .did you mean 'max_cost'"),
        ({"workers": 1}, TypeError, r"has no option 'workers' .there are: suite, variants, scenarios, trials, "),
        (
            {"max_calls": -1},
            ValueError,
            r"max_calls must be a whole number >= 0 and less than 2\*\*62, or None, got -1",
        ),
        ({"max_cost": float("nan")}, ValueError, "max_cost must be US dollars >= 0"),
        ({"concurrency": 0}, ValueError, "concurrency must be a whole number >= 1, got 0"),
        ({"seed": "1"}, ValueError, "seed must be a whole number, got '1'"),
        ({"judge": "no"}, ValueError, "judge must be True or False, got 'no'"),
        (
            {"cassette": "nope"},
            ValueError,
            "cassette must be one of 'off', 'replay', 'record', 'refresh', got 'nope'",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_played(
    suite: Callable[..., Path], asked: dict[str, Any], error: type[Exception], why: str
) -> None:
    """With what is allowed; on either loop."""
    file = suite()

    with pytest.raises(error, match=why):
        run_suite(file, **asked)
    with pytest.raises(error, match=why):
        asyncio.run(run_suite_async(file, **asked))
    assert not Path("played").exists()


@pytest.mark.parametrize(
    ("asked", "error", "why"),
    [
        ({"communicate": "OK"}, ValueError, "communicate must be a list of texts, got the text 'OK'"),
        ({"expect": {"refund": {}}}, ValueError, "expect must be a list of calls, got {'refund': {}}"),
        ({"says": "good"}, ValueError, "says must be a list of lines, got the text 'good'"),
        ({"sais": ["good"]}, TypeError, r"simulate\w*\(\) has no option 'sais' .did you mean 'says'"),
        ({"cassette": "nope"}, ValueError, "cassette must be one of"),
    ],
)
def test_a_conversation_refuses_what_makes_no_sense(
    suite: Callable[..., Path], asked: dict[str, Any], error: type[Exception], why: str
) -> None:
    """As a suite does."""
    file = suite()

    with pytest.raises(error, match=why):
        simulate(suite=file, **asked)
    with pytest.raises(error, match=why):
        asyncio.run(simulate_async(suite=file, **asked))
    assert not Path("played").exists()


@pytest.mark.parametrize("given", [{"agent": lambda _: "hi"}, {"says": ["Hello"]}])
def test_a_recording_is_not_played_with_another_agent_or_other_lines(
    suite: Callable[..., Path], given: dict[str, Any]
) -> None:
    """Neither is dropped in silence."""
    said = [{"role": "user", "content": "good"}, {"role": "assistant", "content": "OK"}]
    Path("runs.jsonl").write_text(json.dumps({"scenario": "good", "messages": said}) + "\n")
    file = suite(agent={"transcripts": "runs.jsonl"})

    assert simulate(suite=file).reply == "OK"
    with pytest.raises(ValueError, match=rf"{next(iter(given))} cannot be given: the suite judges recorded"):
        simulate(suite=file, **given)
