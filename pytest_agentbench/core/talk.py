"""What can be told of an agent's messages without reading them: its turns, and a question mark."""

import unicodedata
from collections.abc import Sequence
from itertools import groupby

from pytest_agentbench.core.ids import clipped
from pytest_agentbench.core.transcript import Message


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
