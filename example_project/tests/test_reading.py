"""The facts in a message are read whatever their form."""

import pytest
from support.addresses import Address, parse_address
from support.answers import says_no, says_yes
from support.entities import emails, is_french, order_ids, payment_hint
from support.items import sizes, things
from support.names import full_name


@pytest.mark.parametrize(
    "text", ["W1001", "w 1001", "#W1001", "order 1001", "order no. W1001", "commande n° 1001", "W-1001"]
)
def test_reads_order_numbers_in_any_form(text):
    """However it is written, it is order W1001."""
    assert order_ids(f"It is about {text}, please") == ["W1001"]


@pytest.mark.parametrize(
    "text",
    [
        "Please ship it to Lindenallee 4, 50667 Cologne, Germany",
        "Lindenallee 4 in 50667 Cologne, Germany.",
        "street: Lindenallee 4, city: Cologne, postcode: 50667, country: Germany",
        "Order W1017 must go to Lindenallee 4 (50667 Cologne), Germany",
        "Lindenallee 4, Cologne, 50667, Allemagne",
    ],
)
def test_reads_addresses_in_any_order(text):
    """The parts of an address are told apart by what they look like."""
    assert parse_address(text) == Address("Lindenallee 4", "Cologne", "50667", "Germany")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My name is Priya Shah", ("Priya", "Shah")),
        ("Sam Carter here, BS1 4DJ", ("Sam", "Carter")),
        ("je m'appelle Chloé Martin", ("Chloé", "Martin")),
        ("last name: Shah, first name: Priya", ("Priya", "Shah")),
        ("I'm sending back the shoes", None),
        ("I'm not sure", None),
    ],
)
def test_reads_names_and_nothing_else(text, name):
    """A name is two words that introduce somebody."""
    assert full_name(text, asked=False) == name


def test_reads_spoken_emails():
    """An address that is spelt out is understood."""
    assert emails("it's liam.novak at example dot com") == ["liam.novak@example.com"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("with my gift card instead of the Visa ending in 4821", "gift_card"),
        ("the card ending in 0420", "0420"),
        ("as store credit", "store_credit"),
        ("sur la carte d'origine", "original"),
        ("par carte cadeau", "gift_card"),
        ("credit card", "card"),
        ("tomorrow", None),
    ],
)
def test_reads_payment_methods(text, hint):
    """What is excluded does not count, and a gift card is no card."""
    assert payment_hint(text) == hint


def test_reads_what_is_wanted_after_a_correction():
    """What is taken back does not count."""
    assert things("the shoes, no sorry, the headphones") == ["headphone"]
    assert things("the lamp, not the mat") == ["lamp"]
    assert sizes("it's too small, I need an L") == ["L"]


@pytest.mark.parametrize(
    "text", ["Yes please", "ok", "go ahead", "no problem, do it", "Oui, merci", "c'est parfait", "d'accord"]
)
def test_knows_a_yes(text):
    """A yes is a yes in both languages."""
    assert says_yes(text)
    assert not says_no(text)


@pytest.mark.parametrize(
    "text", ["No", "wait, not yet", "please don't", "I'd rather keep it", "non merci", "surtout pas", "je la garde"]
)
def test_knows_a_no(text):
    """A no is a no, also where it is polite."""
    assert says_no(text)
    assert not says_yes(text)


@pytest.mark.parametrize(
    ("text", "french"), [("Bonjour, ma commande", True), ("Hello, my order", False), ("W1001", True)]
)
def test_tells_the_language_and_keeps_it_where_words_do_not_tell(text, french):
    """A bare number leaves the language as it was."""
    assert is_french(text, before=True) is french
