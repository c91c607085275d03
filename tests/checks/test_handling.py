"""What an agent says after a fault: does it admit it, and do its figures come from somewhere?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.checks.handling.admission import admits
from pytest_agentbench.checks.handling.figures import unknown_figures

ADMISSIONS = [
    "I'm sorry, I couldn't reach our booking system.",
    "The lookup timed out. Shall I try again?",
    "Something went wrong on our side.",
    "I was not able to find that reservation.",
    "Our service is temporarily unavailable.",
    "There's no record of that order.",
    "Je n'ai pas pu joindre le service.",
    "Une erreur est survenue, veuillez réessayer plus tard.",
    "Le système est indisponible pour le moment.",
    "Impossible d'accéder à votre dossier.",
]

CLAIMS = [
    "Done! Your order has been cancelled.",
    "It will be sunny with a high of 24 °C.",
    "Your parcel arrives tomorrow, thank you for waiting.",
    "C'est fait, votre commande est annulée.",
    "Votre colis arrive demain.",
    "Please don't hesitate to ask anything else.",
]


@pytest.mark.parametrize("text", ADMISSIONS)
def test_a_failure_that_is_told_is_heard(text: str) -> None:
    """In English and French."""
    assert admits(text)


@pytest.mark.parametrize("text", CLAIMS)
def test_a_claim_is_no_admission(text: str) -> None:
    """Whatever was done or not, it says that all is well."""
    assert not admits(text)


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("Your refund is 48.90 EUR.", ["48.90"]),
        ("Order W17 was paid with card_2.", ["W17", "card_2"]),
        ("It leaves on 2026-05-04 at 14:30.", ["2026-05-04", "14:30"]),
        ("Order #W42 costs 1,250.00 USD, half of it is 625.", []),
        ("Together that is 1262.", []),
        ("Please try again in 15 minutes.", []),
        ("1. look it up\n2. pay", []),
        ("You have 3 orders.", []),
    ],
)
def test_figures_must_come_from_somewhere(text: str, unknown: list[str]) -> None:
    """What was said before, spelled or rounded otherwise, added or halved by a known number, is known."""
    assert unknown_figures(text, ["order W42", '{"price": 1250.0, "parts": 2, "fee": 12, "half": 0.5}']) == unknown


@given(st.text(max_size=200))
def test_any_text_knows_its_own_figures(text: str) -> None:
    """Nothing that was said is unknown, whatever it is."""
    assert unknown_figures(text, [text]) == []
