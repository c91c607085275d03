"""Toolsets for tests of the calls that scenarios expect."""

import json
from pathlib import Path

from pytest_agentbench.core.tool import Requestor, Toolset, ToolSpec


def tool(name: str, *arguments: str, requestor: Requestor = "assistant") -> ToolSpec:
    """Make a tool that takes these arguments."""
    properties = {argument: {} for argument in arguments}
    return ToolSpec(name=name, parameters={"type": "object", "properties": properties}, requestor=requestor)


def tau2_toolset(file: Path) -> Toolset:
    """Read a τ² tool export."""
    export = json.loads(file.read_text())
    parties: tuple[tuple[str, Requestor], ...] = (("agent", "assistant"), ("user", "user"))
    return Toolset(
        specs=tuple(
            ToolSpec(name=one["function"]["name"], parameters=one["function"]["parameters"], requestor=requestor)
            for party, requestor in parties
            for one in export.get(party) or ()
        )
    )
