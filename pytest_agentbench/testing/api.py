"""The seam between what a script says and the API that a client speaks: a reader and a writer for each API."""

import json
import math
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from pytest_agentbench.testing.answers import Answer, ScriptedCall, Tokens
from pytest_agentbench.testing.fault import ErrorText
from pytest_agentbench.testing.script import ApiName, ModelRequest, ScriptError

PIECE = 24
"""Characters of a text or of arguments in one event of a stream."""

_CHARACTERS_PER_TOKEN = 4

_TYPES = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


class Api(Protocol):
    """One way to ask a model over HTTP, by `POST` to `path`, or to paths of its kind; ids begin with a `prefix`."""

    name: ApiName
    path: str
    prefix: str

    def takes(self, path: str) -> bool:
        """Whether a path is this API's."""
        return path == self.path

    def read(self, body: dict[str, Any], path: str) -> dict[str, Any]:
        """Give a request as a chat completion's body; raise `ScriptError` for what this server cannot take."""
        ...

    def identity(self, received: bytes) -> str:
        """Give the id of the answer to a request: it follows from the request alone, not from who came first."""
        return f"{self.prefix}{checksum(received)}"

    def whole(self, answer: Answer, request: ModelRequest, identity: str) -> bytes:
        """Give an answer as one JSON object; raise `ScriptError` where the API has no form for it."""
        ...

    def events(self, answer: Answer, request: ModelRequest, identity: str) -> Iterator[bytes]:
        """Give an answer as the server-sent events of a stream."""
        ...

    def error(self, status: int, error: ErrorText) -> bytes:
        """Give an error as the API writes it, here in OpenAI's form."""
        kind = error.kind or _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
        told = {"message": error.message, "type": kind, "param": error.param, "code": error.code or kind}
        return json.dumps({"error": told}).encode()


def checksum(received: bytes) -> str:
    """Give eight hexadecimal digits that follow from a body."""
    return f"{zlib.crc32(received):08x}"


def pieces(whole: str | None) -> Iterator[str]:
    """Cut a text as a stream brings it."""
    for start in range(0, len(whole or ""), PIECE):
        yield (whole or "")[start : start + PIECE]


def named_calls(answer: Answer, request: ModelRequest, prefix: str) -> list[tuple[str, ScriptedCall]]:
    """Give the calls with their ids; those without one are numbered on within the conversation."""
    before = sum(len(message.get("tool_calls") or ()) for message in request.messages) if answer.calls else 0
    return [(made.id or f"{prefix}{number}", made) for number, made in enumerate(answer.calls, before + 1)]


def tokens_of(answer: Answer, request: ModelRequest) -> Tokens | None:
    """Give the tokens that an answer says it took, estimated where the script does not know; None to say nothing."""
    if answer.usage == "none":
        return None
    if isinstance(answer.usage, Tokens):
        return answer.usage
    written = len(answer.content or "") + len(answer.refusal or "") + len(answer.thoughts or "")
    written += sum(len(made.name) + len(made.arguments) for made in answer.calls)
    return Tokens(
        input=_tokens(request.characters), output=_tokens(written), reasoning=_tokens(len(answer.thoughts or ""))
    )


def arguments_of(made: ScriptedCall, whose: str) -> dict[str, Any]:
    """Give the arguments of a call as the object that some APIs demand; raise `ScriptError` where they are none."""
    try:
        value = json.loads(made.arguments)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ScriptError(f"{whose} gives arguments as a JSON object, which {made.arguments!r} is not")
    return value


def as_chat_message(answer: Answer, calls: list[tuple[str, ScriptedCall]]) -> dict[str, Any]:
    """Give an answer as the message of a chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.content}
    if answer.thoughts is not None:
        message["reasoning_content"] = answer.thoughts
    if answer.refusal is not None:
        message["refusal"] = answer.refusal
    if calls:
        message["tool_calls"] = [called(key, made.name, made.arguments) for key, made in calls]
    return message


def called(key: str, name: str, arguments: str) -> dict[str, Any]:
    """Give a tool call as chat completions write it."""
    return {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}


def declared(name: str, description: object, schema: object) -> dict[str, Any]:
    """Give a tool that is offered as chat completions write it."""
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def joined(content: object) -> object:
    """Give a content that is nothing but text as one string, any other as it is."""
    if not isinstance(content, list):
        return content
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    is_text = len(texts) == len(content) and all(isinstance(text, str) for text in texts)
    return "".join(map(str, texts)) if is_text else content


def event(value: Mapping[str, Any], *, named: bool = True) -> bytes:
    """Give one server-sent event, under the name of its type where the API names events."""
    head = f"event: {value['type']}\n" if named else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()


def _tokens(characters: int) -> int:
    return math.ceil(characters / _CHARACTERS_PER_TOKEN)
