"""Yes, no, and neither, in English and French; about half of the replies are those of recorded conversations."""

from functools import cache

import pytest

from pytest_agentbench.checks.consent import Answer, asks_permission, read_answer
from tests.checks.tau2 import recordings
from tests.shared_data import needs_shared

RECORDED: list[tuple[str, str, int, Answer]] = [
    ("airline", "cdc67a32", 19, "yes"),
    ("airline", "1822b679", 19, "yes"),
    ("airline", "75c7c303", 21, "yes"),
    ("airline", "25e00f1e", 15, "yes"),
    ("airline", "3ad6d1a0", 19, "yes"),
    ("airline", "85f9deab", 38, "yes"),
    ("airline", "92183800", 47, "yes"),
    ("retail", "89af04d0", 16, "yes"),
    ("retail", "8fe11cd0", 35, "yes"),
    ("telecom", "08fa5fe4", 19, "other"),
    ("retail", "582f048c", 27, "other"),
    ("airline", "8b4d82b4", 7, "no"),
    ("airline", "1f281dd7", 14, "other"),
    ("airline", "5ab79f23", 17, "other"),
    ("airline", "1b9524ff", 11, "other"),
    ("airline", "7b3583bc", 27, "yes"),
    ("airline", "2c25524b", 13, "yes"),
    ("airline", "5e5749a9", 5, "other"),
    ("airline", "7df6af09", 23, "yes"),
    ("airline", "491d7698", 27, "other"),
]
"""Domain, beginning of the simulation's id, index of the user's message, and what it amounts to, read by a person."""

WRITTEN: list[tuple[str, Answer]] = [
    ("Sure, do it, even though it is a pity", "yes"),
    ("oui", "yes"),
    ("Oui, allez-y.", "yes"),
    ("D’accord !", "yes"),
    ("ok vas-y", "yes"),
    ("Merci, c'est parfait, vous pouvez procéder.", "yes"),
    ("No changes, please go ahead", "yes"),
    ("That would be great, thank you.", "yes"),
    ("Please do, thanks", "yes"),
    ("I'd like that.", "yes"),
    ("Annulez-la.", "yes"),
    ("Gardez-la.", "other"),
    ("Yes, please go ahead, but tell me the fee before you do.", "reserved"),
    ("Oui, dites-moi le prix avant de valider.", "reserved"),
    ("Yes, but use the other card", "reserved"),
    ("Yes. But use the other card", "reserved"),
    ("Oui, mais pas sur cette carte", "reserved"),
    ("Ok, how much will I get back?", "reserved"),
    ("yes, unless there is a fee", "reserved"),
    ("no", "no"),
    ("Non merci", "no"),
    ("Please don't do that", "no"),
    ("Ne faites pas ça", "no"),
    ("Don't go ahead", "no"),
    ("Wait, not yet", "no"),
    ("", "other"),
    ("\ud800?!", "other"),
    ("Si c'est gratuit, pourquoi pas", "other"),
    ("I'll have to think", "other"),
]


@pytest.mark.parametrize(("text", "answer"), WRITTEN)
def test_an_answer_is_read(text: str, answer: Answer) -> None:
    """A yes opens the reply or goes ahead explicitly; a reservation or a question back takes it away."""
    assert read_answer(text) == answer


@cache
def replies(domain: str) -> dict[tuple[str, int], str]:
    """Every message of a domain's recordings by simulation and index."""
    return {
        (found.run.scenario.id[:8], index): message.text
        for found in recordings(domain)
        for index, message in enumerate(found.run.transcript.messages)
    }


@needs_shared
@pytest.mark.parametrize(("domain", "simulation", "index", "answer"), RECORDED)
def test_a_recorded_answer_is_read(domain: str, simulation: str, index: int, answer: Answer) -> None:
    """What simulated users said before writes is read as a person reads it."""
    assert read_answer(replies(domain)[simulation, index]) == answer


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Please reply “yes” to confirm and I’ll make the change.", True),
        ("Please let me know if you’d like me to proceed with that.", True),
        ("Please confirm with “yes” to proceed or let me know if you’d like any changes.", True),
        ("Would you still like to proceed with cancelling?", True),
        ("Voulez-vous que je rembourse la commande ?", True),
        ("Merci de confirmer le remboursement.", True),
        ("Refund W1 to your card?", True),
        ("Could you please provide your phone number so I can look up your account?", False),
        ("Quel est votre numéro de commande ?", False),
        ("Could you please confirm your email address?", False),
        ("Can you confirm if you are using the number 555-123-2002 in France?", False),
        ("Pouvez-vous confirmer votre adresse e-mail ?", False),
        ("La commande W1001 est bien à votre nom ?", False),
        ("Please confirm that you are sure you want to cancel.", True),
        ("Can you confirm the change of your address?", True),
        ("Is there anything else I can help you with?", False),
        ("Would you like to make any changes to this reservation?", False),
        ("Puis-je vous aider pour autre chose ?", False),
        ("I have refunded your order.", False),
        ("", False),
    ],
)
def test_asking_for_a_yes_is_told_from_asking_for_information(text: str, asks: bool) -> None:
    """Open offers and questions for a value permit nothing."""
    assert asks_permission(text) is asks
