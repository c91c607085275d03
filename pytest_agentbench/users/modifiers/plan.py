"""Which modifiers fit a scenario, and what each of them comes to there; and what that is told by."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from pytest_agentbench.core.ids import plain_values
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.modifier import ModifierName, ModifierSpec
from pytest_agentbench.core.scenario import ExpectedCall, Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.users.modifiers.applying import Behaviour, Swap, instruction, list_items, without
from pytest_agentbench.users.modifiers.records import (
    Records,
    Row,
    is_stated,
    normal,
    siblings,
    squashed,
)

_LEAST = 3
"""Letters or digits from which a value can be told from other words; of both together two are enough."""


@dataclass(frozen=True)
class Value:
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


class Scene:
    """A scenario as modifiers see it; `tools` is None where the agent's tools are not known.

    `texts` say what the user wants and `known_info` what it knows; `called` holds the (name, value) of every plain
    argument of each expected call by the normal form of the value, and `expected` those of all calls. `values` are
    those that the user is told, each once: what it knows by name, then what its texts state of the values of expected
    calls and of the state. `taken` are the values, in normal form, that modifiers before have changed.
    """

    def __init__(self, scenario: Scenario, records: Records, tools: Sequence[ToolSpec] | None) -> None:
        self.scenario, self.records, self.tools = scenario, records, tools
        self.taken: frozenset[str] = frozenset()
        told = scenario.instructions
        self.known_info = told.known_info or ""
        self.texts = "\n".join(filter(None, (told.reason_for_call, *scenario.lines, told.task_instructions)))
        pairs = [list(plain_values(call.arguments)) for call in scenario.expected_calls]
        self.called = [{normal(value): (name, value) for name, value in arguments} for arguments in pairs]
        self.expected = {key: pair for arguments in self.called for key, pair in arguments.items()}

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The values that the user is told."""
        found = {normal(value): (value, name, True) for name, value in plain_values(self.scenario.knows)}
        looked_for = {**self.records.spellings, **{key: value for key, (_, value) in self.expected.items()}}
        text, low = f"{self.texts}\n{self.known_info}", normal(f"{self.texts} {self.known_info}")
        for key, value in looked_for.items():
            if key not in found and _is_telling(key) and key in low and is_stated(value, text):
                found[key] = (value, "", is_stated(value, self.known_info))
        return tuple(self._value(key, *one) for key, one in found.items() if _is_telling(key))

    def _value(self, key: str, value: JsonValue, own: str, is_known: bool) -> Value:
        named = list(filter(None, dict.fromkeys([own, self.expected.get(key, ("",))[0]])))
        rows = self.records.by_value.get(key, ())
        columns = [column[-1] for row in rows for column in row.columns(key) if column[-1] != "*"]
        columns += [row.table[-1] for row in rows if key == row.key and row.table]
        names = dict.fromkeys([*named, *(name for name, _ in Counter(columns).most_common())])
        found = self.records.identified(value, named)
        return Value(value, key, tuple(names), found, is_known or any(row.key == key for row in found))

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
        known = {one.key: one for one in self.values if one.is_known and one.key != without}
        taken = None if self.tools is None else [name for tool in self.tools for name in tool.arguments or ()]
        clues = [one for one in known.values() if taken is None or one.is_called(*taken)]
        found = dict.fromkeys(row for one in clues for row in one.rows)
        reads = {tool.name for tool in self.tools or () if tool.kind == "read"}
        for call, arguments in zip(self.scenario.expected_calls, self.called, strict=True):
            if (taken is None or call.name in reads) and arguments and arguments.keys() <= known.keys():
                near = self.records.by_value.get(next(iter(arguments)), ())
                rows = [row for row in near if arguments.keys() <= row.values]
                found |= dict.fromkeys(rows if len(rows) == 1 else ())
        return tuple(found)

    def is_used(self, value: JsonValue) -> bool:
        """Whether a value is in the scenario, has been changed or is too short, so that it cannot stand for another."""
        key = normal(value)
        is_held = key in self.expected or key in self.taken or any(one.key == key for one in self.values)
        return is_held or not _is_telling(key) or is_stated(value, f"{self.texts}\n{self.known_info}")

    def free(self, which: str) -> list[Value]:
        """Give the values told that no other modifier changes, those of one name where `which` gives it."""
        return [one for one in self.values if one.key not in self.taken and (not which or one.is_called(which))]

    @property
    def written(self) -> list[tuple[ExpectedCall, str, JsonValue]]:
        """The arguments of the expected calls, those of tools that are known to read only left out."""
        reads = {tool.name for tool in self.tools or () if tool.kind == "read"}
        calls = [call for call in self.scenario.expected_calls if call.name not in reads]
        return [(call, name, value) for call in calls for name, value in plain_values(call.arguments)]


