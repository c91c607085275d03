"""Whatever an agent returns becomes a reply, or an `AgentError` that says what it was and what is allowed."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.conversation import Reply, Turn
from pytest_agentbench.core.errors import AgentError
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message
from tests.agents.replying import to_reply
from tests.tables import each


def text(said: str) -> Message:
    """Give a text of the agent."""
    return Message(role="assistant", content=said)


def called(name: str, call_id: str = "c1", **arguments: Any) -> Message:
    """Give a message with one call."""
    return Message(role="assistant", tool_calls=(ToolCall(name=name, arguments=arguments, id=call_id),))


def result(content: str, call_id: str = "c1", *, error: bool = False) -> Message:
    """Give the result of a call."""
    return Message(role="tool", content=content, tool_call_id=call_id, error=error)


LOOKED = (called("look", id=7), result("found"), text("Here it is"))

OPENAI_CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"id": 7}'}}
OPENAI_LIST = [
    {"role": "assistant", "content": None, "tool_calls": [OPENAI_CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "found"},
    {"role": "assistant", "content": "Here it is"},
]
LANGCHAIN_LIST = [
    SimpleNamespace(type="ai", content="", tool_calls=[{"name": "look", "args": {"id": 7}, "id": "c1"}]),
    SimpleNamespace(type="tool", content="found", tool_call_id="c1", status="success"),
    SimpleNamespace(type="ai", content=[{"type": "text", "text": "Here "}, "it is"], tool_calls=[]),
]
PARTS_LIST = [
    {
        "kind": "response",
        "parts": [
            {"part_kind": "thinking", "content": "hm"},
            {"part_kind": "tool-call", "tool_name": "look", "args": '{"id": 7}', "tool_call_id": "c1"},
        ],
    },
    {
        "kind": "request",
        "parts": [{"part_kind": "tool-return", "tool_name": "look", "content": "found", "tool_call_id": "c1"}],
    },
    {"kind": "response", "parts": [{"part_kind": "text", "content": "Here it is"}]},
]
TAU2_LIST = [
    {"role": "assistant", "tool_calls": [{"id": "c1", "name": "look", "arguments": {"id": 7}}]},
    {"role": "tool", "id": "c1", "content": "found", "error": False, "requestor": "assistant"},
    {"role": "assistant", "content": "Here it is"},
]


@each(
    "returned",
    [OPENAI_LIST, LANGCHAIN_LIST, PARTS_LIST, TAU2_LIST, list(LOOKED), Reply(messages=LOOKED), tuple(OPENAI_LIST)],
    ids=["openai", "langchain", "pydantic-ai", "tau2", "messages", "reply", "tuple"],
)
def test_every_shape_of_calls_the_agent_ran_itself_reads_the_same(returned: object) -> None:
    """A call, its result and the text are the same three messages whoever shaped them."""
    reply = to_reply(returned)
    assert [
        message.model_copy(update={"content": message.content or None, "thoughts": None}) for message in reply.messages
    ] == list(LOOKED)


@each(
    "returned",
    [
        "hi",
        text("hi"),
        {"role": "assistant", "content": "hi"},
        {"content": "hi"},
        {"content": [{"type": "text", "text": "h"}, {"type": "thinking"}, {"type": "text", "text": "i"}]},
        {"role": "assistant", "content": None, "refusal": "hi"},
        SimpleNamespace(role="assistant", content="hi", tool_calls=None),
        SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(role="assistant", content="hi"))]),
        {"choices": [{"message": {"role": "assistant", "content": "hi"}}]},
        {"messages": [SimpleNamespace(type="human", content="hello"), SimpleNamespace(type="ai", content="hi")]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "hi"}]},
    ],
)
def test_text_in_every_shape(returned: object) -> None:
    """Text is text, however it is wrapped."""
    assert to_reply(returned, Turn(message="hello")).messages[-1].text == "hi"


@each(
    ("arguments", "parsed", "raw"),
    [
        ('{"id": 7}', {"id": 7}, None),
        ({"id": 7}, {"id": 7}, None),
        ("", {}, None),
        (None, {}, None),
        ('{"id": 7', {}, '{"id": 7'),
        ("[7]", {}, "[7]"),
        ([7], {}, "[7]"),
        ("[" * 100_000, {}, "[" * 100_000),
        ("9" * 5000, {}, "9" * 5000),
    ],
    ids=range(9),
)
def test_arguments_that_are_no_object_are_kept_raw(arguments: object, parsed: object, raw: str | None) -> None:
    """A call whose arguments cannot be parsed is a call, with the text it came with."""
    call = to_reply({"tool_calls": [{"name": "look", "args": arguments}]}).messages[-1].tool_calls[0]
    assert (call.arguments, call.raw) == (parsed, raw)


def test_calls_that_langchain_could_not_parse_are_calls() -> None:
    """`invalid_tool_calls` hold what the model asked for."""
    message = SimpleNamespace(
        type="ai",
        content="",
        tool_calls=[],
        invalid_tool_calls=[{"name": "look", "args": '{"id": ', "id": "c1", "error": "bad"}],
    )
    assert to_reply(message).messages[0].tool_calls == (ToolCall(name="look", id="c1", raw='{"id": '),)


@each(
    "failed",
    [
        SimpleNamespace(type="tool", content="no such id", tool_call_id="c1", status="error"),
        {"role": "tool", "content": "no such id", "tool_call_id": "c1", "error": True},
        {
            "kind": "request",
            "parts": [
                {"part_kind": "retry-prompt", "tool_name": "look", "content": "no such id", "tool_call_id": "c1"},
                {"part_kind": "retry-prompt", "content": "and answer at last"},
            ],
        },
        {
            "kind": "request",
            "parts": [
                {"part_kind": "tool-return", "content": "no such id", "tool_call_id": "c1", "outcome": "retried"}
            ],
        },
    ],
    ids=["langchain", "tau2", "retry-prompt", "retried"],
)
def test_tool_errors_are_told_apart(failed: object) -> None:
    """The result of a failed call is marked in each shape."""
    reply = to_reply([called("look"), failed, text("Sorry")])
    assert reply.messages[1] == result("no such id", error=True)


@each(
    ("content", "kept"),
    [
        ([{"id": 7}], '[{"id":7}]'),
        ({"id": 7}, '{"id":7}'),
        (["a", "b"], '["a","b"]'),
        ([{"type": "json_invalid", "msg": "no"}], '[{"type":"json_invalid","msg":"no"}]'),
        ([], "[]"),
        (7, "7"),
        ([{"type": "text", "text": "fou"}, {"type": "image"}, {"type": "text", "text": "nd"}], "fou[image]nd"),
        (None, ""),
    ],
)
def test_data_in_tool_results_is_json(content: object, kept: str) -> None:
    """A tool result that is data is kept as JSON, a list of content parts as its text."""
    reply = to_reply([called("look"), {"role": "tool", "tool_call_id": "c1", "content": content}, text("ok")])
    assert reply.messages[1].text == kept


def test_missing_ids_are_given_and_results_follow_by_position() -> None:
    """Ids are deterministic, and results without an id answer calls in order."""
    calls = {"tool_calls": [{"name": "look", "args": {}}, {"name": "take", "args": {}}]}
    reply = to_reply([calls, {"role": "tool", "content": "a"}, {"role": "tool", "content": "b"}, text("ok")], number=3)
    assert [call.id for call in reply.messages[0].tool_calls] == ["call_3_1", "call_3_2"]
    assert [(m.tool_call_id, m.text) for m in reply.messages[1:3]] == [("call_3_1", "a"), ("call_3_2", "b")]


def test_results_are_found_by_id_in_any_order() -> None:
    """Results that name their calls are put in the order of the calls."""
    calls = Message(role="assistant", tool_calls=(ToolCall(name="look", id="x"), ToolCall(name="take", id="y")))
    reply = to_reply([calls, result("took", "y"), result("saw", "x"), text("ok")])
    assert [message.text for message in reply.messages[1:3]] == ["saw", "took"]


def test_parallel_calls_listed_one_by_one_become_one_message() -> None:
    """Calls that all precede their results were made in parallel."""
    reply = to_reply(
        [text("Wait"), called("look", "x"), called("take", "y"), result("took", "y"), result("saw", "x"), text("ok")]
    )
    assert [len(message.tool_calls) for message in reply.messages] == [0, 2, 0, 0, 0]


def test_several_results_of_one_id_answer_in_order() -> None:
    """Models that repeat an id still get one result per call."""
    calls = Message(role="assistant", tool_calls=(ToolCall(name="look", id="x"), ToolCall(name="look", id="x")))
    reply = to_reply([calls, result("first", "x"), result("second", "x"), text("ok")])
    assert [message.text for message in reply.messages[1:3]] == ["first", "second"]


@each(
    ("returned", "said"),
    [
        ({"stop": True}, []),
        ({"role": "assistant", "content": "Bye", "stop": True}, ["Bye"]),
        ({"messages": [{"role": "assistant", "content": "Bye"}], "stop": True}, ["Bye"]),
        (Reply(messages=(text("Bye"),), stop=True), ["Bye"]),
        (Reply(messages=(), stop=True), []),
    ],
)
def test_an_agent_may_close(returned: object, said: list[str]) -> None:
    """`stop` closes the conversation, with or without a last word."""
    reply = to_reply(returned)
    assert reply.stop
    assert [message.text for message in reply.messages] == said


class Mute:
    """An object that cannot be shown."""

    def __repr__(self) -> str:
        raise ValueError("no")


class Raising:
    """An object that cannot be looked at."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)


