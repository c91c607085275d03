"""One question to a judge: records as data, a strict answer, and one round of repair where the answer is refused.

What an answer rests on are citations: words of turns, which must stand there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from pytest_agentbench.checks.judges.evidence import Evidence, new_nonce
from pytest_agentbench.llm.refusable import refusable
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.llm.templates import Templates

render = Templates("pytest_agentbench.checks.judges").render
MOST_CITATIONS = 20
"""Citations that one judgement may rest on."""


class Answer(BaseModel):
    """Part of what a judge answers: frozen, nothing beyond the schema, nothing read as another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Citation(Answer):
    """Words of a turn."""

    turn: int = Field(description="the number of the turn, as the record gives it")
    quote: str = Field(description="a few words of this turn, copied exactly")


def citation_faults(citations: Sequence[Citation], evidence: Evidence) -> list[str]:
    """Say what is wrong with citations, for the model to correct; nothing of what they quote is repeated."""
    faults = []
    if len(citations) > MOST_CITATIONS:
        faults.append(f"{len(citations)} quotes are too many; give the {MOST_CITATIONS} best at most")
    for number, citation in enumerate(citations[:MOST_CITATIONS], start=1):
        if not 1 <= citation.turn <= evidence.last_turn:
            faults.append(f"quote {number}: there is no turn {citation.turn}; the last one is {evidence.last_turn}")
            continue
        turns = evidence.turns_with(citation.quote)
        if citation.turn not in turns:
            elsewhere = f"; these words stand in turn {turns[0]}" if turns else ""
            faults.append(f"quote {number}: turn {citation.turn} does not hold these words exactly{elsewhere}")
    return faults


A = TypeVar("A", bound=Answer)


@dataclass(frozen=True)
class Manner:
    """How is asked: by whose templates, and at which temperature."""

    templates: Templates
    temperature: float


JUDGING = Manner(Templates("pytest_agentbench.checks.judges"), 0)


async def ask(
    chat: Chat,
    answer: type[A],
    task: str,
    *,
    data: Sequence[str | Evidence],
    random: Random,
    faults: Callable[[A], list[str]] = lambda _: [],
    values: Mapping[str, str] | None = None,
    how: Manner = JUDGING,
) -> A:
    """Ask for an `answer` by the template `task` of `how`, filled with `values`.

    `data` are records and other texts that are no instructions: they are sent in the user's role, each between
    delimiters with a nonce of `random` that stands in none of them. An answer with `faults` is refused with the
    reasons, once. Raise what `refusable` raises.
    """
    nonce = new_nonce("\n".join(_block(one, "") for one in data), random)
    places = {"nonce": nonce, "record": render("record.v1", {"nonce": nonce}), **(values or {})}
    messages = [
        {"role": "system", "content": how.templates.render(task, places)},
        {"role": "user", "content": "\n\n".join(_block(one, nonce) for one in data)},
    ]

    def told(listed: str) -> str:
        return how.templates.render("again.v1", {"faults": listed})

    return await refusable(chat, answer, messages, faults=faults, told=told, temperature=how.temperature)


def _block(data: str | Evidence, nonce: str) -> str:
    return data.record(nonce) if isinstance(data, Evidence) else f"BEGIN {nonce}\n{data}\nEND {nonce}"
