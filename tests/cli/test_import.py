"""`agentbench import`: every format, what is written, what is replaced, and what becomes of lines that are broken."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.cli import main
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.suites.logs.reader import read_conversations
from pytest_agentbench.suites.personal.masking import Fakes, Masker
from pytest_agentbench.suites.record import Record
from pytest_agentbench.suites.scenario_files import load_scenarios
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.suites.transcripts import read_recordings

OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "You are a desk."},
    {"role": "user", "content": "Cancel W1, please. I am reachable at ada@lovelace.org."},
    {
        "role": "assistant",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "cancel", "arguments": '{"order_id": "W1"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    {"role": "assistant", "content": "It is cancelled."},
    {"role": "user", "content": "Thanks"},
    {"role": "assistant", "content": "You are welcome."},
]


def logs(folder: Path, *lines: object, name: str = "logs.jsonl") -> Path:
    """Write a log, one value a line; texts as they are."""
    path = folder / name
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def imported(folder: Path, *lines: object, options: tuple[str, ...] = ("--keep-personal",)) -> tuple[int, Path]:
    """Import a log as drafts; give the exit status and the file."""
    path = logs(folder, *lines)
    status = main(["import", str(path), "--into", str(folder / "out"), "--as", "drafts", *options])
    return status, folder / "out" / "drafts.yaml"


def says_and_calls(path: Path) -> list[tuple[tuple[str, ...], list[tuple[str, dict[str, Any]]]]]:
    """Give what the scenarios of a file say and expect."""
    return [
        (scenario.lines, [(call.name, call.arguments) for call in scenario.expected_calls])
        for scenario in load_scenarios(path, environ={})
    ]


WHOLE = (
    ("Cancel W1, please. I am reachable at ada@lovelace.org.", "Thanks"),
    [("cancel", {"order_id": "W1"})],
)


def test_message_logs_become_drafts(tmp_path: Path) -> None:
    """User lines are said, calls are expected, and the tag tells that nobody has read them yet."""
    status, file = imported(tmp_path, {"id": "cancel", "messages": OPENAI}, {"messages": OPENAI})

    assert status == 0
    assert says_and_calls(file) == [WHOLE, WHOLE]
    assert all(scenario.tags == ("draft",) for scenario in load_scenarios(file, environ={}))
    assert [scenario.id for scenario in load_scenarios(file, environ={})] == ["cancel", "conversation-2"]


def test_recordings_are_a_suite_that_runs(
    tmp_path: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several conversations of one scenario are its trials; the suite is there, tools as far as they were called."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    path = logs(tmp_path, {"id": "cancel", "messages": OPENAI}, {"id": "cancel", "messages": OPENAI})

    status = main(["import", str(path), "--into", str(pytester.path / "bench")])

    suite = load_suite(pytester.path / "bench" / "agentbench.yaml", environ={})
    result = pytester.runpytest_inprocess("--agentbench", "-p", "agentbench", "bench")
    assert status == 0
    assert [scenario.id for scenario in suite.scenarios] == ["cancel"]
    assert json.loads((pytester.path / "bench" / "tools.json").read_text())[0]["function"]["name"] == "cancel"
    result.assert_outcomes(passed=2)


CALL = {"name": "cancel", "args": {"order_id": "W1"}, "id": "c1"}
LANGCHAIN = {
    "as a list of dicts": [
        {"type": "human", "data": {"content": WHOLE[0][0]}},
        {"type": "ai", "data": {"content": "", "tool_calls": [CALL]}},
        {"type": "tool", "data": {"content": "ok", "tool_call_id": "c1"}},
        {"type": "ai", "data": {"content": [{"type": "text", "text": "It is cancelled."}]}},
        {"type": "human", "data": {"content": "Thanks"}},
        {"type": "ai", "data": {"content": "You are welcome."}},
    ],
    "serialized": {
        "messages": [
            {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": fields}
            for kind, fields in (
                ("HumanMessage", {"content": WHOLE[0][0], "type": "human"}),
                ("AIMessage", {"content": "", "tool_calls": [CALL], "type": "ai"}),
                ("ToolMessage", {"content": "ok", "tool_call_id": "c1", "type": "tool"}),
                ("HumanMessage", {"content": "Thanks", "type": "human"}),
                ("AIMessage", {"content": "You are welcome.", "type": "ai"}),
            )
        ]
    },
    "a traced run": {
        "id": "run-1",
        "inputs": {
            "messages": [
                [
                    {"type": "human", "content": WHOLE[0][0]},
                    {"type": "ai", "content": "", "tool_calls": [CALL]},
                    {"type": "tool", "content": "ok", "tool_call_id": "c1"},
                    {"type": "human", "content": "Thanks"},
                ]
            ]
        },
        "outputs": {"generations": [[{"message": {"type": "ai", "content": "You are welcome."}}]]},
    },
}


@pytest.mark.parametrize("form", LANGCHAIN)
def test_langchain_messages_are_read(tmp_path: Path, form: str) -> None:
    """In each form in which they are dumped."""
    status, file = imported(tmp_path, LANGCHAIN[form])

    assert status == 0
    assert says_and_calls(file) == [WHOLE]


def test_what_langchain_dumps_is_read(tmp_path: Path) -> None:
    """Messages of the real package, dumped by its own functions."""
    messages = pytest.importorskip("langchain_core.messages")
    load = pytest.importorskip("langchain_core.load")
    talk = [
        messages.HumanMessage(WHOLE[0][0]),
        messages.AIMessage("", tool_calls=[CALL]),
        messages.ToolMessage("ok", tool_call_id="c1"),
        messages.HumanMessage("Thanks"),
        messages.AIMessage("You are welcome."),
    ]

    status, file = imported(
        tmp_path,
        messages.messages_to_dict(talk),
        {"messages": [load.dumpd(message) for message in talk]},
        [message.model_dump() for message in talk],
    )

    assert status == 0
    assert says_and_calls(file) == [WHOLE, WHOLE, WHOLE]


def span(number: int, **attributes: object) -> dict[str, object]:
    """Give a span as SDKs print it, attributes with `gen_ai.` before and dots for double underscores."""
    named = {f"gen_ai.{name.replace('__', '.')}": value for name, value in attributes.items()}
    return {"context": {"trace_id": f"0x{number}", "span_id": "1"}, "start_time": f"T{number}", "attributes": named}


def parts(role: str, *given: dict[str, object]) -> dict[str, object]:
    """Give a message of the conventions."""
    return {"role": role, "parts": list(given)}


ASKED = parts("user", {"type": "text", "content": WHOLE[0][0]})
CALLED = parts("assistant", {"type": "tool_call", "id": "c1", "name": "cancel", "arguments": {"order_id": "W1"}})
ANSWERED = parts("tool", {"type": "tool_call_response", "id": "c1", "response": "ok"})
DONE = parts("assistant", {"type": "text", "content": "It is cancelled."})
THANKS = parts("user", {"type": "text", "content": "Thanks"})
BYE = parts("assistant", {"type": "text", "content": "You are welcome."})


def test_spans_become_conversations(tmp_path: Path) -> None:
    """Histories overlap, spans of several conversations are mixed, and a tool's own span gives its answer."""
    first = span(1, conversation__id="a", input__messages=json.dumps([ASKED]), output__messages=json.dumps([CALLED]))
    tool = span(2, conversation__id="a", operation__name="execute_tool", tool__call__id="c1", tool__name="cancel",
                tool__call__arguments='{"order_id": "W1"}', tool__call__result="ok")  # fmt: skip
    history = [ASKED, CALLED, ANSWERED, DONE, THANKS]
    last = span(4, conversation__id="a", input__messages=json.dumps(history), output__messages=json.dumps([BYE]))
    other = span(3, conversation__id="b", input__messages=json.dumps([ASKED]), output__messages=json.dumps([CALLED]))
    its_tool = span(5, conversation__id="b", operation__name="execute_tool", tool__call__id="c1", tool__name="cancel",
                    tool__call__result="no such order", error__type="x")  # fmt: skip
    its_tool["attributes"]["error.type"] = "KeyError"  # a dict of ours

    status, file = imported(tmp_path, first, other, last, tool, its_tool)

    assert status == 0
    assert says_and_calls(file) == [WHOLE, (WHOLE[0][:1], [])]  # a call that failed is not expected


