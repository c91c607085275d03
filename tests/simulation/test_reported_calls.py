"""How long a recording takes to pair the calls that an agent tells of with those that its tools got."""

import json
from itertools import islice

from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.simulation.transcript_builder import Recording
from tests.growth import growth

ROWS = [{"id": number, "name": "x" * 40} for number in range(20)]


def told(count: int) -> list[str]:
    """Let an agent tell of calls whose arguments and answers it converted; give the ids of what stands then."""
    recording = Recording()
    recording.wrapped = frozenset({"look"})
    messages: list[Message] = []
    for number in range(count):
        call = ToolCall(name="look", arguments={"row": number}, id=f"o{number}")
        recording.observe(call, ToolResult(content=json.dumps([number, *ROWS])))
        call = ToolCall(name="look", arguments={"row": f"row {number}"}, id=f"c{number}")
        said = json.dumps([-number - 1, *ROWS])
        messages.append(Message(role="assistant", content=f"Step {number}.", tool_calls=(call,)))
        messages.append(Message(role="tool", content=said, tool_call_id=call.id))
    recording.report(tuple(messages), takes_tools=True)
    return [call.id if message.tool_calls else message.text for message in recording.messages
            for call in message.tool_calls or (None,) if message.role == "assistant"]  # fmt: skip


def test_many_converted_calls_are_paired_in_linear_time() -> None:
    """What the agent says beside each stands before it."""
    assert list(islice(told(20), 4)) == ["Step 0.", "o0", "Step 1.", "o1"]
    assert growth(told, 100) < 8
