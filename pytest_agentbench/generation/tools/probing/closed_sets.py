"""Which arguments take known values only: made-up ones of that look are refused where the rest of the call works."""

from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.json_values import is_number
from pytest_agentbench.generation.tools.probing.schema_values import fits
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord
from pytest_agentbench.generation.tools.probing.verdicts import is_silent

_LARGEST = 2**53
"""Numbers beyond which JSON keeps no whole ones (RFC 8259 §6): that one is refused says nothing of others."""
_REPEATED = 3
"""Characters of a value from which its being repeated in a refusal is no chance."""


def closed_slots(tools: dict[str, ProbedTool]) -> set[tuple[str, str]]:
    """Give the arguments, as (tool, path), of which more made-up values are refused than accepted."""
    every = ((tool, slot) for tool in tools.values() for slot in tool.slots)
    return {
        (tool.name, slot.path)
        for tool, slot in every
        if (refused := unknown_refused(tool, slot)) and len(refused) > len(unknown_accepted(tool, slot))
    }


def unknown_accepted(tool: ProbedTool, slot: Slot) -> set[str]:
    """Give the made-up values of an argument that were accepted, numbers apart: those may be of things there are."""
    taken = (str(one.values[slot.path]).strip().lower() for one in tool.works() if slot.path in one.unknown)
    return {text for text in taken if not text.isdigit()}


def unknown_refused(tool: ProbedTool, slot: Slot) -> list[Any]:
    """Give the made-up values of an argument that conform, and were not accepted in a call that otherwise works."""
    return [record.values[slot.path] for record in refusals_of_unknown(tool, slot)]


def looks_up(tool: ProbedTool, slot: Slot) -> bool:
    """Whether made-up values meet silence or a refusal: one thing is looked up, where a search gives no entries."""
    refusals = refusals_of_unknown(tool, slot)
    return any(record.verdict != "empty" or is_silent(record.answer.content) for record in refusals)


def knows(tool: ProbedTool, slot: Slot) -> list[ProbeRecord]:
    """Give the calls that show that a tool knows a value of an argument: those that worked, and of a read that refuses
    made-up values those with an empty answer: the thing is there, and holds nothing.
    """
    verdicts = {record.verdict for record in refusals_of_unknown(tool, slot)}
    if not tool.is_read or not verdicts or "empty" in verdicts:
        return tool.worked()
    known = [one for one in (*tool.records, *tool.replays) if one.verdict in ("ok", "empty")]
    return sorted(known, key=lambda one: one.epoch)


def refusals_of_unknown(tool: ProbedTool, slot: Slot) -> list[ProbeRecord]:
    """Give the calls that a made-up value alone kept from working, one for each value."""
    if not slot.is_open:
        return []
    marks = {char for record in tool.works() for char in str(record.values.get(slot.path, ""))}
    failures = ("refused", "broken", "empty") if tool.is_read or tool.destroys else ("refused", "broken")
    found: dict[str, ProbeRecord] = {}
    for record in tool.failed_alone(slot.path):
        value = record.values[slot.path]
        is_unknown = slot.path in record.unknown and fits(value, slot) and _is_alike(value, marks)
        if record.verdict in failures and is_unknown and not is_about_another(record, slot.path):
            found.setdefault(dumps(value), record)
    refused = [record.values[slot.path] for record in found.values()]
    is_search = {record.verdict for record in found.values()} == {"empty"}
    return [] if is_search and _is_threshold(tool, slot, refused) else list(found.values())


def is_about_another(record: ProbeRecord, path: str) -> bool:
    """Whether a refusal repeats another argument's value, and not this one's: `no book 7` says nothing of shelves."""
    said = record.judged.reason
    others = (str(value) for name, value in record.values.items() if name != path)
    return str(record.values.get(path)) not in said and any(len(one) >= _REPEATED and one in said for one in others)


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
