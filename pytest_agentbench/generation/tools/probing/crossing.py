"""Handing values on for real: what other tools give now, and what they make under a name, tried where it may belong.

Where the environment opens anew, each tool that changes something is tried in a fresh one in which everything that
worked was done again, so that the values of other tools stand for things that are there.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from random import Random
from typing import Any

from pytest_agentbench.generation.tools.graph.flowing import flows_of, unfit_of
from pytest_agentbench.generation.tools.graph.meanings import ASKS, is_called, is_meant, shape
from pytest_agentbench.generation.tools.graph.names import words
from pytest_agentbench.generation.tools.graph.taxonomy import typed_flows
from pytest_agentbench.generation.tools.probing.candidates import declared, fits, sibling
from pytest_agentbench.generation.tools.probing.laboratory import Laboratory, Subject, Trial
from pytest_agentbench.generation.tools.probing.observed import Seen, as_argument, is_echo, is_specific, own_values
from pytest_agentbench.generation.tools.probing.offering import MORE, NAMED, TRIES, one_a_place, seconds_first
from pytest_agentbench.generation.tools.probing.reading import LISTED, Atom
from pytest_agentbench.generation.tools.probing.replaying import Script
from pytest_agentbench.generation.tools.probing.schemas import Slot, build
from pytest_agentbench.generation.tools.probing.strangers import EXISTS, strangers_refused
from pytest_agentbench.generation.tools.values import Cards, Flow

_FORMATS = 4
"""Forms of an answer that are asked for."""
_TWICE = 2
"""Values of a place that are no identifiers by their look, after which it is no chance that they are accepted."""
_CONFIRMED = 2
"""Values of a place that are tried on an argument that takes those of another place of the same type."""
_TAKEN = 3
"""Refusals of values since they exist, after which an argument is known to name what is not there yet."""
_NEW = frozenset({"name", "title", "label", "branch", "key", "slug", "destination", "target", "new", "path", "file"})
"""What arguments are called under which something new is made, or goes to."""


async def cross(script: Script, subjects: Sequence[Subject], sources: Collection[str] | None = None) -> None:
    """Try on each argument of these tools what the others give, or those named: what its name suggests, then what looks
    alike.
    """
    script.refill()
    await script.restore()
    seen = await _alive(script, sources)
    for subject in subjects:
        if subject.is_read and subject.base is not None:
            await _Hands(script, subject, sources).try_all(seen)
    for subject in subjects:
        if subject.is_read or subject.base is None:
            continue
        if await _prepared(script, subject):
            seen = await _alive(script, sources)
        await _Hands(script, subject, sources).try_all(seen)


async def _prepared(script: Script, subject: Subject) -> bool:
    """Go to an environment in which a tool's call works: where all was done, else the one that it first did in."""
    if subject.is_read or subject.base is None:
        return await script.restore()
    if not subject.once and await script.restore():
        again = await script.lab.replay(subject, subject.base.arguments)
        if again is not None and again.ok:
            return True
    return await script.restore(before=subject)


async def _alive(script: Script, sources: Collection[str] | None) -> list[tuple[Trial, Atom]]:
    """Give what tools give now: reads are asked again; where nothing can be done again, what they gave before."""
    lab = script.lab
    if not script.can_restore or all(subject.is_read for subject in lab.subjects.values()):  # all worlds are one
        return [(trial, atom) for trial, atom in lab.seen if sources is None or trial.tool in sources]
    for subject in lab.subjects.values():
        if subject.is_read and subject.base is not None and (sources is None or subject.name in sources):
            for values in _in_each_format(subject, subject.base):
                await lab.replay(subject, build(values))
    now = [trial for trial in lab.trials if trial.ok and trial.world == lab.world_number]
    return [(one, atom) for one in now if sources is None or one.tool in sources for atom in lab.atoms(one)]


