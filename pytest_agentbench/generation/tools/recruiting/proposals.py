"""Sets of arguments that are worth a try: what probing saw accepted, and what results of other tools give.

A value that a user says is a short scalar that a schema or a row shows: of its declared values, of the recipe, of the
state, or of an answer to a call that did not name it. Values that only a probe put in come last; where a tool takes any
words, and nothing shows some, a user says what they are (`reason of this request`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_agentbench.core.json_values import JsonValue, is_number, same
from pytest_agentbench.generation.language.plain import words_of
from pytest_agentbench.generation.tools.data_types import Card, Cards, ParameterCard
from pytest_agentbench.generation.tools.flows import scalars_in
from pytest_agentbench.generation.tools.hydration.display_names import is_name
from pytest_agentbench.generation.tools.labels import is_identifier, name_of
from pytest_agentbench.generation.tools.probing.result_parser import parsed
from pytest_agentbench.generation.tools.probing.schema_values import fits, usual
from pytest_agentbench.generation.tools.probing.schemas import Slot, build, read_slots
from pytest_agentbench.generation.tools.recruiting.pool import call_key

CANDIDATES = 10
"""Sets of arguments that are proposed at a time (tool-to-scenario D.2)."""
_LONGEST_VALUE = 120
"""Characters of a value that a user would say."""
_SHORT = 3
"""Characters up to which a word stands in every text."""
_OF_A_RUN = re.compile(r"[/\\]agentbench-\w{6,}")
"""A folder that was made for one run (`{run_dir}`), which no other run has."""
_OPAQUE = re.compile(
    r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|(?=[^\d]*\d)(?=[^a-f]*[a-f])[0-9a-f]{16,}", re.IGNORECASE
)
"""A UUID, or a hash."""
_LIKELY = frozenset(("nominal", "observed", "proposed", "cross_parameter"))
"""Kinds of probes with values that a user may have; the others try limits."""
_OPEN = frozenset(("type", "title", "description", "minLength", "maxLength"))
"""What may be declared of an argument that takes any words."""
_PLAIN = ("string", "integer", "number", "boolean")
_WORDS = 8
"""Texts that users say for an argument which takes any words."""
_MORE = 4
"""Numbers that are tried between the least and the largest that were seen accepted."""
_ROWS = 50
"""Rows of a table that are looked at."""
_YEARS_AWAY = 6
"""Years by which a date is moved away: more than acceptance asks for."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

Arguments = dict[str, Any]


class Shown:
    """What schemas, recipe, state and answers show, so that a user may have it."""

    def __init__(self, cards: Cards, hints: Mapping[str, Sequence[JsonValue]]) -> None:
        """Read all cards; `hints` are values of recipe and state, by `argument` or `tool.argument`."""
        self._hints = hints
        texts: list[JsonValue] = [value for values in hints.values() for value in values]
        named: list[tuple[str, JsonValue]] = [(key, value) for key, values in hints.items() for value in values]
        for card in cards.cards:
            texts += [card.declared_description, *(str(parameter.schema_) for parameter in card.parameters)]
            for probe in card.probes:
                own = [value for value in read_slots(probe.arguments).values() if isinstance(value, str) and value]
                if probe.verdict == "ok" and not any(value in probe.content for value in own):
                    texts.append(parsed(probe.content))
                    named += scalars_in(texts[-1])
        self._named = {(name_of(path), str(value).casefold()) for path, value in named}
        self._text = "\n".join(str(value) for _, value in scalars_in(texts)).casefold()

    def holds(self, value: JsonValue, name: str = "") -> bool:
        """Whether a value is no text, or one that is shown somewhere as a whole word; a short one under its name."""
        if name and isinstance(value, str) and len(value) < _SHORT:
            return (name, value.casefold()) in self._named
        pattern = rf"(?<!\w){re.escape(str(value).casefold())}(?!\w)"
        return not isinstance(value, str) or re.search(pattern, self._text) is not None

    def known(self, card: Card) -> dict[str, tuple[JsonValue, ...]]:
        """Give what recipe and state name for the arguments of a tool, by path."""
        names = {one.path: name_of(one.path) for one in card.parameters}
        found = {path: self._hints.get(f"{card.tool}.{name}", self._hints.get(name)) for path, name in names.items()}
        return {path: tuple(values) for path, values in found.items() if values is not None}


