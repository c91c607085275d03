"""The Critic played by a model: is the story a plausible wish of a user? What rules decide is not asked (D.4)."""

from random import Random
from typing import Any

from pydantic import BaseModel, Field

from pytest_agentbench.generation.tools.asking import ask
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.stories.critic import CriticGiven, Critique
from pytest_agentbench.generation.tools.stories.showing import shown, values_said
from pytest_agentbench.llm.seams import Chat

TEMPERATURE = 0.1
"""The paper's temperature for this role (Annex D)."""
_SHOWN = 3_000
"""Characters of an answer that a critic sees; values that sentences and later calls name are always among them."""


class Review(BaseModel):
    """The verdict on a story."""

    is_coherent: bool = Field(description="whether a user may plausibly want this, and nothing in it is invented")
    reason: str = Field(description="one sentence")
    summary: str = Field(description="one sentence about the pattern of the requests, without any entity")
    initial_situation: str = Field(description="two sentences from the user's perspective, naming the entities")


class ModelCritic:
    """Asks a model for a verdict, summary and situation."""

    def __init__(self, chat: Chat, random: Random) -> None:
        self._chat = chat
        self._random = random

    async def __call__(self, given: CriticGiven, /) -> Critique:
        """Give the critique; its texts are held against the story by whoever asked."""
        story = given.story
        wanted = values_said(step.sentence for step in story.steps)
        wanted += [
            str(value) for step in story.steps if step.call for value in read_slots(step.call.arguments).values()
        ]
        data: dict[str, Any] = {
            "path": list(story.walk.nodes),
            "planned_failure": bool(story.walk.enriched),
            "story": [
                {
                    "speaker": "user" if step.operation in ("select", "close") else "agent",
                    "sentence": step.sentence,
                    "call": {"arguments": step.call.arguments, "result": shown(step.content, wanted, _SHOWN)}
                    if step.call
                    else None,
                }
                for step in story.steps
            ],
        }
        if given.history:
            data["your_earlier_answers_were_refused_because"] = list(given.history)
        if given.faults:
            data["wrong_with_your_last_answer"] = list(given.faults)
        review = await ask(
            self._chat,
            Review,
            "critic.v1",
            data,
            random=self._random,
            temperature=TEMPERATURE,
            language=story.language,
        )
        return Critique.model_validate(review.model_dump())
