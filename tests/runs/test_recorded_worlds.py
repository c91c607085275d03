"""Recordings whose world can be made again are judged by the state that it ends in, as played runs are."""

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.run import Result
from tests.plugin.project import Project
from tests.tau2.toy import toy_checkout

TOOLS = """
import uuid

def get_order(state: dict, order_id: str) -> dict:
    return state["orders"][order_id]

def refund(state: dict, order_id: str, amount: int) -> dict:
    if order_id not in state["orders"]:
        raise ValueError("no such order")
    made = {"id": f"RF-{uuid.uuid4().hex[:8]}", "order": order_id, "amount": amount}
    state["refunds"][made["id"]] = made
    state["orders"][order_id]["refunded"] = state["orders"][order_id].get("refunded", 0) + amount
    return made

def correct_refund(state: dict, refund_id: str, amount: int) -> dict:
    made = state["refunds"][refund_id]
    state["orders"][made["order"]]["refunded"] += amount - made["amount"]
    made["amount"] = amount
    return state["refunds"][refund_id]

def add_note(state: dict, order_id: str, tags: list) -> str:
    state["orders"][order_id]["tags"] = sorted(tags)
    return "noted"
"""

AGENT = """
def build(tools, steps):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        found = None
        for name, arguments in steps:
            if "refund_id" in arguments:
                arguments = {**arguments, "refund_id": found["id"]}
            try:
                found = call[name](**arguments)
            except Exception:
                pass
        return "Done."

    return reply
"""

ROWS = {"orders": {"W1": {"tags": []}, "W2": {"tags": []}}, "refunds": {}}

REFUND = ["refund", {"order_id": "W1", "amount": 5}]
NOTE = ["add_note", {"order_id": "W1", "tags": ["a", "b"]}]

STEPS = {
    "right": [NOTE, REFUND],
    "reordered": [REFUND, ["add_note", {"order_id": "W1", "tags": ["b", "a"]}]],
    "corrected": [
        ["refund", {"order_id": "W1", "amount": 9}],
        ["correct_refund", {"refund_id": "", "amount": 5}],
        NOTE,
    ],
    "retried": [["refund", {"order_id": "W7", "amount": 5}], REFUND, NOTE],
    "wrong": [["refund", {"order_id": "W1", "amount": 6}], NOTE],
    "besides": [REFUND, NOTE, ["add_note", {"order_id": "W2", "tags": ["c"]}]],
    "twice": [REFUND, REFUND, NOTE],
    "nothing": [],
}

SUITE: dict[str, Any] = {
    "agent": "replayed_agent:build",
    "environment": {"tools": "shop", "state": {"json": "rows.json", "ignore": ["refunds"]}},
    "variants": {name: {"steps": steps} for name, steps in STEPS.items()},
    "scenarios": [
        {
            "id": "refund",
            "says": ["Refund W1"],
            "expect": [{"add_note": NOTE[1]}, {"refund": REFUND[1]}],
        }
    ],
}


RECORDED = {**{key: value for key, value in SUITE.items() if key != "variants"}, "agent": {"transcripts": "runs.jsonl"}}


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process."""
    return Project(pytester=pytester)


def write(project: Project, suite: dict[str, Any], tools: str = TOOLS) -> None:
    """Write a suite with its tools, rows and agent."""
    project.write("bench/agentbench.yaml", json.dumps(suite))
    project.write("bench/shop.py", textwrap.dedent(tools))
    project.write("bench/replayed_agent.py", AGENT)
    project.write("bench/rows.json", json.dumps(ROWS))


def call(name: str, /, result: object, *, error: bool = False, by: str = "assistant", **arguments: Any) -> list[Any]:
    """A call and its answer, in the OpenAI format."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    made = {"role": by, "tool_calls": [{"id": "c", "type": "function", "function": function}]}
    text = result if isinstance(result, str) else json.dumps(result)
    return [made, {"role": "tool", "tool_call_id": "c", "content": text, "error": error}]


def scored(project: Project, *parts: list[Any], **suite: Any) -> Result:
    """Judge one recorded conversation of these calls."""
    messages = [{"role": "user", "content": "Refund W1"}, *[one for part in parts for one in part]]
    log = {"id": "refund", "messages": [*messages, {"role": "assistant", "content": "Done."}]}
    project.write("bench/runs.jsonl", json.dumps(log))
    write(project, {**RECORDED, **suite})
    project.run()
    (result,) = project.document.results
    return result


