"""Sets of arguments that are worth a try: what probing saw accepted, and what results of other tools give.

A value that a user says is a short scalar that a schema or a row shows: of its declared values, of the recipe, of the
state, or of an answer to a call that did not name it. Values that only a probe put in come last.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.generation.tools.flows import scalars_in
from pytest_agentbench.generation.tools.probing.reading import parsed
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.recruiting.pool import call_key
from pytest_agentbench.generation.tools.values import Card, Cards, ParameterCard

CANDIDATES = 10
"""Sets of arguments that are proposed at a time (tool-to-scenario D.2)."""
_LONGEST_VALUE = 120
"""Characters of a value that a user would say."""
_OF_A_RUN = re.compile(r"[/\\]agentbench-\w{6,}")
"""A folder that was made for one run (`{run_dir}`), which no other run has."""
_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_HASH = re.compile(r"(?=[^\d]*\d)(?=[^a-f]*[a-f])[0-9a-f]{16,}", re.IGNORECASE)
_LIKELY = frozenset(("nominal", "observed", "proposed", "cross_parameter"))
"""Kinds of probes with values that a user may have; the others try limits."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

Arguments = dict[str, JsonValue]


class Shown:
    """The texts that schemas, recipe, state and answers show, so that a user may have them."""

    def __init__(self, cards: Cards, known: Sequence[JsonValue]) -> None:
        """Read all cards; `known` are values of recipe and state."""
        texts: list[str] = []
        for card in cards.cards:
            texts += [card.declared_description, *(str(parameter.schema_) for parameter in card.parameters)]
            for probe in card.probes:
                own = [value for value in read_slots(probe.arguments).values() if isinstance(value, str) and value]
                if probe.verdict == "ok" and not any(value in probe.content for value in own):
                    texts += [str(value) for _, value in scalars_in(parsed(probe.content))]
        texts += [str(value) for _, value in scalars_in(list(known))]
        self._text = "\n".join(texts).casefold()

    def holds(self, value: JsonValue) -> bool:
        """Whether a value is no text, or one that is shown somewhere as a whole word."""
        if not isinstance(value, str):
            return True
        return re.search(rf"(?<!\w){re.escape(value.casefold())}(?!\w)", self._text) is not None


class Asked(Model):
    """What there is to propose from: the card, calls that results suggest, what is in the pool and what was refused.

    `known` are values that recipe and state name for arguments: others belong there only where a result gave them.
    """

    card: Card
    suggested: tuple[Arguments, ...] = ()
    have: tuple[Arguments, ...] = ()
    refused: tuple[Arguments, ...] = ()
    known: dict[str, tuple[JsonValue, ...]] = {}


def proposed(asked: Asked, shown: Shown) -> list[Arguments]:
    """Give up to `CANDIDATES` sets of arguments that are neither in the pool nor refused."""
    tried = {call_key("", arguments) for arguments in (*asked.have, *asked.refused)}
    suggested = {str(value) for one in asked.suggested for value in read_slots(one).values()}
    every = [_wanted(trimmed(one, asked.card), asked) for one in (*_proven(asked.card), *_combined(asked))]
    every = [one for one in every if is_sayable(one) and _joins_two(one)]
    given = [read_slots(one) for one in asked.suggested]
    told = [one for one in every if _keeps_to(one, asked.known, given) and is_shown(one, shown, suggested)]
    found: dict[str, Arguments] = {}
    for arguments in told or every:
        key = call_key("", arguments)
        if key not in tried:
            found.setdefault(key, arguments)
        if len(found) == CANDIDATES:
            break
    return list(found.values())


def _wanted(arguments: Arguments, asked: Asked) -> Arguments:
    """Leave out the optional arguments for which the recipe says that there are no values."""
    needed = {one.path for one in asked.card.parameters if is_needed(one)}
    slots = read_slots(arguments)
    kept = {path: value for path, value in slots.items() if path in needed or asked.known.get(path) != ()}
    return arguments if len(kept) == len(slots) else build(kept)


def is_shown(arguments: Mapping[str, JsonValue], shown: Shown, suggested: set[str]) -> bool:
    """Whether every text of a call is one that somebody may have."""
    return all(str(value) in suggested or shown.holds(value) for value in read_slots(dict(arguments)).values())


