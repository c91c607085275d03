"""What a server refuses is learnt once, from the field that its error names, and remembered for the session."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from pytest_agentbench.core.errors import SendError
from pytest_agentbench.core.model import ModelSpec, Usage
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.llm.reply import OUTPUT_BOUND
from pytest_agentbench.llm.structured import structured
from pytest_agentbench.testing import ModelRequest, ModelServer, call, fault, text
from pytest_agentbench.testing.script import Given
from tests.tables import each

T = TypeVar("T")
HELLO = [{"role": "user", "content": "hello"}]
TOOL = {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}
OVERFLOW = "context_length_exceeded"


class Verdict(BaseModel):
    """A judge's verdict."""

    kept: bool


def refusing(*params: str, code: str = "unsupported_parameter") -> Callable[[ModelRequest], Given]:
    """A server that takes none of these parameters, and says so of the first that it finds."""

    def react(request: ModelRequest) -> Given:
        found = next((name for name in params if name in request.body), None)
        return text('{"kept": true}') if found is None else fault.refused(found, code=code)

    return react


def play(
    react: Callable[[ModelRequest], Given], scene: Callable[[Models, ModelSpec], Awaitable[T]], **spec: Any
) -> tuple[T, list[dict[str, Any]]]:
    """Play a scene against a server; give what came of it and the bodies that the server got."""
    with ModelServer(react) as server:

        async def played() -> T:
            models = Models(environ={})
            try:
                return await scene(models, ModelSpec(model="m", base_url=server.base_url, retries=0, **spec))
            finally:
                await models.close()

        return asyncio.run(played()), [dict(request.body) for request in server.requests]


async def ask(models: Models, spec: ModelSpec) -> Usage:
    """Ask once, as a role without wishes does."""
    chat = models.chat(spec, Caller(role="agent"))
    await chat.complete(HELLO)
    return chat.usage


async def ask_twice(models: Models, spec: ModelSpec) -> Usage:
    """Ask as two runs do, at a role's own temperature and bound."""
    for role in ("judge", "user"):
        chat = models.chat(spec, Caller(role=role))
        await chat.complete(HELLO, temperature=0.0, max_tokens=50)
    return chat.usage


def test_a_refused_parameter_of_ours_costs_one_request_and_is_left_out_from_then_on() -> None:
    """The judge's temperature is a wish; the verdict matters more."""
    usage, bodies = play(refusing("temperature"), ask_twice)

    assert ["temperature" in body for body in bodies] == [True, False, False]
    assert usage.adapted == ("temperature left out",)


def test_a_renamed_parameter_keeps_its_value_also_where_the_suite_set_it() -> None:
    """Reasoning models take `max_completion_tokens` alone."""
    usage, bodies = play(refusing("max_tokens"), ask_twice, max_tokens=99)

    assert [body.get("max_completion_tokens") for body in bodies] == [None, 99, 99]
    assert usage.adapted == ("max_tokens sent as max_completion_tokens",)


def test_a_role_is_told_to_be_adapted_only_in_what_it_asks() -> None:
    """The agent asks for no temperature and for no form, whatever the judge at the same server asked for."""

    async def two_roles(models: Models, spec: ModelSpec) -> tuple[Usage, Usage]:
        agent, judge = (models.chat(spec, Caller(role=role)) for role in ("agent", "judge"))
        await structured(judge, Verdict, HELLO, temperature=0.0)
        await agent.complete(HELLO)
        return agent.usage, judge.usage

    (agent, judge), _ = play(refusing("temperature", "max_tokens", "response_format"), two_roles)

    assert agent.adapted == ("max_tokens sent as max_completion_tokens",)
    assert judge.adapted == (
        "max_tokens sent as max_completion_tokens",
        "structured answers as tool calls",
        "temperature left out",
    )


def test_each_fact_costs_one_request() -> None:
    """A server that refuses three things is asked four times, once."""
    _, bodies = play(refusing("seed", "temperature", "max_tokens"), ask_twice)

    assert len(bodies) == 2 + 2  # no seed was asked for
    assert bodies[-1].keys() == {"model", "messages", "max_completion_tokens"}


