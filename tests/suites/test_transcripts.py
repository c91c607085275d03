"""Recorded conversations in every format that is read."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.suites.transcripts import Recording, ScenarioIndex, read_recordings
from tests.shared_data import SHARED, needs_shared

TRANSCRIPTS = SHARED / "data" / "tau2" / "transcripts"
HI = {"role": "user", "content": "Hi"}
BYE = {"role": "assistant", "content": "Bye"}


def call(name: str, arguments: Any = "{}", identifier: str = "c1") -> dict[str, Any]:
    """Give an assistant message with one call in the OpenAI format."""
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{"id": identifier, "type": "function", "function": function}]}


def answer(content: str, identifier: str = "c1") -> dict[str, Any]:
    """Give a tool's answer in the OpenAI format."""
    return {"role": "tool", "tool_call_id": identifier, "content": content}


def read(tmp_path: Path, *records: Any, name: str = "runs.jsonl", **options: Any) -> list[Recording]:
    """Write records one per line and read them."""
    file = tmp_path / name
    file.write_text("\n".join(json.dumps(record) for record in records))
    return list(read_recordings(file, **options))


@needs_shared
def test_all_tau2_recordings_are_read_and_find_their_task(tmp_path: Path) -> None:
    """The 351 recordings pair with the exact task they were made with; every call joins its result."""
    count = 0
    for domain in ("airline", "retail", "telecom"):
        file = TRANSCRIPTS / f"{domain}.jsonl"
        path = tmp_path / f"{domain}.agentbench.yaml"
        tasks = file.with_suffix(".tasks.jsonl").resolve()
        path.write_text(f"agent: {{transcripts: '{file.resolve()}'}}\nscenarios: ['{tasks}']\n")
        suite = load_suite(path, environ={})
        index = ScenarioIndex(suite.scenarios)
        for recording in read_recordings(suite.agent.files):
            scenario = index.find(recording)
            assert scenario is not None
            assert scenario.task.id == recording.scenario
            assert scenario.provenance["task_key"] == recording.scenario_key
            unanswered = [record for record in recording.transcript.trajectory if record.result is None]
            assert len(unanswered) == 0 or recording.termination is not Termination.FINISHED
            count += 1
    assert count == 351


@needs_shared
def test_tau2_recordings_keep_what_was_said() -> None:
    """Texts, call ids, arguments, errors and both parties' calls are those of the file; stop markers stay."""
    file = TRANSCRIPTS / "telecom.jsonl"
    records = [json.loads(line) for line in file.read_text().splitlines()]
    for record, recording in zip(records, read_recordings(file), strict=True):
        messages = recording.transcript.messages
        assert [message.content for message in messages] == [message["content"] for message in record["messages"]]
        calls = [one for message in record["messages"] for one in message.get("tool_calls") or []]
        found = [one.call for one in recording.transcript.trajectory]
        assert [(one.id, one.name, one.arguments, one.requestor) for one in found] == [
            (one["id"], one["name"], one["arguments"], one["requestor"]) for one in calls
        ]
        assert sum(message.error for message in messages) == sum(m.get("error", False) for m in record["messages"])
        assert (recording.reward, recording.stop_reason) == (record["reward"], record["termination_reason"])


@needs_shared
def test_recordings_become_variants_and_trials() -> None:
    """Agents are variants, one without a user is another; repeated recordings of a task count up."""
    recordings = list(read_recordings(TRANSCRIPTS / "telecom.jsonl"))
    variants = Counter(recording.variant for recording in recordings)
    assert variants["gpt-4.1"] == 40
    assert variants["gpt-4.1-solo"] == 41
    runs = {(recording.scenario_key, recording.variant, recording.trial) for recording in recordings}
    assert len(runs) == len(recordings)
    assert max(recording.trial for recording in recordings) == 3


@pytest.mark.parametrize(
    ("reason", "termination"),
    [
        ("user_stop", Termination.FINISHED),
        ("agent_stop", Termination.FINISHED),
        ("TerminationReason.USER_STOP", Termination.FINISHED),
        ("max_steps", Termination.SAFETY_TIMEOUT),
        ("timeout", Termination.SAFETY_TIMEOUT),
        ("too_many_errors", Termination.CRASHED),
        ("agent_error", Termination.CRASHED),
        ("infrastructure_error", Termination.CRASHED),
    ],
)
def test_tau2_reasons_become_terminations(tmp_path: Path, reason: str, termination: Termination) -> None:
    """A party that stops finishes, limits time out, everything else crashes."""
    (recording,) = read(tmp_path, {"task_id": "1", "termination_reason": reason, "messages": [HI]})
    assert recording.termination is termination


