"""Each API's answers, taken apart and put together: streams, what is kept of them, and whatever else a server sends."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_agentbench.llm.apis.api import ANTHROPIC, OPENAI, Api
from pytest_agentbench.llm.apis.registry import APIS, api_at, api_named
from pytest_agentbench.llm.completion import tokens_of
from pytest_agentbench.llm.proxy.relay import Events
from pytest_agentbench.results.redact import Redactor
from tests.tables import each

CHAT, RESPONSES, MESSAGES = APIS
EACH = pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
REDACT = Redactor(["hunter22", "text", "message", "assistant"]).json

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
objects = st.dictionaries(st.sampled_from(["order_id", "n"]), words | st.integers(), max_size=2)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def mostly(parts: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Objects whose members are what they should be, or anything else."""
    return st.fixed_dictionaries({}, optional={key: part | values for key, part in parts.items()})


def chat_answer(text: str, calls: list[Any], thoughts: str) -> dict[str, Any]:
    """A completion."""
    message: dict[str, Any] = {"role": "assistant", "content": text, "reasoning_content": thoughts}
    if calls:
        message["tool_calls"] = [
            {"type": "function", "id": f"c{n}", "function": {"name": "f", "arguments": json.dumps(one)}}
            for n, one in enumerate(calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 5}
    return {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}


def response(text: str, calls: list[Any], thoughts: str) -> dict[str, Any]:
    """A response."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    said = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    output: list[dict[str, Any]] = [
        {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": thoughts}]},
        said,
        *(
            {"id": f"fc_{n}", "type": "function_call", "call_id": f"c{n}", "name": "f", "arguments": json.dumps(one)}
            for n, one in enumerate(calls)
        ),
    ]
    usage = {"input_tokens": 7, "output_tokens": 5}
    return {"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": output, "usage": usage}


def message(text: str, calls: list[Any], thoughts: str) -> dict[str, Any]:
    """A message."""
    content: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": thoughts, "signature": "abc"},
        {"type": "text", "text": text},
        *({"type": "tool_use", "id": f"c{n}", "name": "f", "input": one} for n, one in enumerate(calls)),
    ]
    usage = {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5}
    form = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
    return {**form, "content": content, "stop_reason": "tool_use" if calls else "end_turn", "usage": usage}


ANSWERS = {"chat": chat_answer, "responses": response, "messages": message}

_PART = mostly({"type": st.sampled_from(["output_text", "text", "tool_use", "refusal"]), "text": words})
_ITEM = mostly(
    {
        "type": st.sampled_from(["message", "function_call", "reasoning", "tool_use", "item_reference"]),
        "role": st.sampled_from(["user", "assistant"]),
        "id": words,
        "call_id": words,
        "tool_use_id": words,
        "content": st.lists(_PART, max_size=2),
        "summary": st.lists(_PART, max_size=2),
        "input": objects,
    }
)
_LISTS = {name: st.lists(_ITEM, max_size=3) for name in ("messages", "input", "output", "content", "tools", "system")}
BODIES = mostly({**_LISTS, "previous_response_id": words, "usage": values, "status": words, "id": words})
_TYPES = [
    "response.completed", "response.output_item.done", "error", "message_start", "content_block_start",
    "content_block_delta", "message_delta", "message_stop",
]  # fmt: skip
EVENTS = mostly(
    {
        "type": st.sampled_from(_TYPES),
        "index": st.integers(0, 2),
        "response": BODIES,
        "message": BODIES,
        "item": _ITEM,
        "content_block": _ITEM,
        "delta": mostly(
            {"type": st.sampled_from(["text_delta", "input_json_delta"]), "text": words, "citation": words}
        ),
    }
).filter(lambda event: isinstance(event, dict))


def played(api: Api, answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Write an answer as a stream and read that again."""
    events = Events()
    return [event.data for part in api.events(answer, with_usage=True) for event in events.feed(part) if event.data]


@EACH
@settings(max_examples=40)
@given(words, st.lists(objects, max_size=2), words)
def test_a_stream_made_of_an_answer_is_that_answer(api: Api, text: str, calls: list[Any], thoughts: str) -> None:
    """Nothing is lost on the way there and back, and only the last event ends it."""
    answer = ANSWERS[api.name](text, calls, thoughts)
    assembly = api.assembly()
    streamed = played(api, answer)
    for event in streamed:
        assembly.add(event)

    assert assembly.whole() == answer
    assert [api.is_last(event) for event in streamed[:-1]] == [False] * (len(streamed) - 1)


@EACH
@settings(max_examples=40)
@given(words, st.lists(objects, max_size=2), words)
def test_what_is_kept_is_whole_and_always_the_same(api: Api, text: str, calls: list[Any], thoughts: str) -> None:
    """A kept answer replays as a whole one, which is kept as the same bytes again, whatever a secret is called."""
    kept = api.reduced(ANSWERS[api.name](text, calls, thoughts), REDACT)
    restored = api.restored(kept, "k")

    assert api.is_whole(restored)
    assert api.reduced(restored, REDACT) == kept
    assert tokens_of(restored) == tokens_of(ANSWERS[api.name](text, calls, thoughts))


@EACH
@settings(max_examples=40)
@given(st.lists(EVENTS, max_size=5))
@example([{"type": "message_start", "message": {}}, {"type": "content_block_delta", "delta": {"citation": 1}}])
def test_whatever_a_server_streams_is_put_together_or_is_not_whole(api: Api, events: list[dict[str, Any]]) -> None:
    """Parts of a wrong type raise nothing, and neither does what they add up to."""
    assembly = api.assembly()
    for event in events:
        api.is_last(event)
        assembly.add(event)
    whole = assembly.whole()

    if whole is not None and api.is_whole(whole):
        assert played(api, api.restored(api.reduced(whole, REDACT), "k"))


@EACH
@settings(max_examples=40)
@given(BODIES, BODIES)
def test_whatever_is_posted_can_be_compared(api: Api, body: Any, earlier: Any) -> None:
    """Requests that are none have what decides them, too, and it is JSON."""
    if not isinstance(body, dict) or not isinstance(earlier, dict):
        return
    decided = api.deciding(body, {})
    items = decided.get(api.items)
    for item in items if isinstance(items, list) else []:
        json.dumps(api.item(item, REDACT))
    live = api.live(body, {"resp_1": (earlier, earlier)})

    assert live is None or isinstance(live["input"], list)


@each("api", [RESPONSES, MESSAGES], ids=lambda api: api.name)
def test_a_stream_that_ends_before_its_last_event_is_broken(api: Api) -> None:
    """However much of it came; an error in it breaks it as well."""
    streamed = played(api, ANSWERS[api.name]("It is on its way.", [{"n": 1}], "hm"))
    for length in range(len(streamed)):
        assembly = api.assembly()
        for event in streamed[:length]:
            assembly.add(event)
        assert assembly.whole() is None

    assembly.add({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})
    assembly.add(streamed[-1])
    assert assembly.whole() is None


def test_a_response_that_failed_is_not_whole() -> None:
    """Neither is one that is still being made: its answer comes elsewhere."""
    assembly = RESPONSES.assembly()
    assembly.add({"type": "response.failed", "response": {**response("", [], ""), "status": "failed"}})

    assert assembly.whole() is None
    assert not RESPONSES.is_whole({"status": "queued", "output": []})
    assert RESPONSES.is_whole({"status": "incomplete", "output": []})


def test_a_response_whose_last_event_leaves_its_output_out_has_it_from_its_items() -> None:
    """Some servers do."""
    answer = response("Hello.", [], "")
    *streamed, last = played(RESPONSES, answer)
    assembly = RESPONSES.assembly()
    for event in streamed:
        assembly.add(event)
    assembly.add({**last, "response": {**last["response"], "output": None}})

    assert assembly.whole() == answer


def test_arguments_that_were_cut_off_stay_as_they_were_written() -> None:
    """A message that ended at its token limit replays with them."""
    cut = message("", [], "") | {"stop_reason": "max_tokens"}
    cut["content"] = [{"type": "tool_use", "id": "c1", "name": "f", "input": '{"order'}]
    assembly = MESSAGES.assembly()
    for event in played(MESSAGES, cut):
        assembly.add(event)

    assert assembly.whole() == cut


def test_counts_of_a_streamed_message_are_sums_of_which_some_are_left_out() -> None:
    """What only the first event tells stays; what both tell is as told last."""
    assembly = MESSAGES.assembly()
    started = {"usage": {"input_tokens": 5, "cache_read_input_tokens": 9, "output_tokens": 1}, "content": []}
    assembly.add({"type": "message_start", "message": started})
    assembly.add({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 40}})
    assembly.add({"type": "message_stop"})

    tokens = tokens_of(assembly.whole() or {})
    assert tokens is not None
    assert (tokens.input, tokens.cached, tokens.output) == (14, 9, 40)