def trimmed(arguments: Mapping[str, JsonValue], card: Card) -> Arguments:
    """Leave out what makes no difference: nulls, defaults of optional arguments, arguments without effect, codes."""
    known = {parameter.path: parameter for parameter in card.parameters}
    kept: Arguments = {}
    for name, value in arguments.items():
        parameter = known.get(name)
        if value is None and not (parameter and is_needed(parameter)):
            continue
        if parameter is not None and not is_needed(parameter):
            default = parameter.schema_.get("default")
            if parameter.no_effect or ("default" in parameter.schema_ and same(default, value)):
                continue
            if value in ({}, [], "") or is_opaque(value) or _is_switch(parameter):
                continue
        kept[name] = value
    return kept


def is_needed(parameter: ParameterCard) -> bool:
    """Whether an argument must be given: as probing found, else as declared."""
    return parameter.declared_required if parameter.required is None else parameter.required


def is_opaque(value: JsonValue) -> bool:
    """Whether a value is a code that a program drew and nobody remembers: a UUID, a hash."""
    return isinstance(value, str) and (_UUID.fullmatch(value) or _HASH.fullmatch(value)) is not None


def is_dated(arguments: Mapping[str, JsonValue]) -> bool:
    """Whether a call names a day: what is right today need not be tomorrow."""
    return any(isinstance(value, str) and _DATE.search(value) for value in read_slots(dict(arguments)).values())


def is_sayable(arguments: Mapping[str, JsonValue]) -> bool:
    """Whether a person could say all values: no long texts, no line breaks, nothing empty, no folder of a run."""
    return all(
        value is not None
        and str(value).strip() == str(value)
        and value not in ({}, [])
        and 0 < len(str(value)) <= _LONGEST_VALUE
        and str(value).isprintable()
        and not _OF_A_RUN.search(str(value))
        for value in read_slots(dict(arguments)).values()
    )


def _proven(card: Card) -> Iterator[Arguments]:
    """Give the arguments of probes that worked, those with fewest arguments first."""
    names = {parameter.path.split(".")[0] for parameter in card.parameters}
    good = [
        trimmed(probe.arguments, card)
        for probe in card.probes
        if probe.verdict == "ok" and probe.kind in _LIKELY and probe.arguments.keys() <= names
    ]
    seen: set[str] = set()
    for arguments in sorted(good, key=len):
        if (key := call_key("", arguments).casefold()) not in seen:
            seen.add(key)
            yield arguments


def _combined(asked: Asked) -> Iterator[Arguments]:
    """Give sets of accepted values, what other results suggest in their place; each value with different others."""
    card, suggested = asked.card, asked.suggested
    choices = {one.path: _values(one, asked.known.get(one.path, ())) for one in card.parameters}
    needed = [one for one in card.parameters if is_needed(one)]
    extra = [one for one in card.parameters if one not in needed and not one.no_effect and not _is_switch(one)]
    if not card.parameters:
        yield {}
        return
    most = max([*map(len, choices.values()), len(suggested), 1])
    for turn in range(4 * most):
        values: Arguments = {}
        for place, parameter in enumerate([*needed, *(extra if turn % 3 == 2 else ())]):
            if accepted := choices[parameter.path]:
                values[parameter.path] = accepted[(turn + place * (turn // max(most, 1))) % len(accepted)]
        hint = read_slots(suggested[turn // 2 % len(suggested)]) if suggested else {}
        if turn % 2 or not all(path in values for path in hint):  # what a result gave may be of another world
            values |= hint
        if all(parameter.path in values for parameter in needed):
            yield build(values)


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
    return tuple(spelt.values())


def _joins_two(arguments: Mapping[str, JsonValue]) -> bool:
    """Whether no thing is joined to itself."""
    texts = [value for value in read_slots(dict(arguments)).values() if isinstance(value, str)]
    return len(texts) == len(set(texts))


def _keeps_to(
    arguments: Arguments, known: Mapping[str, Sequence[JsonValue]], given: Sequence[Mapping[str, JsonValue]]
) -> bool:
    """Whether each argument that values are known for has one of them, or one that a result suggests there."""
    return not any(
        known.get(path)
        and not any(same(value, one) for one in known[path])
        and not any(same(value, one.get(path)) for one in given)
        for path, value in read_slots(arguments).items()
    )
