"""Citations: turns that a judge quotes, and whether what it quotes is there."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from pytest_agentbench.checks.judges.evidence import Evidence

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
