"""Signs in the tool log: failures that nobody tells, needs that stay unmet, tools that were not tried, deeds done twice."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re
from collections.abc import Iterator

from pytest_agentbench.calibration.signs.admission import admits
from pytest_agentbench.calibration.signs.reading import Made, Reading, codes
from pytest_agentbench.calibration.signs.sentences import denies
from pytest_agentbench.calibration.signs.talk import is_content, thanks

_STUBBORN = 3
_BROKEN = re.compile(
    r"time[d ]?-?\s?out|timeout|\b(?:5\d\d|429)\b|internal (?:server )?error|server error|unavailable|unreachable|not reachable|not responding|connection|network error"
    r"|too many requests|rate limit(?:ed)?\b(?! reached)|try again later|overload|gateway|crash|exception|out of memory|database|deadlock|\blocked\b"
    r"|indisponible|injoignable|délai (?:dépassé|expiré)|erreur interne|trop de requêtes|panne",
    re.IGNORECASE,
)
"""What an error says that is of the machinery, rather than a refusal by the rules of the matter."""


def is_broken(one: Made) -> bool:
    """Whether a call failed by a fault of the machinery: nothing came, half of it, or an error that says so."""
    return one.is_empty or one.is_cut or (one.record.failed and _BROKEN.search(one.content) is not None)


def _overcome(reading: Reading, place: int) -> bool:
    """Whether the tool was answered after all, or had been: a deed that is refused the second time is done.

    An empty answer is overcome by any later read that was answered: the agent looked elsewhere.
    """
    one = reading.calls[place]
    if any(earlier.mark == one.mark and not earlier.failed for earlier in reading.calls[:place]):
        return True
    later = [later for later in reading.calls[place + 1 :] if not later.failed]
    return any(other.name == one.name for other in later) or (
        one.is_empty and any(not reading.writes(other) for other in later)
    )


def failure_untold(reading: Reading) -> Iterator[str]:
    """Find failures that were never overcome and that the agent did not admit."""
    for place, one in enumerate(reading.calls):
        if not one.failed or _overcome(reading, place):
            continue
        said = [text for index, text in reading.agent if index > one.record.message]
        if any(admits(text) for text in said) or (not one.is_cut and any(denies(text) for text in said)):
            continue
        if (
            one.record.failed
            and not is_broken(one)
            and any(reading.writes(x) and not x.failed for x in reading.calls[place:])
        ):
            continue  # refused by the rules, and the agent found another way
        gave = "gave nothing" if one.is_empty else "broke off" if one.is_cut else "failed"
        yield f"{one.name} {gave}, and the user was not told"


def need_unmet(reading: Reading) -> Iterator[str]:
    """Find conversations whose last call failed for good, admitted or not.

    Where a tool refuses by its rules and the user takes it well, the need was to know.
    """
    if not reading.calls or not reading.calls[-1].failed or _overcome(reading, len(reading.calls) - 1):
        return
    last = reading.calls[-1]
    if (last.is_empty and isinstance(last.value, list)) or not is_broken(last):
        told = any(admits(text) or denies(text) for index, text in reading.agent if index > last.record.message)
        if told and reading.user and is_content(reading.user[-1][1]):
            return
    yield f"{last.name} failed, and nothing took its place"


def repeated_failure(reading: Reading) -> Iterator[str]:
    """Find the same call failing over and over."""
    marks = [one.mark for one in reading.calls if one.failed]
    for mark in dict.fromkeys(marks):
        if marks.count(mark) >= _STUBBORN:
            yield f"the same call failed {marks.count(mark)} times"


def no_attempt(reading: Reading) -> Iterator[str]:
    """Find agents that have tools and made no call although the user named something to look up or change.

    So do those whom the user, who came with a question, leaves with a no.
    """
    if not reading.case.toolset or reading.calls or not reading.user:
        return
    has_task = any(True for _, text in reading.user for _ in codes(text))
    last = reading.user[-1][1]
    leaves = len(reading.user) > 1 and "?" in reading.user[0][1] and denies(last) and not thanks(last)
    if has_task or leaves:
        yield "no tool was tried"


def done_twice(reading: Reading) -> Iterator[str]:
    """Find the same change made twice in one turn, to different effect: other numbers came of it, or both wrote."""
    seen: dict[str, Made] = {}
    for one in reading.calls:
        if one.failed or not reading.writes(one):
            continue
        first = seen.get(one.mark)
        if first and not reading.acted(first.record.message, one.record.message):
            wrote = [each.record.result and each.record.result.wrote for each in (first, one)]
            if all(wrote) or (wrote == [None, None] and _numbers(first) != _numbers(one)):
                yield f"{one.name} was done twice"
                return
        seen[one.mark] = one


def _numbers(one: Made) -> list[str]:
    return re.findall(r"\d+", one.content)
