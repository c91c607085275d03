"""Arguments for a call that follows another one: from its result, from earlier results of the turn, from the pool."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.recruiting.basis import is_opaque
from pytest_agentbench.generation.tools.recruiting.scouting import is_needed
from pytest_agentbench.generation.tools.stories.flows import Assignment, assignments, connecting
from pytest_agentbench.generation.tools.stories.referring import handed_on, is_spoken
from pytest_agentbench.generation.tools.stories.tracing import places_in
from pytest_agentbench.generation.tools.values import Card, PoolEntry, Provenance, SemanticType, Taxonomy
from pytest_agentbench.generation.tools.wording.phrasing import TONGUES
from pytest_agentbench.generation.tools.wording.saying import named

_COMPANIONS = 3
"""Pool entries that are tried for what no result gives."""


Values = Mapping[str, JsonValue]
"""Arguments by path."""


@dataclass(frozen=True)
class Made:
    """A call of the story and what it gave; `turn` counts the user's turns."""

    card: Card
    arguments: dict[str, JsonValue]
    result: JsonValue
    content: str
    turn: int


@dataclass(frozen=True, kw_only=True)
class Propagated:
    """Arguments for a call: where each comes from, which of them the user gives, and which entry they are of.

    `places` are the positions in the lists of the result, None where no value is of the result; `count` is how many
    entries there are.
    """

    arguments: dict[str, JsonValue]
    provenance: tuple[Provenance, ...]
    given: Mapping[str, JsonValue] = field(default_factory=dict)
    places: tuple[int, ...] | None = ()
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class Carried:
    """What results give for a call: values by path, where each stands, and the entry of the last result they are of."""

    values: dict[str, JsonValue]
    proof: dict[str, Provenance]
    indexes: tuple[int, ...] = ()


def carried(card: Card, made: Sequence[Made], taxonomy: Taxonomy, *, any_turn: bool = False) -> list[Carried]:
    """Give what the last call's result gives a tool, the first entries of its lists first.

    What that lacks of what is needed comes from earlier results: of the same turn, or of `any_turn`.
    """
    call = len(made) - 1
    source = made[call].card.tool
    result = made[call].result
    types = _of_first_list(connecting(taxonomy, source, card.tool), source, result)
    rows = assignments(types, source, result, card, arguments=made[call].arguments) if types else []
    needed = [parameter.path for parameter in card.parameters if is_needed(parameter)]
    found: list[Carried] = []
    for row in rows:
        slots = read_slots(dict(row.arguments))
        once = {(row.paths[path], dumps(slots[path])): path for path in reversed(slots)}
        # one thing is not both ends of a relation
        values = {path: value for path, value in slots.items() if path in once.values()}
        called = _nouns(card, (*values, *needed))
        values = _told_apart(values, row, called)
        if not _is_meant(values, row, result):
            continue
        proof = {path: Provenance(argument=path, source="result", call=call, path=row.paths[path]) for path in values}
        for path, value, origin in _earlier(card, made, taxonomy, any_turn=any_turn):
            is_second = called.get(path) in {called.get(taken) for taken in values} - {None}
            if path in needed and path not in values and not (is_second and isinstance(value, str)):
                values[path], proof[path] = value, origin
        deepest = max((_depth(row.paths[path]) for path in slots if path in values and path in row.paths), default=0)
        is_whole = all(path in values for path in once.values())
        one = Carried(values=values, proof=proof, indexes=row.indexes if is_whole else row.indexes[:deepest])
        if one not in found:
            found.append(one)
    return found


def _nouns(card: Card, paths: Sequence[str]) -> dict[str, str]:
    """Give the nouns by which arguments are pointed at."""
    return {path: one.noun for one in named(card, paths, TONGUES["en"]) for path in one.paths if one.noun}


