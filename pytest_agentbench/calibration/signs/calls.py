"""Signs in the tool log: failures that nobody tells, claims without calls, wrong arguments, waste."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re
from collections.abc import Iterator

from pytest_agentbench.calibration.signs.reading import Made, Reading, codes, flat, values, words
from pytest_agentbench.checks.handling.admission import admits
from pytest_agentbench.validation.derived import way_to
from pytest_agentbench.validation.known import Known

_DONE = re.compile(
    r"\b(?:done|completed?|finished|carried out|went through|settled|handled|processed|booked|taken care|all set|succe(?:ss|eded)\w*"
    r"|(?:has|have|is|was|been) (?:\w+ )?(?:\w+ed|sent|made|put|set)\b"
    r"|fait|effectué\w*|exécuté\w*|terminé\w*|réglé\w*|traité\w*|enregistré\w*|validé\w*|confirmé\w*|annulé\w*|modifié\w*|envoyé\w*)\b",
    re.IGNORECASE,
)
_IS_CODE = re.compile(r"[\d@]|\w[-_]\w")
_NAME = re.compile(r"[A-ZÀ-Ý][\w'’]+(?:[ -][A-ZÀ-Ý][\w'’]+)*")
_NAMES = re.compile(rf"(?<=[a-zà-ÿ,] ){_NAME.pattern}")
_JOINED = re.compile(r"\w[-_]\w")
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
_OWN_DEED = re.compile(
    r"\b(?:I|we)(?:['’]ve| have)(?: just| now| already| also)? (?P<verb>\w+ed|put|sent|set|made|paid|cut|taken|given)\b"
    r"|\b(?:j['’]ai|nous avons)(?: bien| déjà| aussi)? (?P<fait>\w*(?:é|ée|és|ées|mis|fait|pris|réduit|inscrit))\b",
    re.IGNORECASE,
)
_NO_CHANGE = re.compile(
    r"(?:check|look|search|review|consult|verif|confirm|list|compar|receiv|not|try|tri|ask|need|fail|want|talk|discuss|explain|notic|read|open|provid|mention|shar|attach"
    r"|vérifi|cherch|consult|regard|demand|trouv|compar|not|essay|expliqu|compt|tent|list|confirm|parl|pass|oubli|indiqu|donn)",
    re.IGNORECASE,
)
_STUBBORN = 3
_LEAST = 2
_STEM = 5
"""Letters that are compared of a word: `cancel` and `cancelled`."""


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
            gave = "gave nothing" if one.is_empty else "broke off" if one.is_cut else "failed"
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
    if not _DONE.search(reading.closing) and next(codes(reading.closing), None) is None:
        return
    text = words(reading.closing)
    joined, stems = f" {' '.join(text)} ", {_stem(word) for word in text}
    called = {one.name for one in reading.calls if not one.record.failed}
    covered = {word for name in called for word in words(name)}
    answered = {word for one in reading.calls for word in words(one.content)}
    for spec in reading.case.toolset.of("assistant"):
        name = words(spec.name)
        if spec.name in called or set(name) <= covered | (set() if spec.kind == "write" else answered):
            continue
        is_said = spec.kind == "write" and {_stem(word) for word in name} <= stems
        if is_said or f" {' '.join(name)} " in joined:
            yield f"{spec.name!r} is spoken of as done and was never called"
            return


def _told_as(leaf: str) -> list[str]:
    """Give a value and, of a day with a time, each by itself."""
    return [leaf, *re.split(r"[ T]", leaf)[1:]] if _DAY.match(leaf) else [leaf]


def _stem(word: str) -> str:
    """Give what forms of a word have in common: its first letters."""
    return word[:_STEM]


def deed_without_write(reading: Reading) -> Iterator[str]:
    """Find an agent that says that it has changed something while nothing that changes things was answered."""
    if not any(spec.kind == "write" for spec in reading.case.toolset):
        return
    if any(reading.writes(one) and not one.failed for one in reading.calls):
        return
    initial, final = reading.case.initial, reading.case.final
    if initial is not None and final is not None and initial != final:
        return
    for _, text in reading.agent:
        for found in _OWN_DEED.finditer(text):
            if not _NO_CHANGE.match(found["verb"] or found["fait"]):
                yield f"{found[0]!r} is said, and nothing was changed"
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
    said_by_user = "\n".join(text for _, text in reading.user)
    if not given and not _NAMES.search(said_by_user):
        return  # the user told no value that a call's could be held against
    for one in reading.calls:
        known = f"{reading.known(one.record.message)}\n{reading.agreed(one.record.message)}"
        for name, value in one.record.call.arguments.items():
            listed = _listed(reading, one.name, name)
            if listed:
                others = [other for other in listed if other != str(value) and len(other) > _STEM]
                if flat(str(value)) not in flat(said_by_user) and any(flat(o) in flat(said_by_user) for o in others):
                    yield f"{one.name} was called with {name} {value!r}, which is not what the user said"
                    return
                continue
            for leaf in values(value):
                if len(flat(leaf)) < _LEAST or flat(leaf) in flat(known) or _is_derived(leaf, known):
                    continue
                if _DAY.match(leaf) and way_to(leaf[:10], {}, _known(known)):
                    continue
                ignored = any(flat(code) not in taken for code in given)
                if _IS_CODE.search(leaf) or _NAME.fullmatch(leaf) or ignored:
                    yield f"{one.name} was called with {leaf!r}, which nobody gave"
                    return
    said = flat("\n".join(reading.closing.split()))
    unused = [code for code in given if flat(code) not in taken and flat(code) not in said and len(flat(code)) > _LEAST]
    if unused and reading.calls and not any(one.failed for one in reading.calls):
        results = flat("\n".join(one.content for one in reading.calls))
        if not any(flat(code) in results for code in unused):
            yield f"{unused[0]!r} was given by the user and appears in no call and no answer"


def _known(text: str) -> Known:
    known = Known()
    known.add("the conversation", text)
    return known


def _listed(reading: Reading, tool: str, argument: str) -> list[str]:
    """Give the values that a tool's schema lists for an argument."""
    spec = reading.case.toolset.get(tool)
    schema = spec.parameters.get("properties", {}).get(argument, {}) if spec else {}
    return [str(value) for value in schema.get("enum", ())]


def _is_derived(leaf: str, known: str) -> bool:
    """Whether a value is spelled out of whole known words, or a rounding of a known number."""
    parts = re.findall(r"[^\W_]+", leaf.casefold())
    if parts and not _JOINED.search(leaf) and set(parts) <= set(re.findall(r"[^\W_]+", known.casefold())):
        return True
    try:
        number = float(leaf)
    except ValueError:
        return False
    return flat(f"{number:g}") in flat(known) or flat(f"{abs(number):.1f}") in flat(known)


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
        if not one.failed:
            seen.add(one.mark)
        later = flat(reading.after(place))
        arguments = [flat(leaf) for leaf in values(one.record.call.arguments)]
        used = any(len(flat(part)) > 1 and flat(part) in later for leaf in values(one.value) for part in _told_as(leaf))
        asked = bool(arguments) and all(leaf in said for leaf in arguments)
        spec = reading.case.toolset.get(one.name)
        has_answer = spec is None or spec.kind != "generic"  # a hand-over is made for its effect elsewhere
        if has_answer and not used and not asked and not reading.writes(one) and not one.failed:
            idle.append(one)
    if repeated:
        yield f"{repeated[0].name} was called again with nothing changed in between"
    if len(idle) >= 1:
        yield f"what {idle[0].name} gave was used nowhere, and nobody asked for it"