def _is_telling(key: str) -> bool:
    return len(key) >= _LEAST or (len(key) == _LEAST - 1 and not key.isalpha() and not key.isdigit())


_AT = 3
"""The agent's message that is answered with the intent where the suite does not say (tool-to-scenario, Annex A)."""

_NO_STATE = "the initial state cannot be read, so no other value is verified"


def plan(
    specs: Iterable[ModifierSpec],
    scenario: Scenario,
    state: State | Records | None = None,
    *,
    seed: int | Random = 0,
    tools: Sequence[ToolSpec] | None = None,
) -> tuple[tuple[Behaviour, ...], dict[str, str]]:
    """Give the behaviours of a scenario in the order asked for, and why each other modifier does not fit, by name.

    `state` is the initial state, the scenario's own part included (a `Records` may be shared by scenarios of equal
    state); None where it cannot be read. `tools` are the agent's. Equal arguments give equal behaviours; each modifier
    draws on its own, whatever else is asked for, and none touches a value that one before it has changed.
    """
    salt = seed.getrandbits(64) if isinstance(seed, Random) else seed
    scene = Scene(scenario, state if isinstance(state, Records) else Records(state), tools)
    chosen: list[Behaviour] = []
    skipped: dict[str, str] = {}
    changed, intended = frozenset[str](), frozenset[str]()
    for spec in specs:
        before = sum(behaviour.name == spec.name for behaviour in chosen)
        is_intent = spec.name == "adds_intent"
        nth = len(chosen) if is_intent else 0
        rng = Random(f"{salt}/{scenario.id}/{spec.name}/{nth}")  # noqa: S311 - a choice, no secret
        # an intent, told when it is due, would give what another modifier has taken away; intents may share values
        scene.taken = changed if is_intent else changed | intended
        found = "it is asked for twice" if before and not is_intent else _FITS[spec.name](spec, scene, rng)
        if isinstance(found, Behaviour) and found.intent and found.intent in (one.intent for one in chosen):
            found = "it is asked for twice"
        if isinstance(found, str):
            skipped[spec.name] = found
            continue
        chosen.append(found.model_copy(update={"nth": before + 1}))
        changed |= {
            normal(one) for one in (*found.forgets, *(v for swap in found.wrong for v in (swap.first, swap.right)))
        }
        if found.intent:
            intended |= {one.key for one in scene.values if is_stated(one.value, found.intent)}
    return tuple(chosen), skipped


def _forgets_identifier(spec: ModifierSpec, scene: Scene, rng: Random) -> Behaviour | str:
    """Choose an identifier without which the record is still found, and no other; best one that the goal does not name.

    Without a state nothing tells an identifier from a wish, so that its name must be given.
    """
    which = str(spec.options.get("which", ""))
    known = scene.free(which)
    if scene.records:
        known = [one for one in known if one.rows]
        needed = [one for one in known if scene.matter.intersection(one.rows)]
    else:
        needed = [one for one in known if which and one.key in scene.expected]
    if not known:
        return f"the user knows no {which or 'identifier'}"
    if not needed:
        return "no identifier that the user knows is needed by an expected call"
    spare = [one for one in needed if _is_found_without(one, scene) and _can_be_cut(one, scene)]
    if not spare:
        return "nothing else that the user knows leads to what it would forget"
    one = rng.choice([one for one in spare if not is_stated(one.value, scene.texts)] or spare)
    told = instruction("forgets_identifier", label=one.label)
    return Behaviour(name="forgets_identifier", instruction=told, forgets=(str(one.value),), unknown=one.label)


