"""Calls that rows allow: what each argument of a tool takes, told by identifiers, schemas and the rules' own values.

An argument holds a cell of a row, not a value, so that a call found on the suite's own rows is the same call on fresh
ones. Nothing here reads a description.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor
from typing import Any, Literal

from pytest_agentbench.core.json_values import JsonValue, is_number
from pytest_agentbench.core.matchers import is_matcher, is_reference
from pytest_agentbench.core.names import IDENTIFIERS, readable
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.policies.events.samples import Place, Samples
from pytest_agentbench.generation.policies.events.schema import Table
from pytest_agentbench.generation.policies.events.seen_columns import Seen
from pytest_agentbench.generation.tools.probing.schemas import plain

_OTHER = frozenset(("new", "target", "to", "replacement", "nouveau", "nouvelle", "nouvel"))
"""First words of arguments that take another thing than the one they are about: `new_item_ids`."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_LAST_FIGURES = re.compile(r"\d+(?=\D*$)")

_MOST_VALUES = 4
"""Values of one argument that are tried."""

_MOST_REQUESTS = 10
"""Requests of one tool about one row that are tried."""

Rows = Mapping[Place, Mapping[str, Any]]
"""Rows by the place of the sampled row that they are copies of; one that is not among them is the sampled one."""


@dataclass(frozen=True)
class Const:
    """A value that stands in no row of the event."""

    value: Any

    def on(self, rows: Rows, samples: Samples) -> Any:
        """Give the value on these rows."""
        return self.value


@dataclass(frozen=True)
class Cell:
    """The value of a column of a row, `plus` so much; `renewed` numbers values like it that no row has.

    `whole` gives it as an integer, whatever type the column has.
    """

    place: Place
    column: str
    plus: float = 0
    renewed: int = 0
    whole: bool = False

    def on(self, rows: Rows, samples: Samples) -> Any:
        """Give the value on these rows."""
        found = rows.get(self.place, samples.row(self.place)).get(self.column)
        if self.renewed:
            return _another(found, self.renewed)
        number = round(found + self.plus, 2) if self.plus and is_number(found) else found
        return int(number) if self.whole and is_number(number) else number


@dataclass(frozen=True)
class Many:
    """A list of values; with `names` a mapping of them."""

    items: "tuple[Value, ...]"
    names: tuple[str, ...] = ()

    def on(self, rows: Rows, samples: Samples) -> Any:
        """Give the values on these rows."""
        found = [one.on(rows, samples) for one in self.items]
        return dict(zip(self.names, found, strict=True)) if self.names else found


Value = Cell | Const | Many


def cells_of(value: Value) -> Iterator[Cell]:
    """Give the cells that a value takes from rows."""
    if isinstance(value, Cell):
        yield value
    for one in value.items if isinstance(value, Many) else ():
        yield from cells_of(one)


@dataclass(frozen=True, kw_only=True)
class Request:
    """A call that a user may ask for: a tool, what its arguments hold, and the row that it is about.

    `free` are arguments worded by the user, which no expectation compares; `from_owner` those that hold the key of the
    person whose conversation it is, which a lookup gives. `odd` says that nobody would ask for it but to break a rule.
    """

    tool: str
    values: tuple[tuple[str, Value], ...]
    focus: Place = field(compare=False)
    free: tuple[str, ...] = field(default=(), compare=False)
    from_owner: tuple[str, ...] = field(default=(), compare=False)
    odd: bool = field(default=False, compare=False)

    def arguments(self, rows: Rows, samples: Samples) -> dict[str, Any]:
        """Give the arguments on these rows."""
        return {name: value.on(rows, samples) for name, value in self.values}

    def differences(self, other: "Request") -> int:
        """Count the arguments in whose values it differs from another request of its tool."""
        return sum(one != theirs for one, theirs in zip(self.values, other.values, strict=True))


@dataclass(frozen=True, kw_only=True)
class Argument:
    """What an argument takes: the key of a row, the value of a column, a choice, a number, words, or fields.

    A number is `whole` where the schema says integer, and lies between `least` and `most` where it bounds it.
    """

    name: str
    role: Literal["key", "column", "choice", "number", "text", "fields"]
    table: str = ""
    column: str = ""
    many: bool = False
    other: bool = False
    choices: tuple[Any, ...] = ()
    fields: "tuple[Argument, ...]" = ()
    whole: bool = False
    least: float | None = None
    most: float | None = None

    def admits(self, number: Any) -> bool:
        """Whether the schema admits a number."""
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)


