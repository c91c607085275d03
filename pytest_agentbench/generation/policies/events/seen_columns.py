"""Which columns arguments take values of, told by what probing saw accepted, whatever both are called."""

from collections.abc import Mapping

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.json_values import is_number
from pytest_agentbench.generation.policies.events.samples import Samples
from pytest_agentbench.generation.tools.data_types import Cards


class ArgumentColumn(Model):
    """An argument of a tool, and the column of a table whose values it takes."""

    tool: str
    argument: str
    table: str
    column: str


class ArgumentColumns(Model):
    """What probing saw of arguments and columns, as a recipe's folder keeps it."""

    columns: tuple[ArgumentColumn, ...] = ()

    @property
    def seen(self) -> "Seen":
        """The columns by tool and argument."""
        return {(one.tool, one.argument): (one.table, one.column) for one in self.columns}


Seen = Mapping[tuple[str, str], tuple[str, str]]
"""The table and the column whose values an argument takes, by tool and argument."""


def columns_in(cards: Cards, samples: Samples) -> ArgumentColumns:
    """Find the columns whose values probing saw accepted: `card="K-1"`, where the `readers` have *K-1* as key.

    Nothing else must have been accepted, but for other spellings: an argument that takes any words takes no column's. A
    key counts before columns that refer to it; of several other columns nothing is known.
    """
    held = {
        (table, column): {_plain(row[column]) for row in rows if isinstance(row.get(column), str | int)}
        for table, rows in samples.rows.items()
        for column in dict.fromkeys(name for row in rows for name in row)
    }
    keys = {(table.name, table.key[0]) for table in samples.schema.tables if len(table.key) == 1}
    found: list[ArgumentColumn] = []
    for card in cards.cards:
        for one in card.parameters:
            taken = {_plain(value) for value in one.accepted if isinstance(value, str) or is_number(value)}
            best = [place for place, texts in held.items() if taken and taken <= texts and max(map(len, taken)) > 1]
            places = [place for place in best if place in keys] or best
            if len(places) == 1:
                table, column = places[0]
                found.append(ArgumentColumn(tool=card.tool, argument=one.path, table=table, column=column))
    return ArgumentColumns(columns=tuple(found))


def _plain(value: object) -> str:
    return str(value).strip().casefold()
