"""One script behind three APIs: what each of them is asked and answers, whole and as a stream."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from openai import BadRequestError, OpenAI, RateLimitError

from pytest_agentbench.testing import Answer, ModelServer, call, calls, fault, refusal, structured, text, truncated
from tests.testing import http

SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}}
LONG = "One moment, please: I look that up for you."
TALK = calls(call("find", order_id="W1"), call("look"), content=LONG).thinking("Which order? It is W1, I think.")

BODIES: dict[str, dict[str, Any]] = {
    "/chat/completions": {
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Where is W1?"},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"a":1}'}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "in transit"},
            {"role": "user", "content": "And when?"},
        ],
        "tools": [{"type": "function", "function": {"name": "find", "description": "Find.", "parameters": SCHEMA}}],
    },
    "/responses": {
        "instructions": "Be kind.",
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
            {"role": "user", "content": [{"type": "input_text", "text": "And when?"}]},
        ],
        "tools": [{"type": "function", "name": "find", "description": "Find.", "parameters": SCHEMA}],
    },
    "/messages": {
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "Where is W1?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "abc"},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c1", "name": "find", "input": {"a": 1}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "in transit"}]},
                    {"type": "text", "text": "And when?"},
                ],
            },
        ],
        "tools": [{"name": "find", "description": "Find.", "input_schema": SCHEMA}],
    },
}
"""One conversation, as each API writes it."""

PATHS = sorted(BODIES)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server without a script yet."""
    with ModelServer() as running:
        yield running


@pytest.fixture
def client(server: ModelServer) -> Iterator[OpenAI]:
    """The official client of OpenAI."""
    with OpenAI(base_url=server.base_url, api_key="none", max_retries=0, timeout=5) as made:
        yield made


def post(server: ModelServer, path: str, **fields: Any) -> http.Response:
    """Send the conversation over the API at a path, with further fields."""
    return http.send(server.base_url, json.dumps({"model": "m", **BODIES[path], **fields}), path=path)


def message(server: ModelServer, **fields: Any) -> Any:
    """Ask for a message, as Anthropic's clients do."""
    return post(server, "/messages", **fields).json()


def events(response: http.Response) -> list[dict[str, Any]]:
    """Read a stream of named events; each is named as its type says."""
    read = []
    for block in response.text.strip().split("\n\n"):
        name, data = block.split("\n")
        read.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {read[-1]['type']}"
    return read


@pytest.mark.parametrize("path", PATHS)
def test_a_request_reads_the_same_whichever_api_was_asked(server: ModelServer, path: str) -> None:
    """Messages, tools and texts have the form of chat completions; the body stays as it was posted."""
    server.play(["soon"])

    post(server, path)

    [request] = server.requests
    assert request.messages == BODIES["/chat/completions"]["messages"]
    assert (request.system, request.last, request.tools, request.model) == ("Be kind.", "And when?", ["find"], "m")
    assert request.body == {"model": "m", **BODIES[path]}
    assert request.api == {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}[path]


def test_equal_conversations_are_estimated_alike(server: ModelServer) -> None:
    """What is not said twice for one API is not counted twice for another."""
    server.play(lambda request: str(request.characters))
    for path in PATHS:
        post(server, path)

    assert len({request.characters for request in server.requests}) == 1


def test_a_response_holds_what_the_script_says(server: ModelServer, client: OpenAI) -> None:
    """Thoughts, text and calls are items of their own, in this order."""
    server.play([TALK.using(input=9, output=8, cached=7, reasoning=6)])

    got = client.responses.create(model="m", input="Where is W1?")

    assert [item.type for item in got.output] == ["reasoning", "message", "function_call", "function_call"]
    assert (got.output_text, got.status) == (LONG, "completed")
    made = [item for item in got.output if item.type == "function_call"]
    assert [(one.call_id, one.name, one.arguments) for one in made] == [
        ("call_1", "find", '{"order_id":"W1"}'), ("call_2", "look", "{}"),
    ]  # fmt: skip
    assert got.usage is not None
    assert (got.usage.input_tokens, got.usage.output_tokens, got.usage.total_tokens) == (9, 8, 17)
    assert got.usage.input_tokens_details.cached_tokens == 7
    assert got.usage.output_tokens_details.reasoning_tokens == 6


