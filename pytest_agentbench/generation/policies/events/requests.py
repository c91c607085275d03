"""Calls that rows allow: what each argument of a tool takes, told by identifiers, schemas and the rules' own values.

An argument holds a cell of a row, not a value, so that a call found on the suite's own rows is the same call on fresh
ones. Nothing here reads a description.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor
from typing import Any, Literal

from pytest_agentbench.core.matchers import is_matcher, is_reference
from pytest_agentbench.core.names import IDENTIFIERS, readable
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.core.values import JsonValue, is_number
from pytest_agentbench.generation.policies.events.samples import Place, Samples
from pytest_agentbench.generation.policies.events.schema import Table

_OTHER = frozenset(("new", "target", "to", "replacement", "nouveau", "nouvelle", "nouvel"))
"""First words of arguments that take another thing than the one they are about: `new_item_ids`."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_LAST_FIGURES = re.compile(r"\d+(?=\D*$)")

_MOST_VALUES = 4
"""Values of one argument that are tried."""

_MOST_REQUESTS = 10
"""Requests of one tool about one row that are tried."""

Rows = Mapping[Place, Mapping[str, Any]]
"""Rows by the place of the sampled row that they are copies of."""


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


@dataclass(frozen=True)
class Const:
    """A value that stands in no row of the event."""

    value: Any


@dataclass(frozen=True)
class Many:
    """A list of values."""

    items: "tuple[Value, ...]"


@dataclass(frozen=True)
class Fields:
    """A mapping of values."""

    items: "tuple[tuple[str, Value], ...]"


Value = Cell | Const | Many | Fields


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
        """Give the arguments on these rows; a row that is not among them is the sampled one."""
        return {name: _resolved(value, rows, samples) for name, value in self.values}

    def differences(self, other: "Request") -> int:
        """Count the arguments in whose values it differs from another request of its tool."""
        return sum(one != theirs for one, theirs in zip(self.values, other.values, strict=True))


Role = Literal["key", "column", "choice", "number", "text", "fields"]


@dataclass(frozen=True, kw_only=True)
class Argument:
    """What an argument takes: the key of a row, the value of a column, a choice, a number, words, or fields.

    A number is `whole` where the schema says integer, and lies between `least` and `most` where it bounds it.
    """

    name: str
    role: Role
    table: str = ""
    column: str = ""
    many: bool = False
    other: bool = False
    choices: tuple[Any, ...] = ()
    fields: "tuple[Argument, ...]" = ()
    whole: bool = False
    least: float | None = None
    most: float | None = None