def test_a_tau2_results_file_is_read(tmp_path: Path) -> None:
    """Simulations of a results file bear the agent's model and their reward."""
    results = {
        "info": {"agent_info": {"implementation": "llm_agent", "llm": "m-1"}},
        "tasks": [],
        "simulations": [
            {"task_id": "1", "termination_reason": "user_stop", "messages": [HI], "reward_info": {"reward": 1.0}},
            {"task_id": "1", "termination_reason": "max_steps", "messages": [HI], "reward_info": None},
        ],
    }
    file = tmp_path / "results.json"
    file.write_text(json.dumps(results, indent=1))
    found = [(one.scenario, one.variant, one.trial, one.reward) for one in read_recordings(file)]
    assert found == [("1", "m-1", 0, 1.0), ("1", "m-1", 1, None)]


def test_an_openai_log_is_read(tmp_path: Path) -> None:
    """System messages are left out, argument texts parsed, parts of content joined, errors recognised."""
    parts = {"role": "assistant", "content": [{"type": "text", "text": "By"}, {"type": "text", "text": "e"}]}
    log = [
        {"role": "system", "content": "secret"},
        HI,
        call("refund", '{"order_id": "W1"}'),
        answer("Error: no such order"),
        call("refund", '{"order_id": ', "c2"),
        answer('{"error": "bad request"}', "c2"),
        call("list", "", "c3"),
        answer('{"errors": 0}', "c3"),
        parts,
    ]
    (recording,) = read(tmp_path, {"task_id": 7, "model": "m", "messages": log})
    assert (recording.scenario, recording.variant) == ("7", "m")
    assert [message.role for message in recording.transcript.messages][:2] == ["user", "assistant"]
    records = recording.transcript.trajectory
    assert [record.call.arguments for record in records] == [{"order_id": "W1"}, {}, {}]
    assert [record.call.raw for record in records] == [None, '{"order_id": ', None]
    assert [record.failed for record in records] == [True, True, False]
    assert recording.transcript.messages[-1].text == "Bye"


def test_senders_tell_the_handoffs_of_a_log(tmp_path: Path) -> None:
    """In a conversation, and between the messages of a request and its answer; a sender without a name tells none."""
    talk = [HI, *({**BYE, "name": name} for name in ("triage", "refunds")), BYE, {**BYE, "name": "triage"}]
    asked = {"messages": [HI, {**BYE, "name": "triage"}, HI], "choices": [{"message": {**BYE, "name": "refunds"}}]}
    for recording in read(tmp_path, {"messages": talk}, asked):
        assert [str(event) for _, event in recording.transcript.events] == ["a handoff from triage to refunds"]


@pytest.mark.parametrize(
    ("status", "termination", "reason"),
    [
        ("FINISHED", Termination.FINISHED, "the log ends with text"),
        ("finished: all done", Termination.FINISHED, "all done"),
        ("Stalled", Termination.STALLED, ""),
        ("CRASHED", Termination.CRASHED, ""),
        ("safety timeout", Termination.SAFETY_TIMEOUT, ""),
    ],
)
def test_a_status_decides(tmp_path: Path, status: str, termination: Termination, reason: str) -> None:
    """The status is read whatever its case; text behind a colon is the reason."""
    (recording,) = read(tmp_path, {"id": "a", "status": status, "messages": [HI, BYE]})
    assert recording.termination is termination
    assert recording.stop_reason == ("" if reason == "the log ends with text" else reason)


