"""The example's support agent, or in its place one that is no agent: deaf to every other person, or at random."""

from collections.abc import Callable, Sequence
from typing import Any

from label_agent import LabelAgent
from support.agent import build as build_desk


def build(tools: Sequence[Callable[..., Any]], replaced: str = "", **settings: Any) -> Callable[[str], str]:
    """Build an agent for one conversation."""
    right = build_desk(tools, **settings)
    if not replaced:
        return right
    other = LabelAgent(tools, frozenset({replaced}))
    if replaced == "random":
        return other.reply

    def reply(message: str) -> str:
        said = other.greeting(message)
        return said or right(message)

    return reply
