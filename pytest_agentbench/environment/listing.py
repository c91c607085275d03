"""The tools of an environment as what executes them lists them, and how a committed list differs from that."""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from pytest_agentbench.core.suite import EnvironmentSpec
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.opening import open_remote
from pytest_agentbench.environment.toolset import load_tools, opening_of, remote_parts


async def real_toolset(spec: EnvironmentSpec, root: Path, gate: IsolationGate) -> Toolset:
    """Start or reach what executes the tools and give them all, committed lists being left aside.

    Raise `EnvironmentFaultError` where a service or a server is not there.
    """
    loaded = load_tools(spec, root, "listed")
    loaded.forget()
    specs = list(loaded.toolset)
    async with AsyncExitStack() as stack:
        for part, requestor in remote_parts(spec):
            if part.remote is None:
                continue
            without = part.remote.model_copy(update={"tools": None})
            source = await open_remote(without, opening_of(spec, requestor, root, part, session_id="listed", gate=gate))
            stack.push_async_callback(source.aclose)
            specs += source.specs
    return Toolset(specs=tuple(specs))


def as_list(toolset: Toolset) -> dict[str, Any]:
    """Give tools as a file that describes them holds them: by party, and what each does."""
    return {
        "agent": [spec.openai() for spec in toolset.of("assistant")],
        **({"user": [spec.openai() for spec in toolset.of("user")]} if toolset.of("user") else {}),
        "kinds": {spec.name: spec.kind for spec in toolset},
    }


def drift(listed: Toolset, real: Toolset) -> Iterator[str]:
    """Say where a committed list no longer describes the tools; tools that it leaves out are not offered, and fine."""
    for spec in listed:
        found = real.get(spec.name, spec.requestor)
        if found is None:
            yield f"{spec.name!r} is not there any more"
        elif found.parameters != spec.parameters:
            yield f"{spec.name!r} takes other arguments{_differences(spec, found)}"


def _differences(spec: ToolSpec, found: ToolSpec) -> str:
    before, after = (set(one.parameters.get("properties", {})) for one in (spec, found))
    parts = [f"no more {name!r}" for name in sorted(before - after)] + [
        f"now {name!r}" for name in sorted(after - before)
    ]
    return f": {', '.join(parts)}" if parts else " (their schema differs)"