@each(("key", "value"), [("temperature", 0.7), ("seed", 1), ("effort", "low")])
def test_what_the_suite_sets_is_sent_or_an_error_names_the_key(key: str, value: float) -> None:
    """A suite that fixes a seed must not be played without one unknowingly."""
    with pytest.raises(SendError, match=f"the suite sets `{key}` for this model"):
        play(refusing({"effort": "reasoning_effort"}.get(key, key)), ask_twice, **{key: value})


@each("names", [True, False], ids=["field named", "no field named"])
def test_a_new_name_that_the_suite_itself_uses_is_its_own(names: bool) -> None:
    """A server that renames what one role asks, and refuses the value of another, is not asked on and on."""

    def react(request: ModelRequest) -> Given:
        if "max_tokens" in request.body:
            return fault.refused("max_tokens")
        if request.body.get("max_completion_tokens", 0) <= 1000:
            return text("hi")
        assert request.number < 9
        return fault.refused("max_completion_tokens" if names else "", code="integer_above_max_value")

    async def scene(models: Models, spec: ModelSpec) -> str:
        await models.chat(spec.model_copy(update={"extra_body": {}}), Caller(role="judge")).complete(
            HELLO, max_tokens=9
        )
        with pytest.raises(SendError) as raised:
            await models.chat(spec, Caller(role="user")).complete(HELLO)
        return str(raised.value)

    told, bodies = play(react, scene, extra_body={"max_completion_tokens": 10**9})

    assert "`max_completion_tokens`" in told
    assert len(bodies) == 3


@each("first", ["max_tokens", "max_completion_tokens"])
def test_a_server_that_takes_neither_name_of_the_bound_is_not_asked_on_and_on(first: str) -> None:
    """A role goes without its bound, and a suite that sets one by either name is told so."""

    async def scene(models: Models, spec: ModelSpec) -> list[str]:
        by_name = {
            "max_tokens": spec.model_copy(update={"max_tokens": 9}),
            "max_completion_tokens": spec.model_copy(update={"extra_body": {"max_completion_tokens": 9}}),
        }
        told = []
        for name in sorted(by_name, key=lambda name: name != first):
            with pytest.raises(SendError) as raised:
                await models.chat(by_name[name], Caller(role="user")).complete(HELLO)
            told.append(f"the suite sets `{name}`" in str(raised.value))
        return [*told, (await models.chat(spec, Caller(role="judge")).complete(HELLO)).text]

    found, bodies = play(refusing("max_tokens", "max_completion_tokens"), scene)

    assert found == [True, True, '{"kept": true}']
    assert len(bodies) <= 6


def test_what_the_suite_sets_beats_what_a_role_prefers() -> None:
    """Models that only take temperature 1 can be told so."""
    _, bodies = play(refusing(), ask_twice, temperature=1.0)

    assert {body["temperature"] for body in bodies} == {1.0}


def test_what_the_suite_sets_is_not_left_out_for_another_roles_sake() -> None:
    """The judge's temperature is dropped; the user's, which the suite wants, is an error of its own."""

    async def judge_then_user(models: Models, spec: ModelSpec) -> None:
        await models.chat(spec, Caller(role="judge")).complete(HELLO, temperature=0.0)
        warm = spec.model_copy(update={"temperature": 0.7})
        with pytest.raises(SendError, match="the suite sets `temperature`"):
            await models.chat(warm, Caller(role="user")).complete(HELLO)

    _, bodies = play(refusing("temperature"), judge_then_user)

    assert [body.get("temperature") for body in bodies] == [0.0, None, 0.7]


def test_a_new_name_is_found_in_either_direction() -> None:
    """Some servers know `max_tokens` alone, where a suite sends the newer name."""
    _, bodies = play(refusing("max_completion_tokens"), ask, extra_body={"max_completion_tokens": 77})

    assert [(body.get("max_completion_tokens"), body.get("max_tokens")) for body in bodies] == [(77, None), (None, 77)]


