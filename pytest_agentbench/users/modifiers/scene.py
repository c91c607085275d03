"""What fitting a modifier to a scenario looks at: what the user knows, what is expected, what the state holds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.scenario import Instructions, Scenario
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.core.values import JsonValue, to_json
from pytest_agentbench.users.kinds import ANY_ID, FREE, kind_of, label_of
from pytest_agentbench.users.known_info import Knowledge, knowledge_of, text_of
from pytest_agentbench.users.modifiers.records import Records, Row
from pytest_agentbench.users.modifiers.spelling import mentions, normal
from pytest_agentbench.users.phrases import Language

IDENTITY = frozenset({"user_id", "customer_id", "account_id", "email", "phone"})
"""Kinds of which one value is enough to find a user."""

BESIDE_NAME = frozenset({"zip", "date_of_birth"})
"""Kinds that find a user together with the name."""

_ADDRESS = frozenset({"zip", "address"})
_NAMES = frozenset({"name", "first_name", "last_name"})


@dataclass(frozen=True)
class Scene:
    """A scenario as modifiers see it; `tools` is None where the agent's tools are not known."""

    scenario: Scenario
    records: Records
    language: Language
    tools: Sequence[ToolSpec] | None = None
    taken: frozenset[str] = frozenset()

    @cached_property
    def view(self) -> View:
        """What the user is told before anything is said."""
        story = self.scenario.task.user_scenario
        told = story.instructions if story else None
        instructions = told if isinstance(told, Instructions) else Instructions(reason_for_call=told)
        return View(
            persona=story.persona if story else None,
            goal=instructions.reason_for_call or "",
            says=self.scenario.lines,
            knows=self.scenario.knows,
            known_info=instructions.known_info or "",
            unknown=self.scenario.unknown,
            task_instructions=instructions.task_instructions or "",
        )

    @cached_property
    def known(self) -> Knowledge:
        """The values that the user knows, by kind."""
        return knowledge_of(self.view)

    @cached_property
    def wishes(self) -> str:
        """The texts that say what the user wants."""
        return "\n".join([self.view.goal, *self.view.says, self.view.task_instructions])

    @cached_property
    def texts(self) -> str:
        """Everything that the user is told, as one text."""
        knows = [text_of(to_json(value)) for value in self.view.knows.values()]
        return "\n".join([self.wishes, self.view.known_info, *knows, *self.view.unknown])

    @cached_property
    def expected(self) -> tuple[tuple[str, JsonValue], ...]:
        """(name, value) of every scalar argument of the expected calls, parts of addresses left out.

        Calls of tools that only read are left out where the tools are known.
        """
        kinds = {tool.name: tool.kind for tool in self.tools or ()}
        calls = [call for call in self.scenario.expected_calls if kinds.get(call.name) != "read"]
        return tuple(pair for call in calls for pair in _scalars("", _unaddressed(call.arguments)))

    @cached_property
    def looked_up(self) -> frozenset[str]:
        """Every value of the expected calls, those that only read included, normalised."""
        return frozenset(self._called)

    @cached_property
    def _called(self) -> dict[str, str]:
        """The name of an argument that each value of the expected calls is given as."""
        calls = self.scenario.expected_calls
        return {normal(value): name for call in calls for name, value in _scalars("", to_json(call.arguments))}

    @cached_property
    def own_rows(self) -> tuple[Row, ...]:
        """The records that hold what identifies the user, and those that refer to one of them by its key."""
        found = self.rows_of(self.clues())
        return (*found, *self.records.referring_to(found))

    def values(self) -> Iterator[tuple[str, str]]:
        """Yield (kind, value) of everything the user knows, what was given as known first, each value once.

        An identifier that no noun names has the kind of the argument that an expected call gives it as.
        """
        seen: set[str] = set()
        for tier in (self.known.told, self.known.implied):
            for kind, found in tier.items():
                for value in found:
                    if normal(value) not in seen and not _is_name(kind):
                        seen.add(normal(value))
                        yield self._kind(kind, value), value

    def _kind(self, kind: str, value: str) -> str:
        named = kind_of(self._called.get(normal(value), "")) if kind == ANY_ID else kind
        return named if named.endswith("_id") else kind

    def clues(self, without: str = "") -> tuple[tuple[str, ...], ...]:
        """Give what identifies the user, each as values that stand in one record together, `without` left out."""
        found: list[tuple[str, ...]] = []
        name = tuple(part for kind in ("first_name", "last_name") for part in self.known.get(kind)[:1]) or ()
        parts = tuple(dict.fromkeys(word for text in name for word in text.split()))
        for kind, value in self.values():
            if normal(value) == normal(without) or normal(value) in self.taken:
                continue
            if kind in IDENTITY:
                found.append((value,))
            elif kind in BESIDE_NAME and len(parts) > 1:
                found.append((*parts, value))
        return tuple(found)

    def rows_of(self, clues: tuple[tuple[str, ...], ...]) -> tuple[Row, ...]:
        """Give the records that hold all values of some clue, by themselves or together with one of the same key."""
        found: dict[Row, None] = {}
        for clue in clues:
            for row in self.records.holding(clue[-1]):
                missing = [value for value in clue if normal(value) not in row.values]
                others = (
                    [other for other in self.records.joined_to(row) if _holds_all(other, missing)] if missing else []
                )
                if not missing or others:
                    found |= dict.fromkeys((row, *others))
        return tuple(found)

    def accepted(self, clue: tuple[str, ...]) -> bool:
        """Tell whether some tool of the agent takes such a clue; yes where the tools are not known."""
        kind = next((kind for kind, value in self.values() if value == clue[-1]), "")
        names = [name for tool in self.tools or () for name in tool.arguments or ()]
        return self.tools is None or any(kind_of(name) == kind for name in names)

    def label(self, kind: str) -> str:
        """Give a kind in the words of the user's language, without a possessive."""
        if kind == ANY_ID:
            return "number" if self.language.code == "en" else "numéro"
        label = self.language.labels.get(kind, label_of(kind))
        first, _, rest = label.partition(" ")
        return rest if first.lower() in {"mon", "ma", "mes", "le", "la"} and rest else label

    def is_told(self, value: JsonValue) -> bool:
        """Tell whether a value is already in the scenario, so that it cannot stand for a wrong one."""
        return normal(value) in self.looked_up or mentions(self.texts, text_of(value)) or normal(value) in self.taken


def _holds_all(row: Row, values: list[str]) -> bool:
    return all(normal(value) in row.values for value in values)


def is_which(kind: str, which: str) -> bool:
    """Tell whether the option `which` names `kind`."""
    return not which or kind_of(which) == kind or kind == FREE + which


def _is_name(kind: str) -> bool:
    return kind in _NAMES


def _unaddressed(value: object) -> JsonValue:
    """Leave out the mappings that are an address: a part of one is no option of its own."""
    plain = to_json(value)
    if isinstance(plain, dict):
        address = any(kind_of(name) in _ADDRESS for name in plain)
        return {} if address else {name: _unaddressed(item) for name, item in plain.items()}
    return [_unaddressed(item) for item in plain] if isinstance(plain, list) else plain


def _scalars(name: str, value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, dict):
        if len(value) == 1 and next(iter(value)).startswith("$"):
            return  # a matcher names no value
        for key, item in value.items():
            yield from _scalars(key, item)
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(name, item)
    elif value is not None and not isinstance(value, bool):
        yield name, value
