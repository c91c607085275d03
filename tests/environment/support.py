"""What the tests of this floor share: a run's thread, and environments built from files in a folder."""

import asyncio
import contextlib
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pytest_agentbench.core.suite import EnvironmentSpec, StateSpec, ToolsSpec
from pytest_agentbench.core.tool import ToolCall, ToolResult, Toolset
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.local import LocalEnvironment

T = TypeVar("T")

SCHEMA = """
CREATE TABLE users (id TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (
  id TEXT PRIMARY KEY, owner TEXT REFERENCES users(id), status TEXT NOT NULL DEFAULT 'pending', total REAL
);
"""
ROWS = """
users: [{id: U1, name: Ann}, {id: U2, name: Ben}]
orders:
  - {id: W1, owner: U1, status: pending, total: 9.5}
  - {id: W2, owner: U2, status: done, total: 3}
"""
TOOLS = '''
calls = []

def get_order(order_id: str, state) -> dict:
    """Look up an order."""
    calls.append(order_id)
    row = state.execute("SELECT * FROM orders WHERE id = ?", (order_id,)).fetchone()
    if row is None:
        raise ValueError(f"no order {order_id!r}")
    return dict(row)

def cancel_order(order_id: str, state) -> str:
    """Cancel an order."""
    state.execute("UPDATE orders SET status = 'cancelled' WHERE id = ?", (order_id,))
    return "cancelled"

async def rename_user(user_id: str, name: str, *, state) -> None:
    """Rename a user."""
    state.execute("UPDATE users SET name = ? WHERE id = ?", (name, user_id))

def half_done(order_id: str, state) -> str:
    """Change an order, then fail."""
    state.execute("UPDATE orders SET status = 'broken' WHERE id = ?", (order_id,))
    raise RuntimeError("no more")

def count_calls() -> int:
    """Count the look-ups made so far."""
    return len(calls)
'''


async def thread_runner(work: Callable[[], T]) -> T:
    """Execute `work` in a daemon thread of its own, as a run's runner does."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: Exception | None) -> None:
        if not future.done():
            future.set_exception(error) if error else future.set_result(value)

    def body() -> None:
        try:
            value, error = work(), None
        except Exception as raised:  # noqa: BLE001 - handed to the one who awaits
            value, error = None, raised
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=body, daemon=True).start()
    result: T = await future
    return result


def write(root: Path, **files: str) -> Path:
    """Write files (`tools_py="…"` is tools.py) and give the folder."""
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        (root / f"{stem}.{suffix}").write_text(textwrap.dedent(text), encoding="utf-8")
    return root


def shop(root: Path, tools: str = TOOLS) -> tuple[EnvironmentSpec, Path]:
    """Write a small shop on SQLite and give its environment."""
    write(root, tools_py=tools, schema_sql=SCHEMA, rows_yaml=ROWS)
    state = StateSpec(kind="sqlite", options={"schema": "schema.sql", "rows": "rows.yaml"})
    return EnvironmentSpec(tools=(ToolsSpec(kind="python", target="tools"),), state=state), root


def python_only(root: Path, tools: str) -> tuple[EnvironmentSpec, Path]:
    """Write tools without state and give their environment."""
    write(root, tools_py=tools)
    return EnvironmentSpec(tools=(ToolsSpec(kind="python", target="tools"),)), root


def environment(
    suite: tuple[EnvironmentSpec, Path],
    run: str = "run-1",
    *,
    state: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
    gate: IsolationGate | None = None,
    known: Toolset | None = None,
    patience: float | None = None,
) -> LocalEnvironment:
    """Give the environment of a run named `run`."""
    spec, root = suite
    return LocalEnvironment(
        spec,
        root=root,
        scenario_state=state or {},
        context=context or {},
        run_name=run,
        runner=thread_runner,
        gate=gate or IsolationGate(root / "locks"),
        known=known,
        patience=patience,
    )


async def call(env: LocalEnvironment, name: str, /, **arguments: Any) -> ToolResult:
    """Call a tool as the agent."""
    return await env.call(ToolCall(name=name, arguments=arguments))