@pytest.mark.parametrize("answer", [TALK, refusal("I cannot."), structured({"a": 1}), fault.no_choices(), text("")])
def test_a_streamed_response_grows_to_the_whole_one(server: ModelServer, client: OpenAI, answer: Answer) -> None:
    """The official client puts the events together; the last one holds the response itself."""
    server.play([answer, answer])
    whole = client.responses.create(model="m", input="hi")

    with client.responses.stream(model="m", input="hi") as stream:
        seen = list(stream)

    assert [event.sequence_number for event in seen] == list(range(len(seen)))
    assert seen[0].type == "response.created"
    assert seen[-1].type == "response.completed"
    grown = {"response.output_text.delta": "", "response.refusal.delta": ""}
    for event in seen:
        if event.type in grown:
            grown[event.type] += event.delta
    assert grown["response.output_text.delta"] == whole.output_text
    assert grown["response.refusal.delta"] == (answer.refusal or "")
    assert stream.get_final_response().output_text == whole.output_text


def test_a_response_cut_off_is_incomplete(server: ModelServer, client: OpenAI) -> None:
    """The status and its reason say so, whole and streamed."""
    server.play([truncated("It is on"), truncated("It is on")])

    whole = client.responses.create(model="m", input="hi")
    *_, last = client.responses.create(model="m", input="hi", stream=True)

    assert whole.incomplete_details is not None
    assert (whole.status, whole.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert last.type == "response.incomplete"
    assert last.response.output_text == "It is on"


def test_a_response_follows_the_one_it_names(server: ModelServer, client: OpenAI) -> None:
    """The server holds the conversation; instructions are not carried over; what was not stored is not found."""
    server.play([call("find", order_id="W1"), "It is on its way.", "Tomorrow."])

    first = client.responses.create(model="m", instructions="Be kind.", input="Where is W1?")
    output: Any = [{"type": "function_call_output", "call_id": "call_1", "output": "in transit"}]
    second = client.responses.create(model="m", previous_response_id=first.id, input=output)
    third = client.responses.create(model="m", previous_response_id=second.id, input="When?", store=False)

    assert third.output_text == "Tomorrow."
    assert [said["role"] for said in server.requests[-1].messages] == ["user", "assistant", "tool", "assistant", "user"]
    for lost in (third.id, "resp_none"):
        with pytest.raises(BadRequestError, match="not found") as told:
            client.responses.create(model="m", previous_response_id=lost, input="And?")
        assert told.value.code == "previous_response_not_found"


@pytest.mark.parametrize(
    ("path", "fields", "said"),
    [
        ("/responses", {"background": True}, "the scripted model has no 'background'"),
        ("/responses", {"conversation": "conv_1"}, "the scripted model has no 'conversation'"),
        ("/responses", {"input": [{"type": "item_reference", "id": "x"}]}, "cannot read an item of type 'item_ref"),
        ("/responses", {"input": 5}, "`input` must be a text or a list"),
        ("/messages", {"max_tokens": None}, "max_tokens: must be a number"),
        ("/messages", {"messages": "hi"}, "messages: must be a list"),
    ],
)
def test_what_is_not_supported_is_said(server: ModelServer, path: str, fields: dict[str, Any], said: str) -> None:
    """The error has the form of the API, and is no request that a script answered."""
    answer = post(server, path, **fields)

    assert answer.status == 400
    assert said in answer.json()["error"]["message"]
    assert (answer.json().get("type") == "error") is (path == "/messages")
    assert server.requests == []


def test_a_message_holds_what_the_script_says(server: ModelServer) -> None:
    """Thoughts, text and calls are blocks, in this order; calls hold their arguments as an object."""
    server.play([TALK.using(input=9, output=8, cached=7)])

    got = message(server)

    assert [block["type"] for block in got["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert got["content"][1]["text"] == LONG
    # one call was made before
    assert got["content"][2] == {"type": "tool_use", "id": "toolu_2", "name": "find", "input": {"order_id": "W1"}}
    assert (got["type"], got["role"], got["stop_reason"]) == ("message", "assistant", "tool_use")
    assert got["usage"] == {
        "input_tokens": 2, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 7, "output_tokens": 8,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "reason", "said"),
    [
        (text("fine"), "end_turn", "fine"),
        (truncated("It is on"), "max_tokens", "It is on"),
        (refusal("I cannot."), "refusal", "I cannot."),
        (structured({"a": 1}), "end_turn", '{"a":1}'),
    ],
)
def test_a_message_says_why_it_ended(server: ModelServer, answer: Answer, reason: str, said: str) -> None:
    """In the words of its API, whole and streamed."""
    server.play([answer, answer])

    whole, streamed = message(server), events(post(server, "/messages", stream=True))

    assert (whole["stop_reason"], whole["content"]) == (reason, [{"type": "text", "text": said}])
    assert [event["delta"]["stop_reason"] for event in streamed if event["type"] == "message_delta"] == [reason]


def test_a_streamed_message_grows_block_by_block(server: ModelServer) -> None:
    """Each block starts empty, grows by deltas of its kind, and stops; the usage is told at both ends."""
    server.play([TALK.using(input=9, output=8)])

    first, *inner, before, last = events(post(server, "/messages", stream=True))

    assert (first["message"]["content"], first["message"]["usage"]["input_tokens"]) == ([], 9)
    assert (before["usage"], last) == ({"output_tokens": 8}, {"type": "message_stop"})
    grown: dict[int, list[str]] = {0: [], 1: [], 2: [], 3: []}
    for event in inner:
        assert event["type"] in {"content_block_start", "content_block_delta", "content_block_stop"}
        if event["type"] == "content_block_delta":
            *_, written = event["delta"].values()
            grown[event["index"]].append(written)
    assert ["".join(grown[index]) for index in (1, 2, 3)] == [LONG, '{"order_id":"W1"}', "{}"]
    assert min(map(len, (grown[0], grown[1]))) > 1


def test_arguments_that_are_no_object_fit_a_streamed_message_only(server: ModelServer) -> None:
    """A whole message cannot hold them, and the script is told so."""
    server.play([call("find", '{"order'), call("find", '{"order')])

    streamed = events(post(server, "/messages", stream=True))
    whole = post(server, "/messages")

    assert [event["delta"]["partial_json"] for event in streamed if event["type"] == "content_block_delta"] == [
        '{"order'
    ]
    assert whole.status == 400
    assert "gives arguments as a JSON object" in server.problems[0]


def test_a_base_url_of_either_kind_leads_to_messages(server: ModelServer) -> None:
    """Anthropic's clients append `/v1/messages` to what they are told."""
    server.play(["one", "two"])
    body = json.dumps({"model": "m", **BODIES["/messages"]})

    root = server.base_url.removesuffix("/v1")
    said = [http.send(base, body, path="/v1/messages").json() for base in (server.base_url, root)]

    assert [got["content"][0]["text"] for got in said] == ["one", "two"]


@pytest.mark.parametrize(("status", "kind"), [(400, "invalid_request_error"), (429, "rate_limit_error"),
                                              (500, "api_error"), (529, "overloaded_error")])  # fmt: skip
def test_errors_of_messages_have_anthropics_form(server: ModelServer, status: int, kind: str) -> None:
    """A kind and a message, under a type."""
    server.play([fault.status(status, "no")])

    answer = post(server, "/messages")

    assert (answer.status, answer.json()) == (status, {"type": "error", "error": {"type": kind, "message": "no"}})


def test_paths_that_are_not_there_answer_in_the_form_of_who_asks(server: ModelServer) -> None:
    """Anthropic's clients say by a header who they are."""
    headers = {"anthropic-version": "2023-06-01"}

    answer = http.send(server.base_url, "{}", path="/v1/messages/count_tokens", headers=headers)

    assert (answer.status, answer.json()["type"]) == (404, "error")


def test_faults_concern_responses_too(server: ModelServer, client: OpenAI) -> None:
    """An error has OpenAI's form; a response that is cut off breaks in the middle."""
    server.play([fault.status(429), fault.refused("temperature"), fault.malformed()])

    with pytest.raises(RateLimitError):
        client.responses.create(model="m", input="hi")
    with pytest.raises(BadRequestError) as told:
        client.responses.create(model="m", input="hi")
    assert (told.value.param, told.value.code) == ("temperature", "unsupported_parameter")
    with pytest.raises(json.JSONDecodeError):
        post(server, "/responses").json()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [False, True])
def test_equal_requests_get_equal_bytes(server: ModelServer, path: str, stream: bool) -> None:
    """Whichever API is asked."""
    server.play(lambda _: TALK)

    first, second = (post(server, path, stream=stream) for _ in range(2))

    assert first.content == second.content


GEMINI = "/v1beta/models/m:generateContent"
CONTENTS = {
    "systemInstruction": {"parts": [{"text": "Be kind."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Where is "}, {"text": "W1?"}]},
        {
            "role": "model",
            "parts": [
                {"text": "Hm.", "thought": True},
                {"text": "I look."},
                {"functionCall": {"name": "find", "args": {"a": 1}}},
                {"functionCall": {"name": "find", "args": {"a": 2}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "find", "response": {"result": "in transit"}}},
                {"functionResponse": {"name": "find", "response": {"result": "lost"}}},
                {"text": "And when?"},
            ],
        },
    ],
    "tools": [{"functionDeclarations": [{"name": "find", "description": "Find.", "parametersJsonSchema": SCHEMA}]}],
}


def generate(server: ModelServer, *, stream: bool = False) -> http.Response:
    """Send the conversation as Google's clients do."""
    path = GEMINI.replace(":generate", ":streamGenerate") + "?alt=sse" if stream else GEMINI
    return http.send(server.base_url.removesuffix("/v1"), json.dumps(CONTENTS), path=path)


def test_googles_contents_read_as_messages(server: ModelServer) -> None:
    """The model stands in the path; results are joined to calls of their name in order."""
    server.play({"m": lambda _: "soon"})

    generate(server)

    [request] = server.requests
    assert (request.api, request.model, request.system, request.last) == ("gemini", "m", "Be kind.", "And when?")
    assert request.tools == ["find"]
    calls_made = request.messages[2]["tool_calls"]
    assert [(one["id"], one["function"]["arguments"]) for one in calls_made] == [
        ("call_1", '{"a":1}'), ("call_2", '{"a":2}'),
    ]  # fmt: skip
    assert [(one["role"], one.get("tool_call_id"), one["content"]) for one in request.messages[1:]] == [
        ("user", None, "Where is W1?"),
        ("assistant", None, "I look."),
        ("tool", "call_1", '{"result":"in transit"}'),
        ("tool", "call_2", '{"result":"lost"}'),
        ("user", None, "And when?"),
    ]


def test_a_streamed_candidate_grows_to_the_whole_one(server: ModelServer) -> None:
    """Thoughts, text and calls are parts; the reason and the usage come last."""
    server.play([TALK.using(input=9, output=8, cached=7, reasoning=2)] * 2)

    whole = generate(server).json()
    streamed = [
        json.loads(block.removeprefix("data: ")) for block in generate(server, stream=True).text.split("\n\n")[:-1]
    ]

    [candidate] = whole["candidates"]
    assert [next(iter(part)) for part in candidate["content"]["parts"]] == ["text", "text"] + ["functionCall"] * 2
    parts = [part for one in streamed for part in one["candidates"][0]["content"]["parts"]]
    assert "".join(part["text"] for part in parts if "text" in part and "thought" not in part) == LONG
    assert [part for part in parts if "functionCall" in part] == candidate["content"]["parts"][2:]
    assert len(parts) > 4
    assert (candidate["finishReason"], streamed[-1]["candidates"][0]["finishReason"]) == ("STOP", "STOP")
    assert streamed[-1]["usageMetadata"] == whole["usageMetadata"] == {
        "promptTokenCount": 9, "cachedContentTokenCount": 7, "candidatesTokenCount": 6, "thoughtsTokenCount": 2,
        "totalTokenCount": 17,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "reason"), [(text("x"), "STOP"), (truncated("x"), "MAX_TOKENS"), (refusal("x"), "SAFETY")]
)
def test_a_candidate_says_why_it_ended(server: ModelServer, answer: Answer, reason: str) -> None:
    """In Google's words."""
    server.play([answer])

    [candidate] = generate(server).json()["candidates"]

    assert candidate == {"index": 0, "finishReason": reason, "content": {"role": "model", "parts": [{"text": "x"}]}}


def test_errors_of_googles_api_have_its_form(server: ModelServer) -> None:
    """Faults, and what a script cannot say."""
    server.play([fault.status(429, "no"), call("find", '{"order'), fault.no_choices()])

    limited, broken, empty = (generate(server) for _ in range(3))

    assert limited.json() == {"error": {"code": 429, "message": "no", "status": "RESOURCE_EXHAUSTED"}}
    assert (broken.status, broken.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert "gives arguments as a JSON object" in server.problems[0]
    assert empty.json()["candidates"] == []
