"""Reading a chat completion: every form in use, and a clear word about what is none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.errors import ProviderError
from pytest_agentbench.llm.completion import read_reply, tokens_of
from pytest_agentbench.llm.reply import RequestedCall, TokenCount
from tests.tables import each


def completion(message: object, **more: object) -> dict[str, Any]:
    """A completion of one choice."""
    return {"id": "c1", "model": "m-2026", "choices": [{"message": message, "finish_reason": "stop"}], **more}


def test_a_whole_answer_is_read() -> None:
    """Text, calls, tokens, and the model that answered rather than the one asked for."""
    calls = [{"id": "x", "type": "function", "function": {"name": "find", "arguments": '{"a": 1}'}}]
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}

    reply = read_reply(completion({"content": "hi", "tool_calls": calls}, usage=usage), "m")

    assert (reply.text, reply.model, reply.finish_reason) == ("hi", "m-2026", "stop")
    assert reply.calls == (RequestedCall(id="x", name="find", arguments='{"a": 1}'),)
    assert reply.tokens == TokenCount(input=10, output=5, cached=4)
    assert (reply.cost_usd, reply.replayed, reply.truncated) == (None, False, False)


@each(
    ("message", "content", "refusal"),
    [
        ({"content": None}, None, None),
        ({}, None, None),
        ({"content": ""}, "", None),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", None),
        ({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "b"}]}, "b", None),
        ({"content": [{"type": "refusal", "refusal": "no"}]}, None, "no"),
        ({"content": None, "refusal": "I cannot"}, None, "I cannot"),
        ({"content": "\ud800 \x1b[0m"}, "\ud800 \x1b[0m", None),
    ],
)
def test_contents_and_refusals(message: dict[str, Any], content: str | None, refusal: str | None) -> None:
    """A string, parts that are joined, nothing, or a refusal in either place."""
    reply = read_reply(completion(message), "m")

    assert (reply.content, reply.refusal) == (content, refusal)


@each(
    ("message", "thoughts"),
    [
        ({"content": "b", "reasoning_content": "a"}, "a"),
        ({"content": "b", "reasoning": "a"}, "a"),
        ({"content": "b", "reasoning": "a", "reasoning_content": "a"}, "a"),
        ({"content": "b", "reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a"}]}, "a"),
        ({"content": "b", "reasoning_details": [{"type": "reasoning.summary", "summary": "a"}]}, "a"),
        ({"content": "b", "thinking_blocks": [{"type": "thinking", "thinking": "a"}]}, "a"),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}, {"text": "b"}]}, "a"),
        ({"content": "<think>a</think>b"}, "a"),
        ({"content": "a</think>b"}, "a"),
        ({"content": "<think>c</think>b", "reasoning_content": "a"}, "a\nc"),
        ({"content": "b", "reasoning_content": None, "reasoning_details": [7, {"data": "x"}]}, None),
    ],
)
def test_thoughts_are_kept_apart_wherever_a_server_puts_them(message: dict[str, Any], thoughts: str | None) -> None:
    """A field of their own, parts of the content, tags in the text: none of it is said."""
    reply = read_reply(completion(message), "m")

    assert (reply.content, reply.thoughts) == ("b", thoughts)


@each(
    ("usage", "output", "reasoning"),
    [
        ({"total_tokens": 15}, 5, 0),
        ({"total_tokens": 15, "completion_tokens_details": {"reasoning_tokens": 3}}, 5, 3),
        ({"total_tokens": 18, "completion_tokens_details": {"reasoning_tokens": 3}}, 8, 3),
        ({"total_tokens": 45}, 35, 30),
        ({"completion_tokens_details": {"reasoning_tokens": 30}}, 35, 30),
        ({"total_tokens": 7}, 5, 0),
        ({"total_tokens": "45"}, 5, 0),
    ],
    ids=["no thoughts", "within", "beside", "beside, not told", "beside, no total", "wrong total", "no number"],
)
def test_thoughts_that_are_counted_beside_the_completion_are_output(
    usage: dict[str, Any], output: int, reasoning: int
) -> None:
    """They are billed as output: a budget that leaves them out does not hold."""
    told = {"prompt_tokens": 10, "completion_tokens": 5, **usage}
    expected = TokenCount(input=10, output=output, reasoning=reasoning)

    assert read_reply(completion({"content": "hi"}, usage=told), "m").tokens == expected
    assert tokens_of({"usage": told}) == expected


@each(("details", "reasoning"), [({"reasoning_tokens": 3}, 3), ({}, 0), (None, 0), ("3", 0)])
def test_tokens_of_thoughts_are_counted(details: object, reasoning: int) -> None:
    """They are part of the output; a server that does not tell them apart has thought nothing that is known."""
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": details}

    tokens = read_reply(completion({"content": "hi"}, usage=usage), "m").tokens

    assert tokens == TokenCount(input=10, output=5, reasoning=reasoning)


def test_calls_of_careless_servers_are_read() -> None:
    """An id that is missing is made from the answer's, arguments may come as an object or not at all."""
    calls = [{"function": {"name": "a", "arguments": {"x": 1}}}, {"id": "", "function": {"name": "b"}}]

    reply = read_reply(completion({"tool_calls": calls}), "m")

    assert [(call.id, call.arguments) for call in reply.calls] == [("c1-1", '{"x":1}'), ("c1-2", "")]


@each(
    ("response", "said"),
    [
        ({}, "choices is missing, not a list"),
        ({"choices": []}, "'m' answered with no choices"),
        ({"choices": ["hi"]}, "choices[0] is '\"hi\"', not an object"),
        ({"choices": [{}]}, "message is missing, not an object"),
        (completion("hi"), "message is '\"hi\"', not an object"),
        (completion({"content": 7}), "content is '7', not text or a list of parts"),
        (completion({"content": ["hi"]}), "content part is '\"hi\"', not an object"),
        (completion({"tool_calls": "find"}), "tool_calls is '\"find\"', not a list"),
        (completion({"tool_calls": [{"id": "1"}]}), "function of a tool call is missing"),
        (completion({"tool_calls": [{"function": {"name": ""}}]}), "name of a tool call is '\"\"', not a name"),
        (completion({"refusal": True}), "refusal is 'true', not text"),
    ],
)
def test_what_is_no_completion_is_named(response: dict[str, Any], said: str) -> None:
    """The error says what was found and what belongs there."""
    with pytest.raises(ProviderError) as raised:
        read_reply(response, "m")

    assert said in str(raised.value)


@each("usage", [None, 7, {}, {"prompt_tokens": "9", "completion_tokens": 1}, {"prompt_tokens": -1}])
def test_usage_that_cannot_be_read_is_unknown(usage: object) -> None:
    """No numbers, no tokens: nothing is taken for 0."""
    assert read_reply(completion({"content": "x"}, usage=usage), "m").tokens is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "tool_calls", "name", "usage", "type", "reasoning_details", "text"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["choices", "usage", "model", "id"]), JSON))
def test_no_json_object_breaks_the_reader(response: dict[str, Any]) -> None:
    """Any object is a reply or a ProviderError."""
    said = "a reply"
    try:
        read_reply(response, "m")
    except ProviderError as error:
        said = str(error)

    assert said.isprintable()