@pytest.mark.parametrize(
    ("end", "termination", "reason"),
    [
        ([BYE], Termination.FINISHED, "the log ends with text"),
        ([BYE, {"role": "user", "content": "Thanks ###STOP###"}], Termination.FINISHED, "###STOP###"),
        ([call("refund")], Termination.CRASHED, "the log ends with a call that has no answer"),
        ([call("refund"), answer("Error")], Termination.CRASHED, "the log ends with a tool error"),
        ([call("refund"), answer("ok")], Termination.CRASHED, "the log ends with a tool's answer"),
        ([call("transfer_to_human_agents"), answer("ok")], Termination.FINISHED, "transfer_to_human_agents"),
        ([call("handOver"), answer("ok")], Termination.FINISHED, "handOver"),
        ([call("handOver"), answer("Error: nobody there")], Termination.CRASHED, "the log ends with a tool error"),
        ([call("transfer_money"), answer("ok")], Termination.CRASHED, "the log ends with a tool's answer"),
        ([call("end_simulation")], Termination.FINISHED, "end_simulation"),
        ([call("end_simulation"), answer("bye")], Termination.FINISHED, "end_simulation"),
    ],
)
def test_without_a_status_the_end_of_the_log_decides(
    tmp_path: Path, end: list[dict[str, Any]], termination: Termination, reason: str
) -> None:
    """A log that ends in text or a stop is finished, one that ends in a tool's answer or an open call crashed."""
    (recording,) = read(tmp_path, {"id": "a", "messages": [HI, *end]})
    assert (recording.termination, recording.stop_reason.partition(",")[0]) == (termination, reason)


@pytest.mark.parametrize(
    ("end", "termination", "reason"),
    [
        ([BYE, {"role": "user", "content": "###STOP###"}], Termination.FINISHED, "###STOP###"),
        ([call("transfer_to_human_agents"), answer("ok")], Termination.FINISHED, "transfer_to_human_agents"),
        ([BYE, HI], Termination.SAFETY_TIMEOUT, "the log ends before a party closed"),
        ([call("refund"), answer("ok")], Termination.SAFETY_TIMEOUT, "the log ends before a party closed"),
    ],
)
def test_a_log_of_tau_bench_that_nobody_closed_was_cut_off(
    tmp_path: Path, end: list[dict[str, Any]], termination: Termination, reason: str
) -> None:
    """Its conversations end by a marker, by handing over, or when their steps are spent."""
    (recording,) = read(tmp_path, {"task_id": 0, "trial": 0, "reward": 0.0, "traj": [HI, *end]})
    assert (recording.termination, recording.stop_reason.partition(",")[0]) == (termination, reason)


def test_an_answer_that_begins_with_error_failed_in_every_format(tmp_path: Path) -> None:
    """Whatever its flag says: τ-bench has none, and many tools answer a refusal as text."""
    refused = "Error: no such order"
    tau2 = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "name": "f", "arguments": {}}]}
    own = [{"role": "assistant", "tool_calls": [{"id": "1", "name": "f"}]}, {"role": "tool", "tool_call_id": "1"}]
    answers = [
        {"messages": [HI, call("f"), answer(refused), BYE]},
        {"messages": [HI, call("f"), {**answer(refused), "error": False}, BYE]},
        {
            "task_id": "1",
            "termination_reason": "user_stop",
            "messages": [tau2, {"role": "tool", "id": "1", "content": refused, "error": False}],
        },
        {"key": "a", "termination": "FINISHED", "messages": [own[0], {**own[1], "content": refused}]},
    ]

    found = read(tmp_path, *answers)

    assert [[one.failed for one in recording.transcript.trajectory] for recording in found] == [[True]] * 4


def test_a_stop_is_not_a_call(tmp_path: Path) -> None:
    """The closing call leaves the trajectory with its answer; other calls of the same message stay."""
    both = call("refund")
    both["tool_calls"] += call("end_simulation", identifier="c2")["tool_calls"]
    log = [HI, call("end_simulation"), answer("not yet"), both, answer("ok")]
    (recording,) = read(tmp_path, {"messages": log})
    assert [record.call.name for record in recording.transcript.trajectory] == ["end_simulation", "refund"]
    assert recording.termination is Termination.FINISHED


def test_stop_names_can_be_set(tmp_path: Path) -> None:
    """Other names may stop, and a name that is a known tool never does."""
    log = {"messages": [HI, call("hang_up")]}
    (stopped,) = read(tmp_path, log, stop_calls=frozenset({"hang_up"}))
    (tool,) = read(tmp_path, log, stop_calls=frozenset({"hang_up"}), tools=frozenset({"hang_up"}))
    assert (len(stopped.transcript.trajectory), stopped.termination) == (0, Termination.FINISHED)
    assert (len(tool.transcript.trajectory), tool.termination) == (1, Termination.CRASHED)


