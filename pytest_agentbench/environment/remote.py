"""The seam to tools that another process executes: what such a source of tools does, and what it is opened with."""

import fnmatch
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.tool import KindSource, Requestor, ToolKind, ToolResult, ToolSpec
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.kinds import guessed_kind
from pytest_agentbench.environment.schema_tools import read_schema_tools


class RemoteTools(Protocol):
    """A source of tools, opened for one run on one event loop."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools, in the order in which the source lists them."""
        ...

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool; what the tool refuses is a result, what the world breaks is an `EnvironmentFaultError`."""
        ...

    async def aclose(self) -> None:
        """End what belongs to this run; closing twice is fine."""
        ...


class ToolFailedError(Exception):
    """A remote tool did not do what it was asked, as agents that call tools themselves are told, in its own words."""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What opening a source needs to know of its run: folder of the suite, session, context, and what runs share.

    `reads` and `writes` are the suite's lists, `seen` the tools that were seen to write, `known` the tools
    as a committed list describes them. `prefix` is put before the names that the source has.
    """

    root: Path
    session_id: str
    gate: IsolationGate
    context: Mapping[str, Any] = field(default_factory=dict)
    requestor: Requestor = "assistant"
    reads: Sequence[str] = ()
    writes: Sequence[str] = ()
    seen: Sequence[str] = ()
    prefix: str = ""

    def settled(self, spec: ToolSpec, told: ToolKind | None, source: KindSource) -> ToolSpec:
        """Settle what a tool does: the suite's lists, else what its `source` tells, what was seen, or a guess."""
        kind: ToolKind
        name = f"{self.prefix}{spec.name}"
        if name in self.writes or name in self.reads:
            kind, source = "write" if name in self.writes else "read", "declared"
        elif told and not (source == "name" and name in self.seen):
            kind = told
        elif name in self.seen:
            kind, source = "write", "seen"
        else:
            kind, source = guessed_kind(spec.name), "name"
        return spec.model_copy(update={"kind": kind, "kind_from": source})


def listed_tools(file: Path, opening: Opening) -> tuple[ToolSpec, ...]:
    """Give the tools of a committed list; the suite's `reads` and `writes` settle more than the list does."""
    specs = read_schema_tools(file, requestor=opening.requestor)
    return tuple(opening.settled(spec, spec.kind, spec.kind_from) for spec in specs)


def is_address(document: str) -> bool:
    """Whether a document is to be fetched rather than read."""
    return document.startswith(("http://", "https://"))


def offered(
    specs: Sequence[ToolSpec], only: Sequence[str], listed: Sequence[ToolSpec] | None, source: str
) -> tuple[ToolSpec, ...]:
    """Give the tools that are offered: those that `only` names, and of a committed list what it lists.

    Raise `EnvironmentFaultError` where something is asked for that the source does not have, and where two tools have
    one name.
    """
    names = [spec.name for spec in specs]
    if doubled := sorted(name for name, count in Counter(names).items() if count > 1):
        raise EnvironmentFaultError(f"{source}: two tools are named {doubled[0]!r}; nobody could say which is called")
    for wanted in [*only, *(spec.name for spec in listed or ())]:
        if not fnmatch.filter(names, wanted):
            there = f"it has {listing(names)}" if names else "it has no tools"
            hint = suggestion(wanted, names)
            raise EnvironmentFaultError(f"{source} has no tool {wanted!r}; {there}{f' ({hint})' if hint else ''}")
    chosen = [spec for spec in specs if not only or any(fnmatch.fnmatchcase(spec.name, one) for one in only)]
    if listed is None:
        return tuple(chosen)
    kept = {spec.name: spec for spec in listed}
    return tuple(
        spec.model_copy(update={"kind": kept[spec.name].kind, "kind_from": kept[spec.name].kind_from})
        for spec in chosen
        if spec.name in kept
    )


def prefixed(specs: Sequence[ToolSpec], prefix: str) -> tuple[ToolSpec, ...]:
    """Give tools with a prefix before their names."""
    return tuple(spec.model_copy(update={"name": f"{prefix}{spec.name}"}) for spec in specs) if prefix else tuple(specs)


class PrefixedTools:
    """A source of tools whose names have a prefix (`RemoteTools`)."""

    def __init__(self, source: RemoteTools, prefix: str) -> None:
        self.specs = prefixed(source.specs, prefix)
        self._source = source
        self._prefix = prefix

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool by the name that the source knows."""
        return await self._source.call(name.removeprefix(self._prefix), arguments)

    async def aclose(self) -> None:
        """Close the source."""
        await self._source.aclose()


Now = Callable[[], float]
"""A clock, in seconds."""