class ToolArguments:
    """The arguments of the tools of a suite that are required or that its rules name, and the values these name.

    `given` are the values that a recipe says exist, by argument or by tool and argument; `seen` the columns whose
    values probing saw accepted, by tool and argument, where names tell nothing.
    """

    def __init__(
        self,
        tools: Sequence[ToolSpec],
        policies: Sequence[Policy],
        samples: Samples,
        given: Mapping[str, Sequence[JsonValue]],
        seen: Seen | None = None,
    ) -> None:
        self._samples, self._given, self._seen = samples, given, seen or {}
        self._named: dict[str, dict[str, JsonValue]] = {}
        for policy in policies:
            _note_named(policy.rule or {}, self._named)
        self.specs = {spec.name: spec for spec in tools}
        self.of = {
            spec.name: found for spec in tools if (found := self._arguments(spec.parameters, spec.name)) is not None
        }

    def requests(self, tool: str, root: Place, focus: Place, rows: Rows, *, foreign: bool = False) -> list[Request]:
        """Give the calls of a tool about a row: one, and for each argument those that differ from it there.

        `foreign` says that the row belongs to somebody else than `root`.
        """
        arguments = self.of.get(tool)
        if arguments is None:
            return []
        scene = _Scene(self._samples, self._named, root, focus, rows, foreign=foreign)
        scene.writes = self.specs[tool].kind != "read"
        options = [scene.options(one, arguments) for one in arguments]
        if not all(options):
            return []
        first = [one[0] for one in options]
        combinations = [first]
        together = [at for at, one in enumerate(arguments) if one.role == "column" and scene.writes]
        for number in range(1, max((len(options[at]) for at in together), default=0)):
            # what a change writes comes from one row: a street goes with its city
            changed = {at: options[at][number] for at in together if number < len(options[at])}
            combinations.append([changed.get(at, value) for at, value in enumerate(first)])
        replaced = {one.table for one in arguments if one.other}  # what replaces a thing is like that one
        for at, one in enumerate(arguments):
            if at not in together and (one.other or one.table not in replaced):
                combinations += [[*first[:at], value, *first[at + 1 :]] for value in options[at][1:]]
        names = [one.name for one in arguments]
        free = tuple(one.name for one in arguments if one.role == "text" and not self._named.get(one.name))
        if free and not scene.writes:
            return []  # what is searched for in words of one's own leads to nothing that is known
        from_owner = tuple(one.name for one in arguments if one.role == "key" and one.table == root[0])
        return [
            Request(
                tool=tool,
                values=tuple(zip(names, values, strict=True)),
                focus=focus,
                free=free,
                from_owner=from_owner,
                odd=any(cell.place in scene.odd for value in values for cell in cells_of(value)),
            )
            for values in combinations[:_MOST_REQUESTS]
        ]

    def subject(self, tool: str, root: str) -> str:
        """Give the table whose rows a tool is about: that of the first key that it takes, the owner's last of all."""
        keys = [one.table for one in self.of.get(tool, ()) if one.role == "key" and not one.other and not one.many]
        return next((table for table in keys if table != root), root)

    def proven(self) -> frozenset[str]:
        """Give the tables of which a lookup takes another cell beside the key: a maker by its mark and its word."""
        found: set[str] = set()
        for tool, arguments in self.of.items():
            keyed = {one.table: self._samples.schema.get(one.table) for one in arguments if one.role == "key"}
            cells = [one.column for one in arguments if one.role == "column"]
            if self.specs[tool].kind == "read":
                found |= {name for name, table in keyed.items() if table and any(map(table.column, cells))}
        return frozenset(found)

    def asked(self) -> frozenset[str]:
        """Give the columns by which lookups find rows: the `mark` of a member, and the word that goes with it."""
        finders = [arguments for tool, arguments in self.of.items() if self.finds(tool)]
        return frozenset(one.column for arguments in finders for one in arguments)

    def finds(self, tool: str) -> bool:
        """Whether a tool finds a row by what its columns hold: nobody asks for that, a right run does it first."""
        arguments = self.of.get(tool, ())
        return self.specs[tool].kind == "read" and bool(arguments) and all(one.role == "column" for one in arguments)

    def _arguments(self, form: Mapping[str, Any], tool: str) -> tuple[Argument, ...] | None:
        properties, required = form.get("properties", {}), list(form.get("required", []))
        required += [name for name in properties if name in self._named and name not in required]
        known = tuple(
            one
            for name in required
            if (one := self._argument(name, plain(properties.get(name), form), tool)) is not None
        )
        return known if len(known) == len(required) else None

    def _argument(self, name: str, form: Mapping[str, Any], tool: str) -> Argument | None:
        kind, words = form.get("type"), readable(name).lower().split()
        if choices := _choices(form):
            return Argument(name=name, role="choice", choices=choices)
        many = kind == "array"
        inner = plain(form.get("items"), form) if many else form
        if inner.get("type") == "object":
            fields = self._arguments(inner, tool)
            return Argument(name=name, role="fields", fields=fields, many=many) if fields else None
        other = len(words) > 1 and words[0] in _OTHER
        bare = "_".join(words[1:]) if other else name
        keyed = self._key_table(bare.removesuffix("s") if many else bare, words[1:] if other else words)
        if keyed is not None:
            return Argument(name=name, role="key", table=keyed.name, column=keyed.key[0], many=many, other=other)
        given = tuple(self._given.get(f"{tool}.{name}") or self._given.get(name, ()))
        if given and (holder := self._samples.keyed_by_all(given)) is not None:
            return Argument(name=name, role="key", table=holder.name, column=holder.key[0], many=many, other=other)
        if many:
            return None
        tables = [one for one in self._samples.schema.tables if self._samples.rows.get(one.name)]
        column = bare if any(one.column(bare) is not None for one in tables) else ""
        if kind in ("number", "integer"):
            least, most = (form[one] if is_number(form.get(one)) else None for one in ("minimum", "maximum"))
            is_whole = kind == "integer"
            bounds = {"whole": is_whole, "least": least, "most": most}
            return Argument(name=name, role="number", column=column, choices=given, **bounds)
        if given:
            return Argument(name=name, role="choice", choices=given)
        if column := column or self._own_column(words[1:] if other else words):
            return Argument(name=name, role="column", column=column)
        if place := self._seen.get((tool, name)):
            table = self._samples.schema.get(place[0])
            is_key = table is not None and table.key == (place[1],)
            role: Literal["key", "column"] = "key" if is_key else "column"
            return Argument(name=name, role=role, table=place[0] * is_key, column=place[1], other=other)
        examples = tuple(form.get("examples") or ())
        return Argument(name=name, role="choice" if examples else "text", choices=examples)

    def _key_table(self, name: str, words: Sequence[str]) -> Table | None:
        """Find the table whose key an argument takes: by the name of its key, of a reference to it, or of its rows."""
        schema = self._samples.schema
        links = [one for table in schema.tables for one in table.references if one.columns == (name,)]
        found = schema.keyed_by(name) or (schema.get(links[0].table) if links and len(links[0].target) == 1 else None)
        if found is None:
            nouns = [word for word in words if word not in IDENTIFIERS and word.rstrip("s") not in IDENTIFIERS]
            found = (schema.named(nouns) if nouns else None) or self._by_own_key(nouns)
            if found is not None and len(nouns) == len(words) and self._is_of_another_kind(name, found):
                return None
        return found if found is not None and self._samples.rows.get(found.name) else None

    def _by_own_key(self, nouns: Sequence[str]) -> Table | None:
        """Find the table that is named beside its own key: `nr_boat`, where boats have an *nr*."""
        for table in self._samples.schema.tables:
            rest = [word for word in nouns if word not in table.key]
            if rest and len(rest) < len(nouns) and self._samples.schema.named(rest) is table:
                return table
        return None

    def _own_column(self, words: Sequence[str]) -> str:
        """Find the column that words name together with its table: `member_mark` is the `mark` of `members`."""
        for at in range(1, len(words)):
            for table_words, column_words in ((words[:at], words[at:]), (words[at:], words[:at])):
                table, column = self._samples.schema.named(table_words), "_".join(column_words)
                if table is not None and self._samples.rows.get(table.name) and table.column(column) is not None:
                    return "" if column in table.key else column
        return ""

    def _is_of_another_kind(self, column: str, table: Table) -> bool:
        """Whether a column holds something that is no key of a table."""
        keys = {str(row.get(table.key[0])) for row in self._samples.rows.get(table.name, ())}
        holding = [one.name for one in self._samples.schema.tables if one.column(column) is not None]
        rows = [row for name in holding for row in self._samples.rows.get(name, ())]
        return any(row.get(column) is not None and str(row[column]) not in keys for row in rows)


