"""What refusals quote: the argument that is blamed or asked for, and values that are named in its place.

Servers refuse in forms: validation errors of JSON Schema, pydantic and zod, problem+json, `KeyError: 'x'`, and texts
that quote. The words around a quotation are not read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.generation.tools.graph.name_match import words
from pytest_agentbench.generation.tools.probing.result_parser import inner, parsed
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord

_LONGEST = 5_000
"""Characters of a refusal that is read."""
_NAMED = 8
"""Values that one refusal names for one argument."""
_TELLING = 3
"""Words that a refusal shares with the declaration of an argument from which it is about that argument."""
_STATUS = re.compile(r"\s*HTTP \d{3}: (?=[{\[])")
"""How refusals of services begin (`environment.openapi`)."""
_QUOTED = re.compile(r"(?<!\w)(['\"`«“])\s?([^'\"`«»“”\n]{1,100}?)\s?(['\"`»”])(?!\w)")
_OPTIONS = re.compile(r"(?:\[|\(|: ?)((?:[\w.@+-]{1,40}(?:, | \| |\|| / |/)){1,20}[\w.@+-]{1,40})")
"""Values listed one after the other: `[a, b]`, `one of: a, b`, `a|b`."""
_WORD = re.compile(r"(?<![\w.-])[^\W\d][\w-]{2,39}(?![\w-])")
"""A word that may be a value as it stands."""
_PATH = re.compile(r"(?<![\w./:])(/(?:[\w.@+-]+/)*[\w.@+-]*[\w@+-])")
"""An absolute path: a refusal often says which folders are open."""
_PYDANTIC = re.compile(r"(?m)^([A-Za-z_][\w.]*)\n\s+\S")
"""`1 validation error for f\\norder.id\\n  Field required [type=missing, …]`: the path stands on a line of its own."""
_EXPECTED = ("expected", "options", "enum", "allowed", "allowed_values", "permitted", "const", "values", "choices")
"""Fields in which zod, JSON Schema and problem+json list what is taken."""
_PLACES = ("loc", "path", "instancePath", "instance_path", "field", "param", "parameter", "name", "pointer", "property")
"""Fields in which they say where: FastAPI's `loc`, zod's `path`, ajv's `instancePath`, problem+json's `pointer`."""
_TAIL = re.compile(r"\n\s*\{.*\}\s*$", re.S)
"""An object after a text, as servers send that give structured content beside it."""
_USAGE = "It takes: "
"""What our own refusal of wrong arguments says before it lists all of them."""


@dataclass
class Lesson:
    """What a refusal taught: arguments it blames or asks for, by path, and values it names for each of them."""

    blamed: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    values: dict[str, list[Any]] = field(default_factory=dict)


def lesson_of(tool: ProbedTool, record: ProbeRecord) -> Lesson:
    """Read a refusal: which argument it is about, and which values it quotes."""
    lesson = Lesson()
    content = record.answer.content
    if record.verdict not in ("refused", "broken") or len(content) > _LONGEST:
        return lesson
    value = inner(parsed(_STATUS.sub("", content, count=1)))
    is_object = isinstance(value, dict | list)
    places = list(_entries(value)) if is_object else []
    message = "\n".join(_texts(value)) if is_object else _TAIL.sub("", content)
    message = (message or content).replace(tool.name, "…")
    is_usage = _USAGE in message
    places += [(place, []) for place in (() if is_usage else _PYDANTIC.findall(message))]
    for place, options in places:
        for slot in _meant(tool, place):
            _blame(lesson, slot, record)
            lesson.values.setdefault(slot.path, []).extend(options)
    if not is_usage:
        _read_text(lesson, tool, record, message)
    return lesson


def _read_text(lesson: Lesson, tool: ProbedTool, record: ProbeRecord, message: str) -> None:
    """Read what a text quotes: names of arguments, values of the call, and values that are neither."""
    own = {path: str(value) for path, value in record.values.items() if value not in (None, "")}
    quoted = [match[2] for match in _QUOTED.finditer(message)]
    listed = [part for match in _OPTIONS.finditer(message) for part in re.split(r"\s*[,|/]\s*", match[1])]
    mentioned = []
    for slot in tool.slots:
        is_named = slot.name in quoted or _stands_in(slot.name, message)
        if is_named and not any(slot.name in text for text in own.values()):
            if slot.name in quoted or "_" in slot.name:
                _blame(lesson, slot, record)
            else:
                mentioned.append(slot)
    # a value of the call that is repeated: in quotes, or as a whole word that is no small one
    repeated = [path for path, text in own.items() if text in quoted or (len(text) >= 2 and _stands_in(text, message))]
    named = {slot.path for slot in mentioned}
    lesson.blamed = list(dict.fromkeys([*lesson.blamed, *sorted(repeated, key=lambda path: path not in named)]))
    # a name may be a mere word of the sentence: `the loss was before the policy began` is about the day of the loss
    shared = {slot.path: len(_words(f"{slot.name} {slot.described}") & _words(message)) for slot in tool.slots}
    for slot in sorted(tool.slots, key=lambda one: -shared[one.path]):
        is_told = not lesson.blamed and slot.path in record.values and shared[slot.path] >= _TELLING
        if slot in mentioned or is_told:
            _blame(lesson, slot, record)
    names = {slot.name for slot in tool.slots} | set(own.values())
    found = (*quoted, *_PATH.findall(message), *listed)
    news = [one for one in found if one not in names and not any(one in text for text in own.values())]
    for path in [*lesson.blamed, *lesson.asked][:2]:
        several = lesson.values.setdefault(path, [])
        several += [one for one in news if one not in several and one.count(" ") <= 2][:_NAMED]


def _stands_in(text: str, message: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(text)}(?![\w-])", message) is not None


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _blame(lesson: Lesson, slot: Slot, record: ProbeRecord) -> None:
    several = lesson.blamed if slot.path in record.values else lesson.asked
    if slot.path not in several:
        several.append(slot.path)


def _entries(value: Any, depth: int = 0) -> Iterator[tuple[str, list[Any]]]:
    """Give (where, what is taken there) of each error that an object lists."""
    if depth > 6:
        return
    value = inner(value)
    if isinstance(value, list):
        for item in value[:20]:
            yield from _entries(item, depth + 1)
    if not isinstance(value, Mapping):
        return
    place = next((value[key] for key in _PLACES if value.get(key)), None)
    steps = place if isinstance(place, list) else re.split(r"[./]", place) if isinstance(place, str) else []
    if steps:
        options = [one for key in _EXPECTED for one in _listed(value.get(key))]
        context = value.get("ctx") or value.get("params")
        if isinstance(context, Mapping):
            options += [one for key in _EXPECTED for one in _listed(context.get(key))]
        yield ".".join(str(step) for step in steps), options
    for item in value.values():
        if isinstance(item, list | dict):
            yield from _entries(item, depth + 1)


def _listed(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [one for one in value if isinstance(one, str | int | float)]
    if isinstance(value, str):
        quoted = [match[2] for match in _QUOTED.finditer(value)]
        return quoted or [part for part in re.split(r"\s*\|\s*", value) if part and " " not in part]
    return []


def _texts(value: Any) -> Iterator[str]:
    value = inner(value)
    if isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str) and value:
        yield value


def _meant(tool: ProbedTool, place: str) -> list[Slot]:
    """Find the argument that a path names, whatever it begins with: `body.order_id`, `/order_id`, `order_id`."""
    steps = [step for step in re.split(r"[./\[\]]", place) if step and not step.isdigit()]
    for start in range(len(steps)):
        path = ".".join(steps[start:])
        exact = [slot for slot in tool.slots if slot.path.replace(".*", "") == path]
        if exact:
            return exact
    last = words(steps[-1]) if steps else ()
    return [slot for slot in tool.slots if last and words(slot.name) == last][:1]
