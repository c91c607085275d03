"""No key reaches a cassette or a shard, and what was redacted still replays."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.llm.apis.registry import CHAT
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.results.redact import Redactor
from tests.llm.cassette.talk import Bench, ask, body, completion, run

PLANTED = 'pläntéd "key"/\\value'
NUMBER = "48151623"
SHAPED = "sk-proj-abcdefghij0123456789"


def planted(key):
    """Build requests with a key in every place where one can be."""
    call = {"id": "c1", "type": "function", "function": {"name": "login", "arguments": json.dumps({"pin": key})}}
    tool = {"type": "function", "function": {"name": "login", "description": f"Use {key}.", "parameters": {key: {}}}}
    messages = [
        {"role": "system", "content": f"Your context: {json.dumps({'credentials': key})}", "name": key},
        {"role": "user", "content": [{"type": "text", "text": f"My key is {key}."}]},
        {"role": "assistant", "content": key, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": json.dumps({"env": json.dumps({"KEY": key})})},
        {"role": "tool", "tool_call_id": key, "content": f"KEY={key}\nAuthorization: Bearer {key}"},
    ]
    extra = {"api_key": key, "extra": {key: [key]}, "headers": {"Authorization": f"Bearer {key}"}, "user": key}
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"enum": [key]}}}
    return body(messages, tools=[tool], response_format=schema, **extra)


def answer(key):
    """Build an answer with a key in every place where one can be."""
    call = {"id": "c9", "type": "function", "function": {"name": "login", "arguments": json.dumps({"pin": key})}}
    return {**completion(f"The key is {key}", tool_calls=[call], refusal=key, reasoning=key), "error": {"key": key}}


@pytest.mark.parametrize("key", [PLANTED, NUMBER, SHAPED])
@pytest.mark.parametrize("merged", [False, True])
def test_no_key_is_written(key, merged, tmp_path):
    """Keys in arguments, context, tool results, environment values, schemas and answers are in no file, nor parts."""
    bench = Bench(tmp_path, secrets=() if key == SHAPED else (key,))
    recorder = bench.open(Mode.RECORD)
    caller = Caller(role="agent", run=run())
    live = ask(recorder, caller, planted(key), lambda _: answer(key))
    recorder.finished(run())
    if merged:
        bench.merge()
    recorder.close()

    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    texts = [path.read_text(encoding="ascii") for path in written]

    assert len(written) == 1
    assert not [text for text in texts for part in (key, "pl\\u00e4", "48151623", "sk-proj") if part in text]
    assert key in json.dumps(live, ensure_ascii=False) or key == PLANTED


def test_what_was_redacted_replays(tmp_path):
    """The replayed agent passes on `***` where it passed on the key, and is answered as before, without the secret."""
    bench = Bench(tmp_path, secrets=(PLANTED,))
    caller = Caller(role="agent", run=run())
    start = [{"role": "user", "content": f"log in with {PLANTED}"}]
    call = {"id": "c1", "type": "function", "function": {"name": "login", "arguments": json.dumps({"pin": PLANTED})}}

    def converse(recorder, key, model):
        opening = [{"role": "user", "content": f"log in with {key}"}]
        message = ask(recorder, caller, body(opening), model)["choices"][0]["message"]
        given = json.loads(message["tool_calls"][0]["function"]["arguments"])["pin"]
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": f"in with {given}"}
        return given, ask(recorder, caller, body([*opening, message, result]), model)

    live = iter([completion(None, tool_calls=[call]), completion("done")])
    recorder = bench.open(Mode.RECORD)
    assert converse(recorder, PLANTED, lambda _: next(live))[0] == PLANTED
    recorder.finished(run())
    bench.merge()

    fork = Bench(tmp_path, secrets=("dummy",))
    given, last = converse(fork.open(Mode.REPLAY), "dummy", None)

    assert given == "***"
    assert last["choices"][0]["message"]["content"] == "done"
    assert start[0]["content"] not in bench.text


def test_a_secret_that_is_a_number_leaves_counts(tmp_path):
    """Token counts stay numbers, and reasons to stop stay what they are, whatever the secrets are."""
    kept = CHAT.reduced(answer("x"), Redactor(["7777", "stop", "tool_calls", "assistant"]).json)
    counted = CHAT.reduced({"choices": [], "usage": {"prompt_tokens": 7777, "note": "7777"}}, Redactor(["7777"]).json)

    assert counted["usage"] == {"prompt_tokens": 7777}
    assert kept["choices"][0]["finish_reason"] == "tool_calls"
    assert kept["choices"][0]["message"]["role"] == "assistant"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
members = st.dictionaries(st.sampled_from(["choices", "usage", "model", "id", "error"]), values)
choices = st.dictionaries(st.sampled_from(["index", "message", "finish_reason", "logprobs"]), values)


@given(members | choices.map(lambda choice: {"choices": [choice]}))
def test_any_answer_is_kept(response):
    """Whatever a server sends as an object can be kept and given again, and keeping that changes nothing more."""
    redact = Redactor().json
    kept = CHAT.reduced(response, redact)

    assert CHAT.reduced(CHAT.restored(kept, "k"), redact) == kept
