"""The support agent where no scenario of the suite goes: corrections, strangers, and a system that fails."""

import pytest

EMAIL = "I'm amara.okafor@example.com."


def test_a_change_waits_for_the_yes_and_is_made_once(shop):
    """Nothing is changed before, and thanks afterwards change nothing again."""
    replies = shop.talk(f"Cancel W1007, ordered by mistake. {EMAIL}", "Yes, please.", "Thank you!")

    assert replies[0].endswith("Shall I go ahead? (yes/no)")
    assert replies[2] == "You are welcome. Goodbye!"
    assert shop.changes == [("cancel_order", {"order_id": "W1007", "reason": "ordered_by_mistake"})]


def test_a_no_changes_nothing_and_a_correction_is_asked_again(shop):
    """What was proposed is dropped with either."""
    assert shop.talk(f"Cancel W1007, ordered by mistake. {EMAIL}", "No, leave it.")[-1].endswith("changed nothing.")
    replies = shop.talk(f"Return the shoes of W1006. {EMAIL}", "No, I mean the headphones.", "yes")

    assert "headphones-black" in replies[1]
    assert [arguments["item_ids"] for _, arguments in shop.changes] == [["headphones-black"]]


def test_nobody_elses_order_is_looked_at(shop):
    """Neither by its number nor by a second email."""
    replies = shop.talk(f"Where is W1004? {EMAIL}", "I'm chloe.martin@example.com too. Where is W1004?")

    assert "not an order of your account" in replies[0]
    assert "your own account" in replies[1]
    assert ("get_order", {"order_id": "W1004"}) not in shop.calls


def test_an_account_is_looked_for_three_times_at_most(shop):
    """Then the customer is told that there is no account."""
    replies = shop.talk(*[f"Where is W1004? It's nobody{number}@example.com" for number in range(4)])

    assert [name for name, _ in shop.calls] == ["find_customer_by_email"] * 3
    assert "cannot open an account" in replies[3]


@pytest.mark.parametrize(
    ("broken", "error", "tries", "told"),
    [
        ("get_order", TimeoutError("timed out"), 2, "unavailable at the moment"),
        ("cancel_order", TimeoutError("timed out"), 1, "cannot tell whether this was done"),
        ("cancel_order", ValueError("the till is shut"), 1, "did not work and nothing was changed"),
    ],
)
def test_what_failed_is_said_and_a_change_is_never_tried_twice(shop, broken, error, tries, told):
    """A read is tried once more; what the system answered is told."""
    shop.breaks[broken] = error

    replies = shop.talk(f"Cancel W1007, ordered by mistake. {EMAIL}", "yes")

    assert told in " ".join(replies)
    assert [name for name, _ in shop.calls].count(broken) >= tries
    assert shop.changes == []