@dataclass
class _Scene:
    """The rows that a request is made on: those of one owner, in front of those that are there for everybody.

    `odd` collects rows that nobody would ask for but to break a rule.
    """

    samples: Samples
    named: Mapping[str, Mapping[str, JsonValue]]
    root: Place
    focus: Place
    rows: Rows
    foreign: bool
    writes: bool = False
    odd: set[Place] = field(default_factory=set)

    def options(self, argument: Argument, arguments: Sequence[Argument]) -> list[Value]:
        """Give values of an argument, the most natural one first, at most so many, none twice."""
        return list(dict.fromkeys(self._values(argument, arguments)))[: _MOST_VALUES + 2]

    def _values(self, argument: Argument, arguments: Sequence[Argument]) -> Iterable[Value]:
        named = list(self.named.get(argument.name, {}).values())
        texts = [Const(one) for one in named if isinstance(one, str)]
        match argument.role:
            case "choice":
                at = (self.root[1] + self.focus[1]) % len(argument.choices)
                return map(Const, (*argument.choices[at:], *argument.choices[:at])[:_MOST_VALUES])
            case "key":
                return self._parts(argument) if argument.many or argument.other else self._keys(argument)
            case "number":
                return self._numbers(argument, [one for one in named if is_number(one)])
            case "column":
                together = [one.column for one in arguments if one.role == "column"]
                return (*self._column(argument.column, together), *texts)
            case "fields":
                parts = tuple(value for one in argument.fields for value in self.options(one, argument.fields)[:1])
                whole = Many(parts, tuple(one.name for one in argument.fields))
                return [Many((whole,)) if argument.many else whole] if len(parts) == len(argument.fields) else []
        return texts or [Const(f"{readable(argument.name)} of this request")]

    def _keys(self, argument: Argument) -> Iterator[Value]:
        """Give keys of a table: the row that it is about, the owner's, those tied to them, those for everybody."""
        table = argument.table
        own = next((place for place in (self.focus, self.root) if place[0] == table), None)
        if own is not None:
            places = [own]
        else:
            near = [place for place in (*self.samples.linked(self.focus), *self.rows) if place[0] == table]
            is_owned = table in self.samples.owned(self.root[0])
            places = [*near, *([] if is_owned else self._everybodys(table)[:_MOST_VALUES])]
        yield from (Cell(place, argument.column) for place in places)

    def _parts(self, argument: Argument) -> Iterator[Value]:
        """Give things that the parts of the focus refer to (an order's items); for another one, what is like them."""
        samples, table = self.samples, self.samples.schema.get(argument.table)
        children = [place for place in self.rows if place != self.focus and self.focus in samples.linked(place)]
        parts = [place for part in children for place in samples.linked(part) if place[0] == argument.table]
        parts = list(dict.fromkeys(parts)) or [place for place in self.rows if place[0] == argument.table]
        if argument.other and table is not None:
            every = self._everybodys(argument.table)
            links = [name for link in table.references for name in link.columns]
            kind = {place: [samples.row(place).get(name) for name in links] for place in (*parts[:1], *every)}
            like = [one for part in parts[:1] for one in every if links and one != part and kind[one] == kind[part]]
            unlike = [one for one in every if one not in like and one not in parts]
            self.odd.update(unlike)
            parts = [*like[: _MOST_VALUES - 1], *unlike[:2]]
        cells = [Cell(place, argument.column) for place in parts]
        for cell in cells[:_MOST_VALUES]:
            yield Many((cell,)) if argument.many else cell
        if argument.many and not argument.other and len(cells) > 1:
            yield Many(tuple(cells))

    def _numbers(self, argument: Argument, named: Sequence[Any]) -> list[Value]:
        """Give numbers: a column of the argument's own name and one more, those at the rules' figures, the bounds."""
        found: list[Value] = []
        column, whole = argument.column, argument.whole
        at = (self.root[1] + self.focus[1]) % max(1, len(argument.choices))
        found += map(Const, (*argument.choices[at:], *argument.choices[:at])[:_MOST_VALUES])
        holding = [one for one in (self.focus, *self.rows) if self.samples.row(one).get(column)]
        for place in holding[:1] if not found else ():
            value = self.samples.row(place)[column]
            if is_number(value) and value > 0 and (not whole or value == int(value)):
                found += [Cell(place, column, plus=more, whole=whole) for more in (0, 1)]
        for number in named:
            at = floor(number) if whole else number
            found += [Const(at), Const(at + 1), *([Const(at - 1)] if at > 1 and at == number else [])]
        bounds = [one for one in (argument.least, argument.most) if one is not None]
        found += [Const(int(one) if whole else one) for one in bounds]
        kept = [one for one in found if argument.admits(one.on({}, self.samples))]
        return kept or [Const(one) for one in (1, 2, 3) if argument.admits(one)]

    def _column(self, column: str, together: Sequence[str]) -> Iterator[Value]:
        """Give the value of a column: for a lookup the owner's own, for a change that of another row, or a new one."""
        home = self._home(together) if self.writes else None
        if not self.writes:
            yield from (Cell(place, column) for place in self._nearest(column))
        if home is None:
            return
        own = [place for place in self.rows if place[0] == home.name]
        if (column,) in home.unique:
            place = own[0] if own else (home.name, 0)
            yield from (Cell(place, column, renewed=number) for number in (1, 2))
            return
        mine = {name: [self.samples.row(place).get(name) for place in own] for name in together}
        others = [place for place in self._everybodys(home.name) if place not in self.rows]
        for row in map(self.samples.row, others[:_MOST_VALUES]):
            if row.get(column) is not None and not all(row.get(name) in mine[name] for name in together):
                yield Const(row[column])

    def _home(self, together: Sequence[str]) -> Table | None:
        """Find the table that most of the columns asked for together stand in."""
        tables = [one for one in self.samples.schema.tables if self.samples.rows.get(one.name)]
        counts = [(sum(one.column(name) is not None for name in together), one) for one in tables]
        here = {place[0] for place in self.rows}
        best = max(counts, key=lambda one: (one[0], one[1].name in here), default=None)
        return best[1] if best and best[0] else None

    def _nearest(self, column: str) -> list[Place]:
        """Give the rows that have a column, the root's first, then those that stand under its key."""
        near = (self.focus, self.root) if self.foreign else (self.root, self.focus)
        keys = set(self.samples.key_texts(near[0]))
        with_it = [place for place in (*near, *self.rows) if self.samples.row(place).get(column)]
        borrowed = [place for place in with_it if keys & {str(one) for one in self.samples.row(place).values()}]
        return list(dict.fromkeys((*borrowed, *with_it)))

    def _everybodys(self, table: str) -> list[Place]:
        """Give the sampled rows of a table, from another one on for each owner and row."""
        count = len(self.samples.rows.get(table, ()))
        at = (self.root[1] + self.focus[1]) % count if count else 0
        return [(table, (at + number) % count) for number in range(count)]