async def confirm(script: Script, subjects: Sequence[Subject]) -> None:
    """Try what follows from what flows, and was not tried: two tools take from one place, so each may from the other's.

    What is refused then is no edge, though the types are the same.
    """
    lab = script.lab
    script.refill()
    flows = flows_of(lab)
    known = {(flow.source, flow.target, flow.target_path) for flow in (*flows, *unfit_of(lab))}
    open_: dict[tuple[str, str], list[Flow]] = defaultdict(list)
    for several in typed_flows(Cards(flows=flows)).values():
        places = {(one.source, one.source_path, one.pattern, one.origin): one for one in several}
        for target, path in {(one.target, one.target_path) for one in several}:
            open_[target, path] += [
                one for one in places.values() if one.source != target and (one.source, target, path) not in known
            ]
    for subject in subjects:
        slots = [slot for slot in subject.slots if open_.get((subject.name, slot.path))]
        if subject.base is None or not slots:
            continue
        await _prepared(script, subject)
        seen = await _alive(script, None)
        for slot in slots:
            wanted = sorted(open_[subject.name, slot.path], key=lambda one: (one.source, one.source_path, one.pattern))
            await _Hands(script, subject, None).confirm(slot, wanted, seen)


def _in_each_format(subject: Subject, base: Trial) -> Iterator[dict[str, Any]]:
    """Give the call that works, and the same in each form that a tool can answer in: some hold what others do not."""
    yield base.values
    for slot in subject.slots:
        if {"format", "output", "detailed", "verbose"} & set(words(slot.name)):
            stated = [True] if slot.type == "boolean" else declared(slot)
            for value in stated[:_FORMATS]:
                if value != base.values.get(slot.path):
                    yield {**base.values, slot.path: value}


class _Hands:
    """Hands values on to one tool, within its budget."""

    def __init__(self, script: Script, subject: Subject, sources: Collection[str] | None) -> None:
        self._script = script
        self._lab = script.lab
        self._subject = subject
        self._sources = sources
        self._most = len(subject.trials) + script.lab.budget.observed

    async def try_all(self, seen: Sequence[tuple[Trial, Atom]]) -> None:
        """Try on every argument what each tool offers."""
        for slot in self._subject.slots:
            if slot.type in ("boolean", "object", "array") or slot.schema.get("enum"):
                continue
            done: set[str] = set()
            while await self._try_slot(slot, seen, done):
                if not await self._script.restore(before=self._subject):
                    break
                seen = await _alive(self._script, self._sources)

    async def _try_slot(self, slot: Slot, seen: Sequence[tuple[Trial, Atom]], done: set[str]) -> bool:
        """Try what tools offer that are not `done`; give whether to go on in a fresh environment."""
        taken = 0
        for several in _worth_trying(self._lab, self._subject, slot, seen):
            source = several[0].trial.tool
            here = (one for one in self._subject.gives() if one.world == self._lab.world_number)
            accepted = {str(one.values.get(slot.path)) for one in here}
            hits: Counter[tuple[str, str]] = Counter()
            if source in done or any(str(one.value) in accepted for one in several[:TRIES] if is_specific(one.value)):
                continue
            for one in seconds_first(several, hits):
                if not self._lab.may_call(self._subject, self._most) or taken >= _TAKEN:
                    return False
                trial = await self._hand_on(slot, one)
                if trial is not None and trial.ok:
                    done.add(source)
                    if self._subject.once:
                        return True
                    place = (one.atom.path, one.atom.pattern)
                    hits[place] += 1
                    if one.likeness < 0.5 and (is_specific(one.value) or hits[place] >= _TWICE):
                        break
                taken += trial is not None and bool(EXISTS.search(trial.judged.reason))
            done.add(source)
        return False

    async def confirm(self, slot: Slot, wanted: Sequence[Flow], seen: Sequence[tuple[Trial, Atom]]) -> None:
        """Try a value or two of each of these places on an argument."""
        for flow in wanted:
            values = list(_standing(self._lab, flow, slot, seen))[:_CONFIRMED]
            for one in values:
                if not self._lab.may_call(self._subject, self._most):
                    return
                trial = await self._hand_on(slot, one)
                if trial is not None and trial.ok:
                    if self._subject.once:
                        return
                    break

    async def _hand_on(self, slot: Slot, one: Seen) -> Trial | None:
        subject, lab = self._subject, self._lab
        base = subject.base.values if subject.base is not None else {}
        values = {**base, slot.path: one.value, **_companions(lab, subject, slot, one)}
        trial = await lab.try_values(subject, values, "observed")
        if trial is None or trial.ok or not EXISTS.search(trial.judged.reason) or not lab.may_call(subject, self._most):
            return trial
        chance = Random(f"{subject.name} {slot.path} {one.value}")  # noqa: S311 - no secret hangs on it
        for other in subject.slots:  # the name that it makes something under is taken by now
            if other.path != slot.path and other.path in base and set(words(other.name)) & _NEW:
                values[other.path] = sibling(base[other.path], chance)
        return await lab.try_values(subject, values, "observed")


