"""The content address of a request: equal for two requests that ask the same, whoever holds the secrets."""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.patterns import Pattern, PatternSyntaxError, pattern
from pytest_agentbench.core.values import JsonValue, to_json
from pytest_agentbench.llm.cassette.memo import Memo

Redact = Callable[[JsonValue], JsonValue]
"""Gives a JSON value without secrets; doing it twice changes nothing more."""

BLANK = "~"
"""What stands for text that makes no difference."""

_IRRELEVANT = frozenset(
    {"stream", "stream_options", "user", "metadata", "store", "service_tier", "prompt_cache_key", "safety_identifier"}
)
"""Fields that decide how an answer is sent, billed or filed, not what it says."""

_KNOWN = frozenset(
    {"model", "messages", "tools", "tool_choice", "response_format", "temperature", "seed", "max_tokens"}
)
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_EXACT = 2.0**53
"""Below this every whole float is an integer of its own."""


@dataclass(frozen=True)
class Asked:
    """A request as cassettes keep and compare it.

    `request` is redacted, without fields that decide nothing, and names tool calls by position. `fields` and `messages`
    are digests of its parts, `key` of the whole.
    """

    request: dict[str, JsonValue]
    fields: str
    messages: tuple[str, ...]
    key: str


class Keys:
    """Reads requests. What `ignore` matches, regular expressions over each text, makes no difference."""

    def __init__(self, redact: Redact, ignore: Iterable[str] = ()) -> None:
        """Compile `ignore`; raise `SuiteFaultError` where a pattern is none."""
        self._redact = redact
        self._ignore = [_compiled(text) for text in ignore]
        self._redacted: Memo[JsonValue] = Memo()
        self._digests: Memo[str] = Memo()

    def asked(self, body: dict[str, Any]) -> Asked:
        """Read a body as it is posted."""
        request: dict[str, JsonValue] = {}
        for name, value in to_json(body).items():
            if name in _IRRELEVANT or value is None or (name == "tools" and value == []):
                continue
            if name == "messages" and isinstance(value, list):
                request[name] = [
                    self._redacted.made(message, partial(self._message, message))
                    for message in _renamed([_told(message) for message in value])
                ]
            else:
                # together with its name: `password` tells what a value is
                member = {name: value}
                ((shown, redacted),) = self._redacted.made(member, partial(self._redact, member)).items()
                request[name if name in _KNOWN else shown] = redacted
        return self.recorded(request)

    def recorded(self, request: dict[str, JsonValue]) -> Asked:
        """Read a request that `asked` gave, perhaps with other patterns."""
        messages = request.get("messages")
        listed = messages if isinstance(messages, list) else []
        rest = {name: value for name, value in request.items() if name != "messages" or listed is not messages}
        digests = tuple(self._digest(message) for message in listed)
        fields = _digest({name: self._digest(value) for name, value in rest.items()})
        return Asked(request=request, fields=fields, messages=digests, key=_digest([fields, *digests]))

    def _digest(self, value: JsonValue) -> str:
        return self._digests.made(value, lambda: _digest(self._comparable(value)))

    def _message(self, message: JsonValue) -> JsonValue:
        redacted = self._redact(message)
        # a secret may be an ordinary word, such as the name of a database user
        if isinstance(message, dict) and message.get("role") in _ROLES:
            return {"role": message["role"], **{name: item for name, item in redacted.items() if name != "role"}}
        return redacted

    def _comparable(self, value: JsonValue) -> JsonValue:
        """Give the form in which equal digests mean equal requests: 1.0 is 1, and what is ignored is blank."""
        if isinstance(value, str):
            for ignored in self._ignore:
                value = ignored.replaced(BLANK, value)
            return value
        if isinstance(value, dict):
            return {name: self._comparable(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._comparable(item) for item in value]
        if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
            return int(value)
        return value


def _compiled(text: str) -> Pattern:
    try:
        return pattern(text)
    except PatternSyntaxError as error:
        raise SuiteFaultError(f"cassette.ignore: {text!r} is not a regular expression: {error}") from error


def _digest(value: JsonValue) -> str:
    # `dumps` keeps the order of keys, which decides nothing
    return hashlib.sha256(dumps(_sorted(value)).encode()).hexdigest()[:16]


def _sorted(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


def _told(message: JsonValue) -> JsonValue:
    """Drop what only some clients spell out: nulls and empty lists."""
    if not isinstance(message, dict):
        return message
    return {name: item for name, item in message.items() if item is not None and item != []}


def _renamed(messages: list[JsonValue]) -> list[JsonValue]:
    """Name each tool call by its position; a tool message answers the first unanswered call of its id."""
    names: dict[str, deque[str]] = {}
    count = 0
    renamed = []
    for message in messages:
        if not isinstance(message, dict):
            renamed.append(message)
            continue
        changed = dict(message)
        if isinstance(calls := message.get("tool_calls"), list):
            changed["tool_calls"] = []
            for call in calls:
                if isinstance(call, dict) and isinstance(call.get("id"), str):
                    count += 1
                    names.setdefault(call["id"], deque()).append(f"call-{count}")
                    changed["tool_calls"].append({**call, "id": f"call-{count}"})
                else:
                    changed["tool_calls"].append(call)
        if isinstance(answered := message.get("tool_call_id"), str):
            waiting = names.get(answered)
            changed["tool_call_id"] = waiting.popleft() if waiting else "call-unknown"
        renamed.append(changed)
    return renamed
