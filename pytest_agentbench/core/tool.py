"""Tools: what one is, a call of it, and what the call gave."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.json_values import decoded, to_json
from pytest_agentbench.core.names import letters_of

Requestor = Literal["assistant", "user"]
"""Who makes a call: the agent, or (dual control) the simulated user."""

ToolKind = Literal["read", "write", "generic", "unknown"]
"""`write` changes state, `read` looks at it, `generic` does neither (a calculator, a hand-over)."""

KindSource = Literal["declared", "listed", "annotation", "seen", "name"]
"""What settled a kind: the user; a committed list of a server's tools; the server, by annotations or HTTP verbs; a
change that was seen; a guess by name.
"""


class ToolSpec(Model):
    """A tool as the agent sees it: name, description, JSON Schema of the arguments, and whether it writes.

    `returns` is the JSON Schema that its results are declared to have, `destructive` whether it declares that what it
    does cannot be undone; None where it declares nothing. `kind_from` is no part of what the tool is called with.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    kind: ToolKind = "unknown"
    kind_from: KindSource = Field(default="declared", exclude=True)
    requestor: Requestor = "assistant"
    returns: dict[str, Any] | None = None
    destructive: bool | None = None

    @property
    def arguments(self) -> frozenset[str] | None:
        """The argument names that the schema admits, or None where it admits any."""
        if self.parameters.get("additionalProperties", False) not in (False, None):
            return None
        return frozenset(self.parameters.get("properties", {}))

    def openai(self) -> dict[str, Any]:
        """Give the tool in the OpenAI chat-completions format."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}


class Toolset(Model):
    """The tools of an environment, the agent's and the user's; names are unique per requestor.

    `own` are tools that the agent brings along, as far as the suite says whether they write. They are found by name and
    stand in no list, since the agent may have others.
    """

    specs: tuple[ToolSpec, ...] = ()
    own: tuple[ToolSpec, ...] = Field(default=(), exclude=True)

    def get(self, name: str, requestor: Requestor = "assistant") -> ToolSpec | None:
        """Find a tool by name and requestor."""
        every = (*self.specs, *self.own)
        return next((spec for spec in every if spec.name == name and spec.requestor == requestor), None)

    def of(self, requestor: Requestor) -> tuple[ToolSpec, ...]:
        """Give the tools that one party may call, in declared order."""
        return tuple(spec for spec in self.specs if spec.requestor == requestor)

    def names(self) -> frozenset[str]:
        """Give the names of all tools."""
        return frozenset(spec.name for spec in self.specs)

    def __iter__(self) -> Iterator[ToolSpec]:  # type: ignore[override]  # a toolset iterates over tools, not fields
        return iter(self.specs)

    def __bool__(self) -> bool:
        return bool(self.specs)


class ToolCall(Model):
    """A request to run a tool; `raw` keeps an argument text that was not a JSON object.

    `by` names the one of several agents that made it.
    """

    name: str
    arguments: dict[str, Any] = {}
    id: str = ""
    requestor: Requestor = "assistant"
    raw: str | None = None
    by: str | None = None

    @model_serializer(mode="wrap")
    def _without_unset(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out `by` where nobody is named: the digest of such a call stays what it was."""
        data: dict[str, Any] = serialize(self)
        if "by" in data and data["by"] is None:
            del data["by"]
        return data


class ToolResult(Model):
    """What a tool call gave: the text its caller sees, whether it failed, whether it changed state.

    `wrote` is None where nobody could tell, `rejected` says that the call never reached the tool. Many tools answer a
    refusal instead of raising it: a text that begins `Error:` failed, and so did an object that tells an error and
    nothing else, whatever the flag `error` says.
    """

    content: str
    error: bool = False
    wrote: bool | None = None
    rejected: bool = False

    @property
    def failed(self) -> bool:
        """Whether the tool did not do what it was asked to."""
        return self.error or self.content.startswith("Error:") or _tells_an_error(self.content)


_LONGEST_ERROR = 10_000
_BESIDE_AN_ERROR = {"code", "detail", "details", "error", "hint", "message", "ok", "status", "success", "type"}
"""Keys that may stand beside `error`; with any other one, an object holds data as well."""


_GOOD = (True, "ok", "OK", "success")
_NO_ERROR = ("none", "null", "no", "false")
"""What an answer says beside, or in place of, an error that there was not."""


def _tells_an_error(content: str) -> bool:
    """Whether a text is an object such as `{"error": "no such order", "code": 404}`."""
    text = content[: _LONGEST_ERROR + 1].strip()
    if len(text) > _LONGEST_ERROR or not text.startswith("{") or '"error"' not in text:
        return False
    value = decoded(text)
    if not isinstance(value, dict) or not value.keys() <= _BESIDE_AN_ERROR:
        return False
    error = value.get("error")
    went_well = any(value.get(key) in _GOOD for key in ("ok", "success", "status"))
    return bool(error) and not went_well and str(error).casefold() not in _NO_ERROR


_CLOSES = (
    ("transfer", "human"), ("escalate", "human"), ("hand", "over"), ("handover",), ("handoff",),
    ("end", "conversation"), ("end", "simulation"), ("close", "conversation"), ("hang", "up"),
)  # fmt: skip
"""Words that together name a tool which ends the conversation (tool-to-scenario §4.3)."""


def closes_conversation(name: str) -> bool:
    """Whether a tool's name says that it ends the conversation or hands it over."""
    named = set(letters_of(name))
    named |= {word.removesuffix("s") for word in named}
    return any(set(several) <= named for several in _CLOSES)


def read_arguments(given: object) -> tuple[dict[str, Any], str | None]:
    """Give the arguments of a call, and the raw text where it is not a JSON object; no text is no arguments."""
    if given is None:
        return {}, None
    if isinstance(given, Mapping):
        return to_json(given), None
    if not isinstance(given, str):
        return {}, dumps(given)
    text = str.__str__(given)
    if not text.strip():
        return {}, None
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        return {}, text
    return (arguments, None) if isinstance(arguments, dict) else ({}, text)
