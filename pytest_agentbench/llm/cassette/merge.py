"""Bringing what the processes of a session noted into the cassette."""

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.core.files import ProcessLock
from pytest_agentbench.llm.cassette.file import (
    Cassette,
    Exchange,
    Play,
    Roles,
    RunName,
    Used,
    numbered,
    read_cassette,
    read_shard,
    write_cassette,
)
from pytest_agentbench.llm.cassette.modes import Mode


@dataclass(frozen=True)
class Merged:
    """What a merge did: exchanges that came in and went out, and whether the file is another one now."""

    recorded: int = 0
    dropped: int = 0
    written: bool = False


def merge(cassette: Path, shards: Iterable[Path]) -> Merged:
    """Bring shards into a cassette and delete them; merging what was merged already changes nothing.

    Of a run that was played to its end the cassette then holds what that play used and recorded, in this order; its
    last finished play decides. What was recorded of an unfinished run is added, so that it is not paid for twice,
    except in a refresh that has not replaced everything. Runs that were not played stay as they are. What was
    learnt of a model's server is added to the header, in a refresh in place of what was there.
    Raise `SuiteError` where the cassette cannot be read; the shards then stay.
    """
    found = sorted((shard for shard in shards if shard.is_file()), key=_session)
    if not found:
        return Merged()
    with _locked(cassette):
        held = read_cassette(cassette)
        before = _count(held)
        plays: dict[RunName, list[Play]] = {}
        servers: dict[str, tuple[str, ...]] = {}
        for shard in found:
            listed, facts = read_shard(shard)
            for play in listed:
                plays.setdefault(play.run, []).append(play)
            for model, (mode, learnt) in facts.items():
                before_it = () if mode is Mode.REFRESH else held.servers.get(model, ())
                servers[model] = (*servers.get(model, before_it), *learnt)
        held.servers.update(servers)
        for run, played in plays.items():
            _put(held, run, _outcome(held.runs.get(run, {}), played))
        _drop_later_attempts(held, plays)
        after = _count(held)
        # a session that found nothing to record makes no file
        written = (bool(after) or cassette.exists()) and write_cassette(cassette, held)
        for shard in found:
            shard.unlink()
    return Merged(recorded=(after - before).total(), dropped=(before - after).total(), written=written)


@contextlib.contextmanager
def _locked(cassette: Path) -> Iterator[None]:
    """Keep other processes away while the file is read, changed and written; nothing stays beside it."""
    lock = ProcessLock(cassette.with_name(f".{cassette.name}.lock"))
    with lock:
        try:
            yield
        finally:
            lock.forget()


def _session(shard: Path) -> tuple[int, list[tuple[int, str]]]:
    """Order shards by the number of the session that ends their name, then by process; 10 comes after 2."""
    parts = [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", shard.stem)]
    process, dash, number = shard.stem.rpartition("-")
    return int(number) if process and dash and number.isdecimal() else -1, parts


def _outcome(held: Roles, played: list[Play]) -> Roles:
    finished = [play for play in played if play.finished]
    if finished and (roles := _played(held, finished[-1])) is not None:
        return roles
    return _added(held, max(played, key=lambda play: play.kept))


def _played(held: Roles, play: Play) -> Roles | None:
    """Give what a finished play used and recorded; None where another session took away what it used."""
    roles: Roles = {}
    for role, placed in play.answers.items():
        listed: list[Exchange] = []
        for _, answer in sorted(placed.items()):
            exchange = _recording(held.get(role, []), answer) if isinstance(answer, Used) else answer
            if exchange is None:
                return None
            listed.append(exchange)
        # requests made side by side come in any order; where all of them were recorded, theirs stays
        same = len(listed) == len(held.get(role, [])) and all(isinstance(answer, Used) for answer in placed.values())
        roles[role] = held[role] if same and listed else numbered(listed)
    return roles


def _recording(listed: list[Exchange], used: Used) -> Exchange | None:
    alike = [exchange for exchange in listed if exchange.identity == used.identity]
    return alike[used.repeat] if used.repeat < len(alike) else None


def _added(held: Roles, play: Play) -> Roles:
    if play.mode is Mode.REFRESH and held:
        return held
    roles = dict(held)
    for role, placed in play.answers.items():
        listed = list(roles.get(role, []))
        present = [exchange.identity for exchange in listed]
        for _, answer in sorted(placed.items()):
            if isinstance(answer, Used):
                continue
            if answer.identity in present:
                present.remove(answer.identity)
            else:
                listed.append(answer)
        roles[role] = numbered(listed)
    return roles


def _drop_later_attempts(held: Cassette, plays: dict[RunName, list[Play]]) -> None:
    """Forget attempts that were needed once: a run whose attempt 1 now decides is never tried a second time."""
    last: dict[RunName, int] = {}
    for run in plays:
        first = run._replace(attempt=1)
        last[first] = max(run.attempt, last.get(first, 0))
    for run in list(held.runs):
        decisive = last.get(first := run._replace(attempt=1), run.attempt)
        if run.attempt > decisive and any(play.finished for play in plays[first._replace(attempt=decisive)]):
            del held.runs[run]


def _put(held: Cassette, run: RunName, roles: Roles) -> None:
    kept = {role: listed for role, listed in roles.items() if listed}
    if kept:
        held.runs[run] = kept
    else:
        held.runs.pop(run, None)


def _count(cassette: Cassette) -> Counter[tuple[RunName, str, str]]:
    return Counter((exchange.run, exchange.role, exchange.identity) for exchange in cassette.exchanges())
