"""The register of an agent: phrases by which a user who says them has taken over from it."""

from pytest_agentbench.users.agent_register import ASKING, CHECKING, HELPING, SERVING, compiled

_SERVING = compiled((*HELPING, *SERVING, *ASKING))
_LOOKING_UP = compiled(CHECKING)
_READ = 4_000


def speaks_as_agent(text: str, *, has_tools: bool = False) -> bool:
    """Tell whether `text` offers help, tells of work for a customer or asks for its data, in English or French.

    A user with tools of its own looks things up for the agent, too.
    """
    read = text[:_READ]
    return bool(_SERVING.search(read) or (not has_tools and _LOOKING_UP.search(read)))
