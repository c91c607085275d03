"""The seam between recording and the API that was asked: one implementation for each API, in a file of its own.

At its end stands what the requests and answers of all have in common.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.providers import PROVIDERS

Redact = Callable[[JsonValue], JsonValue]
"""Gives a JSON value without secrets; doing it twice changes nothing more."""

Ids = Mapping[str, str]
"""What stands in a recording for the ids that servers make up."""

Replayed = Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]
"""Requests and the answers that a recording gave them, by the ids of the answers, which no server knows."""


class Home(NamedTuple):
    """Where an API is at home: the variable that leads its clients elsewhere, and its maker's own server."""

    variable: str
    url: str
    has_version: bool
    """Whether a base URL of it ends in `/v1`, as OpenAI's do; Anthropic's clients append `/v1/messages` themselves."""

    def base_url(self, upstream: str, environ: Mapping[str, str]) -> str:
        """Give what paths such as `messages` are appended to: `upstream`, else the variable, else the maker's own.

        OpenAI's own address is no `upstream` of another maker's API: a key of one would be sent to the other.
        """
        if self.has_version:
            return upstream or environ.get(self.variable) or self.url
        elsewhere = upstream and upstream.partition("?")[0].rstrip("/") != PROVIDERS["openai"].url
        base = (upstream if elsewhere else "") or environ.get(self.variable) or self.url
        address, mark, query = base.partition("?")
        return f"{address.rstrip('/').removesuffix('/v1')}/v1{mark}{query}"


OPENAI = Home("OPENAI_BASE_URL", PROVIDERS["openai"].url, has_version=True)
ANTHROPIC = Home("ANTHROPIC_BASE_URL", PROVIDERS["anthropic"].url, has_version=False)


class Assembly(Protocol):
    """Puts the events of a streamed answer together; whatever a server sends, it raises nothing."""

    def add(self, event: Mapping[str, Any], /) -> None:
        """Add one event."""

    def whole(self) -> dict[str, Any] | None:
        """Give the whole answer, or None where the stream ended, or broke, before it was whole."""


class Api(Protocol):
    """One way to ask a model: `POST …/v1/PATH`.

    `items` is the list in which a request repeats the conversation so far, `known` are the fields whose names are never
    taken for secrets. `noun` is what one answer is called. What has a body here is so unless an API says otherwise.
    """

    name: str
    path: str
    noun: str
    items: str
    known: frozenset[str]
    home: Home

    def deciding(self, body: Mapping[str, Any], ids: Ids) -> dict[str, JsonValue]:
        """Give what of a request decides its answer; ids that servers made up have names that are always the same."""

    def item(self, item: JsonValue, redact: Redact) -> JsonValue:
        """Give one item of the conversation without secrets; the words of its form stay."""

    def reduced(self, answer: Mapping[str, Any], redact: Redact) -> dict[str, JsonValue]:
        """Give a redacted answer without volatile ids and times, so that equal answers have equal bytes."""

    def restored(self, stored: Mapping[str, JsonValue], key: str) -> dict[str, JsonValue]:
        """Give the answer of which `reduced` made `stored`, with ids that follow from `key` and a time of 0."""

    def ids(self, answer: Mapping[str, Any], key: str) -> dict[str, str]:
        """Map the ids of an answer that later requests may name to those that `restored` gives with this `key`.

        None where a request repeats all that it refers to.
        """
        return {}

    def is_whole(self, answer: Mapping[str, Any]) -> bool:
        """Whether an object is a whole answer, and nothing else that a server may send with status 200."""

    def live(self, body: Mapping[str, Any], replayed: Replayed) -> dict[str, Any] | None:
        """Give a request that names what was only replayed as a server can read it; None where it names nothing."""
        return None

    def with_usage(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Give a streamed request that asks for its usage as well; None where the API tells it anyway."""
        return None

    def assembly(self) -> Assembly:
        """Begin to put a streamed answer together."""

    def is_last(self, event: Mapping[str, Any]) -> bool:
        """Whether an event ends a stream: nothing later changes the answer; chunks end with a mark that is no event."""
        return False

    def events(self, answer: Mapping[str, Any], *, with_usage: bool) -> Iterator[bytes]:
        """Give a whole answer as the events of a stream; `with_usage` says whether the request asked for it."""


_FORM = ("type", "role", "status", "stop_reason")


def decided(body: Mapping[str, Any], irrelevant: frozenset[str]) -> dict[str, JsonValue]:
    """Give the fields of a request without those that decide nothing, nulls, and an empty list of tools."""
    return {
        name: value
        for name, value in to_json(body).items()
        if name not in irrelevant and value is not None and not (name == "tools" and value == [])
    }


def bare(item: Mapping[str, JsonValue], without: Iterable[str] = ()) -> dict[str, JsonValue]:
    """Give an item without some members, and without what only some clients spell out: nulls and empty lists."""
    dropped = frozenset(without)
    return {name: value for name, value in item.items() if name not in dropped and value is not None and value != []}


def formal(
    item: JsonValue, redact: Redact, words: frozenset[str], inner: Mapping[str, Callable[[JsonValue], JsonValue]]
) -> JsonValue:
    """Redact an item but for the `words` of its form, since a secret may be an ordinary word.

    Each element of a list under a name of `inner` is redacted by what stands there. Members come in order of name.
    """
    if not isinstance(item, dict):
        return redact(item)
    kept = {name: item[name] for name in _FORM if isinstance(item.get(name), str) and item[name] in words}
    for name, redacted in inner.items():
        if isinstance(listed := item.get(name), list):
            kept[name] = [redacted(one) for one in listed]
    rest = redact({name: value for name, value in item.items() if name not in kept})
    return by_name({**rest, **kept})


def by_name(value: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Give an object with its members in order of name."""
    return {name: value[name] for name in sorted(value)}


def kept(
    fields: Mapping[str, JsonValue], redact: Redact, own: Mapping[str, Callable[[JsonValue], JsonValue]]
) -> dict[str, JsonValue]:
    """Give the fields of an answer as they are kept, in order of name: redacted, of a usage the numbers.

    What stands in `own` reads a field in its own way, unless it gives None.
    """
    made: dict[str, JsonValue] = {}
    for name, value in fields.items():
        if name == "usage":
            made |= {} if (counts := numbers(value)) is None else {name: counts}
        else:
            read = own[name](value) if name in own else None
            made[name] = redact(value) if read is None else read
    return by_name(made)


def numbers(value: JsonValue) -> JsonValue:
    """Give the numbers of a usage alone: a secret such as 1234 must not turn a count into text."""
    if isinstance(value, dict):
        counts = {name: numbers(item) for name, item in sorted(value.items())}
        return {name: item for name, item in counts.items() if item is not None}
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def dicts(value: object) -> list[dict[str, Any]]:
    """Give the objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def written(event: Mapping[str, Any], *, named: bool = True) -> bytes:
    """Write one server-sent event, under the name of its type where the API names its events."""
    head = f"event: {event['type']}\n" if named else ""
    return f"{head}data: {json.dumps(event, separators=(',', ':'))}\n\n".encode()
