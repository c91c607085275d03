"""What an assembled scenario asks for: a refusal or a decline never asks for reads."""

import asyncio
from pathlib import Path
from typing import Any

from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.generation.assemble import scenario_forms
from pytest_agentbench.generation.draft import Draft, PlannedCall, Stated, Turn
from pytest_agentbench.generation.language.wording import ConversationBrief, PlainWording
from pytest_agentbench.generation.recipe import Hashes
from tests.generation.draft.right import declining, library, make, refusing
from tests.generation.draft.test_produce import produce
from tests.generation.drafting import Do, Owner, Say

HASHES = Hashes(recipe="r", tools="t", policies="p")


def form_of(draft: Draft) -> dict[str, Any]:
    """Assemble the only scenario of a draft."""
    (form,) = scenario_forms(draft, hashes=HASHES, seed=7)
    return form


def untold(draft: Draft) -> Draft:
    """Leave out what the agent must say."""
    turns = tuple(turn.model_copy(update={"wanted": ()}) for turn in draft.turns)
    return draft.model_copy(update={"turns": turns, "communicate": ()})


def test_a_scenario_that_only_reads_asks_for_its_reads(tmp_path: Path) -> None:
    """Nothing else could tell an agent that does nothing from a right one."""
    suite = library(tmp_path)
    draft = make(suite, "read", [Say(calls=[Do("list_loans", {"member_id": "M21"})])], owner=Owner(key="M21"))

    assert form_of(draft)["match"] == {"expected_calls": "all"}


def test_a_plain_persona_does_not_repeat_what_the_user_knows(tmp_path: Path) -> None:
    """`Member id: M21.` describes nobody; what a model wrote of a person does."""
    suite = library(tmp_path)
    draft = make(suite, "read", [Say(calls=[Do("list_loans", {"member_id": "M21"})])], owner=Owner(key="M21"))
    said = asyncio.run(PlainWording().lines(ConversationBrief(draft=draft)))
    plain = draft.model_copy(update={"personas": said.personas, "worded_by": "plain"})

    assert "M21" in form_of(plain)["knows"].values()
    assert "persona" not in form_of(plain)
    assert form_of(plain.model_copy(update={"worded_by": "model"}))["persona"] == "Member id: M21."


def test_a_title_that_is_cut_shows_it(tmp_path: Path) -> None:
    """The purpose stands beside it as a whole."""
    suite = library(tmp_path)
    draft = make(suite, "read", [Say(calls=[Do("list_loans", {"member_id": "M21"})])], owner=Owner(key="M21"))

    form = form_of(draft.model_copy(update={"purpose": "A member asks. " * 20}))

    assert (len(form["title"]), form["title"][-1]) == (120, "…")


def test_a_refusal_or_decline_asks_for_no_reads(tmp_path: Path) -> None:
    """A right agent asks "Shall I?", hears no, and has nothing to look up."""
    suite = library(tmp_path)

    for draft in (untold(declining(suite)), untold(refusing(suite)), declining(suite)):
        assert "match" not in form_of(draft)


def test_a_refusal_that_nothing_decides_is_lost_as_vacuous(tmp_path: Path) -> None:
    """An agent that does nothing passes it; what must be said decides where there is something."""
    suite = library(tmp_path)

    report, _ = produce(suite, [untold(declining(suite, "d1")), untold(refusing(suite, "d2")), declining(suite, "d3")])

    assert [(loss.draft, loss.reason) for loss in report.losses] == [
        ("d1", "validation: vacuous"),
        ("d2", "validation: vacuous"),
    ]
    assert [draft.id for draft in report.accepted] == ["d3"]


def test_a_user_who_is_asked_gives_the_name_that_it_meant_not_the_slip() -> None:
    """The slip stands in the first request alone; a wish that is refused is no slip, and stays what is known first."""

    def trying(label: str, first: str, then: str, **facts: str) -> dict[str, Any]:
        calls = [
            PlannedCall(call=ExpectedCall(name="find", arguments={label: one}), fails=one == first)
            for one in (first, then)
        ]
        turns = [
            Turn(calls=(call,), states=(Stated(label=label, value=value, argument=label),))
            for call, value in zip(calls, (first, then), strict=True)
        ]
        return Draft(id="d1", source="tools", turns=tuple(turns), owner=Owner(key="M21", facts=facts)).known

    assert trying("name", "Rita Msos", "Rita Moss") == {"name": "Rita Moss", "name 2": "Rita Msos"}
    assert trying("name", "Rita Msos", "Carl Penn", name="Rita Moss")["name"] == "Rita Moss"
    assert trying("name", "Rita Moss", "Carl Penn") == {"name": "Rita Moss", "name 2": "Carl Penn"}
