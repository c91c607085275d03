"""What tools do that do not say whether they change anything: found out by calling them on the suite's own rows."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.policies.events.acts import Scene, arguments_of
from pytest_agentbench.generation.policies.events.offers import proposals
from pytest_agentbench.generation.policies.events.samples import Samples
from pytest_agentbench.generation.tools.world import World

_ROWS = 8
"""Rows of a table on which a tool is tried."""
_CALLS = 24
"""Calls of a tool that are tried; most come out in the first few."""


async def with_kinds(tools: Sequence[ToolSpec], samples: Samples, world: World) -> tuple[ToolSpec, ...]:
    """Give the tools, those of unknown kind as reading or writing where a call that succeeded tells."""
    return tuple([await _tried(spec, samples, world) if spec.kind == "unknown" else spec for spec in tools])


async def _tried(spec: ToolSpec, samples: Samples, world: World) -> ToolSpec:
    succeeded = False
    for number, arguments in enumerate(_calls(spec, samples)):
        if number >= _CALLS:
            break
        async with world.open() as opened:
            answer = await opened.call(spec.name, arguments)
        if answer.error or answer.crashed or answer.hung or answer.wrote is None:
            continue
        if answer.wrote:
            return spec.model_copy(update={"kind": "write"})
        succeeded = True
    return spec.model_copy(update={"kind": "read"}) if succeeded else spec


def _calls(spec: ToolSpec, samples: Samples) -> Iterator[dict[str, Any]]:
    """Give calls on rows of each table that the tool takes keys of, with their own values and with others'."""
    arguments = arguments_of(spec, samples)
    if arguments is None or not samples.roots:
        return
    tables = [one.table for one in arguments if one.role == "key" and not one.new] or [samples.roots[0]]
    for kind in ("read", "write"):
        as_if = spec.model_copy(update={"kind": kind})
        for table in dict.fromkeys(tables):
            for at in range(min(_ROWS, len(samples.rows.get(table, ())))):
                place = (table, at)
                cluster = samples.cluster(place, place)
                rows = {one: samples.row(one) for one in cluster.rows}
                scene = Scene(samples=samples, rows=rows, root=place, focuses=(place,))
                for one in proposals(as_if, arguments, scene, place, Random(spec.name))[:3]:  # noqa: S311 - a choice
                    yield one.arguments