def proposed(
    card: Card, shown: Shown, suggested: Sequence[Arguments], tried: Sequence[Arguments], *, is_worded: bool = True
) -> list[Arguments]:
    """Give up to `CANDIDATES` sets of arguments that were not tried; `suggested` is what results of others give.

    Arguments that recipe and state name values for have others only where a result gave them.
    """
    known, given = shown.known(card), [read_slots(one) for one in suggested]
    declared = {one.path for one in card.parameters if one.declared_required}
    listed = {one.path: one.schema_.get("enum") or () for one in card.parameters}

    def is_shown(path: str, value: JsonValue) -> bool:
        is_given = str(value) in from_results or value in listed.get(path, ()) or value in words.get(path, ())
        return is_given or shown.holds(value, name_of(path))

    from_results = {str(value) for one in given for value in one.values()}
    named = {*(path for path in known if known[path]), *(path for one in given for path in one)}
    words = {path: texts for path, texts in _words(card, shown) if is_worded and path not in named}

    def is_known(path: str, value: JsonValue) -> bool:
        named = [*known[path], *(one.get(path) for one in given)] if known.get(path) else [value]
        return any(same(value, one) for one in named)

    def unlikely(arguments: Arguments) -> int:
        slots = read_slots(arguments)
        likely = [
            is_known(path, value) and is_shown(path, value) and not _is_zero(value) for path, value in slots.items()
        ]
        return likely.count(False) + len(declared - slots.keys())

    every = [
        _wanted(trimmed(one, card), card, known) for one in (*_proven(card), *_combined(card, known, given, words))
    ]
    every = [one for one in every if is_sayable(one) and _joins_two(one) and _is_declared(one, card)]
    keys = {call_key("", arguments) for arguments in tried}
    found: dict[str, Arguments] = {}
    least = min(map(unlikely, every), default=0)  # of an argument for which nothing is shown, any value is tried
    for one in [one for one in every if unlikely(one) == least]:
        found.setdefault(call_key("", one), one)
    return [one for key, one in found.items() if key not in keys][:CANDIDATES]


def siblings(card: Card, tables: Sequence[Sequence[Mapping[str, JsonValue]]]) -> Iterator[Arguments]:
    """Yield calls like those that probing saw work, with what stands in their columns in the other rows of a table.

    `sign_in(card="K-1", word="elm")` worked, and both stand in one row of the readers: so each other reader's card goes
    with the word of its own row.
    """
    for arguments in _proven(card):
        slots = read_slots(arguments)
        telling = {path: value for path, value in slots.items() if len(str(value)) >= _SHORT}
        for rows in tables if telling else ():
            row = next((one for one in rows if len(_columns(telling, one)) == len(telling)), None)
            if row is None:
                continue
            columns = _columns(telling, row)
            if _is_unlike([one.get(name) for one in rows for name in columns.values()]):
                columns = _columns({**telling, **slots}, row)  # a short value of the row goes with the others
                whole = [one for one in rows if all(one.get(name) is not None for name in columns.values())]
                yield from (build({**slots, **{path: one[name] for path, name in columns.items()}}) for one in whole)
                break


def _columns(slots: Mapping[str, JsonValue], row: Mapping[str, JsonValue]) -> dict[str, str]:
    """Give the column of a row that holds each value, as far as one does; no column twice."""
    found: dict[str, str] = {}
    for path, value in slots.items():
        name = next((name for name, held in row.items() if same(held, value) and name not in found.values()), None)
        found |= {path: name} if name is not None else {}
    return found


def _is_unlike(values: Sequence[JsonValue]) -> bool:
    """Whether values of rows tell them apart: a district, or a status, that many have does not."""
    return 2 * len({str(value) for value in values}) > len(values)


def tables_in(state: JsonValue) -> Iterator[list[dict[str, JsonValue]]]:
    """Yield the tables of a state at any depth: some rows of equal fields, each with its key under no name."""
    inside = list(state.items()) if isinstance(state, Mapping) else list(enumerate(state or ()))
    rows = [(key, item) for key, item in inside if isinstance(item, Mapping)]
    if len(rows) > 1 and len(rows) == len(inside) and len({frozenset(row) for _, row in rows}) == 1:
        keyed = isinstance(state, Mapping)
        yield [
            {"": key if keyed else None, **{k: v for k, v in row.items() if not isinstance(v, Mapping | list)}}
            for key, row in rows[:_ROWS]
        ]
    else:
        for _, item in inside:
            if isinstance(item, Mapping | list):
                yield from tables_in(item)


