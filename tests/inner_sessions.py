"""What pytest finds alike at the start of each inner session, found once: it was a third of what a session costs."""

import functools
import importlib.metadata
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from _pytest import fixtures  # noqa: TID251 - no hook of pytest comes before this search

UNCHANGED = ("_pytest.", "xdist.", "pytest_agentbench.")
"""The packages whose modules and classes no test changes."""

_distributions = importlib.metadata.distributions
_parsefactories = fixtures.FixtureManager.parsefactories
_packages: dict[str, importlib.metadata.Distribution] = {}


class _Package(importlib.metadata.PathDistribution):
    """An installed package, of which each file is read once."""

    @functools.cached_property
    def metadata(self) -> Any:
        return super().metadata

    @functools.cached_property
    def entry_points(self) -> Any:
        return super().entry_points


def share() -> None:
    """Let the sessions of this process share what they find."""
    importlib.metadata.distributions = _shared_distributions
    fixtures.FixtureManager.parsefactories = _parse_new


def _shared_distributions(**context: Any) -> Iterator[importlib.metadata.Distribution]:
    """Give the installed packages: each `-p NAME` asks all of them for their entry points."""
    for found in _distributions(**context):
        if type(found) is not importlib.metadata.PathDistribution:
            yield found
            continue
        place = str(found._path)
        if place not in _packages:
            _packages[place] = _Package(found._path)
        yield _packages[place]


def _parse_new(self: fixtures.FixtureManager, *arguments: Any, **named: Any) -> None:
    """Search a plugin for fixtures, unless it is one that has none; an older pytest hands plugins over otherwise."""
    holder = named.get("holder")
    if holder is None or not _is_bare(holder if isinstance(holder, ModuleType | type) else type(holder)):
        _parsefactories(self, *arguments, **named)


def _is_bare(owner: Any) -> bool:
    name = owner.__module__ if isinstance(owner, type) else owner.__name__
    return f"{name}.".startswith(UNCHANGED) and not _has_fixtures(owner)


@functools.cache
def _has_fixtures(owner: Any) -> bool:
    spaces = owner.__mro__ if isinstance(owner, type) else (owner,)
    return any(type(value) is fixtures.FixtureFunctionDefinition for space in spaces for value in vars(space).values())
