"""What a party of a scenario knows, and where from; how a value follows from that, and calls that could succeed by it.

The rules by which a value is known, in their order, are those of the table in `docs/how-to/validate.md`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, combinations, islice, product

from pytest_agentbench.checks.matching import is_call_of
from pytest_agentbench.core.json_values import JsonValue, is_number, same
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.scenario import ExpectedCall, Scenario
from pytest_agentbench.core.spoken import plain, states
from pytest_agentbench.core.text_similarity import SHORTEST
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.suites.known_info import known_values
from pytest_agentbench.validation.world_values import Columns, Scalar, scalars, singular

_COUNTED = 20
"""Whole numbers up to this one are counts of what is known."""
_OWN_WORDS = 4
"""Words from which a text is the agent's own; of texts without spaces, signs of `SHORTEST`."""
_NUMBERS = 150
"""Known numbers up to which pairs are computed."""
_CENT = 0.0051
_LONGEST_VALUE = 100

_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ].*)?")
_CAPITALS = re.compile(r"[A-Z]{2,3}")
_TITLED = re.compile(r"[A-ZÀ-Ý][\w'’-]*(?: [A-ZÀ-Ý][\w'’-]*){0,3}")
_EXPRESSION = re.compile(r"[\d\s.+*/()-]+")
_WITH_DIGIT = re.compile(r"[\w#.+@-]*\d[\w.+@-]*")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])")
_CODE = re.compile(r"[#\w.+-]*[\d@_][\w.+@-]*\w")
_WORD = re.compile(r"[\w@.+'-]*\w")

Way = tuple[str, str]
"""The rule by which a value is known, and the place that it is known from."""


class Known:
    """Texts and values, each with the place it comes from; values are compared in `core.spoken.plain` form."""

    def __init__(self, locale: str = "en") -> None:
        self.locale = locale
        self.raw: list[tuple[str, str]] = []
        self.values: list[tuple[str, str, Scalar]] = []
        self.numbers: dict[float, str] = {}
        self._texts: list[tuple[str, str]] = []
        self._words: list[tuple[str, frozenset[str]]] = []
        self._every: set[str] = set()
        self._seen: set[str] = set()

    def add(self, place: str, value: JsonValue, key: str = "") -> None:
        """Take in a text or a JSON value; the same from another place adds nothing. `key` is that of a bare value."""
        for name, item in scalars(value, key):
            text = plain(str(item))
            if not text or (mark := f"{name}\n{text}") in self._seen:
                continue
            self._seen.add(mark)
            self.values.append((place, name, item))
            self.raw.append((place, str(item)))
            self._texts.append((place, text))
            self._words.append((place, _words(text)))
            self._every |= self._words[-1][1]
            for number in _NUMBER.findall(text):
                self.numbers.setdefault(float(number), place)

    def place_of(self, text: str) -> str | None:
        """Give the first place that says a text: as a whole, not inside a longer word or number."""
        wanted = plain(text)
        if not wanted:
            return None
        literal = re.escape(wanted)
        pattern = re.compile(rf"(?<!\w){literal}(?!\w)(?!\.\d)" if wanted[0].isalnum() else literal)
        return next((place for place, said in self._texts if wanted in said and pattern.search(said)), None)

    def place_of_words(self, text: str) -> str | None:
        """Give the first place that says all words of a text, in any order."""
        wanted = _words(plain(text))
        return next((place for place, said in self._words if wanted <= said), None) if wanted else None

    def says(self, value: Scalar) -> bool:
        """Whether some text says the value."""
        text = str(value)
        return _words_of(text) <= self._every and self.place_of(text) is not None

    def under(self, key: str) -> Iterator[Scalar]:
        """Give the values that stand under a key."""
        return (value for _, name, value in self.values if name == key)

    def named_like(self, name: str) -> Iterator[Scalar]:
        """Give the values whose key says all words of `name`, such as `first name` for `first_name`."""
        wanted = _words(name.replace("_", " ").lower())
        for _, key, value in self.values:
            if key and wanted and len(str(value)) <= _LONGEST_VALUE and wanted <= _words_of(key):
                yield value

    def codes(self) -> Iterator[str]:
        """Give the words that look like ids or addresses: with a digit, an `@` or a `_` in them."""
        return (token for _, text in self.raw for token in _CODE.findall(text))

    @property
    def places(self) -> tuple[str, ...]:
        """The places looked in, each once."""
        return tuple(dict.fromkeys(place for place, _ in self._texts))


