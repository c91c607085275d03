"""A refusal says what to do about it, and costs no more requests than it can teach."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from pytest_agentbench.core.errors import SendError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.llm.structured import structured
from pytest_agentbench.testing import ModelRequest, fault, text
from pytest_agentbench.testing.script import Given
from tests.llm.test_capabilities import HELLO, OVERFLOW, ask, play
from tests.tables import each

TOO_LONG = "too long for the context of the model: shorten the scenario, or name one with a longer context"


class Mark(BaseModel):
    """A number."""

    points: int


async def mark(models: Models, spec: ModelSpec) -> Mark:
    """Ask as a judge does."""
    return await structured(models.chat(spec, Caller(role="judge")), Mark, HELLO, temperature=0.0)


@each("status", [401, 403])
@each(
    ("keys", "told"),
    [
        ({"api_key": "planted-key"}, "the key was that of `api_key`; set `api_key`, `headers` or `base_url`"),
        ({}, "the key was that of OPENAI_API_KEY in the environment, if it is set; set `api_key`"),
    ],
)
def test_a_denial_says_where_the_key_came_from(status: int, keys: dict[str, Any], told: str) -> None:
    """Never which it is."""
    with pytest.raises(SendError) as raised:
        play(lambda _: fault.status(status, "no entry for planted-key"), ask, **keys)

    assert told in str(raised.value)
    assert "planted-key" not in str(raised.value) or not keys


@each("refused", [fault.refused("messages", code=OVERFLOW), fault.refused("input_tokens")])
def test_what_is_too_long_says_what_to_do(refused: Given) -> None:
    """No other form of the answer makes the conversation shorter."""
    asked: list[ModelRequest] = []

    def react(request: ModelRequest) -> Given:
        asked.append(request)
        return refused

    with pytest.raises(SendError) as raised:
        play(react, mark)

    assert TOO_LONG in str(raised.value)
    assert {request.body["response_format"]["type"] for request in asked} == {"json_schema"}


def test_of_requests_that_are_too_long_one_is_sent_twice() -> None:
    """Twenty at once wait for the first trial without our bound; a much shorter request may still have another."""

    def react(request: ModelRequest) -> Given:
        return fault.refused("messages", code=OVERFLOW) if "long" in request.last else text("fine")

    async def crowd(models: Models, spec: ModelSpec) -> list[object]:
        chats = [models.chat(spec, Caller(role="user")) for _ in range(20)]
        said = [{"role": "user", "content": "long " * 1_000}]
        found = await asyncio.gather(*(chat.complete(said) for chat in chats), return_exceptions=True)
        found += await asyncio.gather(chats[0].complete([{"role": "user", "content": "long"}]), return_exceptions=True)
        return [*found, await chats[0].complete(HELLO)]

    found, bodies = play(react, crowd)

    assert [TOO_LONG in str(one) for one in found] == [True] * 21 + [False]
    assert sum("max_tokens" not in body for body in bodies) == 2


def test_a_value_of_the_suite_that_is_named_is_named_back() -> None:
    """Also where the server goes on to name it by its old name."""
    refused = fault.refused("max_tokens", code="400")

    with pytest.raises(SendError, match="the suite sets `max_tokens` for this model: set another value"):
        play(lambda _: refused, ask, max_tokens=100_000)


@each("form", ["json_schema", "tool", "json"])
def test_a_form_of_the_suite_that_is_refused_is_named(form: str) -> None:
    """Without a field that is named, our temperature is suspected once, and not for every question."""

    async def crowd(models: Models, spec: ModelSpec) -> list[object]:
        return list(await asyncio.gather(*(mark(models, spec) for _ in range(6)), return_exceptions=True))

    def react(request: ModelRequest) -> Given:
        return fault.status(400) if {"response_format", "tools"} & {*request.body} else text('{"points": 1}')

    found, bodies = play(react, crowd, structured=form)

    assert all(f"the suite sets `structured: {form}` for this model" in str(one) for one in found)
    assert sum("temperature" not in body for body in bodies) == 1
