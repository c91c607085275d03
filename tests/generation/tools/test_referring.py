"""What references hand on: which thing is meant, and no date, amount or choice that stands beside it."""

from typing import Any

import pytest
from pytest_agentbench.generation.tools.stories.completeness import RequestCheck, request_faults
from pytest_agentbench.generation.tools.stories.narrator import WishGiven
from pytest_agentbench.generation.tools.stories.propagation import Made, Propagated, propagated

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.values import Card, ParameterCard, Place, PoolEntry, SemanticType, Taxonomy
from pytest_agentbench.generation.tools.wording.phrasing import TONGUES
from pytest_agentbench.generation.tools.wording.weaving import wish_text
from pytest_agentbench.generation.tools.wording.wishes import Reference, Wish

LOAN: dict[str, JsonValue] = {"member": "M5", "due": "2031-03-09"}
SHOW = Card(tool="show", writes=False, declared_description="Show a loan.")


def reserve(**optional: dict[str, JsonValue]) -> Card:
    """A tool that reserves something for a member; arguments that may be left out are given as schemas."""
    needed = [ParameterCard(path=path, declared_required=True) for path in ("member", "title")]
    every = [*needed, *(ParameterCard(path=path, schema_=schema) for path, schema in optional.items())]
    return Card(tool="reserve", declared_description="Reserve a book for a member.", parameters=tuple(every))


def types(source: str, target: str, *paths: str) -> Taxonomy:
    """Give types that lead from results to arguments of the same names."""
    found = [
        SemanticType(id=path, produced=(Place(tool=source, path=path),), consumed=(Place(tool=target, path=path),))
        for path in paths
    ]
    return Taxonomy(types=tuple(found))


def entry(tool: str, **arguments: Any) -> PoolEntry:
    """A verified call."""
    return PoolEntry(id=f"{tool}.1", tool=tool, arguments=arguments, content="done")


def after_a_loan(card: Card, taxonomy: Taxonomy, known: PoolEntry, *, shown: Card = SHOW) -> list[Propagated]:
    """Give the arguments for a call behind one that gave a loan."""
    return propagated("show", card, [Made(shown, {}, LOAN, "", 0)], taxonomy, [known])


def test_an_optional_date_is_not_taken_from_a_result() -> None:
    """Of a loan the member is handed on; when it is due is left out, and the rest is said."""
    card = reserve(due={"type": "string", "format": "date"})

    options = after_a_loan(card, types("show", "reserve", "member", "due"), entry("reserve", member="M1", title="Emma"))

    assert [one.arguments for one in options] == [{"member": "M5", "title": "Emma"}]
    assert options[0].given == {"title": "Emma"}


def test_where_results_give_nothing_to_refer_to_all_is_said() -> None:
    """A date alone says of no argument that may be left out; the call is a verified one as a whole."""
    card = reserve(due={"type": "string", "format": "date"})

    (option,) = after_a_loan(card, types("show", "reserve", "due"), entry("reserve", member="M1", title="Emma"))

    assert option.arguments == option.given == {"member": "M1", "title": "Emma"}


@pytest.mark.parametrize(("writes", "said"), [(False, [{"due": "2031-03-09"}]), (True, [{"due": "2031-05-01"}])])
def test_a_date_that_must_be_given_is_said(writes: bool, said: list[dict[str, JsonValue]]) -> None:
    """The user says the day that a read gives; of a day that only a change gives nobody knows before."""
    card = Card(tool="plan", parameters=(ParameterCard(path="due", declared_required=True),))
    shown = SHOW.model_copy(update={"writes": writes})

    options = after_a_loan(card, types("show", "plan", "due"), entry("plan", due="2031-05-01"), shown=shown)

    assert [one.given for one in options] == said
    assert [one.arguments for one in options] == said


def test_each_thing_is_referred_to_by_its_own_noun() -> None:
    """What is taken is named, thing by thing; what is of another kind than the task's object is not called that."""
    card = Card(
        tool="order",
        declared_description="Place an order.",
        parameters=(
            ParameterCard(path="member", schema_={"description": "The member who orders."}),
            ParameterCard(path="branch_id", schema_={"description": "Number of the branch"}),
        ),
    )
    nth = Reference((1,), 3, ("branch_id", "member"), ("member",))

    alone = wish_text(Wish(card, {}, Reference((), 1, ("member",))), TONGUES["en"], before="show an order")
    both = wish_text(Wish(card, {}, nth), TONGUES["en"], before="list branches")

    assert alone == "place an order for that member"
    assert "for the second branch" in both
    assert "that member" in both or "its member" in both


def test_an_optional_choice_is_said_in_the_line_that_asks_for_it() -> None:
    """That a choice was named for something else says nothing of this call."""
    card = reserve(shelf={"type": "string", "enum": ["red", "blue"]})
    wish = WishGiven(card=card, given={"member": "M5", "title": "Emma", "shelf": "red"})
    check = RequestCheck(wishes=(wish,), asks_for="", language="en", narrative=("user: The shelf is red.",))

    missing = request_faults("Reserve Emma for member M5.", check)
    said = request_faults("Reserve Emma for member M5, on the red shelf.", check)

    assert [fault.reason for fault in missing] == ["left out"]
    assert said == []
