"""What flows between tools, as probing saw it: values of results that another tool accepts where made-up ones fail.

Two kinds of evidence, each a named strategy: `by_value` (an argument that takes known values only accepted what an
answer gave), `by_name` (one that takes anything bears a telling name of an answer). Dates, small numbers and words
that recur in a column name nothing, and what only probing put into the service is evidence only where made-up values
are refused.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.tools.data_types import Flow
from pytest_agentbench.generation.tools.graph.name_match import GENERIC, likeness, words
from pytest_agentbench.generation.tools.probing.closed_sets import (
    closed_slots,
    is_about_another,
    knows,
    looks_up,
    unknown_accepted,
    unknown_refused,
)
from pytest_agentbench.generation.tools.probing.result_parser import LISTED, Atom, inner, parsed
from pytest_agentbench.generation.tools.probing.schema_values import declared, described, fits
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeSession
from pytest_agentbench.generation.tools.probing.strategies import as_argument, is_echo, is_specific, is_time

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
_LISTED = 3


@dataclass
class _Spot:
    """A place in a tool's results with its values, and by which call each stood there first in an environment."""

    tool: str
    path: str
    pattern: str
    repeats: bool
    names: tuple[str, ...]
    values: dict[str, Any] = field(default_factory=dict)
    since: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    times: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> frozenset[str]:
        """The words of what the values are called."""
        return frozenset(words(self.names[-1])) if self.names else frozenset()

    @property
    def recurs(self) -> bool:
        """Whether words stand here that recur in one answer, as statuses and kinds do."""
        return self.times.total() >= max(_FEW, _RECURS * len(self.times))

    @property
    def is_catalogue(self) -> bool:
        """Whether one answer lists several words here, each once: what a search may be for, where a status is not."""
        return _LISTED <= len(self.times) == self.times.total()


@dataclass(frozen=True)
class _Fit:
    """What came of the values of a place at an argument: those accepted, as taken and as they stand, and vain ones."""

    taken: list[tuple[Any, Any]]
    vain: list[str]


def flows_of(session: ProbeSession) -> tuple[tuple[Flow, ...], tuple[Flow, ...], tuple[Flow, ...]]:
    """Give what flows between tools, of each pair and argument the places that say it best, what was tried in vain:
    values that one gave, refused by the other where the rest of the call worked, and what only flows from reads that
    give back what they were given.
    """
    closed = closed_slots(session.tools)
    order = {id(record): position for position, record in enumerate(session.records)}
    spots = list(_spots_of(session))
    found: tuple[list[Flow], list[Flow]] = [], []
    unfit: list[Flow] = []
    for tool in session.tools.values():
        for slot in tool.slots:
            if slot.is_open:
                taker = _Taker(session, tool, slot, order, is_closed=(tool.name, slot.path) in closed)
                for spot in (one for one in spots if one.tool != tool.name):
                    fit = taker.fit(spot)
                    if fit.taken and taker.joins(spot, fit):
                        values = tuple(value for value, _ in fit.taken[:_KEPT])
                        found[spot.repeats].append(taker.flow(spot, values, tuple(taker.refused[:_KEPT])))
                    elif fit.vain and not fit.taken and not spot.repeats:
                        unfit.append(taker.flow(spot, (), tuple(fit.vain[:_KEPT])))
    news, repeated = (tuple(sorted(_best(flows), key=_key)) for flows in found)
    known = {_key(flow)[:3] for flow in news}
    return news, tuple(unfit), tuple(flow for flow in repeated if _key(flow)[:3] not in known)


def _key(flow: Flow) -> tuple[str, str, str, str]:
    return flow.source, flow.target, flow.target_path, flow.source_path


