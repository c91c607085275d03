"""What a scripted model says: text, tool calls, a refusal, structured output, or a text that is cut off."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pytest_agentbench.core.codec import dumps


@dataclass(frozen=True, kw_only=True)
class Timed:
    """Something that a server gives, `latency` seconds after the request (None: as the server is set)."""

    latency: float | None = None

    def after(self, seconds: float) -> Self:
        """Give the same answer, sent `seconds` after its request whatever the server's latency is."""
        return dataclasses.replace(self, latency=seconds)


@dataclass(frozen=True, kw_only=True)
class ScriptedCall:
    """A tool call; `arguments` is the text that the model writes, JSON or not; without an `id` the server counts."""

    name: str
    arguments: str
    id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """What the server says that a call took.

    `cached` of the `input` tokens came from its cache, `reasoning` of the `output` tokens were thoughts.
    """

    input: int
    output: int
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True, kw_only=True)
class Answer(Timed):
    """One answer, whichever API is asked. `choices` says how many times it is given; 0 is an answer without any.

    `finish_reason` is in the words of chat completions. `usage` None is estimated at 4 characters a token, `"none"` is
    left out.
    """

    content: str | None = None
    thoughts: str | None = None
    calls: tuple[ScriptedCall, ...] = ()
    refusal: str | None = None
    finish_reason: str | None = None
    usage: Tokens | str | None = None
    choices: int = 1

    def using(
        self,
        *,
        input: int,  # noqa: A002 - what the API calls it
        output: int,
        cached: int = 0,
        reasoning: int = 0,
    ) -> Self:
        """Give the same answer with these numbers of tokens."""
        return dataclasses.replace(self, usage=Tokens(input=input, output=output, cached=cached, reasoning=reasoning))

    def thinking(self, thoughts: str) -> Self:
        """Give the same answer after these thoughts, which the API gives beside it."""
        return dataclasses.replace(self, thoughts=thoughts)

    def without_usage(self) -> Self:
        """Give the same answer from a server that does not say how many tokens it took."""
        return dataclasses.replace(self, usage="none")

    @property
    def reason(self) -> str:
        """Why the model stopped, in the words of chat completions."""
        return self.finish_reason or ("tool_calls" if self.calls else "stop")


def text(content: str) -> Answer:
    """Answer with `content`."""
    return Answer(content=content)


def call(name: str, arguments: str | Mapping[str, Any] | None = None, /, **named: object) -> Answer:
    """Call one tool: `call("find", id=3)`, `call("find", {"id": 3})`, or raw text, `call("find", '{"id":')`."""
    written = arguments if isinstance(arguments, str) else dumps({**(arguments or {}), **named})
    return Answer(calls=(ScriptedCall(name=name, arguments=written),))


def calls(*several: Answer, content: str | None = None) -> Answer:
    """Make the calls of several answers at once, `calls(call("a"), call("b"))`, with or without text beside them."""
    return Answer(content=content, calls=tuple(one for answer in several for one in answer.calls))


def structured(value: object) -> Answer:
    """Answer with the JSON of `value`: builtin values, dataclasses or pydantic models."""
    return Answer(content=dumps(value))


def refusal(reason: str) -> Answer:
    """Decline to answer, as the API's `refusal` field does."""
    return Answer(refusal=reason)


def truncated(content: str) -> Answer:
    """Answer with a text that was cut off at the token limit (`finish_reason` is `length`)."""
    return Answer(content=content, finish_reason="length")
