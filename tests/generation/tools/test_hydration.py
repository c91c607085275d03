"""Hydration: real calls in one environment, arguments from the pool or a result, what cannot be done is said."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from pytest_agentbench.generation.tools.recruiting.pool import Pool
from pytest_agentbench.generation.tools.recruiting.recruiting import Recruiter
from pytest_agentbench.generation.tools.recruiting.stock import Stock
from pytest_agentbench.generation.tools.stories.critic import story_faults
from pytest_agentbench.generation.tools.stories.hydration import hydrate
from pytest_agentbench.generation.tools.stories.narrator import (
    CloseGiven,
    Extracted,
    ExtractGiven,
    RequestGiven,
    Selected,
    SelectGiven,
    TellGiven,
    TemplateNarrator,
)
from pytest_agentbench.generation.tools.stories.telling import HydrationError
from pytest_agentbench.generation.tools.values import (
    END_OF_SIMULATION,
    RUN_CONVERSATION,
    Edge,
    Graph,
    Place,
    SemanticType,
    Taxonomy,
    Walk,
)
from pytest_agentbench.generation.tools.walks.rehearsal import closed_edges
from tests.generation.tools.making import PARCELS, stocked, stories, story_of, suite_in

CHAIN = (RUN_CONVERSATION, "find_rooms", "room_details", RUN_CONVERSATION, END_OF_SIMULATION)
WRITES = (
    RUN_CONVERSATION,
    "book_room",
    "get_booking",
    RUN_CONVERSATION,
    "cancel_booking",
    RUN_CONVERSATION,
    END_OF_SIMULATION,
)


@pytest.fixture(scope="module")
def hotel(tmp_path_factory: pytest.TempPathFactory) -> tuple[Stock, Graph]:
    """What stories of the hotel are made of."""
    return asyncio.run(stocked(suite_in(tmp_path_factory.mktemp("hotel"), "hotel")))


def test_a_chain_takes_its_arguments_from_the_result_before(hotel: tuple[Stock, Graph]) -> None:
    """The second call's room is one that the first call found; the user's line does not say it."""
    stock, _ = hotel

    story = asyncio.run(story_of(stock, CHAIN))

    select, extract = story.steps[0], story.steps[1]
    assert extract.call is not None
    room = extract.call.arguments["room"]
    assert room in select.content
    assert extract.provenance[0].source == "result"
    assert extract.provenance[0].call == 0
    assert room not in select.sentence
    assert story_faults(story, stock.pool, stock.cards) == []


def test_changes_of_a_story_are_made_one_after_the_other_in_one_world(hotel: tuple[Stock, Graph]) -> None:
    """A booking that the story makes is found by its next call, and no other story sees it."""
    stock, _ = hotel

    first = asyncio.run(story_of(stock, WRITES, seed=1))
    second = asyncio.run(story_of(stock, WRITES, seed=1))

    assert first == second
    booking = first.steps[1]
    assert booking.call is not None
    assert booking.call.arguments["reference"] in first.steps[0].content
    assert "7001" in booking.content


@pytest.mark.xfail(reason="more guests are known since probing reads the state, and one of them is drawn", strict=False)
def test_what_a_later_call_lacks_is_of_whom_the_conversation_spoke_before(hotel: tuple[Stock, Graph]) -> None:
    """Who has booked a room books the next one for the same guest, whatever was searched for in between."""
    stock, _ = hotel
    walk = (RUN_CONVERSATION, "book_room", RUN_CONVERSATION, "find_rooms", "book_room", RUN_CONVERSATION)

    told = [asyncio.run(story_of(stock, (*walk, END_OF_SIMULATION), seed=seed)) for seed in range(4)]

    for story in told:
        guests = {step.call.arguments["guest"] for step in story.steps if step.call and "guest" in step.call.arguments}
        assert len(guests) == 1


def test_every_argument_of_many_stories_has_a_provenance(hotel: tuple[Stock, Graph]) -> None:
    """Arguments and provenance cover each other, entries are used once, and user lines name no tool."""
    stock, graph = hotel

    found = asyncio.run(stories(stock, graph, 8))

    assert len(found) >= 6
    for story in found:
        assert story_faults(story, stock.pool, stock.cards) == []
        entries = [one.entry for step in story.steps if step.operation == "select" for one in step.provenance]
        per_step = [{one.entry for one in step.provenance} for step in story.steps if step.operation == "select"]
        assert sum(map(len, per_step)) == len({entry for entry in entries if entry})
        for step in story.steps:
            if step.operation == "select":
                assert not any(tool in step.sentence for tool in graph.tools)
                assert "_" not in step.sentence
                assert "{" not in step.sentence


def test_stories_of_french_tools_are_french(tmp_path: Path) -> None:
    """The words of the descriptions are those of the lines."""

    async def told() -> str:
        stock, _ = await stocked(suite_in(tmp_path, "colis", f"count: 5, {PARCELS}"))
        nodes = (RUN_CONVERSATION, "suivre_colis", "decrire_depot", RUN_CONVERSATION, END_OF_SIMULATION)
        random = Random(1)
        walk = Walk(id="w", nodes=nodes)
        story = await hydrate(walk, stock, TemplateNarrator(random), language="fr", random=random)
        return story.steps[0].sentence

    line = asyncio.run(told())

    assert "puis décrire ce dépôt" in line
    assert "colis FR10" in line


def test_an_edge_that_the_world_does_not_bear_is_closed(hotel: tuple[Stock, Graph]) -> None:
    """A type leads from a booking's room to booking a room, and that room is taken."""
    stock, graph = hotel
    room = SemanticType(
        id="room_number",
        produced=(Place(tool="get_booking", path="room"),),
        consumed=(Place(tool="book_room", path="room"),),
    )
    taxonomy = Taxonomy(types=(*(one for one in stock.taxonomy.types if one.id != "room_number"), room))
    leading = Edge(source="get_booking", target="book_room", via=("room_number",))
    others = tuple(one for one in graph.edges if (one.source, one.target) != ("get_booking", "book_room"))
    typed = Stock(world=stock.world, cards=stock.cards, taxonomy=taxonomy, pool=stock.pool)

    closed = asyncio.run(closed_edges(graph.model_copy(update={"edges": (*others, leading)}), typed, seed=1))

    assert ("get_booking", "book_room") in closed
    assert ("find_rooms", "room_details") not in closed