def _another(value: Any, number: int) -> Any:
    """Give a text like this one with other figures (*Via Roma 22*, *Via Roma 29*), or with a number behind it."""
    local, at, domain = str(value).partition("@")
    if isinstance(value, str) and at:
        return f"{local}.new{number}@{domain}"
    is_text = isinstance(value, str) and not _DATE.match(value)
    figures = _LAST_FIGURES.search(value) if is_text else None
    if figures is None:
        return f"{value}-{number + 1}"
    renewed = str(int(figures[0]) + 6 + number).zfill(len(figures[0]))
    return f"{value[: figures.start()]}{renewed}{value[figures.end() :]}"


def _choices(form: Mapping[str, Any]) -> tuple[Any, ...]:
    if isinstance(form.get("enum"), list):
        return tuple(one for one in form["enum"] if one is not None)
    if "const" in form:
        return (form["const"],)
    return (True, False) if form.get("type") == "boolean" else ()


def _note_named(form: Any, found: dict[str, dict[str, JsonValue]]) -> None:
    """Note the values that a rule names for arguments: `where: {amount: {$gt: 100}}` names 100 for `amount`."""
    for inner in form if isinstance(form, list) else ():
        _note_named(inner, found)
    for key, inner in form.items() if isinstance(form, Mapping) else ():
        if key in ("where", "arguments") and isinstance(inner, Mapping):
            for name, value in inner.items():
                found.setdefault(name, {}).update({repr(one): one for one in _literals(value)})
        elif key == "sum" and isinstance(inner, str) and is_number(form.get("lte")):
            found.setdefault(inner, {})[repr(form["lte"])] = form["lte"]
        else:
            _note_named(inner, found)


def _literals(value: Any) -> Iterator[JsonValue]:
    if isinstance(value, Mapping) and is_matcher(value) and not is_reference(value):
        for key, inner in value.items():
            if key not in ("$regex", "$has", "$each", "$size"):
                yield from _literals(inner)
    elif isinstance(value, list):
        for one in value:
            yield from _literals(one)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value
