"""Each kind of foreign message is read, or refused with its place; objects of real packages are in tests/real."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.approvals import ApprovalRequest, Decision
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.messages.content import UnreadableError
from pytest_agentbench.messages.reader import read
from tests.messages.shapes import SHAPES, Talk, talks
from tests.tables import each

ARGUMENTS = {"order_id": "W1"}


def told(items: Sequence[object]) -> list[tuple[object, ...]]:
    """Give what was read in brief: role and text, calls with their arguments, results with their ids and errors."""
    brief: list[tuple[object, ...]] = []
    for message in read(items):
        if message.role == "tool":
            brief.append(("error" if message.error else "result", message.tool_call_id, message.text))
            continue
        if message.thoughts:
            brief.append(("thought", message.thoughts))
        if message.text:
            brief.append((message.role, message.text))
        brief += [("call", call.id, call.name, call.raw or call.arguments) for call in message.tool_calls]
    return brief


def assistant(*content: object, **fields: object) -> dict[str, object]:
    """Give a message of the assistant with a list of parts."""
    return {"role": "assistant", "content": list(content), **fields}


def user(*content: object) -> dict[str, object]:
    """Give a message of the user with a list of parts."""
    return {"role": "user", "content": list(content)}


def model(*parts: object, role: str = "model") -> dict[str, object]:
    """Give a content of Gemini's."""
    return {"role": role, "parts": list(parts)}


def response(*parts: object) -> dict[str, object]:
    """Give a response of pydantic-ai's."""
    return {"kind": "response", "parts": list(parts)}


def request(*parts: object) -> dict[str, object]:
    """Give a request of pydantic-ai's."""
    return {"kind": "request", "parts": list(parts)}


CALL = ("call", "c1", "look", ARGUMENTS)
RESULT = ("result", "c1", "found")