def test_spans_as_otlp_writes_them_are_read(tmp_path: Path) -> None:
    """Typed values in lists of keys, several spans a line, without a conversation's id: the trace is one."""
    attributes = [
        {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps([ASKED, CALLED, ANSWERED, DONE, THANKS])}},
        {"key": "gen_ai.output.messages", "value": {"stringValue": json.dumps([BYE])}},
    ]
    one = {"traceId": "t", "spanId": "s", "startTimeUnixNano": "17", "attributes": attributes}

    status, file = imported(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]})

    assert status == 0
    assert says_and_calls(file) == [WHOLE]


def test_personal_data_is_replaced_alike_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In texts, arguments, results and identifiers; the same value has the same fake; nothing else is touched."""
    talk = [
        {"role": "user", "content": "My name is Ada Lovelace, mail ada@lovelace.org, phone +44 20 7946 0958."},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "find", "arguments": json.dumps(
            {"first_name": "Ada", "last_name": "Lovelace", "zip": "90210", "order": "W4433"})}}]},
        {"role": "tool", "tool_call_id": "c", "content": json.dumps(
            {"id": "ada_lovelace_42", "name": {"first_name": "Ada", "last_name": "Lovelace"},
             "address": {"address1": "1 Analytical Row", "zip": "90210"}, "card": "4111 1111 1111 1111",
             "items": [{"name": "Desk Lamp", "price": 12.5}]})},
        {"role": "assistant", "content": "Found you, Ada: 1 Analytical Row, ada@lovelace.org."},
        {"role": "user", "content": "My address is 12 Rose Lane, Bath. Move W4433 to 12-34-56 and call 555-0103."},
    ]  # fmt: skip
    path = logs(tmp_path, {"messages": talk}, {"messages": talk})

    main(["import", str(path), "--into", str(tmp_path / "out")])

    written = (tmp_path / "out" / "recordings.jsonl").read_text()
    everything = written + (tmp_path / "out" / "scenarios.yaml").read_text()
    first, second = (json.loads(line)["messages"] for line in written.splitlines())
    found = json.loads(first[1]["tool_calls"][0]["function"]["arguments"])
    for personal in (
        "Ada",
        "ada",
        "Lovelace",
        "lovelace",
        "90210",
        "Analytical",
        "4111 1111",
        "7946 0958",
        "Rose",
        "555-0103",
    ):
        assert personal not in everything
    assert first == second
    assert f"Found you, {found['first_name']}:" in first[3]["content"]
    assert f"{found['first_name']}_{found['last_name']}_42".lower() in first[2]["content"]
    assert "Move W4433 to 12-34-56 and call " in everything
    assert "Desk Lamp" in everything
    assert "personal data replaced:" in capsys.readouterr().out
    main(["import", str(path), "--into", str(tmp_path / "again"), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["imported"], told["problems"]) == (2, [])
    assert sum(told["replaced"].values()) > 0


def test_what_the_user_meant_is_masked_as_well(tmp_path: Path) -> None:
    """A recording keeps acts, with the same replacement in values and facts as in the words."""
    acts = [{"kind": "confirm", "about": ["ada@lovelace.org"], "facts": {"email": "ada@lovelace.org"}}]
    items = [{"text": "a refund to ada@lovelace.org"}]
    more = {"acts": acts, "goal_items": items, "shows": ["impatient"]}
    path = logs(tmp_path, {"messages": [{**OPENAI[1], **more}, OPENAI[4]]})

    main(["import", str(path), "--into", str(tmp_path / "out")])

    written = json.loads((tmp_path / "out" / "recordings.jsonl").read_text())["messages"][0]
    (act,) = written["acts"]
    assert "lovelace" not in json.dumps(written)
    assert act["about"][0] == act["facts"]["email"]
    assert act["about"][0] in written["content"]


def test_senders_events_and_typed_answers_are_kept_and_masked(tmp_path: Path) -> None:
    """What several agents did can be judged after an import as before it."""
    stopped = {"kind": "guardrail", "name": "pii"}
    said = {"role": "assistant", "content": "I ask refunds.", "name": "triage", "events": [stopped]}
    done = {"role": "assistant", "content": "Done", "name": "refunds", "output": {"email": "ada@lovelace.org"}}
    path = logs(tmp_path, {"messages": [{"role": "user", "content": "Hi, I am Ada"}, said, done]})

    assert main(["import", str(path), "--into", str(tmp_path / "out")]) == 0

    (recording,) = read_recordings(tmp_path / "out" / "recordings.jsonl")
    _, first, last = recording.transcript.messages
    assert (first.by, last.by) == ("triage", "refunds")
    assert [str(event) for _, event in recording.transcript.events] == [
        "guardrail (pii)",
        "a handoff from triage to refunds",
    ]
    assert isinstance(last.output, dict)
    assert "@" in last.output["email"]
    assert "ada" not in last.output["email"]


def test_a_key_keeps_the_fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two imports with one key agree; with another key, and without any, they do not."""
    path = logs(tmp_path, {"messages": OPENAI})
    said = []

    for number, key in enumerate(["k", "k", "other", ""]):
        monkeypatch.setenv("AGENTBENCH_IMPORT_KEY", key)
        main(["import", str(path), "--into", str(tmp_path / str(number)), "--as", "drafts"])
        said.append((tmp_path / str(number) / "drafts.yaml").read_text())

    assert said[0] == said[1]
    assert "ada@" not in "".join(said)
    assert len(set(said)) == 3


