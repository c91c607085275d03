"""The call that opens a session: what a service wants first in each conversation, and then remembers.

Nothing of it is handed on. It shows by what it does: calls that were refused work once it was made, and others are no
longer refused in the same words. It takes known values only, as a badge and its pin are, and made-up ones are refused.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pytest_agentbench.generation.tools.probing.replay import ReplayLog
from pytest_agentbench.generation.tools.probing.schema_values import stranger
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord, ProbeSession

_LEAST = 2
"""Tools that a call opens, from which it opens a session."""
_TRIED, _MOST = 4, 6
"""Refused tools that are called again, and calls of which it is found out whether they open a session."""
_FAILED = ("refused", "broken", "environment")


async def find_opener(log: ReplayLog, tool: ProbedTool) -> bool:
    """Find out whether the call that a tool accepted opens a session; each environment is then opened with it.

    What was refused before is forgotten: it says nothing of the values.
    """
    session, record = log.session, tool.base
    if session.opener is not None or record is None or not record.values or not log.can_restore:
        return False
    here = [one for one in session.records if one.world == session.world_number and one.tool != tool.name]
    latest = {one.tool: one for one in reversed(here) if one.verdict in _FAILED}
    refused = {one.tool: one for one in _of_one_refusal(list(latest.values()))[:_TRIED]}
    if not refused or session.openers_tried >= _MOST:
        return False
    session.openers_tried += 1
    if await _opens(session, tool, record, refused):
        for one in session.tools.values():
            if one is not tool and one.base is None:
                one.records.clear()
                one.given_up = ""
    await log.restore()
    return session.opener is not None


async def _opens(
    session: ProbeSession, tool: ProbedTool, record: ProbeRecord, refused: Mapping[str, ProbeRecord]
) -> bool:
    """Whether calls that were refused work after a call, which takes known values alone."""
    if not await _is_checked(session, tool, record):
        return False
    now = {name: await _again(session, one) for name, one in refused.items()}
    works = [name for name, one in now.items() if one is not None and one.ok]
    words = {_words(refused[name]) for name in works}
    opened = {name for name, one in now.items() if one and _words(refused[name]) in words and _words(one) not in words}
    return len(opened) >= _LEAST and await _is_cause(session, record, refused[works[0]])


def _of_one_refusal(refused: Sequence[ProbeRecord]) -> list[ProbeRecord]:
    """Give the tools that take nothing in common and are refused in the same words: *Please sign in first.*"""
    alike: dict[str, list[ProbeRecord]] = defaultdict(list)
    for one in refused:
        alike[_words(one)].append(one)
    several = (some for some in alike.values() if not set.intersection(*(set(one.values) for one in some)))
    found = max(several, key=len, default=[])
    # what takes nothing works once the session is open, whatever else is made up
    return sorted(found, key=lambda one: len(one.values)) if len(found) >= _LEAST else []


async def find_opened(session: ProbeSession, tools: Sequence[ProbedTool]) -> None:
    """Find out which tools want the opening call first: those whose calls are refused without it, and only then."""
    opener = session.opener
    if opener is None:
        return
    every = [one for one in tools if one.base is not None and one.name != opener.tool]
    with_it = await _each_fresh(session, every)
    session.opener = None
    without = await _each_fresh(session, every)
    session.opener = opener
    for tool, one, other in zip(every, with_it, without, strict=True):
        if one is not None and other is not None and other.verdict in _FAILED and _words(one) != _words(other):
            tool.opener = opener.tool


async def _each_fresh(session: ProbeSession, tools: Sequence[ProbedTool]) -> list[ProbeRecord | None]:
    """Make the call that each tool accepted in an environment in which no change was made."""
    found, fresh = [], -1
    for tool in tools:
        if session.epoch != fresh:
            await session.renew()
            fresh = session.epoch
        found.append(await _again(session, tool.base) if tool.base is not None else None)
    return found


async def _is_checked(session: ProbeSession, tool: ProbedTool, record: ProbeRecord) -> bool:
    """Whether made-up values are refused in the place of the accepted ones."""
    texts = {path: value for path, value in record.values.items() if isinstance(value, str) and value}
    made_up = {
        path: stranger(value, session.chance(tool, slot)) for path, value in texts.items() if (slot := tool.slot(path))
    }
    other = await session.try_values(tool, {**record.values, **made_up}, "boundary") if made_up else None
    if other is not None:
        await _again(session, record)
    return other is not None and not other.ok


async def _is_cause(session: ProbeSession, record: ProbeRecord, refused: ProbeRecord) -> bool:
    """Whether a refused call works in a fresh environment once the opening call was made, and not before."""
    await session.renew()
    before = await _again(session, refused)
    session.opener = record
    await session.renew()
    after = await _again(session, refused)
    if before is None or before.ok or after is None or not after.ok:
        session.opener = None
    return session.opener is not None


async def _again(session: ProbeSession, record: ProbeRecord) -> ProbeRecord | None:
    return await session.replay(session.tools[record.tool], record.arguments)


def _words(record: ProbeRecord) -> str:
    """Give what an answer says, whichever tool gave it."""
    return record.template.replace(record.tool, "")
