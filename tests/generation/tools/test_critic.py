"""The Critic's rules: corrupted stories are refused, sound ones are not, and summaries stay free of entities."""

import asyncio
from random import Random
from typing import Any

import pytest

from pytest_agentbench.generation.tools.critic import (
    CriticGiven,
    Critique,
    TemplateCritic,
    sentences,
    story_faults,
    summary_faults,
)
from pytest_agentbench.generation.tools.hydration import Stock
from pytest_agentbench.generation.tools.persona import PersonaGiven, TemplatePersonaWriter, identity, persona_faults
from pytest_agentbench.generation.tools.values import Graph, Persona, Step, Story
from tests.generation.tools.making import stocked, stories, suite_in


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[Stock, Graph, list[Story]]:
    """What stories of the library are made of, and 20 of them."""

    async def made() -> tuple[Stock, Graph, list[Story]]:
        stock, graph = await stocked(suite_in(tmp_path_factory.mktemp("library"), "library"))
        return stock, graph, await stories(stock, graph, 20)

    return asyncio.run(made())


def changed(story: Story, place: int, **fields: Any) -> Story:
    """The story with one step changed."""
    steps = list(story.steps)
    steps[place] = steps[place].model_copy(update=fields)
    return story.model_copy(update={"steps": tuple(steps)})


def corrupted(story: Story, random: Random) -> Story:
    """The story with one thing in it that no call gave."""
    calls = [place for place, step in enumerate(story.steps) if step.call is not None]
    place = random.choice(calls)
    step = story.steps[place]
    assert step.call is not None
    name = random.choice(sorted(step.call.arguments))
    other: Any = {"B101": "B999", "M21": "M77"}.get(step.call.arguments[name], "Q-5512")
    wrong_call = step.call.model_copy(update={"arguments": {**step.call.arguments, name: other}})
    proof = step.provenance[0]
    kind = random.randrange(7)
    if kind == 0:
        return changed(story, place, call=wrong_call)
    if kind == 1:
        return changed(story, place, provenance=step.provenance[1:])
    if kind == 2:
        moved = proof.model_copy(update={"source": "result", "call": 7, "path": "nowhere", "entry": ""})
        return changed(story, place, provenance=(moved, *step.provenance[1:]))
    if kind == 3:
        said = random.choice(
            ["It costs 873.21.", "Ask for Mr Blackwood.", "The code is ZX-99871.", "Due on 2031-04-05."]
        )
        return changed(story, place, sentence=f"{step.sentence} {said}")
    if kind == 4:
        return changed(
            story, len(story.steps) - 1, sentence='Thanks, and greetings to "Lord Pemberton" of Grand Falls.'
        )
    if kind == 5:
        steps = [*story.steps[: place + 1], step, step, *story.steps[place + 1 :]]
        return story.model_copy(update={"steps": tuple(steps)})
    return changed(story, place, provenance=(proof.model_copy(update={"entry": "none.9", "source": "pool"}),))


def test_sound_stories_are_accepted(library: tuple[Stock, Graph, list[Story]]) -> None:
    """None of 20 stories is refused, and their summaries and situations fit."""
    stock, _, sound = library

    for story in sound:
        critique = asyncio.run(TemplateCritic()(CriticGiven(story=story, cards=stock.cards)))
        assert story_faults(story, stock.pool, stock.cards) == []
        assert summary_faults(critique, story, stock.cards) == []


def test_corrupted_stories_are_refused(library: tuple[Stock, Graph, list[Story]]) -> None:
    """Of 200 stories with one thing made up at least 95 % are refused."""
    stock, _, sound = library
    random = Random(11)

    refused = sum(
        bool(story_faults(corrupted(sound[n % len(sound)], random), stock.pool, stock.cards)) for n in range(200)
    )

    assert refused >= 190


def test_the_same_call_thrice_in_a_row_is_implausible(library: tuple[Stock, Graph, list[Story]]) -> None:
    """Twice may happen, three times have no conceivable need (D.4)."""
    stock, _, sound = library
    story = sound[0]
    step = story.steps[0]
    thrice = story.model_copy(update={"steps": (step, step, step, *story.steps[1:])})

    assert any(fault.reason == "implausible" for fault in story_faults(thrice, stock.pool, stock.cards))


@pytest.mark.parametrize(
    ("summary", "situation", "reason"),
    [
        ("The agent looks up {value}.", "The user wants something. It is about {value}.", "no entities allowed"),
        ("The agent probably looks things up.", "The user wants something. It is about {value}.", "hedged"),
        ("The agent looks things up.", "The user might want something. It is about {value}.", "hedged"),
        ("The agent looks things up.", "The user wants something about {value}.", "two sentences asked for"),
        ("The agent looks things up.", "The user wants something. It is about B999.", "invented value"),
        ("", "The user wants something. It is about {value}.", "empty"),
    ],
)
def test_a_summary_that_names_hedges_or_invents_is_refused(
    library: tuple[Stock, Graph, list[Story]], summary: str, situation: str, reason: str
) -> None:
    """Summaries hold the pattern alone; situations are two statements with values of the story."""
    stock, _, sound = library
    story = next(one for one in sound if any(isinstance(v, str) for v in _arguments(one)))
    value = next(v for v in _arguments(story) if isinstance(v, str))
    critique = Critique(
        is_coherent=True,
        reason="",
        summary=summary.format(value=value),
        initial_situation=situation.format(value=value),
    )

    assert reason in {fault.reason for fault in summary_faults(critique, story, stock.cards)}


def test_sentences_are_counted_as_people_do() -> None:
    """Decimals end no sentence."""
    assert sentences("It costs 12.50 euros. That is all.") == 2
    assert sentences("No point at the end") == 1


def test_personas_tell_only_what_the_story_holds(library: tuple[Stock, Graph, list[Story]]) -> None:
    """The template's persona passes its own check; one with an invented identifier does not."""
    stock, _, sound = library
    story = sound[0].model_copy(update={"initial_situation": "The user wants a book. It is about B101."})
    name, manner = identity(Random(3), "en")

    persona = asyncio.run(
        TemplatePersonaWriter()(PersonaGiven(story=story, cards=stock.cards, name=name, manner=manner))
    )
    wrong = Persona(
        task_instructions=manner,
        reason_for_call="You want a book.",
        known_info=f"Your name is {name}. Your card is 4421.",
    )

    assert persona_faults(persona, story, stock.cards, name) == []
    assert name in persona.known_info
    assert any("4421" in fault.detail for fault in persona_faults(wrong, story, stock.cards, name))


def _arguments(story: Story) -> list[Any]:
    steps: tuple[Step, ...] = story.steps
    return [value for step in steps if step.call for value in step.call.arguments.values()]
