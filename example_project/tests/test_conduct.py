"""How the agent conducts itself: who it serves, when it acts, what it says."""

import pytest

LIAM = "liam.novak@example.com"


def test_asks_who_is_there_before_it_looks_anything_up(shop):
    """Without identity there is a question and no call."""
    replies = shop.talk("Where is my order W1001?")

    assert replies == ["What is the email address of your account?"]
    assert shop.calls == []


def test_gives_up_on_identity_after_three_lookups(shop):
    """A fourth address is not tried."""
    *_, last = shop.talk("Cancel W1001", *(f"is it number{number}@example.com" for number in range(5)))

    assert len(shop.calls) == 3
    assert "cannot open an account" in last


def test_never_looks_at_the_order_of_another_customer(shop):
    """Another customer's order is refused without being read."""
    _, last = shop.talk(LIAM, "What is in order W1004?")

    assert "not an order of your account" in last
    assert all(arguments.get("order_id") != "W1004" for _, arguments in shop.calls)


def test_serves_one_customer_per_conversation(shop):
    """A second account is not opened."""
    _, last = shop.talk(LIAM, "Now for my sister, chloe.martin@example.com")

    assert "only help with your own account" in last


def test_changes_nothing_before_the_yes_and_nothing_after_a_no(shop):
    """The proposal names the details; a no drops it."""
    proposal, answer = shop.talk(f"Cancel W1001, I no longer need it. {LIAM}", "no")

    assert all(detail in proposal for detail in ("W1001", "Desk Lamp", "€50.00", "Visa ending in 4821"))
    assert answer == "All right, I have changed nothing."
    assert shop.changes == []


def test_asks_again_when_a_detail_changes(shop):
    """A correction instead of a yes leads to a new proposal, which alone is carried out."""
    _, second, *_ = shop.talk(f"Return the sweater of W1002, {LIAM}", "no, the bottle")

    assert "Water Bottle" in second
    assert [arguments["item_ids"] for _, arguments in shop.changes] == [["bottle-steel-500ml"]]


def test_asks_what_is_wanted_and_keeps_what_was_said(shop):
    """A message that names an order and no wish is asked about; the order need not be named again."""
    asked, *_ = shop.talk(f"Hello, it's about W1001. {LIAM}", "please cancel, I have no need for it")

    assert asked.endswith(
        "What shall I do with it: cancel it, have it shipped to another address, or let you pay another way?"
    )
    assert [arguments["order_id"] for _, arguments in shop.changes] == ["W1001"]


def test_does_not_ask_the_same_question_of_somebody_who_says_nothing_new(shop):
    """A question that is not answered is followed by another one, then by what the desk can do."""
    replies = shop.talk(f"I want to return something of W1002. {LIAM}", "hm", "hm", "hm")

    assert len(set(replies)) == len(replies)


def test_what_is_not_wanted_is_cancelled_before_delivery_and_returned_after_it(shop):
    """The same words mean what the order allows."""
    shop.talk("liam.novak@example.com", "Please get rid of W1001, no need for it", "yes")
    shop.talk("liam.novak@example.com", "Please get rid of the bottle from W1002")

    assert [name for name, _ in shop.changes] == ["cancel_order", "return_items"]


def test_works_through_several_requests_in_order(shop):
    """Each request gets its own proposal and its own yes."""
    shop.talk(
        f"Cancel W1001, ordered by mistake, and exchange the sweater of W1002 for a red one. {LIAM}", "yes", "yes"
    )

    assert [name for name, _ in shop.changes] == ["cancel_order", "exchange_items"]


def test_tells_of_an_error_and_goes_on_with_another_method(shop):
    """After a tool's error the agent says why, and takes the customer's other choice."""
    replies = shop.talk(f"Pay W1001 with my gift card, {LIAM}", "yes", "then PayPal")

    assert "did not work" in replies[1]
    assert "12.00" in replies[1]
    assert shop.changes[-1] == ("change_payment_method", {"order_id": "W1001", "payment_method_id": "paypal_101"})


def test_answers_in_the_language_it_is_spoken_to(shop):
    """French is answered in French, and items and amounts are worded so."""
    _, reply = shop.talk("Bonjour, je veux renvoyer la lampe de la commande W1004", "chloe.martin@example.com")[:2]

    assert "Lampe de bureau (noir)" in reply
    assert "45,00 €" in reply


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which kettle would you recommend?", "cannot recommend"),
        ("Can I have a discount?", "cannot give discounts"),
        ("Let me speak to a human", "no need to pass you on"),
        ("How much is the red kettle?", "€58.00"),
        ("Combien coûte la bouilloire rouge ?", "58,00 €"),
    ],
)
def test_answers_what_needs_no_account(shop, question, answer):
    """Questions about products, and what the desk never does, need no identity."""
    (reply,) = shop.talk(question)

    assert answer in reply


def test_hands_over_once_what_no_tool_can_do(shop):
    """An invoice is handed over; asking again does not hand over again."""
    shop.talk("I need the invoice of W1013, priya.shah@example.com", "And the invoice of W1015 too")

    assert [name for name, _ in shop.changes] == ["escalate_to_human"]


@pytest.mark.parametrize(
    ("settings", "lines", "shows"),
    [
        ({"authenticate": False}, ["Cancel W1001, no longer needed"], ("cancel_order", "reason", "no_longer_needed")),
        ({"confirm": False}, [f"Cancel W1001, no longer needed. {LIAM}"], ("cancel_order", "order_id", "W1001")),
        (
            {"refund_to_original": False},
            [f"Return the bottle of W1002, {LIAM}"],
            ("return_items", "payment_method_id", "card_101"),
        ),
        (
            {"swap_arguments": True},
            [f"Ship W1001 to 5 Mill Lane, London NW1 6XE, United Kingdom. {LIAM}"],
            ("change_shipping_address", "street", "London"),
        ),
    ],
)  # fmt: skip
def test_a_bug_shows_in_what_is_changed(shop, settings, lines, shows):
    """Each bug that changes something wrongly changes exactly that."""
    shop.talk(*lines, **settings)

    name, argument, value = shows
    assert [(call, arguments[argument]) for call, arguments in shop.changes] == [(name, value)]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"patience": 1}, "Goodbye"),
        ({"mirror": True}, "I understand"),
        ({"honest_errors": False}, "went through successfully"),
    ],
)
def test_a_bug_shows_in_what_is_said(shop, settings, says):
    """Leaving, mirroring and lying change nothing and sound friendly."""
    *_, last = shop.talk(f"Pay W1001 with my gift card, {LIAM}", "yes", **settings)

    assert says in last
    assert shop.changes == []