def test_a_bound_that_goes_under_neither_name_is_left_out_where_it_is_ours() -> None:
    """The suite's own is an error that names its key."""
    usage, bodies = play(refusing("max_tokens", "max_completion_tokens"), ask_twice)
    assert usage.adapted == ("max_completion_tokens left out",)
    assert len(bodies) == 2 + 2

    with pytest.raises(SendError, match="the suite sets `max_tokens` for this model"):
        play(refusing("max_tokens", "max_completion_tokens"), ask_twice, max_tokens=50)


def test_every_answer_is_bounded() -> None:
    """A model that never stops costs one answer, unless the suite or the role says how long it may be."""
    _, bodies = play(refusing(), ask)
    assert bodies == [{"model": "m", "messages": HELLO, "max_tokens": OUTPUT_BOUND}]

    _, bodies = play(refusing(), ask, extra_body={"max_completion_tokens": 9})
    assert bodies == [{"model": "m", "messages": HELLO, "max_completion_tokens": 9}]


def test_a_bound_that_is_too_much_is_left_out_and_not_renamed() -> None:
    """An objection to the value says that the name is known."""
    usage, bodies = play(refusing("max_tokens", code="invalid_value"), ask)

    assert usage.adapted == ("max_tokens left out",)
    assert len(bodies) == 2


def test_an_overflow_is_tried_without_our_bound_and_teaches_nothing() -> None:
    """What a long conversation leaves no room for, a short one may have."""

    def react(request: ModelRequest) -> Given:
        room = 10_000 - request.characters
        return fault.refused("messages", code=OVERFLOW) if request.body.get("max_tokens", 0) > room else text("fine")

    async def scene(models: Models, spec: ModelSpec) -> Usage:
        chat = models.chat(spec, Caller(role="user"))
        await chat.complete([{"role": "user", "content": "long " * 1_000}])
        await chat.complete(HELLO)
        return chat.usage

    usage, bodies = play(react, scene)

    assert ["max_tokens" in body for body in bodies] == [True, False, True]
    assert usage.adapted == ()


@each(
    ("taken", "fact", "asked"),
    [
        # refused, taken without both, the likelier one alone: the other one is left out from then on
        (lambda body: "max_tokens" not in body, "max_tokens left out", ["tm", "", "t", "t", "t"]),
        # the likelier one is refused again: it is left out, and the other one is taken
        (lambda body: "temperature" not in body, "temperature left out", ["tm", "", "t", "", "m", "m"]),
    ],
)
def test_a_refusal_that_names_no_field_is_found_out_by_trial(
    taken: Callable[[dict[str, Any]], bool], fact: str, asked: list[str]
) -> None:
    """No prose is read: what the server takes without our defaults says which of them it was."""

    async def four(models: Models, spec: ModelSpec) -> Usage:
        chat = models.chat(spec, Caller(role="judge"))
        for _ in range(4):
            await chat.complete(HELLO, temperature=0.0)
        return chat.usage

    usage, bodies = play(lambda request: text("fine") if taken(dict(request.body)) else fault.status(400), four)

    assert usage.adapted == (fact,)
    assert ["t" * ("temperature" in body) + "m" * ("max_tokens" in body) for body in bodies] == asked


def test_an_overflow_that_names_nothing_takes_no_temperature_from_a_judge() -> None:
    """The bound was taken before, so it may have been too much here: the next question tells."""

    def react(request: ModelRequest) -> Given:
        room = 10_000 - request.characters
        return fault.status(400) if request.body.get("max_tokens", 0) > room else text("fine")

    async def user_then_judge(models: Models, spec: ModelSpec) -> Usage:
        await models.chat(spec, Caller(role="user")).complete(HELLO)
        chat = models.chat(spec, Caller(role="judge"))
        for said in ("long " * 1_000, "short", "short"):
            await chat.complete([{"role": "user", "content": said}], temperature=0.0)
        return chat.usage

    usage, bodies = play(react, user_then_judge)

    assert ["t" * ("temperature" in body) + "m" * ("max_tokens" in body) for body in bodies] == [
        "m", "tm", "", "t", "tm",
    ]  # fmt: skip
    assert usage.adapted == ()