def _told_apart(values: Mapping[str, JsonValue], row: Assignment, called: Mapping[str, str]) -> dict[str, JsonValue]:
    """Leave out what a user could not point at: a code in the place of a name, a second thing that is called the same.

    Of an inner list nothing is taken beside what its outer one gives: `the first result` does not say which of many.
    """
    kept: dict[str, JsonValue] = {}
    nouns: set[str] = set()
    shallow = min((_depth(row.paths[path]) for path in values), default=0)
    for path, value in values.items():
        name = humanize(path.removesuffix(".*").rsplit(".", 1)[-1]).split()
        is_misnamed = is_opaque(value) and bool(name) and name[-1] in ("name", "names")
        is_second = isinstance(value, str) and called.get(path) in nouns
        if is_misnamed or is_second or (shallow and _depth(row.paths[path]) > shallow):
            continue
        kept[path] = value
        nouns.add(called.get(path, path))
    return kept


def _of_first_list(types: Sequence[SemanticType], source: str, result: JsonValue) -> list[SemanticType]:
    """Take each type from the first list of things in a result, where it stands there too: that is `the` list."""
    records = [path for path, _ in places_in(result) if _is_of_record(path)]
    first = _list_of(records[0]) if records else None
    found = []
    for one in types:
        given = [place for place in one.produced if place.tool == source and "*" in place.path.split(".")[:-1]]
        kept = [place for place in given if place.path.split(".*")[0].removeprefix("*") == first]
        gone = [place for place in given if place not in kept] if kept else []
        found.append(one.model_copy(update={"produced": tuple(at for at in one.produced if at not in gone)}))
    return found


def _is_meant(values: Mapping[str, JsonValue], row: Assignment, result: JsonValue) -> bool:
    """Whether people mean a row by its place: it is of the first list of things, or named in the entry there too."""
    places = [(path, value) for path, value in places_in(result) if _is_of_record(path)]
    first = _list_of(places[0][0]) if places else ""
    for taken, value in values.items():
        path = row.paths[taken]
        if not _is_of_record(path) or _list_of(path) == first:
            continue
        entry = f"{first}.{row.indexes[0]}." if first else f"{row.indexes[0]}."
        if not any(at.startswith(entry) and same(one, value) for at, one in places):
            return False
    return True


def _is_of_record(path: str) -> bool:
    """Whether a place lies in an entry of a list of objects."""
    parts = path.split(".")
    return any(part.isdigit() for part in parts[:-1])


def _list_of(path: str) -> str:
    """Give the path up to the first list that it goes through."""
    parts = path.split(".")
    return ".".join(parts[: next((place for place, part in enumerate(parts) if part.isdigit()), len(parts))])


def _depth(path: str) -> int:
    """Count the lists that a place lies in."""
    return sum(part.isdigit() for part in path.split("."))


def propagated(
    source: str,
    card: Card,
    made: Sequence[Made],
    taxonomy: Taxonomy,
    companions: Sequence[PoolEntry],
    *,
    any_turn: bool = False,
) -> list[Propagated]:
    """Give the arguments that the last call's result makes possible, the first entries of its lists first.

    What the result lacks comes from earlier results of the same turn, or of `any_turn`, then from `companions`, one
    pool entry at a time; so does everything where no type leads from the one tool to the other, or where all that a
    result gives are values to which nobody refers.
    """
    if not connecting(taxonomy, source, card.tool):
        return [_from_pool(entry, card, made, taxonomy, any_turn=any_turn) for entry in companions]
    rows = carried(card, made, taxonomy, any_turn=any_turn)
    count = len({row.indexes[:1] for row in rows})
    ways = [way for row in rows for way in _ways(row, card, made)]
    if rows and not ways:
        return [_from_pool(entry, card, made, taxonomy, any_turn=any_turn) for entry in companions]
    needed = [parameter.path for parameter in card.parameters if is_needed(parameter)]
    found: list[Propagated] = []
    for row, things, said in ways:
        values = {**things, **said}
        missing = [path for path in needed if path not in values]
        for given, entry in _completions(missing, values, companions):
            if any(isinstance(value, str) and value in values.values() for value in given.values()):
                continue  # no thing is joined to itself
            pooled = {path: Provenance(argument=path, source="pool", entry=entry) for path in given}
            one = Propagated(
                arguments=build({**values, **given}),
                provenance=tuple({**{path: row.proof[path] for path in values}, **pooled}.values()),
                given={**said, **given},
                places=row.indexes if things else None,
                count=count,
            )
            if one not in found:
                found.append(one)
    return found


