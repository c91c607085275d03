"""Wording: the one place where words of generated users are made, by plain phrases or by a model."""

from typing import Protocol

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.draft import Draft, Persona


class ToolLine(Model):
    """A tool in one line: its name, what it declares to do, and its arguments by dotted path with their plain names."""

    name: str
    summary: str = ""
    arguments: dict[str, str] = {}


class ConversationBrief(Model):
    """All that a writer may see: the draft with its calls and answers, the tools, the rows touched, earlier purposes.

    `faults` are what was wrong with the last answer.
    """

    draft: Draft
    tools: tuple[ToolLine, ...] = ()
    rows: tuple[dict[str, JsonValue], ...] = ()
    earlier: tuple[str, ...] = ()
    personas: int = 1
    faults: tuple[str, ...] = ()


class ConversationLines(Model):
    """One line per turn of the draft, and who says them; `absurd` says why nobody would ask for this, "" where it is
    fine. `first` and `last` are the turns that are kept where the writer cuts the chain at an end.
    """

    lines: tuple[str, ...] = ()
    personas: tuple[Persona, ...] = ()
    absurd: str = ""
    first: int = 0
    last: int | None = None


class Wording(Protocol):
    """Words a draft; plain or model-backed, same types and same guard."""

    name: str

    async def lines(self, asked: ConversationBrief, /) -> ConversationLines:
        """Give the lines of a draft."""
        ...
