"""Text of exceptions, safe to print."""

import re
import unicodedata

from pytest_agentbench.core.text import printable, raised_text
from tests.tables import each


class UnprintableError(Exception):
    """An exception whose text cannot be read."""

    def __str__(self) -> str:
        raise ValueError("no text")


@each(
    ("error", "text"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (ValueError(), "ValueError"),
        (KeyError("W9"), "KeyError: 'W9'"),
        (UnprintableError(), "UnprintableError: <its text cannot be shown>"),
        (ValueError("<Order object at 0x7f3a00>\x1b[31m red"), "ValueError: <Order object> red"),
        (ValueError("x" * 33), "ValueError: " + "x" * 31 + "…"),
    ],
)
def test_an_exception_is_named_with_what_it_says(error: Exception, text: str) -> None:
    """Type and text on one safe line, alike in every run; exceptions that cannot be printed are named all the same."""
    assert raised_text(error, 32) == text


@each(
    "said",
    [
        "::error file=a.py,line=1::boo",
        "  ::stop-commands::token",
        "first\n::add-mask::secret",
        "a word of any length::set-output name=x::y",
        "anywhere ##[group]hidden",
    ],
)
def test_no_line_of_a_log_becomes_a_command_of_its_server(said: str) -> None:
    """However the text is wrapped or cut later, a CI log finds no command in it."""
    shown = printable(said, newlines=True)

    pieces = [shown[start:] for start in range(len(shown))]
    assert not any(re.match(r"\s*::[\w-]+( [^\n]*)?::", piece) for piece in pieces)
    assert "##[" not in shown


@each("text", ["bench/agentbench.yaml::group-discount", "test_a.py::TestB::test_c", "f :: Int -> Int"])
def test_ids_of_tests_stay_as_they_are(text: str) -> None:
    """What a reader copies into a shell is not touched."""
    assert printable(text) == text


def test_every_format_character_is_shown_but_joiners_that_a_script_needs() -> None:
    """What nobody sees can make two texts differ, or hide one: it is written out."""
    unseen = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf"]

    for char in unseen:
        shown = printable(f"W{char}1")
        assert char not in shown
        assert f"{ord(char):x}" in shown
    for joined in ("می‌خواهم", "👨‍👩‍👧", "क्‍ष"):
        assert printable(joined) == joined
