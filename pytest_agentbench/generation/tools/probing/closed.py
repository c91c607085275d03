"""Which arguments take known values only: made-up ones of that look are refused where the rest of the call works."""

from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.probing.conforming import fits
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord
from pytest_agentbench.generation.tools.probing.verdicts import is_silent

Closed = frozenset[tuple[str, str]]
"""Arguments, as (tool, path), that take known values only."""

_LARGEST = 2**53
"""Numbers beyond which JSON keeps no whole ones (RFC 8259 §6): that one is refused says nothing of others."""
_TOLD = 3
"""Characters of a value from which its being repeated in a refusal is no chance."""


def closed_slots(tools: dict[str, ProbedTool]) -> Closed:
    """Give the arguments that take known values only: more made-up values are refused than accepted."""
    return frozenset(
        (name, slot.path)
        for name, tool in tools.items()
        for slot in tool.slots
        if (refused := unknown_refused(tool, slot)) and len(refused) > len(unknown_accepted(tool, slot))
    )


def unknown_accepted(tool: ProbedTool, slot: Slot) -> set[str]:
    """Give the made-up values of an argument that were accepted, numbers apart: those may be of things there are."""
    return {
        str(value).strip().lower()
        for record in tool.works()
        if slot.path in record.unknown and not str(value := record.values[slot.path]).strip().isdigit()
    }


def unknown_refused(tool: ProbedTool, slot: Slot) -> list[Any]:
    """Give the made-up values of an argument that conform, and were not accepted in a call that otherwise works."""
    return [record.values[slot.path] for record in refusals_of_unknown(tool, slot)]


def looks_up(tool: ProbedTool, slot: Slot) -> bool:
    """Whether made-up values meet silence or a refusal: one thing is looked up, where a search gives no entries."""
    return any(
        record.verdict != "empty" or is_silent(record.answer.content) for record in refusals_of_unknown(tool, slot)
    )


def knows(tool: ProbedTool, slot: Slot) -> list[ProbeRecord]:
    """Give the calls that show that a tool knows a value of an argument: those that worked, and of a read that refuses
    made-up values those with an empty answer: the thing is there, and holds nothing.
    """
    verdicts = {record.verdict for record in refusals_of_unknown(tool, slot)}
    if not tool.is_read or not verdicts or "empty" in verdicts:
        return tool.worked()
    known = [one for one in (*tool.records, *tool.replays) if one.ok or one.verdict == "empty"]
    return sorted(known, key=lambda one: one.epoch)


def refusals_of_unknown(tool: ProbedTool, slot: Slot) -> list[ProbeRecord]:
    """Give the calls that a made-up value alone kept from working, one for each value."""
    if slot.schema.get("enum") or slot.type in ("boolean", "object", "array"):
        return []
    since: dict[str, int] = {}
    for record in tool.worked():
        since.setdefault(record.rest(slot.path), record.epoch)
    marks = {char for record in tool.works() for char in str(record.values.get(slot.path, ""))}
    found: dict[str, ProbeRecord] = {}
    verdicts: set[str] = set()
    failures = ("refused", "broken", "empty") if tool.is_read or tool.destroys else ("refused", "broken")
    for record in tool.records:
        value = record.values.get(slot.path)
        if record.verdict not in failures or slot.path not in record.unknown or not fits(value, slot):
            continue
        if not _is_alike(value, marks) or is_about_another(record, slot.path):
            continue
        if record.epoch >= since.get(record.rest(slot.path), record.epoch + 1):
            found.setdefault(dumps(value), record)
            verdicts.add(record.verdict)
    if verdicts == {"empty"} and _is_threshold(tool, slot, [record.values[slot.path] for record in found.values()]):
        return []
    return list(found.values())


def is_about_another(record: ProbeRecord, path: str) -> bool:
    """Whether a refusal repeats another argument's value, and not this one's: `no book 7` says nothing of shelves."""
    said = record.judged.reason
    own = str(record.values.get(path))
    others = (str(value) for name, value in record.values.items() if name != path)
    return own not in said and any(len(other) >= _TOLD and other in said for other in others)


def _is_threshold(tool: ProbedTool, slot: Slot, refused: list[Any]) -> bool:
    """Whether all numbers that brought nothing lie on one side of those that brought something: a bound, no name."""
    taken = [record.values[slot.path] for record in tool.works() if is_number(record.values.get(slot.path))]
    if not taken or not all(is_number(value) for value in refused):
        return False
    return bool(max(refused) < min(taken) or min(refused) > max(taken))


def _is_alike(value: Any, marks: set[str]) -> bool:
    """Whether a value is made of what accepted ones are made of: its form is then not what was refused."""
    if is_number(value):
        return abs(value) <= _LARGEST
    text = str(value)
    is_plain = bool(text) and text == text.strip() and len(text) <= 200
    return is_plain and all((char.isascii() and (char.isalnum() or char in "-_")) or char in marks for char in text)
