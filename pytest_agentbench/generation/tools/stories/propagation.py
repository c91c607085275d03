"""Arguments for a call that follows another one: from its result, from earlier results of the turn, from the pool."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.codec import dumps
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
    types = connecting(taxonomy, source, card.tool)
    rows = assignments(types, source, made[call].result, card, arguments=made[call].arguments) if types else []
    needed = [parameter.path for parameter in card.parameters if is_needed(parameter)]
    found: list[Carried] = []
    for row in rows:
        slots = read_slots(dict(row.arguments))
        once = {(row.paths[path], dumps(slots[path])): path for path in reversed(slots)}
        # one thing is not both ends of a relation
        values = {path: value for path, value in slots.items() if path in once.values()}
        proof = {path: Provenance(argument=path, source="result", call=call, path=row.paths[path]) for path in values}
        for path, value, one in _earlier(card, made, taxonomy, any_turn=any_turn):
            if path in needed and path not in values:
                values[path], proof[path] = value, one
        found.append(Carried(values=values, proof=proof, indexes=row.indexes))
    return found


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
    pool entry at a time; so does everything where no type leads from the one tool to the other.
    """
    if not connecting(taxonomy, source, card.tool):
        return [_from_pool(entry, card, made, taxonomy, any_turn=any_turn) for entry in companions]
    rows = carried(card, made, taxonomy, any_turn=any_turn)
    needed = [parameter.path for parameter in card.parameters if is_needed(parameter)]
    count = len({row.indexes[:1] for row in rows})
    found: list[Propagated] = []
    for row in rows:
        values, proof = row.values, row.proof
        missing = [path for path in needed if path not in values]
        for given, entry in _completions(missing, values, companions):
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


def _from_pool(entry: PoolEntry, card: Card, made: Sequence[Made], taxonomy: Taxonomy, *, any_turn: bool) -> Propagated:
    """Take a verified call as a whole; of one that works only behind others, what their results give is taken there."""
    values = read_slots(entry.arguments)
    proof: dict[str, Provenance] = {}
    for path, value, one in _earlier(card, made, taxonomy, any_turn=any_turn, last=True) if entry.after else ():
        if path in values and path not in proof:
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
    """Yield what the first entries of earlier results give, of the turn or of any, the latest first.

    `last` counts the last result among the earlier ones.
    """
    turn = made[-1].turn
    for call in range(len(made) - (1 if last else 2), -1, -1):
        before = made[call]
        if before.turn != turn and not any_turn:
            return
        types = connecting(taxonomy, before.card.tool, card.tool)
        for one in assignments(types, before.card.tool, before.result, card, arguments=before.arguments)[:1]:
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