def messages_of(result: Result) -> list[tuple[bool | None, str]]:
    """What the state check said."""
    return [(one.passed, one.message) for one in result.findings if one.check in ("state", "writes")]


NOTED = call("add_note", "noted", order_id="W1", tags=["a", "b"])


def refunded(identifier: str = "RF-0badcafe", *, amount: int = 5) -> list[Any]:
    """A refund as the tool answers it."""
    return call("refund", {"id": identifier, "order": "W1", "amount": amount}, order_id="W1", amount=amount)


def test_a_run_of_ours_is_judged_again_as_it_was(project: Project) -> None:
    """Each transcript gets the verdict, the blame and the state findings of its run, whatever path it took."""
    write(project, SUITE)
    project.run("--agentbench-variant=all")
    played = {one.key.variant: one for one in project.document.results}
    kept = [json.loads(file.read_text()) for file in project.pytester.path.glob(".agentbench/runs/*/transcripts/*")]
    project.write("bench/kept.jsonl", "\n".join(json.dumps(one) for one in kept))
    write(project, {**RECORDED, "agent": {"transcripts": "kept.jsonl"}})

    project.run()

    again = {one.key.variant: one for one in project.document.results}
    assert {name: (one.verdict, one.blame) for name, one in again.items()} == {
        name: (one.verdict, one.blame) for name, one in played.items()
    }
    assert {name for name, one in again.items() if one.passed} == {"right", "reordered", "corrected", "retried"}


def test_another_way_to_the_same_state_passes(project: Project) -> None:
    """The order of a list that the tool sorts, and a call made twice, make no difference."""
    result = scored(project, refunded(), call("add_note", "noted", order_id="W1", tags=["b", "a"]), NOTED)

    assert messages_of(result) == [(True, "the final state is the expected one")]
    assert result.passed


def test_ids_of_the_recording_are_those_of_the_replay(project: Project) -> None:
    """A call that hands on an id which the tools make up is made with the id of its own world."""
    wrong = refunded("RF-11111111", amount=9)
    fixed = {"id": "RF-11111111", "order": "W1", "amount": 5}
    result = scored(project, wrong, call("correct_refund", fixed, refund_id="RF-11111111", amount=5), NOTED)

    assert messages_of(result) == [(True, "the final state is the expected one")]


def test_a_wrong_state_fails_with_its_rows(project: Project) -> None:
    """As in a played run."""
    result = scored(project, refunded(), call("add_note", "noted", order_id="W1", tags=["a"]))

    assert (result.verdict, result.blame) == ("failed", "agent")
    assert any("orders.W1.tags" in message for passed, message in messages_of(result) if passed is False)


def test_at_the_first_difference_the_calls_decide(project: Project) -> None:
    """What was recorded elsewhere says nothing about this world: state is not measured, with its cure."""
    other = call("add_note", "saved under 7", order_id="W1", tags=["b", "a"])

    result = scored(project, refunded(), other)

    (finding,) = [one for one in result.findings if one.passed is None and one.check == "state"]
    assert "call 2 (add_note) is another: 'saved under 7' in the run, 'noted' when replayed" in finding.message
    assert [passed for passed, _ in messages_of(result) if passed is not None] == [False]
    assert finding.cure.startswith("record it again in the world of this suite")


def test_a_write_without_an_answer_is_a_difference(project: Project) -> None:
    """Nobody knows whether it was made."""
    result = scored(project, refunded(), NOTED[:1], NOTED)

    assert any("it has no recorded answer" in message for passed, message in messages_of(result) if passed is None)


def test_a_refusal_may_be_worded_by_whoever_played_it(project: Project) -> None:
    """It changed nothing here either."""
    refused = call("refund", "ValueError: no such order", error=True, order_id="W7", amount=5)
    reordered = call("add_note", "noted", order_id="W1", tags=["b", "a"])

    assert messages_of(scored(project, refused, refunded(), reordered)) == [
        (True, "the final state is the expected one")
    ]


