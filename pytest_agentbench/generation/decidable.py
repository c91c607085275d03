"""What keeps a draft from being decidable: a value known by coincidence, two things named where one is meant, several
owners, a date that comes near.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

from pytest_agentbench.core.ids import codes_in, shape
from pytest_agentbench.core.json_values import JsonValue, is_number, same, to_json
from pytest_agentbench.core.moments import dates_of
from pytest_agentbench.core.spoken import plain, says
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.generation.draft import Draft, Owner, PlannedCall
from pytest_agentbench.generation.language.guard import scalars_of
from pytest_agentbench.generation.language.plain import label_of
from pytest_agentbench.generation.owned_rows import kind_of, noun_of, records_of
from pytest_agentbench.generation.ownership import mixed_owners, ownership_of, people_of
from pytest_agentbench.generation.tools.flows import found_at
from pytest_agentbench.generation.tools.probing.result_parser import inner
from pytest_agentbench.validation.oracle import Rules

NEAR = timedelta(days=400)
"""Days from today within which a date may come to mean something else before the scenario is run."""

_DATES = tuple(
    map(
        re.compile,
        (
            r"(?<!\d)(\d{4})([-./])(\d{1,2})\2(\d{1,2})(?!\d)",
            r"(?<![\d./-])(\d{1,2})([-./])(\d{1,2})\2(\d{4})(?!\d)",
            r"(?<![\d./-])(\d{2})([-./])(\d{2})\2(\d{2})(?![./-]?\d)",
            r"(?<!\d)(\d{4})()(\d{2})(\d{2})(?!\d)",
        ),
    )
)
"""Dates by themselves, before a time, or within a text: 2026-11-24, 2026/11/24, 24.11.2026, 11/24/26, 20261124."""
_EPOCH = re.compile(r"(?<![\w.])(\d{10})(\d{3})?(?:\.\d{1,9})?(?![\w.])")
"""A moment as the seconds or milliseconds since 1970."""

_GENERIC = frozenset({"id", "_id", "uid", "uuid", "key", "name"})
"""Names of fields that say of every kind of thing what it is, so that they name no owner."""
_ROWS, _FIELDS = 10, 16
"""Rows that a writer is shown, and fields of each."""


def coincidences(draft: Draft, toolset: Toolset) -> Iterator[str]:
    """Name each argument whose value nobody says and no words point at, and each wanted value that stands nowhere."""
    number = 0
    for place, turn in enumerate(draft.turns):
        for own, call in enumerate((*turn.calls, *turn.refused)):
            spec = toolset.get(call.call.name, call.call.requestor)
            schemas = spec.parameters.get("properties", {}) if spec else {}
            before = number + min(own, len(turn.calls))
            for path, value in arguments_of(call):
                why = _unknown(draft, place, call, path, value, before=before)
                if why and not _is_constant(value, schemas.get(path.split(".")[0], {})):
                    yield f"{call.call.name}: {path} {value!r}: {why}"
        for one in turn.wanted:
            answer = inner(turn.calls[one.call].answer) if one.call < len(turn.calls) else None
            if answer is None:
                yield f"{one.label}: the call that tells it is not made in this turn"
            elif not any(says(one.text, str(value)) for value in at_path(answer, one.path)):
                yield f"{one.label}: {one.text!r} does not stand at {one.path!r} of the answer"
        number += len(turn.calls)


def _unknown(draft: Draft, place: int, call: PlannedCall, path: str, value: JsonValue, *, before: int) -> str:
    """Say why the user's words do not lead to a value, "" where they do."""
    parts = path.split(".")
    keys = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    origin = next((call.origins[key] for key in keys if key in call.origins), None)
    if origin is None or origin.source == "user":
        return "" if _is_said(draft, place, call, path, value) else "nobody says it"
    if origin.call is None or origin.call >= before:
        return "it is taken from an answer that is not there yet"
    answer = inner(draft.calls[origin.call].answer)
    if not any(_holds(one, value) for one in at_path(answer, origin.path)):
        return f"it does not stand at {origin.path or 'the text'} of call {origin.call + 1}"
    generic = _any_entry(origin.path)
    there = at_path(answer, generic)
    if len({str(one) for one in there}) < 2 or _is_beside_said(draft, place, answer, origin.path):
        return ""
    pointing = [
        one
        for turn in draft.turns[: place + 1]
        for one in turn.references
        if one.source == origin.call and one.argument in ("", path, parts[0])
    ]
    if not pointing:
        return f"{len(there)} values stand at {generic} of call {origin.call + 1}, and no words say which"
    if any(_points_at(answer, one.position, one.count, origin.path, value) for one in pointing):
        return ""
    return f"the words point at another entry of call {origin.call + 1}"


