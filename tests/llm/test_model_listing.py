"""A model that a server does not know is answered with those that it has."""

import asyncio
from typing import Any

import pytest

from pytest_agentbench.core.errors import SendError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.llm.http_errors import listed
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.testing import ModelServer, fault, text
from pytest_agentbench.testing.script import Script
from tests.tables import each

HELLO = [{"role": "user", "content": "hello"}]


def refusals(script: Script, model: str, transport: Any, times: int = 2) -> tuple[list[str], ModelServer]:
    """Ask for a model; give what each call came to."""

    async def scene(base_url: str) -> list[str]:
        models = Models(environ={})
        chat = models.chat(ModelSpec(model=model, base_url=base_url, transport=transport), Caller(role="user"))
        told = []
        try:
            for _ in range(times):
                with pytest.raises(SendError) as raised:
                    await chat.complete(HELLO)
                told.append(str(raised.value))
        finally:
            await models.close()
        return told

    with ModelServer(script) as server:
        return asyncio.run(scene(server.base_url)), server


@each("transport", ["direct", "openai"])
def test_the_models_of_the_server_are_named_nearest_first(transport: Any) -> None:
    """A misspelt name is seen at once, whoever posts."""
    script = {"large-1": [text("hi")], "small-1": [text("hi")], "other": [text("hi")]}

    told, _ = refusals(script, "smal-1", transport)

    assert all(one.count("(the server lists the models 'small-1', 'large-1', 'other')") == 1 for one in told)


def test_one_model_is_named_as_one() -> None:
    """A server of one model, as most local ones are, lists the model."""
    told, _ = refusals({"small-1": [text("hi")]}, "smal-1", "direct", times=1)

    assert told[0].endswith("(the server lists the model 'small-1')")


@each("transport", ["direct", "openai"])
def test_an_address_that_is_wrong_has_no_models_to_name(transport: Any) -> None:
    """Where nothing is listed, or the model is among what is, the error stays as it was."""
    told, _ = refusals(lambda _: fault.status(404, "no such path"), "scripted", transport, times=1)

    assert told[0].startswith("user, model 'scripted': ")
    assert told[0].endswith("answered 404 Not Found: 'no such path'")


@each(
    ("content", "names"),
    [
        (b'{"data": [{"id": "a"}, {"id": "b"}, {"id": "a"}]}', ("a", "b")),
        (b'{"models": [{"name": "a"}]}', ("a",)),
        (b'[{"id": "a"}]', ("a",)),
        (b'{"data": [{"id": 7}, "b", null, {"id": "\\u001b[31mred"}]}', ("red",)),
        (b'{"data": [{"id": "of sk-planted-key"}]}', ("of [hidden]",)),
        (b'{"data": "a"}', ()),
        (b"<html>", ()),
        (b"7", ()),
        (b'{"data": [' + b"[" * 100_000, ()),
    ],
)
def test_whatever_a_server_lists_is_read_or_left_out(content: bytes, names: tuple[str, ...]) -> None:
    """Several forms, secrets, control characters, and what is no list at all."""
    assert listed(content, ("sk-planted-key",)) == names
    assert all(len(name) <= 80 for name in listed(b'{"data": [{"id": "%s"}]}' % (b"x" * 500), ()))