def _is_found_without(one: Value, scene: Scene) -> bool:
    """Tell whether what else the user knows leads to the record that a value tells from others, and to no other."""
    keys = {told.key for told in scene.values} - {one.key}
    if not scene.records:
        return any(arguments and arguments.keys() <= keys for arguments in scene.called)
    found = scene.led_to(without=one.key)
    near = {*found, *(row for via in found for row in scene.records.beside(via))}
    keys -= {normal(value) for _, _, value in scene.written}  # what is to be written does not tell a record
    for row in one.rows:
        rivals = [other for other in near if other.table == row.table and other is not row]
        if row in found or (row in near and all(keys & (row.values - rival.values) for rival in rivals)):
            return True
    return False


def _can_be_cut(one: Value, scene: Scene) -> bool:
    """Tell whether no text of the user states a value any more once it is cut out."""
    return not is_stated(one.value, without(f"{scene.texts}\n{scene.known_info}", str(one.value)))


def _wrong_value_first(spec: ModifierSpec, scene: Scene, rng: Random) -> Behaviour | str:
    """Choose a value of the matter's records that people mistype, and another of its column that is not the user's."""
    if not scene.records:
        return _NO_STATE
    which = str(spec.options.get("which", ""))
    own = scene.own | scene.matter
    held = frozenset[str]().union(*(row.values for row in own))
    known = [one for one in scene.free(which) if one.key in held and _is_mistyped(one)]
    rng.shuffle(known)
    for one in known:
        others = [value for row, value in scene.records.elsewhere(one.value, own) if row not in own]
        others = [value for value in others if normal(value) not in held and not scene.is_used(value)]
        alike = [value for value in others if _outline(value) == _outline(one.value)]
        if others:
            return _swapped("wrong_value_first", one.label, rng.choice(alike or others), one.value)
    if known:
        return "the initial state holds no other value of the kind"
    return f"the user gives no {which}" if which else "the user gives no value that an expected call needs"


def _is_mistyped(one: Value) -> bool:
    """Tell whether a value is a key, or known and no mere word: what is to be chosen nobody mistypes."""
    is_key = any(one.key == row.key for row in one.rows)
    return is_key or (one.is_known and not all(char.isalpha() or char in " .'’-" for char in one.key))


def _outline(value: JsonValue) -> str:
    """Give how letters and digits stand in a value: what is wrong but looks right has the same."""
    return "".join("9" if char.isdigit() else "a" if char.isalpha() else char for char in normal(value))


def _changes_mind(spec: ModifierSpec, scene: Scene, rng: Random) -> Behaviour | str:
    """Choose an argument of an expected write that the user's texts state, and what else it could be."""
    which = str(spec.options.get("which", ""))
    told = {one.key for one in scene.free("")}
    wishes = [
        (call, name, value)
        for call, name, value in scene.written
        if normal(value) in told and is_stated(value, scene.texts) and squashed(which) in ("", squashed(name))
    ]
    if not wishes:
        named = f"the argument {which!r}" if which else "an argument"
        return f"the user's texts state no wish that is {named} of an expected call"
    rng.shuffle(wishes)
    for call, name, value in wishes:
        others = dict.fromkeys(str(one) for one in _options(call, name, value, scene) if not scene.is_used(one))
        if others:
            return _swapped("changes_mind", name.replace("_", " "), rng.choice(list(others)), value)
    return "nothing shows another option that the record can have" if scene.records else _NO_STATE