def test_broken_lines_are_named_and_the_others_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With file, line and what was expected; the exit status tells that something is missing."""
    status, file = imported(tmp_path, '{"messages": [', 7, {"messages": OPENAI}, {"messages": [{"role": "cat"}]})

    told = capsys.readouterr().out
    assert status == 1
    assert says_and_calls(file) == [WHOLE]
    assert "not understood: 3" in told
    assert "logs.jsonl:1:" in told
    assert "logs.jsonl:2:1: found 7, expected a conversation" in told
    assert "logs.jsonl:4:1: messages[0].role: found 'cat'" in told


@pytest.mark.parametrize("options", [("--keep-personal",), ("--keep-personal", "--json")])
def test_broken_arguments_of_a_call_are_told_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    """The conversation is read all the same; free text that a tool takes is no mistake."""
    broken = json.loads(json.dumps(OPENAI))
    broken[2]["tool_calls"][0]["function"]["arguments"] = '{"order_id": W1'
    free = json.loads(json.dumps(OPENAI))
    free[2]["tool_calls"][0]["function"]["arguments"] = "cancel W1"
    path = logs(tmp_path, {"messages": OPENAI}, {"messages": broken}, {"messages": free})

    status = main(["import", str(path), "--into", str(tmp_path / "out"), *options])

    told = capsys.readouterr().out
    assert status == 0
    assert "logs.jsonl:2:1: message 2: the arguments of cancel are no JSON object: " in told
    assert told.count("are no JSON object") == 1
    assert ("calls with broken arguments: 1" in told) == ("--json" not in options)
    written = "".join(one.read_text() for one in (tmp_path / "out").glob("*.jsonl"))
    assert json.dumps('{"order_id": W1')[1:-1] in written


BLOCKS = [
    {"role": "user", "content": [{"type": "text", "text": WHOLE[0][0]}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "cancel", "input": CALL["args"]}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "It is cancelled."}]},
    {"role": "user", "content": "Thanks"},
]
BYE_BLOCK = {"role": "assistant", "type": "message", "content": [{"type": "text", "text": "You are welcome."}]}
ITEMS = [
    {"role": "user", "content": WHOLE[0][0]},
    {"type": "function_call", "call_id": "c1", "name": "cancel", "arguments": '{"order_id": "W1"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is cancelled."}]},
    {"role": "user", "content": "Thanks"},
]
BYE_ITEM = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "You are welcome."}]}
CONTENTS = [
    {"role": "user", "parts": [{"text": WHOLE[0][0]}]},
    {"role": "model", "parts": [{"functionCall": {"name": "cancel", "args": CALL["args"]}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "cancel", "response": {"result": "ok"}}}]},
    {"role": "model", "parts": [{"text": "It is cancelled."}]},
    {"role": "user", "parts": [{"text": "Thanks"}]},
]
BYE_CONTENT = {"role": "model", "parts": [{"text": "You are welcome."}]}
NAMED = {"tool_name": "cancel", "tool_call_id": "c1"}
PARTS = [
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": WHOLE[0][0]}]},
    {"kind": "response", "parts": [{"part_kind": "tool-call", "args": CALL["args"], **NAMED}]},
    {"kind": "request", "parts": [{"part_kind": "tool-return", "content": "ok", **NAMED}]},
    {"kind": "response", "parts": [{"part_kind": "text", "content": "It is cancelled."}]},
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Thanks"}]},
    {"kind": "response", "parts": [{"part_kind": "text", "content": "You are welcome."}]},
]
FORMS = {
    "OpenAI chat: a request and its answer": {"messages": OPENAI[:-1], "choices": [{"message": OPENAI[-1]}]},
    "OpenAI chat: both of them apart": {
        "request": {"messages": OPENAI[:-1]},
        "response": {"choices": [{"message": OPENAI[-1]}]},
    },
    "Responses: input and output": {"input": ITEMS, "output": [BYE_ITEM]},
    "Responses: a bare list": [*ITEMS, BYE_ITEM],
    "Anthropic: a request and its answer": {"system": "Be kind", "messages": BLOCKS, "response": BYE_BLOCK},
    "Anthropic: all messages": {"messages": [*BLOCKS, BYE_BLOCK]},
    "Gemini: contents": {"contents": [*CONTENTS, BYE_CONTENT]},
    "Gemini: a request and its answer": {"contents": CONTENTS, "response": {"candidates": [{"content": BYE_CONTENT}]}},
    "pydantic-ai": PARTS,
    "a graph's run, whose outputs hold its inputs again": {
        "inputs": {"messages": OPENAI[:2]},
        "outputs": {"messages": OPENAI},
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_logs_of_every_api_are_read(tmp_path: Path, form: str) -> None:
    """As many conversations come out as went in, with every call."""
    status, file = imported(tmp_path, FORMS[form], FORMS[form])

    assert status == 0
    assert says_and_calls(file) == [WHOLE, WHOLE]


def test_an_import_of_nothing_fails_and_says_what_it_saw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is left behind that looks like a suite."""
    odd = {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "hologram"}]}]}

    status, file = imported(tmp_path, odd, {"text": "a"}, OPENAI[1])

    told = capsys.readouterr().out
    assert status == 1
    assert not file.parent.exists()
    assert "0 of 3 conversations imported; nothing was written" in told
    assert "logs.jsonl:1:1: messages[0].content[1]: found dict {'type': 'hologram'}, a part of type 'hologram'" in told
    assert (
        "logs.jsonl:2:1: found a mapping with 'text', expected a list of messages under one of the keys 'mess" in told
    )
    assert "logs.jsonl:3:1: found one message" in told


