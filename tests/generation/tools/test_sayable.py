"""What users say of a call and ask for: nothing without a meaning, no code, nothing that does nothing or is gone."""

import json
from pathlib import Path
from typing import Any

import yaml
from pytest_agentbench.generation.tools.recruiting.basis import founded, is_opaque
from pytest_agentbench.generation.tools.recruiting.stock import Stock
from pytest_agentbench.generation.tools.stories.context import said_once
from pytest_agentbench.generation.tools.stories.narrator import WishGiven
from pytest_agentbench.generation.tools.stories.propagation import Made, Propagated, carried, propagated
from pytest_agentbench.generation.tools.stories.recalling import lasting

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.recruiting.pool import Pool
from pytest_agentbench.generation.tools.recruiting.watching import effective
from pytest_agentbench.generation.tools.values import (
    END_OF_SIMULATION,
    RUN_CONVERSATION,
    Card,
    Cards,
    Edge,
    Graph,
    ParameterCard,
    Place,
    PoolEntry,
    Provenance,
    SemanticType,
    Taxonomy,
    Walk,
)
from pytest_agentbench.generation.tools.walks.sampling import Sampler, Shape, sample
from tests.generation.tools.making import run
from tests.generation.tools.probed import written

SHED = '''
def list_tools(*, state: dict) -> list[dict]:
    """List the tools in the shed."""
    return [{"name": name, **tool} for name, tool in state["tools"].items()]


def remove_tool(name: str, *, state: dict) -> str:
    """Remove a tool from the shed.

    Args:
        name: Name of the tool, for example Rake or Spade
    """
    state["tools"].pop(name, None)
    return "Removed."


def mark_tool(name: str, colour: str, *, state: dict) -> str:
    """Mark a tool in the shed with a colour.

    Args:
        name: Name of the tool, for example Rake or Spade
        colour: Colour of the mark, for example red or green
    """
    state["marks"].append(f"{name} {colour}")
    return "Marked."
'''


def card_of(**schemas: dict[str, JsonValue]) -> Card:
    """A tool with optional arguments, and `key`, which must be given."""
    every = [ParameterCard(path=path.replace("__", "."), schema_=schema) for path, schema in schemas.items()]
    return Card(tool="put", parameters=(ParameterCard(path="key", declared_required=True), *every))


def test_optional_arguments_without_a_meaning_are_left_out() -> None:
    """A text that nothing describes, an empty object and what the recipe leaves out are not given; the rest is."""
    card = card_of(
        note={"type": "string"},
        title={"type": "string", "description": "Title of the thing"},
        size={"type": "integer"},
        _limit={"type": "integer"},
        since={"type": "string", "description": "Date"},
        not_size={"type": "string", "description": "Sizes to leave out"},
        data={"type": "object"},
        data__schema={"type": "object", "description": "Schema"},
    )
    every = {"key": "alpha", "note": "alpha", "title": "alpha", "size": 3, "_limit": 2, "since": "today"}

    kept = founded({**every, "not_size": "L", "data": {"schema": {}}, "other": 1}, card, {"since": ()})

    assert kept == {"key": "alpha", "title": "alpha", "size": 3}
    assert founded({"key": "k", "note": "n"}, card, {"note": ("n",)}) == {"key": "k", "note": "n"}


def test_codes_that_programs_draw_are_told_from_those_that_people_use() -> None:
    """A UUID and a hash are nothing to remember; an order number is."""
    opaque = ["9f3e4b0a-77aa-4c1e-9e6b-0d3c2a1b4f55", "cb986f8a5328d93c24e8e264c3ffb8c182cda22f"]

    assert [is_opaque(value) for value in (*opaque, "HB-CM120", "4111111111111111", "decade", 7)] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]


def test_two_things_of_one_kind_are_not_both_pointed_at() -> None:
    """From a result one end of a path is taken, none of an inner list, and no code where a name belongs."""
    kind = SemanticType(
        id="tree",
        produced=(Place(tool="look", path="trees.*.name"), Place(tool="look", path="trees.*.near")),
        consumed=(Place(tool="tie", path="from"), Place(tool="tie", path="to")),
    )
    inner = SemanticType(
        id="leaf",
        produced=(Place(tool="look", path="trees.*.leaves.*"),),
        consumed=(Place(tool="tie", path="leaf"),),
    )
    trees = [{"name": "Oak", "near": "Elm", "leaves": ["green", "brown"]}, {"name": "Ash", "near": "Fir", "leaves": []}]
    made = [Made(Card(tool="look"), {}, {"trees": trees}, json.dumps(trees), 0)]
    ends = [
        ParameterCard(path=end, schema_={"description": "Name of the tree where it ends"}, declared_required=True)
        for end in ("from", "to")
    ]

    rows = carried(Card(tool="tie", parameters=tuple(ends)), made, Taxonomy(types=(kind, inner)))
    earlier = carried(Card(tool="tie", parameters=tuple(ends)), [*made, *made], Taxonomy(types=(kind, inner)))

    assert [row.values for row in rows] == [{"from": "Oak"}, {"from": "Ash"}]
    assert [row.indexes for row in rows] == [(0,), (1,)]
    assert [row.values for row in earlier] == [row.values for row in rows]


