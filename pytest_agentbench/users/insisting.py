"""An agent that asks for the same yes again and again, although it has that and all that its calls take."""

from collections.abc import Sequence

from pytest_agentbench.core.conversation import Stop, UserTurn, View
from pytest_agentbench.core.ids import clipped
from pytest_agentbench.core.spoken import states
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.suites.language import Language
from pytest_agentbench.users.values import Heard

TIMES = 3
"""How often an agent asks the same until the run is stalled by it."""


class Insisting:
    """Counts how often a question is asked that can be for nothing but the yes that the user gave.

    It asks for nothing else where it states no value and names nothing that a call could take or that has a name in the
    user's language, where every value that is wanted was said, and where no call was tried since: whatever the answer
    was, the agent lacks nothing. `askable` are the names of what calls take; None where wanted calls leave some open.
    """

    def __init__(self, askable: Sequence[str] | None, language: Language) -> None:
        self._askable = askable
        self._language = language
        self._times = 1
        self._tried = 0  # calls

    def times(self, last: UserTurn, view: View, heard: Heard, wanted: Sequence[object], names: Sequence[str]) -> int:
        """Take notice of a question that is the one before again; 0 where it may be for something else.

        `last` is what the user answered before, `wanted` are the values that are left to be done, `names` those of what
        the user knows.
        """
        is_same = self._lacks_nothing(last, view, heard, wanted, names)
        before = self._times if self._tried == view.tried else 1
        self._times, self._tried = before + 1 if is_same else 1, view.tried
        return self._times if is_same else 0

    @staticmethod
    def stalled() -> Stop:
        """Say that the agent goes on with nothing."""
        reason = f"the agent asked the same {TIMES} times, had its yes and every value, and made no call"
        return Stop(reason=reason, blame=Blame.AGENT, termination=Termination.STALLED)

    def _lacks_nothing(
        self, last: UserTurn, view: View, heard: Heard, wanted: Sequence[object], names: Sequence[str]
    ) -> bool:
        if self._askable is None or view.calls is None or not wanted:
            return False
        if {act.kind for act in last.acts or ()} != {"confirm"} or heard.stated or heard.contradicted:
            return False
        named = (*self._askable, *self._language.labels, *names, *view.unknown)
        if any(map(str.isdigit, heard.text)) or self._language.names(named, heard.text, loosely=True):
            return False
        said = [clipped(message.text) for message in view.messages]
        return all(any(states(one, text, self._language.locale) for text in said) for one in wanted)
