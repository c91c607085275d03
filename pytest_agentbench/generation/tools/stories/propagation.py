"""Arguments for a call that follows another one: from its result, from earlier results of the turn, from the pool."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.recruiting.scouting import is_needed
from pytest_agentbench.generation.tools.stories.flows import assignments, connecting
from pytest_agentbench.generation.tools.values import Card, PoolEntry, Provenance, Taxonomy

_COMPANIONS = 3
"""Pool entries that are tried for what no result gives."""


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


def propagated(
    source: str, card: Card, made: Sequence[Made], taxonomy: Taxonomy, companions: Sequence[PoolEntry]
) -> list[Propagated]:
    """Give the arguments that the last call's result makes possible, the first entries of its lists first.

    What the result lacks comes from earlier results of the same turn, then from `companions`, one pool entry at a time;
    so does everything where no type leads from the one tool to the other.
    """
    call = len(made) - 1
    types = connecting(taxonomy, source, card.tool)
    if not types:
        return [_from_pool(entry) for entry in companions]
    rows = assignments(types, source, made[call].result, card, arguments=made[call].arguments)
    needed = [parameter.path for parameter in card.parameters if is_needed(parameter)]
    count = len({row.indexes[:1] for row in rows})
    found: list[Propagated] = []
    for row in rows:
        values = read_slots(dict(row.arguments))
        proof = {path: Provenance(argument=path, source="result", call=call, path=row.paths[path]) for path in values}
        for path, value, one in _earlier(card, made, taxonomy):
            if path in needed and path not in values:
                values[path], proof[path] = value, one
        missing = [path for path in needed if path not in values]
        for given, entry in _completions(missing, companions):
            pooled = {path: Provenance(argument=path, source="pool", entry=entry) for path in given}
            found.append(
                Propagated(
                    arguments=build({**values, **given}),
                    provenance=tuple({**proof, **pooled}.values()),
                    given=given,
                    places=row.indexes,
                    count=count,
                )
            )
    return found


def _from_pool(entry: PoolEntry) -> Propagated:
    given = read_slots(entry.arguments)
    provenance = tuple(Provenance(argument=path, source="pool", entry=entry.id) for path in given)
    return Propagated(arguments=entry.arguments, provenance=provenance, given=given, places=None)


def _earlier(card: Card, made: Sequence[Made], taxonomy: Taxonomy) -> Iterator[tuple[str, JsonValue, Provenance]]:
    """Yield what the first entries of earlier results of the turn give, the latest first."""
    turn = made[-1].turn
    for call in range(len(made) - 2, -1, -1):
        before = made[call]
        if before.turn != turn:
            return
        types = connecting(taxonomy, before.card.tool, card.tool)
        for one in assignments(types, before.card.tool, before.result, card, arguments=before.arguments)[:1]:
            for path, value in read_slots(dict(one.arguments)).items():
                yield path, value, Provenance(argument=path, source="result", call=call, path=one.paths[path])


def _completions(missing: Sequence[str], companions: Sequence[PoolEntry]) -> Iterator[tuple[dict[str, JsonValue], str]]:
    """Yield values for what is missing, all of one pool entry, with its id; nothing where nothing is missing."""
    if not missing:
        yield {}, ""
        return
    for entry in companions[:_COMPANIONS]:
        told = read_slots(entry.arguments)
        if all(path in told for path in missing):
            yield {path: told[path] for path in missing}, entry.id