KINDS: dict[str, tuple[list[object], list[tuple[object, ...]]]] = {
    "Anthropic: text, tool_use, tool_result": (
        [
            assistant(
                {"type": "text", "text": "Wait"}, {"type": "tool_use", "id": "c1", "name": "look", "input": ARGUMENTS}
            ),
            user({"type": "tool_result", "tool_use_id": "c1", "content": "found"}, {"type": "text", "text": "And?"}),
        ],
        [("assistant", "Wait"), CALL, RESULT, ("user", "And?")],
    ),
    "Anthropic: is_error, and a result of parts": (
        [
            assistant({"type": "tool_use", "id": "c1", "name": "look", "input": ARGUMENTS}),
            user(
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "is_error": True,
                    "content": [{"type": "text", "text": "no"}, {"type": "image", "source": {"type": "base64"}}],
                }
            ),
        ],
        [CALL, ("error", "c1", "no[image]")],
    ),
    "Anthropic: thinking": (
        [
            assistant(
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "Yes"},
            )
        ],
        [("thought", "hm\n[encrypted]"), ("assistant", "Yes")],
    ),
    "Anthropic: tools of its server": (
        [
            assistant(
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "s1",
                    "content": [{"type": "web_search_result", "url": "u"}],
                },
                {"type": "text", "text": "Found"},
            )
        ],
        [
            ("call", "s1", "web_search", {"query": "x"}),
            ("result", "s1", '[{"type":"web_search_result","url":"u"}]'),
            ("assistant", "Found"),
        ],
    ),
    "Anthropic: a failed tool of its server": (
        [
            assistant(
                {"type": "server_tool_use", "id": "s1", "name": "web_fetch", "input": {}},
                {
                    "type": "web_fetch_tool_result",
                    "tool_use_id": "s1",
                    "content": {"type": "web_fetch_tool_result_error", "error_code": "x"},
                },
            )
        ],
        [("call", "s1", "web_fetch", {}), ("error", "s1", '{"type":"web_fetch_tool_result_error","error_code":"x"}')],
    ),
    "Anthropic: images and documents": (
        [
            user(
                {"type": "image", "source": {"type": "url", "url": "u"}},
                {"type": "document", "title": "terms.pdf", "source": {"type": "base64"}},
                {"type": "document", "source": {"type": "text", "data": "All is fine"}},
                {"type": "text", "text": "See"},
            )
        ],
        [("user", "[image][file: terms.pdf][file]\nAll is fineSee")],
    ),
    "Responses: message, reasoning, function_call, output": (
        [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "Where?"}, {"type": "input_image"}],
            },
            {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "function_call", "id": "fc", "call_id": "c1", "name": "look", "arguments": '{"order_id": "W1"}'},
            {"type": "function_call", "id": "fd", "call_id": "c2", "name": "take", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "found"},
            {"type": "function_call_output", "call_id": "c2", "output": [{"type": "output_text", "text": "taken"}]},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Here"}, {"type": "refusal", "refusal": "No"}],
            },
        ],
        [
            ("user", "Where?[image]"),
            ("thought", "hm"),
            CALL,
            ("call", "c2", "take", {}),
            RESULT,
            ("result", "c2", "taken"),
            ("assistant", "HereNo"),
        ],
    ),
    "Responses: custom tools and MCP": (
        [
            {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "select 1"},
            {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"},
            {"type": "mcp_list_tools", "id": "l", "tools": []},
            {"type": "mcp_call", "id": "m1", "name": "look", "arguments": '{"order_id": "W1"}', "output": "found"},
            {"type": "mcp_call", "id": "m2", "name": "look", "arguments": "{}", "error": "gone"},
            {"type": "mcp_approval_request", "id": "a", "name": "pay", "arguments": "{}"},
            {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
        ],
        [
            ("call", "c1", "sql", "select 1"),
            ("result", "c1", "1"),
            ("call", "m1", "look", ARGUMENTS),
            ("result", "m1", "found"),
            ("call", "m2", "look", {}),
            ("error", "m2", "gone"),
            ("assistant", "[asks for approval: pay {}]"),
            ("user", "[approved]"),
        ],
    ),
    "Responses: tools that OpenAI ran": (
        [
            {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "x"}},
            {
                "type": "file_search_call",
                "id": "f",
                "queries": ["q"],
                "results": [{"text": "t"}],
                "status": "completed",
            },
            {"type": "code_interpreter_call", "id": "i", "code": "1", "outputs": [{"type": "logs", "logs": "1"}]},
            {"type": "image_generation_call", "id": "g", "result": "AAAA", "status": "completed"},
            {"type": "local_shell_call", "id": "x", "call_id": "s", "action": {"command": ["ls"]}},
            {"type": "local_shell_call_output", "id": "s", "output": "a"},
        ],
        [
            ("call", "w", "web_search", {"type": "search", "query": "x"}),
            ("result", "w", "completed"),
            ("call", "f", "file_search", {"queries": ["q"]}),
            ("result", "f", '[{"text":"t"}]'),
            ("call", "i", "code_interpreter", {"code": "1"}),
            ("result", "i", '[{"type":"logs","logs":"1"}]'),
            ("call", "g", "image_generation", {}),
            ("result", "g", "[image]"),
            ("call", "s", "local_shell", {"command": ["ls"]}),
            ("result", "s", "a"),
        ],
    ),
    "Gemini: text, thought, functionCall, functionResponse": (
        [
            model({"text": "Where?"}, role="user"),
            model(
                {"text": "hm", "thought": True},
                {"functionCall": {"name": "look", "args": ARGUMENTS}, "thoughtSignature": "x"},
            ),
            model({"functionResponse": {"name": "look", "response": {"result": "found"}}}, role="user"),
            model({"function_call": {"id": "c2", "name": "look", "args": {}}}, {"text": ""}, {}),
            model({"function_response": {"id": "c2", "name": "look", "response": {"error": "no"}}}, role="function"),
        ],
        [
            ("user", "Where?"),
            ("thought", "hm"),
            ("call", "look_1", "look", ARGUMENTS),
            ("result", "look_1", "found"),
            ("call", "c2", "look", {}),
            ("error", "c2", "no"),
        ],
    ),
    "Gemini: results by name, in any order": (
        [
            model({"functionCall": {"name": "look", "args": {}}}, {"functionCall": {"name": "take", "args": {}}}),
            model(
                {"functionResponse": {"name": "take", "response": {"a": 1}}},
                {"functionResponse": {"name": "look", "response": {"output": [1]}}},
                role="user",
            ),
        ],
        [
            ("call", "look_2", "look", {}),
            ("call", "take_1", "take", {}),
            ("result", "take_1", '{"a":1}'),
            ("result", "look_2", "[1]"),
        ],
    ),
    "Gemini: files and code": (
        [
            model(
                {"inlineData": {"mimeType": "image/png", "data": "AA"}},
                {"file_data": {"mime_type": "application/pdf", "display_name": "a.pdf"}},
                role="user",
            ),
            model(
                {"executableCode": {"code": "1", "language": "PYTHON"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                {"text": "One"},
            ),
        ],
        [
            ("user", "[image][file: a.pdf]"),
            ("call", "code_execution_1", "code_execution", {"code": "1", "language": "PYTHON"}),
            ("result", "code_execution_1", "1"),
            ("assistant", "One"),
        ],
    ),
    "an event of Google ADK's": ([{"author": "desk", "content": model({"text": "Hi"})}], [("assistant", "Hi")]),
    "LangChain: blocks, calls told twice": (
        [
            {
                "type": "ai",
                "content": [
                    {"type": "reasoning", "reasoning": "hm"},
                    {"type": "text", "text": "Wait"},
                    {"type": "tool_call", "id": "c1", "name": "look", "args": ARGUMENTS},
                    {"type": "image", "url": "u"},
                    {"type": "non_standard", "value": {"type": "text", "text": "!"}},
                ],
                "tool_calls": [{"type": "tool_call", "id": "c1", "name": "look", "args": ARGUMENTS}],
            },
            {"type": "tool", "content": "found", "tool_call_id": "c1", "status": "success", "name": "look"},
        ],
        [("thought", "hm"), ("assistant", "Wait[image]!"), CALL, RESULT],
    ),
    "LangChain: blocks of Anthropic's and of Responses, calls nowhere else": (
        [
            {
                "type": "ai",
                "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": ARGUMENTS}],
                "tool_calls": [],
            },
            {"type": "tool", "content": [{"type": "text", "text": "found"}], "tool_call_id": "c1"},
            {
                "type": "ai",
                "content": [
                    {"type": "server_tool_call", "id": "s", "name": "web_search", "args": {}},
                    {"type": "server_tool_result", "tool_call_id": "s", "status": "error", "output": "no"},
                    {"type": "function_call", "id": "fc", "call_id": "c2", "name": "take", "arguments": "{}"},
                ],
                "tool_calls": [{"id": "c2", "name": "take", "args": {}}],
                "invalid_tool_calls": [{"id": "c3", "name": "take", "args": "{", "error": None}],
            },
        ],
        [
            CALL,
            RESULT,
            ("call", "s", "web_search", {}),
            ("error", "s", "no"),
            ("call", "c2", "take", {}),
            ("call", "c3", "take", "{"),
        ],
    ),
    "LangChain: serialized and dumped": (
        [
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "schema", "messages", "HumanMessage"],
                "kwargs": {"content": "Where?", "type": "human"},
            },
            {
                "type": "ai",
                "data": {
                    "content": "",
                    "additional_kwargs": {
                        "tool_calls": [
                            {
                                "id": "c1",
                                "type": "function",
                                "function": {"name": "look", "arguments": '{"order_id": "W1"}'},
                            }
                        ]
                    },
                },
            },
            {
                "lc": 1,
                "type": "constructor",
                "id": ["x", "ToolMessage"],
                "kwargs": {"content": "found", "tool_call_id": "c1", "status": "error"},
            },
            {"type": "chat", "role": "assistant", "content": "Here"},
        ],
        [("user", "Where?"), CALL, ("error", "c1", "found"), ("assistant", "Here")],
    ),
    "pydantic-ai: all that a conversation has": (
        [
            request(
                {"part_kind": "system-prompt", "content": "Be kind"},
                {
                    "part_kind": "user-prompt",
                    "content": [
                        "Where?",
                        {"kind": "image-url", "url": "u"},
                        {"kind": "binary", "media_type": "application/pdf", "data": "x"},
                        {"kind": "cache-point"},
                    ],
                },
            ),
            response(
                {"part_kind": "thinking", "content": "hm"},
                {"part_kind": "text", "content": "Wait"},
                {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {"q": 1}, "tool_call_id": "w"},
                {
                    "part_kind": "builtin-tool-return",
                    "tool_name": "web_search",
                    "content": {"r": 1},
                    "tool_call_id": "w",
                },
                {"part_kind": "file", "content": {"kind": "binary", "media_type": "image/png", "data": "x"}},
                {"part_kind": "tool-call", "tool_name": "look", "args": '{"order_id": "W1"}', "tool_call_id": "c1"},
            ),
            request({"part_kind": "retry-prompt", "tool_name": "look", "content": "no", "tool_call_id": "c1"}),
            response(
                {"part_kind": "tool-call", "tool_name": "final_result", "args": '{"ok": true}', "tool_call_id": "c2"}
            ),
            request(
                {
                    "part_kind": "tool-return",
                    "tool_name": "final_result",
                    "content": "Final result processed.",
                    "tool_call_id": "c2",
                }
            ),
        ],
        [
            ("system", "Be kind"),
            ("user", "Where?[image][file]"),
            ("thought", "hm"),
            ("assistant", "Wait"),
            ("call", "w", "web_search", {"q": 1}),
            ("result", "w", '{"r":1}'),
            ("assistant", "[image]"),
            CALL,
            ("error", "c1", "no"),
            ("assistant", '{"ok": true}'),
        ],
    ),
    "OpenTelemetry: parts": (
        [
            model(
                {"type": "text", "content": "Where?"},
                {"type": "blob", "modality": "image", "content": "x"},
                role="user",
            ),
            model(
                {"type": "reasoning", "content": "hm"},
                {"type": "tool_call", "id": "c1", "name": "look", "arguments": ARGUMENTS},
                role="assistant",
            ),
            model({"type": "tool_call_response", "id": "c1", "response": "found"}, role="tool"),
        ],
        [("user", "Where?[image]"), ("thought", "hm"), CALL, RESULT],
    ),
    "smolagents: a memory": (
        [
            {"system_prompt": "Be kind"},
            {"task": "Where?", "task_images": None},
            {
                "step_number": 1,
                "timing": {},
                "model_output": "hm",
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": ARGUMENTS}}],
                "observations": "found",
                "error": None,
            },
            {
                "step_number": 2,
                "timing": {},
                "tool_calls": [{"id": "c2", "type": "function", "function": {"name": "take", "arguments": {}}}],
                "error": {"type": "E", "message": "no"},
            },
            {
                "step_number": 3,
                "timing": {},
                "tool_calls": [
                    {
                        "id": "c3",
                        "type": "function",
                        "function": {"name": "final_answer", "arguments": {"answer": "Here"}},
                    }
                ],
                "action_output": "Here",
                "is_final_answer": True,
                "error": None,
            },
        ],
        [
            ("system", "Be kind"),
            ("user", "Where?"),
            ("thought", "hm"),
            CALL,
            RESULT,
            ("call", "c2", "take", {}),
            ("error", "c2", "no"),
            ("assistant", "Here"),
        ],
    ),
    "OpenAI: a file, a sound, a refusal, a custom tool": (
        [
            user(
                {"type": "file", "file": {"filename": "a.pdf"}},
                {"type": "input_audio", "input_audio": {}},
                {"type": "text", "text": "?"},
            ),
            {"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "Spoken"}},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "No"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}],
            },
            {"role": "assistant", "content": None, "reasoning_content": "hm"},
        ],
        [
            ("user", "[file: a.pdf][audio]?"),
            ("assistant", "Spoken"),
            ("assistant", "No"),
            ("call", "c1", "sql", "select 1"),
            ("thought", "hm"),
        ],
    ),
}


