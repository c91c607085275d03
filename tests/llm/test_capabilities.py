"""What a server refuses is learnt once, from the field that its error names, and remembered for the session."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from pytest_agentbench.core.errors import SendError
from pytest_agentbench.core.model import ModelSpec, Usage
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.structured import structured
from pytest_agentbench.testing import ModelRequest, ModelServer, fault, text
from pytest_agentbench.testing.script import Given

T = TypeVar("T")
HELLO = [{"role": "user", "content": "hello"}]


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


def test_each_fact_costs_one_request() -> None:
    """A server that refuses three things is asked four times, once."""
    _, bodies = play(refusing("seed", "temperature", "max_tokens"), ask_twice)

    assert len(bodies) == 2 + 2  # no seed was asked for
    assert bodies[-1].keys() == {"model", "messages", "max_completion_tokens"}


@pytest.mark.parametrize(("key", "value"), [("temperature", 0.7), ("seed", 1)])
def test_what_the_suite_sets_is_sent_or_an_error_names_the_key(key: str, value: float) -> None:
    """A suite that fixes a seed must not be played without one unknowingly."""
    with pytest.raises(SendError, match=f"the suite sets `{key}` for this model"):
        play(refusing(key), ask_twice, **{key: value})


def test_what_the_suite_sets_beats_what_a_role_prefers() -> None:
    """Models that only take temperature 1 can be told so."""
    _, bodies = play(refusing(), ask_twice, temperature=1.0)

    assert {body["temperature"] for body in bodies} == {1.0}


@pytest.mark.parametrize(
    "answer",
    [
        fault.status(400, "temperature is not supported, please remove it"),
        fault.refused("temperature", code="context_length_exceeded"),
        fault.refused("messages"),
        fault.raw('{"error": {"param": "temperature"}}', status=401),
    ],
)
def test_prose_sizes_and_other_fields_teach_nothing(answer: Given) -> None:
    """What an error merely talks about is not refused."""
    with pytest.raises(SendError):
        play(lambda _: answer, ask_twice)


@pytest.mark.parametrize(
    "body",
    [
        '{"detail": [{"type": "extra_forbidden", "loc": ["body", "temperature"], "msg": "not permitted"}]}',
        '{"object": "error", "message": {"detail": [{"loc": ["body", "temperature"], "type": "extra_forbidden"}]}}',
        '[{"error": {"code": 400, "details": [{"fieldViolations": [{"field": "temperature"}]}]}}]',
    ],
)
def test_the_field_is_found_in_every_form_in_which_servers_name_it(body: str) -> None:
    """pydantic's list, the same wrapped, and field violations."""

    def react(request: ModelRequest) -> Given:
        return fault.raw(body, status=422) if "temperature" in request.body else text("fine")

    _, bodies = play(react, ask_twice)

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
