"""Text of exceptions, safe to print."""

import pytest

from pytest_agentbench.core.text import raised_text


class UnprintableError(Exception):
    """An exception whose text cannot be read."""

    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
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
