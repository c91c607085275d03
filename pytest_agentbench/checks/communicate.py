"""Whether the agent told the user everything it had to.

Each `communicate_info` must be said by a single message of the agent, a number in figures or in words. Ours is
stricter than τ²'s COMMUNICATE about numbers (a number counts only as a whole) and more lenient about spelling (accents,
spaces, quotes, separators).
"""

from collections.abc import Iterable

from pytest_agentbench.checks.wording import value_text
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.spoken import plain, says, states
from pytest_agentbench.core.verdict import Finding

_DIGITS = 3
"""Digits of the longest number that is looked for in words."""


def check_communicate(run: Run) -> Iterable[Finding]:
    """Give a finding for each info that had to be communicated."""
    texts, locale = run.transcript.texts("assistant"), run.scenario.language or "en"
    for info in run.scenario.communicate_info:
        place = next((index for index, text in texts if is_said(info, text, locale)), None)
        yield Finding(
            check="communicate",
            kind="communicate",
            passed=place is not None,
            message=f"the agent {'said' if place is not None else 'never said'} {value_text(info)}",
            turn=None if place is None else run.transcript.turns[place],
            expected=value_text(info),
        )


def is_said(info: str, text: str, locale: str) -> bool:
    """Whether a text of the agent says an info, a short number in words too."""
    number = plain(info)
    return says(info, text) or (number.isdecimal() and len(number) <= _DIGITS and states(int(number), text, locale))


def tau2_said(info: str, texts: Iterable[str]) -> bool:
    """Whether τ²'s COMMUNICATE finds `info` in one of the agent's texts: a substring, ignoring case.

    Commas are dropped from the text and not from the info, so an info with a comma is never found
    (tau2-bench, evaluator_communicate.py).
    """
    return any(info.lower() in text.lower().replace(",", "") for text in texts if text.strip())
