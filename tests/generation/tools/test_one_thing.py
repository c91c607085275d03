"""Requests for one thing of tools that are described for several, and arguments whose names alone say little."""

import pytest

from pytest_agentbench.generation.tools.values import Card, ParameterCard
from pytest_agentbench.generation.tools.wording.phrasing import TONGUES, label_of, task_of
from pytest_agentbench.generation.tools.wording.weaving import wish_text
from pytest_agentbench.generation.tools.wording.wishes import Reference, Wish

EN = TONGUES["en"]


def card_of(description: str, **arguments: str) -> Card:
    """A tool with that description and those arguments; `__` in a name stands for the entries of a list."""
    parameters = [
        ParameterCard(path=name.replace("__", ".*.").removesuffix("."), schema_={"description": text})
        for name, text in arguments.items()
    ]
    return Card(tool="tool", declared_description=description, parameters=tuple(parameters))


PLANTED = card_of(
    "Register multiple new trees in the garden", trees__name="The name of the tree", trees__kind="The kind of the tree"
)
MADE = card_of("Create new trees in the garden", trees__name="The name of the tree", trees__notes__="")
FELLED = card_of("Remove trees and their branches", treeNames__="")
NOTED = card_of("Add notes to existing trees", tree_name="The name of the tree to add to", note="")
TIED = card_of(
    "Create a path between trees",
    **{"from": "The name of the tree where the path begins", "to": "The name of the tree where the path ends"},
)
FOUND = card_of("Search for trees in the garden based on a query", query="The search query")
SHOWN = card_of("Show trees by their names", names__="")
WALKED = card_of("Switches paths", path_name="The name of the path")
DRAWN = card_of("Shows the changes", context_lines="")
KEPT = card_of("Keep a basket", id="")
FILLED = card_of("Create a heap", basket_id="")
OFFERED = card_of("Creates a new path from an optional start tree", path_name="", start_tree="")


@pytest.mark.parametrize(
    ("wish", "before", "said"),
    [
        (
            Wish(MADE, {"trees.*.name": "Oak", "trees.*.notes.*": "grows slowly"}),
            "",
            "create a new tree called Oak in the garden. Note: grows slowly.",
        ),
        (
            Wish(PLANTED, {"trees.*.name": "Oak", "trees.*.kind": "native"}),
            "",
            "register a new tree called Oak in the garden. The kind of the tree is native.",
        ),
        (Wish(FELLED, {"treeNames.*": "Oak"}), "", "remove the tree Oak and its branches"),
        (Wish(FELLED, {}, Reference((0,), 1, ("treeNames.*",))), "plant a tree", "remove that tree and its branches"),
        (Wish(NOTED, {"tree_name": "Oak", "note": "big"}), "", "add note big to the tree Oak"),
        (Wish(TIED, {"from": "Oak", "to": "Elm"}), "", "create a path between trees from Oak to Elm"),
        (
            Wish(TIED, {"to": "Elm"}, Reference((0,), 3, ("from",))),
            "list trees",
            "create a path between trees from the first tree to Elm",
        ),
        (Wish(FOUND, {"query": "apple"}), "", "search for trees in the garden matching apple"),
        (Wish(SHOWN, {"names.*": "Oak"}), "", "show me trees with the name Oak"),
        (Wish(SHOWN, {}, Reference((1,), 3, ("names.*",))), "list names", "show me trees by the second name"),
        (Wish(WALKED, {"path_name": "north"}), "", "switch to the path north"),
        (Wish(DRAWN, {"context_lines": 5}), "", "show me the changes with 5 context lines"),
        (Wish(DRAWN, {"context_lines": 1}), "", "show me the changes with 1 context line"),
        (Wish(KEPT, {"id": "7"}), "", "keep basket 7"),
        (Wish(FILLED, {"basket_id": "apples"}), "", "create a heap for basket apples"),
        (
            Wish(FILLED, {}, Reference((), 1, ("basket_id",))),
            "keep a basket",
            "create a heap for that basket",
        ),
        (Wish(OFFERED, {"path_name": "north"}), "", "create a new path called north"),
        (
            Wish(OFFERED, {"path_name": "north", "start_tree": "Oak"}),
            "",
            "create a new path called north from the start tree Oak",
        ),
    ],
)
def test_one_thing_is_asked_for_as_one(wish: Wish, before: str, said: str) -> None:
    """A list with one entry is one thing: made by its name, meant among several, pointed at."""
    assert wish_text(wish, EN, before=before) == said


def test_what_is_named_after_one_of_several_ways_is_no_question() -> None:
    """`Whether to …` of a text is not said as a question, and the label's own number decides about its verb."""
    way = ParameterCard(path="order_type", schema_={"type": "string", "description": "Whether to sort 'up' or 'down'."})
    start = ParameterCard(path="start", schema_={"type": "string", "description": "Start time for sorting trees"})
    card = Card(tool="sort", declared_description="Sort trees", parameters=(way, start))

    said = wish_text(Wish(card, {"order_type": "up", "start": "noon"}), EN)

    assert label_of(card, "order_type", EN) == "order type"
    assert "The order type is up" in said
    assert "the start time for sorting trees is noon" in said


def test_a_noun_at_the_end_is_no_verb() -> None:
    """`branches or commits` stay what they are; `creates and returns a ticket` does not."""
    assert task_of(Card(tool="t", declared_description="Shows paths or marks"), EN) == "show me paths or marks"
    assert task_of(Card(tool="t", declared_description="Marks and shows a path"), EN) == "mark and show me a path"
