"""Scouts propose sets of arguments that are worth a try: what probing saw accepted, what other results suggest.

Tool-to-scenario (D.2) has a model propose ten at a time; the scout without one combines what is known of the tool.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.seams import Role
from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.recruiting.pool import call_key
from pytest_agentbench.generation.tools.values import Card, ParameterCard

CANDIDATES = 10
"""Sets of arguments that a scout proposes at a time (D.2)."""
_LONGEST_VALUE = 120
"""Characters of a value that a user would say."""
_OF_A_RUN = re.compile(r"[/\\]agentbench-\w{6,}")
"""A folder that was made for one run (`{run_dir}`), which no other run has."""
_LIKELY = frozenset(("nominal", "observed", "proposed", "cross_parameter"))
"""Kinds of probes with values that a user may have; the others try limits."""


class ScoutGiven(Model):
    """What a scout sees: the card, calls that other results suggest, what is in the pool and what was refused.

    `known` are values that recipe and state name for arguments: others belong there only where a result gave them.
    `made_up` are values that probing put in to see what happens; no user has them.
    """

    card: Card
    suggested: tuple[dict[str, JsonValue], ...] = ()
    have: tuple[dict[str, JsonValue], ...] = ()
    refused: tuple[dict[str, JsonValue], ...] = ()
    known: dict[str, tuple[JsonValue, ...]] = {}
    made_up: tuple[str, ...] = ()


class Scouted(Model):
    """Sets of arguments that are worth a try."""

    candidates: tuple[dict[str, JsonValue], ...] = ()


Scout = Role[ScoutGiven, Scouted]


class TemplateScout:
    """Proposes what the card saw accepted, and what other results suggest; optional arguments every third time."""

    async def __call__(self, given: ScoutGiven, /) -> Scouted:
        """Give up to ten sets of arguments that are neither in the pool nor refused."""
        tried = {call_key("", arguments) for arguments in (*given.have, *given.refused)}
        found: dict[str, dict[str, JsonValue]] = {}
        every = [*_proven(given.card), *_combined(given)]
        natural = [one for one in every if _is_natural(one, given)]
        for arguments in natural or every:
            key = call_key("", arguments)
            if key not in tried and is_sayable(arguments):
                found.setdefault(key, arguments)
            if len(found) == CANDIDATES:
                break
        return Scouted(candidates=tuple(found.values()))


def trimmed(arguments: Mapping[str, JsonValue], card: Card) -> dict[str, JsonValue]:
    """Leave out what makes no difference: nulls, defaults of optional arguments, arguments without effect."""
    known = {parameter.path: parameter for parameter in card.parameters}
    kept: dict[str, JsonValue] = {}
    for name, value in arguments.items():
        parameter = known.get(name)
        if value is None and not (parameter and is_needed(parameter)):
            continue
        if parameter is not None and not is_needed(parameter):
            default = parameter.schema_.get("default")
            if parameter.no_effect or ("default" in parameter.schema_ and same(default, value)):
                continue
        kept[name] = value
    return kept


def is_needed(parameter: ParameterCard) -> bool:
    """Whether an argument must be given: as probing found, else as declared."""
    return parameter.declared_required if parameter.required is None else parameter.required


def _proven(card: Card) -> Iterator[dict[str, JsonValue]]:
    """Give the arguments of probes that worked, those with fewest arguments first."""
    names = {parameter.path.split(".")[0] for parameter in card.parameters}
    good = [
        probe.arguments
        for probe in card.probes
        if probe.verdict == "ok" and probe.kind in _LIKELY and probe.arguments.keys() <= names
    ]
    switches = {one.path for one in card.parameters if _is_switch(one) and not is_needed(one)}
    seen: set[str] = set()
    for arguments in sorted(good, key=len):
        kept = {name: value for name, value in trimmed(arguments, card).items() if name not in switches}
        if (key := call_key("", kept).casefold()) not in seen:
            seen.add(key)
            yield kept


def _combined(given: ScoutGiven) -> Iterator[dict[str, JsonValue]]:
    """Give sets of accepted values, what other results suggest in their place; each value with different others."""
    card, suggested = given.card, given.suggested
    choices = {parameter.path: _values(parameter, given.known.get(parameter.path, ())) for parameter in card.parameters}
    needed = [parameter for parameter in card.parameters if is_needed(parameter)]
    extra = [one for one in card.parameters if one not in needed and not one.no_effect and not _is_switch(one)]
    if not card.parameters:
        yield {}
        return
    most = max([*map(len, choices.values()), len(suggested), 1])
    for turn in range(4 * most):
        chosen = [*needed, *(extra if turn % 3 == 2 else ())]
        values = {}
        for place, parameter in enumerate(chosen):
            if accepted := choices[parameter.path]:
                values[parameter.path] = accepted[(turn + place * (turn // max(most, 1))) % len(accepted)]
        hint = read_slots(suggested[turn // 2 % len(suggested)]) if suggested else {}
        if turn % 2 or not all(path in values for path in hint):  # what a result gave may be of another world
            values |= hint
        if all(parameter.path in values for parameter in needed):
            yield trimmed(build(values), card)


def _is_switch(parameter: ParameterCard) -> bool:
    """Whether an argument is a number from a closed list, which programs switch something by."""
    listed = parameter.schema_.get("enum") or ()
    return bool(listed) and all(isinstance(value, int) for value in listed)


def _values(parameter: ParameterCard, known: Sequence[JsonValue]) -> tuple[JsonValue, ...]:
    """Give the values to try for an argument: those seen accepted, those known of, those that the schema lists."""
    declared = parameter.schema_
    spelt: dict[str, JsonValue] = {}
    for value in (*parameter.accepted, *known, *declared.get("enum", ()), *declared.get("examples", ())):
        if not any(same(value, bad) for bad in parameter.refused):
            spelt.setdefault(str(value).casefold(), value)  # probing tries other spellings of what it knows
    return tuple(spelt.values())


def holds(arguments: Mapping[str, JsonValue], texts: Sequence[str]) -> bool:
    """Whether one of the texts is an argument."""
    return any(isinstance(value, str) and value in texts for value in read_slots(dict(arguments)).values())


def _is_natural(arguments: Mapping[str, JsonValue], given: ScoutGiven) -> bool:
    """Whether a user may well ask for it: nothing made up or out of place, and no thing is joined to itself."""
    texts = [value for value in read_slots(dict(arguments)).values() if isinstance(value, str)]
    is_joined = len(texts) == len(set(texts))
    is_called = not any(_is_number_for_name(path, text, given.card) for path, text in _texts(arguments))
    return is_joined and is_called and not holds(arguments, given.made_up) and _keeps_to(arguments, given)


def _texts(arguments: Mapping[str, JsonValue]) -> Iterator[tuple[str, str]]:
    for path, value in read_slots(dict(arguments)).items():
        if isinstance(value, str):
            yield path, value


def _is_number_for_name(path: str, text: str, card: Card) -> bool:
    """Whether a text is a bare number where the argument's first value, which a description named, is a word."""
    first = next((one.accepted[0] for one in card.parameters if one.path == path and one.accepted), None)
    return text.isdigit() and isinstance(first, str) and not any(char.isdigit() for char in first) and len(first) > 2


def _keeps_to(arguments: Mapping[str, JsonValue], given: ScoutGiven) -> bool:
    """Whether each argument that values are known for has one of them, or one that a result suggests there."""
    for path, value in read_slots(dict(arguments)).items():
        known = given.known.get(path)
        if known and not any(same(value, one) for one in known):
            suggested = (read_slots(one).get(path) for one in given.suggested)
            if not any(same(value, one) for one in suggested):
                return False
    return True


def is_sayable(arguments: Mapping[str, JsonValue]) -> bool:
    """Whether a person could say all values: no long texts, no line breaks, nothing empty, no folder of a run."""
    values = read_slots(arguments).values()
    return all(
        value is not None
        and str(value).strip() == str(value)
        and value not in ({}, [])
        and 0 < len(str(value)) <= _LONGEST_VALUE
        and str(value).isprintable()
        and not _OF_A_RUN.search(str(value))
        for value in values
    )
