"""Structured answers: the form the server takes, odd wrappings, one repair, refusals and cuts."""

import asyncio
import json
from collections.abc import Callable
from datetime import date
from enum import Enum
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError

from pytest_agentbench.core.errors import CassetteMissError, SendError, TokenLimitError, UnusableAnswerError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.llm.answer_text import UnreadableAnswerError, read_answer
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.llm.structured import schema_of, structured
from pytest_agentbench.testing import ModelRequest, ModelServer, call, calls, fault, refusal, text, truncated
from pytest_agentbench.testing.script import Given, Script
from tests.tables import each


class Grade(Enum):
    """How good."""

    GOOD = "good"
    BAD = "bad"


class Reason(BaseModel):
    """Why."""

    text: str = Field(min_length=1, description="one sentence")
    turn: int | None = None


class Judgement(BaseModel):
    """A judge's decision."""

    grade: Grade
    reasons: list[Reason] = []
    day: date | None = None


GOOD = '{"grade": "good", "reasons": [{"text": "kind", "turn": 1}], "day": null}'
QUESTION = [{"role": "system", "content": "Judge."}, {"role": "user", "content": "The conversation."}]


def ask(script: Script, form: Any = "auto", times: int = 1) -> tuple[list[Judgement], list[ModelRequest]]:
    """Ask a scripted server and give the answers with what it was asked."""
    with ModelServer(script) as server:
        spec = ModelSpec(model="m", base_url=server.base_url, structured=form, retries=0)

        async def scene() -> list[Judgement]:
            models = Models(environ={})
            try:
                chats = [models.chat(spec, Caller(role="judge")) for _ in range(times)]
                return [await structured(chat, Judgement, QUESTION, temperature=0.0) for chat in chats]
            finally:
                await models.close()

        return asyncio.run(scene()), list(server.requests)


def form_of(request: ModelRequest) -> str:
    """Name the form in which a request asks."""
    if request.tools:
        return "tool"
    kind = (request.body.get("response_format") or {}).get("type", "none")
    return {"json_object": "json"}.get(kind, kind)


def only(*taken: str) -> Callable[[ModelRequest], Given]:
    """A server that refuses all forms but these."""

    def react(request: ModelRequest) -> Given:
        form = form_of(request)
        if form not in taken:
            return fault.status(400, f"'response_format' of type {form} is not supported")
        return call("Judgement", GOOD) if form == "tool" else text(GOOD)

    return react


@each(
    ("taken", "asked"),
    [
        (("json_schema", "tool", "json"), ["json_schema", "json_schema"]),
        # a refusal that names no field is tried once more without our defaults
        (("tool", "json"), ["json_schema", "json_schema", "tool", "tool"]),
        (("json",), ["json_schema", "json_schema", "tool", "json", "json"]),
        (("none",), ["json_schema", "json_schema", "tool", "json", "none", "none"]),
    ],
)
def test_the_strictest_form_that_the_server_takes_is_found_and_remembered(taken: Any, asked: list[str]) -> None:
    """The first question goes down the list, the second one, of another run, begins where that ended."""
    answers, requests = ask(only(*taken), times=2)

    assert [answer.grade for answer in answers] == [Grade.GOOD] * 2
    assert [form_of(request) for request in requests] == asked
    assert [request.body.get("temperature") for request in requests].count(0.0) == len(requests) - (
        "json_schema" not in taken
    )


@each("form", ["json_schema", "tool", "json"])
def test_a_form_that_is_set_is_the_only_one(form: str) -> None:
    """Where the spec says how to ask, a refusal of that is the call's error."""
    answers, requests = ask(only(form), form)
    assert [form_of(request) for request in requests] == [form]
    assert answers[0].reasons[0].text == "kind"

    with pytest.raises(SendError, match="is not supported"):
        ask(only(), form)


def test_other_errors_are_not_taken_for_a_refused_form() -> None:
    """A wrong key is asked about once."""
    with pytest.raises(SendError, match="401"):
        ask([fault.status(401)])


def test_when_every_form_is_refused_the_first_refusal_is_told() -> None:
    """The error names what the strictest form was refused for."""
    with pytest.raises(SendError, match="json_schema is not supported"):
        ask(only())