def _options(call: ExpectedCall, name: str, value: JsonValue, scene: Scene) -> Iterator[JsonValue]:
    """Yield what an argument may be instead, by the first of these that says anything.

    The tool's own list, without what the record has that the call names; what stands beside the value in its record;
    what the user's other records have in its column. Another record must fit all expected calls that name the first.
    """
    records, key = scene.records, normal(value)
    schemas = [tool.parameters for tool in scene.tools or () if tool.name == call.name]
    if listed := [one for schema in schemas for one in _listed(to_json(schema), name)]:
        others = {normal(one) for _, one in plain_values(call.arguments)} - {key}
        has = {held for one in others for row in records.identified(one) for held in row.values}
        yield from (one for one in listed if normal(one) not in has)
        return
    rows = [row for row in records.by_value.get(key, ()) if row in scene.own | scene.matter]
    beside = [one for row in rows for one in siblings(value, row.content)]
    named = {one for arguments in scene.called if key in arguments for one in arguments} - {key}
    keyed = [row for row in rows if row.key == key]
    for other in beside or [one for row, one in records.elsewhere(value, rows, name) if row in scene.own]:
        rivals = [row for row in records.identified(other) if row.key == normal(other)]
        if all(any(_can_stand_for(rival, row, named, records) for rival in rivals) for row in keyed):
            yield other


def _can_stand_for(rival: Row, row: Row, named: set[str], records: Records) -> bool:
    """Tell whether expected calls may name one record instead of another of its table.

    What else they name of the first must be of the second, too: its parts, and what records hold that name it. Words
    that many records have, such as a status, must be the same.
    """
    if rival.table != row.table or records.kind(row) != records.kind(rival):
        return False
    held, others = ({*one.parts, *(v for by in records.naming(one) for v in by.values)} for one in (row, rival))
    return named & held <= others


def _listed(schema: JsonValue, name: str) -> Iterator[JsonValue]:
    """Yield what a schema lists for a property, wherever in it that stands."""
    if isinstance(schema, dict):
        properties = schema.get("properties")
        found = properties.get(name) if isinstance(properties, dict) else None
        for part in (found, found.get("items")) if isinstance(found, dict) else ():
            yield from (one for _, one in plain_values(part.get("enum") or [] if isinstance(part, dict) else []))
    for item in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _listed(item, name)


def _swapped(name: ModifierName, label: str, first: JsonValue, right: JsonValue) -> Behaviour:
    swap = Swap(label=label, first=_as_said(first), right=_as_said(right))
    return Behaviour(name=name, instruction=instruction(name, **swap.model_dump()), wrong=(swap,))


def _as_said(value: JsonValue) -> str:
    """Give a value as a person says it: names of options without underscores, codes as they are."""
    return str(value) if any(map(str.isdigit, str(value))) else str(value).replace("_", " ")


def _adds_intent(spec: ModifierSpec, scene: Scene, rng: Random) -> Behaviour | str:  # noqa: ARG001 - all fits take one
    """Take the intent of the options, else hold back the last of several, or say why there is none."""
    intent, held_back = str(spec.options.get("intent", "")).strip(), ""
    if not intent:
        asked = [line.text for line in scene.scenario.says if line.act in ("request", "ask")]
        listed = list_items(scene.scenario.instructions.reason_for_call or "")
        several = asked if len(asked) > 1 else listed
        if len(several) < 2:
            return "the scenario lists one intent, and the modifier states no other"
        intent = held_back = several[-1]
    if any(is_stated(one, intent) for one in scene.taken):
        return "the intent states a value that another modifier changes"
    told, at = instruction("adds_intent", intent=intent), int(spec.options.get("at", _AT))
    return Behaviour(name="adds_intent", instruction=told, intent=intent, held_back=held_back, from_message=at)


def _impatient(spec: ModifierSpec, scene: Scene, rng: Random) -> Behaviour | str:  # noqa: ARG001 - as above
    return Behaviour(name="impatient", instruction=instruction("impatient"))


def _out_of_scope(spec: ModifierSpec, scene: Scene, rng: Random) -> Behaviour | str:  # noqa: ARG001 - as above
    ask = str(spec.options.get("ask", "")).strip()
    told = instruction("out_of_scope", ask=f': "{ask}"' if ask else "")
    return Behaviour(name="out_of_scope", instruction=told, ask=ask)


_FITS: dict[ModifierName, Callable[[ModifierSpec, Scene, Random], Behaviour | str]] = {
    "forgets_identifier": _forgets_identifier,
    "wrong_value_first": _wrong_value_first,
    "changes_mind": _changes_mind,
    "adds_intent": _adds_intent,
    "impatient": _impatient,
    "out_of_scope": _out_of_scope,
}
