"""Register: the reply speaks as the agent does, who helps, looks up, processes and asks for the customer's data."""

from pytest_agentbench.core.conversation import View
from pytest_agentbench.users.agent_register import ASKING, CHECKING, HELPING, SERVING, compiled
from pytest_agentbench.users.llm.draft import Draft

_WORK = "{found!r} is what the agent says about its work; you are its customer"
_REASONS = (
    (HELPING, "{found!r} offers help, as only the agent does; you are the one who wants something"),
    (SERVING, _WORK),
    (ASKING, "{found!r} asks for a customer's data, as only the agent does; you are the customer"),
)


_PATTERNS = tuple((compiled(phrases), reason) for phrases, reason in _REASONS)
_WITHOUT_TOOLS = (*_PATTERNS, (compiled(CHECKING), _WORK))
_READ = 4_000


def register(view: View, draft: Draft) -> str | None:
    """Find a phrase of the agent's role, in English or French, that is not a line of the scenario's own."""
    lines = " ".join(view.says).lower()
    for pattern, reason in _PATTERNS if view.tools else _WITHOUT_TOOLS:
        for match in pattern.finditer(draft.text[:_READ]):
            if match[0].lower() not in lines:
                return reason.format(found=match[0])
    return None
