"""Calls of one run on its database take turns, so that each has a transaction of its own."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.environment.turns import Turns
from tests.environment.support import environment, shop
from tests.tables import each

TOOLS = """
import asyncio, threading

shared = {"begun": threading.Event(), "gate": threading.Event(), "open": asyncio.Event()}
shared["both"] = threading.Barrier(2)

def share() -> dict:
    return shared

def made_of(state) -> dict:
    return {"state": state}

def look(context) -> str:
    shared["both"].wait(0.2)
    return "seen"

def mark(state, order_id: str, status: str) -> str:
    state.execute("UPDATE orders SET status = ? WHERE id = ?", (status, order_id))
    return "marked"

def refuse(state, order_id: str) -> str:
    mark(state, order_id, "refused")
    shared["begun"].set()
    shared["gate"].wait(60)
    raise ValueError("no")

async def mark_later(state, order_id: str, status: str, waits: bool = False) -> str:
    mark(state, order_id, status)
    await (shared["open"].wait() if waits else asyncio.sleep(0))
    return "marked"

async def refuse_later(state, order_id: str) -> str:
    mark(state, order_id, "refused")
    await shared["open"].wait()
    raise ValueError("no")

def through(state, status: str) -> str:
    shared["mark"](order_id="W1", status=status)
    return asyncio.run(asyncio.to_thread(shared["mark"], order_id="W2", status=status))

async def through_later(state, status: str) -> str:
    await asyncio.gather(*(shared["mark_later"](order_id=order_id, status=status) for order_id in ("W1", "W2")))
    return await asyncio.to_thread(shared["mark"], order_id="W1", status=status)
"""


def agents_tools(env: Any) -> tuple[dict[str, Any], dict[str, Any], list[tuple[str, bool | None]]]:
    """Give the agent's tools by name, what they share, and what is told of their calls."""
    seen: list[tuple[str, bool | None]] = []
    tools = {tool.__name__: tool for tool in env.wrapped_tools(lambda made, done: seen.append((made.name, done.wrote)))}
    shared = tools["share"]()
    shared |= {name: tool for name, tool in tools.items() if name != "share"}
    seen.clear()
    return tools, shared, seen


async def statuses(env: Any) -> list[str]:
    """Give the status of both orders."""
    state = await env.snapshot()
    return [row["status"] for row in state["orders"].values()]


async def test_a_refused_call_takes_back_its_own_changes_alone_in_threads(tmp_path: Path) -> None:
    """A sibling that is called meanwhile waits, and what it changes stays."""
    async with environment(shop(tmp_path, TOOLS)) as env:
        tools, shared, seen = agents_tools(env)
        refused = asyncio.ensure_future(asyncio.to_thread(tools["refuse"], order_id="W1"))
        await asyncio.to_thread(shared["begun"].wait)
        marked = threading.Thread(target=tools["mark"], kwargs={"order_id": "W2", "status": "sent"})
        marked.start()
        await asyncio.to_thread(marked.join, 0.05)
        assert marked.is_alive()
        shared["gate"].set()
        with pytest.raises(ValueError, match="no"):
            await refused
        await asyncio.to_thread(marked.join)

        assert await statuses(env) == ["pending", "sent"]
    assert seen == [("refuse", None), ("mark", True)]


@each("abandoned", [False, True])
async def test_async_calls_take_turns_too_and_one_that_is_abandoned_gives_its_turn_up(
    tmp_path: Path, abandoned: bool
) -> None:
    """An agent that stops waiting for a call can make the next one."""
    async with environment(shop(tmp_path, TOOLS)) as env:
        tools, shared, seen = agents_tools(env)
        refused = asyncio.ensure_future(tools["refuse_later"](order_id="W1"))
        marked = asyncio.ensure_future(tools["mark_later"](order_id="W2", status="sent"))
        for _ in range(9):
            await asyncio.sleep(0)
        assert not marked.done()
        if abandoned:
            refused.cancel()
        shared["open"].set()
        await asyncio.gather(refused, return_exceptions=True)
        await marked

        assert await statuses(env) == ["pending", "sent"]
    assert seen[-1] == ("mark_later", True)


async def test_async_calls_that_take_turns_are_told_apart(tmp_path: Path) -> None:
    """Each is known to have written, though both were asked for at once."""
    async with environment(shop(tmp_path, TOOLS)) as env:
        tools, shared, seen = agents_tools(env)
        made = [tools["mark_later"](order_id=order_id, status="sent", waits=True) for order_id in ("W1", "W2")]
        both = asyncio.gather(*made)
        for _ in range(9):
            await asyncio.sleep(0)
        shared["open"].set()
        await both

    assert seen == [("mark_later", True)] * 2


@each("tool", ["through", "through_later"])
async def test_what_a_call_calls_itself_is_a_part_of_its_turn(tmp_path: Path, tool: str) -> None:
    """Also in threads that get its context."""
    async with environment(shop(tmp_path, TOOLS)) as env:
        tools, _, _ = agents_tools(env)
        made = tools[tool]
        await (made(status="sent") if tool == "through_later" else asyncio.to_thread(made, status="sent"))

        assert await statuses(env) == ["sent", "sent"]


@each("context", [{"shop": "north"}, {"make": "tools:made_of"}])
async def test_calls_that_only_take_a_context_meet_unless_it_was_made_of_the_state(
    tmp_path: Path, context: dict[str, str]
) -> None:
    """Two calls at once wait for each other; calls in turn never would."""
    async with environment(shop(tmp_path, TOOLS), context=context) as env:
        tools, _, _ = agents_tools(env)
        found = await asyncio.gather(*(asyncio.to_thread(tools["look"]) for _ in "ab"), return_exceptions=True)

    assert (found == ["seen"] * 2) == ("make" not in context)


async def test_who_waits_when_the_run_ends_is_refused(tmp_path: Path) -> None:
    """A call that hangs keeps no thread of the agent waiting after the run."""
    async with environment(shop(tmp_path, TOOLS)) as env:
        tools, shared, _ = agents_tools(env)
        hangs = asyncio.ensure_future(asyncio.to_thread(tools["refuse"], order_id="W1"))
        await asyncio.to_thread(shared["begun"].wait)
        waits = asyncio.ensure_future(asyncio.to_thread(tools["mark"], order_id="W2", status="sent"))
        waits_too = asyncio.ensure_future(tools["mark_later"](order_id="W2", status="sent"))
        for _ in range(9):
            await asyncio.sleep(0)
        env.calls.seal()
        for one in (waits, waits_too):
            with pytest.raises(EnvironmentFaultError, match="the run is over"):
                await one
        shared["gate"].set()
        await asyncio.gather(hangs, return_exceptions=True)


async def test_nobody_waits_for_ever_for_a_call_that_hangs() -> None:
    """The turn passes on; the one that had it has nothing to give back then."""
    turns = Turns(patience=0.01)
    hung = turns.take()
    second = await turns.wait()
    turns.give_back(hung)
    assert not turns.is_free_for(hung)
    third = await asyncio.to_thread(turns.take)
    assert turns.is_free_for(third)
    assert turns.take() is None  # in the thread of a loop, which who has the turn may need
    turns.give_back(second)
    turns.give_back(third)
    assert turns.take() is not None
