"""Streams of chat completions, cut into events and put together."""

import json
import time
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from pytest_agentbench.llm.apis.chat_completions import ChatAssembly
from pytest_agentbench.llm.proxy.relay import Events
from tests.tables import each

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def _mostly(values: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """What a key holds, or anything else."""
    return st.fixed_dictionaries({}, optional={key: value | _JSON for key, value in values.items()})


_CALL = _mostly({"index": st.integers(0, 2), "id": st.text(), "function": _mostly({"name": st.text()})})
_DELTA = _mostly({"content": st.text(), "role": st.text(), "tool_calls": st.lists(_CALL | _JSON, max_size=2)})
_CHOICE = _mostly({"index": st.integers(0, 2), "delta": _DELTA, "finish_reason": st.just("stop")})
_CHUNK = _mostly({"id": st.text(), "choices": st.lists(_CHOICE | _JSON, max_size=2)})


@example([{"choices": [{"delta": {"tool_calls": [{"function": ["x"]}]}, "finish_reason": "stop"}]}])
@given(st.lists(_CHUNK.filter(lambda chunk: isinstance(chunk, dict)), max_size=4))
def test_whatever_a_server_streams_is_put_together_or_is_not_whole(chunks: list[dict[str, Any]]) -> None:
    """Parts of a wrong type raise nothing."""
    assembly = ChatAssembly()
    for chunk in chunks:
        assembly.add(chunk)

    whole = assembly.whole()
    assert whole is None or whole["choices"]


def test_text_that_comes_in_pieces_is_joined() -> None:
    """Contents, names and arguments grow; a role is told again and again, and what is null changes nothing."""
    assembly = ChatAssembly()
    for content, arguments in (("a", "{"), (None, ""), ("b", "}")):
        call = {"index": 0, "id": "1", "function": {"name": "f" if arguments == "{" else None, "arguments": arguments}}
        delta = {"role": "assistant", "content": content, "tool_calls": [call]}
        assembly.add({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    assembly.add({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})

    completion = assembly.whole()
    assert completion is not None
    assert completion["choices"][0]["message"] == {
        "role": "assistant",
        "content": "ab",
        "tool_calls": [{"type": "function", "id": "1", "function": {"name": "f", "arguments": "{}"}}],
    }


@given(
    st.lists(st.sampled_from([b"data: 1", b"data: {}", b":", b"\n", b"\r", b"\r\n", b"x"]), max_size=30),
    st.lists(st.integers(1, 5), min_size=1),
)
def test_events_are_the_same_however_they_are_cut(pieces: list[bytes], sizes: list[int]) -> None:
    """Byte by byte or all at once: the same events, and nothing is lost."""
    stream = b"".join(pieces)
    whole = Events()
    expected = [*whole.feed(stream), whole.rest()]

    cut, events = [], Events()
    at = 0
    while at < len(stream):
        size = sizes[at % len(sizes)]
        cut += events.feed(stream[at : at + size])
        at += size

    assert [*cut, events.rest()] == expected
    assert b"".join(event.raw for event in expected) == stream


def test_separators_of_other_alphabets_end_no_line() -> None:
    """Only line feeds and carriage returns do: U+2028 may stand in JSON as it is."""
    events = Events()
    (event,) = events.feed('data: {"a": "\u2028"}\n\n'.encode())

    assert event.data == {"a": "\u2028"}


@each("size", [128 * 1024, 3 * 1024 * 1024])
def test_long_streams_take_time_in_proportion(size: int) -> None:
    """3 MB of small events, and one event of 3 MB, take time in proportion to their length."""
    chunk = b"data: " + json.dumps({"choices": [{"delta": {"content": "some words" * 10}}]}).encode() + b"\n\n"
    streams = [chunk * (3 * 1024 * 1024 // len(chunk)), b"data: " + b"1" * 3 * 1024 * 1024]
    began = time.process_time()
    for stream in streams:
        events = Events()
        for at in range(0, len(stream), size):
            for _ in events.feed(stream[at : at + size]):
                pass
    assert time.process_time() - began < 4.0  # a slow machine takes one, and took ten the quadratic way
