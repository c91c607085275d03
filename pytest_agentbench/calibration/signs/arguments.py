"""Signs in the arguments of calls: values that nobody gave, values of the user's that were left out."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re
from collections.abc import Iterator

from pytest_agentbench.calibration.signs.days import days, times
from pytest_agentbench.calibration.signs.knowledge import Knowledge, is_relative, numbers
from pytest_agentbench.calibration.signs.reading import Made, Reading, codes, flat, values
from pytest_agentbench.calibration.signs.sentences import denies, sentences
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.validation.known import Known, way_to
from pytest_agentbench.validation.values import scalars

_IS_CODE = re.compile(r"[\d@]|\w[-_]\w")
_NAME = re.compile(r"[A-ZÀ-Ý][\w'’]+(?:[ -][A-ZÀ-Ý][\w'’]+)*")
_NAMES = re.compile(rf"(?<=[a-zà-ÿ,] ){_NAME.pattern}")
_JOINED = re.compile(r"\w[-_]\w")
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
_LEAST = 2
_LISTED = 5
_OWN_WORDS = 6
"""Words from which an argument is a text of the agent's own: only its codes must be known."""
_OWN_TEXT = re.compile(
    r"reason|note|summary|description|comment|message|text|details|subject|motif|remarque|resume|objet", re.IGNORECASE
)
"""Names of arguments that hold a text of the agent's own, however short."""
_MONTH = re.compile(r"\d{4}-(\d\d)")
_TIMED = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_VAGUE = re.compile(
    r"\b(?:morning|afternoon|evening|night|noon|lunch\w*|early|late|earl\w+|now|asap|soon|any ?time|whenever|all day|until|for|hours?|minutes?|mins?"
    r"|matin\w*|apres-midi|soir\w*|midi|nuit|tot|tard|maintenant|n'importe|journee|pendant|durant|heures?)\b"
)
"""Words that leave a time of day to the agent."""
_COUNT = 20
_CODE_LIKE = re.compile(r"(?=.*[A-Za-z])(?=(?:\D*\d){2})[\w#-]{4,}|\d{5,}|\S+@\S+")
_UNIT = re.compile(r"\d+(?:[.,:h]\d+)?(?:[a-z]{1,3}|euros?)?", re.IGNORECASE)


def wrong_argument(reading: Reading) -> Iterator[str]:
    """Find calls with a value that nobody gave while a value of the user's was never used."""
    given = [code for _, text in reading.user[:1] for code in codes(text)]
    taken = flat("\n".join(leaf for one in reading.calls for leaf in values(one.record.call.arguments)))
    said_by_user = "\n".join(text for _, text in reading.user)
    if not given and not _NAMES.search(said_by_user):
        return  # the user told no value that a call's could be held against
    for place, one in enumerate(reading.calls):
        if one.record.failed and any(later.name == one.name and not later.failed for later in reading.calls[place:]):
            continue  # a slip that changed nothing and was put right
        known = f"{reading.known(one.record.message)}\n{reading.agreed(one.record.message)}"
        for name, value in one.record.call.arguments.items():
            if message := _listed_otherwise(reading, one, name, value, said_by_user):
                yield message
                return
            if _listed(reading, one.name, name):
                continue
            for leaf in _leaves(value):
                if len(flat(leaf)) < _LEAST or flat(leaf) in flat(known) or _follows(leaf, name, known, reading, one):
                    continue
                ignored = any(flat(code) not in taken for code in given)
                if _IS_CODE.search(leaf) or _NAME.fullmatch(leaf) or ignored:
                    yield f"{one.name} was called with {leaf!r}, which nobody gave"
                    return


def left_out(reading: Reading) -> Iterator[str]:
    """Find what looks like a number or an address of something, given by the user and found in no call and no answer.

    Nothing is missed where a call failed, or where the agent asked about it or said that something about it is not so.
    """
    calls = reading.calls
    if not calls or any(one.failed for one in calls):
        return
    open_ones = [one for _, text in reading.agent for one in sentences(text) if one.endswith("?") or denies(one)]
    raw = "\n".join([*(one.content for one in calls), *open_ones])
    raw += "\n".join(leaf for one in calls for leaf in values(one.record.call.arguments))
    everything = flat(raw)
    for _, text in reading.user[:1]:
        for code in codes(text):
            bare = flat(code)
            if (
                not _CODE_LIKE.fullmatch(code)
                or (_UNIT.fullmatch(code) and not code.isdigit())
                or days(plain(code))
                or times(plain(code))
            ):
                continue
            if bare not in everything or ("@" in code and code.casefold() not in raw.casefold()):
                yield f"{code!r} was given by the user and appears in no call and no answer"
                return


