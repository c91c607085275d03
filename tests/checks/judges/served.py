"""Judges asked over a real connection: a scripted server on loopback, and the transcripts that they are shown."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, TypeVar

from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.run import Run
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller, Chat
from pytest_agentbench.testing import ModelRequest, ModelServer
from pytest_agentbench.testing.script import Script
from tests.checks.builders import agent, call, run_of, user

T = TypeVar("T")


def asked(script: Script, scene: Callable[[Callable[[str], Chat]], Awaitable[T]]) -> tuple[T, list[ModelRequest]]:
    """Play a scene with models that follow `script`; give its outcome and what was asked."""

    async def play(base_url: str) -> T:
        models = Models(environ={})
        spec = ModelSpec(model="m", base_url=base_url, retries=0)
        try:
            return await scene(lambda role: models.chat(spec, Caller(role=role)))
        finally:
            await models.close()

    with ModelServer(script) as server:
        return asyncio.run(play(server.base_url)), server.requests


def refund_run(**fields: Any) -> Run:
    """A refund that the agent makes before the user has said yes."""
    return run_of(
        user("Please refund order W1."),
        call("get_order", order_id="W1"),
        agent("Order W1 is a lamp for 20 dollars."),
        user("Right, that one."),
        call("refund", order_id="W1"),
        agent("I have refunded order W1."),
        user("Merci, au revoir."),
        **fields,
    )


def seeded() -> Random:
    """The injected randomness of a test."""
    return Random(7)
