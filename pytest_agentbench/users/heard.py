"""What kind of message an agent sent: a closing offer, a promise, a hand-over, an open question, a statement."""

from pytest_agentbench.users.phrases import pattern
from pytest_agentbench.users.segments import Segment, segments

_SHORT = 2


def hands_over(text: str) -> bool:
    """Tell whether the agent states (not offers) that somebody else takes over."""
    return any(
        pattern("handovers").search(segment.text) and not segment.question and not _is_conditional(segment.text)
        for segment in segments(text)
    )


def offers_more(text: str) -> bool:
    """Tell whether the agent asks if there is anything else."""
    return any(segment.question and pattern("closers").search(segment.text) for segment in segments(text))


def promises(text: str) -> bool:
    """Tell whether the message only says that an answer will follow."""
    parts = segments(text)
    return (
        bool(parts) and len(parts) <= _SHORT and bool(pattern("waits").search(parts[-1].text)) and not open_parts(text)
    )


def open_parts(text: str) -> tuple[str, ...]:
    """Give the questions and instructions of `text` that wait for the user, closing offers and asides left out."""
    parts = segments(text)
    return tuple(part.text for index, part in enumerate(parts) if _is_open(part, last=index == len(parts) - 1))


def _is_open(part: Segment, *, last: bool) -> bool:
    body = pattern("offers_help").sub(" ", pattern("closers").sub(" ", part.text))
    if len(body.split()) < 2 or pattern("rhetorical").search(body):
        return False
    if part.question and "?" in body:
        return last or not _answers_itself(body)
    return bool(pattern("instructions").search(body)) and not pattern("waits").search(body)


def _answers_itself(body: str) -> bool:
    """Tell whether a question is not put to the user: it names neither the user nor the speaker."""
    return not pattern("addressed").search(body)


def _is_conditional(text: str) -> bool:
    return bool(pattern("conditional").search(text))