def _standing(lab: Laboratory, flow: Flow, slot: Slot, seen: Sequence[tuple[Trial, Atom]]) -> Iterator[Seen]:
    """Give what stands at the place that a flow comes from, each value once."""
    found: dict[str, Seen] = {}
    if flow.origin == "argument":
        for trial in lab.trials:
            if trial.ok and trial.tool == flow.source and trial.world == lab.world_number:
                value = as_argument(trial.values.get(flow.source_path), slot)
                if value is not None:
                    found.setdefault(str(value), Seen(value, trial, Atom(value, flow.source_path), 0.5))
    else:
        for trial, atom in seen:
            if (trial.tool, atom.path, atom.pattern) == (flow.source, flow.source_path, flow.pattern):
                value = as_argument(atom.value, slot)
                if value is not None and fits(value, slot):
                    found.setdefault(str(value), Seen(value, trial, atom, 0.5))
    yield from found.values()


def _worth_trying(
    lab: Laboratory, subject: Subject, slot: Slot, seen: Sequence[tuple[Trial, Atom]]
) -> Iterator[list[Seen]]:
    """Give what one tool after the other offers for an argument: by its name, or, where strangers fail, by its look."""
    is_closed = bool(strangers_refused(subject, slot))
    asks = bool(set(words(slot.name)[-1:]) & ASKS)
    shapes = {shape(trial.values[slot.path]) for trial in subject.gives() if slot.path in trial.values}
    ranked: dict[str, dict[str, Seen]] = defaultdict(dict)
    rank: dict[tuple[str, str, str], float] = {}
    for one in _offered(lab, subject, slot, seen):
        names = one.atom.names
        worth = one.likeness
        if worth < 0.5 and is_meant(names, one.trial.tool, slot):
            worth = 0.5
        if worth < 0.5 and is_closed:
            worth = max(worth, 0.4 * (shape(one.value) in shapes) + 0.2 * is_specific(one.value))
            worth = max(worth, 0.3 * (asks and is_called(names)), 0.1 * (one.atom.pattern == LISTED))
        if worth < (0.1 if is_closed else 0.5):
            continue
        place = (one.trial.tool, one.atom.path, one.atom.pattern)
        rank[place] = max(worth, rank.get(place, 0.0))
        ranked[one.trial.tool].setdefault(str(one.value), one)
    for tool in sorted(ranked):
        several = sorted(ranked[tool].values(), key=lambda one: -rank[tool, one.atom.path, one.atom.pattern])
        named = [one for one in several if one.likeness >= 0.5]
        yield one_a_place([*named, *(one for one in several if one.likeness < 0.5)])[
            : MORE * (TRIES + bool(named) * NAMED)
        ]


def _offered(lab: Laboratory, subject: Subject, slot: Slot, seen: Sequence[tuple[Trial, Atom]]) -> Iterator[Seen]:
    first = subject.base.values.get(slot.path) if subject.base is not None and subject.is_read else None
    for trial, atom in seen:
        maker = lab.subjects[trial.tool]
        value = as_argument(atom.value, slot)
        if value is None or value == "" or trial.tool == subject.name or not fits(value, slot):
            continue
        if maker.is_read and is_echo(atom.value, own_values(trial)):
            continue
        if first is not None and str(value) == str(first):  # it is known to work with that, wherever that is from
            continue
        yield Seen(value, trial, atom, lab.likeness(slot.path, subject.name, atom.names, trial.tool))


