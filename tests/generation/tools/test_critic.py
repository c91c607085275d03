"""The Critic's rules: corrupted stories are refused, sound ones are not, and summaries stay free of entities."""

import asyncio
import itertools
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pytest_agentbench.core.codec import loads
from pytest_agentbench.generation.tools.recruiting.pool import Pool, pool_of
from pytest_agentbench.generation.tools.recruiting.stock import Stock
from pytest_agentbench.generation.tools.stage_files import load
from pytest_agentbench.generation.tools.stories.critic import (
    CriticGiven,
    Critique,
    TemplateCritic,
    sentences,
    story_faults,
    summary_faults,
)
from pytest_agentbench.generation.tools.stories.persona import (
    PersonaGiven,
    TemplatePersonaWriter,
    identity,
    persona_faults,
)
from pytest_agentbench.generation.tools.storing import Finished
from pytest_agentbench.generation.tools.values import Cards, Graph, Persona, Step, Story
from pytest_agentbench.generation.tools.wording.tongue import Code
from tests.generation.tools.corrupting import CORRUPTIONS, REWORDINGS
from tests.generation.tools.making import PARCELS, stocked, stories, suite_in

EXAMPLE = Path(__file__).parents[3] / "example_project" / "bench" / "weather" / "generated"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[Stock, Graph, list[Story]]:
    """What stories of the library are made of, and 20 of them."""

    async def made() -> tuple[Stock, Graph, list[Story]]:
        stock, graph = await stocked(suite_in(tmp_path_factory.mktemp("library"), "library"))
        return stock, graph, await stories(stock, graph, 20)

    return asyncio.run(made())


def test_sound_stories_are_accepted(library: tuple[Stock, Graph, list[Story]]) -> None:
    """None of 20 stories is refused, and their summaries and situations fit."""
    stock, _, sound = library

    for story in sound:
        critique = asyncio.run(TemplateCritic()(CriticGiven(story=story, cards=stock.cards)))
        assert story_faults(story, stock.pool, stock.cards) == []
        assert summary_faults(critique, story, stock.cards) == []


@dataclass(frozen=True)
class Told:
    """Stories of one service, and what they are held against."""

    stories: tuple[Story, ...]
    pool: Pool
    cards: Cards


@pytest.fixture(scope="module", params=["library", "hotel", "colis", "weather"])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Stories of the services here, and those that the example's weather suite was made of."""
    if request.param == "weather":
        return _weather()
    if request.param == "library":
        stock, _, found = request.getfixturevalue("library")
        return Told(tuple(found), stock.pool, stock.cards)
    recipe = f"count: 5, {PARCELS}" if request.param == "colis" else "count: 5, seed: 7"
    language: Code = "fr" if request.param == "colis" else "en"

    async def made() -> Told:
        path = suite_in(tmp_path_factory.mktemp(request.param), request.param, recipe)
        stock, graph = await stocked(path)
        return Told(tuple(await stories(stock, graph, 20, language=language)), stock.pool, stock.cards)

    return asyncio.run(made())


def _weather() -> Told:
    records = [loads(line) for line in (EXAMPLE / "stories.jsonl").read_text(encoding="ascii").splitlines()]
    pool = [loads(line) for line in (EXAMPLE / "pool.jsonl").read_text(encoding="ascii").splitlines()]
    cards = load(EXAMPLE / "cards.json", Cards)
    assert cards is not None
    found = [Finished.model_validate(one).story for one in records[1:]]
    return Told(tuple(one for one in found if one and len(one.steps) <= 9), pool_of(pool[1:]), cards)


def test_corrupted_stories_are_refused(told: Told) -> None:
    """Of 200 stories with one thing wrong, of fifteen kinds in turn, at least 95 % are refused."""
    random = Random(11)
    kept: Counter[str] = Counter()
    made = 0
    for n in itertools.count():
        kind = CORRUPTIONS[n % len(CORRUPTIONS)]
        wrong = kind(told.stories[random.randrange(len(told.stories))], random)
        if wrong is not None:
            made += 1
            kept[kind.__name__] += not story_faults(wrong, told.pool, told.cards)
        if made == 200:
            break

    assert kept.total() <= 10, kept


def test_sound_stories_stay_sound_in_other_words(told: Told) -> None:
    """Of 200 stories told as they were, or with one sentence reworded, at most 5 % are refused."""
    random = Random(12)
    refused: Counter[str] = Counter()
    for n in range(200):
        story = told.stories[n % len(told.stories)]
        kind = REWORDINGS[n % len(REWORDINGS)]
        refused[kind.__name__] += bool(story_faults(kind(story, random) or story, told.pool, told.cards))

    assert refused.total() <= 10, refused


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


def test_what_a_description_says_itself_is_no_hedging(library: tuple[Stock, Graph, list[Story]]) -> None:
    """`could be ready` in a tool's description is not the critic's doubt when its summary repeats it."""
    stock, _, sound = library
    first, *others = stock.cards.cards
    told = first.model_copy(update={"declared_description": "Say when a book\n  could be ready."})
    cards = stock.cards.model_copy(update={"cards": (told, *others)})
    critique = Critique(
        is_coherent=True,
        reason="",
        summary="The agent says when a book could be ready.",
        initial_situation="The user waits for a book. It is about one of them.",
    )

    assert "hedged" in {fault.reason for fault in summary_faults(critique, sound[0], stock.cards)}
    assert "hedged" not in {fault.reason for fault in summary_faults(critique, sound[0], cards)}


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