class ToolArguments:
    """The required arguments of the tools of a suite, and the values that its rules name for them."""

    def __init__(self, tools: Sequence[ToolSpec], policies: Sequence[Policy], samples: Samples) -> None:
        self._samples = samples
        self._named = _named_values(policies)
        self.specs = {spec.name: spec for spec in tools}
        self.of = {spec.name: found for spec in tools if (found := self._arguments(spec.parameters)) is not None}

    def requests(self, tool: str, root: Place, focus: Place, rows: Rows, *, foreign: bool = False) -> list[Request]:
        """Give the calls of a tool about a row: one, and for each argument those that differ from it there.

        `foreign` says that the row belongs to somebody else than `root`.
        """
        if tool not in self.of:
            return []
        spec, arguments = self.specs[tool], self.of[tool]
        scene = _Scene(self._samples, root, focus, rows, writes=spec.kind != "read", foreign=foreign)
        options = [list(self._options(one, arguments, scene)) for one in arguments]
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
        for at, values in enumerate(options):
            if at not in together and (arguments[at].other or arguments[at].table not in replaced):
                combinations += [[*first[:at], value, *first[at + 1 :]] for value in values[1:]]
        free = tuple(one.name for one in arguments if one.role == "text")
        is_root_key = {one.name for one in arguments if one.role == "key" and one.table == root[0]}
        names = [one.name for one in arguments]
        return [
            Request(
                tool=tool,
                values=tuple(zip(names, values, strict=True)),
                focus=focus,
                free=tuple(name for name in free if not self._named.get(name)),
                from_owner=tuple(name for name in names if name in is_root_key),
                odd=any(cell.place in scene.odd for value in values for cell in cells_of(value)),
            )
            for values in combinations[:_MOST_REQUESTS]
        ]

    def subject(self, tool: str, root: str) -> str:
        """Give the table whose rows a tool is about: that of the first key that it takes, the owner's last of all."""
        keys = [one.table for one in self.of.get(tool, ()) if one.role == "key" and not one.other and not one.many]
        return next((table for table in keys if table != root), root)

    def finds(self, tool: str) -> bool:
        """Whether a tool finds a row by what its columns hold: nobody asks for that, a right run does it first."""
        arguments = self.of.get(tool, ())
        return self.specs[tool].kind == "read" and bool(arguments) and all(one.role == "column" for one in arguments)

    def _arguments(self, form: Mapping[str, Any]) -> tuple[Argument, ...] | None:
        properties = form.get("properties", {})
        required = form.get("required", [])
        found = [self._argument(name, properties.get(name) or {}) for name in required]
        known = tuple(one for one in found if one is not None)
        return known if len(known) == len(found) else None

    def _argument(self, name: str, form: Mapping[str, Any]) -> Argument | None:
        form = _plain(form)
        kind, words = form.get("type"), readable(name).lower().split()
        choices = _choices(form)
        if choices:
            return Argument(name=name, role="choice", choices=choices)
        many = kind == "array"
        if many and (inner := _plain(form.get("items") or {})).get("type") == "object":
            fields = self._arguments(inner)
            return Argument(name=name, role="fields", fields=fields, many=True) if fields else None
        if kind == "object":
            fields = self._arguments(form)
            return Argument(name=name, role="fields", fields=fields) if fields else None
        other = len(words) > 1 and words[0] in _OTHER
        bare = "_".join(words[1:]) if other else name
        keyed = self._key_table(bare.removesuffix("s") if many else bare, words[1:] if other else words)
        if keyed is not None:
            return Argument(name=name, role="key", table=keyed.name, column=keyed.key[0], many=many, other=other)
        if many:
            return None
        has_column = any(
            self._samples.rows.get(one.name) and one.column(bare) is not None for one in self._samples.schema.tables
        )
        if kind in ("number", "integer"):
            least, most = (form[one] if is_number(form.get(one)) else None for one in ("minimum", "maximum"))
            column = bare if has_column else ""
            return Argument(name=name, role="number", column=column, whole=kind == "integer", least=least, most=most)
        if has_column:
            return Argument(name=name, role="column", column=bare)
        examples = tuple(form.get("examples") or ())
        return Argument(name=name, role="choice" if examples else "text", choices=examples)

    def _key_table(self, name: str, words: Sequence[str]) -> Table | None:
        """Find the table whose key an argument takes: by the name of its key, of a reference to it, or of its rows."""
        schema = self._samples.schema
        found = schema.keyed_by(name)
        if found is None:
            links = [one for table in schema.tables for one in table.references if one.columns == (name,)]
            found = schema.get(links[0].table) if links and len(links[0].target) == 1 else None
        if found is None:
            nouns = [word for word in words if word not in IDENTIFIERS and word.rstrip("s") not in IDENTIFIERS]
            holds = any(table.column(name) is not None for table in schema.tables)
            found = schema.named(nouns) if nouns and not (holds and len(nouns) == len(words)) else None
        return found if found is not None and self._samples.rows.get(found.name) else None

    def _options(self, argument: Argument, arguments: Sequence[Argument], scene: "_Scene") -> Iterator[Value]:
        """Give values of an argument, the most natural one first, at most so many, none twice."""
        seen: dict[Value, None] = {}
        for value in self._values(argument, arguments, scene):
            seen.setdefault(value)
            if len(seen) >= _MOST_VALUES + 2:
                break
        yield from seen

    def _values(self, argument: Argument, arguments: Sequence[Argument], scene: "_Scene") -> Iterator[Value]:
        named = self._named.get(argument.name, ())
        match argument.role:
            case "choice":
                at = (scene.root[1] + scene.focus[1]) % len(argument.choices)
                yield from map(Const, (*argument.choices[at:], *argument.choices[:at])[:_MOST_VALUES])
            case "key":
                yield from scene.keys(argument)
            case "number":
                yield from scene.numbers(argument, [one for one in named if is_number(one)])
            case "column":
                yield from scene.column(argument.column, [one.column for one in arguments if one.role == "column"])
                yield from (Const(one) for one in named if isinstance(one, str))
            case "fields":
                parts = [list(self._options(one, argument.fields, scene))[:1] for one in argument.fields]
                if all(parts):
                    made = Fields(tuple((one.name, part[0]) for one, part in zip(argument.fields, parts, strict=True)))
                    yield Many((made,)) if argument.many else made
            case _:
                texts = [one for one in named if isinstance(one, str)]
                yield from map(Const, texts or [f"{readable(argument.name)} of this request"])