CACHING_GATEWAY = {
    "prompt_tokens": 20,
    "completion_tokens": 3,
    "prompt_tokens_details": {"cached_tokens": 9},
    "cache_read_input_tokens": 9,
    "cache_creation_input_tokens": 1,
}
"""Usage in both forms at once: the prompt holds what came from a cache, as OpenAI's does."""


@each(
    ("usage", "expected"),
    [
        ({"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}, (9, 2, 4)),
        ({"input_tokens": 5, "cache_creation_input_tokens": 3, "output_tokens": 2}, (8, 2, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 2}, (9, 2, 0)),
        ({"prompt_tokens": 9, "total_tokens": 9}, (9, 0, 0)),
        ({"input_tokens": "many", "output_tokens": 2}, None),
        (CACHING_GATEWAY, (20, 3, 9)),
        ({"input_tokens": True, "cache_read_input_tokens": True}, None),
    ],
)
def test_tokens_are_read_in_every_form(usage: dict[str, Any], expected: tuple[int, ...] | None) -> None:
    """The input holds what came from a cache, and what went into one."""
    tokens = tokens_of({"usage": usage})

    assert (tokens and (tokens.input, tokens.output, tokens.cached)) == expected


def test_an_encrypted_thought_keeps_the_id_that_it_is_bound_to() -> None:
    """A server that is asked live later reads it only under this id; all other ids are made anew."""
    answer = response("Hello.", [], "hm")
    answer["output"][0]["encrypted_content"] = "gAAAA"

    restored: Any = RESPONSES.restored(RESPONSES.reduced(answer, REDACT), "k")

    assert [item["id"] for item in restored["output"]] == ["rs_1", "msg_k1"]
    assert RESPONSES.ids(answer, "k") == {"resp_1": "resp_k", "rs_1": "rs_1", "msg_1": "msg_k1"}


def test_apis_are_found_by_path_and_by_name() -> None:
    """Other paths are none."""
    assert [api_at(path) for path in ("chat/completions", "responses", "messages")] == list(APIS)
    assert [api_at(path) for path in ("messages/count_tokens", "responses/resp_1", "")] == [None] * 3
    with pytest.raises(ValueError, match="it must be one of chat, responses, messages"):
        api_named("gemini")


@each(
    ("upstream", "environ", "openai", "anthropic"),
    [
        ("", {}, "https://api.openai.com/v1", "https://api.anthropic.com/v1"),
        ("", {"OPENAI_BASE_URL": "http://a/v1", "ANTHROPIC_BASE_URL": "http://b"}, "http://a/v1", "http://b/v1"),
        ("http://c/v1", {"ANTHROPIC_BASE_URL": "http://b"}, "http://c/v1", "http://c/v1"),
        ("http://c/anthropic/", {}, "http://c/anthropic/", "http://c/anthropic/v1"),
        ("http://c?api-version=1", {}, "http://c?api-version=1", "http://c/v1?api-version=1"),
    ],
)
def test_each_api_has_a_home(upstream: str, environ: dict[str, str], openai: str, anthropic: str) -> None:
    """What is named goes first, then the variable of the API's own clients, then its maker's server."""
    assert OPENAI.base_url(upstream, environ) == openai
    assert ANTHROPIC.base_url(upstream, environ) == anthropic


def test_the_citations_of_a_block_come_in_the_order_of_their_events() -> None:
    """After those that the block began with."""
    assembly = MESSAGES.assembly()
    assembly.add({"type": "message_start", "message": {"stop_reason": "end_turn"}})
    assembly.add(
        {"type": "content_block_start", "content_block": {"type": "text", "citations": [{"n": 0}]}, "index": 0}
    )
    for number in (1, 2):
        assembly.add({"type": "content_block_delta", "index": 0, "delta": {"citation": {"n": number}}})
    assembly.add({"type": "message_stop"})

    whole = assembly.whole() or {}

    assert whole["content"] == [{"type": "text", "citations": [{"n": 0}, {"n": 1}, {"n": 2}]}]
