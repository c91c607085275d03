"""Which calls a turn may begin with: distinct ones, by names that people use, and seldom what was asked for already."""

import asyncio
from pathlib import Path
from random import Random

import pytest
from pytest_agentbench.generation.tools.recruiting.slips import slips
from pytest_agentbench.generation.tools.recruiting.stock import Stock
from pytest_agentbench.generation.tools.stories.handles import Handles, proves
from pytest_agentbench.generation.tools.stories.hydration import hydrate
from pytest_agentbench.generation.tools.stories.narrator import TemplateNarrator

from pytest_agentbench.generation.tools.graph.taxonomy import build_taxonomy
from pytest_agentbench.generation.tools.recruiting.choosing import alike, distinct, fresh, speakable
from pytest_agentbench.generation.tools.recruiting.pool import Pool
from pytest_agentbench.generation.tools.values import (
    END_OF_SIMULATION,
    RUN_CONVERSATION,
    Card,
    Cards,
    ParameterCard,
    Place,
    PoolEntry,
    SemanticType,
    Taxonomy,
    Walk,
)
from pytest_agentbench.generation.tools.walks.conditioned import Conditioned
from tests.generation.tools.making import stocked, suite_in
from tests.generation.tools.test_graph import cards, flow, graph

TWICE = (RUN_CONVERSATION, "search_books", RUN_CONVERSATION, "search_books", RUN_CONVERSATION, END_OF_SIMULATION)


def entry(name: str, arguments: dict[str, object], result: object = None) -> PoolEntry:
    """A verified call."""
    return PoolEntry(id=name, tool=name.partition(".")[0], arguments=arguments, content="{}", result=result)


@pytest.mark.parametrize(
    ("left", "right", "are_alike"),
    [
        ({"q": "Saint-Lô"}, {"q": "saint lo"}, True),
        ({"q": "Paris"}, {"q": "Lyon"}, False),
        ({"lat": 48.86, "lon": 2.35}, {"lat": 48.859, "lon": 2.347}, True),
        ({"lat": 48.86, "lon": 2.35}, {"lat": 45.75, "lon": 4.85}, False),
        ({"number": 41}, {"number": 42}, False),
        ({"q": "Paris"}, {"q": "Paris", "lang": "en"}, False),
    ],
)
def test_what_means_the_same_to_a_person_is_alike(
    left: dict[str, object], right: dict[str, object], are_alike: bool
) -> None:
    """Spelling and a few kilometres make no other place; another number is another thing."""
    assert alike(left, right) is are_alike


def test_near_identical_entries_are_one_choice() -> None:
    """Of three spellings of one place and another place, two are left."""
    entries = [entry(f"find.{n}", {"q": q}) for n, q in enumerate(("Paris", "PARIS", "Lyon", "paris"))]

    assert [one.arguments["q"] for one in distinct(entries)] == ["Paris", "Lyon"]


def test_what_was_asked_for_is_seldom_asked_again() -> None:
    """One time in ten what was used stays possible; where nothing else is left it is taken."""
    entries = [entry("find.1", {"q": "Paris"}), entry("find.2", {"q": "Lyon"})]

    again = sum(len(fresh(entries, [{"q": "PARIS"}], Random(n))) == 2 for n in range(1000))

    assert 60 <= again <= 150
    assert fresh(entries[:1], [{"q": "Paris"}], Random(1)) == entries[:1]