@dataclass
class Answer:
    """A text under a name that we do not know."""

    answer: str = "hi"


CYCLE: dict[str, Any] = {"name": "look"}
CYCLE["args"] = CYCLE


UNUSABLE: list[tuple[object, str]] = [
    (None, "the agent gave None"),
    ("", "neither text nor a tool call"),
    (" \n", "neither text nor a tool call"),
    (b"hi", "got bytes b'hi'"),
    (3, "got int 3"),
    (True, "got bool True"),
    (3.5, "got float 3.5"),
    (str, "got type"),
    ([], "neither text nor a tool call"),
    ({}, "reply: found dict {}"),
    ({"text": "hi"}, "reply: found dict"),
    (["hi"], r"messages\[0\]: found str 'hi'"),
    ([None], r"messages\[0\]: found NoneType None"),
    ({"messages": "hi"}, "found dict"),
    ({"role": "assistant", "content": 3}, "content: found int 3 as the content"),
    ({"role": "assistant", "content": None}, "neither text nor a tool call"),
    ({"role": "robot", "content": "hi"}, "role: found 'robot', allowed: 'assistant'"),
    ({"role": "assistant", "tool_calls": 3}, "tool_calls: found int 3, expected a list"),
    ({"tool_calls": [{"args": {}}]}, "names no tool"),
    ({"tool_calls": [CYCLE]}, "reading it raised RecursionError"),
    ({"content": "hi", "stop": "no"}, "neither true nor false"),
    ([result("found")], "answers no call of this reply"),
    ([called("look"), result("found", "c2"), text("ok")], "answers no call of this reply"),
    ([called("look"), result("found")], "ends with the tool result 'found'"),
    ([{"role": "user", "content": "hello"}], "follows the user's"),
    (Answer(), "found Answer"),
    (Mute(), "found Mute <Mute instance>"),
    (Raising(), "reading it raised RuntimeError"),
    (MagicMock(), "unusable reply"),
    (iter(["hi"]), "found list_iterator"),
    ({"role": "assistant", "content": {"\x1b[2J": "\ud800"}}, "found dict"),
]


