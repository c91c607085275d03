"""The model-played twins of two roles: who fills rows in, and who words what the user says. Values stay held to checks.

Neither decides what is right: the oracle's calls are made on whatever rows come out, and what fails is refused.
"""

import json
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from pydantic import Field

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.generation.policies.asking import Answer, ask
from pytest_agentbench.generation.policies.events.checking import Ground, RowChecker, Validator
from pytest_agentbench.generation.policies.events.rows import Made, RowsError, told_anew
from pytest_agentbench.generation.policies.events.samples import Samples
from pytest_agentbench.generation.policies.events.user import Told, leaks
from pytest_agentbench.generation.policies.values import EventRow, ExtractedPolicy
from pytest_agentbench.llm.seams import Chat

ROWS, USER = "rows.v1", "user.v1"
"""The templates in force."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_CODE = re.compile(r"(?<![\w@.])(?=[\w#-]*\d)(?=[\w#-]*[A-Za-z#])[\w#-]{4,}(?![\w@])|\S+@\S+\.\w+")
_LANGUAGES = {"en": "English", "fr": "French"}


class WrittenRow(Answer):
    """One row."""

    symbol: str
    table: str
    values: str = Field(description="a JSON object {column: value}")


class WrittenRows(Answer):
    """All rows of an event."""

    rows: list[WrittenRow]


class WrittenUser(Answer):
    """What the user is made of."""

    persona: str
    goal: str
    says: list[str]


class ModelRower:
    """Fills the open columns of planned rows with a model: one call, one more where something is at fault."""

    def __init__(self, chat: Chat, samples: Samples, validators: Sequence[Validator], ground: Ground) -> None:
        self._chat = chat
        self._samples = samples
        self._validators = validators
        self._ground = ground

    async def __call__(self, made: Made, random: Random) -> Made:
        """Give the rows with the model's values; raise `RowsError` where they stay at fault."""
        planned = [self._planned(row) for row in made.rows]
        data = "\n".join(dumps(one) for one in planned)
        try:
            answer = await ask(
                self._chat, WrittenRows, ROWS, data=data, random=random, faults=lambda one: self._faults(one, made)
            )
        except UnusableAnswerError as error:
            raise RowsError(str(error)) from error
        by_symbol = {row.symbol: row for row in self._carried(answer, made)}
        rows = {place: by_symbol[row.symbol] for place, row in made.fresh.items()}
        return Made(rows=tuple(rows.values()), entities=made.entities, relations=made.relations, fresh=rows)

    def _carried(self, answer: WrittenRows, made: Made) -> list[EventRow]:
        """Give the rows as written, with the new keys wherever a kept column names an old one.

        Schemas do not declare every reference; a model that was told of none leaves the old key where it stood.
        """
        values = {one.symbol: _object(one.values) or {} for one in answer.rows}
        renamed = self._renamed(values, made)
        rows = []
        for row in made.rows:
            written = values.get(row.symbol, {})
            open_columns = self._open(row)
            kept = {
                name: told_anew(value, renamed)
                for name, value in written.items()
                if name not in open_columns and name not in row.bindings and value == row.values.get(name)
            }
            rows.append(row.model_copy(update={"values": {**written, **kept}}))
        return rows

    def _renamed(self, values: Mapping[str, Mapping[str, Any]], made: Made) -> dict[str, str | int]:
        found: dict[str, str | int] = {}
        for row in made.rows:
            table = self._samples.schema.get(row.table)
            key = table.key[0] if table is not None and len(table.key) == 1 else ""
            new = values.get(row.symbol, {}).get(key)
            if key in self._open(row) and isinstance(new, str) and new:
                found[str(row.values[key])] = new
        return found

    def _planned(self, row: EventRow) -> dict[str, Any]:
        open_columns = self._open(row)
        return {
            "symbol": row.symbol,
            "table": row.table,
            "keep": {name: value for name, value in row.values.items() if name not in (*open_columns, *row.bindings)},
            "open": {name: row.values[name] for name in open_columns},
            "refers": row.bindings,
        }

    def _open(self, row: EventRow) -> tuple[str, ...]:
        """Give the columns that a model may fill: own keys and words, no states, flags, sums or dates that decide."""
        table = self._samples.schema.get(row.table)
        if table is None:
            return ()
        linked = {name for link in table.references for name in link.columns}
        return tuple(
            column.name
            for column in table.columns
            if isinstance(row.values.get(column.name), str)
            and column.name not in linked
            and not column.values
            and not _DATE.match(row.values[column.name])
            and not (column.name in table.key and self._samples.key_is_borrowed(table))
        )

    def _faults(self, answer: WrittenRows, made: Made) -> list[str]:
        planned = {row.symbol: row for row in made.rows}
        found: list[str] = []
        if sorted(one.symbol for one in answer.rows) != sorted(planned):
            found.append(f"give each of these symbols once: {', '.join(planned)}")
        keys: dict[str, Any] = {}
        rows: list[EventRow] = []
        for one in answer.rows:
            row = planned.get(one.symbol)
            if row is None:
                continue
            if one.table != row.table:
                found.append(f"{one.symbol}: is a row of {row.table}, not of {one.table[:40]}")
                continue
            values = _object(one.values)
            if values is None:
                found.append(f"{one.symbol}: values must be a JSON object")
                continue
            found += self._row_faults(row, values)
            table = self._samples.schema.get(row.table)
            if table is not None and len(table.key) == 1:
                keys[one.symbol] = values.get(table.key[0])
            rows.append(row.model_copy(update={"values": values}))
        for row in rows:
            for column, symbol in row.bindings.items():
                if symbol in keys and row.values.get(column) != keys[symbol]:
                    found.append(f"{row.symbol}.{column}: must hold the key of {symbol}, {keys[symbol]!r}")
        return found or RowChecker(self._ground, self._validators).check(self._carried(answer, made))

    def _row_faults(self, row: EventRow, values: Mapping[str, Any]) -> list[str]:
        free = {*self._open(row), *row.bindings}
        missing = [name for name in row.values if name not in values]
        changed = [
            name for name in row.values if name in values and name not in free and values[name] != row.values[name]
        ]
        emptied = [name for name in self._open(row) if name in values and values[name] in (None, "")]
        return [
            *(f"{row.symbol}: the column {name} is missing" for name in missing),
            *(f"{row.symbol}.{name}: must stay {row.values[name]!r}" for name in changed),
            *(f"{row.symbol}.{name}: must be filled" for name in emptied),
        ]


