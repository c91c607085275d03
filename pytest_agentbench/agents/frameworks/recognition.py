"""Which framework made an object, told by the modules of its type's bases; no framework is imported for it."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.protocols import RunSync

if TYPE_CHECKING:
    from pytest_agentbench.agents.frameworks.agent import FrameworkAgent


class _Framework(NamedTuple):
    """A framework by its name, and the module of this folder and the class that open a session of its agents."""

    name: str
    module: str
    session: str


_FRAMEWORKS = {
    ("langgraph", "Pregel"): _Framework("LangGraph", "langgraph", "LangGraphSession"),
    ("pydantic_ai", "AbstractAgent"): _Framework("pydantic-ai", "pydantic_ai", "PydanticAISession"),
    ("agents.agent", "Agent"): _Framework("OpenAI Agents SDK", "openai_agents", "OpenAIAgentsSession"),
    ("smolagents", "MultiStepAgent"): _Framework("smolagents", "smolagents", "SmolagentsSession"),
    ("google.adk", "BaseAgent"): _Framework("Google ADK", "google_adk", "AdkSession"),
    ("google.adk", "App"): _Framework("Google ADK", "google_adk", "AdkSession"),
}
"""The module in which a base class lies, or its package, and the name of the class; ours is loaded once it is met."""

_UNFINISHED = {("langgraph", "StateGraph"): "a LangGraph StateGraph that is not compiled; name `builder.compile()`"}


def framework_of(made: object) -> str | None:
    """Name the framework whose agent `made` is, or None; an object with a `reply` of its own is nobody's.

    Raise `SuiteFaultError` for what a framework makes an agent of, and is none yet.
    """
    known = _known(made)
    return known.name if known else None


def framework_agent(
    made: object,
    *,
    session_id: str,
    context: Any = None,
    takes_tools: bool = False,
    run_sync: RunSync,
    root: Path | None = None,
) -> "FrameworkAgent | None":
    """Give the agent of one run for what a framework made, None where it is no framework's.

    Raise `SuiteFaultError` where the object cannot hold a conversation, or needs what `context` does not give.
    """
    known = _known(made)
    if known is None:
        return None
    session = getattr(_loaded(known.module), known.session)(made, session_id or uuid4().hex, context)
    agent: FrameworkAgent = _loaded("agent").FrameworkAgent(
        session, framework=known.name, context=context, takes_tools=takes_tools, run_sync=run_sync, root=root
    )
    return agent


def _loaded(module: str) -> Any:
    return import_module(f"{__package__}.{module}")


def is_of_framework(made: object) -> bool:
    """Whether a framework made the object; raise `SuiteFaultError` where it cannot hold a conversation."""
    return _known(made) is not None


def _known(made: object) -> _Framework | None:
    bases = [(base.__module__ or "", base.__name__) for base in type(made).__mro__]
    if callable(getattr(type(made), "reply", None)):
        return None
    for (module, name), problem in _UNFINISHED.items():
        if _is_one(bases, module, name):
            raise SuiteFaultError(f"the agent is {problem}")
    return next((opened for (module, name), opened in _FRAMEWORKS.items() if _is_one(bases, module, name)), None)


def _is_one(bases: list[tuple[str, str]], module: str, name: str) -> bool:
    return any(base == name and (where == module or where.startswith(f"{module}.")) for where, base in bases)
