"""The files of the stages before drafts, each with the hash of what it was made from: read where it still holds."""

import json
from collections.abc import Awaitable, Callable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest, dumps, loads
from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.generation.tools.data_types import PoolEntry, Walk
from pytest_agentbench.generation.tools.recruiting.pool import Pool

CARDS = "cards.json"
TAXONOMY = "taxonomy.json"
GRAPH = "graph.json"
SCORES = "scores.json"
GOALS = "goals.json"
POOL = "pool.json"
WALKS = "walks.json"

_SCHEMA = "agentbench-generation/1"


class PoolFile(Model):
    """The pool of verified calls, and why tools have none."""

    entries: tuple[PoolEntry, ...] = ()
    why: dict[str, str] = {}

    @cached_property
    def pool(self) -> Pool:
        """The pool."""
        return Pool(entries=self.entries)


class WalkFile(Model):
    """The walks that became scenarios."""

    walks: tuple[Walk, ...] = ()


M = TypeVar("M", bound=Model)


def save(path: Path, value: Model, made_from: str) -> None:
    """Write a value with the hash of what it was made from: ASCII JSON, an entry a line."""
    body = json.loads(dumps(value))
    fields = {"schema": _SCHEMA, "made_from": made_from, **body}
    lines = []
    for name, part in fields.items():
        if isinstance(part, list) and part:
            laid_out = "[\n" + ",\n".join(f"  {dumps(entry)}" for entry in part) + "\n ]"
        else:
            laid_out = dumps(part)
        lines.append(f" {dumps(name)}: {laid_out}")
    write_atomic(path, "{\n" + ",\n".join(lines) + "\n}\n")


def load(path: Path, kind: type[M], made_from: str | None = None) -> M | None:
    """Read a value; None where there is no file, or it was made from something else.

    Raise `ResultsError` where the file is none of ours or does not fit; `made_from` None takes whatever is there.
    """
    try:
        data = loads(path.read_text(encoding="ascii"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path} cannot be read: {error}; remove it to have it made anew") from error
    if not isinstance(data, dict) or data.pop("schema", None) != _SCHEMA:
        raise ResultsError(
            f"{path} is not a file of `agentbench generate` of this version; remove it to have it made anew"
        )
    if data.pop("made_from", None) != made_from and made_from is not None:
        return None
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ResultsError(f"{path}: {place}: {first['msg']}; remove it to have it made anew") from error


async def resumed(
    path: Path, kind: type[M], made_from: str, make: Callable[[], Awaitable[M]], *, force: bool = False
) -> M:
    """Give the saved value where it was made from the same, else make it and save it."""
    known = None if force else load(path, kind, made_from)
    if known is not None:
        return known
    made = await make()
    save(path, made, made_from)
    return made


def hash_of(*parts: object) -> str:
    """Give the hash of what a stage is made from."""
    return digest(list(parts))
