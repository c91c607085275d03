"""The sign of calls that serve nothing."""

import re
from collections.abc import Iterator

from pytest_agentbench.calibration.signs.days import days
from pytest_agentbench.calibration.signs.reading import Made, Reading, flat, values, words
from pytest_agentbench.core.spoken import plain

_LOOKS = re.compile(
    r"get|list|find|search|check|look|lookup|read|show|view|fetch|query|retrieve|describe|verify|status|count|can|is|has"
    r"|obtenir|lister|chercher|rechercher|verifier|consulter|lire|voir|afficher|trouver"
)
"""First words of the names of tools that only look."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
_ENOUGH = 2
"""Repeated reads from which a conversation is wasteful.

With reads that serve nothing it takes one more where it changes things or leads further.
"""

_REQUEST = 3
"""Words from which a text of the user's may ask for something."""


def wasted(reading: Reading) -> Iterator[str]:
    """Find reads made twice with nothing changed in between, and reads whose answers serve nothing.

    A read before a change may have been made to see whether it is allowed; one of something that neither the user nor
    an answer named serves nothing in any case.
    """
    asked = any(len(words(text)) >= _REQUEST for _, text in reading.user)
    repeated, idle = _repeated(reading), _idle(reading) if asked else []
    strange = [one for one in idle if _is_strange(reading, one)]
    leads_on = any(not _is_read(reading, one) for one in reading.calls) or _user_acts(reading)
    most = _ENOUGH + 1 if leads_on else 1
    if not strange and len(repeated) < _ENOUGH and len(repeated) + len(idle) < most:
        return
    if repeated:
        yield f"{repeated[0].name} was called again with nothing changed in between"
    if idle:
        yield f"what {idle[0].name} gave was used nowhere, and nobody asked for it"


def _is_read(reading: Reading, one: Made) -> bool:
    """Whether a call only looks: it is declared to, or is not declared and its name says so."""
    spec = reading.case.toolset.get(one.name)
    if spec is not None and spec.kind != "unknown":
        return spec.kind == "read"
    return not reading.writes(one) and any(_LOOKS.fullmatch(word) for word in words(plain(one.name))[:1])


def _user_acts(reading: Reading) -> bool:
    return any(one.call.requestor == "user" for one in reading.case.transcript.trajectory)


def _repeated(reading: Reading) -> list[Made]:
    seen: dict[str, Made] = {}
    found: list[Made] = []
    for one in reading.calls:
        if one.failed:
            continue
        if not _is_read(reading, one):
            seen.clear()
        elif (first := seen.get(one.mark)) and not reading.acted(first.record.message, one.record.message):
            found.append(one)
        else:
            seen[one.mark] = one
    return found


def _idle(reading: Reading) -> list[Made]:
    said = flat("\n".join(text for _, text in reading.user))
    found: list[Made] = []
    for place, one in enumerate(reading.calls):
        if one.failed or not _is_read(reading, one):
            continue
        after = reading.after(place)
        later, named = flat(after), {(day.month, day.day) for day in days(plain(after))}
        arguments = [flat(leaf) for leaf in values(one.record.call.arguments)]
        used = any(len(flat(part)) > 1 and flat(part) in later for leaf in values(one.value) for part in _told_as(leaf))
        used = used or any((day.month, day.day) in named for leaf in values(one.value) for day in days(plain(leaf)))
        asked = bool(arguments) and all(leaf in said for leaf in arguments)
        if not used and not asked:
            found.append(one)
    return found


def _is_strange(reading: Reading, one: Made) -> bool:
    """Whether a call is about something that neither the user, an answer nor the agent's own question named."""
    known = flat(f"{reading.known(one.record.message)}\n{reading.agreed(one.record.message)}")
    leaves = [flat(leaf) for leaf in values(one.record.call.arguments)]
    return any(len(leaf) > 1 and any(char.isdigit() for char in leaf) and leaf not in known for leaf in leaves)


def _told_as(leaf: str) -> list[str]:
    """Give a value and, of a day with a time, each by itself."""
    return [leaf, *re.split(r"[ T]", leaf)[1:]] if _DAY.match(leaf) else [leaf]