def test_a_doubt_is_settled_by_one_request_whoever_asks() -> None:
    """Twenty judges at once waste three requests on a server that names no field."""

    def react(request: ModelRequest) -> Given:
        return fault.status(400) if "temperature" in request.body else text("fine")

    async def crowd(models: Models, spec: ModelSpec) -> Usage:
        chats = [models.chat(spec, Caller(role="judge")) for _ in range(20)]
        await asyncio.gather(*(chat.complete(HELLO, temperature=0.0) for chat in chats))
        await asyncio.gather(*(chat.complete(HELLO, temperature=0.0) for chat in chats))
        return chats[0].usage

    usage, bodies = play(react, crowd)

    assert usage.adapted == ("temperature left out",)
    assert sum("temperature" in body for body in bodies) <= 3


def test_a_refusal_of_the_suites_own_that_names_no_field_lists_the_keys_it_may_mean() -> None:
    """One line says what to take out."""
    with pytest.raises(SendError) as raised:
        play(lambda _: fault.status(400, "unsupported"), ask, temperature=0.3, effort="high", max_tokens=9)

    assert "may mean what the suite sets for this model: `effort`, `max_tokens`, `temperature`)" in str(raised.value)


def test_what_is_refused_whatever_is_left_out_is_tried_once_more_and_no_oftener() -> None:
    """A wrong request is not sent twice for ever."""

    def react(request: ModelRequest) -> Given:
        return fault.status(400, "bad tools") if request.tools else text("fine")

    async def scene(models: Models, spec: ModelSpec) -> None:
        chat = models.chat(spec, Caller(role="agent"))
        await chat.complete(HELLO)
        for _ in range(3):
            with pytest.raises(SendError, match="bad tools"):
                await chat.complete(HELLO, tools=[TOOL])

    _, bodies = play(react, scene)

    assert len(bodies) == 1 + 2 + 1 + 1


def test_a_named_tool_that_cannot_be_demanded_is_demanded_less_strictly() -> None:
    """Some servers take `required` or `auto` alone: the form stays, and its schema."""

    def react(request: ModelRequest) -> Given:
        if not request.tools:
            return fault.refused("response_format")
        return call("Verdict", kept=True) if request.body["tool_choice"] == "auto" else fault.refused("tool_choice")

    async def judge(models: Models, spec: ModelSpec) -> Usage:
        for _ in range(2):
            chat = models.chat(spec, Caller(role="judge"))
            assert (await structured(chat, Verdict, HELLO)).kept
        return chat.usage

    usage, bodies = play(react, judge)

    choices = [body.get("tool_choice") for body in bodies]
    assert [choice if isinstance(choice, str) else bool(choice) for choice in choices] == [
        False, True, "required", "auto", "auto",
    ]  # fmt: skip
    assert usage.adapted == ("structured answers as tool calls", "tool_choice sent as auto")


@each(
    "answer",
    [
        fault.status(400, "temperature is not supported, please remove it"),
        fault.refused("temperature", code=OVERFLOW),
        fault.refused("messages"),
        fault.raw('{"error": {"param": "temperature"}}', status=401),
    ],
)
def test_prose_sizes_and_other_fields_teach_nothing(answer: Given) -> None:
    """What an error merely talks about is not refused."""
    with pytest.raises(SendError):
        play(lambda _: answer, ask_twice)


@each(
    "body",
    [
        '{"detail": [{"type": "extra_forbidden", "loc": ["body", "temperature"], "msg": "not permitted"}]}',
        '{"object": "error", "message": {"detail": [{"loc": ["body", "temperature"], "type": "extra_forbidden"}]}}',
        '[{"error": {"code": 400, "details": [{"fieldViolations": [{"field": "temperature"}]}]}}]',
        json.dumps({"error": {"code": 400, "metadata": {"raw": '{"error": {"param": "temperature"}}'}}}),
    ],
)
def test_the_field_is_found_in_every_form_in_which_servers_name_it(body: str) -> None:
    """pydantic's list, the same wrapped, and field violations."""

    def react(request: ModelRequest) -> Given:
        return fault.raw(body, status=422) if "temperature" in request.body else text("fine")

    _, bodies = play(react, ask_twice)

    assert ["temperature" in one for one in bodies] == [True, False, False]