def _any_entry(path: str) -> str:
    """Give a path to the same field of every entry: `orders.*.id` for `orders.1.id`."""
    return ".".join("*" if part.isdecimal() else part for part in path.split(".") if part)


def _holds(found: JsonValue, value: JsonValue) -> bool:
    """Whether what stands at a path is a value, or a text in which it is the only thing of its kind."""
    if same(to_json(found), to_json(value)):
        return True
    if not isinstance(found, str) or isinstance(value, bool) or not isinstance(value, str | int):
        return False
    alike = {code for code, word in codes_in(found).items() if shape(code) == shape(plain(str(value)))}
    return len(alike) < 2 and re.search(rf"(?<!\w){re.escape(str(value))}(?!\w)", found) is not None


def _is_beside_said(draft: Draft, place: int, answer: JsonValue, path: str) -> bool:
    """Whether a value stands in the only records that hold something that the user has said: the product of a named
    item.
    """
    above, _, field = path.rpartition(".")
    said = [value for turn in draft.turns[: place + 1] for one in turn.states for value in scalars_of(one.value)]
    texts = [value for value in said if isinstance(value, str)]
    records = [one for one in at_path(answer, _any_entry(above)) if isinstance(one, Mapping)]
    named = [one for one in records if any(value in texts for value in one.values() if isinstance(value, str))]
    own = next(iter(at_path(answer, above)), None)
    return own in named and len({str(record.get(field)) for record in named}) == 1


def _points_at(answer: JsonValue, position: int, count: int, path: str, value: JsonValue) -> bool:
    """Whether entry `position` of `count` entries is the one that a path goes through."""
    parts = path.split(".")
    for at, part in enumerate(parts):
        if part.isdecimal() and int(part) == position:
            entries = next(iter(at_path(answer, ".".join(parts[:at]))), None) if at else inner(answer)
            if isinstance(entries, list) and len(entries) == count:
                return True
    every = at_path(answer, _any_entry(path))
    return len(every) == count and position < len(every) and same(to_json(every[position]), to_json(value))


def _is_said(draft: Draft, place: int, call: PlannedCall, path: str, value: JsonValue) -> bool:
    name = path.split(".", maxsplit=1)[0]
    for turn_at, turn in enumerate(draft.turns[: place + 1]):
        requested = draft.requested(turn_at)
        for one in turn.states:
            is_value = any(same(to_json(said), to_json(value)) for said in scalars_of(one.value))
            is_of = one.call < len(requested) and requested[one.call] is call
            if is_value and (is_of or one.argument.split(".")[0] in ("", name)):
                return True
    return False


def _is_constant(value: JsonValue, schema: JsonValue) -> bool:
    """Whether everybody gives this value: nothing, what the schema takes by default, or the only one it takes."""
    declared = schema if isinstance(schema, Mapping) else {}
    listed = declared.get("enum")
    only = listed if isinstance(listed, list) and len(listed) == 1 else []
    given = [*only, *(declared[key] for key in ("default", "const") if key in declared)]
    return value is None or any(same(one, value) for one in given)


def two_things(draft: Draft, rules: Rules) -> Iterator[str]:
    """Name each thing of which one request says two values: one to look at, as a rule wants, and one for the call that
    the look is for.
    """
    for place, turn in enumerate(draft.turns):
        requested = draft.requested(place)
        told: dict[int, dict[str, str]] = defaultdict(dict)
        for stated in turn.states:
            told[stated.call][stated.label] = stated.argument.split(".")[0]
        for pointed in turn.references:
            told[pointed.call][label_of(pointed.argument)] = pointed.argument.split(".")[0]
        for at, call in enumerate(requested):
            for before, lookup in enumerate(requested[:at]):
                if lookup.asked or not rules.orders(lookup.call.name, call.made):
                    continue
                for label, argument in told[before].items():
                    looked_at = to_json(lookup.call.arguments.get(argument))
                    meant = to_json(call.call.arguments.get(told[at].get(label, "")))
                    if label in told[at] and not same(looked_at, meant):
                        yield f"{label} is {looked_at!r} for {lookup.call.name} and {meant!r} for {call.call.name}"


def owners(draft: Draft, state: State | None) -> Iterator[str]:
    """Name each thing in a draft that belongs to somebody else than its owner; nothing where it has a stated role."""
    if draft.owner.role:
        return
    refused = [call for turn in draft.turns for call in turn.refused]
    calls = records_of((*draft.calls, *refused))
    states = [to_json(state or {}), to_json(draft.state)]
    whose = _by_its_column(draft.owner, states)
    known = ownership_of(states, calls, whose)
    owner = known.kinds_of(whose) if whose.key is not None else {}
    others = people_of(known, calls)
    is_unseen = state is None and draft.owner.table and draft.owner.table not in others  # found out from other calls
    if draft.owner.key is not None and not owner and not is_unseen:
        yield f"{draft.owner.key!r} stands nowhere in what it touches"
    yield from (why for _, why in mixed_owners(known, calls, owner))


