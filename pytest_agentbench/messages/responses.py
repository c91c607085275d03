"""Items of OpenAI's Responses API that are no messages: calls of functions, tools that OpenAI ran, their outputs."""

from collections.abc import Mapping

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.json_values import to_json
from pytest_agentbench.messages.assembly import Assembly, made_call, said_failed
from pytest_agentbench.messages.content import field, result_text, text_field

_RAN = {
    "web_search_call": (("action",), ()),
    "file_search_call": (("queries",), ("results",)),
    "code_interpreter_call": (("code",), ("outputs",)),
    "image_generation_call": (("revised_prompt",), ()),
    "mcp_call": (("arguments",), ("output", "error")),
}
"""Calls that OpenAI ran itself: what holds their arguments, and their result."""

_ASKED = {
    "computer_call": ("action", "actions"),
    "local_shell_call": ("action",),
    "shell_call": ("action",),
    "apply_patch_call": ("operation",),
    "tool_search_call": ("arguments",),
    "program": ("code",),
}
"""Calls that another item answers, and what holds their arguments."""

_OUTPUTS = frozenset(
    {
        "function_call_output", "custom_tool_call_output", "computer_call_output", "local_shell_call_output",
        "shell_call_output", "apply_patch_call_output", "tool_search_output", "program_output",
    }
)  # fmt: skip
_APPROVALS = frozenset({"mcp_approval_request", "mcp_approval_response"})
_HOUSEKEEPING = frozenset(
    {"mcp_list_tools", "additional_tools", "configuration_update", "compaction", "compaction_trigger"}
)
"""What says nothing of a conversation: lists of tools, settings, what stands for an older part of it."""


def is_responses_item(kind: str) -> bool:
    """Whether a type is that of an item which is no message and nobody else's part."""
    return kind in _RAN or kind in _ASKED or kind in _OUTPUTS or kind in _APPROVALS or kind in _HOUSEKEEPING


def is_responses_call(kind: str) -> bool:
    """Whether a type is that of a call."""
    return kind in _RAN or kind in _ASKED or kind == "mcp_approval_request"


def read_responses_item(item: object, kind: str, into: Assembly) -> None:
    """Read an item. Tools that have no name of their own are called by their type: `web_search`."""
    call_id = text_field(item, "call_id", "id")
    if kind in _RAN:
        arguments, results = _RAN[kind]
        name = text_field(item, "name") or kind.removesuffix("_call")
        into.call(made_call(name, _arguments(item, arguments), call_id))
        content = field(item, *results) if results else None
        status = text_field(item, "status")
        failed = status in ("failed", "incomplete") or field(item, "error") is not None
        said = "[image]" if kind == "image_generation_call" else result_text(_plain(content)) or status
        into.answer(said, call_id=call_id, failed=failed)
    elif kind in _ASKED:
        into.call(made_call(kind.removesuffix("_call"), _arguments(item, _ASKED[kind]), call_id))
    elif kind in _OUTPUTS:
        output = "[image]" if kind == "computer_call_output" else field(item, "output", "result", "tools")
        into.answer(result_text(output), call_id=call_id, failed=said_failed(item, output))
    elif kind == "mcp_approval_request":
        asked = made_call(text_field(item, "name"), field(item, "arguments"), call_id)
        into.say(f"[asks for approval: {asked.name} {asked.raw or dumps(asked.arguments)}]")
    elif kind == "mcp_approval_response":
        into.begin("user")
        into.say("[approved]" if field(item, "approve") else "[not approved]")


def _arguments(item: object, names: tuple[str, ...]) -> object:
    """Give what a call was asked to do: a mapping as it is, anything else under the name of its field."""
    value = _plain(field(item, *names))
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return {key: one for key, one in value.items() if one is not None}
    if names == ("arguments",):
        return value
    return {next(name for name in names if field(item, name) is not None): value}


def _plain(value: object) -> object:
    """Give data for an object of the client's."""
    if value is None or isinstance(value, str):
        return value
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", exclude_none=True)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return to_json(value)
