"""The Recruiter's scout played by a model: ten diverse sets of arguments a time (tool-to-scenario D.2)."""

from random import Random

from pydantic import BaseModel, Field

from pytest_agentbench.core.codec import loads
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.asking import ask
from pytest_agentbench.generation.tools.recruiting.scouting import CANDIDATES, Scouted, ScoutGiven
from pytest_agentbench.generation.tools.values import ParameterCard
from pytest_agentbench.llm.seams import Chat

TEMPERATURE = 0.7
"""The paper's temperature for this role (Annex D)."""
_SHOWN = 15


class Candidates(BaseModel):
    """Sets of arguments for one tool."""

    candidates: list[str] = Field(description="each a JSON object of arguments, written as text")


class ModelScout:
    """Asks a model for what is worth a try; every set is executed before it counts."""

    def __init__(self, chat: Chat, random: Random) -> None:
        self._chat = chat
        self._random = random

    async def __call__(self, given: ScoutGiven, /) -> Scouted:
        """Give the sets that are JSON objects; the rest is dropped, since nothing can be made of it."""
        card = given.card
        data = {
            "tool": card.tool,
            "description": card.declared_description or card.actual_description,
            "arguments": [_about(parameter) for parameter in card.parameters],
            "values_of_other_results": list(given.suggested[:_SHOWN]),
            "already_verified": list(given.have[:_SHOWN]),
            "already_refused": list(given.refused[-_SHOWN:]),
            "wanted": CANDIDATES,
        }
        answer = await ask(
            self._chat, Candidates, "recruiter.v1", data, random=self._random, temperature=TEMPERATURE, language="en"
        )
        found = []
        for text in answer.candidates[:CANDIDATES]:
            try:
                arguments = loads(text)
            except ValueError:
                continue
            if isinstance(arguments, dict):
                found.append(arguments)
        return Scouted(candidates=tuple(found))


def _about(parameter: ParameterCard) -> dict[str, JsonValue]:
    return {
        "name": parameter.path,
        "schema": parameter.schema_,
        "required": parameter.declared_required,
        "accepted": list(parameter.accepted[:5]),
        "refused": list(parameter.refused[:5]),
    }