def _by_its_column(owner: Owner, states: Sequence[JsonValue]) -> Owner:
    """Give an owner by what other rows call its key: the `badge` of a person stands in the rows of its bookings."""
    tables = [state.get(owner.table) for state in states if isinstance(state, Mapping)]
    rows = [row for table in tables if isinstance(table, list) for row in table if isinstance(row, Mapping)]
    for column in [name for row in rows for name, value in row.items() if same(value, to_json(owner.key))][:1]:
        return owner.model_copy(update={"table": kind_of(column, noun_of(owner.table))})
    return owner


def rows_of(draft: Draft, state: State | None) -> tuple[dict[str, JsonValue], ...]:
    """Give the rows of the initial state, and the draft's own, that its calls touch: those with their keys in them."""
    touched = [one for turn in draft.turns for one in (*turn.calls, *turn.refused)]
    values = {str(value) for call in touched for _, value in arguments_of(call) if isinstance(value, str | int)}
    values |= {str(draft.owner.key)} if draft.owner.key is not None else set()
    found = []
    for key, row in _records(state, draft.state):
        fields = {name: value for name, value in row.items() if not isinstance(value, dict | list)}
        names = [name for name in fields if name in _GENERIC or name.lower().endswith("id")]
        if key in values or any(str(fields[name]) in values for name in names):
            found.append({"key": key, **dict(list(fields.items())[:_FIELDS])})
    return tuple(found[:_ROWS])


def near_dates(draft: Draft, today: date, state: State | None) -> Iterator[str]:
    """Name each date in an argument or an expectation that is near today and does not stand in the initial rows."""
    said: list[tuple[str, JsonValue]] = [
        (call.call.name, value)
        for turn in draft.turns
        for call in (*turn.calls, *turn.refused)
        for value in scalars_of(dict(call.call.arguments))
    ]
    said += [("what must be told", one.text) for turn in draft.turns for one in turn.wanted]
    said += [("what must be told", text) for text in draft.communicate]
    near = [
        (where, text, days)
        for where, value in said
        for text, days in _days_in(value)
        if any(abs(day - today) <= NEAR for day in days)
    ]
    rows = json.dumps([to_json(state or {}), to_json(draft.state)], default=str) if near else ""
    there = {day for _, days in _days_in(rows) for day in days}
    for where, text, days in near:
        if there.isdisjoint(days):
            yield f"{where}: {text} is within {NEAR.days} days of {today.isoformat()}"


def _days_in(value: JsonValue) -> Iterator[tuple[str, set[date]]]:
    """Yield each date of a text or number, as it stands there, with the days that it may be (01.02.2026 is two)."""
    text = value if isinstance(value, str) else repr(value) if is_number(value) else ""
    for pattern in _DATES:
        for found in pattern.finditer(text):
            if days := set(dates_of(int(found[1]), int(found[3]), int(found[4]))):
                yield found[0], days
    for found in _EPOCH.finditer(text):
        yield found[0], {datetime.fromtimestamp(int(found[1]), UTC).date()}


def arguments_of(call: PlannedCall) -> Iterator[tuple[str, JsonValue]]:
    """Yield each plain value of a call's arguments by its dotted path."""
    yield from _leaves(dict(call.call.arguments), ())


def _leaves(value: JsonValue, path: tuple[str, ...]) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from _leaves(item, (*path, str(name)))
    elif isinstance(value, list) and value:
        for place, item in enumerate(value):
            yield from _leaves(item, (*path, str(place)))
    elif path:
        yield ".".join(path), value


def at_path(value: JsonValue, path: str) -> list[JsonValue]:
    """Give what stands at a dotted path; `*` is any entry, and a text on the way that is JSON is read as JSON."""
    return [one.value for one in found_at(value, path)]


def _records(state: State | None, more: Mapping[str, JsonValue]) -> Iterator[tuple[str, Mapping[str, JsonValue]]]:
    """Yield each mapping inside rows, with the key that it stands under."""
    stack: list[tuple[str, JsonValue]] = [("", to_json(state or {})), ("", to_json(dict(more)))]
    while stack:
        key, value = stack.pop()
        value = inner(value)
        if isinstance(value, Mapping):
            if any(not isinstance(item, dict | list) for item in value.values()):
                yield key, value
            stack += [(str(name), item) for name, item in value.items()]
        elif isinstance(value, list):
            stack += [(key, item) for item in value]
