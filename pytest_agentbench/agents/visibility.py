"""Whether the tool calls of an agent can be seen."""

from pytest_agentbench.agents.signature import UserFunction, declares


def declares_tools(function: UserFunction) -> bool:
    """Whether a factory or reply function takes the environment's tools, so has a parameter named `tools`."""
    return declares(function, "tools")


def calls_visible(*, takes_tools: bool, saw_calls: bool) -> bool:
    """Whether an agent's calls can be seen: it works with the environment's tools, or returned its calls.

    An agent that only ever gave text and takes no tools may have called anything; what it did is not known.
    """
    return takes_tools or saw_calls