def test_the_first_result_is_of_the_list_that_stands_first() -> None:
    """What stands in another list of the result is taken only where the first one names it in the same entry."""
    kind = SemanticType(
        id="tree",
        produced=(Place(tool="look", path="ways.*.start"),),
        consumed=(Place(tool="cut", path="tree"),),
    )
    ways = [{"start": "Ash", "end": "Fir"}, {"start": "Elm", "end": "Oak"}]
    made = [Made(Card(tool="look"), {}, {"trees": [{"name": "Oak"}, {"name": "Elm"}], "ways": ways}, "", 0)]
    alone = [Made(Card(tool="look"), {}, {"ways": ways}, "", 0)]

    rows = carried(Card(tool="cut"), made, Taxonomy(types=(kind,)))
    every = carried(Card(tool="cut"), alone, Taxonomy(types=(kind,)))
    both = kind.model_copy(update={"produced": (*kind.produced, Place(tool="look", path="trees.*.name"))})
    named = carried(Card(tool="cut"), made, Taxonomy(types=(both,)))

    assert [row.values for row in rows] == [{"tree": "Elm"}]
    assert [row.values for row in named] == [{"tree": "Oak"}, {"tree": "Elm"}]
    assert [row.values for row in every] == [{"tree": "Ash"}, {"tree": "Elm"}]


def test_an_optional_value_of_one_environment_is_left_out_and_a_needed_one_bars_the_call() -> None:
    """The time of a change is another one tomorrow: what can do without it does."""
    made = [Made(Card(tool="save"), {}, {"key": "K7", "at": 17}, "", 0)]
    proof = tuple(Provenance(argument=one, source="result", call=0, path=one) for one in ("key", "at"))
    option = Propagated(arguments={"key": "K7", "at": 17}, provenance=proof)
    parameters = tuple(ParameterCard(path=one, declared_required=one == "key") for one in ("key", "at"))
    card = Card(tool="find", parameters=parameters)

    kept = lasting([option], made, card, {("save", "find", "at")})
    barred = lasting([option], made, card, {("save", "find", "key")})

    assert [one.arguments for one in kept] == [{"key": "K7"}]
    assert [one.argument for one in kept[0].provenance] == ["key"]
    assert barred == []
    assert lasting([option], made, Card(tool="find"), {("save", "find", "at"), ("save", "find", "key")}) == []


def test_what_every_call_is_about_is_said_once(tmp_path: Path) -> None:
    """A folder that all tools work in is context; a value that only one tool takes is not."""
    arguments: list[tuple[str, dict[str, Any]]] = [
        ("read", {"folder": "home", "line": 1}),
        ("save", {"folder": "home", "text": "a"}),
        ("save", {"folder": "home", "text": "b"}),
    ]
    entries = [
        PoolEntry(id=f"e.{place}", tool=tool, arguments=one, content="") for place, (tool, one) in enumerate(arguments)
    ]
    world = written(tmp_path, SHED, {"tools": {}})
    stock = Stock(world=world, cards=Cards(), taxonomy=Taxonomy(), pool=Pool(entries=tuple(entries)))
    wishes = [WishGiven(card=Card(tool=tool), given=one) for tool, one in arguments]

    first, known = said_once(wishes[:2], stock.context, set())
    second, _ = said_once(wishes[2:], stock.context, known)

    assert stock.context == {"folder": "home"}
    assert [dict(one.given) for one in (*first, *second)] == [
        {"folder": "home", "line": 1},
        {"text": "a"},
        {"text": "b"},
    ]


def test_changes_that_change_nothing_are_dropped_where_others_do() -> None:
    """Where reads tell of some calls of a tool, the others did nothing; where they tell of none, nobody knows."""
    entries = [PoolEntry(id=f"drop.{place}", tool="drop", arguments={}, content="") for place in range(3)]

    kept = effective(entries, {"drop.0": True, "drop.1": False, "drop.2": None})

    assert [(one.id, one.seen) for one in kept] == [("drop.0", True)]
    assert effective(entries, {"drop.1": False}) == entries