def test_bare_lists_belong_to_scenarios_by_position(tmp_path: Path) -> None:
    """A log that names no scenario is that of the scenario at its place."""
    scenarios = [Scenario(id=name, title=name, task=Task(id=name)) for name in ("a", "b")]
    index = ScenarioIndex(scenarios)
    recordings = read(tmp_path, [HI, BYE], [HI, BYE], [HI])
    assert [index.find(recording) for recording in recordings] == [*scenarios, None]
    (whole,) = read(tmp_path, [HI, BYE], name="one.json")
    assert [message.text for message in whole.transcript.messages] == ["Hi", "Bye"]


def test_a_key_selects_one_version_of_a_task() -> None:
    """Where scenarios bear keys, a recording of another version finds none."""
    old = Scenario(id="1-a", title="1", task=Task(id="1"), provenance={"task_key": "a"})
    new = Scenario(id="1-b", title="1", task=Task(id="1"), provenance={"task_key": "b"})
    index = ScenarioIndex([old, new])
    recording = Recording(scenario="1", scenario_key="a", transcript={"messages": ()}, source=Path("x"))
    assert index.find(recording) is old
    assert index.find(recording.model_copy(update={"scenario_key": "b"})) is new
    assert index.find(recording.model_copy(update={"scenario_key": "c"})) is None


def test_our_own_transcripts_read_back(tmp_path: Path) -> None:
    """Messages written through the codec come back the same, lone surrogates and infinities too."""
    messages = (
        Message(role="user", content="Hi \ud800", requestor="user"),
        Message(role="assistant", tool_calls=(ToolCall(name="list", arguments={"n": float("inf")}, id="c"),)),
        Message(role="tool", content="[]", tool_call_id="c", error=True, wrote=False),
    )
    record = {
        "key": {"suite": "s", "scenario": "a", "variant": "hasty", "trial": 1, "attempt": 0},
        "messages": messages,
        "termination": Termination.STALLED,
        "stop_reason": "why",
    }
    file = tmp_path / "own.jsonl"
    file.write_text(dumps(record))
    (recording,) = read_recordings(file)
    assert recording.transcript.messages == messages
    assert (recording.scenario, recording.variant, recording.stop_reason) == ("a", "hasty", "why")
    assert recording.termination is Termination.STALLED


def test_variant_ids_are_unique_slugs(tmp_path: Path) -> None:
    """Agents whose names look alike when shown, or like a trial, get ids of their own across files."""
    for number, models in enumerate((["org/m", "org:m", "t1"], ["ORG/M", "org/m"])):
        lines = [json.dumps({"id": "a", "model": model, "messages": [HI]}) for model in models]
        (tmp_path / f"{number}.jsonl").write_text("\n".join(lines))
    found = [(one.variant, one.trial) for one in read_recordings([tmp_path / "0.jsonl", tmp_path / "1.jsonl"])]
    assert found == [("org-m", 0), ("org-m-2", 0), ("v-t1", 0), ("ORG-M-3", 0), ("org-m", 1)]


def test_malformed_lines_are_all_named_after_the_good_ones(tmp_path: Path) -> None:
    """What is well-formed is given; then one error names every bad line."""
    file = tmp_path / "runs.jsonl"
    lines = [
        json.dumps({"id": "a", "messages": [HI]}),
        "{",
        "",
        "5",
        json.dumps({"id": "a"}),
        json.dumps({"messages": [{"role": "robot"}]}),
        json.dumps({"messages": [HI], "status": "FINISHD"}),
        json.dumps({"messages": []}),
        json.dumps({"messages": [{"role": "assistant", "tool_calls": [{"function": {}}]}]}),
        json.dumps({"task_id": "1", "termination_reason": "user_stop", "messages": [{"role": "user", "content": 5}]}),
        json.dumps({"key": "a", "termination": "DONE", "messages": []}),
    ]
    file.write_text("\n".join(lines))
    recordings = read_recordings(file)
    assert next(recordings).scenario == "a"
    with pytest.raises(SuiteError) as caught:
        list(recordings)
    texts = [str(problem).removeprefix(f"{file}:") for problem in caught.value.problems]
    assert [text.split(":", 1)[0] for text in texts] == ["2", "4", "5", "6", "7", "8", "9", "10", "11"]
    assert "allowed: 'assistant', 'ai', 'model', 'user'" in texts[3]
    assert "did you mean 'FINISHED'?" in texts[4]
    assert "messages[0].content: found int 5 as the content of a message" in texts[7]


