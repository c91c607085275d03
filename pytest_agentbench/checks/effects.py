"""What a call did to the state: what was observed, else what the tool's kind says."""

from collections.abc import Iterable

from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.tool import Requestor, Toolset
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.environment.kinds import guessed_kind


def tool_writes(name: str, requestor: Requestor, toolset: Toolset) -> bool | None:
    """Whether calling the tool is meant to change state; None where its kind is not known."""
    spec = toolset.get(name, requestor)
    if spec is None or spec.kind == "unknown":
        return None
    return spec.kind == "write"


def wrote(record: CallRecord, toolset: Toolset) -> bool | None:
    """Whether the call changed state; None where nobody can tell.

    An observed change decides, even when the tool answered with an error. Where nothing was observed, a failed
    call changed nothing and any other did what its tool's kind says. A tool that nobody describes changed nothing where
    its name says that it reads; that a name says that it writes proves nothing.
    """
    if record.result is not None and record.result.wrote is not None:
        return record.result.wrote
    if record.failed:
        return False
    name, requestor = record.call.name, record.call.requestor
    if toolset.get(name, requestor) is None and guessed_kind(name) in ("read", "generic"):
        return False
    return tool_writes(name, requestor, toolset)


def is_write_tool(record: CallRecord, toolset: Toolset) -> bool | None:
    """Whether the call is one of a writing tool, succeed or not; None where nobody can tell."""
    if record.result is not None and record.result.wrote:
        return True
    return tool_writes(record.call.name, record.call.requestor, toolset)


def expects_write(expected: ExpectedCall, records: Iterable[CallRecord], toolset: Toolset) -> bool | None:
    """Whether an expected call is a write; where its kind is not known, calls of the tool that were observed tell."""
    declared = tool_writes(expected.name, expected.requestor, toolset)
    if declared is not None:
        return declared
    seen = [
        record.result.wrote
        for record in records
        if record.call.name == expected.name and record.result is not None and record.result.wrote is not None
    ]
    if any(seen):
        return True
    return False if seen else None