def _wanted(arguments: Arguments, card: Card, known: Mapping[str, Sequence[JsonValue]]) -> Arguments:
    """Leave out the optional arguments for which the recipe says that there are no values."""
    none = {one.path for one in card.parameters if not is_needed(one) and known.get(one.path) == ()}
    slots = read_slots(arguments)
    kept = {path: value for path, value in slots.items() if path not in none}
    return arguments if len(kept) == len(slots) else build(kept)


def trimmed(arguments: Mapping[str, JsonValue], card: Card) -> Arguments:
    """Leave out what makes no difference: nulls, defaults of optional arguments, arguments without effect, codes."""
    optional = {one.path: one for one in card.parameters if not is_needed(one)}
    names = {one.path for one in card.parameters}

    def counts(name: str, value: JsonValue) -> bool:
        if (parameter := optional.get(name)) is None:
            return value is not None or name in names
        declared = parameter.schema_
        is_default = "default" in declared and same(declared["default"], value)
        is_empty = value is None or value in ({}, [], "")
        return not (parameter.no_effect or is_default or is_empty or is_opaque(value) or _is_switch(parameter))

    return {name: value for name, value in arguments.items() if counts(name, value)}


def is_needed(parameter: ParameterCard) -> bool:
    """Whether an argument must be given: as probing found, else as declared."""
    return parameter.declared_required if parameter.required is None else parameter.required


def is_opaque(value: JsonValue) -> bool:
    """Whether a value is a code that a program drew and nobody remembers: a UUID, a hash."""
    return isinstance(value, str) and _OPAQUE.fullmatch(value) is not None


def is_dated(value: JsonValue) -> bool:
    """Whether a value names a day: what is right today need not be tomorrow."""
    return isinstance(value, str) and _DATE.search(value) is not None


def moved_away(arguments: Mapping[str, JsonValue]) -> Arguments:
    """Give the arguments with every date some years later: a near one is right today, and need not be tomorrow."""
    return build({path: _moved_away(value) for path, value in read_slots(dict(arguments)).items()})


def _moved_away(value: JsonValue) -> JsonValue:
    if not (isinstance(value, str) and _DATE.fullmatch(value)):
        return value
    year, rest = value.split("-", 1)
    return f"{int(year) + _YEARS_AWAY}-{rest if rest != '02-29' else '02-28'}"


def is_sayable(arguments: Mapping[str, JsonValue]) -> bool:
    """Whether a person could say all values: no long texts, no line breaks, nothing empty, no folder of a run."""
    values = list(read_slots(dict(arguments)).values())
    texts = list(map(str, values))
    return not any(value is None or value in ({}, []) for value in values) and all(
        text == text.strip() and 0 < len(text) <= _LONGEST_VALUE and text.isprintable() and not _OF_A_RUN.search(text)
        for text in texts
    )


def _proven(card: Card) -> list[Arguments]:
    """Give the arguments of probes that worked, those with fewest arguments first."""
    names = {parameter.path.split(".")[0] for parameter in card.parameters}
    good = [
        trimmed(probe.arguments, card)
        for probe in card.probes
        if probe.verdict == "ok" and probe.kind in _LIKELY and probe.arguments.keys() <= names
    ]
    first: dict[str, Arguments] = {}
    for one in sorted(good, key=len):
        first.setdefault(call_key("", one).casefold(), one)
    return list(first.values())


