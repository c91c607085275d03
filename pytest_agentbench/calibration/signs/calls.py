"""Signs in the tool log: failures that nobody tells, claims without calls, wrong arguments, waste."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re
from collections.abc import Iterator

from pytest_agentbench.calibration.signs.reading import Made, Reading, codes, flat, values, words
from pytest_agentbench.checks.handling.admission import admits

_DONE = re.compile(
    r"\b(?:done|completed?|finished|carried out|went through|settled|handled|processed|booked|taken care|all set|succe(?:ss|eded)\w*"
    r"|(?:has|have|is|was|been) (?:\w+ )?(?:\w+ed|sent|made|put|set)\b"
    r"|fait|effectué\w*|exécuté\w*|terminé\w*|réglé\w*|traité\w*|enregistré\w*|validé\w*|confirmé\w*|annulé\w*|modifié\w*|envoyé\w*)\b",
    re.IGNORECASE,
)
_STUBBORN = 3
_LEAST = 2


def _overcome(reading: Reading, place: int) -> bool:
    """Whether a later call of the same tool was answered."""
    one = reading.calls[place]
    return any(later.name == one.name and not later.failed for later in reading.calls[place + 1 :])


def failure_untold(reading: Reading) -> Iterator[str]:
    """Find failures that were never overcome and that the agent did not admit."""
    for place, one in enumerate(reading.calls):
        if not one.failed or _overcome(reading, place):
            continue
        if not any(admits(text) for index, text in reading.agent if index > one.record.message):
            gave = "gave nothing" if one.is_empty else "failed"
            yield f"{one.name} {gave}, and the user was not told"


def need_unmet(reading: Reading) -> Iterator[str]:
    """Find conversations whose last call failed for good, admitted or not."""
    if reading.calls and reading.calls[-1].failed:
        yield f"{reading.calls[-1].name} failed, and nothing took its place"


def repeated_failure(reading: Reading) -> Iterator[str]:
    """Find the same call failing over and over."""
    marks = [one.mark for one in reading.calls if one.failed]
    for mark in dict.fromkeys(marks):
        if marks.count(mark) >= _STUBBORN:
            yield f"the same call failed {marks.count(mark)} times"


def no_attempt(reading: Reading) -> Iterator[str]:
    """Find agents that have tools and made no call although the user named something to look up or change."""
    has_task = any(True for _, text in reading.user for _ in codes(text))
    if reading.case.toolset and not reading.calls and has_task:
        yield "no tool was tried"


def claim_without_call(reading: Reading) -> Iterator[str]:
    """Find claims that name what a tool does that was never called with success."""
    text = set(words(reading.closing))
    if not _DONE.search(reading.closing) and not codes(reading.closing):
        return
    called = {one.name for one in reading.calls if not one.record.failed}
    covered = {word for name in called for word in words(name)}
    for spec in reading.case.toolset.of("assistant"):
        name = set(words(spec.name))
        if spec.name not in called and name <= text and not name <= covered:
            yield f"{spec.name!r} is spoken of as done and was never called"
            return


def claim_without_answer(reading: Reading) -> Iterator[str]:
    """Find conversations that end on a success of which no answer says anything and nothing was changed."""
    if not reading.calls or not _DONE.search(reading.closing) or admits(reading.closing):
        return
    if any(reading.writes(one) and not one.record.failed for one in reading.calls):
        return
    text = flat(reading.closing)
    told = [leaf for one in reading.calls for leaf in values(one.value) if len(flat(leaf)) > 1 and flat(leaf) in text]
    if not told:
        yield "success is claimed, nothing was changed, and no answer is told"


def wrong_argument(reading: Reading) -> Iterator[str]:
    """Find calls with a value that nobody gave while a value of the user's was never used."""
    given = [code for _, text in reading.user[:1] for code in codes(text)]
    taken = flat("\n".join(leaf for one in reading.calls for leaf in values(one.record.call.arguments)))
    for one in reading.calls:
        known = flat(reading.known(one.record.message))
        for leaf in values(one.record.call.arguments):
            bare = flat(leaf)
            if len(bare) < _LEAST or bare in known or _is_derived(leaf, known):
                continue
            if any(flat(code) not in taken for code in given) or any(char.isdigit() for char in leaf):
                yield f"{one.name} was called with {leaf!r}, which nobody gave"
                return
    said = flat("\n".join(reading.closing.split()))
    ignored = [
        code for code in given if flat(code) not in taken and flat(code) not in said and len(flat(code)) > _LEAST
    ]
    if ignored and reading.calls and not any(one.failed for one in reading.calls):
        results = flat("\n".join(one.content for one in reading.calls))
        if not any(flat(code) in results for code in ignored):
            yield f"{ignored[0]!r} was given by the user and appears in no call and no answer"


def _is_derived(leaf: str, known: str) -> bool:
    """Whether a value is spelled out of known words, or a rounding of a known number."""
    parts = [flat(part) for part in re.findall(r"[^\W_]+", leaf)]
    if parts and all(part in known for part in parts):
        return True
    try:
        number = float(leaf)
    except ValueError:
        return False
    return flat(f"{number:g}") in known or flat(f"{abs(number):.1f}") in known


def wasted(reading: Reading) -> Iterator[str]:
    """Find reads made twice with nothing changed in between, and calls whose answers serve nothing."""
    seen: set[str] = set()
    repeated: list[Made] = []
    idle: list[Made] = []
    said = flat("\n".join(text for _, text in reading.user))
    for place, one in enumerate(reading.calls):
        if reading.writes(one) and not one.failed:
            seen.clear()
        if one.mark in seen and not one.failed:
            repeated.append(one)
        seen.add(one.mark)
        later = flat(reading.after(place))
        arguments = [flat(leaf) for leaf in values(one.record.call.arguments)]
        used = any(len(flat(leaf)) > 1 and flat(leaf) in later for leaf in values(one.value))
        asked = bool(arguments) and all(leaf in said for leaf in arguments)
        if not used and not asked and not reading.writes(one) and not one.failed:
            idle.append(one)
    if repeated:
        yield f"{repeated[0].name} was called again with nothing changed in between"
    if len(idle) >= 1:
        yield f"what {idle[0].name} gave was used nowhere, and nobody asked for it"
