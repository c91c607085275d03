"""Finding calls that work: declared and usual values first, then those that other tools' results hold, in rounds."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.tools.candidates import declared, described, fits, usual
from pytest_agentbench.generation.tools.laboratory import Laboratory, Subject, Trial
from pytest_agentbench.generation.tools.names import nouns, words
from pytest_agentbench.generation.tools.observed import as_argument, seen_for, spread
from pytest_agentbench.generation.tools.reading import atoms
from pytest_agentbench.generation.tools.schemas import Slot

ROUNDS = 5
"""Rounds over all tools: an id of an id of an id is found in the fourth."""
_A_ROUND = 7
"""Calls of one tool in one round."""
_CONTEXTS = 4
"""Different accepted calls to look for: what has no effect in one may have some in another."""
_STAGES = ("read", "unknown", "write", "destructive")


_ASKS = frozenset({"query", "search", "keyword", "term", "place", "city", "text"})
_PATHS = frozenset({"path", "file", "directory", "source", "destination", "target", "workbook"})
_NEW = frozenset({"name", "title", "label", "branch", "key", "slug"})
_CREATES = frozenset({"create", "add", "new", "register", "insert", "make", "put", "write", "save", "post", "upload"})
_EXTENSION = re.compile(r"(?<![\w.])\.([a-z]{2,5})\b")
_NAMES = frozenset({"name", "title", "label", "subject", "city", "place"})
"""What arguments are called that look for something by its name, and what results call such names."""


_FOLDER = re.compile(r"/(?:[\w.@+-]+/)*[\w@+-]+/?")


class Explorer:
    """Looks for a call that each tool accepts."""

    def __init__(self, lab: Laboratory) -> None:
        self._lab = lab
        self._tried: set[str] = set()
        self._extra: dict[str, list[str]] = {}
        self._extensions: list[str] = []
        self._focus: dict[str, tuple[dict[str, Any], str]] = {}
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
                subject.base = trial
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
        self._extra.setdefault(subject.name, []).extend(path for path in subject.base.values if subject.slot(path))
        for values in list(self._assignments(subject)):
            if not self._is_new(subject, values):
                continue
            distinct = len({dumps(trial.arguments) for trial in subject.gives()})
            if distinct >= most or made >= 3 * _CONTEXTS or not self._lab.may_call(subject):
                return
            trial = await self._try(subject, values)
            made += trial is not None

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
        options = {slot.path: self.options(subject, slot) for slot in subject.slots}

        pinned = {slot.path for slot in subject.slots if not is_reference(slot) and self._elsewhere(subject, slot)}

        def chosen(index: int, *, pin: bool = True) -> dict[str, Any]:
            taken = [*required, *(slot for slot in subject.slots if slot.path in extra and not slot.required)]
            return {
                slot.path: _nth(options[slot.path], 0 if pin and slot.path in pinned else index)
                for slot in taken
                if options[slot.path]
            }

        values, blamed = self._focus.get(subject.name, ({}, ""))
        if blamed in options:
            for value in options[blamed][:10]:
                yield {**values, blamed: value}
        yield chosen(0)
        varied = [*required, *(slot for slot in subject.slots if slot.path in extra and not slot.required)]
        longest = max((len(options[slot.path]) for slot in varied), default=1)
        for index in range(1, min(longest, 14)):
            yield chosen(index)
            if pinned:
                yield chosen(index, pin=False)
            for slot in varied[: 3 if len(varied) > 1 else 0]:
                if index < len(options[slot.path]):
                    yield {**chosen(0), slot.path: options[slot.path][index]}
        for slot in subject.slots:
            if not slot.required:
                for value in options[slot.path][:2]:
                    yield {**chosen(0), slot.path: value}

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
        elif set(words(slot.name)) & _ASKS:
            names = [one.value for one in seen if set(words(one.atom.names[-1] if one.atom.names else "")) & _NAMES]
            by_name = [*by_name[:2], *names[:6], *by_name[2:]]
        if _CREATES & set(words(subject.name)) and slot.type == "string" and set(words(slot.name)) & _NEW:
            noun = nouns_first(subject, slot)
            by_name = [*(f"{noun}-{chance.randrange(100, 999)}" for _ in range(3)), *by_name]
        elif not is_reference(slot) and not slot.schema.get("enum"):
            by_name = [*(one.value for one in spread([one for one in rest if one.likeness >= 0.3], 1)[:2]), *by_name]
        ordered_values = chain(
            given, self._elsewhere(subject, slot), told[:4], declared(slot), likely, named, by_name, unlike
        )
        values = {dumps(value): value for value in ordered_values if fits(value, slot) or value in given}
        return list(values.values())

    def _elsewhere(self, subject: Subject, slot: Slot) -> list[Any]:
        """Give the values that other tools accepted under the same name, unless they name what was to be made anew."""
        if slot.type == "boolean" or set(words(slot.name)) & _NEW:
            return []
        values: dict[str, Any] = {}
        for other in self._lab.subjects.values():
            if other.name == subject.name or other.base is None:
                continue
            for path, value in other.base.values.items():
                same = path.split(".")[-1] == slot.path.split(".")[-1]
                goes_there = {"source", "from"} & set(words(slot.name)) and _PATHS & set(words(path.split(".")[-1]))
                if (same or goes_there) and fits(value, slot):
                    values.setdefault(dumps(value), value)
        return list(values.values())[:2]

    def _paths(self, subject: Subject, slot: Slot, told: list[Any]) -> list[str]:
        """Give names of files below the folders that are known: absolute paths without an extension."""
        hints = [value for values in self._lab.world.hints.values() for value in values]
        seen = [one.value for one in seen_for(self._lab, subject, slot)]
        texts = [value for value in (*told, *hints, *seen) if isinstance(value, str)]
        folders = dict.fromkeys(text.rstrip("/") for text in texts if _FOLDER.fullmatch(text))
        said = f"{slot.described} {subject.spec.description}"
        stated = [f".{match[1]}" for match in _EXTENSION.finditer(said)]
        extensions = list(dict.fromkeys([*self._extensions, *stated, ".txt"]))[:3]
        number = self._lab.chance(subject, slot).randrange(100, 999)
        names = [f"file-{number}{extension}" for extension in extensions]
        below = [f"{folder}/{name}" for folder in list(folders)[:2] for name in names[:1]]
        return [*below, *names] if self._extensions else [*below, *names[:1]]

    def _learn(self, subject: Subject, trial: Trial) -> None:
        """Read a refusal: which argument it asks for, and which values it names."""
        message = trial.answer.content
        if trial.verdict not in ("refused", "broken") or len(message) > 5_000:
            return
        for match in _EXTENSION.finditer(message):
            if f".{match[1]}" not in self._extensions and not any(
                f".{match[1]}" in str(one) for one in trial.values.values()
            ):
                self._extensions.append(f".{match[1]}")
        spoken = set(words(message))
        blamed = [path for path, value in trial.values.items() if _blames(message, value)]
        if len(blamed) == 1:
            self._focus[subject.name] = (trial.values, blamed[0])
        extra = self._extra.setdefault(subject.name, [])
        known = {*self._lab.subjects, *(slot.name for slot in subject.slots), *map(str, trial.values.values())}
        for slot in subject.slots:
            is_named = re.search(rf"(?<!\w){re.escape(slot.name)}(?!\w)", message) is not None
            is_usage = "It takes: " in message  # our own refusal of wrong arguments lists all of them
            if is_named and not is_usage and not slot.required and slot.path not in (*extra, *trial.values):
                extra.append(slot.path)
            if slot.type in ("string", "any") and not is_usage and (is_named or set(words(slot.name)) & spoken):
                values = [as_argument(atom.value, slot) for atom in atoms(message) if atom.names[-1:] != ("error",)]
                fresh = [value for value in values if value is not None and is_news(str(value), known)]
                told = self._told.setdefault(subject.name, {}).setdefault(slot.path, [])
                told[:0] = [value for value in fresh[:6] if value not in told]


def ordered(subjects: Sequence[Subject]) -> list[Subject]:
    """Give tools in the order in which they may be tried: reads first, destructive ones last, few needs before many."""

    def rank(subject: Subject) -> tuple[int, int, bool, int]:
        needs = sum(slot.required for slot in subject.slots)
        makes = {"create", "add", "insert", "new", "put", "register", "make", "write"} & set(words(subject.name))
        ids = sum("id" in words(slot.name) for slot in subject.slots if slot.required)
        if subject.destroys:  # what takes away one thing comes before what takes away all
            return len(_STAGES), 0, False, -needs
        return _STAGES.index(subject.effect), ids, not makes, needs

    return sorted(subjects, key=rank)


def is_reference(slot: Slot) -> bool:
    """Whether an argument's name says that it refers to something that is there already."""
    return bool({"id", "key", "hash", "reference", "code", "revision", "uri"} & set(words(slot.name)))


def _blames(message: str, value: Any) -> bool:
    """Whether a refusal is about an argument: it repeats its value in quotes, or at its end."""
    text = str(value)
    if len(text) < 2 and not isinstance(value, int):
        return False
    return re.search(rf"['\"`«]{re.escape(text)}['\"`»]|[ :/]{re.escape(text)}\W*$", message) is not None


def is_news(value: str, known: set[str]) -> bool:
    """Whether a value that a refusal names is one to try: short, and no echo of what was given."""
    if value in known or len(value) > 120 or value.count(" ") > 1:
        return False
    return not any(len(one) > 1 and one in value for one in known)


def nouns_first(subject: Subject, slot: Slot) -> str:
    """Give a word for what a tool makes, to name new things by."""
    return min(nouns(slot.name, subject.name), default="item")


def _nth(values: Sequence[Any], index: int) -> Any:
    return values[min(index, len(values) - 1)]
