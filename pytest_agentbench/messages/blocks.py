"""Parts of content that say their type: OpenAI's chat, Anthropic's, LangChain's, OpenTelemetry's."""

from collections.abc import Callable, Collection, Mapping

from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.tool import ToolCall, read_arguments
from pytest_agentbench.messages.assembly import Assembly, made_call, read_call, read_result
from pytest_agentbench.messages.content import (
    TEXTS,
    UnreadableError,
    field,
    found,
    placeholder,
    result_text,
    text_field,
    text_part,
    thought_text,
)
from pytest_agentbench.messages.responses import is_responses_item, read_responses_item

_THOUGHT_KINDS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content", "thought"})
_CALLS = frozenset(
    {
        "tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "tool-call", "server_tool_call",
        "invalid_tool_call", "tool_call_chunk", "server_tool_call_chunk", "function_call", "custom_tool_call",
        "function",
    }
)  # fmt: skip
_RESULTS = frozenset({"tool_result", "tool-result", "tool_call_response", "server_tool_result"})

_DEPTH = 20
"""Steps of a place that are told."""

READABLE = _THOUGHT_KINDS | _CALLS | _RESULTS | {"text", "refusal", "image", "audio", "video", "file", "document"}


def read_part(part: object, at: Keys, into: Assembly, *, skip: Callable[[ToolCall], bool] = lambda _: False) -> None:
    """Read one part of a message's content; calls that `skip` knows stand elsewhere in the message.

    Raise `UnreadableError` for a part of a type that nobody knows.
    """
    while (kind := text_field(part, "type")) == "non_standard":
        part, at = field(part, "value"), (*at, "value") if len(at) < _DEPTH else at
    if field(part, "thought") is True and not kind:
        into.think(text_field(part, "text"))
    elif (text := text_part(part)) is not None:
        into.say(text)
    elif kind in TEXTS and field(part, "text", "content") is None:
        into.say("")
    elif not kind:
        read_gemini_part(part, at, into)
    elif kind == "refusal":
        into.say(text_field(part, "refusal", "text"))
    elif kind in _THOUGHT_KINDS:
        into.think(thought_text(part))
    elif kind in _CALLS:
        call = read_call(part, at)
        if not skip(call):
            into.call(call)
    elif kind in _RESULTS or kind.endswith("_tool_result"):
        read_result(part, into)
    elif is_responses_item(kind):
        read_responses_item(part, kind, into)
    else:
        raise UnreadableError(f"{found(part)}, a part of type {kind!r}, which nobody is known to send", at)


def is_part(kind: str) -> bool:
    """Whether a type is one of a part, which may stand in a list of messages by itself."""
    return kind in READABLE or kind.endswith("_tool_result") or kind in ("output_text", "input_text")


def is_call(kind: str) -> bool:
    """Whether a type is that of a call."""
    return kind in _CALLS


def is_thought(kind: str) -> bool:
    """Whether a type is that of a thought."""
    return kind in _THOUGHT_KINDS


def known_calls(calls: Collection[ToolCall]) -> Callable[[ToolCall], bool]:
    """Give what tells that a call stands among `calls`: by its id, else by its name and arguments."""
    ids = {call.id for call in calls if call.id}

    def is_known(call: ToolCall) -> bool:
        if call.id in ids:
            return True
        same = (one for one in calls if one.name == call.name and one.arguments == call.arguments)
        return any(not one.id or not call.id for one in same)

    return is_known


_CODE = "code_execution"
"""What Gemini's own tool for code is called."""

_ASIDE = frozenset(
    {
        "thought", "thought_signature", "video_metadata", "media_resolution", "part_metadata", "media_processing",
        "speech_metadata", "document_metadata", "spreadsheet_metadata", "audio_metadata", "type",
    }
)  # fmt: skip
"""Fields that say something about a part and are none."""


def read_gemini_part(part: object, at: Keys, into: Assembly) -> None:
    """Read a part; raise `UnreadableError` for one that has no field that is known."""
    read = False
    if isinstance(text := field(part, "text"), str):
        read = True
        if field(part, "thought") is True:
            into.think(text)
        else:
            into.say(str.__str__(text))
    if (call := field(part, "function_call", "functionCall")) is not None:
        read = True
        into.call(_call(call, at))
    if (result := field(part, "function_response", "functionResponse")) is not None:
        read = True
        _answer(result, into)
    for names, kind in ((("inline_data", "inlineData"), "blob"), (("file_data", "fileData"), "file")):
        if (media := field(part, *names)) is not None:
            read = True
            into.say(placeholder(media, kind) or "")
    if (spoken := field(part, "audio_transcription", "audioTranscription")) is not None:
        read = True
        into.say(text_field(spoken, "text"))
    if not (_read_server_side(part, into) or read):
        _refuse(part, at)


def _read_server_side(part: object, into: Assembly) -> bool:
    """Read what Google's own tools were asked and answered."""
    if (code := field(part, "executable_code", "executableCode")) is not None:
        arguments = {name: value for name in ("code", "language") if (value := text_field(code, name))}
        into.call(made_call(_CODE, arguments, text_field(code, "id")))
    elif (outcome := field(part, "code_execution_result", "codeExecutionResult")) is not None:
        failed = str(field(outcome, "outcome") or "").rpartition("OUTCOME_")[2] not in ("OK", "")
        into.answer(text_field(outcome, "output"), call_id=text_field(outcome, "id"), failed=failed, name=_CODE)
    elif (call := field(part, "tool_call", "toolCall")) is not None:
        into.call(made_call(_tool_type(call), field(call, "args"), text_field(call, "id")))
    elif (result := field(part, "tool_response", "toolResponse")) is not None:
        said = result_text(field(result, "response"))
        into.answer(said, call_id=text_field(result, "id"), failed=None, name=_tool_type(result))
    else:
        return False
    return True


def _call(call: object, at: Keys) -> ToolCall:
    name = text_field(call, "name")
    if not name:
        raise UnreadableError(f"{found(call)} as a function call; it names no tool", at)
    arguments, raw = read_arguments(field(call, "args"))
    return ToolCall(name=name, arguments=arguments, id=text_field(call, "id"), raw=raw)


def _answer(result: object, into: Assembly) -> None:
    """Give a result without its wrapping: one key `result`, `output` or `error` around what was answered."""
    response = field(result, "response")
    response = {} if response is None else response
    key = next(iter(response)) if isinstance(response, Mapping) and len(response) == 1 else ""
    content = response[key] if key in ("result", "output", "error") else response
    into.answer(
        result_text(content),
        call_id=text_field(result, "id"),
        failed=True if key == "error" else None,
        name=text_field(result, "name"),
    )


def _tool_type(part: object) -> str:
    """Give the name of one of Google's own tools, which has a type in place of a name."""
    kind = field(part, "tool_type", "toolType")
    return str(getattr(kind, "value", kind) or "tool").lower()


def _refuse(part: object, at: Keys) -> None:
    """Let a part pass that is empty, and no other."""
    if isinstance(part, Mapping):
        given = [str(name) for name, value in part.items() if value is not None and _snake(str(name)) not in _ASIDE]
        if not given:
            return
        raise UnreadableError(f"found a part with {', '.join(map(repr, given[:5]))}, which has no known type", at)
    told = getattr(part, "model_fields_set", None)
    if isinstance(told, set) and not any(
        getattr(part, name, None) is not None for name in told if isinstance(name, str) and name not in _ASIDE
    ):
        return
    raise UnreadableError(f"{found(part)} as a part of a message", at)


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