def test_json_mode_says_the_schema_in_the_last_message() -> None:
    """Servers of JSON mode want the word JSON in the conversation, models want to know the form."""
    _, requests = ask(only("json"), "json")

    assert requests[0].messages[0] == QUESTION[0]
    assert requests[0].last.startswith("The conversation.\n\n")
    assert all(word in requests[0].last for word in ("JSON", '"grade"', "one sentence"))


@each("form", ["json_schema", "tool", "json"])
def test_an_invalid_answer_is_shown_to_the_model_with_its_errors(form: str) -> None:
    """The second request holds the answer as it was, and what is wrong with it."""
    wrong = '{"grade": "fine", "reasons": [{"text": ""}]}'
    says: list[Given] = [wrong, GOOD] if form != "tool" else [call("Judgement", wrong), call("Judgement", GOOD)]

    answers, requests = ask(says, form)

    assert answers[0].grade is Grade.GOOD
    shown, problems = requests[1].messages[-2:]
    assert wrong in json.dumps(shown).replace("\\", "")
    assert all(part in problems["content"] for part in ("- grade: ", "'good' or 'bad'", "'fine'", "- reasons.0.text"))
    assert problems["role"] == ("tool" if form == "tool" else "user")
    assert form_of(requests[1]) == form


def test_an_answer_that_stays_invalid_is_unusable() -> None:
    """After one repair it is over, and the error says what is still wrong."""
    with pytest.raises(UnusableAnswerError, match=r"'m' gave no valid Judgement.*grade: Field required") as raised:
        ask(["I would say good.", '{"reasons": []}'])

    assert "grade: Field required); it said: " in str(raised.value)
    assert "\n" not in str(raised.value)


@each("form", ["auto", "json_schema", "tool", "json", "prompt"])
def test_a_limit_that_was_spent_on_thoughts_is_no_unusable_answer(form: str) -> None:
    """The model is not asked again: the key that is named is the suite's."""
    with pytest.raises(
        TokenLimitError, match=r"judge, model 'm': .*while it was thinking: raise `max_tokens` \(it is 8192"
    ):
        ask([truncated("<think>Is it good? Is it bad?")], form)


@each(
    ("answer", "said"),
    [
        (refusal("I do not judge people"), "refused to give the Judgement asked for: 'I do not judge people'"),
        (
            truncated(GOOD[:30]),
            "gave no whole Judgement; it was cut off after 8 tokens: raise `max_tokens` \\(it is 8192",
        ),
    ],
)
def test_refusals_and_cuts_are_said_and_not_repaired(answer: Given, said: str) -> None:
    """Neither gets better by showing validation errors."""
    with pytest.raises(UnusableAnswerError, match=said):
        ask([answer])


def test_replay_finds_the_form_that_was_recorded() -> None:
    """What a server refused while recording is in no cassette: a miss goes on to the next form."""

    class Replaying:
        """A chat whose cassette holds tool calls only."""

        spec = ModelSpec(model="m")

        def __init__(self, inner: Any) -> None:
            self.inner = inner

        @property
        def usage(self) -> Any:
            """What was used."""
            return self.inner.usage

        async def complete(self, messages: Any, **options: Any) -> Any:
            """Answer from the cassette."""
            if not options.get("tools"):
                raise CassetteMissError("not recorded")
            return await self.inner.complete(messages, **options)

    with ModelServer([call("Judgement", GOOD)]) as server:

        async def scene() -> Judgement:
            models = Models(environ={})
            spec = ModelSpec(model="m", base_url=server.base_url)
            try:
                return await structured(Replaying(models.chat(spec, Caller(role="judge"))), Judgement, QUESTION)
            finally:
                await models.close()

        assert asyncio.run(scene()).grade is Grade.GOOD


@each("form", ["json_schema", "tool", "json", "prompt"])
@each(
    "answer",
    [
        text(f"<think>Is {{it}} good?</think>\n{GOOD}"),
        text(f"Is it good?</think>Here it is: {GOOD}"),
        call("Judgement", GOOD),
        calls(call("Judgement", "{}"), content=GOOD),
        calls(call("Judgement", GOOD), content="Let me see {what} I think."),
    ],
)
def test_an_answer_is_found_where_the_server_put_it(form: str, answer: Given) -> None:
    """After thoughts, in the text though a call was asked for, in a call though text was: one request is enough."""
    answers, requests = ask([answer], form)

    assert answers[0].grade is Grade.GOOD
    assert len(requests) == 1


