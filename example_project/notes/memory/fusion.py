"""One short text out of what several memories recalled: no repetition, short term first, within a budget of tokens."""

from collections.abc import Iterable, Sequence

from notes.memory.exchange import Remembered
from notes.text import count_tokens, fold


def fuse(recent: Sequence[Remembered], recalled: Iterable[Sequence[Remembered]], budget: int) -> tuple[Remembered, ...]:
    """Choose the messages to show: all recent ones that fit, latest first, then recalled ones in the order given.

    Those chosen come in the order of the conversation; a message that does not fit is left out whole.
    """
    chosen: dict[int, Remembered] = {}
    seen: set[str] = set()
    left = budget
    for message in [*reversed(recent), *(one for found in recalled for one in found)]:
        cost = count_tokens(line(message)) + 1
        text = fold(message.text).strip()
        if message.number in chosen or text in seen or cost > left:
            continue
        chosen[message.number] = message
        seen.add(text)
        left -= cost
    return tuple(chosen[number] for number in sorted(chosen))


def render(messages: Sequence[Remembered]) -> str:
    """Word the chosen messages, one a line."""
    return "\n".join(map(line, messages))


def line(message: Remembered) -> str:
    """Word one message with who said it."""
    return f"{message.role}: {' '.join(message.text.split())}"
