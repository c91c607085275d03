"""Which values of expected calls can be known, and by which rule."""

from pathlib import Path
from typing import Any

from pytest_agentbench.validation.known import Known, way_to
from pytest_agentbench.validation.world_values import Columns
from tests.tables import each
from tests.validation.worlds import kinds, one, scenario


def known(*texts: str, **values: Any) -> Known:
    """Give what these texts and values say."""
    found = Known()
    for number, text in enumerate(texts):
        found.add(f"text {number}", text)
    found.add("values", values)
    return found


def rule(value: Any, *texts: str, schema: dict[str, Any] | None = None, **values: Any) -> str | None:
    """Give the rule by which a value is reached."""
    way = way_to(value, schema or {}, known(*texts, **values))
    return way[0] if way else None


@each(
    ("state", "held", "others"),
    [
        ({"orders": {"W1": "delivered", "W2": "sent"}}, True, ["W2"]),
        ({"orders": {"W1": {"status": "sent"}, "W2": {"status": "sent"}}}, True, ["W2"]),
        ({"carts": [{"id": "C1", "items": {"W1": 2, "W2": 1}}]}, True, ["W2"]),
        ({"orders": {"A": {"W1": "a column"}, "B": {"W1": "a column"}}}, False, []),
    ],
)
def test_the_keys_of_tables_are_values(state: Any, *, held: bool, others: list[str]) -> None:
    """Whether rows or plain values stand under them; the columns of rows are none."""
    columns = Columns(state)

    assert columns.holds("W1") is held
    assert columns.others("W1", "order_id") == others


@each(
    ("value", "text", "expected"),
    [
        (True, "", "constant"),
        (None, "", "constant"),
        ([], "", "constant"),
        ("W1", "cancel w1, please", "said"),
        ("#W12", "my order #W12.", "said"),
        ("W1", "cancel W12, please", None),
        ("Chloé", "I am CHLOE", "said"),
        (54.04, "it costs 54.04", "said"),
        (1628, "it costs 1,628.00", "said"),
        (12, "nothing", "count"),
        (99, "40 and 59", "computed"),
        (19.5, "59.5 less 40", "computed"),
        (97, "40 and 59", None),
        ("ordered_by_mistake", "I made a mistake: ordered by accident", "same words"),
        ("12 Oak Street", "at Oak Street, number 12", "same words"),
        ("2024-05-20", "on May 20, I think", "date"),
        ("2024-05-20", "on 5/20/2024", "date"),
        ("2024-05-20", "the day after tomorrow", None),
        ("2024-05-20", "on June 20", None),
        ("PHL", "from Philadelphia", "abbreviation"),
        ("LGA", "to LaGuardia", "abbreviation"),
        ("JFK", "from Boston", None),
        ("40 + 59 * 2", "40 and 59", "own words"),
        ("40 + 61 * 2", "40 and 59", None),
        ("the customer wants the invoice of W12", "invoice of W12", "own words"),
        ("the customer wants the invoice of W13", "invoice of W12", None),
        ("gold", "silver", None),
    ],
)
def test_each_rule_reaches_what_it_says(value: Any, text: str, expected: str | None) -> None:
    """A value is said, follows by a named rule, or is not reached."""
    assert rule(value, text) == expected


@each("token", ["5²", "9" * 5_000])
def test_digits_that_are_no_count_have_to_be_known(token: str) -> None:
    """A sign such as ², and more digits than Python reads as a number."""
    text = f"a room with {token} of space"

    assert rule(text, "a room") is None
    assert rule(text, f"the {token} room, a space of it") == "own words"


def test_what_a_schema_lists_is_known() -> None:
    """Values of an enumeration and defaults need nobody to say them."""
    assert rule("express", schema={"enum": ["standard", "express"]}) == "constant"
    assert rule("express", schema={"default": "express"}) == "constant"


def test_json_inside_texts_is_read() -> None:
    """A result that is JSON in a text gives its values under their keys."""
    found = known('{"order": {"order_id": "W1", "lines": "[{\\"sku\\": \\"S-9\\"}]"}}')

    assert list(found.under("order_id")) == ["W1"]
    assert list(found.under("sku")) == ["S-9"]
    assert way_to("S-9", {}, found) == ("said", "text 0")


def test_an_id_is_reached_through_reads(tmp_path: Path) -> None:
    """The person's id is not said, but the email is, and a read leads from one to the other."""
    create = scenario(
        says=["I am ada@example.org. Open a ticket called broken lamp."],
        expect=[{"create_ticket": {"person_id": "P1", "title": "broken lamp"}}],
    )

    report = one(tmp_path, create)

    assert report.issues == ()
    assert report.values == 2


def test_a_value_that_nobody_can_know_is_told_with_where_was_looked(tmp_path: Path) -> None:
    """Without the email nothing leads to the person's id."""
    create = scenario(
        says=["Open a ticket called broken lamp."],
        expect=[{"create_ticket": {"person_id": "P1", "title": "broken lamp"}}],
    )

    report = one(tmp_path, create)

    assert kinds(report) == ["unreachable"]
    assert report.issues[0].about == "create_ticket.person_id"
    assert ": say it in `says` or add it to `knows` (looked in line 1" in report.issues[0].message


def test_an_argument_that_does_not_count_need_not_be_known(tmp_path: Path) -> None:
    """`compare_args` leaves the summary to the agent."""
    call = {"name": "close_ticket", "arguments": {"ticket_id": "T1", "note": "X-9"}, "compare_args": ["ticket_id"]}

    assert "unreachable" not in kinds(one(tmp_path, scenario(expect=[call])))


def test_a_user_who_knows_what_only_a_tool_produces_is_warned_about(tmp_path: Path) -> None:
    """The receipt's number comes into being with the call; nobody can say it before."""
    report = one(tmp_path, scenario(knows={"receipt": "R-T1-77"}))

    assert report.is_valid
    assert report.warnings == ("knows holds 'R-T1-77', which only close_ticket produces",)


def test_a_figure_that_is_to_be_told_and_that_nothing_leads_to_is_warned_about(tmp_path: Path) -> None:
    """A number may be reckoned from more than code reckons with, so that it is no problem."""
    report = one(tmp_path, scenario(communicate=["1,234.56"]))
    known = one(tmp_path, scenario(communicate=["1,234.56"], knows={"price": 1234.56}))

    assert report.is_valid
    (warning,) = report.warnings
    assert warning.startswith("nothing leads to '1,234.56', which is to be told; looked in line 1")
    assert known.warnings == ()
