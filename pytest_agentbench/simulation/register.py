"""The register of an agent: phrases by which a user who says them has taken over from it."""

from pytest_agentbench.users.agent_register import ASKING, CHECKING, HELPING, SERVING, compiled

_WITH_TOOLS = compiled((*HELPING, *SERVING, *ASKING))
_WITHOUT_TOOLS = compiled((*HELPING, *SERVING, *ASKING, *CHECKING))
_READ = 4_000


def speaks_as_agent(text: str, *, has_tools: bool = False) -> bool:
    """Tell whether `text` offers help, tells of work for a customer or asks for its data, in English or French.

    A user with tools of its own looks things up for the agent, too.
    """
    return bool((_WITH_TOOLS if has_tools else _WITHOUT_TOOLS).search(text[:_READ]))
