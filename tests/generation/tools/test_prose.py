"""Answers in prose: the codes in them by kind, and what of them answers the question that was asked."""

from random import Random

import pytest

from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.tools.kinds_told import kinds_told
from pytest_agentbench.generation.tools.probing.conforming import stranger
from pytest_agentbench.generation.tools.recruiting.pool import Pool
from pytest_agentbench.generation.tools.recruiting.scouting import ScoutGiven, TemplateScout
from pytest_agentbench.generation.tools.stories.facts import facts_of, said_at
from pytest_agentbench.generation.tools.stories.flows import found_at
from pytest_agentbench.generation.tools.stories.labelled import coded
from pytest_agentbench.generation.tools.values import Card, Cards, ParameterCard, PoolEntry
from pytest_agentbench.generation.tools.wording.phrasing import TONGUES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ticket no. T-881 of customer C-104.", [("ticket", "T-881"), ("customer", "C-104")]),
        ("It is done (réservation R-905, 4,20 €).", [("reservation", "R-905")]),
        ("Repas de Léa : R-904, le 7 mai ; R-905.", [("repas", "R-904"), ("repas", "R-905")]),
        ("X-12 and Y-13", []),
    ],
)
def test_the_word_before_says_what_a_code_is_of(text: str, expected: list[tuple[str, str]]) -> None:
    """What nothing says the kind of is left to the other forms."""
    assert [(name, code) for name, code, _ in coded(text)] == expected


def test_several_codes_of_a_kind_are_told_apart_by_their_place() -> None:
    """The second of two is not just *that* one; where there is one, nothing has to be said of its place."""
    pattern = next(form for _, code, form in coded("Marins : M-41, M-42") if code == "M-41")

    several = list(found_at("Marins : M-41, M-42, M-41", "", pattern))
    single = list(found_at("Marin M-41, M-41", "", pattern))

    assert [(one.value, one.indexes) for one in several] == [("M-41", (0,)), ("M-42", (1,)), ("M-41", (0,))]
    assert {one.indexes for one in single} == {()}


@pytest.mark.parametrize(
    ("description", "text", "expected"),
    [
        ("Donne le solde d'un compte.", "Il reste 42,50 € sur la carte de Paul.", ["42,50"]),
        ("Donne le solde d'un compte.", "Il reste 0,00 € sur la carte de Paul.", []),
        ("Recherche la fiche d'un voilier.", "Le voilier a la fiche V-318, payée 12 €, marin M-4.", ["V-318"]),
        ("Donne les allergies d'un marin.", "Il est là. Allergies signalées : lait.", ["lait"]),
        ("Donne le programme du jour.", "Le programme : voile légère, paddle.", ["voile légère", "paddle"]),
        ("Donne la météo du port.", "Il fait beau, et le café coûte 2,50 € (table T-4).", []),
        ("Donne le prix d'une place.", "Le prix est de 80 €, la taxe de 3 €.", ["80"]),
        ("Donne le prix d'une place.", "C'est 80 €, et 3 € de taxe.", []),
    ],
)
def test_what_answers_the_question_is_told_and_nothing_else(description: str, text: str, expected: list[str]) -> None:
    """A value is told where it is what the tool is asked for; it can be found again in a later answer."""
    card = Card(tool="x", declared_description=description, writes=False)

    facts = list(facts_of(text, card, TONGUES["fr"], "Bonjour"))

    assert [fact.text for fact in facts] == expected
    assert all(fact.answers and said_at(text, fact.path) == fact.text for fact in facts)
    assert all(said_at("Rien.", fact.path) is None for fact in facts)


def test_a_change_and_what_was_said_are_not_told() -> None:
    """What a user said himself, and what a change answers, asks for nothing."""
    text = "Il reste 42,50 € sur la carte."
    read = Card(tool="x", declared_description="Donne le solde d'un compte.", writes=False)

    assert not list(facts_of(text, read, TONGUES["fr"], "Il y avait 42.50 euros"))
    assert not list(facts_of(text, read.model_copy(update={"writes": True}), TONGUES["fr"], ""))


async def test_a_number_is_no_name_and_made_up_money_has_cents() -> None:
    """A search by name is never worded with a number, and nobody pays parts of a cent."""
    nom = ParameterCard(path="nom", schema_={"type": "string"}, declared_required=True, accepted=("Morvan", "1"))
    card = Card(tool="x", declared_description="Recherche.", writes=False, parameters=(nom,))

    scouted = await TemplateScout()(ScoutGiven(card=card))

    assert list(scouted.candidates) == [{"nom": "Morvan"}]
    assert all(round(made, 2) == made for made in (stranger(5.0, Random(seed)) for seed in range(20)))


def test_a_session_says_what_it_saw_of_tools_whose_kind_is_unknown() -> None:
    """What changed something belongs under `writes`, what did not under `reads`; nothing is said where all is known."""
    specs = [ToolSpec(name=name, parameters={}) for name in ("eintragen", "stand", "dunkel")]
    entries = (
        PoolEntry(id="eintragen.1", tool="eintragen", arguments={}, content="ok", seen=True),
        PoolEntry(id="stand.1", tool="stand", arguments={}, content="3"),
    )

    lines = "\n".join(kinds_told(specs, Cards(), Pool(entries=entries)))

    assert "kind unknown: eintragen, stand, dunkel" in lines
    assert "`environment: {reads: [stand], writes: [eintragen]}`" in lines
    assert "no call of dunkel worked" in lines
    assert not kinds_told([ToolSpec(name="get_key", parameters={}, kind="read")], Cards(), Pool())


def test_nobody_asks_to_be_told_the_cancelled() -> None:
    """A key that says what was done names no value; one that is a noun does."""
    made = Card(tool="cancel_booking", declared_description="Cancel the booking of a boat.")

    facts = list(facts_of({"cancelled": "Heron", "boat": "Heron"}, made, TONGUES["en"], "Hello"))

    assert [fact.name for fact in facts] == ["boat"]