def test_what_the_user_did_is_made_again_in_its_place(project: Project) -> None:
    """Its calls are among the expected ones, and change the state that the agent's see."""
    user_tools = """
    def confirm(state: dict, order_id: str) -> str:
        state["orders"][order_id]["confirmed"] = True
        return "thanks"
    """
    project.write("bench/device.py", textwrap.dedent(user_tools))
    environment = {**SUITE["environment"], "user_tools": "device"}
    wanted = [{"name": "confirm", "requestor": "user", "arguments": {"order_id": "W1"}}, {"add_note": NOTE[1]}]
    scenarios = [{"id": "refund", "says": ["Refund W1"], "expect": wanted}]
    confirmed = call("confirm", "thanks", by="user", order_id="W1")
    reordered = call("add_note", "noted", order_id="W1", tags=["b", "a"])

    right = scored(project, confirmed, reordered, environment=environment, scenarios=scenarios)
    other = call("confirm", "thanks", by="user", order_id="W2")
    besides = scored(project, confirmed, other, reordered, NOTED, environment=environment, scenarios=scenarios)
    elsewhere = call("add_note", "noted", order_id="W2", tags=["c"])
    wrong = scored(project, confirmed, other, NOTED, elsewhere, environment=environment, scenarios=scenarios)
    missing = scored(project, reordered, environment=environment, scenarios=scenarios)

    assert right.passed
    assert (wrong.verdict, wrong.blame) == ("failed", "agent")
    assert any("the user changed the state" in text for passed, text in messages_of(besides) if passed is None)
    assert not any("confirm" in text for passed, text in messages_of(wrong) if passed is False)
    assert any("orders.W1.confirmed" in message for passed, message in messages_of(missing) if passed is False)


@pytest.mark.parametrize(
    "environment",
    [
        {"tools": "shop", "state": {"own": "shared:Shared"}},
        {"tools": {"mcp": {"command": ["python", "never_started.py"]}}},
        {"tools": "tools.json"},
    ],
)
def test_a_world_that_others_share_is_never_touched(project: Project, environment: dict[str, Any]) -> None:
    """Calls decide where what they do could not be taken back, or where nothing executes them."""
    parameters = {"type": "object", "properties": {"order_id": {}, "amount": {}}}
    described = {"type": "function", "function": {"name": "refund", "parameters": parameters}}
    project.write("bench/tools.json", json.dumps([described]))
    project.write("bench/never_started.py", "open('touched', 'w')\n")
    provider = """
    class Shared:
        isolation = "per_worker"

        def open(self, initial, run):
            open("touched", "w")
            return {}

        def snapshot(self, handle):
            return {}

        def close(self, handle):
            pass
    """
    project.write("bench/shared.py", textwrap.dedent(provider))
    scenarios = [{"id": "refund", "says": ["Refund W1"], "expect": [{"refund": {"order_id": "W1"}}]}]

    result = scored(project, refunded(), environment=environment, scenarios=scenarios)

    assert not (project.pytester.path / "touched").exists()
    assert messages_of(result)[0][0] is True


def test_a_replay_that_hangs_is_given_up(project: Project) -> None:
    """The state is not measured, and the session goes on."""
    slow = TOOLS.replace('    made = {"id"', '    import threading\n    threading.Event().wait(20)\n    made = {"id"')
    messages = [{"role": "user", "content": "Refund W1"}, *refunded(), {"role": "assistant", "content": "Done."}]
    project.write("bench/runs.jsonl", json.dumps({"id": "refund", "messages": messages}))
    write(project, {**RECORDED, "limits": {"seconds": 0.5}}, slow)

    project.run()

    (result,) = project.document.results
    why = "it has not ended within 0.5 s while the tool 'refund' was running"
    assert (None, f"not measured: when replayed, {why}; the calls decide") in messages_of(result)


def test_a_replay_asks_no_predicate_in_the_sessions_own_thread(project: Project) -> None:
    """One that hangs would hang every other run; checks have a thread of their own, and a limit."""
    noting = """
    import pathlib, threading

    def small(value):
        with pathlib.Path("threads").open("a") as file:
            file.write(threading.current_thread().name + "\\n")
        return value < 9
    """
    project.write("bench/limits.py", noting)
    amount = {"order_id": "W1", "amount": {"$call": "limits:small"}}
    scenarios = [{"id": "refund", "says": ["Refund W1"], "expect": [{"refund": amount}, {"add_note": NOTE[1]}]}]

    result = scored(project, refunded(), NOTED, scenarios=scenarios)

    assert result.passed
    threads = set((project.pytester.path / "threads").read_text().split())
    assert threads
    assert "agentbench-loop" not in threads


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    """A checkout of τ²-bench with toy domains."""
    with toy_checkout(tmp_path / "checkout") as found:
        yield found


