"""`agentbench parity`: the agreement table over τ² recordings."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.tau2.checkout import find_source
from tests.shared_data import SHARED, needs_shared

DATA = SHARED / "data/tau2"
EXCEPTIONS = Path(__file__).with_name("calls_only.json")

TASK = {
    "id": "t1",
    "user_scenario": {},
    "evaluation_criteria": {
        "actions": [{"action_id": "a", "name": "put", "arguments": {"n": 1}}],
        "communicate_info": ["done"],
        "reward_basis": ["ACTION", "COMMUNICATE"],
    },
}


def recorded(*, met: bool = True, task_id: str = "t1", arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    """A recording in which the call was made and the info said."""
    action = {"action_id": "a", "name": "put", "arguments": arguments or {"n": 1}}
    return {
        "sim_id": "s1",
        "domain": "toy",
        "task_id": task_id,
        "termination_reason": "user_stop",
        "reward_info": {
            "reward": 1.0,
            "db_check": {"db_match": True},
            "action_checks": [{"action": action, "action_match": True}],
            "communicate_checks": [{"info": "done", "met": met}],
            "reward_basis": ["ACTION", "COMMUNICATE"],
        },
        "messages": [
            {
                "role": "assistant",
                "content": "Done.",
                "tool_calls": [{"id": "1", "name": "put", "arguments": {"n": 1}}],
            },
            {"role": "tool", "id": "1", "content": "ok"},
        ],
    }


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """A file of one recording, its task beside it."""
    (tmp_path / "toy.tasks.jsonl").write_text(json.dumps({"task_key": "k", "task": TASK}))
    file = tmp_path / "toy.jsonl"
    file.write_text(json.dumps(recorded()))
    return file


def rows(printed: str) -> dict[str, tuple[int, ...]]:
    """The table of one domain: row to (recorded, agree, differ, skipped)."""
    found: dict[str, tuple[int, ...]] = {}
    for line in printed.splitlines():
        words = line.split()
        if len(words) > 4 and all(word.isdigit() for word in words[-4:]):
            found[" ".join(words[:-4])] = tuple(map(int, words[-4:]))
    return found


def test_agreement_is_counted_and_what_was_skipped_is_said(
    recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a world DB is skipped, which the exit status tells; where everything was compared it is 0."""
    assert main(["parity", "--world", "none", str(recordings), str(recordings.with_name("toy.tasks.jsonl"))]) == 3

    printed = capsys.readouterr().out
    assert rows(printed) == {
        "reward": (1, 1, 0, 0),
        "DB": (1, 0, 0, 1),
        "DB (calls only)": (1, 0, 0, 1),
        "ACTION": (1, 1, 0, 0),
        "COMMUNICATE": (1, 1, 0, 0),
    }
    assert "toy: 1 recording, not replayed, as asked" in printed
    assert "DB: 1 × needs the domain's own tools" in printed
    whole = recorded()
    del whole["reward_info"]["db_check"]
    recordings.write_text(json.dumps(whole))
    assert main(["parity", "--world", "none", str(recordings)]) == 0