def test_a_second_lookup_of_the_same_is_improbable_by_the_flag(tmp_path: Path) -> None:
    """Of stories that look something up twice, few look the same thing up where weights are conditioned."""

    async def repeated(stock: Stock) -> int:
        count = 0
        for seed in range(40):
            random = Random(seed)
            walk = Walk(id=f"w{seed}", nodes=TWICE)
            story = await hydrate(walk, stock, TemplateNarrator(random), language="en", random=random)
            first, second = (step.call.arguments for step in story.steps if step.call is not None)
            count += alike(first, second)
        return count

    async def both() -> tuple[int, int]:
        stock, _ = await stocked(suite_in(tmp_path, "library"))
        known = stock.pool.of("search_books")[0]
        title = str(known.arguments["title"])
        spelt = [title, title.upper(), title.title(), title.lower(), title.swapcase()]
        titles = [*dict.fromkeys(spelt), "Winter Bees"]
        entries = tuple(
            known.model_copy(update={"id": f"search_books.{n}", "arguments": {"title": one}})
            for n, one in enumerate(titles)
        )
        plain = Stock(world=stock.world, cards=stock.cards, taxonomy=stock.taxonomy, pool=Pool(entries=entries))
        conditioned = Stock(
            world=stock.world,
            cards=stock.cards,
            taxonomy=stock.taxonomy,
            pool=Pool(entries=entries),
            conditioned=True,
        )
        return await repeated(plain), await repeated(conditioned)

    plain, conditioned = asyncio.run(both())

    assert plain >= 12
    assert conditioned <= 8
    assert conditioned < plain / 2


def test_the_chain_counts_what_is_left_to_be_named() -> None:
    """Where two of three things were looked up, a third lookup is a third as likely as where nothing was."""
    given = cards("find", "look", "act", flows=(flow("find", "look", "place"), flow("find", "act", "place")))
    taxonomy = build_taxonomy(given)
    walk = [RUN_CONVERSATION, "find", "look", RUN_CONVERSATION, "find", "act", RUN_CONVERSATION]

    few = Conditioned(graph(given), taxonomy, {"find": 3, "look": 50, "act": 50}).row(walk)
    many = Conditioned(graph(given), taxonomy, {"find": 300, "look": 50, "act": 50}).row(walk)

    assert few["find"] / few["look"] == pytest.approx(many["find"] / many["look"] / 3, rel=0.05)


def named() -> tuple[Pool, Cards, Taxonomy]:
    """A tool that finds people by name, and one that takes their numbers."""
    takes = SemanticType(
        id="person", produced=(Place(tool="find", path="people.*.id"),), consumed=(Place(tool="keys", path="person"),)
    )
    who = (ParameterCard(path="name", schema_={"description": "Name of the person"}),)
    pool = Pool(
        entries=(
            entry("find.1", {"name": "Ada Roy"}, {"people": [{"id": "P11"}]}),
            entry("find.2", {"name": "Low"}, {"people": [{"id": "P12"}, {"id": "P13"}]}),
            entry("keys.1", {"person": "P11"}),
            entry("keys.2", {"person": "P12"}),
        )
    )
    known = Cards(
        cards=(
            Card(tool="find", parameters=who, writes=False),
            Card(tool="keys", parameters=(ParameterCard(path="person"),), writes=False),
        )
    )
    return pool, known, Taxonomy(types=(takes,))


def test_a_name_that_leads_to_one_thing_stands_for_it() -> None:
    """`Ada Roy` finds one person and `Low` two; only the first is a name for somebody, and it can be proven."""
    pool, known, taxonomy = named()
    handles = Handles(pool, known, taxonomy)
    first, second = pool.of("keys")

    handle = handles.of(first)

    assert handle is not None
    assert (handle.value, handle.replaces, handle.described) == ("Ada Roy", ("person",), "Name of the person")
    assert handles.of(second) is None
    assert speakable([second, first], handles) == [first]
    assert proves(handle, pool, {"person": "P11"})
    assert not proves(handle, pool, {"person": "P12"})
    assert not proves(handle.model_copy(update={"value": "Ada Low"}), pool, {"person": "P11"})
    assert not proves(handle.model_copy(update={"entry": "find.9"}), pool, {"person": "P11"})


def test_slips_are_what_users_get_wrong() -> None:
    """Two letters of a name change places, the last digit of a code is another one; numbers and words stay."""
    assert list(slips({"q": "Paris"})) == [{"q": "Parsi"}]
    assert list(slips({"code": "W-1041", "n": 3})) == [{"code": "W-1048", "n": 3}]
    assert list(slips({"kind": "abc", "n": 12})) == []