def test_files_without_recordings_are_errors(tmp_path: Path) -> None:
    """An empty or missing file is named."""
    with pytest.raises(SuiteError, match="the file is empty"):
        read(tmp_path)
    with pytest.raises(SuiteError, match="cannot be read"):
        list(read_recordings(tmp_path / "none.jsonl"))


ACTS = [{"kind": "confirm", "about": ["W1"], "facts": {"card": "Visa"}}]
SAID = {"role": "user", "content": "No objections", "acts": ACTS}


@pytest.mark.parametrize(
    "record",
    [
        {"messages": [HI, SAID, BYE]},
        {"task_id": "t", "termination_reason": "user_stop", "messages": [HI, SAID, BYE]},
        {"key": {"scenario": "t"}, "termination": "FINISHED", "messages": [HI, SAID, BYE]},
    ],
    ids=["openai", "tau2", "own"],
)
def test_what_the_user_meant_is_read_in_every_format(tmp_path: Path, record: dict[str, Any]) -> None:
    """A turn that says nothing of it has no acts; the short form names the kind alone."""
    (found,) = read(tmp_path, record)
    (act,) = found.transcript.messages[1].acts or ()

    assert found.transcript.messages[0].acts is None
    assert (act.kind, act.about, act.facts) == ("confirm", ("W1",), {"card": "Visa"})


@pytest.mark.parametrize("kind", ["openai", "tau2"])
def test_short_and_wrong_acts(tmp_path: Path, kind: str) -> None:
    """A list of kinds will do; what is none is reported with its place."""
    around = {} if kind == "openai" else {"task_id": "t", "termination_reason": "user_stop"}

    (found,) = read(tmp_path, {**around, "messages": [HI, {**SAID, "acts": ["decline"]}, BYE]})
    assert [act.kind for act in found.transcript.messages[1].acts or ()] == ["decline"]
    with pytest.raises(SuiteError, match=r"messages\[1\]\.acts\[0\].*'confrm'.*allowed.*'confirm'"):
        read(tmp_path, {**around, "messages": [HI, {**SAID, "acts": ["confrm"]}, BYE]})
    with pytest.raises(SuiteError, match=r"messages\[1\]\.acts: found 'confirm', expected a list of acts"):
        read(tmp_path, {**around, "messages": [HI, {**SAID, "acts": "confirm"}, BYE]})


ITEMS = [{"text": "refund for W1", "done": True}, {"text": "receipt"}]


@pytest.mark.parametrize("kind", ["openai", "tau2", "own"])
def test_goal_items_and_modifiers_are_read_in_every_format(tmp_path: Path, kind: str) -> None:
    """Beside the acts, as runs of ours hold them; what is none is reported with its place."""
    around: dict[str, Any] = {
        "openai": {},
        "tau2": {"task_id": "t", "termination_reason": "user_stop"},
        "own": {"key": {"scenario": "t"}, "termination": "FINISHED"},
    }[kind]
    said = {**SAID, "goal_items": ITEMS, "shows": ["impatient"]}

    (found,) = read(tmp_path, {**around, "messages": [HI, said, BYE]})

    message = found.transcript.messages[1]
    assert [(one.text, one.done) for one in message.goal_items] == [("refund for W1", True), ("receipt", False)]
    assert message.shows == ("impatient",)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"goal_items": "refund"}, r"messages\[1\]\.goal_items: found 'refund', expected a list"),
        ({"goal_items": [{"done": True}]}, r"messages\[1\]\.goal_items\[0\]\.text.*Field required"),
        ({"goal_items": ["refund"]}, r"messages\[1\]\.goal_items\[0\].*'refund'"),
        ({"shows": [1]}, r"messages\[1\]\.shows\[0\]: found 1, expected the name of a modifier"),
    ],
)
def test_wrong_goal_items_are_reported_with_their_place(tmp_path: Path, wrong: dict[str, Any], told: str) -> None:
    """A key of ours that holds something else is a mistake."""
    with pytest.raises(SuiteError, match=told):
        read(tmp_path, {"messages": [HI, {**SAID, **wrong}, BYE]})