def test_a_gateway_that_refuses_with_status_200_is_understood() -> None:
    """The code within says what it is."""
    body = '{"error": {"message": "no", "code": 400, "metadata": {"raw": "{\\"param\\": \\"temperature\\"}"}}}'

    _, bodies = play(lambda request: fault.raw(body) if "temperature" in request.body else text("fine"), ask_twice)

    assert ["temperature" in one for one in bodies] == [True, False, False]


def test_the_first_request_goes_alone_and_the_others_profit() -> None:
    """Twenty runs at once waste one request for a fact, not twenty."""

    async def crowd(models: Models, spec: ModelSpec) -> int:
        chats = [models.chat(spec, Caller(role="judge")) for _ in range(20)]
        replies = await asyncio.gather(*(chat.complete(HELLO, temperature=0.0) for chat in chats))
        return len(replies)

    answered, bodies = play(refusing("temperature"), crowd)

    assert (answered, len(bodies)) == (20, 21)


def test_a_server_that_fails_keeps_nobody_waiting() -> None:
    """The first request may end badly; the others then go on their own."""

    async def crowd(models: Models, spec: ModelSpec) -> list[str]:
        chats = [models.chat(spec, Caller(role="judge")) for _ in range(3)]
        ended = await asyncio.gather(*(chat.complete(HELLO) for chat in chats), return_exceptions=True)
        return [type(one).__name__ for one in ended]

    ended, _ = play(lambda _: fault.status(500), crowd)

    assert ended == ["SendError"] * 3


def test_a_server_that_ignores_the_form_is_told_the_schema_and_asked_so_from_then_on() -> None:
    """Five questions of a server that ignores `response_format` cost six requests."""

    def react(request: ModelRequest) -> Given:
        return text('{"kept": true}' if '"kept"' in str(request.messages) else "I think it was kept.")

    async def judge(models: Models, spec: ModelSpec) -> list[bool]:
        chats = [models.chat(spec, Caller(role="judge")) for _ in range(5)]
        return [(await structured(chat, Verdict, HELLO)).kept for chat in chats]

    kept, bodies = play(react, judge)

    assert kept == [True] * 5
    assert len(bodies) == 6


def test_a_form_is_looked_for_once_however_many_ask() -> None:
    """Twenty judges at once waste two requests on a server that takes JSON mode alone."""

    def react(request: ModelRequest) -> Given:
        form = (request.body.get("response_format") or {}).get("type")
        return text('{"kept": true}') if form == "json_object" else fault.refused("response_format")

    async def crowd(models: Models, spec: ModelSpec) -> int:
        chats = [models.chat(spec, Caller(role="judge")) for _ in range(20)]
        verdicts = await asyncio.gather(*(structured(chat, Verdict, HELLO) for chat in chats))
        return sum(verdict.kept for verdict in verdicts)

    kept, bodies = play(react, crowd)

    assert (kept, len(bodies)) == (20, 2 + 20)


def test_a_schema_that_is_not_enforced_goes_into_the_prompt() -> None:
    """An answer that lacks a field shows that the server ignores the schema: two questions cost three requests."""

    def react(request: ModelRequest) -> Given:
        return text('{"kept": true}' if '"kept"' in str(request.messages) else '{"verdict": "kept"}')

    async def judge(models: Models, spec: ModelSpec) -> Usage:
        for _ in range(2):
            chat = models.chat(spec, Caller(role="judge"))
            await structured(chat, Verdict, HELLO)
        return chat.usage

    usage, bodies = play(react, judge)

    assert len(bodies) == 3
    assert usage.adapted == ("structured answers in JSON mode, the schema in the prompt",)


def test_an_overflow_of_a_structured_question_is_not_taken_for_a_refused_form() -> None:
    """It is asked once, and once without our bound."""
    with ModelServer(lambda _: fault.refused("messages", code=OVERFLOW)) as server:

        async def scene() -> None:
            models = Models(environ={})
            chat = models.chat(ModelSpec(model="m", base_url=server.base_url, retries=0), Caller(role="judge"))
            try:
                with pytest.raises(SendError):
                    await structured(chat, Verdict, HELLO)
            finally:
                await models.close()

        asyncio.run(scene())

    assert len(server.requests) == 2
