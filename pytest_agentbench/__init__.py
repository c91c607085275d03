"""Regression tests for tool-using conversational agents, as ordinary pytest items.

The names below are what user code may import; they load on first use, since pytest imports this package at start-up.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_agentbench.api.facts import CriterionFacts, Fact, PolicyFacts
    from pytest_agentbench.api.run import SuiteRun, load_suite, run_suite, run_suite_async, simulate, simulate_async
    from pytest_agentbench.api.simulation import Simulation
    from pytest_agentbench.core.acts import Act
    from pytest_agentbench.core.conversation import Reply, Stop, Turn, UserTurn, View
    from pytest_agentbench.core.errors import AgentBenchError, FormError, NotMeasuredError, NotRunError, SuiteError
    from pytest_agentbench.core.extensions import EnvironmentOffer
    from pytest_agentbench.core.file_models import Written
    from pytest_agentbench.core.misfit import Misfit
    from pytest_agentbench.core.model import Price, Usage
    from pytest_agentbench.core.policy import Policy
    from pytest_agentbench.core.protocols import Agent, Check, Environment, OfferedEnvironment, StateProvider, User
    from pytest_agentbench.core.rubric import Criterion, Rubric
    from pytest_agentbench.core.run import PolicyOutcome, Result, Run, RunKey
    from pytest_agentbench.core.scenario import ExpectedCall, Scenario
    from pytest_agentbench.core.state import State
    from pytest_agentbench.core.suite import Suite
    from pytest_agentbench.core.termination import Termination
    from pytest_agentbench.core.tool import ToolCall, ToolResult, Toolset, ToolSpec
    from pytest_agentbench.core.transcript import CallRecord, Message, Transcript
    from pytest_agentbench.core.verdict import Blame, CallExplanation, Finding, Flag, NotMeasured, Verdict
    from pytest_agentbench.environment.decorator import tool
    from pytest_agentbench.plugin.code_first import AgentBench
    from pytest_agentbench.results.document import Document
    from pytest_agentbench.results.gates import GateVerdict
    from pytest_agentbench.suites.record import MalformedError, Record, RecordingFormat

_HOMES = {
    "api.facts": ("CriterionFacts", "Fact", "PolicyFacts"),
    "api.run": ("SuiteRun", "load_suite", "run_suite", "run_suite_async", "simulate", "simulate_async"),
    "api.simulation": ("Simulation",),
    "core.acts": ("Act",),
    "core.conversation": ("Reply", "Stop", "Turn", "UserTurn", "View"),
    "core.errors": ("AgentBenchError", "FormError", "NotMeasuredError", "NotRunError", "SuiteError"),
    "core.extensions": ("EnvironmentOffer",),
    "core.misfit": ("Misfit",),
    "core.model": ("Price", "Usage"),
    "core.policy": ("Policy",),
    "core.rubric": ("Criterion", "Rubric"),
    "core.run": ("PolicyOutcome", "Result", "Run", "RunKey"),
    "core.scenario": ("ExpectedCall", "Scenario"),
    "core.protocols": ("Agent", "Check", "Environment", "OfferedEnvironment", "StateProvider", "User"),
    "core.state": ("State",),
    "core.suite": ("Suite",),
    "core.termination": ("Termination",),
    "core.tool": ("ToolCall", "ToolResult", "Toolset", "ToolSpec"),
    "core.transcript": ("CallRecord", "Message", "Transcript"),
    "core.verdict": ("Blame", "CallExplanation", "Finding", "Flag", "NotMeasured", "Verdict"),
    "core.file_models": ("Written",),
    "environment.decorator": ("tool",),
    "plugin.code_first": ("AgentBench",),
    "results.document": ("Document",),
    "results.gates": ("GateVerdict",),
    "suites.record": ("MalformedError", "Record", "RecordingFormat"),
}

__all__ = [
    "Act",
    "Agent",
    "AgentBench",
    "AgentBenchError",
    "Blame",
    "CallExplanation",
    "CallRecord",
    "Check",
    "Criterion",
    "CriterionFacts",
    "Document",
    "Environment",
    "EnvironmentOffer",
    "ExpectedCall",
    "Fact",
    "Finding",
    "Flag",
    "FormError",
    "GateVerdict",
    "MalformedError",
    "Message",
    "Misfit",
    "NotMeasured",
    "NotMeasuredError",
    "NotRunError",
    "OfferedEnvironment",
    "Policy",
    "PolicyFacts",
    "PolicyOutcome",
    "Price",
    "Record",
    "RecordingFormat",
    "Reply",
    "Result",
    "Rubric",
    "Run",
    "RunKey",
    "Scenario",
    "Simulation",
    "State",
    "StateProvider",
    "Stop",
    "Suite",
    "SuiteError",
    "SuiteRun",
    "Termination",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Toolset",
    "Transcript",
    "Turn",
    "Usage",
    "User",
    "UserTurn",
    "Verdict",
    "View",
    "Written",
    "load_suite",
    "run_suite",
    "run_suite_async",
    "simulate",
    "simulate_async",
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