class ModelNarrator:
    """Words a user with a model: one call, one more where something is at fault."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    async def __call__(
        self, told: Told, policies: Sequence[ExtractedPolicy], tools: Sequence[str], random: Random, *, language: str
    ) -> Told:
        """Give the user in other words; raise `UnusableAnswerError` where they stay at fault."""
        data = dumps({"wishes": list(told.says), "knows": {one.name: one.value for one in told.facts}}, indent=1)

        def worded(one: WrittenUser) -> Told:
            texts = {"persona": one.persona, "goal": one.goal, "says": tuple(one.says)}
            return told.model_copy(update=texts)

        answer = await ask(
            self._chat,
            WrittenUser,
            USER,
            data=data,
            random=random,
            faults=lambda one: [*_said_faults(one, told), *leaks(worded(one), policies, tools)],
            values={"language": _LANGUAGES[language]},
        )
        return worded(answer)


def _said_faults(answer: WrittenUser, told: Told) -> list[str]:
    found = []
    if len(answer.says) != len(told.says):
        found.append(f"says: one message for each of the {len(told.says)} wishes, found {len(answer.says)}")
    if not answer.goal.strip() or not all(text.strip() for text in answer.says):
        found.append("goal and says must not be empty")
    for text, wish in zip(answer.says, told.says, strict=False):
        found += [f"says: {code!r} must stand in the message about it" for code in _codes(wish) if code not in text]
    known = {*(code for wish in told.says for code in _codes(wish)), *(str(one.value) for one in told.facts)}
    for text in (answer.goal, *answer.says):
        found += [f"{code!r} is invented: the user does not know it" for code in _codes(text) if code not in known]
    return list(dict.fromkeys(found))


def _codes(text: str) -> list[str]:
    return [match.rstrip(".,;:!?") for match in _CODE.findall(text)]


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