@each("kind", KINDS)
def test_each_kind_of_message_is_read(kind: str) -> None:
    """Texts, calls, results, errors, thoughts and placeholders, in their order."""
    items, expected = KINDS[kind]

    assert told(items) == expected


@each(
    ("items", "place", "says"),
    [
        ([user({"type": "text", "text": "a"}, {"type": "hologram"})], "messages[0].content[1]", "type 'hologram'"),
        (
            [{"role": "user", "content": "a"}, {"role": "robot"}],
            "messages[1].role",
            "found 'robot', allowed: 'assistant'",
        ),
        ([{"type": "hologram_call"}], "messages[0].type", "'hologram_call'"),
        ([{"type": "item_reference", "id": "x"}], "messages[0].type", "'item_reference'"),
        ([assistant({"type": "tool_use", "id": "c1"})], "messages[0].content[0]", "names no tool"),
        (
            [{"role": "assistant", "tool_calls": [{"id": "1", "name": "a"}, {"id": "2"}]}],
            "messages[0].tool_calls[1]",
            "names no tool",
        ),
        ([model({"text": "a"}, {"hologram": {}})], "messages[0].parts[1]", "with 'hologram'"),
        (
            [response({"part_kind": "text", "content": "a"}, {"part_kind": "hologram"})],
            "messages[0].parts[1]",
            "kind 'hologram'",
        ),
        (
            [request({"part_kind": "user-prompt", "content": ["a", {"kind": "hologram"}]})],
            "messages[0].parts[0].content[1]",
            "hologram",
        ),
        (
            [{"type": "ai", "content": [{"type": "non_standard", "value": {"type": "hologram"}}]}],
            "messages[0].content[0].value",
            "'hologram'",
        ),
        ([{"role": "user", "content": 5}], "messages[0].content", "found int 5"),
        ([{"role": "user", "content": "a", "acts": ["nod"]}], "messages[0].acts[0]", "found 'nod', allowed: 'request'"),
        (["a"], "messages[0]", "found str 'a'"),
        (
            [{"role": "assistant", "approvals": [{"id": "1"}]}],
            "messages[0].approvals[0]",
            "expected an approval: {tool: …, arguments: {…}, id: …}",
        ),
        (
            [{"approvals": [{"tool": "pay", "allowed": ["maybe"]}]}],
            "messages[0].approvals[0]",
            "`allowed` lists some of approve, reject, edit, respond",
        ),
        ([{"role": "user", "content": "", "decisions": [{"kind": "yes"}]}], "messages[0].decisions[0].kind", "'yes'"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(items: list[object], place: str, says: str) -> None:
    """Never left out: the error leads to the part."""
    with pytest.raises(UnreadableError) as caught:
        read(items)

    assert str(caught.value).startswith(f"{place}: ")
    assert says in str(caught.value)


def test_approvals_and_decisions_are_read_and_calls_beside_them_stay() -> None:
    """A message may hold approvals alone; what our own logs write is read back as it was."""
    asked = ApprovalRequest(
        id="1", tool="pay", arguments={"euros": 9}, allowed=("approve", "respond"), is_question=True
    )
    decided = Decision(kind="edit", id="1", tool="pay", arguments={"euros": 8})
    forms = [
        {"approvals": [{"name": "pay", "arguments": '{"euros": 9}', "allowed": ["respond"]}]},
        {"role": "user", "content": "8", "decisions": [decided.model_dump(exclude_defaults=True)]},
        {
            **assistant(tool_calls=[{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]),
            "approvals": [asked.model_dump(exclude_defaults=True)],
        },
    ]

    first, answer, last = read(forms)

    assert first.approvals == (
        ApprovalRequest(tool="pay", arguments={"euros": 9}, allowed=("respond",), is_question=True),
    )
    assert answer.decisions == (decided,)
    assert (last.approvals, [one.name for one in last.tool_calls]) == ((asked,), ["look"])


@each(
    "content",
    [
        [{"type": "file", "name": "a.txt", "size": 3}],
        [{"type": "text", "text": "label", "field": "f"}],
        [{"type": "image", "id": 7}],
        [],
        {"type": "text", "text": "a", "id": 1},
        [{"type": "document", "title": "Terms", "content": "30days", "url": "u"}],
        [{"type": "file", "title": "A"}, {"type": "image", "url": "u", "title": "B"}],
    ],
)
def test_data_that_looks_like_parts_stays_data(content: Any) -> None:
    """Rows of a tool's answer have fields of their own, and none is lost."""
    (message,) = read([{"role": "tool", "tool_call_id": "c", "content": content}])

    assert message.text.replace(" ", "") == str(content).replace("'", '"').replace(" ", "")


def test_a_text_that_a_part_holds_follows_its_placeholder() -> None:
    """A document of Anthropic's, which may stand in a result; and one whose content is a text."""
    source = {"type": "content", "content": "30 days"}
    result = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "document", "title": "T", "source": source}]}
    assert told([result]) == [("result", "c1", "[file: T]\n30 days")]
    assert told([user({"type": "document", "title": "T", "content": "30 days"})]) == [("user", "[file: T]\n30 days")]


@given(talk=talks(), shape=st.sampled_from(sorted(SHAPES)))
def test_no_call_result_or_text_is_lost(talk: Talk, shape: str) -> None:
    """Whatever is said in whichever shape: as much comes out as went in, and each call finds its result."""
    messages = read(SHAPES[shape](talk))

    texts = "".join(message.text for message in messages if message.role in ("user", "assistant"))
    calls = [(call.name, call.arguments) for message in messages for call in message.tool_calls]
    trajectory = Transcript(messages=tuple(messages)).trajectory
    assert texts == "".join(talk.texts)
    assert calls == [(call.name, call.arguments) for call in talk.calls]
    assert [one.result.content if one.result else None for one in trajectory] == [call.result for call in talk.calls]
    assert sum(message.role == "tool" for message in messages) == len(talk.calls)


@each("key", ["task", "system_prompt"])
def test_a_message_with_a_key_of_a_memory_s_step_is_a_message(key: str) -> None:
    """Only what says and calls nothing itself is a step."""
    assert told([{"content": "hi", key: "support"}]) == [("assistant", "hi")]
    calls = [{"id": "c1", "name": "look", "args": ARGUMENTS}]
    assert told([{"tool_calls": calls, key: "support"}]) == [CALL]


def test_a_call_without_an_answer_is_not_answered_by_the_next_of_its_id() -> None:
    """Only calls that are answered together were made together."""
    call = {"role": "assistant", "tool_calls": [{"id": "c1", "name": "look", "args": {}}]}

    messages = read([call, call, {"role": "tool", "tool_call_id": "c1", "content": "found"}])

    assert [one.result is None for one in Transcript(messages=tuple(messages)).trajectory] == [True, False]


def test_a_result_that_answers_no_call_stays_where_it_is() -> None:
    """What the agent said before it was said before it, and a result is never first by reading."""
    said = [{"role": "assistant", "content": "One"}, {"role": "assistant", "content": "Two"}]
    result = {"role": "tool", "tool_call_id": "c9", "content": "late"}
    assert told([*said, result]) == [("assistant", "One"), ("assistant", "Two"), ("result", "c9", "late")]


def test_a_part_with_an_empty_text_is_one() -> None:
    """Some servers write null."""
    assert told([assistant({"type": "text", "text": None}, {"type": "text", "text": "Hi"})]) == [("assistant", "Hi")]


def test_a_block_wrapped_many_times_is_read() -> None:
    """However deep it lies."""
    block: dict[str, object] = {"type": "text", "text": "Hi"}
    for _ in range(3000):
        block = {"type": "non_standard", "value": block}
    assert [message.text for message in read([assistant(block)])] == ["Hi"]


def test_our_own_messages_are_kept_as_they_are() -> None:
    """Beside foreign ones."""
    own = Message(role="assistant", content="Hi", thoughts="hm")

    assert read([own, {"role": "user", "content": "Hi"}])[0] == own


def test_a_tool_that_says_what_pydantic_ai_says_of_its_output_is_a_call() -> None:
    """A typed output ends its run: where the model went on after it, the tool was the agent's."""
    spoken = {"kind": "response", "parts": [{"part_kind": "text", "content": "bye"}]}
    asked = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "And W2?"}]}
    call = {"part_kind": "tool-call", "tool_name": "refund", "args": {"id": 1}, "tool_call_id": "c"}
    result = {"part_kind": "tool-return", "content": "Final result processed.", "tool_call_id": "c"}
    run = [{"kind": "response", "parts": [call]}, {"kind": "request", "parts": [result]}]
    assert [one.name for message in read([*run, spoken]) for one in message.tool_calls] == ["refund"]
    for after in ([], [asked, spoken], [{"role": "user", "content": "And W2?"}, spoken]):
        assert not any(message.tool_calls for message in read([*run, *after]))
