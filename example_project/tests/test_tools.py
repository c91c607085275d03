"""The tools keep the shop's books and refuse what the shop cannot do."""

import pytest
from support import tools


def balance(shop, method):
    """Give the balance of a gift card or store credit."""
    sql = "SELECT balance FROM payment_methods WHERE payment_method_id = ?"
    return shop.state.execute(sql, (method,)).fetchone()[0]


def test_finds_customers_whatever_case_and_accents(shop):
    """Emails ignore case; names and postcodes ignore case, accents and spaces."""
    assert tools.find_customer_by_email("Chloe.Martin@Example.com", state=shop.state) == "C102"
    assert tools.find_customer_by_name("julie", "LEFEVRE", "75011", state=shop.state) == "C105"
    assert tools.find_customer_by_name("Sam", "Carter", "bs14dj", state=shop.state) == "C108"


def test_tells_how_long_ago_and_how_late_an_order_came(shop):
    """Days are counted to the shop's own date, and lateness from the promised one."""
    order = tools.get_order("W1006", state=shop.state)

    assert (order["days_since_delivery"], order["days_late"], order["total"]) == (13, 6, 217.0)


def test_cancelling_refunds_everything_that_was_paid(shop):
    """A cancelled order has nothing left to pay."""
    tools.cancel_order("W1001", "no_longer_needed", state=shop.state)

    order = tools.get_order("W1001", state=shop.state)
    assert (order["status"], order["total"]) == ("cancelled", 0.0)


def test_a_gift_card_that_is_too_low_changes_nothing(shop):
    """A charge that the balance does not cover is refused as a whole."""
    before = shop.snapshot()

    with pytest.raises(ValueError, match=r"holds 12\.00 euros, 50\.00 are needed"):
        tools.change_payment_method("W1001", "gift_101", state=shop.state)

    assert shop.snapshot() == before


def test_a_return_to_store_credit_raises_its_balance(shop):
    """Refunds to store credit can be spent at once."""
    tools.return_items("W1002", ["bottle-steel-500ml"], "credit_101", state=shop.state)

    assert balance(shop, "credit_101") == 20.0


def test_an_exchange_takes_from_stock_and_charges_the_difference(shop):
    """The dearer variant is charged, and one piece leaves the stock."""
    tools.exchange_items("W1004", ["mat-purple"], ["mat-blue"], "card_102", state=shop.state)

    assert shop.state.execute("SELECT stock FROM variants WHERE item_id = 'mat-blue'").fetchone()[0] == 1
    assert shop.state.execute("SELECT kind, amount FROM payments WHERE payment_id = 'W1004-2'").fetchone() == (
        "charge",
        3,
    )


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda s: tools.find_customer_by_email("nobody@example.com", state=s), "no account has the email"),
        (lambda s: tools.get_order("W9999", state=s), "there is no order 'W9999'"),
        (lambda s: tools.cancel_order("W1008", "no_longer_needed", state=s), "is shipped, not pending"),
        (lambda s: tools.cancel_order("W1014", "no_longer_needed", state=s), "is being packed"),
        (
            lambda s: tools.change_shipping_address("W1001", "1 Road", "Oslo", "0150", "Norway", state=s),
            "do not deliver to",
        ),
        (lambda s: tools.change_email("C101", "chloe.martin@example.com", state=s), "is used by an account"),
        (lambda s: tools.change_payment_method("W1009", "card_104b", state=s), "has expired"),
        (lambda s: tools.change_payment_method("W1009", "card_101", state=s), "does not belong"),
        (lambda s: tools.change_payment_method("W1009", "card_104", state=s), "already"),
        (lambda s: tools.return_items("W1001", ["lamp-black"], "card_101", state=s), "not delivered"),
        (lambda s: tools.return_items("W1004", [], "card_102", state=s), "no items"),
        (lambda s: tools.return_items("W1004", ["kettle-red"], "card_102", state=s), "is not in order"),
        (lambda s: tools.return_items("W1018", ["sweater-red-s"], "paypal_108", state=s), "already sent back"),
        (
            lambda s: tools.exchange_items("W1018", ["backpack-grey"], ["backpack-green"], "paypal_108", state=s),
            "one exchange",
        ),
        (lambda s: tools.exchange_items("W1004", ["lamp-black"], ["lamp-white"], "card_102", state=s), "out of stock"),
        (lambda s: tools.exchange_items("W1004", ["lamp-black"], [], "card_102", state=s), "cannot be exchanged for 0"),
    ],
)
def test_refuses_what_cannot_be_done(shop, call, error):
    """What the shop cannot do is an error that says why, and changes nothing."""
    before = shop.snapshot()

    with pytest.raises(ValueError, match=error):
        call(shop.state)

    assert shop.snapshot() == before


def test_a_late_order_is_compensated_once(shop):
    """Neither a second refund of the fee nor a credit on top."""
    tools.refund_shipping("W1006", "paypal_103", state=shop.state)

    with pytest.raises(ValueError, match="compensated already"):
        tools.issue_store_credit("W1006", 7.0, state=shop.state)