def test_a_call_that_is_written_as_text_is_asked_for_in_json_mode() -> None:
    """A server without a parser for tool calls: nothing is taken out of the text."""
    written = f'<tool_call>{{"name": "Judgement", "arguments": {GOOD}}}</tool_call>'

    def react(request: ModelRequest) -> Given:
        if form_of(request) == "json_schema":
            return fault.refused("response_format")
        return text(written) if form_of(request) == "tool" else text(GOOD)

    answers, requests = ask(react, times=2)

    assert [answer.grade for answer in answers] == [Grade.GOOD] * 2
    assert [form_of(request) for request in requests] == ["json_schema", "tool", "json", "json"]

    with pytest.raises(UnusableAnswerError, match="it wrote its tool call as text; its server probably has no parser"):
        ask(lambda _: text(written), "tool")


@each(
    "said",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}```\nI hope this helps!",
        f"Here {{is}} my judgement: {GOOD} Anything else?",
        f'First thought: {{"grade": "unsure"}}\nFinal: {GOOD}',
        f"  \n{GOOD}",
    ],
)
def test_answers_are_found_in_what_is_written_around_them(said: str) -> None:
    """Fences, prose and false starts do not hide a valid object."""
    assert read_answer(Judgement, said).grade is Grade.GOOD


@given(st.text(alphabet=st.sampled_from('{}[]":,a1`\\ \n\ud800'), max_size=200) | st.text(max_size=50))
def test_hostile_answers_are_read_or_refused(said: str) -> None:
    """No text makes the reader raise anything but its own error, which is printable."""
    with pytest.raises(UnreadableAnswerError) as raised:
        read_answer(Judgement, said)

    assert str(raised.value).replace("\n", "").isprintable()


class Node(BaseModel):
    """A type that contains itself."""

    value: int
    children: list["Node"] = []


class Cat(BaseModel):
    """One of two."""

    kind: Literal["cat"]


class Dog(BaseModel):
    """The other."""

    kind: Literal["dog"]
    owner: Reason = Field(description="whose dog")


class Zoo(BaseModel):
    """A choice by tag."""

    animal: Cat | Dog = Field(discriminator="kind")


class Loose(BaseModel):
    """Something that no server can enforce."""

    values: dict[str, int]
    anything: Any = None


def objects(schema: Any) -> list[dict[str, Any]]:
    """Give every object schema within a schema."""
    if isinstance(schema, list):
        return [found for item in schema for found in objects(item)]
    if not isinstance(schema, dict):
        return []
    inner = [found for item in schema.values() for found in objects(item)]
    return [schema, *inner] if schema.get("type") == "object" else inner


@each("answer", [Judgement, Node, Zoo])
def test_schemas_fit_strict_servers(answer: type[BaseModel]) -> None:
    """Every object is closed and requires all of its properties; nothing that strict modes refuse is left."""
    schema, strict = schema_of(answer)

    assert strict
    jsonschema.Draft202012Validator.check_schema(schema)
    for item in objects(schema):
        assert item["additionalProperties"] is False
        assert item["required"] == list(item["properties"])
    text_of = json.dumps(schema)
    assert not [word for word in ("default", "minLength", "oneOf", "allOf", "discriminator") if f'"{word}"' in text_of]
    assert schema["type"] == "object"


def test_what_cannot_be_enforced_is_described_all_the_same() -> None:
    """Free-form objects make the schema a description: strict is off."""
    schema, strict = schema_of(Loose)

    assert not strict
    assert schema["properties"]["values"]["additionalProperties"] == {"type": "integer"}


@given(st.integers(-5, 5), st.sampled_from(["good", "bad", "odd"]))
def test_what_the_schema_takes_the_type_takes(turn: int, grade: str) -> None:
    """An answer that fits the schema is one that pydantic accepts."""
    schema, _ = schema_of(Judgement)
    value = {"grade": grade, "reasons": [{"text": "x", "turn": turn}], "day": None}
    fits = jsonschema.Draft202012Validator(schema).is_valid(value)

    try:
        Judgement.model_validate(value)
        accepted = True
    except ValidationError:
        accepted = False

    assert fits is accepted