def _leaves(value: JsonValue) -> Iterator[str]:
    """Give the texts and numbers of an argument; true and false say too little."""
    return (str(scalar) for _, scalar in scalars(value))


def _listed(reading: Reading, tool: str, argument: str) -> list[str]:
    """Give the values that a tool's schema lists for an argument."""
    spec = reading.case.toolset.get(tool)
    schema = spec.parameters.get("properties", {}).get(argument, {}) if spec else {}
    return [str(value) for value in schema.get("enum", ())]


def _listed_otherwise(reading: Reading, one: Made, name: str, value: JsonValue, said: str) -> str | None:
    """Say that the user named another of the values that a schema lists."""
    others = [other for other in _listed(reading, one.name, name) if other != str(value) and len(other) > _LISTED]
    if others and flat(str(value)) not in flat(said) and any(flat(other) in flat(said) for other in others):
        return f"{one.name} was called with {name} {value!r}, which is not what the user said"
    return None


def _follows(leaf: str, name: str, known: str, reading: Reading, one: Made) -> bool:
    """Whether a value is spelled out of known words, is a known day, count or number, or a text of the agent's own."""
    parts = re.findall(r"[^\W_]+", leaf.casefold())
    if parts and not _JOINED.search(leaf) and set(parts) <= set(re.findall(r"[^\W_]+", known.casefold())):
        return True
    knowledge = reading.knowledge(one.record.message, agreed=True)
    if _DAY.match(leaf):
        return _is_day(leaf, known, knowledge) and _is_time(leaf, reading, one, knowledge)
    if month := _MONTH.fullmatch(leaf):
        return knowledge.has_month(int(month[1])) or is_relative(knowledge.text)
    if len(leaf.split()) >= _OWN_WORDS or (_OWN_TEXT.search(name) and " " in leaf):
        return all(knowledge.says(plain(code)) or not _CODE_LIKE.fullmatch(code) for code in codes(leaf))
    if "".join(re.findall(r"\d+", leaf)) in _joined_digits(knowledge) and len(re.findall(r"\d", leaf)) > _LISTED:
        return True  # letters or marks were put to a number that is known: `9502127` becomes `#W9502127`
    value = next(numbers(leaf), None) if re.fullmatch(r"-?\d+(?:\.\d+)?", leaf) else None
    if value is None:
        return False
    if value == int(value) and 0 <= value <= _COUNT:
        return True
    told = [number for _, text in [*reading.user, *reading.agent] for number in numbers(plain(text))]
    return knowledge.has_number(value, told, is_price=True)


def _is_time(leaf: str, reading: Reading, one: Made, knowledge: Knowledge) -> bool:
    """Whether the time of a day with a time was said or answered, where the user said times to the hour."""
    said = plain("\n".join(text for index, text in reading.user if index < one.record.message))
    if not _TIMED.match(leaf) or not times(said) or _VAGUE.search(said):
        return True
    minutes = times(plain(leaf))[0].minutes[0]
    hours = {int(number) % _HALF for number in re.findall(r"(?<![\w:.,/-])\d{1,2}(?![\w:,/-])", said)}
    return knowledge.names_time(minutes) or (minutes % 30 == 0 and minutes // 60 % _HALF in hours)


_HALF = 12


def _joined_digits(knowledge: Knowledge) -> str:
    return "\n".join("".join(re.findall(r"\d", piece)) for piece in re.findall(r"[\w#-]*\d[\w-]*", knowledge.text))


def _is_day(leaf: str, known: str, knowledge: Knowledge) -> bool:
    found = Known()
    found.add("the conversation", known)
    return way_to(leaf[:10], {}, found) is not None or any(knowledge.has_day(one.month, one.day) for one in days(leaf))