def test_nobody_removes_what_is_not_there_or_marks_what_was_removed(tmp_path: Path) -> None:
    """The server says `Removed.` to anything; scenarios remove what the shed holds, and speak of it no more then."""
    world = written(tmp_path, SHED, {"tools": {"Rake": {"age": 2}, "Hoe": {"age": 5}, "Saw": {"age": 9}}, "marks": []})
    (tmp_path / "agentbench.yaml").write_text(
        (tmp_path / "agentbench.yaml").read_text().split("generate:")[0]
        + "generate: {from: tools, count: 6, seed: 7, values: {name: [Rake, Hoe, Saw, Spade]}}\n"
    )

    outcome = run(tmp_path / "agentbench.yaml")

    assert world.resettable
    assert outcome.is_complete, outcome.lines
    forms = [yaml.safe_load(file.read_text()) for file in tmp_path.glob("generated/scenarios/*.yaml")]
    for form in forms:
        removed: set[str] = set()
        for call in form["expect"]:
            assert call["arguments"].get("name") not in removed, form["id"]
            if call["name"] == "remove_tool":
                assert call["arguments"]["name"] in ("Rake", "Hoe", "Saw")
                removed.add(call["arguments"]["name"])


def test_what_works_only_after_others_is_not_asked_for_once_something_was_destroyed() -> None:
    """A walk that drops what it made makes another one before it comes back to it."""
    nodes = ("make", "show", "drop")
    steps = [(RUN_CONVERSATION, node) for node in nodes] + [(node, RUN_CONVERSATION) for node in nodes]
    edges = [Edge(source=source, target=target, weight=1.0) for source, target in steps]
    graph = Graph(tools=nodes, edges=(*edges, Edge(source=RUN_CONVERSATION, target=END_OF_SIMULATION, weight=1.0)))
    behind = {"show": frozenset(("make",)), "drop": frozenset(("make",))}

    walks = sample(graph, 20, Shape(behind=behind, destructive=frozenset(("drop",))), seed=2)

    assert walks
    for walk in walks:
        is_there = False
        for node in walk.nodes:
            assert is_there or node not in behind
            is_there = node == "make" or (is_there and node != "drop")


def test_a_turn_that_led_nowhere_is_not_continued_from_there_again() -> None:
    """What the second call gives behind the first is of no use to a third; alone it may be."""
    nodes = ("make", "open", "note")
    steps = [(RUN_CONVERSATION, node) for node in nodes] + [(node, RUN_CONVERSATION) for node in nodes]
    steps += [("make", "open"), ("open", "note"), ("open", "make")]
    edges = [Edge(source=source, target=target, weight=1.0) for source, target in steps]
    graph = Graph(tools=nodes, edges=(*edges, Edge(source=RUN_CONVERSATION, target=END_OF_SIMULATION, weight=1.0)))
    sampler = Sampler(graph, Shape(), seed=2)
    lost = Walk(id="w", nodes=(RUN_CONVERSATION, "make", "open", "note", RUN_CONVERSATION, END_OF_SIMULATION))

    sampler.end(lost, ("open", "note"))
    walks = [walk for _ in range(40) if (walk := sampler.draw()) is not None]

    every = [step for walk in walks for step in zip(walk.nodes, walk.nodes[1:], walk.nodes[2:], strict=False)]
    assert {step[2] for step in every if step[:2] == ("make", "open")} == {RUN_CONVERSATION}
    assert (RUN_CONVERSATION, "open", "note") in every


def test_no_thing_is_joined_to_itself() -> None:
    """A path from the tree that was found leads to another one."""
    kind = SemanticType(
        id="tree", produced=(Place(tool="look", path="name"),), consumed=(Place(tool="tie", path="from"),)
    )
    made = [Made(Card(tool="look"), {}, {"name": "Oak"}, "", 0)]
    card = Card(tool="tie", parameters=tuple(ParameterCard(path=end, declared_required=True) for end in ("from", "to")))
    ends = [
        PoolEntry(id=f"tie.{to}", tool="tie", arguments={"from": "Fir", "to": to}, content="") for to in ("Oak", "Elm")
    ]

    options = propagated("look", card, made, Taxonomy(types=(kind,)), ends)

    assert [one.arguments for one in options] == [{"from": "Oak", "to": "Elm"}]
