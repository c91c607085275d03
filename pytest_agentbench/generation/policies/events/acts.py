"""What an event's user may ask for: calls of one tool on the rows of a scene, and what the user says of each value."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation.policies.events.samples import Place, Samples
from pytest_agentbench.generation.policies.events.tables import Table

_PREFIX = re.compile(r"^(?:new|old|target|other|to|from|replacement|nouvelle?|nouvel|ancienne?)_")
_KEY_WORDS = frozenset(
    ("id", "ids", "number", "numbers", "no", "num", "code", "codes", "ref", "reference", "key", "numero", "identifiant")
)
"""Words by which an argument says that it takes the key of a row: `owner_number`, `id_usager`."""
_FEW = 3
"""Most of something that a user asks for, where nothing says how many there may be."""
_RANGE = re.compile(r"(?<![\d-])(?P<low>\d{1,3})\s*(?:-|–|to|à)\s*(?P<high>\d{1,3})(?![\d-])")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_NAMING = ("label", "title", "name", "full_name", "description", "intitule", "libelle", "titre", "nom")
"""Columns by which people tell rows apart; English and French."""


@dataclass(frozen=True, kw_only=True)
class Argument:
    """What an argument takes: a key of a table, a value of a column, one of an enum, or text of one's own."""

    name: str
    role: Literal["key", "column", "enum", "text"]
    table: str = ""
    column: str = ""
    many: bool = False
    new: bool = False
    number: bool = False
    values: tuple[Any, ...] = ()


How = Literal["which", "of", "to", "for", "with", "reason", "about", "count"]
"""The part of a wish in which a value stands."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """One value of a call as a user speaks of it; `how` says in which part of the sentence."""

    argument: str
    how: How
    text: str


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A call that may be made on a scene, what the user says to mean it, and arguments that are free to word."""

    tool: str
    arguments: dict[str, Any]
    said: tuple[Said, ...] = ()
    free: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Scene:
    """The rows of an event, sampled ones or fresh, by the places of the samples; `root` owns all of them.

    `by_key` has the user name rows by their keys, where nothing leads there from what people call them.
    """

    samples: Samples
    rows: dict[Place, dict[str, Any]]
    root: Place
    focuses: tuple[Place, ...]
    about: Mapping[str, str] = field(default_factory=dict)
    by_key: bool = False

    def of(self, table: str) -> list[dict[str, Any]]:
        """Give the scene's rows of a table."""
        return [row for place, row in self.rows.items() if place[0] == table]


def arguments_of(spec: ToolSpec, samples: Samples) -> tuple[Argument, ...] | None:
    """Say what each required argument of a tool takes; None where one cannot be told."""
    properties = spec.parameters.get("properties", {})
    required = spec.parameters.get("required", list(properties))
    found: list[Argument] = []
    for name in required:
        form = properties.get(name)
        argument = _argument(name, form if isinstance(form, Mapping) else {}, samples, spec.description)
        if argument is None:
            return None
        found.append(argument)
    return tuple(found)


def _argument(name: str, form: Mapping[str, Any], samples: Samples, described: str) -> Argument | None:
    kind = form.get("type")
    if isinstance(form.get("enum"), list):
        return Argument(name=name, role="enum", values=tuple(form["enum"]))
    many = kind == "array"
    bare = _PREFIX.sub("", name).partition("_or_")[0]
    column = bare.removesuffix("s") if many else bare
    table = samples.schema.keyed_by(column)
    if table is not None:
        return Argument(
            name=name, role="key", table=table.name, column=column, many=many, new=_PREFIX.match(name) is not None
        )
    holder = _holder(bare, samples)
    if holder is not None:
        key = holder.key[0]
        return Argument(
            name=name, role="key", table=holder.name, column=key, many=many, new=_PREFIX.match(name) is not None
        )
    if many or kind == "object":
        return None
    link = next((one for table in samples.schema.tables for one in table.references if one.columns == (bare,)), None)
    if link is not None and len(link.target) == 1 and samples.rows.get(link.table):
        return Argument(
            name=name, role="key", table=link.table, column=link.target[0], new=_PREFIX.match(name) is not None
        )
    holders = [one for one in samples.schema.tables if one.column(column) is not None and samples.rows.get(one.name)]
    if holders:
        number = kind in ("number", "integer")
        return Argument(name=name, role="column", column=column, table=holders[0].name, number=number)
    if kind == "integer":
        return Argument(name=name, role="enum", number=True, values=_numbers(form, described))
    dates = _DATE.findall(str(form.get("description", "")))
    if dates:  # a date given as an example is one that the service takes
        return Argument(name=name, role="enum", values=tuple(dates))
    return Argument(name=name, role="text") if kind in ("string", None) else None


def _numbers(form: Mapping[str, Any], described: str) -> tuple[int, ...]:
    """Give how many of something may be asked for, as far as the declaration tells; few where it does not."""
    told = _RANGE.search(str(form.get("description", ""))) or _RANGE.search(described)
    low, high = form.get("minimum"), form.get("maximum")
    if not (isinstance(low, int) and isinstance(high, int)):
        low, high = (int(told["low"]), int(told["high"])) if told else (1, _FEW)
    return tuple(range(max(low, 1), min(high, low + 2 * _FEW) + 1))


def handle_of(row: Mapping[str, Any], table: Table) -> str:
    """Give the name by which people speak of a row, "" where it has none."""
    return next((str(row[name]) for name in _NAMING if isinstance(row.get(name), str) and name not in table.key), "")


def _holder(name: str, samples: Samples) -> Table | None:
    """Find the table whose key an argument takes that is named after its rows: `pet`, `pet_id`, `numero_dossier`.

    A table whose rows are called alike, and that has none, gives nothing.
    """
    words = humanize(name).split()
    noun = [word for word in words if word not in _KEY_WORDS]
    if not noun:
        return None
    table = samples.schema.named(" ".join(noun))
    if table is None or not samples.rows.get(table.name):
        return None
    # a column of that name holds something else, unless it refers to the table
    others = [one for one in samples.schema.tables if one.column(name) is not None]
    refers = any(link.table == table.name and name in link.columns for one in others for link in one.references)
    return table if len(noun) < len(words) or not others or refers else None


def describe(row: Mapping[str, Any], table: Table, samples: Samples) -> str:
    """Say which row is meant without its key: its name, or its parent's, and what differs."""
    for name in _NAMING:
        if isinstance(row.get(name), str):
            return str(row[name])
    parent = ""
    for link in table.references:
        target = samples.schema.get(link.table)
        other = samples.place_of(link.table, link.target[0], row.get(link.columns[0])) if link.target else None
        if target is not None and other is not None and link.table not in samples.owned(samples.roots[0]):
            parent = describe(samples.row(other), target, samples)
    own = [
        str(row[column.name])
        for column in table.columns
        if isinstance(row.get(column.name), str)
        and column.name not in table.key
        and not any(column.name in link.columns for link in table.references)
    ]
    if parent:
        if own and _DATE.match(own[0]):
            return f"{parent}, {own[0]}"
        return f"{parent} ({', '.join(own[:2])})" if own else parent
    return str(row[table.key[0]]) if table.key and row.get(table.key[0]) is not None else ", ".join(own[:2])
