"""Responses and Anthropic's Messages in a cassette: what decides a request, one file for all APIs, chains of ids."""

import copy
import json
from typing import Any

import pytest

from pytest_agentbench.core.errors import CassetteMissError, SuiteError
from pytest_agentbench.llm.apis.registry import APIS
from pytest_agentbench.llm.cassette.file import read_cassette
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.record_replay import Keys
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.results.redact import Redactor
from tests.llm.cassette.talk import Bench, body, completion, run
from tests.tables import each

CHAT, RESPONSES, MESSAGES = APIS
PLAIN = Keys(Redactor().json)
AGENT = Caller(role="agent", run=run())

ASKED: dict[str, Any] = {
    "model": "m",
    "input": [
        {"role": "user", "content": "Where is W1?"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "find", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "in transit"},
    ],
    "previous_response_id": "resp_1",
}
"""A response that is asked for."""

TOLD: dict[str, Any] = {
    "model": "m",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "Be kind."}],
    "messages": [
        {"role": "user", "content": "Where is W1?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "abc"},
                {"type": "tool_use", "id": "c1", "name": "find", "input": {"a": 1}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "in transit"}]},
    ],
}
"""A message that is asked for."""


def changed(body: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Copy a request with another value at a path such as `input.3.call_id`."""
    copied: Any = copy.deepcopy(body)
    inner = copied
    *way, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
    for step in way:
        inner = inner[step]
    inner[last] = value
    return copied


@each(
    ("path", "value", "same"),
    [
        ("stream", True, True),
        ("store", False, True),
        ("metadata", {"trace": "7"}, True),
        ("input.1.id", "rs_2", True),
        ("input.1.encrypted_content", "gBBBB", True),
        ("input.2.id", "msg_9", True),
        ("input.2.type", "message", True),
        ("input.3.id", None, True),
        ("input.2.content.0.text", "I do not look.", False),
        ("input.3.arguments", '{"a":2}', False),
        ("input.4.output", "lost", False),
        ("input.4.call_id", "c2", False),
        ("instructions", "Be brief.", False),
        ("previous_response_id", "resp_2", False),
        ("max_output_tokens", 5, False),
    ],
)
def test_what_decides_a_response(path: str, value: object, same: bool) -> None:
    """Ids that a server makes up, and how an answer is sent and filed, do not."""
    assert (PLAIN.asked(changed(ASKED, path, value), RESPONSES) == PLAIN.asked(ASKED, RESPONSES)) is same


@each(
    ("path", "value", "same"),
    [
        ("stream", True, True),
        ("metadata", {"user_id": "7"}, True),
        ("system.0.cache_control", {"type": "ephemeral"}, True),
        ("messages.2.content.0.cache_control", {"type": "ephemeral"}, True),
        ("messages.1.content.0.signature", "xyz", True),
        ("messages.1.content.1.caller", None, True),
        ("messages.1.content.1.input", {"a": 2}, False),
        ("messages.2.content.0.tool_use_id", "c2", False),
        ("messages.2.content.0.is_error", True, False),
        ("messages.0.content", "Where is W2?", False),
        ("max_tokens", 5, False),
    ],
)
def test_what_decides_a_message(path: str, value: object, same: bool) -> None:
    """Caches, signatures and what only some clients spell out do not."""
    assert (PLAIN.asked(changed(TOLD, path, value), MESSAGES) == PLAIN.asked(TOLD, MESSAGES)) is same


@each(("asked", "api"), [(ASKED, RESPONSES), (TOLD, MESSAGES)])
def test_ids_of_calls_make_no_difference(asked: dict[str, Any], api: Any) -> None:
    """Calls and their results are named by the places of the calls."""
    other = json.loads(json.dumps(asked).replace('"c1"', '"call_9xyz"'))

    assert PLAIN.asked(other, api) == PLAIN.asked(asked, api)


def test_a_text_is_what_the_user_says() -> None:
    """Clients that send a text first send it as an item later."""
    written = {"model": "m", "input": "Hello"}
    listed = {"model": "m", "input": [{"type": "message", "role": "user", "content": "Hello"}]}

    assert PLAIN.asked(written, RESPONSES).key == PLAIN.asked(listed, RESPONSES).key


def test_one_request_over_two_apis_is_two_requests() -> None:
    """Their answers have two forms."""
    assert PLAIN.asked(TOLD, MESSAGES).key != PLAIN.asked(TOLD, CHAT).key


def test_a_fork_with_other_secrets_asks_the_same_over_every_api() -> None:
    """Words of an item's form stay, and the arguments of a call are redacted as text is."""
    asked = []
    for secret in ("assistant", "s3cret-of-the-maker"):
        keys = Keys(Redactor([secret]).json)
        told = json.loads(json.dumps(TOLD).replace("in transit", secret))
        posted = json.loads(json.dumps(ASKED).replace("in transit", secret))
        asked.append((keys.asked(told, MESSAGES).request, keys.asked(posted, RESPONSES).request))

    assert asked[0] == asked[1]
    assert asked[0][1]["input"][2]["role"] == "assistant"


def answer(text: str, number: int) -> dict[str, Any]:
    """A response with the ids that a server would make up."""
    said = {"type": "output_text", "text": text, "annotations": []}
    output = [{"id": f"msg_live{number}", "type": "message", "role": "assistant", "content": [said]}]
    form = {"id": f"resp_live{number}", "object": "response", "created_at": number, "status": "completed"}
    return {**form, "model": "m", "output": output, "tools": [{"type": "function", "name": "find"}]}


def chain(bench: Bench, mode: Mode, live: list[dict[str, Any]]) -> list[Any]:
    """Ask twice, the second time by the id of the first answer; give the answers."""
    recorder = bench.open(mode)
    answers: list[Any] = []
    for text in ("Where is W1?", "And when?"):
        named = {"previous_response_id": answers[-1]["id"]} if answers else {}
        asked = {"model": "m", "input": text, **named}
        found = recorder.find(AGENT, asked, "responses")
        if found is None:
            recorder.keep(AGENT, asked, live[len(answers)], "responses")
        answers.append(found.response if found else live[len(answers)])
    recorder.finished(run())
    bench.merge()
    return answers


def test_a_response_that_names_an_earlier_one_replays(tmp_path: Any) -> None:
    """Its id is the one that the replayed answer has, whatever the server had called it."""
    bench = Bench(tmp_path)
    chain(bench, Mode.RECORD, [answer("Here.", 1), answer("Soon.", 2)])
    recorded = bench.text

    first, second = chain(bench, Mode.REPLAY, [])
    chain(bench, Mode.REFRESH, [answer("Here.", 8), answer("Soon.", 9)])

    assert [one["output"][0]["content"][0]["text"] for one in (first, second)] == ["Here.", "Soon."]
    assert bench.text == recorded
    assert "live" not in recorded
    assert "find" not in recorded  # what a response repeats of its request


def test_one_conversation_over_several_apis_is_one_file(tmp_path: Any) -> None:
    """Lines say which API was asked, but for chat completions; each request is read back as it was."""
    bench = Bench(tmp_path)
    said = {"content": [{"type": "text", "text": "Hello."}], "stop_reason": "end_turn"}
    asked = [
        (body([{"role": "user", "content": "a"}]), "chat", completion("x")),
        (ASKED, "responses", answer("Here.", 1)),
        ({**ASKED, "input": [*ASKED["input"], {"role": "user", "content": "And?"}]}, "responses", answer("There.", 2)),
        (TOLD, "messages", said),
        (body([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]), "chat", completion("y")),
    ]
    recorder = bench.open(Mode.RECORD)
    for request, api, response in asked:
        assert recorder.find(AGENT, request, api) is None
        recorder.keep(AGENT, request, response, api)
    recorder.finished(run())
    bench.merge()

    listed = read_cassette(bench.cassette).runs[next(iter(read_cassette(bench.cassette).runs))]["agent"]
    replay = bench.open(Mode.REPLAY)

    assert [exchange.api for exchange in listed] == [api for _, api, _ in asked]
    assert [line.count('"api"') for line in bench.lines] == [0, 1, 1, 1, 0]
    assert len(bench.lines[2]) < len(bench.lines[1])
    for request, api, _ in asked:
        assert replay.find(AGENT, request, api) is not None


def test_a_miss_says_that_another_api_was_asked(tmp_path: Any) -> None:
    """The nearest recording may be of another API, and a difference is named by its item."""
    bench = Bench(tmp_path)
    chain(bench, Mode.RECORD, [answer("Here.", 1), answer("Soon.", 2)])

    with pytest.raises(CassetteMissError, match="a response was recorded, a message asked"):
        bench.open(Mode.REPLAY).find(AGENT, TOLD, "messages")
    with pytest.raises(CassetteMissError, match=r"message 1 differs: content 'Where is W1\?' was recorded, 'Hi' asked"):
        bench.open(Mode.REPLAY).find(AGENT, {"model": "m", "input": "Hi"}, "responses")


def test_an_api_that_is_not_known_is_an_error_of_the_file(tmp_path: Any) -> None:
    """It names the line and what is allowed."""
    bench = Bench(tmp_path)
    chain(bench, Mode.RECORD, [answer("Here.", 1), answer("Soon.", 2)])
    bench.cassette.write_text(bench.text.replace('"api":"responses"', '"api":"gemini"'))

    with pytest.raises(SuiteError, match=r"`api` is 'gemini'; it must be one of chat, responses, messages"):
        bench.open(Mode.REPLAY)
