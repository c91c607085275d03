"""In which order tools are tried: what looks things up, what makes them, what works on them, what takes them away."""

from collections.abc import Sequence

from pytest_agentbench.generation.tools.graph.names import GENERIC, nouns, words
from pytest_agentbench.generation.tools.probing.laboratory import Subject
from pytest_agentbench.generation.tools.probing.schemas import Slot

_STAGES = ("read", "unknown", "write", "destructive")


def ordered(subjects: Sequence[Subject]) -> list[Subject]:
    """Give tools in the order in which they may be tried: reads first, destructive ones last, few needs before many."""

    def rank(subject: Subject) -> tuple[int, int, bool, int]:
        needs = sum(slot.required for slot in subject.slots)
        makes = {"create", "add", "insert", "new", "put", "register", "make", "write"} & set(words(subject.name))
        ids = sum("id" in words(slot.name) for slot in subject.slots if slot.required)
        if subject.destroys:  # what takes away one thing comes before what takes away all
            return len(_STAGES), 0, False, -needs
        stage = "write" if makes and subject.effect == "destructive" else subject.effect  # it may overwrite
        return _STAGES.index(stage), ids, not makes, needs

    return sorted(subjects, key=rank)


def needs_others(subject: Subject, names: Sequence[str]) -> bool:
    """Whether an argument that a tool needs is called like what another of these tools is about, or like an id."""
    about = nouns(*(name for name in names if name != subject.name))
    return any(slot.required and (is_reference(slot) or set(words(slot.name)) & about) for slot in subject.slots)


def is_reference(slot: Slot) -> bool:
    """Whether an argument's name says that it refers to something that is there already."""
    return bool({"id", "key", "hash", "reference", "code", "revision", "uri"} & set(words(slot.name)))


def is_bare(slot: Slot) -> bool:
    """Whether an argument's name says that it refers to something, and not to what: a mere `id`."""
    return is_reference(slot) and set(words(slot.name)) <= GENERIC
