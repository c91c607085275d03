"""Which calls of a tool the rows of a scene allow for: the values of each argument, and what the user says of them."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation.policies.events.acts import Argument, How, Proposal, Said, Scene, describe, handle_of
from pytest_agentbench.generation.policies.events.conditions import limits_on
from pytest_agentbench.generation.policies.events.language import stem
from pytest_agentbench.generation.policies.events.occasions import topics_of
from pytest_agentbench.generation.policies.events.samples import Place, Samples
from pytest_agentbench.generation.policies.events.tables import OUTER_KEY, Table, singular

_MOST_CALLS = 6
"""Calls of one tool on one scene that are tried."""
_FEW = 3
"""Numbers of something that are tried."""


def proposals(
    spec: ToolSpec, arguments: Sequence[Argument], scene: Scene, focus: Place, random: Random, *, policies: str = ""
) -> list[Proposal]:
    """Give the calls of a tool that the rows of a scene allow for, the most natural one first.

    `policies` are the texts about the tool, which may name the column that a sum is taken from.
    """
    choices: list[list[tuple[Any, Said | None]]] = []
    home = _home(arguments, scene)
    donor = _donor(home, scene, random) if spec.kind != "read" else None
    for argument in arguments:
        made = list(itertools.islice(_values(argument, spec, scene, focus, donor, home, policies), _MOST_CALLS))
        if not made:
            return []
        choices.append(made)
    free = tuple(argument.name for argument in arguments if argument.role == "text")
    found = []
    most = _MOST_CALLS * (4 if any(one.role == "enum" and one.number for one in arguments) else 2)
    for combination in itertools.islice(itertools.product(*choices), most):
        values = {argument.name: value for argument, (value, _) in zip(arguments, combination, strict=True)}
        said = tuple(one for _, one in combination if one is not None)
        found.append(Proposal(tool=spec.name, arguments=values, said=said, free=free))
    return found


def telling_choice(offered: Sequence[Proposal]) -> int:
    """Choose the first call; where a user would say nothing of it but what it is about, the one that says most."""
    if len(offered[0].said) > 1 or all(len(one.said) == len(offered[0].said) for one in offered):
        return 0
    return max(range(len(offered)), key=lambda at: (len(offered[at].said), -at))


def _home(arguments: Sequence[Argument], scene: Scene) -> Table | None:
    """Find the table that most of the columns asked for stand in."""
    names = [argument.column for argument in arguments if argument.role == "column" and not argument.number]
    fitting = [one for one in scene.samples.schema.tables if scene.of(one.name)]
    best = max(fitting, key=lambda one: sum(one.column(name) is not None for name in names), default=None)
    return best if best and names and any(best.column(name) for name in names) else None


def _donor(home: Table | None, scene: Scene, random: Random) -> dict[str, Any] | None:
    """Choose another sampled row, whose values a change takes."""
    if home is None:
        return None
    own = scene.of(home.name)
    ignored = {*home.key, *(name for link in home.references for name in link.columns)}
    others = [
        row
        for row in scene.samples.rows[home.name]
        if all(any(row.get(name) != one.get(name) for name in row if name not in ignored) for one in own)
    ]
    return random.choice(others) if others else None


def _values(  # noqa: PLR0917 - one value depends on all of it
    argument: Argument,
    spec: ToolSpec,
    scene: Scene,
    focus: Place,
    donor: Mapping[str, Any] | None,
    home: Table | None,
    policies: str,
) -> Iterator[tuple[Any, Said | None]]:
    if argument.role == "enum":
        yield from _counts(argument, scene, focus, policies) if argument.number else _listed(argument)
    elif argument.role == "text":
        topics = topics_of(policies)
        at = scene.root[1] % len(topics) if topics else 0
        yield from (
            (topic, Said(argument=argument.name, how="about", text=topic)) for topic in (*topics[at:], *topics[:at])
        )
        if not topics:
            yield _sentence(spec), None
    elif argument.role == "key":
        yield from _keys(argument, scene, focus)
    elif spec.kind == "read":
        for row in _owners_first(argument.column, scene):
            if row.get(argument.column) is not None:
                yield row[argument.column], None
                return
    elif argument.number:
        yield from _sums(scene.rows[focus], argument.column, policies)
    elif home is not None and donor is not None and donor.get(argument.column) is not None:
        value = donor[argument.column]
        if any(argument.column in columns for columns in home.unique):
            value = _other(str(value))
        yield value, Said(argument=argument.name, how="to", text=str(value))
    elif home is None:
        yield from _known_values(argument, scene)


def _listed(argument: Argument) -> Iterator[tuple[Any, Said | None]]:
    """Give those of a closed list, said in their words; a date as it is."""
    for value in argument.values:
        text = str(value) if re.match(r"\d{4}-\d\d-\d\d", str(value)) else humanize(str(value))
        yield value, Said(argument=argument.name, how="reason", text=text)


def _counts(argument: Argument, scene: Scene, focus: Place, policies: str) -> Iterator[tuple[Any, Said | None]]:
    """Give numbers of something: some that the tool takes, from another on for each row, then one beyond each limit."""
    noun = humanize(argument.name)
    known = _metered(argument, scene, focus)
    at = (scene.root[1] + focus[1] + 1) % len(argument.values) if argument.values else 0
    values = known or [*argument.values[at:], *argument.values[:at]][:_FEW]
    beyond = [limit + 1 + at % 3 for limit in limits_on(policies, noun)]
    for value in dict.fromkeys([*values, *beyond]):
        counted = singular(noun) if value == 1 else noun
        yield value, Said(argument=argument.name, how="count", text=f"{value} {counted}")


def _metered(argument: Argument, scene: Scene, focus: Place) -> list[int]:
    """Give readings beyond the last one, where a row that the focus refers to has one of this name."""
    words = set(humanize(argument.name).split())
    for row in _linked(scene, focus):
        for name, value in row.items():
            own = set(humanize(name).split())
            if isinstance(value, int) and not isinstance(value, bool) and len(words) > len(own) and own <= words:
                return [value + 6]
    return []


def _linked(scene: Scene, focus: Place) -> Iterator[Mapping[str, Any]]:
    """Give the rows that the focus refers to."""
    table = scene.samples.schema.get(focus[0])
    for link in table.references if table else ():
        value = scene.rows[focus].get(link.columns[0])
        own = next((row for row in scene.of(link.table) if link.target and row.get(link.target[0]) == value), None)
        place = scene.samples.place_of(link.table, link.target[0], value) if link.target else None
        if own is not None or place is not None:
            yield own if own is not None else scene.samples.row(place)  # type: ignore[arg-type]  # one of the two is


def _keys(argument: Argument, scene: Scene, focus: Place) -> Iterator[tuple[Any, Said | None]]:
    table = scene.samples.schema.get(argument.table)
    assert table is not None  # noqa: S101 - arguments are of the schema's tables
    if argument.table == focus[0] and not argument.many and not argument.new:
        value = scene.rows[focus].get(argument.column)
        known = argument.table == scene.root[0] and scene.samples.is_person(argument.table)
        text = _spoken_of(table, scene, focus)
        yield value, None if known else Said(argument=argument.name, how="which", text=text)
        return
    if argument.table == scene.root[0]:
        yield scene.rows[scene.root].get(argument.column), None
        return
    if argument.many or argument.new:
        yield from _parts(argument, table, scene, focus)
        return
    own = own_of(argument, scene, focus)
    if own is not None and argument.table not in scene.samples.pools(scene.root[0]):
        yield own, None
    # what is there for everybody is not among the event's own rows
    pooled = argument.table in scene.samples.pools(scene.root[0])
    for row in ([] if pooled else scene.of(argument.table)) or _shared(argument.table, scene, focus):
        if row.get(argument.column) not in (None, own):
            text = str(row[argument.column]) if scene.by_key else describe(row, table, scene.samples)
            how: How = "to" if own is not None else "with"
            yield row[argument.column], Said(argument=argument.name, how=how, text=text)


def own_of(argument: Argument, scene: Scene, focus: Place) -> Any:
    """Give the key of this kind that the focus itself has: of the same name, or by what refers to the table."""
    table = scene.samples.schema.get(focus[0])
    names = [link.columns[0] for link in table.references if link.table == argument.table] if table else []
    own = [] if argument.column == OUTER_KEY and argument.table != focus[0] else [argument.column]
    return next((scene.rows[focus][one] for one in (*own, *names) if scene.rows[focus].get(one)), None)


def _spoken_of(table: Table, scene: Scene, focus: Place) -> str:
    """Give what the user calls the row that it is about: by its name where no other of its rows has the same."""
    row = scene.rows[focus]
    name = handle_of(row, table)
    same = [one for one in scene.of(table.name) if one is not row and handle_of(one, table) == name]
    return name if name and not same and focus != scene.root and not scene.by_key else str(row.get(table.key[0]))


def _shared(table: str, scene: Scene, focus: Place) -> list[dict[str, Any]]:
    """Give the sampled rows of a table that belong to nobody, from another one on for each owner and row."""
    rows = [] if table in scene.samples.owned(scene.root[0]) else list(scene.samples.rows.get(table, ()))
    if table in scene.samples.pools(scene.root[0]):
        rows = scene.samples.vacant(table, scene.root[0])
    at = (scene.root[1] + focus[1]) % len(rows) if rows else 0
    return [*rows[at:], *rows[:at]]


def _known_values(argument: Argument, scene: Scene) -> Iterator[tuple[Any, Said | None]]:
    """Give what a column holds anywhere, for what is made anew."""
    rows = scene.samples.rows.get(argument.table, ())
    known = dict.fromkeys(row[argument.column] for row in rows if isinstance(row.get(argument.column), str))
    yield from ((one, Said(argument=argument.name, how="reason", text=one)) for one in known)


def _parts(argument: Argument, table: Table, scene: Scene, focus: Place) -> Iterator[tuple[Any, Said | None]]:
    """Give what belongs to the focus by way of its parts (an order's items), or, for a new one, what is like it."""
    keys = scene.samples.schema.get(focus[0])
    name = keys.key[0] if keys and len(keys.key) == 1 else ""
    parts = [
        row[argument.column]
        for place, row in scene.rows.items()
        if place != focus and row.get(name) == scene.rows[focus].get(name) and row.get(argument.column) is not None
    ]
    for value in dict.fromkeys(parts):
        place = scene.samples.place_of(argument.table, argument.column, value)
        row = next((one for one in scene.of(argument.table) if one.get(argument.column) == value), None)
        row = row or (scene.samples.row(place) if place else None)
        if row is None:
            continue
        likes = _siblings(row, table, scene.samples) if argument.new else [row]
        for like in likes:
            text = describe(like, table, scene.samples)
            given = [like[argument.column]] if argument.many else like[argument.column]
            yield given, Said(argument=argument.name, how="for" if argument.new else "of", text=text)


def _siblings(row: Mapping[str, Any], table: Table, samples: Samples) -> list[dict[str, Any]]:
    """Give the other rows that refer to the same rows."""
    links = [name for link in table.references for name in link.columns]
    return [
        other
        for other in samples.rows[table.name]
        if other.get(table.key[0]) != row.get(table.key[0]) and all(other.get(name) == row.get(name) for name in links)
    ]


def _owners_first(column: str, scene: Scene) -> list[dict[str, Any]]:
    """Give the rows that have a column, the root's first, then those that stand under its key."""
    keys = set(scene.samples.key_texts(scene.root)) if scene.root not in scene.rows else set()
    root = scene.rows[scene.root]
    table = scene.samples.schema.get(scene.root[0])
    own = {root.get(name) for name in table.key} if table else set()
    rows = [row for row in scene.rows.values() if column in row]
    return sorted(rows, key=lambda row: (row is not root, not (own & set(_plain(row))), bool(keys)))


def _plain(row: Mapping[str, Any]) -> list[Any]:
    return [value for value in row.values() if isinstance(value, str | int)]


def _sums(row: Mapping[str, Any], column: str, policies: str) -> Iterator[tuple[Any, Said | None]]:
    """Give the sum of a row that an argument is called like, or that a policy names: the shipping fee, a deposit."""
    if row.get(column) is not None:
        yield row[column], None
    words = {stem(word) for word in re.findall(r"[^\W\d_]+", policies.lower())}
    for name, value in row.items():
        own = {stem(word) for word in humanize(name).split()}
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        if numeric and value > 0 and len(own) > 1 and own <= words:
            yield value, Said(argument=name, how="to", text=humanize(name))


def _sentence(spec: ToolSpec) -> str:
    return spec.description.strip().split("\n")[0][:120] or humanize(spec.name)


def _other(text: str) -> str:
    local, at, domain = text.partition("@")
    return f"{local}.new{at}{domain}" if at else f"{text} 2"
