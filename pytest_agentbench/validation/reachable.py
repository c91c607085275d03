"""Whether an agent can know what the expected calls say: every argument value is traced to where it comes from.

A value comes from what the user says or knows, from the result of an earlier expected call, from what reads lead to
that start from the former two, from the text of a policy or from the tool's schema; by a rule of `known.py`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_agentbench.checks.findings import value_text
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.json_values import JsonValue, is_number
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.validation.known import MANY, Known, is_date, likely_calls, of_user, way_to
from pytest_agentbench.validation.oracle import Heard, result_of
from pytest_agentbench.validation.scripted_run import ToolBox
from pytest_agentbench.validation.world_values import Columns, leaves, scalars

_SHORT = 2
"""Characters up to which a text is no id."""
_PROSE = 8
"""Words from which a text is no name."""
_MOMENT = re.compile(r"\d{4}-\d{2}(?:-\d{2})?(?:[T ].*)?|\d{1,2}:\d{2}(?::\d{2})?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_ID = re.compile(r"(?:.*[_-])?ids?|.*[a-z](?:Id|ID)s?")
"""Names of arguments that hold ids: `id`, `order_id`, `item_ids`, `orderId`."""
_FIGURES = re.compile(r"[^\W_]*\d[\w.,:/-]*\w|\d")
"""Numbers, dates and codes in a text."""
_AS_SAID = ("said", "same words", "date", "computed")
"""Rules by which a value is said in other words."""
_DEEPEST = 8
"""References that one schema is followed through."""
_ROUNDS = 4
"""Reads in a row from what the user says to a value."""


@dataclass(frozen=True)
class Wanted:
    """One argument value of an expected call."""

    position: int
    tool: str
    path: str
    value: JsonValue
    schema: Mapping[str, JsonValue]

    def __str__(self) -> str:
        return f"{self.tool}({self.path}={value_text(self.value)})"


def wanted(scenario: Scenario, toolset: Toolset) -> Iterator[Wanted]:
    """Give every value that counts of the agent's expected calls; matchers ask for no value in particular."""
    for position, want in enumerate(scenario.expected_calls):
        if want.requestor == "user":
            continue
        spec = toolset.get(want.name)
        root = spec.parameters if spec else {}
        schemas = root.get("properties", {})
        for name in want.compared:
            if holds_matcher(want.arguments[name]):
                continue
            for path, value in leaves(want.arguments[name], name):
                yield Wanted(position, want.name, path, value, _inner(schemas.get(name, {}), root))


class Tracer:
    """Traces the values of one scenario, from what is known at once to what has to be read.

    `count` values are traced, `derived` ones among them counted by rule; `open` are not reached so far. `handed_on` are
    those that stand only in results. `untold` are infos with a figure that a right run is to tell, and that nothing
    leads to.
    """

    def __init__(self, scenario: Scenario, toolset: Toolset, policies: Sequence[Policy], columns: Columns) -> None:
        self._scenario = scenario
        self._toolset = toolset
        self._columns = columns
        self._known, self._user = of_user(scenario), of_user(scenario)
        for policy in policies:
            self._known.add("policies", policy.text)
        for spec in toolset.of("assistant"):
            self._known.add("tool descriptions", spec.description)
        self.count = 0
        self.derived: dict[str, int] = {}
        self.handed_on: list[Wanted] = []
        self.open: list[Wanted] = []
        self.untold = [info for info in scenario.communicate_info if any(map(str.isdigit, info))]

    @property
    def undecided(self) -> list[Wanted]:
        """Numbers and dates that no rule reaches: more than two known numbers, or days counted in words, may do so."""
        return [want for want in self.open if is_number(want.value) or is_date(want.value)]

    @property
    def unreachable(self) -> list[Wanted]:
        """What nothing leads to."""
        return [want for want in self.open if want not in self.undecided]

    @property
    def places(self) -> tuple[str, ...]:
        """Where was looked."""
        return self._known.places

    def hear(self, heard: Sequence[Heard]) -> None:
        """Look every value up in what the user says or knows, and in what the right run heard before its call."""
        asked = list(wanted(self._scenario, self._toolset))
        self.count = len(asked)
        for position in range(len(self._scenario.expected_calls) + 1):
            for one in _heard_before(position, heard):
                self._known.add(result_of(one.call.name), one.result.content, one.call.name)
            self.open += self._not_reached([want for want in asked if want.position == position])
        self._tell()

    async def explore(self, tools: ToolBox) -> None:
        """Read whatever what is known leads to, until every value is reached or nothing new is to be read."""
        made: set[str] = set()
        reads = [spec for spec in self._toolset.of("assistant") if spec.kind == "read"]
        for _ in range(_ROUNDS):
            before = len(made)
            for spec in reads:
                await self._read(spec, tools, made)
                self.open = self._not_reached(self.open)
                self._tell()
                if not (self.open or self.untold):
                    return
            if len(made) == before:
                return

    def _tell(self) -> None:
        """Leave out what is to be told and is known by now."""
        self.untold = [info for info in self.untold if not self._is_known(info)]

    def _is_known(self, info: str) -> bool:
        """Whether a text to be told is known: as a whole, or each of its figures (9 of *9 euros*)."""
        figures = _FIGURES.findall(info)
        ways = (way_to(_as_number(one), {}, self._known) for one in figures)
        return way_to(_as_number(info), {}, self._known) is not None or (len(figures) > 0 and all(ways))

    async def _read(self, spec: ToolSpec, tools: ToolBox, made: set[str]) -> None:
        never = self._scenario.never
        for call in list(likely_calls(spec, (), self._known, self._columns, never=never, most=MANY)):
            mark = f"{call.name} {digest(call.arguments)}"
            if mark in made:
                continue
            made.add(mark)
            result = await tools.call(call)
            if not result.failed:
                self._known.add(result_of(call.name), result.content, call.name)

    def _not_reached(self, asked: Sequence[Wanted]) -> list[Wanted]:
        return [want for want in asked if not self._reached(want)]

    def _reached(self, want: Wanted) -> bool:
        way = way_to(want.value, want.schema, self._known)
        if way is None or way[0] == "constant":
            return way is not None
        rule, place = way
        if rule != "said":
            self.derived[rule] = self.derived.get(rule, 0) + 1
        by_user = way_to(want.value, want.schema, self._user) or ("", "")
        if rule != "count" and place.startswith(result_of("")) and by_user[0] not in _AS_SAID:
            self.handed_on.append(want)
        key = re.split(r"[.\[]", re.sub(r"\[\d+\]", "", want.path))[-1]
        self._known.add(place, want.value, key)  # it may be searched with under its own name
        return True