def _spots_of(session: ProbeSession) -> Iterator[_Spot]:
    """Give every place with the values that calls gave there; of echoes of what the call was given only references
    that a read gives back in a field of their own, each place of these for itself: an agent may go on from there.
    """
    spots: dict[tuple[str, str, str, bool], _Spot] = {}
    for position, record in enumerate(session.records):
        tool = session.tools[record.tool]
        if not record.ok or tool.takes_away:  # what was taken away is no more
            continue
        for atom in session.atoms(record):
            repeats = is_echo(session, record, atom.value)
            if isinstance(atom.value, bool) or (repeats and not (tool.is_read and _is_shown(atom))):
                continue
            key = (record.tool, atom.path, atom.pattern, repeats)
            spot = spots.setdefault(key, _Spot(*key, atom.names))
            text = dumps(atom.value)
            spot.values.setdefault(text, atom.value)
            spot.since[text].setdefault(record.world, position)
        columns: dict[str, Counter[str]] = defaultdict(Counter)
        for path, value in _cells(parsed(record.answer.content)):
            columns[path][value] += 1
        for path, counted in columns.items():  # of the longest answer
            column = spots.get((record.tool, path, "", False))
            if column is not None and counted.total() > column.times.total():
                column.times = counted
    yield from spots.values()


def _is_shown(atom: Atom) -> bool:
    """Whether a reference is all that stands in a field."""
    return bool(atom.path) and not atom.pattern and is_specific(atom.value)


