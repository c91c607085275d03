"""Whom things belong to: followed from key to key through the rows of state and answers, until a person is reached.

A row is told by its own key, and each other column may hold the key of another row: a repair names a quote, that an
instrument, that a client. What an answer lists belongs to what holds it and to what was asked for, where its own
columns lead to nobody. People are kinds of things whose rows have a name and a way to reach them, or whose column is
called as people are (`guest`); where there are neither, what a lookup checks by a second value that it does not tell (a
card by its pin), else the kind by which some tool lists things (`list_loans(card)`).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.names import IDENTIFIERS
from pytest_agentbench.generation.draft import Owner
from pytest_agentbench.generation.language.plain import words_of
from pytest_agentbench.generation.owned_rows import (
    ANSWER,
    CallRecord,
    Row,
    cells_of,
    every_cell,
    is_key,
    is_telling,
    key_column,
    key_columns,
    key_names,
    kind_of,
    listed_by,
    noun_of,
    outer_rows,
    read_call,
    rows_in,
    rows_of_call,
    tables_in,
)
from pytest_agentbench.generation.tools.graph.name_match import words
from pytest_agentbench.generation.tools.labels import NAMES, is_identifier, is_role
from pytest_agentbench.generation.tools.recruiting.proposals import is_opaque

_REACHED = frozenset({"email", "mail", "phone", "tel", "telephone", "mobile", "birth", "birthday", "dob"})
"""Words of columns that only rows about people have."""
_SOURCES = 2
"""Tables, answers and calls that carry a kind before its people count."""
_LEAST = 3
"""Values of a column that are keys of a kind, from which it holds such keys (fewer: all of them)."""
_PROOF = 3
"""Characters of what a person proves itself by: a shorter value is in many rows."""
_FAR = 6
"""Keys from one thing to its owner."""
_FACTS, _LONGEST = 8, 80
"""Columns that a person can tell of the own row, and characters of each."""

Thing = tuple[str, str]
"""The kind of a thing, and its key."""
People = dict[str, frozenset[str]]
"""Keys of people by their kind."""


@dataclass(frozen=True)
class About:
    """What a call is about: people, other things by kind, and people whose things its answer lists side by side.

    `because` are the arguments that lead to people: name, value, and whom.
    """

    people: People = field(default_factory=dict)
    things: Mapping[str, str] = field(default_factory=dict)
    listed: People = field(default_factory=dict)
    because: tuple[tuple[str, str, People], ...] = ()


class Ownership:
    """The links between the things of a service; `base` knows more of them, and the kinds.

    By what the reads `told` of the state differ is whose things they list, where nothing else says who people are.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        calls: Sequence[CallRecord],
        owner: Owner,
        base: "Ownership | None" = None,
        told: Sequence[CallRecord] = (),
    ) -> None:
        self._base = base
        self._told = told
        self._columns: Mapping[str, str] = base._columns if base else key_columns(rows)
        self._keys: dict[str, set[str]] = base._keys if base else defaultdict(set)
        self._values: dict[str, set[str]] = base._values if base else defaultdict(set)
        self._tells: dict[str, set[str]] = base._tells if base else defaultdict(set)
        self._names: set[str] = {row.name.casefold() for row in rows if row.name} | (base._names if base else set())
        self._alias: Mapping[str, str] = base._alias if base else self._aliases(rows, calls)
        self.people: frozenset[str] = base.people if base else self._people(rows, calls, owner)
        self._owned: dict[Thing, dict[Thing, None]] = {}
        self._listed: dict[Thing, dict[Thing, None]] = {}
        self._holders: dict[Thing, dict[Thing, None]] = {}
        self._rows: dict[Thing, Row] = {}
        for row in rows:
            self._link(row)

    def plus(self, calls: Sequence[CallRecord]) -> "Ownership":
        """Give what is known once these calls were made: what they say of a thing stands above what was known."""
        return Ownership([row for call in calls for row in rows_of_call(call)], (), Owner(), self)

    def about(self, call: CallRecord) -> About:
        """Say what a call is about: by its arguments; else by the one owner of its answer, else of what it changes."""
        arguments = [
            (name, thing)
            for name, value in cells_of(call.arguments)
            if (thing := self._thing(name, value, noun_of(call.tool)))
        ]
        because = [(name, thing[1], self.owners(thing)) for name, thing in arguments]
        people, listed = _union(whose for *_, whose in because), People()
        if not people:
            rows = list(outer_rows(call))
            found = _union(map(self._owners_of_row, rows))
            is_directory = all((own := self._own(row)) and own[0] in self.people for row in rows)
            if isinstance(call.result, str | int):
                key = str(call.result)
                found |= {kind: frozenset({key}) for kind in self.people if key in self._keys.get(kind, ())}
            people = _alone(found)
            listed = {} if is_directory else {kind: keys for kind, keys in found.items() if len(keys) > 1}
        if not people and call.writes:
            because = [(name, thing[1], self._owners_of_holders(thing)) for name, thing in arguments]
            people = _union(whose for *_, whose in because)
        things = {thing[0]: thing[1] for name, thing in arguments if is_identifier(name)}
        others = {kind: key for kind, key in things.items() if kind not in self.people}
        return About(people, others, listed, tuple(one for one in because if one[2]))

    def owners(self, thing: Thing) -> People:
        """Give whom a thing belongs to: the nearest people, by kind; nobody where several are as near."""
        return self._nearest(thing, listed=False) or self._nearest(thing, listed=True)

    def kinds_of(self, owner: Owner) -> People:
        """Give an owner that is a row of a table, or a key alone, as people."""
        key, own = str(owner.key), kind_of(self._columns.get(owner.table, ""), noun_of(owner.table))
        kind = owner.table if owner.table in self._values else own
        kinds = [self._alias.get(kind, kind)] if owner.table else sorted(self._values)
        named = [one for one in kinds if key in self._values.get(one, ())]
        return {one: frozenset({key}) for one in [one for one in named if one in self.people] or named[:1]}

    def owner_of(self, people: People) -> Owner:
        """Give the first of people as the owner of a draft: the table, the key, and what the person is called."""
        for kind, keys in people.items():
            key = min(keys)
            row = self._row((kind, key))
            column = self._columns.get(row.source) or next(iter(row.repeats), "") if row else ""
            name = row.name if row else "" if self._keys.get(kind) else key
            table = row.source if row and not row.source.startswith(ANSWER) else kind
            called = words_of(column) if column and words_of(column) != "id" else f"{words_of(noun_of(table))} id"
            own = row.cells.get(column, key) if row else key
            others = [(label, value) for label, value in _telling(row) if value != own] if row else []
            return Owner(table=table, key=own, name=name, facts={called: own, **dict(others)})
        return Owner()

    def persons(self) -> list[Thing]:
        """Give the people that are known, by kind and key."""
        return sorted((kind, key) for kind in self.people for key in self._keys.get(kind) or self._values[kind])

    def belongings(self, person: Thing) -> Iterator[tuple[str, Mapping[str, JsonValue]]]:
        """Yield the key and the cells of a person's row, and of each row that belongs to the person alone."""
        own = {person[0]: frozenset({person[1]})}
        for thing, row in self._rows.items():
            if thing == person or self.owners(thing) == own:
                yield thing[1], row.cells

    def names(self, people: People) -> Iterator[str]:
        """Yield the keys and names of people: nobody asks who he is."""
        for kind, keys in people.items():
            for key in keys:
                row = self._row((kind, key))
                yield from (key, row.name if row else key)

    def _row(self, thing: Thing) -> Row | None:
        """Give the row of a thing: that of a table where there is one, whatever answers call it."""
        own, before = self._rows.get(thing), self._base._row(thing) if self._base else None
        return before if before and (own is None or own.source.startswith(ANSWER)) else own

    def _nearest(self, thing: Thing, *, listed: bool) -> People:
        if thing[0] in self.people:
            return {thing[0]: frozenset({thing[1]})}
        found: People = {}
        seen, level = {thing}, [thing]
        for _ in range(_FAR):
            level = [to for one in level for to in self._links(one, listed=listed) if to not in seen]
            seen.update(level)
            reached = _union({kind: frozenset({key})} for kind, key in level if kind in self.people)
            found = {**reached, **found}
            level = [one for one in level if one[0] not in self.people]
        return _alone(found)

    def _links(self, thing: Thing, *, listed: bool) -> list[Thing]:
        own = [*self._owned.get(thing, ()), *(self._listed.get(thing, ()) if listed else ())]
        kinds = {kind for kind, _ in own}
        known = self._base._links(thing, listed=listed) if self._base else ()
        return [*own, *(one for one in known if one[0] not in kinds)]

    def _owners_of_row(self, row: Row) -> People:
        own = self._own(row)
        return (self.owners(own) if own else {}) or _union(map(self.owners, self._references(row)))

    def _owners_of_holders(self, thing: Thing) -> People:
        """Give the only people in whose rows a thing stands that belongs to nobody: a copy that is on loan."""
        holders = [*self._holders.get(thing, ()), *(self._base._holders.get(thing, ()) if self._base else ())]
        is_row = thing[1] in self._keys.get(thing[0], ())
        return _alone(_union(map(self.owners, holders))) if is_row else {}

    def _link(self, row: Row) -> None:
        if (own := self._own(row)) is None:
            return
        self._rows.setdefault(own, row)
        references = [to for to in self._references(row) if to != own]
        around = [self._thing(name, value, row.noun) for name, value in row.asked.items()]
        around += [self._own(row.listed_in) if row.listed_in else None]
        self._owned.setdefault(own, {}).update(dict.fromkeys(references))
        self._listed.setdefault(own, {}).update(dict.fromkeys(one for one in around if one and one != own))
        for to in references:
            self._holders.setdefault(to, {})[own] = None
        if row.part_of and (whole := self._own(row.part_of)) and whole != own:
            self._owned.setdefault(whole, {})[own] = None

    def _references(self, row: Row) -> Iterator[Thing]:
        column = self._column(row)
        for name, value in row.cells.items():
            if name != column and (thing := self._thing(name, value, row.noun)):
                yield thing

    def _column(self, row: Row) -> str:
        return "" if row.key else self._columns[row.source] if row.source in self._columns else key_column([row])

    def _own(self, row: Row) -> Thing | None:
        if row.key:
            return self._alias.get(row.noun, row.noun), row.key
        column = self._column(row)
        return self._thing(column, row.cells.get(column), row.noun) if column else None

    def _thing(self, name: str, value: JsonValue, noun: str) -> Thing | None:
        """Give what a column, or an argument, holds the key of; None where it is no key, or a name of a person."""
        kind = self._kind(name, kind_of(name, noun), str(value))
        keys = self._keys.get(kind)
        if not is_key(value) or (keys and str(value) not in keys and self._is_name(name, str(value), keys)):
            return None
        return kind, str(value)

    def _is_name(self, name: str, value: str, keys: Collection[str]) -> bool:
        """Whether a column called as a kind holds what one of it is called: `reader: Ada Roy`, for `K-1`."""
        if is_identifier(name):
            return False
        return is_role(name) or (value.casefold() in self._names and all(map(is_telling, keys)))

    def _kind(self, name: str, kind: str, key: str) -> str:
        """Give the kind that a key is of: a bare `code` in the row of a stay may be that of a skipper, by the rows."""
        kind, kinds = self._alias.get(kind, kind), self._tells.get(key, set())
        is_of_another = len(kinds) == 1 and is_telling(key) and IDENTIFIERS.issuperset(words(name))
        return next(iter(kinds)) if is_of_another else kind

    def _key_of(self, row: Row) -> Thing | None:
        """Give the plain name of a row's kind and its key; None for a key alone in a list, which is no row."""
        column = self._column(row)
        key = row.key or row.cells.get(column)
        kind = row.noun if row.key else kind_of(column, row.noun)
        return (kind, str(key)) if row.columns and is_key(key) else None

    def _aliases(self, rows: Sequence[Row], calls: Sequence[CallRecord]) -> dict[str, str]:
        """Say which kinds are others under another name, since they hold the keys of these: the `handler` of a bird.

        Small numbers are keys of everything: they count only under what is called as people are.
        """
        held: dict[str, set[str]] = defaultdict(set)
        own: dict[str, set[str]] = defaultdict(set)
        for name, kind, source, key in every_cell(rows, calls):
            if is_identifier(name) or is_role(name) or is_telling(key):
                held[kind].add(key)
            if is_identifier(name) and source.startswith("arguments/"):
                own[kind].add(key)
        found = key_names(rows)
        own_keys = [(row, *thing) for row in rows if (thing := self._key_of(row))]
        in_rows: dict[str, set[str]] = defaultdict(set)
        for _, kind, key in own_keys:
            in_rows[found.get(kind, kind)].add(key)
        in_tables = {found.get(kind, kind) for row, kind, _ in own_keys if not row.source.startswith(ANSWER)}
        for kind, keys in in_rows.items():
            own[kind] |= keys
        for kind in sorted(held.keys() - in_rows.keys() - found.keys()):
            if not (is_role(kind) or all(map(is_telling, held[kind]))):
                continue
            hits = {
                other: len(held[kind] & own[other]) for other in sorted(own) if other != kind and other not in found
            }
            least = max(min(_LEAST, len(held[kind])), len(held[kind]) / 2)
            enough = [other for other in hits if hits[other] >= least]
            if enough:  # what a table holds the rows of, not only what answers call them
                found[kind] = max(enough, key=lambda other: (other in in_tables, hits[other], other in in_rows))
        alias = {kind: found.get(other, other) for kind, other in found.items()}
        for row, plain, key in own_keys:
            kind = alias.get(plain, plain)
            self._keys[kind].add(key)
            if not row.source.startswith(ANSWER):
                self._tells[key].add(kind)
        return alias

    def _people(self, rows: Sequence[Row], calls: Sequence[CallRecord], owner: Owner) -> frozenset[str]:
        sources: dict[str, set[str]] = defaultdict(set)
        called: dict[str, set[str]] = defaultdict(set)
        for name, plain, source, key in every_cell(rows, calls):
            kind = self._kind(name, plain, key)
            sources[kind].add(source)
            if is_identifier(name) or self._keys.get(kind) or not key.isdecimal() or is_telling(key):
                called[kind].add(name)  # no row has a small number as its key: it counts people
            self._values[kind].add(key)
        carried = {kind for kind, several in sources.items() if len(several) >= _SOURCES}
        persons = {own[0] for row in rows if _is_person(row) and (own := self._own(row))}
        roles = {kind for kind in carried if called[kind] and any(map(is_role, (kind, *called[kind])))}
        self.people = frozenset(persons & carried | roles)
        has_rows = any(self._keys.get(kind) for kind in self.people)
        if owner.key is not None:
            kinds = frozenset(self.kinds_of(owner))
            return kinds if not has_rows and any(map(self._keys.get, kinds)) else self.people | kinds
        # an answer need not repeat whose rows it lists: the table has it
        tables = {own: row for row in rows if not row.source.startswith(ANSWER) and (own := self._own(row))}

        def carries(row: Row, name: str, value: JsonValue) -> bool:
            own = self._own(row)
            known = tables.get(own) if own else None
            return str((known or row).cells.get(name, row.cells.get(name))) == str(value)

        every = [(name, self._kind(name, *of)) for call in calls for name, *of in listed_by(call, carries)]
        listing = {kind for name, kind in every if is_identifier(name) and kind in carried}
        if not has_rows:
            # words in a column are no people where there are rows of named ones by which things are listed
            named = {own[0] for row in rows if row.name and (own := self._own(row))}
            found = frozenset(named & carried & {kind for _, kind in every}) or self.people
            vouched = frozenset(self._vouched(calls, tables)) & carried
            told = frozenset(self._told_by()) & carried
            return found or vouched or told or frozenset(listing) or frozenset(self._sharing(rows, calls)) & carried
        return self.people

    def _sharing(self, rows: Sequence[Row], calls: Sequence[CallRecord]) -> Iterator[str]:
        """Yield the kinds of named things that share out what several tools list: no two of them get the same rows.

        Where no table is seen, `list_offers(setter_id)` and `list_statements(setter_id)` say that setters are people.
        """
        named = {own[0] for row in rows if row.name and (own := self._own(row))}
        shares: dict[str, dict[str, dict[str, set[str]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(set)))
        for call in calls:
            keys = {own[1] for row in outer_rows(call) if (own := self._own(row))}
            for name, value in cells_of(call.arguments):
                thing = self._thing(name, value, noun_of(call.tool))
                if thing and (is_identifier(name) or thing[1] in self._keys.get(thing[0], ())):
                    shares[thing[0]][call.tool][thing[1]] |= keys
        for kind in named & shares.keys():
            lists = [list(one.values()) for one in shares[kind].values() if sum(map(bool, one.values())) > 1]
            apart = [one for one in lists if sum(map(len, one)) == len(set().union(*one))]
            if len(apart) >= _SOURCES:
                yield kind

    def _told_by(self) -> Iterator[str]:
        """Yield the kinds by whose keys a tool was asked for the state, more than once."""
        asked: dict[tuple[str, str], set[str]] = defaultdict(set)
        for call in self._told:
            for name, value in cells_of(call.arguments):
                if is_identifier(name) and is_key(value):
                    asked[call.tool, self._kind(name, kind_of(name, noun_of(call.tool)), str(value))].add(str(value))
        yield from (kind for (_, kind), keys in asked.items() if len(keys) > 1)

    def _vouched(self, calls: Sequence[CallRecord], tables: Mapping[Thing, Row]) -> Iterator[str]:
        """Yield the kinds whose rows a lookup checks: it takes another cell beside the key, and does not tell it."""
        for call in calls:
            told = {str(cell) for row in rows_of_call(call) for cell in row.cells.values()}
            given = dict(cells_of(call.arguments)) if not call.writes else {}
            for name, value in given.items():
                thing = self._thing(name, value, noun_of(call.tool)) or ("", "")
                cells = set(map(str, tables[thing].cells.values())) if thing in tables else set()
                others = {str(cell) for one, cell in given.items() if one != name and len(str(cell)) >= _PROOF}
                if others & cells - told:
                    yield thing[0]


def ownership_of(
    states: Sequence[Mapping[str, JsonValue] | None], calls: Iterable[CallRecord], owner: Owner | None = None
) -> Ownership:
    """Find out whom things belong to, out of the tables of states and calls with their answers."""
    fields = [(name, value, read_call(name, value)) for state in states for name, value in (state or {}).items()]
    told = [call for _, _, call in fields if call is not None]
    records = [*told, *calls]
    tables = [one for name, value, call in fields if call is None for one in tables_in(name, value)]
    rows = [row for name, table in tables for row in rows_in(name, table, noun_of(name), is_table=True)]
    rows += [row for call in records for row in rows_of_call(call)]
    return Ownership(rows, records, owner or Owner(), told=told)


def conflicts(about: About, earlier: Iterable[About]) -> tuple[int, int]:
    """Count the kinds of people of which a call is about others than earlier ones, and what is better avoided: other
    things of a kind, several people in one call.
    """
    people, things = People(), defaultdict[str, set[str]](set)
    for one in earlier:
        for kind, keys in one.people.items():
            people[kind] = people.get(kind, keys) & keys or people[kind]
        for kind, key in one.things.items():
            things[kind].add(key)
    others = sum(kind in people and people[kind].isdisjoint(keys) for kind, keys in about.people.items())
    avoided = sum(bool(things.get(kind, {key}) - {key}) for kind, key in about.things.items())
    return others, avoided + len(about.listed) + sum(len(keys) > 1 for keys in about.people.values())


def people_of(known: Ownership, calls: Sequence[CallRecord]) -> People:
    """Give whom all of these calls are about, by kind."""
    found = People()
    for call in calls:
        for kind, keys in known.about(call).people.items():
            found[kind] = found.get(kind, keys) & keys or found[kind]
    return found


def mixed_owners(
    base: Ownership, calls: Sequence[CallRecord], owner: People | None = None
) -> Iterator[tuple[int, str]]:
    """Say which calls are about others than `owner`, or than those whom the first calls are about, with the reason.

    A list of what belongs to several is right where a later call takes something of the owner's out of it.
    """
    known, owner = base.plus(calls), dict(owner or {})
    every = [known.about(call) for call in calls]
    for place, about in enumerate(every):
        for kind, keys in about.people.items():
            if kind in owner and owner[kind].isdisjoint(keys):
                yield place, _against(kind, about, owner[kind])
            elif kind in owner and (taken := _taken(kind, base.about(calls[place]), about, owner[kind])):
                yield place, taken
            owner[kind] = owner.get(kind, keys) & keys or owner[kind]
    for place, (call, about) in enumerate(zip(calls, every, strict=True)):
        for kind in about.listed.keys() & owner.keys():
            later = [every[at].people.get(kind, frozenset()) for at, one in enumerate(calls) if place in one.sources]
            if not any(owner[kind] & keys for keys in later):
                yield place, f"{call.tool} lists things of several, and none of {_shown(owner[kind])} is taken from it"


def _taken(kind: str, before: About, after: About, owner: frozenset[str]) -> str:
    """Say what a call makes the owner's that belonged to somebody else before; "" where there is nothing."""
    now = {(name, value): whose.get(kind, frozenset()) for name, value, whose in after.because}
    for name, value, whose in before.because:
        if owner.isdisjoint(whose.get(kind, owner)) and now.get((name, value), frozenset()) & owner:
            return f"{name} {value} belongs to {_shown(whose[kind])}, not to {_shown(owner)}"
    return ""


def _against(kind: str, about: About, owner: frozenset[str]) -> str:
    for name, value, whose in about.because:
        if owner.isdisjoint(whose.get(kind, owner)):
            if value in whose[kind]:
                return f"{name} {value!r} is not {_shown(owner)}"
            return f"{name} {value} belongs to {_shown(whose[kind])}, not to {_shown(owner)}"
    return f"an answer is about {_shown(about.people[kind])}, not about {_shown(owner)}"


def _shown(keys: Iterable[str]) -> str:
    return " and ".join(map(repr, sorted(keys)))


def _union(several: Iterable[People]) -> People:
    found: People = {}
    for one in several:
        for kind, keys in one.items():
            found[kind] = found.get(kind, frozenset()) | keys
    return found


def _alone(people: People) -> People:
    return {kind: keys for kind, keys in people.items() if len(keys) == 1}


def _telling(row: Row) -> Iterator[tuple[str, JsonValue]]:
    """Yield what a person knows of the own row: the texts that people remember, under the words of their columns."""
    texts = [(name, value) for name, value in row.cells.items() if isinstance(value, str) and value]
    kept = [(name, value) for name, value in texts if len(value) <= _LONGEST and not is_opaque(value)]
    yield from ((words_of(name), value) for name, value in kept[:_FACTS])


def _is_person(row: Row) -> bool:
    found = {word for column in row.columns for word in words(column)}
    return bool(found & NAMES) and bool(found & _REACHED)
