"""pydantic-ai's requests and responses, made of parts that are told by their `part_kind`."""

from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.messages.assembly import Assembly, read_call
from pytest_agentbench.messages.content import (
    UnreadableError,
    field,
    found,
    is_list,
    placeholder,
    result_text,
    text_field,
    text_part,
    thought_text,
)

_OUTPUT = "Final result processed."
"""What pydantic-ai answers to the call of its own tool through which a typed output passes."""

_TO_THE_MODEL = frozenset(
    {
        "system-prompt", "instruction", "instruction-baseline", "instruction-delta", "instruction-digest",
        "retry-feedback", "tool-availability-delta", "capability-load-delta", "model-settings-delta",
    }
)  # fmt: skip
"""What the framework tells its model, and no user said."""

_NOTHING = frozenset({"cache-point"})


def has_parts(item: object) -> bool:
    """Whether `item` is a request or a response."""
    return text_field(item, "kind") in ("request", "response") and is_list(field(item, "parts"))


def output_calls(items: list[object]) -> frozenset[str]:
    """Give the ids of calls that were no calls: a typed output passes through a tool of the framework's own.

    It ends its run, so that a user speaks next, or nobody. A tool of the agent's own may say the same.
    """
    return frozenset(
        text_field(part, "tool_call_id")
        for item, after in zip(items, (*items, None)[1:], strict=True)
        if has_parts(item) and text_field(item, "kind") == "request" and (_is_asked(item) or _is_end(after))
        for part in field(item, "parts")
        if text_field(part, "part_kind") == "tool-return" and field(part, "content") == _OUTPUT
    )


def _is_end(after: object) -> bool:
    """Whether what follows a request leaves it unanswered."""
    return after is None or text_field(after, "kind") == "request" or text_field(after, "role") == "user"


def _is_asked(request: object) -> bool:
    """Whether a user speaks in a request: it is joined with that of the next run."""
    return any(text_field(part, "part_kind") == "user-prompt" for part in field(request, "parts"))


def read_parts(item: object, at: Keys, into: Assembly, outputs: frozenset[str] = frozenset()) -> None:
    """Read a request (prompts, tool results) or a response; raise `UnreadableError` for a part that nobody knows.

    The arguments of a call in `outputs` are what the agent said.
    """
    is_response = text_field(item, "kind") == "response"
    if is_response:
        into.begin("assistant")
    for index, part in enumerate(field(item, "parts")):
        place = (*at, "parts", index)
        if is_response:
            _read_given(part, place, into, outputs)
        else:
            _read_requested(part, place, into, outputs)


def _read_requested(part: object, at: Keys, into: Assembly, outputs: frozenset[str]) -> None:
    kind, content = text_field(part, "part_kind"), field(part, "content")
    if kind == "user-prompt":
        into.begin("user")
        _say(content, (*at, "content"), into)
    elif kind in ("tool-return", "builtin-tool-return") or (kind == "retry-prompt" and field(part, "tool_name")):
        if text_field(part, "tool_call_id") not in outputs:
            _answer(part, into)
    elif kind in _TO_THE_MODEL or kind == "retry-prompt":
        into.begin("system")
        into.say(result_text(content))
    elif kind == "speech":
        into.begin("user")
        into.say(text_field(part, "transcript") or "[audio]")
    else:
        raise UnreadableError(f"{found(part)}, a part of kind {kind!r}, which no request is known to have", at)


def _read_given(part: object, at: Keys, into: Assembly, outputs: frozenset[str]) -> None:
    kind = text_field(part, "part_kind")
    if kind == "text":
        into.say(text_field(part, "content"))
    elif kind in ("thinking", "compaction"):
        into.think(thought_text(part))
    elif kind in ("tool-call", "builtin-tool-call"):
        call = read_call(part, at)
        if call.id in outputs:
            into.say(result_text(field(part, "args")))
        else:
            into.call(call)
    elif kind == "builtin-tool-return":
        _answer(part, into)
    elif kind == "file":
        into.say(placeholder(field(part, "content"), "binary") or "[file]")
    elif kind == "speech":
        into.say(text_field(part, "transcript") or "[audio]")
    else:
        raise UnreadableError(f"{found(part)}, a part of kind {kind!r}, which no response is known to have", at)


def _answer(part: object, into: Assembly) -> None:
    failed = text_field(part, "part_kind") == "retry-prompt" or text_field(part, "outcome") not in ("", "success")
    into.answer(
        result_text(field(part, "content")),
        call_id=text_field(part, "tool_call_id"),
        failed=failed,
        name=text_field(part, "tool_name"),
    )


def _say(content: object, at: Keys, into: Assembly) -> None:
    if isinstance(content, str):
        into.say(str.__str__(content))
        return
    if not isinstance(content, list | tuple):
        raise UnreadableError(f"{found(content)} as the content of a prompt; expected text or a list of parts", at)
    for index, part in enumerate(content):
        text = text_part(part)
        if text is not None:
            into.say(text)
        elif text_field(part, "kind") not in _NOTHING:
            raise UnreadableError(f"{found(part)} as a part of a prompt", (*at, index))
