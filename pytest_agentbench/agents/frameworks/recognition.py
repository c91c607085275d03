"""Which framework made an object, told by the modules of its type's bases; no framework is imported for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from pytest_agentbench.agents.frameworks.agent import FrameworkAgent
from pytest_agentbench.agents.frameworks.google_adk import AdkSession
from pytest_agentbench.agents.frameworks.langgraph import LangGraphSession
from pytest_agentbench.agents.frameworks.openai_agents import OpenAIAgentsSession
from pytest_agentbench.agents.frameworks.pydantic_ai import PydanticAISession
from pytest_agentbench.agents.frameworks.session import Session
from pytest_agentbench.agents.frameworks.smolagents import SmolagentsSession
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.environment.runner import Runner

_Open = Callable[[Any, str, Any], Session]

_FRAMEWORKS: dict[tuple[str, str], tuple[str, _Open]] = {
    ("langgraph", "Pregel"): ("LangGraph", LangGraphSession),
    ("pydantic_ai", "AbstractAgent"): ("pydantic-ai", PydanticAISession),
    ("agents.agent", "Agent"): ("OpenAI Agents SDK", OpenAIAgentsSession),
    ("smolagents", "MultiStepAgent"): ("smolagents", SmolagentsSession),
    ("google.adk", "BaseAgent"): ("Google ADK", AdkSession),
    ("google.adk", "App"): ("Google ADK", AdkSession),
}
"""The module in which a base class lies, or its package, and the name of the class."""

_UNFINISHED = {("langgraph", "StateGraph"): "a LangGraph StateGraph that is not compiled; name `builder.compile()`"}


def framework_of(made: object) -> str | None:
    """Name the framework whose agent `made` is, or None; an object with a `reply` of its own is nobody's.

    Raise `SuiteFaultError` for what a framework makes an agent of, and is none yet.
    """
    known = _known(made)
    return known[0] if known else None


def framework_agent(
    made: object,
    *,
    session_id: str,
    context: Any = None,
    takes_tools: bool = False,
    run_sync: Runner,
    root: Path | None = None,
) -> FrameworkAgent | None:
    """Give the agent of one run for what a framework made, None where it is no framework's.

    Raise `SuiteFaultError` where the object cannot hold a conversation, or needs what `context` does not give.
    """
    known = _known(made)
    if known is None:
        return None
    name, opened = known
    session = opened(made, session_id or uuid4().hex, context)
    return FrameworkAgent(
        session, framework=name, context=context, takes_tools=takes_tools, run_sync=run_sync, root=root
    )


def is_of_framework(made: object) -> bool:
    """Whether a framework made the object; raise `SuiteFaultError` where it cannot hold a conversation."""
    return _known(made) is not None


def _known(made: object) -> tuple[str, _Open] | None:
    bases = [(base.__module__ or "", base.__name__) for base in type(made).__mro__]
    if callable(getattr(type(made), "reply", None)):
        return None
    for (module, name), problem in _UNFINISHED.items():
        if _is_one(bases, module, name):
            raise SuiteFaultError(f"the agent is {problem}")
    return next((opened for (module, name), opened in _FRAMEWORKS.items() if _is_one(bases, module, name)), None)


def _is_one(bases: list[tuple[str, str]], module: str, name: str) -> bool:
    return any(base == name and (where == module or where.startswith(f"{module}.")) for where, base in bases)
