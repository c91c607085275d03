"""The register of an agent: phrases by which a user who says them has taken over from it."""

from pytest_agentbench.users.agent_register import agent_phrases, often_agents


def speaks_as_agent(text: str, *, has_tools: bool = False, loose: bool = False) -> bool:
    """Tell whether `text` offers help, tells of work for a customer or asks for its data, in English or French.

    A user with tools of its own looks things up for the agent, too. With `loose`, what a customer without tools may say
    once counts.
    """
    return bool(agent_phrases(text, has_tools=has_tools)) or (loose and not has_tools and often_agents(text))
