"""Calling a function of the user: async ones on the loop, all others in the run's thread."""

import inspect
import os
from pathlib import Path

from pytest_agentbench.agents.failure import guard, guard_sync
from pytest_agentbench.agents.signature import UserFunction, is_async
from pytest_agentbench.environment.runner import Runner


async def call_user(
    function: UserFunction,
    positional: list[object],
    keywords: dict[str, object],
    *,
    run_sync: Runner,
    root: Path | None = None,
) -> object:
    """Call `function` and give what it returns; raise `AgentError` for whatever it raises.

    An awaitable that a sync function returns is awaited on the loop.
    """
    if is_async(function):
        return await guard(_awaited(function, positional, keywords), root=root)
    made = await guard_sync(lambda: function(*positional, **keywords), run_sync, root=root)
    return await guard(made, root=root) if inspect.isawaitable(made) else made


async def _awaited(function: UserFunction, positional: list[object], keywords: dict[str, object]) -> object:
    process = os.getpid()
    try:
        return await function(*positional, **keywords)
    finally:
        if os.getpid() != process:  # it forked and came back twice: the session goes on in the parent alone
            os._exit(0)
