"""What fitting a modifier to a scenario looks at: what the user is told and what is expected, and where that stands."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.core.values import JsonValue, to_json
from pytest_agentbench.users.modifiers.records import Records, Row, is_stated, normal, scalars, squashed

_LEAST = 3
"""Letters or digits from which a value can be told from other words; of both together two are enough."""


@dataclass(frozen=True)
class Told:
    """A value that the user is told, the names that anything has for it, and the records that it tells from others.

    `is_known` tells that it is a key, or stands under what the user knows: of others a goal may say that they change.
    """

    value: JsonValue
    key: str
    names: tuple[str, ...]
    rows: tuple[Row, ...]
    is_known: bool

    @property
    def label(self) -> str:
        """The first name, in words."""
        return self.names[0].replace("_", " ") if self.names else "value"

    def is_called(self, *names: str) -> bool:
        """Whether one of `names` is one of its names."""
        return not set(map(squashed, names)).isdisjoint(map(squashed, self.names))


@dataclass(frozen=True)
class Scene:
    """A scenario as modifiers see it; `tools` is None where the agent's tools are not known.

    `taken` are the values, in normal form, that modifiers before have changed.
    """

    scenario: Scenario
    records: Records
    tools: Sequence[ToolSpec] | None = None
    taken: frozenset[str] = frozenset()

    @cached_property
    def known_info(self) -> str:
        """What the user knows."""
        return self.scenario.instructions.known_info or ""

    @cached_property
    def wishes(self) -> str:
        """The texts that say what the user wants."""
        told, lines = self.scenario.instructions, self.scenario.lines
        return "\n".join(filter(None, (told.reason_for_call, *lines, told.task_instructions)))

    @cached_property
    def called(self) -> tuple[dict[str, tuple[str, JsonValue]], ...]:
        """The (name, value) of every plain argument of each expected call, by the normal form of the value."""
        pairs = (scalars(to_json(call.arguments)) for call in self.scenario.expected_calls)
        return tuple({normal(value): (name, value) for name, value in arguments} for arguments in pairs)

    @cached_property
    def expected(self) -> dict[str, tuple[str, JsonValue]]:
        """The arguments of all expected calls."""
        return {key: pair for arguments in self.called for key, pair in arguments.items()}

    @cached_property
    def told(self) -> tuple[Told, ...]:
        """Every value that the user is told, each once: what it knows by name, then what its texts state.

        Texts are searched for the values of the expected calls and of the state.
        """
        found = {normal(value): (value, name, True) for name, value in scalars(to_json(self.scenario.knows))}
        looked_for = {**self.records.spellings, **{key: value for key, (_, value) in self.expected.items()}}
        text, low = f"{self.wishes}\n{self.known_info}", normal(f"{self.wishes} {self.known_info}")
        for key, value in looked_for.items():
            if key not in found and _is_telling(key) and key in low and is_stated(value, text):
                found[key] = (value, "", is_stated(value, self.known_info))
        return tuple(self._told(key, *one) for key, one in found.items() if _is_telling(key))

    def _told(self, key: str, value: JsonValue, own: str, is_known: bool) -> Told:
        argument, _ = self.expected.get(key, ("", None))
        named = list(filter(None, dict.fromkeys([own, argument])))
        rows = self.records.by_value.get(key, ())
        places = [column for row in rows for column in row.columns(key) if column[-1] != "*"]
        places += [row.table for row in rows if key == row.key and row.table]
        names = dict.fromkeys([*named, *(name for name, _ in Counter(place[-1] for place in places).most_common())])
        found = self.records.identified(value, named)
        return Told(value, key, tuple(names), found, is_known or any(row.key == key for row in found))

    @cached_property
    def matter(self) -> frozenset[Row]:
        """The records that the expected calls name, by keys where there are any, and those beside them."""
        near: set[Row] = set()
        for arguments in self.called:
            found = [(key, row) for key, (name, _) in arguments.items() for row in self.records.identified(key, [name])]
            near |= {row for key, row in found if row.key == key} or {row for _, row in found}
        return frozenset({*near, *(one for row in near for one in self.records.beside(row))})

    @cached_property
    def own(self) -> frozenset[Row]:
        """The records that what the user knows leads to, and those that name one of them."""
        found = self.led_to()
        return frozenset({*found, *(one for row in found for one in self.records.naming(row))})

    def led_to(self, *, without: str = "") -> tuple[Row, ...]:
        """Give the records that the agent finds by what the user knows, `without` left out.

        That is by a value that a tool takes and no other record has, or by all values of an expected call that reads.
        """
        told = {one.key: one for one in self.told if one.is_known and one.key != without}
        taken = None if self.tools is None else [name for tool in self.tools for name in tool.arguments or ()]
        clues = [one for one in told.values() if taken is None or one.is_called(*taken)]
        found = dict.fromkeys(row for one in clues for row in one.rows)
        reads = {tool.name for tool in self.tools or () if tool.kind == "read"}
        for call, arguments in zip(self.scenario.expected_calls, self.called, strict=True):
            if (taken is None or call.name in reads) and arguments and arguments.keys() <= told.keys():
                near = self.records.by_value.get(next(iter(arguments)), ())
                rows = [row for row in near if arguments.keys() <= row.values]
                found |= dict.fromkeys(rows if len(rows) == 1 else ())
        return tuple(found)

    def is_used(self, value: JsonValue) -> bool:
        """Whether a value is in the scenario, has been changed or is too short, so that it cannot stand for another."""
        key = normal(value)
        if key in self.expected or key in self.taken or not _is_telling(key):
            return True
        return any(one.key == key for one in self.told) or is_stated(value, f"{self.wishes}\n{self.known_info}")


def _is_telling(key: str) -> bool:
    return len(key) >= _LEAST or (len(key) == _LEAST - 1 and not key.isalpha() and not key.isdigit())