class _Scene:
    """The rows that a request is made on: those of one owner, in front of those that are there for everybody."""

    def __init__(self, samples: Samples, root: Place, focus: Place, rows: Rows, *, writes: bool, foreign: bool) -> None:
        self.samples = samples
        self.root = root
        self.focus = focus
        self.rows = rows
        self.writes = writes
        self.foreign = foreign
        self.odd: set[Place] = set()

    def keys(self, argument: Argument) -> Iterator[Value]:
        """Give keys of a table: the row that it is about, the owner's, those tied to them, those for everybody."""
        table, column = argument.table, argument.column
        if argument.many or argument.other:
            yield from self._parts(argument)
            return
        if table == self.focus[0]:
            yield Cell(self.focus, column)
            return
        if table == self.root[0]:
            yield Cell(self.root, column)
            return
        tied = [place for place in self._linked(self.focus) if place[0] == table]
        own = [place for place in self.rows if place[0] == table]
        shared = [] if table in self.samples.owned(self.root[0]) else self._everybodys(table)
        for place in dict.fromkeys((*tied, *own, *shared[:_MOST_VALUES])):
            yield Cell(place, column)

    def _parts(self, argument: Argument) -> Iterator[Value]:
        """Give things that the parts of the focus refer to (an order's items); for another one, what is like them."""
        table = self.samples.schema.get(argument.table)
        parts = [place for part in self._children() for place in self._linked(part) if place[0] == argument.table]
        parts = list(dict.fromkeys(parts)) or [place for place in self.rows if place[0] == argument.table]
        if argument.other and table is not None:
            every = self._everybodys(argument.table)
            like = [one for part in parts[:1] for one in every if one != part and self._is_like(one, part, table)]
            unlike = [one for one in every if one not in like and one not in parts]
            self.odd.update(unlike)
            parts = [*like[: _MOST_VALUES - 1], *unlike[:2]]
        cells = [Cell(place, argument.column) for place in parts]
        for cell in cells[:_MOST_VALUES]:
            yield Many((cell,)) if argument.many else cell
        if argument.many and not argument.other and len(cells) > 1:
            yield Many(tuple(cells))

    def numbers(self, argument: Argument, named: Sequence[Any]) -> Iterator[Value]:
        """Give numbers: a column of the argument's own name and one more, those at the rules' figures, the bounds."""
        found: list[Value] = []
        column = argument.column
        for place in [one for one in (self.focus, *self.rows) if self.samples.row(one).get(column)][:1]:
            value = self.samples.row(place)[column]
            if is_number(value) and value > 0 and (not argument.whole or value == int(value)):
                found += [Cell(place, column, whole=argument.whole), Cell(place, column, plus=1, whole=argument.whole)]
        for number in named:
            at = floor(number) if argument.whole else number
            found += [Const(at), Const(at + 1), *([Const(at - 1)] if at > 1 and at == number else [])]
        bounds = [one for one in (argument.least, argument.most) if one is not None]
        found += [Const(int(one) if argument.whole else one) for one in bounds]
        kept = [one for one in found if self._is_within(one, argument)]
        yield from kept or [one for one in map(Const, (1, 2, 3)) if self._is_within(one, argument)]

    def _is_within(self, value: Value, argument: Argument) -> bool:
        """Whether a number is one that the schema of an argument admits."""
        number = _resolved(value, {}, self.samples)
        return (argument.least is None or number >= argument.least) and (
            argument.most is None or number <= argument.most
        )

    def column(self, column: str, together: Sequence[str]) -> Iterator[Value]:
        """Give the value of a column: for a lookup the owner's own, for a change that of another row, or a new one."""
        if not self.writes:
            for place in self._nearest(column):
                yield Cell(place, column)
            return
        home = self._home(together)
        if home is None:
            return
        alone = {columns[0] for columns in home.unique if len(columns) == 1}
        own = [place for place in self.rows if place[0] == home.name]
        if column in alone:
            for place in own[:1] or [(home.name, 0)]:
                yield Cell(place, column, renewed=1)
                yield Cell(place, column, renewed=2)
            return
        mine_of = {name: [self.samples.row(place).get(name) for place in own] for name in together}
        others = [place for place in self._everybodys(home.name) if place not in self.rows]
        for place in others[:_MOST_VALUES]:
            row = self.samples.row(place)
            if row.get(column) is not None and not all(row.get(name) in mine_of.get(name, ()) for name in together):
                yield Const(row[column])

    def _home(self, together: Sequence[str]) -> Table | None:
        """Find the table that most of the columns asked for together stand in."""
        tables = [one for one in self.samples.schema.tables if self.samples.rows.get(one.name)]
        counts = [(sum(one.column(name) is not None for name in together), one) for one in tables]
        best = max(counts, key=lambda one: (one[0], one[1].name in {place[0] for place in self.rows}), default=None)
        return best[1] if best and best[0] else None

    def _nearest(self, column: str) -> list[Place]:
        """Give the rows that have a column, the root's first, then those that stand under its key."""
        keys = set(self.samples.key_texts(self.focus if self.foreign else self.root))
        near = (self.focus, self.root) if self.foreign else (self.root, self.focus)
        with_it = [place for place in (*near, *self.rows) if self.samples.row(place).get(column)]
        borrowed = [place for place in with_it if keys & {str(one) for one in self.samples.row(place).values()}]
        return list(dict.fromkeys((*borrowed, *with_it)))

    def _linked(self, place: Place) -> list[Place]:
        return self.samples.linked(place)

    def _children(self) -> list[Place]:
        """Give the rows that refer to the focus."""
        return [place for place in self.rows if place != self.focus and self.focus in self._linked(place)]

    def _is_like(self, place: Place, other: Place, table: Table) -> bool:
        links = [name for link in table.references for name in link.columns]
        mine, theirs = self.samples.row(place), self.samples.row(other)
        return bool(links) and all(mine.get(name) == theirs.get(name) for name in links)

    def _everybodys(self, table: str) -> list[Place]:
        """Give the sampled rows of a table, from another one on for each owner and row."""
        count = len(self.samples.rows.get(table, ()))
        at = (self.root[1] + self.focus[1]) % count if count else 0
        return [(table, (at + number) % count) for number in range(count)]