def judged_in_a_domain(project: Project, checkout: Path, criteria: dict[str, Any], *messages: Any) -> Result:
    """Judge one τ² recording in a toy domain; each of the messages is a call with its answer."""
    record = {"task_id": "t", "termination_reason": "user_stop", "messages": [one for part in messages for one in part]}
    task = {"id": "t", "user_scenario": {"instructions": "x"}, "evaluation_criteria": criteria}
    project.write("bench/runs.jsonl", json.dumps(record))
    project.write("bench/tasks.json", json.dumps([task]))
    suite = {
        "agent": {"transcripts": "runs.jsonl"},
        "environment": {"tau2": "notes", "checkout": str(checkout)},
        "scenarios": ["tasks.json"],
    }
    project.write("bench/agentbench.yaml", json.dumps(suite))
    project.run()
    (result,) = project.document.results
    return result


def noted(key: str, text: str, answer: str | None = None, **more: Any) -> list[Any]:
    """A τ² call that writes a note."""
    made = {"id": "1", "name": "write", "arguments": {"key": key, "text": text, **more}, "requestor": "assistant"}
    content = f"{{'key': '{key}'}}" if answer is None else answer
    return [
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "id": "1", "content": content, "error": content.startswith("Error:")},
    ]


def wanted(key: str, text: str) -> dict[str, Any]:
    """The expected call of that."""
    return {"action_id": "a", "name": "write", "arguments": {"key": key, "text": text}}


def test_a_tau2_recording_is_judged_by_its_database(project: Project, checkout: Path) -> None:
    """Superfluous keys and a write that is written over make no difference; another text does."""
    criteria = {"actions": [wanted("d", "new")], "reward_basis": ["DB"]}

    right = judged_in_a_domain(project, checkout, criteria, noted("d", "old"), noted("d", "new", stars=0))
    wrong = judged_in_a_domain(project, checkout, criteria, noted("d", "newer"))
    elsewhere = judged_in_a_domain(project, checkout, criteria, noted("d", "new", answer="saved", stars=0))

    assert (right.passed, messages_of(right)) == (True, [(True, "the final state is the expected one")])
    assert any("notes.d.text" in message for _, message in messages_of(wrong))
    assert any("call 1, write, answered 'saved' then" in text for passed, text in messages_of(elsewhere) if not passed)
    assert [one.metrics["tau2_reward"] for one in (right, wrong, elsewhere)] == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(("key", "passes"), [("d", True), ("e", False)])
def test_assertions_stand_in_place_of_the_expected_state(
    project: Project, checkout: Path, key: str, passes: bool
) -> None:
    """Where a basis names them and not DB, the way there is the agent's and the user's."""
    asserted = {"env_type": "assistant", "func_name": "has_note", "arguments": {"key": "d"}, "assert_value": True}
    criteria = {"actions": [wanted("d", "x")], "env_assertions": [asserted], "reward_basis": ["ENV_ASSERTION"]}

    result = judged_in_a_domain(project, checkout, criteria, noted(key, "another text"), noted("f", "besides"))

    assert result.passed is passes
    assert messages_of(result)[0][0] is passes
    assert "has_note(key='d') is true" in messages_of(result)[0][1]


@pytest.mark.parametrize(("key", "passes"), [("d", True), ("e", False)])
def test_an_action_of_the_basis_counts(project: Project, checkout: Path, key: str, passes: bool) -> None:
    """A read is asked for, too."""
    read = {"action_id": "a", "name": "read", "arguments": {"key": "a"}}
    asserted = {"env_type": "assistant", "func_name": "has_note", "arguments": {"key": "a"}, "assert_value": True}
    made = {"id": "1", "name": "read", "arguments": {"key": "a" if key == "d" else "b"}, "requestor": "assistant"}
    answer = {"role": "tool", "id": "1", "content": "first" if key == "d" else "second"}
    criteria = {"actions": [read], "env_assertions": [asserted], "reward_basis": ["ENV_ASSERTION", "ACTION"]}

    result = judged_in_a_domain(
        project, checkout, criteria, [{"role": "assistant", "content": None, "tool_calls": [made]}, answer]
    )

    assert (result.passed, result.metrics["tau2_reward"]) == (passes, float(passes))
    assert [one.message for one in result.findings if one.check == "calls" and one.passed is False] == (
        [] if passes else ["read(key='a') was never called (ACTION)"]
    )
