"""Finding calls that work: declared and usual values first, then those that other tools' results hold, in rounds."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.tools.graph.names import words
from pytest_agentbench.generation.tools.probing.candidates import sibling
from pytest_agentbench.generation.tools.probing.elsewhere import NEW, PATHS, accepted_elsewhere
from pytest_agentbench.generation.tools.probing.laboratory import Laboratory, Subject, Trial
from pytest_agentbench.generation.tools.probing.learning import Lessons, hindrance
from pytest_agentbench.generation.tools.probing.observed import seen_for
from pytest_agentbench.generation.tools.probing.ordering import is_reference, ordered
from pytest_agentbench.generation.tools.probing.proposing import Proposals, creates
from pytest_agentbench.generation.tools.probing.refusals import blames
from pytest_agentbench.generation.tools.probing.replaying import Script
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.spoiling import FAILS

ROUNDS = 5
"""Rounds over all tools: an id of an id of an id is found in the fourth."""
_A_ROUND = 7
"""Calls of one tool in one round."""
_OPTIONAL = 6
"""Optional arguments that are tried one by one to make a thing that has all of them."""
_ATTEMPTS = 3
"""Values of an optional argument that are tried until one is taken."""
_STEPS = 3
"""Refusals in a row that are followed."""
_CONTEXTS = 4
"""Different accepted calls to look for: what has no effect in one may have some in another."""
_ASIDE = 3
"""Changes that were set aside after which tools are tried that refused everything."""
_VARIED = 10
"""Values of an argument that was blamed for a refusal which are tried in its place."""


class Explorer:
    """Looks for a call that each tool accepts."""

    def __init__(self, lab: Laboratory, script: Script) -> None:
        self._lab = lab
        self._script = script
        self._tried: set[str] = set()
        self._ever: set[str] = set()
        self._nameless: set[str] = set()
        self._enriched: set[str] = set()
        self._granted: Counter[str] = Counter()
        self._spoiling: set[tuple[str, str]] = set()
        self._lessons = Lessons(lab)
        self._proposals = Proposals(lab, self._lessons)

    async def explore(self, subjects: Sequence[Subject], rounds: int = ROUNDS) -> None:
        """Go over the tools, reads first, until a round brings nothing new; then look for further contexts.

        What makes things comes before what changes them: that may spoil what the others need.
        """
        makers = [subject for subject in subjects if subject.is_read or creates(subject)]
        if 0 < len(makers) < len(subjects):
            await self._rounds(makers, rounds)
        await self._rounds(subjects, rounds)
        for subject in ordered(subjects):
            await self._contexts(subject)
        await self._rounds(subjects, 1)  # for what there is only now

    async def start_over(self, subjects: Sequence[Subject]) -> None:
        """Try tools that refused everything where nothing was done before: what others made may be in their way."""
        left = _refused(subjects)
        if left and await self._script.start_over():
            await self._rounds(left, 1)

    async def go_on(self, subjects: Sequence[Subject]) -> None:
        """Try tools that refused everything after changes that were set aside: some work on just what these did."""
        for change in list(self._script.set_aside.values())[:_ASIDE]:
            left = _refused(subjects)
            if left and await self._script.go_on_after(change):
                await self._rounds(left, 1)

    async def unhindered(self, subjects: Sequence[Subject]) -> None:
        """Try tools that refused everything without what their refusals say that another tool did; where that is no
        help, it is done again from then on.
        """
        for subject in ordered(subjects):
            in_the_way = hindrance(self._lab, subject) if subject.base is None and not subject.given_up else ""
            if in_the_way and any(one.tool == in_the_way for one in self._script.kept):
                if await self._script.without(in_the_way):
                    self._granted[subject.name] += 2 * _A_ROUND  # what was refused before taught nothing of the rest
                    await self._rounds([subject], 2)
                if subject.base is None:
                    self._script.with_again(in_the_way)

    async def _rounds(self, subjects: Sequence[Subject], rounds: int) -> None:
        for number in range(rounds):
            before = len(self._lab.trials)
            progress = False
            for subject in ordered(subjects):
                if subject.base is None and subject.permission.called:
                    progress |= await self._search(subject)
            if not progress and (number > 1 or len(self._lab.trials) == before):
                break

    async def _search(self, subject: Subject) -> bool:
        nominal = sum(trial.kind == "nominal" for trial in subject.trials)
        left = min(
            _A_ROUND if self._is_ready(subject) else 3, self._lab.budget.nominal + self._granted[subject.name] - nominal
        )
        for _ in range(max(left, 0)):
            values = self._next(subject)
            if values is None:
                return False
            trial = await self._try(subject, values)
            if trial is None:
                return False
            if trial.ok:
                self._script.adopt(subject, trial)
                if await self._script.spoils(trial):
                    return True
                self._script.keep(trial)
                if (
                    subject.moves or subject.destroys
                ):  # what it worked on may be what other tools are known to work with
                    await self._script.restore()
                return True
            self._lessons.learn(subject, trial)
        return False

    def _next(self, subject: Subject) -> dict[str, Any] | None:
        """Give the arguments to try next: first and foremost, then any that were never tried, then those that were
        tried before something changed.
        """
        several = list(self._assignments(subject))
        fresh = [one for one in several if self._is_new(subject, one)]
        never = (one for one in fresh if one is several[0] or dumps([subject.name, one]) not in self._ever)
        return next(never, fresh[0] if fresh else None)

    def _is_ready(self, subject: Subject) -> bool:
        """Whether each id that a tool needs was given by another one; until then it is hardly worth guessing."""
        needs = [slot for slot in subject.slots if slot.required and is_reference(slot)]
        return all(any(one.likeness >= 0.5 for one in seen_for(self._lab, subject, slot)) for slot in needs)

    async def _contexts(self, subject: Subject) -> None:
        """Try further values of a tool that works, one argument after the other and all at once."""
        most = _CONTEXTS if subject.is_read else 2
        if subject.base is None or subject.destroys:
            return
        made = 0
        base = subject.base.values
        left = [slot for slot in subject.slots if not slot.required and slot.path not in base]
        if not subject.is_read and subject.name not in self._enriched:
            self._enriched.add(subject.name)
            left = await self._enrich(subject, base, left[:_OPTIONAL])
        self._lessons.extra.setdefault(subject.name, []).extend(path for path in base if subject.slot(path))
        for values in list(self._assignments(subject)):
            several = {dumps(_only(base, trial.values)) for trial in subject.gives()}
            if not self._is_new(subject, values) or (not subject.is_read and dumps(_only(base, values)) in several):
                continue
            distinct = len(several)
            if distinct >= most or made >= 3 * _CONTEXTS or not self._lab.may_call(subject):
                return
            trial = await self._try(subject, values)
            made += trial is not None
            if trial is not None and trial.ok and not subject.is_read and not await self._script.spoils(trial):
                self._script.keep(trial)
                if _only(base, trial.values) != base:  # what was refused there may be taken of another thing
                    left = await self._enrich(subject, _only(base, trial.values), left)

    async def _enrich(self, subject: Subject, base: dict[str, Any], optional: Sequence[Slot]) -> list[Slot]:
        """Make things with all that can be said of them: each optional argument that is taken, then all of these, once
        with the first value of each and once with the next; what spoils reads is left out of these. Give the arguments
        that were not taken.
        """
        taken: dict[str, Any] = {}
        further: dict[str, Any] = {}
        last: Trial | None = None
        for slot in optional:
            if slot.path in taken or (subject.name, slot.path) in self._spoiling:
                continue
            values = [value for value in self._proposals.of(subject, slot) if not _is_given(slot, value, base)]
            for place, value in enumerate([] if slot.type == "boolean" else values[:_ATTEMPTS]):
                trial = await self._extended(subject, base, {slot.path: value})
                if trial is not None and not trial.ok and trial.verdict != "environment":
                    trial = await self._obliged(subject, trial)
                    base = _only(base, trial.values) if trial is not None and trial.ok else base
                if trial is not None and trial.ok:
                    if await self._script.spoils(trial):
                        self._spoiling.add((subject.name, slot.path))
                    else:
                        also = {path: given for path, given in trial.values.items() if path not in base}
                        last, taken = trial, {**taken, **also}
                        further |= {**also, slot.path: _nth(values, place + 1)}
                    break
        if last is not None and len(taken) == 1:
            self._script.keep(last)
        for several in (taken, further) if len(taken) > 1 else ():
            trial = await self._extended(subject, base, several)
            if trial is not None and trial.ok and not await self._script.spoils(trial):
                self._script.keep(trial)
        return [slot for slot in optional if slot.path not in taken]

    async def _obliged(self, subject: Subject, trial: Trial) -> Trial | None:
        """Do as a refusal says, and as the next one does: with the optional argument that it names, in the place of a
        folder a file in it.
        """
        found: Trial | None = trial
        for _ in range(_STEPS):
            if found is None or found.ok:
                break
            values = self._lessons.corrected(subject, found, self._proposals.of)
            found = await self._try(subject, values) if values and self._lab.may_call(subject) else None
        return found

    async def _extended(self, subject: Subject, base: dict[str, Any], also: dict[str, Any]) -> Trial | None:
        """Make the call that works with more arguments, under a fresh name where that is what it makes."""
        if not self._lab.may_call(subject):
            return None
        renamed = base if subject.name in self._nameless else self._fresh(subject, base)
        trial = await self._try(subject, {**renamed, **also})
        if trial is None or trial.ok or renamed == base:
            return trial
        if any(blames(trial.answer.content, value) for path, value in renamed.items() if value != base[path]):
            self._nameless.add(subject.name)  # it does not know the new name: it works on what is there
        again = await self._try(subject, {**base, **also})
        if again is not None and again.ok:  # what seemed the name of the new thing is what it works on
            self._nameless.add(subject.name)
        return again

    def _fresh(self, subject: Subject, base: dict[str, Any]) -> dict[str, Any]:
        """Give the arguments of a call that works with a name that is not taken yet, where it makes something."""
        if not creates(subject):
            return base
        number = len(subject.trials)
        chance = Random(f"{subject.name} {number}")  # noqa: S311 - no secret hangs on it
        named = {slot.path for slot in subject.slots if set(words(slot.name)) & NEW}
        named = named or {slot.path for slot in subject.slots if set(words(slot.name)) & PATHS}
        return {path: sibling(value, chance) if path in named else value for path, value in base.items()}

    async def _try(self, subject: Subject, values: dict[str, Any]) -> Trial | None:
        self._tried.add(self._key(subject, values))
        self._ever.add(dumps([subject.name, values]))
        return await self._lab.try_values(subject, values, "nominal", again=True)

    def _is_new(self, subject: Subject, values: dict[str, Any]) -> bool:
        return self._key(subject, values) not in self._tried

    def _key(self, subject: Subject, values: dict[str, Any]) -> str:
        """Give what is equal for calls that need not be made twice: what was written since may change the answer."""
        return dumps([subject.name, values, self._lab.epoch])

    def _assignments(self, subject: Subject) -> Iterator[dict[str, Any]]:
        """Give arguments to try; optional ones that answers have asked for are among them."""
        extra = self._lessons.extra.get(subject.name, [])
        required = [slot for slot in subject.slots if slot.required]
        slots = {slot.path: slot for slot in subject.slots}

        @cache
        def options(path: str) -> list[Any]:
            return self._proposals.of(subject, slots[path])

        pinned = {
            slot.path
            for slot in subject.slots
            if not is_reference(slot) and accepted_elsewhere(self._lab, subject, slot)
        }

        def chosen(index: int, *, pin: bool = True, also: Sequence[str] = extra) -> dict[str, Any]:
            taken = [*required, *(slot for slot in subject.slots if slot.path in also and not slot.required)]
            return {
                slot.path: _nth(options(slot.path), 0 if pin and slot.path in pinned else index)
                for slot in taken
                if options(slot.path)
            }

        if len(extra) > 1:  # "either this or that" names both, and takes one
            yield from (chosen(0, also=[path]) for path in extra)
        focus = self._lessons.focus(subject)
        kept = {path for path in pinned if not self._lessons.is_doubted(subject, slots[path])}
        if focus is not None and focus.blamed in slots:
            settled = {path: value for path, value in chosen(0).items() if path in kept}
            for value in options(focus.blamed)[: 1 if focus.blamed in kept else _VARIED]:
                yield {**focus.values, **settled, focus.blamed: value}
        yield chosen(0)
        varied = [*required, *(slot for slot in subject.slots if slot.path in extra and not slot.required)]
        varied = [slot for slot in varied if slot.path not in kept]
        longest = min(max((len(options(slot.path)) for slot in varied), default=1), 14)
        for index in range(1, longest):
            yield chosen(index)
            for slot in varied[: 3 if len(varied) > 1 else 0]:
                if index < len(options(slot.path)):
                    yield {**chosen(0), slot.path: options(slot.path)[index]}
        yield from (
            {**chosen(0), slot.path: value}
            for slot in subject.slots
            if not slot.required
            for value in options(slot.path)[:2]
        )
        if pinned:
            several = [slot.path for slot in required if slot.path in pinned and options(slot.path)]
            furthest = min(max((len(options(path)) for path in several), default=1), _VARIED)
            for index in range(1, furthest):
                yield from ({**chosen(0), path: options(path)[index]} for path in several if index < len(options(path)))
            yield from (chosen(index, pin=False) for index in range(1, longest))


def _only(base: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Give the values of the arguments that a call had which worked first."""
    return {path: values[path] for path in base if path in values}


def _is_given(slot: Slot, value: Any, base: dict[str, Any]) -> bool:
    """Whether a call names a thing by this already: what goes to where it is goes nowhere."""
    return bool(set(words(slot.name)) & (PATHS | NEW)) and isinstance(value, str) and value in base.values()


def _nth(values: Sequence[Any], index: int) -> Any:
    return values[min(index, len(values) - 1)]


def _refused(subjects: Sequence[Subject]) -> list[Subject]:
    """Give the tools that nothing is known to work for, and that refused something."""
    left = [subject for subject in subjects if subject.base is None and not subject.given_up]
    return [subject for subject in left if any(trial.verdict in FAILS for trial in subject.trials)]