def test_a_tool_without_verified_calls_is_said(hotel: tuple[Stock, Graph]) -> None:
    """A walk with a tool that has no entry is lost for that reason."""
    stock, _ = hotel
    empty = Stock(world=stock.world, cards=stock.cards, taxonomy=stock.taxonomy, pool=Pool())

    with pytest.raises(HydrationError, match="no verified call left: find_rooms"):
        asyncio.run(story_of(empty, CHAIN))


class Contrary(TemplateNarrator):
    """A narrator that does one thing wrong."""

    def __init__(self, wrong: str) -> None:
        super().__init__(Random(1))
        self.wrong = wrong
        self.told: list[str] = []

    async def select(self, given: SelectGiven) -> Selected:
        self.told += given.faults
        return Selected(entry_index=99) if self.wrong == "index" else await super().select(given)

    async def extract(self, given: ExtractGiven) -> Extracted:
        found = await super().extract(given)
        if self.wrong == "argument":
            return found.model_copy(update={"arguments": {"room": "999"}})
        return found

    async def request(self, given: RequestGiven) -> str:
        self.told += given.faults
        line = await super().request(given)
        if self.wrong == "once" and not given.faults:
            return f"{line} My code is XK-4711."
        return {"value": f"{line} My code is XK-4711.", "tool": "Please find_rooms for me", "empty": ""}.get(
            self.wrong, line
        )

    async def tell(self, given: TellGiven) -> str:
        return "The night costs 12345 euros." if self.wrong == "answer" else await super().tell(given)

    async def close(self, given: CloseGiven) -> str:
        return "Thanks, Mr Blackwood." if self.wrong == "closing" else await super().close(given)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("index", "index out of range: entry 99"),
        ("argument", r"invented argument: room_details\(room='999'\)"),
        ("value", "invented value: XK-4711"),
        ("tool", "names a tool: find_rooms|left out"),
        ("empty", "empty|left out"),
        ("answer", "invented value: 12345"),
        ("closing", "invented value: Blackwood"),
    ],
)
def test_what_a_narrator_makes_up_is_refused_with_the_reason(
    hotel: tuple[Stock, Graph], wrong: str, reason: str
) -> None:
    """An index out of range, an invented argument or value, a tool's name: no story comes of it."""
    with pytest.raises(HydrationError, match=reason):
        asyncio.run(story_of(hotel[0], CHAIN, Contrary(wrong)))


def test_a_fault_is_told_to_the_narrator_which_may_mend_it(hotel: tuple[Stock, Graph]) -> None:
    """A line with an invented value goes back with the reason, and the mended one is taken."""
    narrator = Contrary("once")

    story = asyncio.run(story_of(hotel[0], CHAIN, narrator))

    assert "XK-4711" not in story.steps[0].sentence
    assert any("invented value: XK-4711" in fault for fault in narrator.told)


def test_the_pool_holds_calls_that_were_answered_and_why_others_are_not(hotel: tuple[Stock, Graph]) -> None:
    """Entries have distinct arguments and real answers; values that probing made up are not among them."""
    stock, graph = hotel

    pool, why = asyncio.run(
        Recruiter(world=stock.world, cards=stock.cards, taxonomy=stock.taxonomy).recruit(graph.tools)
    )

    assert why == {}
    assert pool == stock.pool
    for tool in graph.tools:
        keys = [str(entry.arguments) for entry in pool.of(tool)]
        assert len(keys) == len(set(keys)) >= 2
    guests = {entry.arguments["guest"] for entry in pool.of("book_room")}
    assert guests <= {"Weiss", "Lambert", "Duarte"}
