"""Databases of others, held against themselves: each kind of contradiction, the shipped events, the paper's event."""

import json

from pytest_agentbench.suites.intellagent.reader import audit, audit_events, read_intellagent
from tests.shared_data import SHARED, needs_shared

RIGHT = {
    "users": [{"user_id": "u1", "payment_methods": {"card_1": {"id": "card_1"}}, "orders": ["#1"]}],
    "orders": [{"order_id": "#1", "user_id": "u1", "payment_history": [{"payment_method_id": "card_1"}]}],
}


def kinds(**changes):
    """Give the kinds of what is found after a change."""
    return {one.kind for one in audit({**RIGHT, **changes})}


def test_a_consistent_database_has_nothing():
    """No false alarm."""
    assert audit(RIGHT) == ()


def test_each_kind_is_found():
    """Profile, reference, key, table, part."""
    order = RIGHT["orders"][0]

    assert kinds(orders=[{**order, "payment_history": [{"payment_method_id": "card_2"}]}]) == {"not in profile"}
    assert kinds(orders=[{**order, "order_id": "#2"}]) == {"dangling reference"}
    assert kinds(orders=[order, order]) == {"duplicate key"}
    assert kinds(orders=[order, {"user_id": "u1", "order_id": None}]) == {"wrong table"}
    variants = {"a": {"item_id": "i1"}, "b": {"item_id": "i1"}}
    assert kinds(products=[{"product_id": "p1", "variants": variants}]) == {"duplicate part"}


def test_event_43_of_the_paper_is_read_from_the_text_it_was_saved_as():
    """Values saved as text, a payment of nobody's, an item id twice, an order that is not there."""
    users = {
        "emma": {
            "user_id": "emma",
            "payment_methods": "{’paypal_4829103’: {’id’: ’paypal_4829103’}}",
            "orders": "[’#A1234567’]",
        },
        "liam": {
            "user_id": "liam",
            "payment_methods": "{’paypal_9274620’: {’id’: ’paypal_9274620’}}",
            "orders": "[’#O9274620’]",
        },
    }
    products = {
        "1234567890": {
            "product_id": "1234567890",
            "variants": {"1011121319": {"item_id": "9876543210"}, "1011121314": {"item_id": "9876543210"}},
        }
    }
    orders = {
        "#O9274620": {
            "order_id": "#O9274620",
            "user_id": "liam",
            "payment_history": "[{’amount’: 115.98, ’payment_method_id’: ’credit_card_567890’}]",
        }
    }

    found = {one.kind: one.message for one in audit({"users": users, "products": products, "orders": orders})}

    print(json.dumps(found, indent=1))
    assert set(found) == {"dangling reference", "duplicate part", "not in profile"}
    assert "#A1234567" in found["dangling reference"]


@needs_shared
def test_the_shipped_events_are_reported_with_their_contradictions():
    """Most of the databases that were shipped contradict themselves, as was measured by hand."""
    audits = [
        audit_events(read_intellagent(SHARED / "data" / "intellagent" / f"airline_run_{run}_events.json").events)
        for run in (0, 1)
    ]

    print("\n".join(one.model_dump_json() for one in audits))
    assert audits[0].events == 30
    assert audits[0].inconsistent >= 27
    assert audits[0].kinds["not in profile"] == 24
    assert audits[0].kinds["duplicate key"] >= 4
    assert audits[1].kinds["wrong table"] == 1
