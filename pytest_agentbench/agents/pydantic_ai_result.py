"""What a run of pydantic-ai's gives: its new messages, and a typed output as the text that ends the turn."""

from pytest_agentbench.messages.content import field, result_text, text_field
from pytest_agentbench.messages.pydantic_ai import has_parts


def is_result(result: object) -> bool:
    """Whether `result` is an `AgentRunResult`."""
    return callable(getattr(result, "new_messages", None))


def result_messages(result: object) -> list[object]:
    """Give the new messages of a result.

    A typed output passes through a tool of pydantic-ai's own, which is left out; the output itself is said at the end.
    """
    listed = list(result.new_messages())  # type: ignore[attr-defined]  # `is_result` has seen it
    output_tool = text_field(result, "_output_tool_name")
    if not output_tool:
        return listed
    kept = [_without(item, output_tool) if has_parts(item) else item for item in listed]
    return [*kept, {"role": "assistant", "content": result_text(field(result, "output"))}]


def _without(item: object, tool: str) -> object:
    parts = [part for part in field(item, "parts") if text_field(part, "tool_name") != tool]
    return {"kind": text_field(item, "kind"), "parts": parts}
