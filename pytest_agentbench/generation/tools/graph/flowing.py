"""What flows between tools, as probing saw it: values of results that another tool accepts where made-up ones fail.

Three kinds of evidence, each a named strategy: `by_value` (an argument that takes known values only accepted what an
answer gave), `by_name` (one that takes anything bears a telling name of an answer), `making` (a name was unknown before
a call, and known after it). Dates, small numbers and words that recur in a column name nothing, and what only probing
put into the service is evidence only where made-up values are refused.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.tools.graph.names import GENERIC, likeness, nouns, words
from pytest_agentbench.generation.tools.probing.closed import (
    Closed,
    closed_slots,
    is_about_another,
    knows,
    looks_up,
    unknown_accepted,
    unknown_refused,
)
from pytest_agentbench.generation.tools.probing.conforming import declared, described, fits
from pytest_agentbench.generation.tools.probing.reading import LISTED, inner, parsed
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord, ProbeSession
from pytest_agentbench.generation.tools.probing.strategies import as_argument, is_echo, is_specific, is_time
from pytest_agentbench.generation.tools.values import Enabling, Flow

_CERTAIN = 0.8
"""Likeness of names from which a small number that was accepted is no count that happens to be one that is known."""
_TELLING = 0.9
_SIGHT = 0.5
_MIXED = 4
"""Values refused for one accepted where a place holds things of several kinds, as a folder holds files and folders."""
_KEPT = 5
"""Values that a flow keeps as its evidence."""
_NUMBERED = frozenset({"id", "number", "key", "code", "index", "reference"})
"""Words of names by which a small number tells one thing from others; without them it is a count."""
_RECURS = 2
"""Times that each word of a column stands there on average, from which it is a status, and no name."""
_FEW = 4


@dataclass
class _Spot:
    """A place in a tool's results with its values, and by which call each stood there first in an environment."""

    tool: str
    path: str
    pattern: str
    names: tuple[str, ...]
    values: dict[str, Any] = field(default_factory=dict)
    since: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    times: Counter[str] = field(default_factory=Counter)

    @property
    def recurs(self) -> bool:
        """Whether words stand here that recur in one answer, as statuses and kinds do."""
        total = sum(self.times.values())
        return total >= _FEW and total >= _RECURS * len(self.times)


def flows_of(session: ProbeSession) -> tuple[Flow, ...]:
    """Give what flows between tools, of each pair and argument the places that say it best."""
    makes = {(maker, path) for maker, path, _, _ in session.made}
    closed = closed_slots(session.tools) - makes
    spots = list(_spots_of(session))
    order = {id(record): position for position, record in enumerate(session.records)}
    found: list[Flow] = []
    for tool in session.tools.values():
        for slot in tool.slots:
            if slot.type not in ("boolean", "object", "array") and not slot.schema.get("enum"):
                found += _into(session, tool, slot, spots, closed=closed, order=order)
    for way, names in session.made.items():
        several = tuple(names[:_KEPT])
        found.append(_named_flow(way, values=several, refused=several))
    return tuple(sorted(_best(found), key=lambda one: (one.source, one.target, one.target_path, one.source_path)))


def _spots_of(session: ProbeSession) -> Iterator[_Spot]:
    """Give every place with the values that calls gave there: no echoes of what the call was given."""
    spots: dict[tuple[str, str, str], _Spot] = {}
    for position, record in enumerate(session.records):
        if not record.ok or session.tools[record.tool].takes_away:  # what was taken away is no more
            continue
        for atom in session.atoms(record):
            if isinstance(atom.value, bool) or is_echo(session, record, atom.value):
                continue
            key = (record.tool, atom.path, atom.pattern)
            spot = spots.setdefault(key, _Spot(*key, atom.names))
            text = dumps(atom.value)
            spot.values.setdefault(text, atom.value)
            spot.since[text].setdefault(record.world, position)
        _count(record, spots)
    yield from spots.values()


def _count(record: ProbeRecord, spots: dict[tuple[str, str, str], _Spot]) -> None:
    """Count how often each word stands in a column of the longest answer."""
    columns: dict[str, Counter[str]] = defaultdict(Counter)
    for path, value in _cells(record.answer.content):
        columns[path][value] += 1
    for path, counted in columns.items():
        spot = spots.get((record.tool, path, ""))
        if spot is not None and sum(counted.values()) > sum(spot.times.values()):
            spot.times = counted


