"""Gemini's parts, told by the one field that each of them has, in either spelling; Google ADK's are the same."""

from collections.abc import Mapping

from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.tool import ToolCall, read_arguments
from pytest_agentbench.messages.assembly import Assembly
from pytest_agentbench.messages.calls import made_call
from pytest_agentbench.messages.content import UnreadableError, field, found, placeholder, result_text, text_field

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
