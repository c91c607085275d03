"""Finding calls that work: declared and usual values first, then those that other tools' results hold, in rounds."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from random import Random
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.tools.graph.meanings import ASKS
from pytest_agentbench.generation.tools.graph.names import nouns, words
from pytest_agentbench.generation.tools.probing.candidates import declared, described, fits, sibling, usual
from pytest_agentbench.generation.tools.probing.laboratory import Laboratory, Subject, Trial
from pytest_agentbench.generation.tools.probing.observed import as_argument, seen_for, spread
from pytest_agentbench.generation.tools.probing.ordering import is_bare, is_reference, ordered
from pytest_agentbench.generation.tools.probing.reading import atoms
from pytest_agentbench.generation.tools.probing.refusals import QUOTED, blames, is_news
from pytest_agentbench.generation.tools.probing.replaying import Script
from pytest_agentbench.generation.tools.probing.schemas import Slot

ROUNDS = 5
"""Rounds over all tools: an id of an id of an id is found in the fourth."""
_A_ROUND = 7
"""Calls of one tool in one round."""
_OPTIONAL = 6
"""Optional arguments that are tried one by one to make a thing that has all of them."""
_CONTEXTS = 4
"""Different accepted calls to look for: what has no effect in one may have some in another."""


_SEARCHES = frozenset({"query", "search", "keyword", "term", "place", "city", "text"})
_PATHS = frozenset({"path", "file", "directory", "source", "destination", "target", "workbook"})
_NEW = frozenset({"name", "title", "label", "branch", "key", "slug"})
_CREATES = frozenset({"create", "add", "new", "register", "insert", "make", "put", "write", "save", "post", "upload"})
_EXTENSION = re.compile(r"(?<![\w.])\.([a-z]{2,5})\b")
_NAMES = frozenset({"name", "title", "label", "subject", "city", "place"})
"""What arguments are called that look for something by its name, and what results call such names."""


_FOLDER = re.compile(r"/(?:[\w.@+-]+/)*[\w@+-]+/?")


class Explorer:
    """Looks for a call that each tool accepts."""

    def __init__(self, lab: Laboratory, script: Script) -> None:
        self._lab = lab
        self._script = script
        self._tried: set[str] = set()
        self._extra: dict[str, list[str]] = {}
        self._extensions: list[str] = []
        self._wanted: dict[tuple[str, str], list[str]] = {}
        self._focus: dict[str, tuple[dict[str, Any], str, int]] = {}
        self._told: dict[str, dict[str, list[Any]]] = {}

    async def explore(self, subjects: Sequence[Subject], rounds: int = ROUNDS) -> None:
        """Go over the tools, reads first, until a round brings nothing new; then look for further contexts."""
        for number in range(rounds):
            before = len(self._lab.trials)
            progress = False
            for subject in ordered(subjects):
                if subject.base is None and subject.permission.called:
                    progress |= await self._search(subject)
            if not progress and (number > 1 or len(self._lab.trials) == before):
                break
        for subject in ordered(subjects):
            await self._contexts(subject)

    async def _search(self, subject: Subject) -> bool:
        nominal = sum(trial.kind == "nominal" for trial in subject.trials)
        left = min(_A_ROUND if self._is_ready(subject) else 3, self._lab.budget.nominal - nominal)
        for _ in range(max(left, 0)):
            values = next((one for one in self._assignments(subject) if self._is_new(subject, one)), None)
            if values is None:
                return False
            trial = await self._try(subject, values)
            if trial is None:
                return False
            if trial.ok:
                self._script.adopt(subject, trial)
                self._script.keep(trial)
                return True
            self._learn(subject, trial)
        return False

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
        if not subject.is_read:
            await self._enrich(subject)
        self._extra.setdefault(subject.name, []).extend(path for path in subject.base.values if subject.slot(path))
        for values in list(self._assignments(subject)):
            if not self._is_new(subject, values):
                continue
            distinct = len({dumps(trial.arguments) for trial in subject.gives()})
            if distinct >= most or made >= 3 * _CONTEXTS or not self._lab.may_call(subject):
                return
            trial = await self._try(subject, values)
            made += trial is not None
            if trial is not None and trial.ok and not subject.is_read:
                self._script.keep(trial)

    async def _enrich(self, subject: Subject) -> None:
        """Make one thing with all that can be said of it: each optional argument that is taken, then all of these."""
        base = subject.base.values if subject.base is not None else {}
        optional = [slot for slot in subject.slots if not slot.required and slot.path not in base]
        taken: dict[str, Any] = {}
        for slot in optional[:_OPTIONAL]:
            value = next(iter(self.options(subject, slot)), None)
            if value is None or slot.type == "boolean" or not self._lab.may_call(subject):
                continue
            trial = await self._try(subject, {**self._fresh(subject, base), slot.path: value})
            if trial is not None and trial.ok:
                taken[slot.path] = value
        if len(taken) > 1:
            trial = await self._try(subject, {**self._fresh(subject, base), **taken})
            if trial is not None and trial.ok:
                self._script.keep(trial)

    def _fresh(self, subject: Subject, base: dict[str, Any]) -> dict[str, Any]:
        """Give the arguments of a call that works with a name that is not taken yet, where it makes something."""
        if not _CREATES & set(words(subject.name)):
            return dict(base)
        number = len(subject.trials)
        chance = Random(f"{subject.name} {number}")  # noqa: S311 - no secret hangs on it
        named = {slot.path for slot in subject.slots if set(words(slot.name)) & (_NEW | _PATHS)}
        return {path: sibling(value, chance) if path in named else value for path, value in base.items()}

    async def _try(self, subject: Subject, values: dict[str, Any]) -> Trial | None:
        self._tried.add(self._key(subject, values))
        return await self._lab.try_values(subject, values, "nominal", again=True)

    def _is_new(self, subject: Subject, values: dict[str, Any]) -> bool:
        return self._key(subject, values) not in self._tried

    def _key(self, subject: Subject, values: dict[str, Any]) -> str:
        """Give what is equal for calls that need not be made twice: what was written since may change the answer."""
        return dumps([subject.name, values, self._lab.epoch])

    def _assignments(self, subject: Subject) -> Iterator[dict[str, Any]]:
        """Give arguments to try; optional ones that answers have asked for are among them."""
        extra = self._extra.get(subject.name, [])
        required = [slot for slot in subject.slots if slot.required]
        slots = {slot.path: slot for slot in subject.slots}

        @cache
        def options(path: str) -> list[Any]:
            return self.options(subject, slots[path])

        pinned = {slot.path for slot in subject.slots if not is_reference(slot) and self._elsewhere(subject, slot)}

        def chosen(index: int, *, pin: bool = True, also: Sequence[str] = extra) -> dict[str, Any]:
            taken = [*required, *(slot for slot in subject.slots if slot.path in also and not slot.required)]
            return {
                slot.path: _nth(options(slot.path), 0 if pin and slot.path in pinned else index)
                for slot in taken
                if options(slot.path)
            }

        if len(extra) > 1:  # "either this or that" names both, and takes one
            yield from (chosen(0, also=[path]) for path in extra)
        values, blamed, world = self._focus.get(subject.name, ({}, "", 0))
        if blamed in slots and world == self._lab.world_number:
            settled = {path: value for path, value in chosen(0).items() if path in pinned}
            yield from ({**values, **settled, blamed: value} for value in options(blamed)[:10])
        yield chosen(0)
        varied = [*required, *(slot for slot in subject.slots if slot.path in extra and not slot.required)]
        varied.sort(key=lambda slot: slot.path in pinned)
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
            yield from (chosen(index, pin=False) for index in range(1, longest))

    def options(self, subject: Subject, slot: Slot) -> list[Any]:
        """Give values to try for an argument, the most promising first."""
        hints = self._lab.world.hints
        given = [*hints.get(f"{subject.name}.{slot.name}", ()), *hints.get(slot.name, ())]
        told = [value for value in self._told.get(subject.name, {}).get(slot.path, []) if fits(value, slot)]
        seen = seen_for(self._lab, subject, slot)
        likely = [one.value for one in seen if one.likeness >= 0.5][:8]
        may_refer = subject.is_read or is_reference(slot) or bool(set(words(slot.name)) & _PATHS)
        rest = [one for one in seen if one.likeness < 0.5 and (may_refer or one.likeness >= 0.2)]
        unlike = [one.value for one in spread(rest, 1)]
        unlike = unlike[: 8 if is_reference(slot) else 4]
        stated = [*declared(slot), *described(slot, subject.spec.description)]
        chance = self._lab.chance(subject, slot)
        by_name = usual(slot, chance)
        if slot.schema.get("enum"):
            likely, unlike = [], []
        named = [*told, *stated]
        if is_reference(slot):
            by_name = [*unlike, *by_name]
        elif set(words(slot.name)) & _PATHS and slot.type in ("string", "any"):
            told = [*told, *self._paths(subject, slot, told)]
        elif subject.is_read and set(words(slot.name)) & _SEARCHES:
            names = [one.value for one in seen if set(words(one.atom.names[-1] if one.atom.names else "")) & _NAMES]
            by_name = [*self._put_in(slot), *by_name[:2], *names[:6], *by_name[2:]]
        if _CREATES & set(words(subject.name)) and slot.type == "string" and set(words(slot.name)) & _NEW:
            noun = nouns_first(subject, slot)
            by_name = [*(f"{noun}-{chance.randrange(100, 999)}" for _ in range(3)), *by_name]
        elif not subject.is_read and set(words(slot.name)[-1:]) & ASKS:
            likely, unlike = [], []  # texts that are kept: what stands elsewhere would seem to come from here later
        elif subject.is_read and not is_reference(slot) and not slot.schema.get("enum"):
            by_name = [*(one.value for one in spread([one for one in rest if one.likeness >= 0.3], 1)[:2]), *by_name]
        known, news = self._elsewhere(subject, slot), told[:4]
        if self._focus.get(subject.name, ({}, "", 0))[1] == slot.path:  # what was known is not accepted any more
            known, news = news, known
        ordered_values = chain(given, known, news, declared(slot), likely, named, by_name, unlike)
        values = {dumps(value): value for value in ordered_values if fits(value, slot) or value in given}
        return list(values.values())

    def _elsewhere(self, subject: Subject, slot: Slot, *, other_names: bool = True) -> list[Any]:
        """Give the values that other tools accepted under the same name, unless they name what was to be made anew."""
        if slot.type == "boolean" or set(words(slot.name)) & _NEW:
            return []
        values: dict[str, Any] = {}
        for other in self._lab.subjects.values():
            if other.name == subject.name or other.base is None:
                continue
            for path, value in other.base.values.items():
                same = path.rstrip(".*").split(".")[-1] == slot.name
                goes_there = (
                    other_names
                    and {"source", "from"} & set(words(slot.name))
                    and _PATHS & set(words(path.split(".")[-1]))
                )
                if same and is_bare(slot) and not self._is_of_its_kind(subject, slot, other, path):
                    continue
                if (same or goes_there) and fits(value, slot):
                    values.setdefault(dumps(value), value)
        return list(values.values())[:2]

    def _is_of_its_kind(self, subject: Subject, slot: Slot, other: Subject, path: str) -> bool:
        """Whether another tool's argument of the same name is about the same things, as two tools' `id` need not be."""
        names = tuple(step for step in path.split(".") if step != "*")
        return self._lab.likeness(slot.path, subject.name, names, other.name) >= 0.5

    def _put_in(self, slot: Slot) -> list[Any]:
        """Give short texts that calls put into the service: what can be searched for."""
        found: dict[str, Any] = {}
        for trial in self._lab.trials:
            if trial.ok and trial.kind == "nominal" and not self._lab.subjects[trial.tool].is_read:
                for value in trial.values.values():
                    if isinstance(value, str) and 2 < len(value) <= 40 and fits(value, slot):
                        found.setdefault(value, value)
        return list(found)[-4:]

    def _paths(self, subject: Subject, slot: Slot, told: list[Any]) -> list[str]:
        """Give names of files below the folders that are known: absolute paths without an extension."""
        hints = [value for values in self._lab.world.hints.values() for value in values]
        seen = [one.value for one in seen_for(self._lab, subject, slot)]
        texts = [value for value in (*told, *hints, *seen) if isinstance(value, str)]
        folders = dict.fromkeys(text.rstrip("/") for text in texts if _FOLDER.fullmatch(text))
        said = f"{slot.described} {subject.spec.description}"
        stated = [f".{match[1]}" for match in _EXTENSION.finditer(said)]
        wanted = self._wanted.get((subject.name, slot.path), [])
        extensions = list(dict.fromkeys([*wanted, *self._extensions, *stated, ".txt"]))[:3]
        number = self._lab.chance(subject, slot).randrange(100, 999)
        names = [f"file-{number}{extension}" for extension in extensions]
        below = [f"{folder}/{name}" for folder in list(folders)[:2] for name in names[:1]]
        return [*below, *names] if self._extensions else [*below, *names[:1]]

    def _learn(self, subject: Subject, trial: Trial) -> None:
        """Read a refusal: which argument it asks for, and which values it names."""
        message = trial.answer.content
        if trial.verdict == "empty":  # all is right but for what is looked for
            asked = [slot.path for slot in subject.slots if slot.path in trial.values and set(words(slot.name)) & ASKS]
            self._focus[subject.name] = (trial.values, asked[0] if asked else "", trial.world)
        if trial.verdict not in ("refused", "broken") or len(message) > 5_000:
            return
        spoken = set(words(message))
        blamed = self._blamed(subject, trial)
        self._focus[subject.name] = (trial.values, blamed, trial.world)
        stated = [f".{match[1]}" for match in _EXTENSION.finditer(message)]
        fresh = [one for one in stated if not any(one in str(value) for value in trial.values.values())]
        self._extensions += [one for one in fresh if one not in self._extensions]
        if blamed:
            self._wanted.setdefault((subject.name, blamed), fresh)
        extra = self._extra.setdefault(subject.name, [])
        known = {*self._lab.subjects, *(slot.name for slot in subject.slots), *map(str, trial.values.values())}
        for slot in subject.slots:
            is_named = re.search(rf"(?<!\w){re.escape(slot.name)}(?!\w)", message) is not None
            is_usage = "It takes: " in message  # our own refusal of wrong arguments lists all of them
            if is_named and not is_usage and not slot.required and slot.path not in (*extra, *trial.values):
                extra.append(slot.path)
            is_meant = is_named or slot.path == blamed or set(words(slot.name)) & spoken
            if slot.type in ("string", "any") and not is_usage and is_meant:
                values = [as_argument(atom.value, slot) for atom in atoms(message) if _is_told(slot, atom.names[-1:])]
                fresh = [value for value in values if value is not None and is_news(str(value), known)]
                told = self._told.setdefault(subject.name, {}).setdefault(slot.path, [])
                told[:0] = [value for value in fresh[:6] if value not in told]

    def _blamed(self, subject: Subject, trial: Trial) -> str:
        """Name the argument that a refusal is about, "" where that cannot be told: its value is repeated.

        Of several, one that no other tool has accepted such a value for; then one whose value stands in quotes.
        """
        message = trial.answer.content
        found = {path: how for path, value in trial.values.items() if (how := blames(message, value))}
        known = {
            path
            for path in found
            if (slot := subject.slot(path)) is not None
            and trial.values[path] in self._elsewhere(subject, slot, other_names=False)
        }
        for several in (set(found) - known, {path for path, how in found.items() if how == QUOTED}):
            if len(several) == 1:
                return several.pop()
        return next(iter(found)) if len(found) == 1 else ""


def _is_told(slot: Slot, names: tuple[str, ...]) -> bool:
    """Whether what a refusal calls so may be meant for an argument: a hash is, for one that refers to something."""
    return names != ("error",) and (names != ("hash",) or is_reference(slot))


def nouns_first(subject: Subject, slot: Slot) -> str:
    """Give a word for what a tool makes, to name new things by."""
    return min(nouns(slot.name, subject.name), default="item")


def _nth(values: Sequence[Any], index: int) -> Any:
    return values[min(index, len(values) - 1)]
