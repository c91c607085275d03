"""Regression tests for tool-using conversational agents, as ordinary pytest items.

The names below are what user code may import; they load on first use, since pytest imports this package at start-up.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_agentbench.core.acts import Act
    from pytest_agentbench.core.conversation import Reply, Stop, Turn, UserTurn, View
    from pytest_agentbench.core.errors import AgentBenchError
    from pytest_agentbench.core.run import Result, Run
    from pytest_agentbench.core.seams import Agent, Check, Environment, StateProvider, User
    from pytest_agentbench.core.tool import ToolCall, ToolResult, ToolSpec
    from pytest_agentbench.core.transcript import Message, Transcript
    from pytest_agentbench.core.verdict import Blame, Finding, Verdict
    from pytest_agentbench.environment.decorator import tool
    from pytest_agentbench.plugin.code_first import AgentBench
    from pytest_agentbench.plugin.simulation import Simulation

_HOMES = {
    "core.acts": ("Act",),
    "core.conversation": ("Reply", "Stop", "Turn", "UserTurn", "View"),
    "core.errors": ("AgentBenchError",),
    "core.run": ("Result", "Run"),
    "core.seams": ("Agent", "Check", "Environment", "StateProvider", "User"),
    "core.tool": ("ToolCall", "ToolResult", "ToolSpec"),
    "core.transcript": ("Message", "Transcript"),
    "core.verdict": ("Blame", "Finding", "Verdict"),
    "environment.decorator": ("tool",),
    "plugin.code_first": ("AgentBench",),
    "plugin.simulation": ("Simulation",),
}

__all__ = [
    "Act",
    "Agent",
    "AgentBench",
    "AgentBenchError",
    "Blame",
    "Check",
    "Environment",
    "Finding",
    "Message",
    "Reply",
    "Result",
    "Run",
    "Simulation",
    "StateProvider",
    "Stop",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Transcript",
    "Turn",
    "User",
    "UserTurn",
    "Verdict",
    "View",
    "tool",
]


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return list(__all__)