def _cells(content: str) -> Iterator[tuple[str, str]]:
    def walk(value: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
        value = inner(value)
        if isinstance(value, dict) and depth < 8:
            for name, item in value.items():
                yield from walk(item, f"{path}.{name}" if path else str(name), depth + 1)
        elif isinstance(value, list) and depth < 8:
            for item in value[:100]:
                yield from walk(item, f"{path}.*" if path else "*", depth + 1)
        elif isinstance(value, str) and "*" in path:
            yield path, value

    yield from walk(parsed(content), "", 0)


class _Tried:
    """What was tried on an argument: values accepted and refused, by environment and order of the calls."""

    def __init__(self, tool: ProbedTool, slot: Slot, order: dict[int, int]) -> None:
        self.accepted: dict[str, set[int]] = defaultdict(set)
        self.refused_last: dict[tuple[str, int], int] = {}
        self.refused_first: dict[tuple[str, int], int] = {}
        self.taken_first: dict[tuple[str, int], int] = {}
        self.stated = {str(value) for value in (*declared(slot), *described(slot, tool.spec.description))}
        rests = set()
        known = knows(tool, slot)
        is_known = set(map(id, known))
        for record in known:
            rests.add(record.rest(slot.path))
            if slot.path in record.values:
                self.accepted[str(record.values[slot.path])].add(record.world)
        for record in tool.records:
            if slot.path not in record.values or record.verdict == "environment":
                continue
            key = (str(record.values[slot.path]), record.world)
            if id(record) in is_known:
                self.taken_first.setdefault(key, order[id(record)])
            elif not is_about_another(record, slot.path):
                self.refused_last[key] = order[id(record)]
                if record.rest(slot.path) in rests:
                    self.refused_first.setdefault(key, order[id(record)])

    def is_from(self, text: str, world: int, since: int) -> bool:
        """Whether a value was accepted in an environment where it stood: what was refused there at first was made by
        another call.
        """
        if world not in self.accepted.get(text, ()):
            return False
        return not since < self.refused_first.get((text, world), -1) < self.taken_first.get((text, world), -1)

    def was_vain(self, text: str, since: dict[int, int]) -> bool:
        """Whether a value was never accepted, and refused after it stood somewhere."""
        is_refused = any(self.refused_last.get((text, world), -1) > at for world, at in since.items())
        return text not in self.accepted and is_refused


def _into(
    session: ProbeSession,
    tool: ProbedTool,
    slot: Slot,
    spots: list[_Spot],
    *,
    closed: Closed,
    order: dict[int, int],
) -> Iterator[Flow]:
    is_closed = (tool.name, slot.path) in closed
    refused = unknown_refused(tool, slot)
    tried = _Tried(tool, slot, order)
    takes_anything = not is_closed and bool(unknown_accepted(tool, slot) or not refused)
    for spot in (one for one in spots if one.tool != tool.name):
        like = session.likeness(slot.path, tool.name, spot.names, spot.tool)
        found, vain = _fitting(session, tried, slot, spot, is_closed=is_closed, like=like)
        fitting = [value for value, _ in found]
        if not fitting:
            continue
        if is_closed:
            counts = not any(isinstance(raw, str) for _, raw in found)  # what counts is given as a number
            joins = session.uses("by_value") and _proves(
                spot, slot, fitting, vain=vain, like=like, is_lookup=looks_up(tool, slot), counts=counts
            )
        else:
            is_named = session.uses("by_name") and _is_named(slot, fitting, like)
            joins = takes_anything and (is_named or (session.uses("by_mention") and _is_mentioned(spot, slot)))
        if joins:
            yield Flow(
                source=spot.tool,
                source_path=spot.path,
                pattern=spot.pattern,
                target=tool.name,
                target_path=slot.path,
                values=tuple(fitting[:_KEPT]),
                refused=tuple(refused[:_KEPT]),
            )


def _fitting(
    session: ProbeSession, tried: _Tried, slot: Slot, spot: _Spot, *, is_closed: bool, like: float
) -> tuple[list[tuple[Any, Any]], int]:
    """Give the values of a place that were accepted, each also as it stands there, and how many were tried in vain."""
    found: list[tuple[Any, Any]] = []
    vain = 0
    for key, raw in spot.values.items():
        value = as_argument(raw, slot)
        if value is None or value == "" or not fits(value, slot) or is_time(value):
            continue
        text = str(value)
        is_from = any(tried.is_from(text, world, since) for world, since in spot.since[key].items())
        if not is_from or (text in tried.stated and like < _TELLING):
            vain += tried.was_vain(text, spot.since[key])
        elif is_closed or not _is_planted(session, text, spot, key):
            found.append((value, raw))
    return found, vain


def _is_planted(session: ProbeSession, text: str, spot: _Spot, key: str) -> bool:
    """Whether a text stands at a place only since probing gave it to another tool, in all environments: nobody knew it
    before, or it was given under the place's own name before it stood there.
    """
    name = words(spot.names[-1] if spot.names else "")

    def put(world: int, since: int) -> bool:
        given = session.given.get(world, {}).get(text, {})
        is_put = any(
            tool != spot.tool and at < since and words(path.rpartition(".")[2]) == name
            for (tool, path), at in given.items()
        )
        return is_put or session.planted.get(world, {}).get(text, spot.tool) != spot.tool

    return all(put(world, since) for world, since in spot.since[key].items())


def _proves(
    spot: _Spot, slot: Slot, fitting: list[Any], *, vain: int, like: float, is_lookup: bool, counts: bool
) -> bool:
    """Whether accepted values of a place show that an argument which takes known values only takes them from there."""
    specific = [value for value in fitting if is_specific(value)]
    if vain > len(fitting) * (_MIXED if specific else 1):
        return False
    if specific:
        return is_lookup or like >= _SIGHT
    if counts:  # a small number is a count, unless it is called as what it is a number of
        if not _NUMBERED & set(words(slot.name)) and spot.pattern == "":
            return False
        is_id = bool(_NUMBERED & set(words(spot.names[-1] if spot.names else "")))
        return like >= _CERTAIN or (is_id and len(fitting) >= 2 and not vain and slot.type != "number")
    if spot.recurs and like < _CERTAIN:
        return False
    if like >= _SIGHT:
        return is_lookup or len(fitting) >= 2
    return is_lookup and spot.pattern in ("", LISTED) and len(fitting) >= 2 and not vain


def _is_named(slot: Slot, fitting: list[Any], like: float) -> bool:
    """Whether a result is meant for an argument that takes anything: only names can tell."""
    name = set(words(slot.name))
    if "id" in name:
        return like >= _CERTAIN
    return like >= _TELLING and bool(name - GENERIC) and any(not str(value).isdigit() for value in fitting)


def _is_mentioned(spot: _Spot, slot: Slot) -> bool:
    """Whether an argument's description names what a place holds: `name of the entity` for `entities.*.name`."""
    head = set(words(spot.names[-1] if spot.names else "")[-1:])
    about = nouns(*spot.names[:-1]) or nouns(spot.tool)
    said = set(words(slot.described))
    return bool(head & {"name", "id", "key", "code", "number"}) and head <= said and bool(about & said)


def _best(flows: Iterable[Flow]) -> Iterator[Flow]:
    """Keep of each pair of tool and argument the places that say it best: whole values before patterns."""
    groups: dict[tuple[str, str, str], dict[tuple[str, str, str], Flow]] = defaultdict(dict)
    for flow in flows:
        place = (flow.source_path, flow.pattern, flow.origin)
        groups[flow.source, flow.target, flow.target_path].setdefault(place, flow)
    for several in groups.values():
        group = list(several.values())
        result = [flow for flow in group if flow.origin == "result"]
        whole = [flow for flow in result if not flow.pattern]
        chosen = whole or result or group

        def fit(flow: Flow) -> tuple[float, int, str, str]:
            names = tuple(step for step in flow.source_path.split(".") if step != "*")
            like = likeness(flow.target_path, flow.target, names, flow.source)
            return -like, -len(flow.values), flow.source_path, flow.pattern

        yield from sorted(chosen, key=fit)[:2]


def unfit_of(session: ProbeSession) -> tuple[Flow, ...]:
    """Give what was tried between tools in vain: values that one gave, refused by the other where the rest worked."""
    found: list[Flow] = []
    order = {id(record): position for position, record in enumerate(session.records)}
    spots = list(_spots_of(session))
    for tool in session.tools.values():
        for slot in tool.slots:
            since: dict[str, int] = {}
            for record in tool.worked():
                since.setdefault(record.rest(slot.path), record.epoch)
            tried = [
                (str(record.values[slot.path]), record.world, order[id(record)], record.ok)
                for record in tool.records
                if slot.path in record.values
                and (
                    record.ok
                    or (
                        record.verdict in ("refused", "broken", "empty")
                        and not is_about_another(record, slot.path)
                        and record.epoch >= since.get(record.rest(slot.path), record.epoch + 1)
                    )
                )
            ]
            if not any(not is_ok for *_, is_ok in tried):
                continue
            for spot in spots:
                if spot.tool == tool.name:
                    continue
                stood = {str(as_argument(raw, slot)): spot.since[key] for key, raw in spot.values.items()}
                outcomes = [
                    (text, is_ok)
                    for text, world, position, is_ok in tried
                    if position > stood.get(text, {}).get(world, position)
                ]
                vain = [text for text, is_ok in outcomes if not is_ok]
                if vain and not any(is_ok for _, is_ok in outcomes):
                    found.append(
                        Flow(
                            source=spot.tool,
                            source_path=spot.path,
                            pattern=spot.pattern,
                            target=tool.name,
                            target_path=slot.path,
                            refused=tuple(dict.fromkeys(vain))[:_KEPT],
                        )
                    )
    for way, names in session.made_in_vain.items():
        if way not in session.made:
            found.append(_named_flow(way, refused=tuple(names[:_KEPT])))
    return tuple(found)


def _named_flow(way: tuple[str, str, str, str], *, values: tuple[Any, ...] = (), refused: tuple[Any, ...] = ()) -> Flow:
    """Give the flow of a name that one tool was given and another takes: `way` is maker, path, taker, argument."""
    maker, path, taker, into = way
    return Flow(
        source=maker,
        source_path=path,
        origin="argument",
        target=taker,
        target_path=into,
        values=values,
        refused=refused,
    )


def enablings_of(session: ProbeSession) -> tuple[Enabling, ...]:
    """Give calls that were refused in a fresh environment, and accepted there after one other tool alone wrote."""
    return tuple(
        Enabling(source=source, target=target, reason=f"refused before ({said}), accepted after")
        for (source, target), said in sorted(session.enabled.items())
    )
