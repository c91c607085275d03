"""Register: the reply speaks as the agent does, who helps, looks up, processes and asks for the customer's data."""

from pytest_agentbench.core.conversation import View
from pytest_agentbench.users.agent_register import Kind, agent_phrases
from pytest_agentbench.users.llm.draft import Draft

_WORK = "{found!r} is what the agent says about its work; you are its customer"
_REASONS: dict[Kind, str] = {
    "help": "{found!r} offers help, as only the agent does; you are the one who wants something",
    "work": _WORK,
    "data": "{found!r} asks for a customer's data, as only the agent does; you are the customer",
}


def register(view: View, draft: Draft) -> str | None:
    """Find a phrase of the agent's role, in English or French, that is no quotation and no line of the scenario's."""
    lines = " ".join(view.says).lower()
    for kind, found in agent_phrases(draft.text, has_tools=bool(view.tools)):
        if found.lower() not in lines:
            return _REASONS[kind].format(found=found)
    return None