def test_spans_without_contents_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Instrumentation leaves contents out unless it is told otherwise."""
    status, _ = imported(tmp_path, span(1, operation__name="chat"), span(2, operation__name="chat"))

    assert status == 1
    assert "2 spans, none of which has messages: turn the capture of message contents on" in capsys.readouterr().out


def test_a_span_that_cannot_be_read_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the line on which its conversation begins."""
    bad = parts("user", {"type": "hologram"})

    status, file = imported(
        tmp_path,
        span(1, conversation__id="a", input__messages=json.dumps([ASKED, CALLED, ANSWERED, DONE, THANKS, BYE])),
        span(2, conversation__id="b", input__messages=json.dumps([ASKED, bad])),
    )

    told = capsys.readouterr().out
    assert status == 1
    assert says_and_calls(file) == [WHOLE]
    assert "1 of 2 conversations imported" in told
    assert "logs.jsonl:2:1: messages[1].parts[0]: conversation b of spans: found dict {'type': 'hologram'}" in told


def test_a_document_read_as_a_whole_tells_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the place in it."""
    talks = [{"messages": OPENAI}, {"messages": [OPENAI[1], {"role": "cat"}]}]
    path = tmp_path / "logs.json"
    path.write_text(json.dumps(talks, indent=1))

    status = main(["import", str(path), "--into", str(tmp_path / "out"), "--as", "drafts", "--keep-personal"])

    place = next(
        f"{line}:{text.index('cat')}"  # the quote before it
        for line, text in enumerate(path.read_text().splitlines(), 1)
        if '"cat"' in text
    )
    told = capsys.readouterr().out
    assert status == 1
    assert f"logs.json:{place}: [1].messages[1].role: found 'cat', allowed:" in told
    assert "1 of 2 conversations imported" in told


def test_every_reason_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A screen of them is shown, a file has all."""
    imported(tmp_path, {"messages": OPENAI}, *["{"] * 25)

    reasons = (tmp_path / "out" / "not-understood.txt").read_text().splitlines()
    assert "1 of 26 conversations imported" in capsys.readouterr().out
    assert [reason.split(":")[1] for reason in reasons] == [str(line) for line in range(2, 27)]


