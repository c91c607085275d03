"""Plain text tables."""

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.report.table import cells, table, wrap


def test_columns_are_aligned():
    """Left and right columns line up, headings run over the columns, no trailing blanks."""
    rows = [["", "n", "gate"], ["a long heading", "", ""], ["all", "24", "ok"], ["中文", "5", ""]]
    assert table(rows, ["<", ">", "<"]) == ["       n  gate", "a long heading", "all   24  ok", "中文   5"]


def test_a_long_first_column_is_cut_to_fit():
    """The label gives way before the numbers do."""
    assert table([["x" * 50, "12", "34"]], ["<", ">", ">"], width=30) == ["x" * 21 + "…  12  34"]


def test_no_rows_are_no_lines():
    """An empty table is empty."""
    assert table([], ["<"]) == []


printable_text = st.text(st.characters(categories=("L", "N", "P", "Zs")), max_size=40)


@given(st.lists(st.tuples(printable_text, printable_text, printable_text), max_size=8), st.integers(20, 120))
def test_no_line_is_wider_than_asked(rows, width):
    """Whatever the cells hold, no line takes more cells than the width."""
    assert all(cells(line) <= width for line in table(rows, ["<", ">", "<"], width=width))


@given(printable_text)
def test_wrapping_loses_no_word(text):
    """Wrapped lines hold the same words in the same order."""
    assert " ".join(wrap(text, 10)).split() == text.split()
