"""The sign of figures that come from nowhere."""

from collections.abc import Iterator
from itertools import combinations

from pytest_agentbench.calibration.signs.reading import Reading, flat
from pytest_agentbench.checks.handling.figures import figures, number


def invented(reading: Reading) -> Iterator[str]:
    """Find figures that the agent tells and that neither the user nor a tool gave.

    A sum, difference or product counts as known where the same message or the user's words tell both of its parts.
    """
    for index, text in reading.agent:
        known = reading.known(index)
        found = [figure for figure in dict.fromkeys(figures(text)) if not _is_known(figure, known)]
        told = {value for figure in figures(text) if _is_known(figure, known) and (value := number(figure)) is not None}
        told |= {value for _, said in reading.user for figure in figures(said) if (value := number(figure)) is not None}
        for figure in found:
            value = number(figure)
            pairs = combinations(sorted(told)[:40], 2)
            if value is not None and any(value in {a + b, abs(a - b), a * b} for a, b in pairs):
                continue
            yield f"{figure!r} came from nowhere"
            return


def _is_known(figure: str, known: str) -> bool:
    bare = flat(figure)
    if bare in flat(known):
        return True
    value = number(figure)
    if value is None:
        return False
    exponent = value.as_tuple().exponent
    places = -exponent if isinstance(exponent, int) and exponent < 0 else 0
    others = {one for token in figures(known) if (one := number(token)) is not None}
    return any(round(one, places) == value or abs(one) == value for one in others)
