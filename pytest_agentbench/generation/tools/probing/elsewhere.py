"""What other tools accepted under the same name: what a thing is called for one, it is called for the next."""

from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.tools.graph.names import nouns, words
from pytest_agentbench.generation.tools.probing.candidates import fits
from pytest_agentbench.generation.tools.probing.laboratory import Laboratory, Subject
from pytest_agentbench.generation.tools.probing.ordering import is_bare
from pytest_agentbench.generation.tools.probing.schemas import Slot

PATHS = frozenset({"path", "file", "directory", "source", "destination", "target", "workbook"})
"""What arguments are called that take the name of a file or folder."""
NEW = frozenset({"name", "title", "label", "branch", "key", "slug"})
"""What arguments are called under which something new is made."""
_ENDS = frozenset({"source", "from"})
_MOST = 2


def accepted_elsewhere(lab: Laboratory, subject: Subject, slot: Slot) -> list[Any]:
    """Give the values that other tools accepted under the same name, unless they name what was to be made anew.

    A mere `id` counts only where the other tool is about the same things.
    """
    if slot.type == "boolean" or set(words(slot.name)) & NEW:
        return []
    values: dict[str, Any] = {}
    for other, path, value in _accepted(lab, subject):
        same = path.rstrip(".*").split(".")[-1] == slot.name
        if same and fits(value, slot) and (not is_bare(slot) or _is_akin(lab, subject, slot, other, path)):
            values.setdefault(dumps(value), value)
    return list(values.values())[:_MOST]


def paths_elsewhere(lab: Laboratory, subject: Subject, slot: Slot) -> list[Any]:
    """Give the paths that other tools accepted, for an argument that says only where something comes from."""
    if slot.type == "boolean" or not _ENDS & set(words(slot.name)):
        return []
    values: dict[str, Any] = {}
    for _, path, value in _accepted(lab, subject):
        if PATHS & set(words(path.split(".")[-1])) and fits(value, slot):
            values.setdefault(dumps(value), value)
    return list(values.values())[:_MOST]


def _accepted(lab: Laboratory, subject: Subject) -> list[tuple[str, str, Any]]:
    """Give what other tools accepted, those first whose names speak of the same things."""
    about = nouns(lab.bare[subject.name])
    others = sorted(lab.subjects.values(), key=lambda other: -len(about & nouns(lab.bare[other.name])))
    return [
        (other.name, path, value)
        for other in others
        if other.name != subject.name and other.base is not None
        for path, value in other.base.values.items()
    ]


def _is_akin(lab: Laboratory, subject: Subject, slot: Slot, other: str, path: str) -> bool:
    names = tuple(step for step in path.split(".") if step != "*")
    return lab.likeness(slot.path, subject.name, names, other) >= 0.5
