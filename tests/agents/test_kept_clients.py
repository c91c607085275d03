"""Agents that keep one client for all runs: it lives on the loop of the session, or is shared by the runs' threads."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.agents.factory import build_agent
from pytest_agentbench.core.conversation import Turn
from pytest_agentbench.core.suite import AgentSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.runs.loop_thread import LoopThread
from pytest_agentbench.runs.run_thread import RunnerInThread
from pytest_agentbench.testing import ModelRequest, ModelServer, text

pytest.importorskip("openai")

RUNS = 64
ROUNDS = 2

ASYNC = """
from openai import AsyncOpenAI

client = AsyncOpenAI(base_url="{url}", api_key="none", max_retries=0)


async def reply(messages):
    completion = await client.chat.completions.create(model="m", messages=messages)
    return completion.choices[0].message


async def close():
    await client.close()
"""

SYNC = """
from openai import OpenAI

client = OpenAI(base_url="{url}", api_key="none", max_retries=0)


def reply(messages):
    return client.chat.completions.create(model="m", messages=messages)


async def close():
    client.close()
"""


class Gathering:
    """A model that answers only once all runs wait for it, so that none of them holds up another."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._waiting = 0
        self._all = asyncio.Event()

    async def __call__(self, request: ModelRequest) -> Any:
        """Wait for the others, then repeat what the request says."""
        self._waiting += 1
        if self._waiting == self._expected:
            self._all.set()
        await self._all.wait()
        said = [message["content"] for message in request.messages if message["role"] == "user"]
        return text(f"You told me: {' | '.join(said)}")


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    """Give the loop of a session, in its own thread as always."""
    thread = LoopThread()
    yield thread
    thread.stop()


@pytest.mark.parametrize("source", [ASYNC, SYNC], ids=["AsyncOpenAI", "OpenAI"])
def test_one_client_serves_many_runs_at_once_and_one_after_the_other(
    source: str, loop: LoopThread, tmp_path: Path
) -> None:
    """64 runs wait for the model at the same time, three times over; no blocking agent freezes another, none leaks."""
    module = f"kept_{tmp_path.name}"
    spec = AgentSpec(kind="callable", target=f"{module}:reply")

    async def converse(name: str, threads: ExitStack) -> list[str]:
        run_sync = RunnerInThread(name)
        threads.callback(run_sync.close)
        agent = await build_agent(spec, root=tmp_path, keywords={}, offered={}, run_sync=run_sync)
        messages: list[Message] = []
        for line in (f"I am {name}", "Who am I?"):
            messages.append(Message(role="user", content=line))
            reply = await agent.reply(Turn(message=line, messages=tuple(messages)))
            messages.extend(reply.messages)
        return [message.text for message in messages if message.role == "assistant"]

    async def all_of(batch: int) -> list[list[str]]:
        with ExitStack() as threads:
            return await asyncio.gather(*(converse(f"{batch}.{number}", threads) for number in range(RUNS)))

    with ModelServer() as server:
        (tmp_path / f"{module}.py").write_text(source.format(url=server.base_url))
        for batch in range(ROUNDS):
            server.play(Gathering(RUNS))
            said = loop.submit(all_of(batch)).result(timeout=60)
            assert said == [
                [f"You told me: I am {batch}.{n}", f"You told me: I am {batch}.{n} | Who am I?"] for n in range(RUNS)
            ]
        loop.submit(sys.modules.pop(module).close()).result(timeout=10)

        assert server.peak_in_flight == RUNS
        assert len(server.requests) == ROUNDS * RUNS * 2
    assert threading.active_count() < RUNS
