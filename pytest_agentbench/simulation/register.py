"""The register of an agent: phrases by which a user who says them has taken over from it."""

from pytest_agentbench.users.agent_register import agent_phrases


def speaks_as_agent(text: str, *, has_tools: bool = False, loose: bool = False) -> bool:
    """Tell whether `text` offers help, tells of work for a customer or asks for its data, in English or French.

    A user with tools of its own looks things up for the agent, too. With `loose`, what a customer may say once counts.
    """
    return next(agent_phrases(text, has_tools=has_tools, loose=loose), None) is not None