def _words(text: str) -> frozenset[str]:
    """Give the words of a text in plain form; `_` and `#` part or open words."""
    return frozenset(_WORD.findall(text.replace("_", " ").replace("#", " ").replace("/", " ")))


@lru_cache(maxsize=20_000)
def _words_of(text: str) -> frozenset[str]:
    """Give the words of a value: all those of a state are asked for again and again."""
    return _words(plain(text))


def of_user(scenario: Scenario) -> Known:
    """Give what the simulated user says or knows: lines, known values, goal, known info, instructions, persona."""
    story, told, initial = scenario.task.user_scenario, scenario.instructions, scenario.task.initial_state
    known = Known(scenario.language or "en")
    texts: list[tuple[str, JsonValue]] = [
        *((f"line {number}", line) for number, line in enumerate(scenario.lines, start=1)),
        ("knows", scenario.knows),
        ("goal", told.reason_for_call or ""),
        ("known_info", told.known_info or ""),
        ("task_instructions", told.task_instructions or ""),
        *((name, text) for name, text in (told.model_extra or {}).items() if isinstance(text, str)),
        ("persona", (story.persona if story else None) or ""),
        ("ticket", scenario.task.ticket or ""),
    ]
    for place, text in texts:
        known.add(place, text)
    for value, names in known_values(scenario, Toolset()):
        for name in names:
            known.add("known_info", value, name)
    for message in (initial.message_history or ()) if initial else ():
        known.add("the history", message.get("content"))
    return known


def way_to(value: JsonValue, schema: Mapping[str, JsonValue], known: Known) -> Way | None:
    """Give (rule, place) by which a value is reached, or None."""
    listed = [*schema.get("enum", ()), schema.get("const"), schema.get("default")]
    if value is None or isinstance(value, bool) or value in ("", [], {}) or any(same(value, one) for one in listed):
        return "constant", "the tool's schema"
    if place := known.place_of(str(value)):
        return "said", place
    return _number(float(value), known) if is_number(value) else _text(str(value), known)


def is_date(value: JsonValue) -> bool:
    """Whether a value is a date, with a time or without."""
    return isinstance(value, str) and _DATE.fullmatch(value) is not None


def _text(value: str, known: Known) -> Way | None:
    if place := known.place_of_words(value):
        return "same words", place
    if found := _DATE.fullmatch(value):
        said = (place for place, text in known.raw if states(found[1], text, known.locale))
        if place := next(said, None):
            return "date", place
    if _CAPITALS.fullmatch(value) and (place := _abbreviated(value, known)):
        return "abbreviation", place
    if _EXPRESSION.fullmatch(value):
        is_known = all(_number(float(number), known) for number in re.findall(r"\d+(?:\.\d+)?", value))
        return ("own words", "known numbers") if is_known else None
    is_own = len(value.split()) >= _OWN_WORDS or len(value) >= SHORTEST
    if is_own and all(_holds(token, known) for token in _WITH_DIGIT.findall(value)):
        return "own words", "what is known"
    return None


def _holds(token: str, known: Known) -> bool:
    """Whether a word with a digit is a count, is said, or is a known number."""
    if (token.isdecimal() and len(token) <= len(str(_COUNTED)) and int(token) <= _COUNTED) or known.place_of(token):
        return True
    try:
        return _number(float(token.strip(".#")), known) is not None
    except ValueError:
        return False


def _number(value: float, known: Known) -> Way | None:
    if value in known.numbers:
        return "said", known.numbers[value]
    if value.is_integer() and 0 <= value <= _COUNTED:
        return "count", "what is known"
    for left, right in combinations(list(known.numbers)[:_NUMBERS], 2):
        results = [left + right, left - right, right - left, left * right, *([left / right] if right else [])]
        if any(abs(value - result) < _CENT for result in results):
            return "computed", f"{known.numbers[left]} and {known.numbers[right]}"
    totals: dict[str, float] = {}
    for number, place in known.numbers.items():
        totals[place] = totals.get(place, 0.0) + number
    summed = next((place for place, total in totals.items() if abs(total - value) < _CENT), None)
    return ("computed", summed) if summed else None