def _heard_before(position: int, heard: Sequence[Heard]) -> Iterator[Heard]:
    """Give what was heard since the expected call before this one: its result, and what this one needed."""
    return (one for one in heard if one.position == position - 1 or (one.position == position and one.is_needed))


def known_too_much(scenario: Scenario, heard: Sequence[Heard], columns: Columns, toolset: Toolset) -> Iterator[str]:
    """Say which values stand in what the user knows although only a write of the right run produces them.

    Those are values with a digit that the result of a write says, and neither the initial state nor the arguments of
    the call. Where no state can be read nothing is said: a read might have given them.
    """
    user = of_user(scenario)
    for one in heard:
        call, result = one.call, one.result
        spec = toolset.get(call.name, call.requestor)
        if spec is None or spec.kind != "write":
            continue
        given = " ".join(str(value) for _, value in scalars(call.arguments))
        said = Known()
        said.add(result_of(call.name), result.content)
        for text in dict.fromkeys(said.codes()):
            is_new = _is_id(text) and text not in given and not columns.holds(text)
            if is_new and (place := user.place_of(text)):
                yield f"{place} holds {value_text(text)}, which only {call.name} produces"


def unasked(handed_on: Sequence[Wanted]) -> Iterator[str]:
    """Say which values no line, goal or policy states although they say how, when or how much, and not which thing.

    `handed_on` are those that only earlier results hold. `That order` hands on which order is meant; a date, an amount
    or a choice that stands beside it may be asked for in words (`on the same day`), which no code reads.
    """
    for want in handed_on:
        if is_free(want.value, want.schema):
            yield f"does a line ask for {want}? it is only in the answer of an earlier call"


def is_free(value: JsonValue, schema: Mapping[str, JsonValue]) -> bool:
    """Whether a value is no identifier, name or place: a date or time, yes or no, a listed choice, a long text.

    Of numbers those with decimals are: whole ones may say which thing is meant.
    """
    if isinstance(value, bool) or schema.get("enum") or schema.get("format") in ("date", "date-time", "time"):
        return True
    if isinstance(value, str):
        return _MOMENT.fullmatch(value.strip()) is not None or "\n" in value or len(value.split()) >= _PROSE
    return isinstance(value, float) and not value.is_integer()


def unknown_ids(scenario: Scenario, heard: list[Heard], columns: Columns) -> Iterator[str]:
    """Say which values of arguments named as ids no row of the initial state and no earlier result holds."""
    produced = Known()
    for position, want in enumerate(scenario.expected_calls):
        for one in _heard_before(position, heard):
            produced.add(result_of(one.call.name), one.result.content)
        verified = _verified(scenario, position)
        for name in want.compared:
            if holds_matcher(want.arguments[name]) or name in verified:
                continue
            for key, value in scalars(want.arguments[name], name):
                if _ID.fullmatch(key) and not columns.holds(value) and not produced.says(value):
                    shown = value_text(value)
                    yield f"{want.name}: {key} {shown} is in no row of the initial state and no earlier result"


def _verified(scenario: Scenario, position: int) -> frozenset[str]:
    """Give the arguments of a generated call that a real call was made with: their ids may be outside of the state."""
    calls = scenario.provenance.get("calls")
    one = calls[position] if isinstance(calls, list) and position < len(calls) else None
    origins = one.get("arguments") if isinstance(one, dict) else None
    if not isinstance(origins, dict):
        return frozenset()
    return frozenset(
        path.split(".")[0] for path, origin in origins.items() if str(origin).startswith(("pool ", "lookup "))
    )


def _is_id(text: str) -> bool:
    return len(text) > _SHORT and any(char.isdigit() for char in text) and not text.replace(".", "").isdigit()


def _as_number(info: str) -> JsonValue:
    try:
        return float(plain(info))
    except ValueError:
        return info


def _inner(schema: Mapping[str, JsonValue], root: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Give the schema of a value, of a list's items: what it refers to, or the one choice that is not null."""
    for _ in range(_DEEPEST):
        ref, choices, items = schema.get("$ref"), schema.get("anyOf"), schema.get("items")
        some = [one for one in choices if one != {"type": "null"}] if isinstance(choices, list) else []
        found: JsonValue = some[0] if len(some) == 1 else items if schema.get("type") == "array" else None
        if isinstance(ref, str) and ref.startswith("#/"):
            found = root
            for key in ref[2:].split("/"):
                found = found.get(key) if isinstance(found, Mapping) else None
        elif not isinstance(found, Mapping):
            return schema
        is_items = found is items
        beside = {} if is_items else {key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}
        schema = {**(found if isinstance(found, Mapping) else {}), **beside}
    return schema
