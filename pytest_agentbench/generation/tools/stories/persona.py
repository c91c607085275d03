"""The PersonaWriter: who lives a story, in the four fields that a simulated user gets (tool-to-scenario D.5).

Names come from small lists by the seed. Whatever else is said stands in the calls: a persona knows what it tells.
"""

from random import Random

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.seams import Role
from pytest_agentbench.generation.tools.stories.completeness import said_in
from pytest_agentbench.generation.tools.stories.critic import (
    grounds_of,
    hedges_of,
    named_values,
    names_of,
    sentence_faults,
)
from pytest_agentbench.generation.tools.stories.faults import Fault
from pytest_agentbench.generation.tools.values import Cards, Persona, Story
from pytest_agentbench.generation.tools.wording.phrasing import TONGUES, contracted, tasks_text
from pytest_agentbench.generation.tools.wording.tongue import Code, Tongue

CANDIDATES = ("impatient", "forgets_identifier", "wrong_value_first", "changes_mind")
"""Behaviour modifiers that a persona may have; those that fit a scenario are found when it is assembled."""


class PersonaGiven(Model):
    """What a writer sees: the story, the identity that is proposed, and the modifiers that may fit."""

    story: Story
    cards: Cards
    name: str
    manner: str
    modifiers: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


PersonaWriter = Role[PersonaGiven, Persona]


class TemplatePersonaWriter:
    """Writes the four fields from phrases and the values of the calls."""

    async def __call__(self, given: PersonaGiven, /) -> Persona:
        """Give the persona."""
        tongue = TONGUES[given.story.language]
        cards = [card for step in given.story.steps if step.call and (card := given.cards.get(step.call.name))]
        told = named_values(given.story, given.cards, tongue)
        values = tongue.joined.join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
        reason = contracted(tongue.goal.format(tasks=tasks_text(cards, tongue, "you")), tongue)
        return Persona(
            task_instructions=given.manner,
            reason_for_call=f"{reason} {tongue.goal_entities.format(values=values)}" if values else reason,
            known_info=tongue.known_name.format(name=given.name),
            modifiers=given.modifiers,
        )


def identity(random: Random, language: Code) -> tuple[str, str]:
    """Draw a name and a manner of speaking."""
    tongue = TONGUES[language]
    name = f"{random.choice(tongue.first_names)} {random.choice(tongue.last_names)}"
    return name, random.choice(tongue.manners)


def said_values(story: Story, cards: Cards) -> dict[str, list[str]]:
    """Give what the user says: the values from the pool, by the names of their arguments in words."""
    tongue: Tongue = TONGUES[story.language]
    found: dict[str, list[str]] = {}
    for step in story.steps:
        for one in said_in(step, cards, tongue):
            several = found.setdefault(one.label, [])
            text = one.text.strip('"')
            if text not in several:
                several.append(text)
    return found


def known_values(story: Story, cards: Cards) -> dict[str, str]:
    """Give what the user answers when it is asked again: values whose name means one thing in the whole story."""
    return {label: values[0] for label, values in said_values(story, cards).items() if len(values) == 1}


def persona_faults(persona: Persona, story: Story, cards: Cards, name: str) -> list[Fault]:
    """Give what is wrong with a persona: values that stand in no call, hedging, names of tools, nothing said."""
    tongue = TONGUES[story.language]
    grounds = grounds_of(story, cards)
    grounds.add([name, story.initial_situation])
    faults: list[Fault] = []
    for field in ("task_instructions", "reason_for_call", "known_info"):
        text = getattr(persona, field)
        faults += sentence_faults(text, grounds, names_of(cards), speaker="user")
    hedges = hedges_of(persona.reason_for_call, cards, tongue)
    faults += [Fault("hedged", f"{hedge!r} in the reason for the call") for hedge in hedges[:1]]
    if name not in persona.known_info:
        faults.append(Fault("left out", f"the name {name}"))
    if persona.unknown_info:
        faults += sentence_faults(persona.unknown_info, grounds, names_of(cards), speaker="user")
    return faults
