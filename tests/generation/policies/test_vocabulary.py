"""Users who speak French of a service whose tools and columns have English names: its French texts, or nothing."""

import re

import pytest
from pytest_agentbench.generation.policies.events.vocabulary import NoWordsError, Vocabulary, about

from pytest_agentbench.generation.policies.events.events import RejectedEventError
from pytest_agentbench.generation.policies.values import PolicySet
from tests.generation.policies.airline import airline
from tests.generation.policies.kit import events_for, maker_for

DESCRIBED = {
    "Find a member by email; gives the member id.": (
        "Recherche un membre par son adresse électronique.\n\n    :param email: Adresse électronique du membre"
    ),
    "Look up a member.": "Consulte la fiche d'un membre.\n\n    :param member_id: Numéro de membre",
    "Look up a booking.": "Consulte une réservation.\n\n    :param booking_id: Numéro de réservation",
    "Void a booking and refund its fare to the card.": (
        "Annule une réservation et rembourse le tarif sur la carte.\n\n    :param booking_id: Numéro de réservation"
    ),
    "Charge a booking to another card of the member.": (
        "Impute une réservation à une autre carte du membre.\n\n    :param booking_id: Numéro de réservation\n"
        "    :param card_id: Carte"
    ),
    "Change the email of a member.": (
        "Modifie l'adresse électronique d'un membre.\n\n    :param member_id: Numéro de membre\n"
        "    :param email: Adresse électronique"
    ),
}
RULES = {
    "Find the member by email before anything else.": "Recherchez le membre avant toute autre chose.",
    "Void a booking or move its payment only while it is open.": "N'annulez qu'une réservation ouverte.",
    "Charge a booking to a card of the member.": "Imputez une réservation à une carte du membre.",
    "Grant no upgrades.": "N'accordez aucun surclassement.",
    "Void one booking at most.": "Annulez une réservation au plus.",
    "Change the email of a member once.": "Modifiez l'adresse électronique une seule fois.",
}
NAMES = re.compile(r"\b(?:void|move|payment|update|booking|member|card|find|get|look|change|fare|code|state)s?\b", re.I)


def french(folder):
    """Write the airline with French descriptions and policies; names of tools, tables and columns stay English."""
    file = airline(folder)
    for name, words in (("air_tools.py", DESCRIBED), ("agentbench.yaml", RULES)):
        text = (folder / name).read_text(encoding="utf-8")
        for english, told in words.items():
            assert english in text
            text = text.replace(english, told)
        (folder / name).write_text(text, encoding="utf-8")
    return file


async def test_french_users_speak_french_of_tools_with_english_names(tmp_path):
    """No name of a tool, a table or a column stands in a French sentence; what is asked for is what a tool is for."""
    maker = await maker_for(french(tmp_path), seed=3)
    said = []
    for number, name in enumerate(("open-only", "one-void", "mail-once"), 1):
        one = PolicySet(id=f"c3-{number:03}", first=name, policies=(name,), requested=3, realised=3)
        event = await maker.make(one, language="fr")
        said += [event.goal, *event.says]

    values = re.compile(r"«[^»]*»|\S+@\S+|\b[A-Z]+[-\d]\S*|the \w+ card")
    assert any("pourriez-vous annuler la réservation" in line for line in said)
    assert [line for line in said if NAMES.search(values.sub("", line))] == []


async def test_without_french_words_the_event_is_refused_with_the_reason(tmp_path):
    """A service described in English gives no French user: the rejection names the tool that nothing speaks of."""
    maker = await maker_for(airline(tmp_path), seed=2)
    one = PolicySet(id="c3-001", first="open-only", policies=("open-only",), requested=3, realised=3)

    with pytest.raises(RejectedEventError, match=r"no words in the user's language.*no text of the suite says"):
        await maker.make(one, language="fr")


async def test_english_users_are_worded_from_names(tmp_path):
    """English needs no descriptions: the words of the names are the user's."""
    _, events, rejections = await events_for(airline(tmp_path), 6, 1, 8)

    assert rejections == []
    assert any("void booking" in line for event in events for line in event.says)


def test_a_value_stands_behind_the_thing_it_is_of():
    """Where the deed names the thing, its article becomes definite; else the value stands in parentheses."""
    assert about("annuler une commande", "numéro de commande", "W1") == "annuler la commande W1"
    assert about("prolonger un abonnement", "abonnement", "7") == "prolonger l'abonnement 7"
    assert about("annuler une commande", "", "W1") == "annuler une commande (W1)"


def test_names_and_values_that_no_text_has_are_left_out_or_quoted():
    """A column that the texts never call anything has no name; a value of a list is quoted; a deed is refused."""
    words = Vocabulary(deeds={"void": "annuler"}, known=frozenset({"statut"}), plain=False)

    assert words.name("statut") == "statut"
    assert words.name("shipping_fee") == ""
    assert words.value("no longer needed") == "« no longer needed »"
    with pytest.raises(NoWordsError, match="what move_payment does"):
        words.deed("move_payment")