def _ways(row: Carried, card: Card, made: Sequence[Made]) -> Iterator[tuple[Carried, Values, Values]]:
    """Yield what a call can take of a row: the things referred to, then with them what the user says of the rest.

    What a change gave is known to nobody before.
    """
    handed = handed_on(row.values, card)
    said = {path: value for path, value in handed.said.items() if made[row.proof[path].call or 0].card.writes is False}
    if handed.things:
        yield row, handed.things, {}
    if said:
        yield row, handed.things, said


def _from_pool(entry: PoolEntry, card: Card, made: Sequence[Made], taxonomy: Taxonomy, *, any_turn: bool) -> Propagated:
    """Take a verified call as a whole; of one that works only behind others, what their results give is taken there."""
    values = read_slots(entry.arguments)
    proof: dict[str, Provenance] = {}
    for path, value, one in _earlier(card, made, taxonomy, any_turn=any_turn, last=True) if entry.after else ():
        if path in values and path not in proof and not is_spoken(path, value, card):
            values[path], proof[path] = value, one
    given = {path: value for path, value in values.items() if path not in proof}
    pooled = {path: Provenance(argument=path, source="pool", entry=entry.id) for path in given}
    return Propagated(
        arguments=build(values) if proof else entry.arguments,
        provenance=tuple({**proof, **pooled}.values()),
        given=given,
        places=() if proof else None,
    )


def _earlier(
    card: Card, made: Sequence[Made], taxonomy: Taxonomy, *, any_turn: bool, last: bool = False
) -> Iterator[tuple[str, JsonValue, Provenance]]:
    """Yield what earlier results give, of the turn or of any, the latest first.

    Of several entries that is what later calls took up; nobody could tell which of the others is meant, unless values
    of `any_turn` are said. `last` counts the last result among the earlier ones.
    """
    turn = made[-1].turn
    for call in range(len(made) - (1 if last else 2), -1, -1):
        before = made[call]
        if before.turn != turn and not any_turn:
            return
        types = connecting(taxonomy, before.card.tool, card.tool)
        rows = assignments(types, before.card.tool, before.result, card, arguments=before.arguments)
        taken = {str(value) for one in made[call + 1 :] for value in read_slots(one.arguments).values()}
        meant = [row for row in rows if taken.intersection(map(str, read_slots(dict(row.arguments)).values()))]
        for one in (meant or (rows if any_turn or len(rows) == 1 else []))[:1]:
            for path, value in read_slots(dict(one.arguments)).items():
                yield path, value, Provenance(argument=path, source="result", call=call, path=one.paths[path])


def _completions(
    missing: Sequence[str], values: Mapping[str, JsonValue], companions: Sequence[PoolEntry]
) -> Iterator[tuple[dict[str, JsonValue], str]]:
    """Yield values for what is missing, all of one pool entry, with its id; nothing where nothing is missing.

    Of an entry that works only behind another call everything is taken that no result gives: it may work by just that.
    """
    for entry in [one for one in companions if one.after][:_COMPANIONS]:
        told = read_slots(entry.arguments)
        rest = {path: value for path, value in told.items() if path not in values}
        if rest and all(path in told for path in missing):
            yield rest, entry.id
    if not missing:
        yield {}, ""
        return
    for entry in [one for one in companions if not one.after][:_COMPANIONS]:
        told = read_slots(entry.arguments)
        if all(path in told for path in missing):
            yield {path: told[path] for path in missing}, entry.id
