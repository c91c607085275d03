"""Regular expressions that others wrote, run over text that others wrote: every search has an end.

They are what `re` reads, and mean what they mean there.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, TypeVar

from pytest_agentbench.core.errors import PatternBoundError
from pytest_agentbench.core.text import printable, shorten

BOUND = 0.25
"""Seconds of work that one search may take."""

_BRIEF = 0.001
"""Seconds for which a search may hold the interpreter; what takes longer is begun again and leaves it to others."""

_REMEMBERED = 64
"""Searches over the bound that are not tried again."""

# groups: an escape or a count, what opens a set, a brace that counts nothing
_TOKENS = re.compile(r"(\\N\{[^}]*\}|\\.|\{(?:\d+(?:,\d*)?|,\d*)\})|(\[\^?\]?)|(\{)", re.DOTALL)
_IN_SET = re.compile(r"(\\N\{[^}]*\}|\\.)|(\[)|(\])", re.DOTALL)

_T = TypeVar("_T")


class PatternSyntaxError(ValueError):
    """A text is no regular expression; the message says why, and where in it."""


class Pattern:
    """A regular expression whose every search ends: over `BOUND` it raises `PatternBoundError`."""

    def __init__(self, text: str, *, ignore_case: bool = False) -> None:
        """Read a pattern; raise `PatternSyntaxError` where it is none."""
        self.text = text
        try:
            re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            raise PatternSyntaxError(str(error)) from error
        import regex  # noqa: PLC0415 - 0.1 s to import, and most suites hold no pattern

        flags = regex.VERSION0 | (regex.IGNORECASE if ignore_case else 0)
        try:
            self._compiled: Any = regex.compile(_plain(text), flags)
        except (regex.error, OverflowError, RecursionError, ValueError) as error:
            raise PatternSyntaxError(str(error)) from error
        self._over: deque[str] = deque(maxlen=_REMEMBERED)

    def fullmatch(self, text: str) -> bool:
        """Whether the pattern fits the whole of `text`."""
        return self._bounded(self._compiled.fullmatch, text) is not None

    def search(self, text: str) -> bool:
        """Whether the pattern fits somewhere in `text`."""
        return self._bounded(self._compiled.search, text) is not None

    def replaced(self, instead: str, text: str) -> str:
        """Give `text` with `instead`, taken as it is, where the pattern fits."""
        made: str = self._bounded(partial(self._compiled.sub, lambda _: instead), text)
        return made

    def found(self, text: str) -> Iterator[str]:
        """Give what fits, from left to right: the first group, where the pattern has one."""
        group = 1 if self._compiled.groups else 0
        yield from self._bounded(lambda *of, **how: [one[group] for one in self._compiled.finditer(*of, **how)], text)

    def _bounded(self, work: Callable[..., _T], text: str) -> _T:
        if text not in self._over:
            try:
                return work(text, timeout=_BRIEF)
            except TimeoutError:
                pass
            try:
                return work(text, timeout=BOUND, concurrent=True)
            except TimeoutError:
                self._over.append(text)
        shown = printable(shorten(self.text, 120))
        raise PatternBoundError(
            f"the pattern {shown} took more than {BOUND:g} s on a text of {len(text):,} characters; "
            "write it without a repetition inside a repetition, such as a+ for (a+)+"
        )


@lru_cache(maxsize=512)
def pattern(text: str, *, ignore_case: bool = False) -> Pattern:
    """Give a pattern, read once; raise `PatternSyntaxError` where it is none."""
    return Pattern(text, ignore_case=ignore_case)


def _plain(text: str) -> str:
    """Escape what the engine reads in a way of its own: `[:alpha:]` in a set, and `{e<=1}` for nearly the same."""
    parts, at = [], 0
    while token := _TOKENS.search(text, at):
        parts.append(text[at : token.start()] + ("\\{" if token[3] else token[0]))
        at = token.end()
        while token[2] and (inner := _IN_SET.search(text, at)):
            parts.append(text[at : inner.start()] + ("\\[" if inner[2] else inner[0]))
            at = inner.end()
            if inner[3]:
                break
    return "".join([*parts, text[at:]])
