"""The lines of a scripted user and which of them is said next."""

from collections.abc import Sequence

from pytest_agentbench.core.acts import ActKind, Line
from pytest_agentbench.core.ids import codes_in
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.users.knowledge import Heard, Wants, stated

ANSWERS: frozenset[ActKind | None] = frozenset({"confirm", "decline"})
"""What answers a question for consent."""
REQUESTS: frozenset[ActKind | None] = frozenset({"request", "condition", "withdraw"})
"""What asks for something else, so that a yes is needed anew."""


class Script:
    """The lines of one conversation; each is said once, answers when they are asked for, the others in order."""

    def __init__(self, lines: Sequence[Line] = ()) -> None:
        self.lines = tuple(lines)
        self._left = list(range(len(self.lines)))

    @property
    def left(self) -> tuple[Line, ...]:
        """The lines that were not said yet."""
        return tuple(self.lines[at] for at in self._left)

    def take(self) -> Line:
        """Say the next line."""
        return self.lines[self._left.pop(0)]

    def take_answer(self, heard: Heard, *, alone: bool) -> Line | None:
        """Say the first confirm or decline line that answers the question, or a condition that is next, if any.

        One with `about` may be asked for before lines that come first, unless they are labelled as another request,
        condition or withdrawal. One without belongs to the line before it, so it is said in its turn. `alone`: what
        it is about must stand in the question itself.
        """
        for place, at in enumerate(self._left):
            line = self.lines[at]
            # "Yes, if it is free." is the author's answer, too, in its turn
            is_answer = line.act in ANSWERS or (line.act == "condition" and not place)
            if is_answer and (line.about or not place) and self._answers(at, heard, alone=alone):
                del self._left[place]
                return line
            if line.act in REQUESTS:
                return None
        return None

    def _answers(self, at: int, heard: Heard, *, alone: bool) -> bool:
        line = self.lines[at]
        if line.about:
            return heard.is_about(line.about, alone=alone)
        return heard.takes(line, self._matter(at), alone=alone)

    def _matter(self, at: int) -> tuple[object, ...]:
        """Give the ids of the closest line before an answer that has any, back to the answer before it."""
        for line in reversed(self.lines[:at]):
            if line.act in ANSWERS or (codes := codes_in(line.text)):
                return () if line.act in ANSWERS else tuple(codes.values())
        return ()

    @property
    def last_request(self) -> Line | None:
        """The request that was said last."""
        said = [line for at, line in enumerate(self.lines) if line.act == "request" and at not in self._left]
        return said[-1] if said else None

    def meant(self, line: Line, wants: Wants, locale: str) -> tuple[object, ...]:
        """Give what a request is about; of a later one without `about` the ids, where it states nothing wanted."""
        if line.act in REQUESTS and line.about:
            return line.about
        is_later = line.act == "request" and line is not self.lines[0]
        is_other = is_later and not stated((one for one in wants if one.name), line.text, locale)
        return tuple(codes_in(line.text).values()) if is_other else ()

    def resume(self, messages: Sequence[Message]) -> None:
        """Take the lines that were said in messages which this script did not make as said; the first counts as one."""
        for number, message in enumerate(message for message in messages if message.role == "user"):
            said = plain(message.text or ",".join(call.name for call in message.tool_calls))
            for place, at in enumerate(self._left):
                text = plain(self.lines[at].text)
                if text == said or text.partition("(")[0] == said or (number == 0 and at == 0):
                    del self._left[place]
                    break