def _companions(lab: Laboratory, subject: Subject, slot: Slot, one: Seen) -> dict[str, Any]:
    """Give the values of other arguments that stand beside a value: with the same name but for the last word."""
    found: dict[str, Any] = {}
    head = one.atom.path.rpartition(".")[0]
    for other in subject.slots:
        if other.path == slot.path or other.path not in (subject.base.values if subject.base else {}):
            continue
        if not {"latitude", "longitude"} & set(words(other.name)):
            continue
        for atom in lab.atoms(one.trial):
            beside = atom.path.rpartition(".")[0] == head
            if beside and lab.likeness(other.path, subject.name, atom.names, one.trial.tool) >= 0.9:
                value = as_argument(atom.value, other)
                if value is not None:
                    found[other.path] = value
                    break
    return found


async def try_making(script: Script, makers: Sequence[Subject]) -> None:
    """Find out what tools make under the names they are given: what others did not know before a call, and know after.

    A made-up name, like the one that worked, is tried on the arguments that may take it, then given to the tool, then
    tried again: nothing else was called in between.
    """
    lab = script.lab
    await script.restore()
    for maker in makers:
        if maker.is_read or maker.destroys or maker.base is None:
            continue
        for slot in maker.slots:
            call = next((one for one in (maker.base, *maker.gives()) if slot.path in one.values), maker.base)
            given = call.values.get(slot.path)
            if not _names_something(slot, given):
                continue
            if maker.once and not await script.restore(before=maker):
                continue
            name = sibling(given, Random(f"{slot.path} {maker.name} {given}"))  # noqa: S311 - no secret hangs on it
            takers = list(_takers(lab, maker, slot, name))
            spoiling = [one for one in takers if not one[0].is_read and await _verdict(lab, *one, name) == "ok"]
            if spoiling:  # what takes a name that nobody knows may have made the thing itself
                name = sibling(name, Random(f"{name} {maker.name}"))  # noqa: S311 - no secret hangs on it
                takers = [one for one in takers if one not in spoiling]
            before = [await _verdict(lab, *one, name) for one in takers]
            made = await lab.try_values(maker, {**call.values, slot.path: name}, "observed")
            if made is None or not made.ok:
                continue
            for (subject, taker), was in zip(takers, before, strict=True):
                now = await _verdict(lab, subject, taker, name) if was != "ok" else ""
                if now == "ok" or (now == "empty" and was in ("refused", "broken")):  # it is there, with nothing in it
                    lab.made.setdefault((maker.name, slot.path, subject.name, taker.path), []).append(name)


async def _verdict(lab: Laboratory, subject: Subject, slot: Slot, value: str) -> str:
    known = subject.base.values if subject.base is not None else {}
    trial = await lab.try_values(subject, {**known, slot.path: value}, "observed", again=True)
    return trial.verdict if trial is not None else ""


def _takers(lab: Laboratory, maker: Subject, slot: Slot, name: str) -> Iterator[tuple[Subject, Slot]]:
    """Give the arguments that may take what a tool makes: those of tools that look things up, or work on them."""
    for subject in lab.subjects.values():
        if subject is maker or subject.base is None or subject.once or subject.destroys or subject.moves:
            continue
        for taker in subject.slots:
            if taker.type not in ("string", "any") or taker.path not in subject.base.values or not fits(name, taker):
                continue
            if taker.schema.get("enum") or set(words(taker.name)[-1:]) & ASKS:
                continue
            known = {shape(trial.values.get(taker.path, "")) for trial in subject.gives()}
            alike = lab.likeness(taker.path, subject.name, tuple(slot.path.split(".")), maker.name) >= 0.3
            # the new path that something moves to is a path for the others
            alike |= maker.moves and words(slot.name)[-1:] == words(taker.name)[-1:]
            if (alike or shape(name) in known) and (subject.is_read or strangers_refused(subject, taker)):
                yield subject, taker


def _names_something(slot: Slot, given: Any) -> bool:
    """Whether an argument holds a name: by its own name, or since its value is no word and no sentence."""
    if not isinstance(given, str) or not given or " " in given or len(given) > 200 or slot.schema.get("enum"):
        return False
    return (bool(set(words(slot.name)) & _NEW) and not set(words(slot.name)[-1:]) & ASKS) or is_specific(given)