def _cells(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Give the texts of columns: what stands at one path in the entries of a list."""
    value = inner(value)
    if isinstance(value, dict) and depth < 8:
        for name, item in value.items():
            yield from _cells(item, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(value, list) and depth < 8:
        for item in value[:100]:
            yield from _cells(item, f"{path}.*" if path else "*", depth + 1)
    elif isinstance(value, str) and "*" in path:
        yield path, value


class _Taker:
    """An argument, and what was tried on it: values taken and refused, by environment and order of the calls."""

    def __init__(
        self, session: ProbeSession, tool: ProbedTool, slot: Slot, order: dict[int, int], *, is_closed: bool
    ) -> None:
        self.refused = unknown_refused(tool, slot)
        self._session, self._tool, self._slot = session, tool, slot
        self._is_closed = is_closed
        self._takes_anything = not is_closed and bool(unknown_accepted(tool, slot) or not self.refused)
        self._is_lookup = looks_up(tool, slot)
        self._stated = {str(value) for value in (*declared(slot), *described(slot, tool.spec.description))}
        self._accepted: dict[str, set[int]] = defaultdict(set)
        self._tries: dict[tuple[str, int], list[tuple[int, bool, str]]] = defaultdict(list)
        known = {id(record): record for record in knows(tool, slot) if slot.path in record.values}
        alone = {id(record) for record in tool.failed_alone(slot.path) if not is_about_another(record, slot.path)}
        for record in known.values():
            self._accepted[str(record.values[slot.path])].add(record.world)
        for record in tool.records:
            if id(record) in known or id(record) in alone:
                key = (str(record.values[slot.path]), record.world)
                self._tries[key].append((order[id(record)], id(record) in known, record.rest(slot.path)))

    def fit(self, spot: _Spot) -> _Fit:
        """Try the values of a place against what is known of the argument."""
        taken: list[tuple[Any, Any]] = []
        vain: list[str] = []
        for key, raw in spot.values.items():
            value = as_argument(raw, self._slot)
            if value is None or value == "" or not fits(value, self._slot) or is_time(value):
                continue
            text = str(value)
            if not any(self._is_from(text, *one) for one in spot.since[key].items()) or (
                text in self._stated and self._likeness(spot) < _TELLING
            ):
                if self._was_vain(text, spot.since[key]):
                    vain.append(text)
            elif self._is_closed or not self._is_planted(text, spot, key):
                taken.append((value, raw))
        return _Fit(taken, vain)

    def joins(self, spot: _Spot, fit: _Fit) -> bool:
        """Whether the accepted values of a place show that they flow into the argument."""
        if self._is_closed:
            return self._session.uses("by_value") and self._proves(spot, fit)
        return self._takes_anything and self._session.uses("by_name") and self._is_named(spot, fit)

    def flow(self, spot: _Spot, values: tuple[Any, ...], refused: tuple[Any, ...]) -> Flow:
        """Give the flow from a place into the argument."""
        return Flow(
            source=spot.tool,
            source_path=spot.path,
            pattern=spot.pattern,
            target=self._tool.name,
            target_path=self._slot.path,
            values=values,
            refused=refused,
        )

    def _likeness(self, spot: _Spot) -> float:
        return self._session.likeness(self._slot.path, self._tool.name, spot.names, spot.tool)

    def _is_from(self, text: str, world: int, since: int) -> bool:
        """Whether a value was accepted in an environment where it stood: what was refused there at first was made by
        another call, and what stood there only after it was accepted, and is refused now, is used up.
        """
        tries = self._tries[text, world]
        first = next(((at, rest) for at, is_taken, rest in tries if is_taken), (-1, ""))
        last = max((at for at, is_taken, _ in tries if is_taken), default=-1)
        is_made = any(since < at < first[0] and rest == first[1] for at, is_taken, rest in tries if not is_taken)
        is_used_up = 0 <= last < since and any(at > since for at, is_taken, _ in tries if not is_taken)
        return world in self._accepted[text] and not is_made and not is_used_up

    def _was_vain(self, text: str, since: dict[int, int]) -> bool:
        """Whether a value was never accepted, and refused after it stood somewhere."""
        return not self._accepted[text] and any(
            at > stood for world, stood in since.items() for at, _, _ in self._tries[text, world]
        )

    def _is_planted(self, text: str, spot: _Spot, key: str) -> bool:
        """Whether a text stands at a place only since probing gave it to another tool, in all environments: nobody knew
        it before, or it was given under the place's own name before it stood there.
        """

        def put(world: int, since: int) -> bool:
            inputs = self._session.inputs.get((world, text), ())
            return any(
                one.tool != spot.tool and (one.is_new or (one.at < since and one.name == spot.name)) for one in inputs
            )

        return all(put(world, since) for world, since in spot.since[key].items())

    def _proves(self, spot: _Spot, fit: _Fit) -> bool:
        """Whether accepted values of a place show that an argument which takes known values only takes them from
        there.
        """
        like = self._likeness(spot)
        if self._is_lookup and fit.taken and self._session.names(self._tool, self._slot, spot.tool):
            like = max(like, _CERTAIN)
        specific = any(is_specific(value) for value, _ in fit.taken)
        if len(fit.vain) > len(fit.taken) * (_MIXED if specific else 1):
            return False
        if specific:
            return self._is_lookup or like >= _SIGHT
        several = len(fit.taken) >= 2
        if not any(isinstance(raw, str) for _, raw in fit.taken):
            # a small number is a count, unless it is called as what it is a number of
            if not _NUMBERED & set(words(self._slot.name)) and spot.pattern == "":
                return False
            is_id = bool(_NUMBERED & spot.name) and self._slot.type != "number"
            return like >= _CERTAIN or (is_id and several and not fit.vain)
        if spot.recurs and like < _CERTAIN:
            return False
        if like >= _SIGHT:
            return self._is_lookup or (several and spot.is_catalogue)
        return self._is_lookup and spot.pattern in ("", LISTED) and several and not fit.vain

    def _is_named(self, spot: _Spot, fit: _Fit) -> bool:
        """Whether a result is meant for an argument that takes anything: only names can tell."""
        name = set(words(self._slot.name))
        like = self._likeness(spot)
        if "id" in name:
            return like >= _CERTAIN
        is_text = any(not str(value).isdigit() for value, _ in fit.taken)
        return like >= _TELLING and bool(name - GENERIC) and is_text


def _best(flows: Iterable[Flow]) -> Iterator[Flow]:
    """Keep of each pair of tool and argument the places that say it best: whole values before patterns."""
    groups: dict[tuple[str, str, str], dict[tuple[str, str], Flow]] = defaultdict(dict)
    for flow in flows:
        groups[flow.source, flow.target, flow.target_path].setdefault((flow.source_path, flow.pattern), flow)

    def rank(flow: Flow) -> tuple[float, int, str, str]:
        names = tuple(step for step in flow.source_path.split(".") if step != "*")
        like = likeness(flow.target_path, flow.target, names, flow.source)
        return -like, -len(flow.values), flow.source_path, flow.pattern

    for group in groups.values():
        whole = [flow for flow in group.values() if not flow.pattern]
        yield from sorted(whole or group.values(), key=rank)[:2]