def _resolved(value: Value, rows: Rows, samples: Samples) -> Any:
    match value:
        case Const():
            return value.value
        case Many():
            return [_resolved(one, rows, samples) for one in value.items]
        case Fields():
            return {name: _resolved(one, rows, samples) for name, one in value.items}
        case Cell():
            found = rows.get(value.place, samples.row(value.place)).get(value.column)
            if value.renewed:
                other = _another(found, value.renewed)
                return f"{found}-{value.renewed + 1}" if other == found else other
            number = round(found + value.plus, 2) if value.plus and is_number(found) else found
            return int(number) if value.whole and is_number(number) else number


def _another(value: Any, number: int) -> Any:
    """Give a text like this one with other figures (*Via Roma 22*, *Via Roma 29*); one without figures stays."""
    if not isinstance(value, str) or _DATE.match(value):
        return value
    local, at, domain = value.partition("@")
    if at:
        return f"{local}.new{number}@{domain}"
    return _LAST_FIGURES.sub(lambda found: str(int(found[0]) + 6 + number).zfill(len(found[0])), value, count=1)


def cells_of(value: Value) -> Iterator[Cell]:
    """Give the cells that a value takes from rows."""
    match value:
        case Cell():
            yield value
        case Many():
            for one in value.items:
                yield from cells_of(one)
        case Fields():
            for _, one in value.items:
                yield from cells_of(one)


def _plain(form: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the one form that is not null where a schema leaves a value out, too."""
    ways = [one for key in ("anyOf", "oneOf") for one in form.get(key, ()) if isinstance(one, Mapping)]
    real = [one for one in ways if one.get("type") != "null"]
    return real[0] if len(real) == 1 else form


def _choices(form: Mapping[str, Any]) -> tuple[Any, ...]:
    if isinstance(form.get("enum"), list):
        return tuple(one for one in form["enum"] if one is not None)
    if "const" in form:
        return (form["const"],)
    return (True, False) if form.get("type") == "boolean" else ()


def _named_values(policies: Sequence[Policy]) -> dict[str, tuple[JsonValue, ...]]:
    """Give the values that rules name for arguments: `where: {amount: {$gt: 100}}` names 100 for `amount`."""
    found: dict[str, dict[str, JsonValue]] = {}

    def read(form: Any) -> None:
        if isinstance(form, Mapping):
            for key, inner in form.items():
                if key in ("where", "arguments") and isinstance(inner, Mapping):
                    for name, value in inner.items():
                        found.setdefault(name, {}).update({repr(one): one for one in _literals(value)})
                elif key == "sum" and isinstance(inner, str) and is_number(form.get("lte")):
                    found.setdefault(inner, {})[repr(form["lte"])] = form["lte"]
                else:
                    read(inner)
        elif isinstance(form, list):
            for inner in form:
                read(inner)

    for policy in policies:
        read(policy.rule or {})
    return {name: tuple(values.values()) for name, values in found.items()}


def _literals(value: Any) -> Iterator[JsonValue]:
    if is_reference(value):
        return
    if isinstance(value, Mapping) and is_matcher(value):
        for key, inner in value.items():
            if key not in ("$regex", "$has", "$each", "$size"):
                yield from _literals(inner)
    elif isinstance(value, list):
        for one in value:
            yield from _literals(one)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value
