"""The guard rails: one rule per file, each gives the reason why a reply is none of this user's."""

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.users.llm.draft import Draft
from pytest_agentbench.users.llm.guards.at_once import at_once
from pytest_agentbench.users.llm.guards.early_stop import early_stop
from pytest_agentbench.users.llm.guards.echo import echo
from pytest_agentbench.users.llm.guards.invention import invention
from pytest_agentbench.users.llm.guards.leak import leak
from pytest_agentbench.users.llm.guards.register import register
from pytest_agentbench.users.llm.guards.rule import Alarm, Rule

_REASON = 400
"""Characters of a reason, which may quote what the agent said."""

RULES: dict[str, Rule] = {
    "leak": leak,
    "register": register,
    "invention": invention,
    "early_stop": early_stop,
    "echo": echo,
    "at_once": at_once,
}
"""Every guard rail by its name, the gravest first."""


def alarms(view: View, draft: Draft) -> tuple[Alarm, ...]:
    """Give what the guard rails find in `draft` as the next reply of the user that `view` describes."""
    found = ((name, rule(view, draft)) for name, rule in RULES.items())
    return tuple(
        Alarm(rule=name, reason=shorten(printable(reason), _REASON)) for name, reason in found if reason is not None
    )


__all__ = ["RULES", "Alarm", "Rule", "alarms"]