def _abbreviated(value: str, known: Known) -> str | None:
    letters = re.compile(".*?".join(value.lower()))
    for place, text in known.raw:
        for name in map(plain, _TITLED.findall(text)):
            begins = name[:1] == value[0].lower() and letters.match(name)
            if begins or (len(name) > len(value) and letters.search(name)):
                return place
    return None


FEW = (6, 24)
"""Values tried for one argument, and calls of one tool, where one call is needed."""
MANY = (60, 200)
"""The same where everything is to be read."""
_TOGETHER = 12
"""Values of each argument that are combined with those of others."""
_FIRST = 3
"""Values of an argument that are tried in another's place."""
_WIDE = 5
"""Arguments from which the likeliest values alone are tried."""
_ANYTHING: dict[str, JsonValue] = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}
"""What stands, by type, where nothing is known."""


def likely_calls(
    tool: ToolSpec,
    near: Sequence[dict[str, JsonValue]],
    known: Known,
    columns: Columns,
    *,
    never: Sequence[ExpectedCall] = (),
    most: tuple[int, int] = FEW,
) -> Iterator[ToolCall]:
    """Give calls of a tool that could succeed, likely ones first; none that `never` forbids.

    For each argument that is required: the value it has in one of the calls `near`, what is known under its name,
    values of the state under its name that somebody said, what the schema lists, and, where the state has nothing of
    that name, every word that looks like an id. Where nothing is known, any value of the type.
    """
    properties = tool.parameters.get("properties", {})
    required = [name for name in properties if name in tool.parameters.get("required", ())]
    choices = [list(islice(_likely(name, properties[name], near, known, columns), most[0])) for name in required]
    if most is MANY and len(choices) > 1:  # a way back has the same ends as the way there
        choices = [
            [*own[:_FIRST], *(one for other in choices for one in other[:_FIRST] if one not in own), *own[_FIRST:]]
            for own in choices
        ]
    for chosen in _likely_first(choices, most[1]):
        call = ToolCall(name=tool.name, arguments=dict(zip(required, chosen, strict=True)), requestor=tool.requestor)
        if not any(is_call_of(forbidden, call) for forbidden in never):
            yield call


def _likely_first(choices: Sequence[Sequence[JsonValue]], most: int) -> Iterator[tuple[JsonValue, ...]]:
    """Give combinations of values, those first in which every value stands early in its list."""
    kept = choices if len(choices) < 2 else [values[:_TOGETHER] for values in choices]
    places = sorted(product(*(range(len(values)) for values in kept)), key=sum) if len(kept) < _WIDE else []
    for chosen in places[:most]:
        yield tuple(values[place] for values, place in zip(kept, chosen, strict=True))
    if not places and all(kept):
        yield tuple(values[0] for values in kept)


def _likely(
    name: str, schema: dict[str, JsonValue], near: Sequence[dict[str, JsonValue]], known: Known, columns: Columns
) -> Iterator[JsonValue]:
    seen: list[JsonValue] = []
    stated = (arguments[name] for arguments in near if name in arguments and not holds_matcher(arguments[name]))
    of_state = (value for value in columns.of(name) if known.says(value))
    listed, kind = schema.get("enum", ()), schema.get("type")
    codes = known.codes() if kind in ("string", None) and not columns.of(name) and not listed else ()
    under = chain(known.under(name), known.under(singular(name)))
    for value in chain(stated, under, known.named_like(name), of_state, listed, codes):
        fitting = value
        if kind == "array" and not isinstance(value, list):
            fitting = [value]
        elif kind == "string" and isinstance(value, int | float):
            fitting = str(value)
        if fitting not in seen:
            seen.append(fitting)
            yield fitting
    if not seen:
        yield _ANYTHING.get(str(kind), "text")
