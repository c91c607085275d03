"""What can be told of an agent's messages without reading them: its turns, a question mark, the same once more."""

import unicodedata
from collections.abc import Sequence
from itertools import groupby

from pytest_agentbench.core.alike import alike
from pytest_agentbench.core.ids import clipped, codes_in
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.transcript import Message

_ENDS = 1_000
"""Characters of either end of a message that are held against another's."""
_SAME = 0.9
"""Likeness from which a message says the same again."""


def agent_messages(messages: Sequence[Message]) -> list[str]:
    """Give what the agent said, one text for each of its turns."""
    turns = (list(turn) for is_user, turn in groupby(messages, lambda one: one.role == "user") if not is_user)
    said = ([clipped(one.text) for one in turn if one.role == "assistant" and one.text.strip()] for turn in turns)
    return ["\n".join(texts) for texts in said if texts]


def has_question_mark(text: str) -> bool:
    """Whether a text has a question mark of any script; one inside a link is none."""
    return any(
        (char == "?" and not text[at + 1 : at + 2].isalnum())
        or (char > "\x7f" and "QUESTION MARK" in unicodedata.name(char, ""))
        for at, char in enumerate(text)
    )


def says_again(text: str, before: str) -> bool:
    """Whether a text says what another said, in nearly the same words and with the same ids."""
    both = [one if len(one) <= 2 * _ENDS else one[:_ENDS] + one[-_ENDS:] for one in (text, before)]
    left, right = (plain(one).split() for one in both)
    return alike(left, right, _SAME) and codes_in(text).keys() == codes_in(before).keys()
