"""Values with names, read from free text."""

import pytest

from pytest_agentbench.core.conversation import View
from pytest_agentbench.users.known_info import knowledge_of


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("You are Yusuf Rossi in zip code 19122.", "name", "Yusuf Rossi"),
        ("You are Yusuf Rossi in zip code 19122.", "zip", "19122"),
        ("You name is Ada Roy, and you live in Lyon.", "city", "Lyon"),
        ("You are ada_roy_1234 living in 69001.", "user_id", "ada_roy_1234"),
        ("You are ada_roy_1234 living in 69001.", "name", "Ada Roy"),
        ("Your user id is 'ada_roy_1234'.", "user_id", "ada_roy_1234"),
        ("Your confirmation number is: JMO1MG.", "reservation_id", "JMO1MG"),
        ("Order number: #W123", "order_id", "#W123"),
        ("Your friend's name is Bo Lind.", "free:friend name", "Bo Lind"),
        ("Your phone number is 555-123-2002, born 2001-04-12.", "phone", "555-123-2002"),
        ("You live at 445 Maple Drive, Suite 394, Fort Worth.", "address", "445 Maple Drive, Suite 394, Fort Worth"),
        ("Vous êtes Ada Roy. Votre numéro de commande est W7.", "order_id", "W7"),
        ("Votre date de naissance est 3 février 1990.", "date_of_birth", "3 février 1990"),
    ],
)
def test_free_text_gives_values_with_names(text: str, kind: str, value: str) -> None:
    """Names, codes, addresses and labelled facts are found, in either language."""
    assert knowledge_of(View(known_info=text)).get(kind) == (value,)


def test_the_mapping_wins_over_free_text_and_the_goal_comes_last() -> None:
    """`knows` and known info are told; a code in the goal answers only where nothing is told."""
    known = knowledge_of(View(knows={"orderId": "W1"}, goal="You want to return order W2 and reservation R99."))

    assert known.get("order_id") == ("W1",)
    assert known.get("reservation_id") == ("R99",)
    assert "R99" not in known.all()
