"""Two versions of a document: what is new, gone or changed, and which scenarios that makes invalid."""

from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.generation.policies.extraction import PolicyDocument, extract
from pytest_agentbench.generation.policies.identity import diff, invalidated

BEFORE = """\
- Refund an order within 30 days of delivery.
- You may exchange an item once.
- Never share a password with anybody.
- Ask for the order number before a change.
- Greet the customer.
"""

AFTER = """\
- Ask for the order number before a change!
- Refund an order within 14 days of delivery.
- You must exchange an item once.
- Never share a password or a code with anybody.
- Close the conversation politely.
"""


def extracted(text):
    """Extract from a text."""
    return extract(PolicyDocument(text=text))


def scenario(name, *policies):
    """Make a scenario that lists policies."""
    return Scenario(id=name, title=name, task=Task(id=name), policies=policies)


def test_changes_are_told_apart_from_wording_and_moves():
    """A moved rule is the same, a polished one has other marks; numbers and words that changed are named."""
    found = diff(extracted(BEFORE), extracted(AFTER))

    assert {change.before.id: (change.what, change.matters) for change in found if change.before and change.after} == {
        "refund-an-order-within-days": (("numbers",), True),
        "you-may-exchange-an-item": (("words",), True),
        "never-share-a-password-with": (("words",), True),
        "ask-for-the-order-number": (("marks",), False),
    }
    assert [change.after.text for change in found if change.what == ("new",)] == ["Close the conversation politely."]
    assert [change.before.text for change in found if change.what == ("gone",)] == ["Greet the customer."]


def test_only_scenarios_of_policies_that_changed_are_invalid():
    """A scenario is invalid when it lists a policy that is gone or means something else, and says which and why."""
    found = diff(extracted(BEFORE), extracted(AFTER))
    kept = "ask-for-the-order-number"

    hit = invalidated(
        found,
        [
            scenario("late", "refund-an-order-within-days", kept),
            scenario("hello", "greet-the-customer"),
            scenario("same", kept),
        ],
    )

    assert hit == {
        "late": ["'refund-an-order-within-days' changed (numbers)"],
        "hello": ["'greet-the-customer' is gone from the document"],
    }


def test_the_same_document_differs_in_nothing():
    """A document compared with itself, or with nothing, gives what one expects."""
    one, nothing = extracted(BEFORE), extracted("")

    assert [change.what for change in diff(one, one)] == [()] * 5
    assert [change.what for change in diff(nothing, one)] == [("new",)] * 5
    assert [change.what for change in diff(one, nothing)] == [("gone",)] * 5
