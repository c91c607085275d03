"""Everything at once: the first message gives nearly all that the user knows before the agent asked for any of it."""

import re
from math import ceil

from pytest_agentbench.core.conversation import View
from pytest_agentbench.users.asked import asked
from pytest_agentbench.users.known_info import knowledge_of
from pytest_agentbench.users.llm.draft import Draft
from pytest_agentbench.users.llm.guards.heard import last_agent_text, user_texts

_LEAST = 3
"""Values that must have been given: a name and a postcode in the first message are how some people open."""

_SHARE = 0.8
"""Share of the known values that is nearly all of them."""

_NAME = {"name", "first_name", "last_name"}


def at_once(view: View, draft: Draft) -> str | None:
    """Find a first message with at least three known values that are four fifths of all known ones.

    What the goal or the first line states, and what the agent asked for, is not counted.
    """
    if user_texts(view):
        return None
    known = knowledge_of(view)
    wanted = asked(last_agent_text(view), known.free)
    stated = " ".join([view.goal, *view.says[:1]]).lower()
    values = {
        value.lower()
        for kind, several in known.told.items()
        if kind not in wanted.kinds and not (_NAME & set(wanted.kinds) and kind in _NAME)
        for value in several
        if value and value.lower() not in stated
    }
    given = [value for value in values if _holds(draft.text.lower(), value)]
    if len(given) < max(_LEAST, ceil(_SHARE * len(values))):
        return None
    listed = ", ".join(repr(value) for value in sorted(given))
    return f"your first message gives all that you know ({listed}); say what you want, and give values when asked"


def _holds(text: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
