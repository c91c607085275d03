"""The PersonaWriter played by a model (tool-to-scenario D.5)."""

from random import Random

from pydantic import BaseModel, Field

from pytest_agentbench.generation.tools.asking import ask
from pytest_agentbench.generation.tools.stories.persona import PersonaGiven, said_values
from pytest_agentbench.generation.tools.values import Persona
from pytest_agentbench.llm.seams import Chat

TEMPERATURE = 0.8
"""The paper's temperature for this role (Annex D)."""


class Fields(BaseModel):
    """The four fields of a simulated user."""

    task_instructions: str = Field(description="1 to 4 sentences of behaviour, in the second person")
    reason_for_call: str = Field(description="2 or 3 factual sentences in the second person, naming the entities")
    known_info: str = Field(description="the name, and an identifier where the story has one")
    unknown_info: str | None = Field(description="what the user does not remember, or null")


class ModelPersonaWriter:
    """Asks a model for the fields; names and modifiers are given, so that the seed decides them."""

    def __init__(self, chat: Chat, random: Random) -> None:
        self._chat = chat
        self._random = random

    async def __call__(self, given: PersonaGiven, /) -> Persona:
        """Give the persona."""
        data = {
            "initial_situation": given.story.initial_situation,
            "user_lines": [step.sentence for step in given.story.steps if step.operation == "select"],
            "values": said_values(given.story, given.cards),
            "identity": {"name": given.name, "manner": given.manner},
            "wrong_with_your_last_answer": list(given.faults),
        }
        fields = await ask(
            self._chat,
            Fields,
            "persona.v1",
            data,
            random=self._random,
            temperature=TEMPERATURE,
            language=given.story.language,
        )
        unknown = (fields.unknown_info or "").strip() or None
        return Persona.model_validate({**fields.model_dump(), "unknown_info": unknown, "modifiers": given.modifiers})