@each(("returned", "says"), UNUSABLE, ids=range(len(UNUSABLE)))
def test_unusable_replies_say_what_was_got(returned: object, says: str) -> None:
    """The error names the type and shows the value; it is short and safe to print."""
    with pytest.raises(AgentError, match=says) as caught:
        to_reply(returned, Turn(message="hello"))
    message = str(caught.value)
    assert message.startswith("unusable reply: ")
    assert len(message) < 600
    assert message.isprintable()


FIELDS = (
    st.sampled_from(
        ["role", "type", "kind", "part_kind", "content", "text", "refusal", "output", "messages", "message", "choices"]
    )
    | st.sampled_from(
        [
            "tool_calls",
            "invalid_tool_calls",
            "function_call",
            "function",
            "name",
            "tool_name",
            "args",
            "arguments",
            "id",
        ]
    )
    | st.sampled_from(["tool_call_id", "parts", "status", "error", "requestor", "stop"])
)
WORDS = st.sampled_from(
    ["assistant", "ai", "user", "human", "tool", "system", "request", "response", "text", "look", "c1", "tool-return"]
) | st.sampled_from(["tool-call", "retry-prompt"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3) | WORDS
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(FIELDS | st.text(max_size=3), inner, max_size=5)
        | st.dictionaries(FIELDS, inner, max_size=5).map(lambda fields: SimpleNamespace(**fields))
        | st.lists(inner, max_size=3).map(tuple)
        | st.just(Raising())
        | st.just(Mute())
    ),
    max_leaves=25,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["assistant", "user", "tool", "system"])},
        optional={
            "content": st.none() | st.text(max_size=4) | st.lists(ANYTHING, max_size=2),
            "tool_calls": st.lists(
                st.fixed_dictionaries({"name": WORDS}, optional={"args": ANYTHING, "id": st.sampled_from("abc")}),
                max_size=3,
            ),
            "tool_call_id": st.sampled_from("abc"),
        },
    ),
    max_size=8,
)


@given(returned=ANYTHING | MESSAGES, message=st.sampled_from(["", "hello"]))
def test_anything_gives_a_reply_or_an_agent_error(returned: object, message: str) -> None:
    """No input leads to another exception, and every reply is one that the loop can go on with."""
    try:
        reply = to_reply(returned, Turn(message=message))
    except AgentError:
        return
    assert reply.stop or reply.messages[-1].role == "assistant"
    assert {message.role for message in reply.messages} <= {"assistant", "tool"}
    assert all(call.id for message in reply.messages for call in message.tool_calls)
    results = [message for message in reply.messages if message.role == "tool"]
    assert len(results) <= sum(len(message.tool_calls) for message in reply.messages)