def _combined(
    card: Card,
    known: Mapping[str, Sequence[JsonValue]],
    given: Sequence[Mapping[str, JsonValue]],
    words: Mapping[str, Sequence[JsonValue]],
) -> Iterator[Arguments]:
    """Give sets of accepted values, what other results suggest in their place; each value with different others."""
    choices = {one.path: _values(one, known.get(one.path, ())) for one in card.parameters}
    choices |= {path: tuple(texts) for path, texts in words.items()}
    needed = [one.path for one in card.parameters if is_needed(one)]
    extra = [one.path for one in card.parameters if not is_needed(one) and not one.no_effect and not _is_switch(one)]
    if not card.parameters:
        yield {}
        return
    most = max([*map(len, choices.values()), len(given), 1])
    for turn in range(4 * most):
        values: Arguments = {}
        for place, path in enumerate([*needed, *(extra if turn % 3 == 2 else ())]):
            if accepted := choices[path]:
                values[path] = accepted[(turn + place * (turn // most)) % len(accepted)]
        hint = given[turn // 2 % len(given)] if given else {}
        if turn % 2 or not all(path in values for path in hint):  # what a result gave may be of another world
            values |= hint
        if all(path in values for path in needed):
            yield build(values)


def _words(card: Card, shown: Shown) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what a user says for the arguments that took whatever text they were given, and nobody gave them any."""
    worked = [probe for probe in card.probes if probe.verdict == "ok" and probe.kind != "cross_parameter"]
    for one in card.parameters:
        name, slot = name_of(one.path), Slot(one.path, one.schema_, required=True)
        taken = [(probe.kind, read_slots(probe.arguments).get(one.path)) for probe in worked]
        likely = [(kind, value) for kind, value in taken if kind in _LIKELY and isinstance(value, str)]
        is_open = _OPEN.issuperset(one.schema_) and slot.type == "string" and not is_identifier(name)
        has_some = usual(slot) or any(kind == "proposed" or shown.holds(value, name) for kind, value in likely)
        is_choosy = any(isinstance(value, str) and value.strip() for value in one.refused)
        texts = [
            f"{words_of(name)}{number} of this request" for number in ("", *(f" {n}" for n in range(2, _WORDS + 1)))
        ]
        if is_open and likely and not has_some and not is_choosy and all(fits(text, slot) for text in texts):
            yield one.path, tuple(texts)


def _is_switch(parameter: ParameterCard) -> bool:
    """Whether an argument is a number from a closed list, which programs switch something by."""
    listed = parameter.schema_.get("enum") or ()
    return not is_needed(parameter) and bool(listed) and all(isinstance(value, int) for value in listed)


def _values(parameter: ParameterCard, known: Sequence[JsonValue]) -> tuple[JsonValue, ...]:
    """Give the values to try for an argument: those seen accepted, those known of, those that the schema lists."""
    declared = parameter.schema_
    spelt: dict[str, JsonValue] = {}
    for value in (*parameter.accepted, *known, *declared.get("enum", ()), *declared.get("examples", ())):
        if not any(same(value, bad) for bad in parameter.refused):
            spelt.setdefault(str(value).casefold(), value)  # probing tries other spellings of what it knows
    return (*spelt.values(), *_between(declared, list(spelt.values())))


def _between(declared: Mapping[str, Any], seen: Sequence[JsonValue]) -> Iterator[JsonValue]:
    """Yield some whole numbers within the declared range, or the one that was seen, that were not seen themselves."""
    numbers = [value for value in seen if isinstance(value, int) and not isinstance(value, bool) and value > 0]
    if declared.get("type") != "integer" or declared.get("enum") or not numbers:
        return
    low, high = max(min(numbers), 1), max(numbers)
    step = max((high - low) // _MORE, 1)
    yield from (value for value in range(low + step, high, step) if value not in numbers)


def _is_declared(arguments: Mapping[str, JsonValue], card: Card) -> bool:
    """Whether no plain argument holds a mapping, which a lenient service takes and no user says."""
    plain = {one.path for one in card.parameters if one.schema_.get("type") in _PLAIN}
    return not any(isinstance(value, Mapping) and name in plain for name, value in arguments.items())


def _is_zero(value: JsonValue) -> bool:
    """Whether a value is the number nobody asks for."""
    return is_number(value) and value == 0


def _joins_two(arguments: Mapping[str, JsonValue]) -> bool:
    """Whether no thing is joined to itself."""
    texts = [value for value in read_slots(dict(arguments)).values() if isinstance(value, str)]
    return len(texts) == len(set(texts))


_SHORTEST = 4
"""Letters of a name in which a slip goes unnoticed."""


def slips(arguments: Mapping[str, JsonValue]) -> Iterator[Arguments]:
    """Yield the arguments with a slip of a user in one text: two letters swapped, or another last digit."""
    slots = read_slots(dict(arguments))
    for path, value in slots.items():
        if isinstance(value, str) and (wrong := _slip(value)) is not None:
            yield build({**slots, path: wrong})


def _slip(value: str) -> str | None:
    if is_name(value) and len(value) >= _SHORTEST:
        if value.islower():  # `booked` is a status, which is read for what it is: nobody misses anything by *bookde*
            return None
        for place in range(len(value) - 2, 0, -1):
            left, right = value[place], value[place + 1]
            if left.isalpha() and right.isalpha() and left.lower() != right.lower() and left.islower():
                return value[:place] + right + left + value[place + 2 :]
        return None
    digits = [place for place, char in enumerate(value) if char in "0123456789"]
    if len(digits) < 2 or " " in value:
        return None
    last = digits[-1]
    return f"{value[:last]}{(int(value[last]) + 7) % 10}{value[last + 1 :]}"