def test_what_can_be_compared_is_compared_beside_what_cannot(
    recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line that is none, and a recording without its task, take nothing from the others; both are named."""
    lines = [json.dumps(recorded(task_id="t2")), "{", json.dumps(recorded())]
    recordings.write_text("\n".join(lines))

    assert main(["parity", "--world", "none", str(recordings)]) == 3

    printed = capsys.readouterr().out
    assert rows(printed)["ACTION"] == (1, 1, 0, 0)
    assert "not compared: " in printed
    assert "toy.jsonl:1:1: no task 't2' is at hand" in printed
    assert "toy.jsonl:2:1: this is not JSON" in printed


def test_a_difference_is_listed_and_fails(recordings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its id, and as JSON on request."""
    recordings.write_text(json.dumps(recorded(met=False)))

    assert main(["parity", "--world", "none", str(recordings)]) == 1
    assert "toy s1 COMMUNICATE done: recorded False, ours True" in capsys.readouterr().out
    assert main(["parity", "--world", "none", "--json", str(recordings)]) == 1
    assert [one["row"] for one in json.loads(capsys.readouterr().out)["differ"]] == ["COMMUNICATE"]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (recorded(task_id="t2"), "toy.jsonl:1:1: no task 't2' is at hand"),
        (recorded(arguments={"n": 2}), "it was graded with another version of task 't1'"),
        ({**recorded(), "reward_info": None}, "the recording holds no reward_info to compare with"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    recordings: Path, capsys: pytest.CaptureFixture[str], record: dict[str, Any], message: str
) -> None:
    """A recording is only reproducible with the task it was graded with."""
    recordings.write_text(json.dumps(record))

    assert main(["parity", "--world", "none", str(recordings)]) == 2
    assert message in capsys.readouterr().err


def test_a_results_file_holds_its_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """τ²'s own results files need nothing beside them."""
    run = recorded()
    del run["domain"]
    results = {"info": {"environment_info": {"domain_name": "toy"}}, "tasks": [TASK], "simulations": [run]}
    (tmp_path / "results.json").write_text(json.dumps(results))

    assert main(["parity", "--world", "none", str(tmp_path / "results.json")]) == 3  # DB was recorded, too
    assert "toy: 1 recording" in capsys.readouterr().out


def test_a_checkout_that_is_none_is_refused(recordings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Naming one means wanting it."""
    assert main(["parity", "--world", str(recordings.parent), str(recordings)]) == 2
    assert "is no checkout of τ²-bench" in capsys.readouterr().err


@pytest.mark.slow
@needs_shared
def test_the_parts_without_environment_agree_with_every_recording(capsys: pytest.CaptureFixture[str]) -> None:
    """351 conversations and 1,465 labelled trajectories: every ACTION and COMMUNICATE check (table printed)."""
    found = whole("none", capsys)

    agreed = {
        row: sum(one["agree"] for one in found["table"] if one["row"] == row) for row in ("ACTION", "COMMUNICATE")
    }
    assert agreed == {"ACTION": 8290, "COMMUNICATE": 418}
    assert [one for one in found["differ"] if one["row"] != "DB (calls only)"] == []


@pytest.mark.slow
@needs_shared
def test_the_stand_in_for_the_database_errs_where_it_is_known_to(capsys: pytest.CaptureFixture[str]) -> None:
    """Each exception is listed with its reason; among recorded conversations none passes what τ² fails."""
    exceptions = json.loads(EXCEPTIONS.read_text())

    found = whole("none", capsys)["differ"]

    assert {(one["domain"], one["run"]) for one in found} == {
        (domain, run) for domain, listed in exceptions.items() for run in listed
    }
    passes = [one["run"] for one in found if one["ours"]]
    assert passes == [run for run, why in exceptions["retail"].items() if why.startswith("FALSE PASS")]


@pytest.fixture
def installed() -> list[str]:
    """The domains whose worlds are installed here."""
    find_source.cache_clear()
    there = []
    for domain in ("airline", "retail", "telecom", "mock"):
        try:
            find_source(domain)
        except EnvironmentFaultError:
            continue
        there.append(domain)
    if not there:
        pytest.skip("neither τ²-bench (TAU2_BENCH) nor inspect_evals is installed")
    return there


@needs_shared
@pytest.mark.real
def test_every_verdict_is_equal_where_the_domains_are_installed(
    installed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Reward, DB and every assertion, in all that can be replayed."""
    found = whole("auto", capsys)

    exact = [one for one in found["table"] if one["domain"] in installed]
    assert [one for one in exact if one["differ"] and one["row"] != "DB (calls only)"] == []
    assert [one for one in exact if one["skipped"] and one["row"] in ("reward", "DB", "ENV_ASSERTION")] == []


def whole(world: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The table over all data, printed, and as JSON."""
    files = [str(file) for folder in ("transcripts", "labelled") for file in sorted((DATA / folder).glob("*.jsonl"))]
    asked = ["parity", *files, "--domains", str(DATA / "domains"), "--world", world]
    main(asked)
    with capsys.disabled():
        print("\n" + capsys.readouterr().out.partition("differ in")[0])
    main([*asked, "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found