def test_thoughts_are_kept_and_masked(tmp_path: Path) -> None:
    """What the model thought of somebody is personal as well."""
    thinking = {"role": "assistant", "content": "Yes", "reasoning_content": "Mail ada@lovelace.org"}
    path = logs(tmp_path, {"messages": [OPENAI[1], thinking]})

    main(["import", str(path), "--into", str(tmp_path / "out")])

    written = json.loads((tmp_path / "out" / "recordings.jsonl").read_text())["messages"][1]
    assert written["thoughts"].startswith("Mail ")
    assert "lovelace" not in written["thoughts"]


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that holds an import already is refused before anything is read."""
    first, file = imported(tmp_path, {"messages": OPENAI})
    before = file.read_text()

    second, _ = imported(tmp_path, {"messages": OPENAI[:2]})

    assert (first, second) == (0, 2)
    assert file.read_text() == before
    assert "is there already" in capsys.readouterr().err


def test_a_sample_is_drawn_by_the_seed(tmp_path: Path) -> None:
    """As many as asked for, in their order; another seed, other conversations."""
    many = [{"id": f"n{number}", "messages": OPENAI} for number in range(50)]
    chosen = []

    for seed in ("1", "1", "2"):
        folder = tmp_path / f"{len(chosen)}"
        folder.mkdir()
        _, file = imported(folder, *many, options=("--sample", "5", "--seed", seed))
        chosen.append([scenario.id for scenario in load_scenarios(file, environ={})])

    assert chosen[0] == chosen[1] != chosen[2]
    assert len(chosen[0]) == 5
    assert chosen[0] == sorted(chosen[0], key=lambda name: int(name[1:]))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    """Ten times the lines, and no more than twice the memory: one conversation is held at a time."""
    peaks = []

    for count in (200, 2_000):
        path = logs(
            tmp_path, *[{"id": f"n{number}", "messages": OPENAI} for number in range(count)], name=f"{count}.jsonl"
        )
        tracemalloc.start()
        assert sum(1 for _ in read_conversations([path])) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[1] < 2 * peaks[0] + 100_000


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_can_be_masked(said: str, answered: str) -> None:
    """Whatever was said, masking ends, and masking what has nothing personal changes nothing."""
    record = Record(
        transcript=Transcript(
            messages=(Message(role="user", content=said), Message(role="assistant", content=answered))
        )
    )
    masker = Masker(Fakes(b"key"))

    masked = masker.record(record)

    assert len(masked.transcript.messages) == 2
    assert masker.replaced or masked == record
