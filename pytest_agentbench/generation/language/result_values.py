"""Values that only a call of the conversation makes, such as the number of what it books: a blind critic cannot know
them, and says which of its calls gives them.

`{"from": "book_room", "entry": "booking"}` is such a value; where several calls of one tool come before, `from` is the
place of the call among the critic's writes, from 1 on. It counts as the draft's value where the draft takes its own
from that call's answer, and nowhere else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.core.json_values import JsonValue, same, to_json
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.generation.argument_names import under
from pytest_agentbench.generation.decidable import arguments_of, at_path
from pytest_agentbench.generation.draft import Draft, Origin, PlannedCall
from pytest_agentbench.generation.language.guard import scalars_of, stated
from pytest_agentbench.generation.language.plain import words_of
from pytest_agentbench.generation.solver import plainly
from pytest_agentbench.generation.tools.probing.result_parser import inner

_SHOWN = 80
"""Characters of a value that a fault names."""


def from_nowhere(writes: Sequence[ToolCall], shown: JsonValue, lines: str, language: str) -> Iterator[str]:
    """Name each text among the arguments of several writes that stands nowhere in what the critic was shown, and each
    reference to a call that is not made before.
    """
    if len(writes) < 2:
        return
    known = plain("\n".join(str(one) for one in scalars_of(shown)))
    for at, call in enumerate(writes):
        for name, value in call.arguments.items():
            for one in _parts(to_json(value)):
                if _is_reference(one):
                    if _source(one, writes, at) is None:
                        told = shorten(printable(str(one["from"])), _SHOWN)
                        yield f"{call.name}: {name} is from {told!r}, which is not exactly one call before it"
                elif isinstance(one, str) and plain(one) not in known and not stated(one, lines, language):
                    told = shorten(printable(one), _SHOWN)
                    yield f"{call.name}: {name} {told!r} stands in no line, row or lookup"


def resolved(draft: Draft, writes: Sequence[ToolCall], toolset: Toolset) -> list[ToolCall]:
    """Give writes with the draft's values in the place of references to calls from which the draft takes them, too."""
    found: list[ToolCall] = []
    places: list[int | None] = []
    for at, call in enumerate(writes):
        resolver = _Resolver(draft, writes, at, places)
        place, made = next(
            (
                (number, filled)
                for number, planned in enumerate(draft.calls)
                if planned.call.name == call.name and not planned.fails and number not in places
                if plainly(filled := resolver.filled(call, planned), toolset) == plainly(planned.made, toolset)
            ),
            (None, call),
        )
        places.append(place)
        found.append(made)
    return found


@dataclass(frozen=True)
class _Resolver:
    """Reads the references of write number `at`; `places` are the draft's calls that those before it are."""

    draft: Draft
    writes: Sequence[ToolCall]
    at: int
    places: Sequence[int | None]

    def filled(self, call: ToolCall, planned: PlannedCall) -> ToolCall:
        """Give a write with the values of a planned call where both come from the same call."""
        arguments: dict[str, Any] = {
            name: self._value(to_json(value), planned, (name,)) for name, value in call.arguments.items()
        }
        return call.model_copy(update={"arguments": arguments})

    def _value(self, value: JsonValue, planned: PlannedCall, path: tuple[str, ...]) -> JsonValue:
        if _is_reference(value):
            actual = at_path(to_json(dict(planned.call.arguments)), ".".join(path))
            is_made = len(actual) == 1 and self._gives(value, actual[0], _origin(planned, ".".join(path)))
            return actual[0] if is_made else value
        if isinstance(value, Mapping):
            return {name: self._value(item, planned, (*path, name)) for name, item in value.items()}
        if isinstance(value, list):
            return [self._value(item, planned, (*path, str(place))) for place, item in enumerate(value)]
        return value

    def _gives(self, reference: Mapping[str, JsonValue], actual: JsonValue, origin: Origin | None) -> bool:
        """Whether the call that is referred to gives a value, and the draft has it from there."""
        source = _source(reference, self.writes, self.at)
        place = self.places[source] if source is not None else None
        if place is None or origin is None or origin.source != "result" or origin.call is None:
            return False
        entry = words_of(str(reference["entry"]).split(".")[-1])
        named = list(under(inner(self.draft.calls[place].answer), {entry}))
        if named and not any(same(to_json(one), actual) for one in named):
            return False
        made = self._maker(place, actual)
        return made is not None and made == self._maker(origin.call, actual)

    def _maker(self, number: int, value: JsonValue) -> int | None:
        """Follow a value that a call only gives back to the call that made it; None where the user said it."""
        planned = self.draft.calls[number]
        for path, given in arguments_of(planned):
            if same(to_json(given), value):
                origin = _origin(planned, path)
                earlier = origin.call if origin is not None and origin.source == "result" else None
                return self._maker(earlier, value) if earlier is not None and earlier < number else None
        return number


def _is_reference(value: Any) -> bool:
    return isinstance(value, Mapping) and value.keys() == {"from", "entry"} and isinstance(value["from"], str | int)


def _source(reference: Mapping[str, JsonValue], writes: Sequence[ToolCall], at: int) -> int | None:
    """Give the place of the write before `at` that a reference names, None where it is none or may be several."""
    named = reference["from"]
    if isinstance(named, str):
        places = [place for place, one in enumerate(writes[:at]) if one.name == named]
        return places[0] if len(places) == 1 else None
    return named - 1 if isinstance(named, int) and 0 < named <= at else None


def _origin(planned: PlannedCall, path: str) -> Origin | None:
    parts = path.split(".")
    keys = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((planned.origins[key] for key in keys if key in planned.origins), None)


def _parts(value: JsonValue) -> list[JsonValue]:
    """Give the plain values and the references inside a value."""
    if _is_reference(value) or not isinstance(value, Mapping | list):
        return [value]
    return [one for item in (value.values() if isinstance(value, Mapping) else value) for one in _parts(item)]
