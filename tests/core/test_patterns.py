"""Patterns that others wrote: they mean what they mean to `re`, and every search has an end."""

import re
import threading
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.errors import PatternBoundError
from pytest_agentbench.core.patterns import BOUND, Pattern, PatternSyntaxError
from tests.tables import each

PIECES = [
    "a", "b", "e", "i", "s", "1", ".", "\\d", "\\w", "\\W", "\\s", "\\b", "\\Z", "\\A", "^", "$", "|", "(", ")",
    "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?P<n>", "(?P=n)", "\\1", "(?i)", "(?x)", "(?s)", "(?>", "*", "+",
    "?", "*?", "++", "{", "}", "{2}", "{1,2}", "{,2}", "{2,}", "{,}", "{}", "{e}", "{e<=1}", "{i,d}", "{1,2,3}",
    "{ 1}", "[", "]", "[^", "[]", "[[", "[:alpha:]", "[[:alpha:]]", "-", "&&", "--", "||", "~~",
    "\\N{DIGIT ONE}", "\\x61", "\\u0061", "\\[", "\\]", "\\{", "#", " ", "é", "ſ", "ß", "K", "(?#", "(?i:",
    "(?-i:", ",", ":", "<", "=", "\\\\", "\n",
]  # fmt: skip
ANSWERS = [
    "a",
    "b",
    "e",
    "i",
    "s",
    "1",
    "é",
    "É",
    "S",
    "A",
    " ",
    "\n",
    "{",
    "}",
    "[",
    "]",
    "-",
    "e<=1",
    ":alpha:",
    "2",
    "ß",
    "k",
]


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PIECES), max_size=7), st.lists(st.sampled_from(ANSWERS), max_size=6), st.booleans())
@example(["a", "{e<=1}"], ["b"], False)
@example(["[[:alpha:]]"], ["a"], False)
@example(["[[:alpha:]]"], [":", "]"], False)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_pattern_means_what_it_means_to_re(pieces: list[str], answers: list[str], ignore_case: bool) -> None:
    """What `re` refuses is refused; everything else fits the same texts, at the same places."""
    text, said = "".join(pieces), "".join(answers)
    try:
        plain = re.compile(text, re.IGNORECASE if ignore_case else 0)
    except re.error:
        with pytest.raises(PatternSyntaxError):
            Pattern(text, ignore_case=ignore_case)
        return
    bounded = Pattern(text, ignore_case=ignore_case)

    assert bounded.fullmatch(said) == (plain.fullmatch(said) is not None)
    assert bounded.search(said) == (plain.search(said) is not None)
    assert bounded.replaced("~", said) == plain.sub("~", said)


def test_what_fits_is_given_whole_or_by_its_first_group() -> None:
    """As the readers of recorded results want it."""
    assert list(Pattern(r"W\d+").found("W1 and W22")) == ["W1", "W22"]
    assert list(Pattern(r"#(\d)(x?)").found("#1 #2x")) == ["1", "2"]


@each("text", ["(a+)+$", "(a|a)*$", "(.*a){20}$", r"^(([a-z])+.)+[A-Z]([a-z])+$", "(?:a+){10,20}c"])
def test_a_search_that_would_never_end_ends_and_lets_others_work(text: str) -> None:
    """Within a second; meanwhile other threads go on; the same search again costs nothing."""
    evil = Pattern(text)
    said = "a" * 10_000 + "b"
    lags, over = [0.0], threading.Event()

    def tick() -> None:
        last = time.perf_counter()
        while not over.wait(0.005):
            now = time.perf_counter()
            lags.append(now - last)
            last = now

    watch = threading.Thread(target=tick)
    watch.start()
    begun = time.thread_time()
    with pytest.raises(PatternBoundError, match=r"took more than .* 10,001 characters"):
        evil.search(said)
    spent = time.thread_time() - begun
    over.set()
    watch.join()

    assert spent < 1
    assert max(lags) < 0.5 or len(lags) > 5  # a busy machine delays a thread, a search that holds the interpreter all
    begun = time.thread_time()
    with pytest.raises(PatternBoundError):
        evil.search(said)
    assert time.thread_time() - begun < BOUND / 2
