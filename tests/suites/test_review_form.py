"""The key `review` as it is written into a file: only what loads again."""

from datetime import date
from pathlib import Path

import pytest

from pytest_agentbench.suites.review_form import ReviewError, accepted, rejected, with_review
from tests.tables import each

DAY = date(2026, 11, 24)
TEXT = "id: a\nreview: pending\nsays: [Hello]\n"


@each(
    ("value", "place"),
    [
        (accepted({"id": "a"}, " ", DAY), "review.accepted.by"),
        (rejected("nobody asks so", "", DAY), "review.rejected.by"),
        (rejected("", "Ann", DAY), "review.rejected.reason"),
        ("maybe", "review"),
    ],
)
def test_a_review_that_would_not_load_is_not_written(value: object, place: str) -> None:
    """The message names the key and what it may hold."""
    with pytest.raises(ReviewError, match=f"a.yaml: {place}: .*(expected|allowed)"):
        with_review(TEXT, Path("a.yaml"), None, value)


def test_a_review_is_written_in_its_place() -> None:
    """All else is as it was."""
    changed = with_review(TEXT, Path("a.yaml"), None, rejected("nobody asks so", "Ann", DAY))

    assert changed == TEXT.replace("pending", '{rejected: {by: "Ann", on: "2026-11-24", reason: "nobody asks so"}}')
