"""The content address of a request: equal for two requests that ask the same, whoever holds the secrets."""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.patterns import Pattern, PatternSyntaxError, pattern
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.llm.apis.api import Api, Ids, Redact
from pytest_agentbench.llm.apis.registry import API_NAMES, CHAT

Made = TypeVar("Made")


class Memo(Generic[Made]):
    """Remembers what was made of values, the latest used up to `limit` characters of JSON; safe from several threads.

    What is remembered is shared: nobody changes it.
    """

    def __init__(self, limit: int = 16_000_000) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._made: OrderedDict[bytes, tuple[int, Made]] = OrderedDict()
        self._size = 0

    def made(self, value: JsonValue, make: Callable[[], Made]) -> Made:
        """Give what `make` gives for `value`, exact builtin JSON types, from memory where an equal value was seen."""
        text = json.dumps(value)
        key = hashlib.sha256(text.encode()).digest()
        with self._lock:
            if (known := self._made.get(key)) is not None:
                self._made.move_to_end(key)
                return known[1]
        made = make()
        with self._lock:
            if key not in self._made:
                self._made[key] = (len(text), made)
                self._size += len(text)
            while self._size > self._limit:
                _, (size, _) = self._made.popitem(last=False)
                self._size -= size
        return made


BLANK = "~"
"""What stands for text that makes no difference."""

_EXACT = 2.0**53
"""Below this every whole float is an integer of its own."""


@dataclass(frozen=True)
class Asked:
    """A request as cassettes keep and compare it.

    `request` is redacted, without fields that decide nothing, and names tool calls by position. `fields` and `messages`
    are digests of its parts, `key` of the whole.
    """

    api: Api
    request: dict[str, JsonValue]
    fields: str
    messages: tuple[str, ...]
    key: str

    @property
    def items(self) -> list[JsonValue]:
        """The conversation so far, as the request repeats it."""
        listed = self.request.get(self.api.items)
        return listed if isinstance(listed, list) else []


class Keys:
    """Reads requests. What `ignore` matches, regular expressions over each text, makes no difference."""

    def __init__(self, redact: Redact, ignore: Iterable[str] = ()) -> None:
        """Compile `ignore`; raise `SuiteFaultError` where a pattern is none."""
        self._redact = redact
        self._ignore = [_compiled(text) for text in ignore]
        # what an item is without secrets depends on the API whose item it is
        self._redacted: dict[str, Memo[JsonValue]] = {name: Memo() for name in API_NAMES}
        self._digests: Memo[str] = Memo()

    def asked(self, body: Mapping[str, Any], api: Api = CHAT, ids: Ids = MappingProxyType({})) -> Asked:
        """Read a body as it is posted; `ids` says what stands in recordings for the ids of live answers."""
        memo = self._redacted[api.name]
        request: dict[str, JsonValue] = {}
        for name, value in api.deciding(body, ids).items():
            if name == api.items and isinstance(value, list):
                request[name] = [memo.made(item, partial(api.item, item, self._redact)) for item in value]
            else:
                # together with its name: `password` tells what a value is
                member = {name: value}
                ((shown, redacted),) = memo.made(member, partial(self._redact, member)).items()
                request[name if name in api.known else shown] = redacted
        return self.recorded(request, api)

    def recorded(self, request: dict[str, JsonValue], api: Api = CHAT) -> Asked:
        """Read a request that `asked` gave, perhaps with other patterns."""
        items = request.get(api.items)
        listed = items if isinstance(items, list) else []
        rest = {name: value for name, value in request.items() if name != api.items or listed is not items}
        digests = tuple(self._digest(item) for item in listed)
        fields = _digest({name: self._digest(value) for name, value in rest.items()})
        # equal words over two APIs have answers of two forms; chat completions were recorded before there were others
        parts = [fields, *digests] if api is CHAT else [api.name, fields, *digests]
        return Asked(api=api, request=request, fields=fields, messages=digests, key=_digest(parts))

    def _digest(self, value: JsonValue) -> str:
        return self._digests.made(value, lambda: _digest(self._comparable(value)))

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
