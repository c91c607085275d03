"""One question to a judge: the record as data, a strict answer, and one round of repair where the answer is refused.

What an answer rests on are citations: words of turns, which must stand there.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from pytest_agentbench.checks.judges.evidence import Evidence
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


async def ask(
    chat: Chat,
    answer: type[A],
    task: str,
    *,
    evidence: Evidence,
    random: Random,
    faults: Callable[[A], list[str]],
    values: dict[str, str] | None = None,
) -> A:
    """Ask for an `answer` by the template `task`, filled with `values`, at temperature 0.

    The record of `evidence` is sent in the user's role, between delimiters with a nonce of `random`. An answer with
    `faults` is refused with the reasons, once. Raise what `refusable` raises.
    """
    nonce = evidence.new_nonce(random)
    safety = render("record.v1", {"nonce": nonce})
    messages = [
        {"role": "system", "content": render(task, {"record": safety, **(values or {})})},
        {"role": "user", "content": evidence.record(nonce)},
    ]

    def told(listed: str) -> str:
        return render("again.v1", {"faults": listed})

    return await refusable(chat, answer, messages, faults=faults, told=told, temperature=0)
