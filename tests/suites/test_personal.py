"""Phone numbers in conversations: what is replaced, and what looks like one and stays."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.cli import main
from pytest_agentbench.suites.personal.detection import by_shape
from tests.growth import growth

PHONES = (
    "+49 170 1234567", "0170 1234567", "+33 6 12 34 56 78", "06.12.34.56.78", "030-9018 2020", "0170/1234567",
    "+49 (0)170 1234567", "(030) 901820 17", "0049 170 1234567", "+1 (415) 555-2671", "(415) 555-2671", "415-555-2671",
    "+491701234567", "555-0103",
)  # fmt: skip
OTHERS = (
    "order #0170 1234567", "W-0170-1234567", "1234567890", "2026-00123", "2026-11-29 14:50", "29.11.2026 1000 20",
    "03/04/1990 12:30", "99 999 999.99", "1.234.567,89", "+1 234 567,89", "€123 456 789", "123 456 789 €",
    "+25.50 -10.20", "+25.50 10.20", "+250.50 -1000", "+12 345 678.90",
)  # fmt: skip


def test_phone_numbers_are_replaced_and_what_looks_like_one_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In whatever way a number is separated; the command says what it does not find."""
    said = [f"Call {one}, please." for one in PHONES] + [f"It is {one}, thanks." for one in OTHERS]
    lines = [{"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "ok"}]} for text in said]
    several, plain = tmp_path / "several.jsonl", tmp_path / "plain.jsonl"
    several.write_text("\n".join(map(json.dumps, lines)))
    plain.write_text(json.dumps(lines[-1]))

    main(["import", str(several), str(plain), "--into", str(tmp_path / "out")])
    assert f"personal data replaced: phone {len(PHONES)}; names and dates in free text" in capsys.readouterr().out
    written = (tmp_path / "out" / "recordings.jsonl").read_text().splitlines()
    kept = [json.loads(line)["messages"][0]["content"] for line in written][: len(said)]
    assert [text for text in said[: len(PHONES)] if text in kept] == []
    assert kept[len(PHONES) :] == said[len(PHONES) :]

    main(["import", str(plain), "--into", str(tmp_path / "none")])
    assert "nothing was replaced; names and dates in free text, and phone numbers without" in capsys.readouterr().out


DIGITS = st.text("0123456789", min_size=2, max_size=3)
GAPS = st.sampled_from([" ", "-", ".", "/", "\N{NO-BREAK SPACE}", " - "])


@given(
    st.sampled_from(["+49", "+33 6", "+1 415", "+351"]), st.lists(DIGITS, min_size=3, max_size=4), GAPS, st.booleans()
)
def test_any_international_number_is_one(code: str, groups: list[str], gap: str, is_written_together: bool) -> None:
    """However it is parted, and whatever sentence it stands in."""
    number = code.replace(" ", "") + "".join(groups) if is_written_together else gap.join([code, *groups])

    assert ("phone", number) in by_shape(f"Reach me under {number}, or by mail.")


@given(st.integers(1, 9), st.text("0123456789", min_size=2, max_size=2), st.lists(DIGITS, min_size=3, max_size=3), GAPS)
def test_any_national_number_with_a_leading_zero_is_one(first: int, area: str, groups: list[str], gap: str) -> None:
    """An area and three groups."""
    number = gap.join([f"0{first}{area}", *groups])

    assert ("phone", number) in by_shape(f"Reach me under {number}.")


def test_long_texts_are_searched_in_linear_time() -> None:
    """Groups of digits that could go on being a number, an amount or a mail address."""
    for unit in ("111 ", "call 212-555-0103, or ", "1.", "1'", "+1 2 3 4 "):
        assert growth(lambda size, unit=unit: list(by_shape(unit * (size // len(unit)))), 16_000) < 9, unit


MONEY = st.decimals(min_value=0, max_value=99_999_999, places=2)
SIGNED = st.tuples(st.sampled_from(["", "+", "-"]), MONEY).map(lambda one: f"{one[0]}{one[1]:.2f}")


@given(
    st.one_of(
        st.from_regex(r"[A-Z]{1,3}[-_]?[0-9]{3,12}", fullmatch=True),
        st.from_regex(r"#[0-9]{4,12}", fullmatch=True),
        st.from_regex(r"[1-9][0-9]{4,11}", fullmatch=True),
        st.dates().map(str),
        st.dates().map(lambda day: f"{day.day:02}.{day.month:02}.{day.year}"),
        st.datetimes().map(lambda moment: moment.isoformat(" ", "minutes")),
        st.tuples(MONEY, st.sampled_from([",", " ", "'"])).map(lambda one: f"{one[0]:,}".replace(",", one[1])),
        MONEY.map(lambda one: f"{one:,}".translate(str.maketrans(",.", ".,"))),
        MONEY.map(lambda one: f"+{one:.2f} €"),
        st.tuples(SIGNED, st.sampled_from([" ", " - ", " / "]), SIGNED).map("".join),
        st.tuples(SIGNED, SIGNED, SIGNED).map(" ".join),
    )
)
def test_no_order_number_date_or_amount_is_one(value: str) -> None:
    """With letters, with # or without separators; before any other word."""
    assert [found for kind, found in by_shape(f"It is {value} today") if kind == "phone"] == []
