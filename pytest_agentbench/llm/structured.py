"""Answers of a given type: asked for in the strictest form that the server takes, read, repaired or refused once."""

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import (
    AgentBenchError,
    CassetteMissError,
    ProviderError,
    SendError,
    TokenLimitError,
    UnusableAnswerError,
    with_hint,
)
from pytest_agentbench.core.model import Usage
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.llm.answer_text import PARSER, NoAnswerError, UnreadableAnswerError, cut_off, read_answer
from pytest_agentbench.llm.capabilities import Capabilities, Form, KnowsCapabilities, Paused, is_of_form
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.llm.reply import ChatReply, with_more
from pytest_agentbench.llm.templates import Templates

# what strict modes refuse, or ignore; pydantic checks all of it when the answer is read
_DROPPED = frozenset(
    {
        *("default", "examples", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "discriminator"),
        *("minProperties", "maxProperties"),
    }
)
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})


@lru_cache(maxsize=128)  # a type's schema takes pydantic longer than a conversation takes us
def schema_of(answer: type[BaseModel]) -> tuple[dict[str, Any], bool]:
    """Give the JSON Schema of `answer`, which is not to be changed, and whether a server can enforce it strictly.

    Every object refuses further properties and requires all of its own. Free-form objects, tuples and untyped values
    cannot be enforced; the schema then still describes the answer.
    """
    whole = answer.model_json_schema()
    definitions: dict[str, Any] = whole.pop("$defs", {})
    if "$ref" in whole:  # a type that contains itself
        whole = {**definitions[_name(whole["$ref"])]}
    fitter = _Fitter(definitions)
    schema = fitter.fit(whole)
    if definitions:
        schema["$defs"] = {name: fitter.fit(item) for name, item in definitions.items()}
    return schema, fitter.enforceable and schema.get("type") == "object"


class _Fitter:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self.enforceable = True

    def fit(self, schema: Any) -> dict[str, Any]:
        if not isinstance(schema, dict):  # `true`: any value
            self.enforceable = False
            return {}
        if "$ref" in schema:
            return self._fit_reference(schema)
        parts = schema.get("allOf")
        if isinstance(parts, list) and len(parts) == 1:
            rest = {key: value for key, value in schema.items() if key != "allOf"}
            return self.fit({**parts[0], **rest})
        fitted = {key: value for key, value in schema.items() if key not in _DROPPED}
        if fitted.get("format") not in _FORMATS:
            fitted.pop("format", None)
        choices = fitted.pop("oneOf", None) or fitted.pop("anyOf", None)
        if choices is not None:
            fitted["anyOf"] = [self.fit(choice) for choice in choices]
        if "items" in fitted:
            fitted["items"] = self.fit(fitted["items"])
        if "properties" in fitted or fitted.get("type") == "object":
            return self._fit_object(fitted)
        if "prefixItems" in fitted or not {"type", "anyOf", "enum", "const"} & fitted.keys():
            self.enforceable = False
        return fitted

    def _fit_reference(self, schema: dict[str, Any]) -> dict[str, Any]:
        rest = {key: value for key, value in schema.items() if key != "$ref" and key not in _DROPPED}
        if not rest:
            return {"$ref": schema["$ref"]}
        # strict modes refuse a reference with anything beside it
        target = self._definitions.get(_name(schema["$ref"]), {})
        if schema["$ref"] in str(target):
            return {"$ref": schema["$ref"]}
        return self.fit({**target, **rest})

    def _fit_object(self, schema: dict[str, Any]) -> dict[str, Any]:
        properties = schema.get("properties", {})
        further = schema.get("additionalProperties", not properties)
        if isinstance(further, dict) or (further is not False and not properties):
            self.enforceable = False
            return schema
        fitted = {name: self.fit(item) for name, item in properties.items()}
        return {**schema, "properties": fitted, "required": list(fitted), "additionalProperties": False}


def _name(reference: str) -> str:
    return reference.rpartition("/")[2].replace("~1", "/").replace("~0", "~")


class AskedOnce:
    """Implements `Chat`: equal questions share one answer, so that contenders differ in nothing but what they change.

    An ablation of the weights, say, is computed from the very scores that the whole method got. Not for votes.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self.spec = chat.spec
        self._asked: dict[str, asyncio.Task[ChatReply]] = {}
        knows = chat if isinstance(chat, KnowsCapabilities) else None
        self.capabilities = knows.capabilities if knows else Capabilities()
        self.paused: Paused = knows.paused if knows else nullcontext
        self.understood: Callable[[Form], None] = knows.understood if knows else self.capabilities.understood

    @property
    def usage(self) -> Usage:
        """What the questions took."""
        return self._chat.usage

    async def complete(self, messages: Sequence[dict[str, Any]], **options: Any) -> ChatReply:
        """Ask, or give what an equal question was answered; raise what `complete` of the model raises."""
        mark = dumps([list(messages), options])
        if mark not in self._asked:
            self._asked[mark] = asyncio.ensure_future(self._chat.complete(messages, **options))
        return await asyncio.shield(self._asked[mark])


M = TypeVar("M", bound=BaseModel)
Messages = Sequence[dict[str, Any]]

_PROMPTS = Templates("pytest_agentbench.llm")

_SHOWN = 20_000
"""Characters of an unusable answer that its model is shown."""


async def structured(chat: Chat, answer: type[M], messages: Messages, *, temperature: float | None = None) -> M:
    """Ask for an `answer`: a pydantic model whose JSON is an object.

    `spec.structured` says how: `json_schema`, a forced `tool` call, `json` mode with the schema in the last message, or
    that message alone (`prompt`); `auto` goes down that list as long as the server refuses the request, and remembers
    what it took. An answer that is not valid is shown to the model with its errors, once; one that shows that the
    server ignored the form (no JSON at all, or a field missing) is then asked for with the schema in the prompt.
    Raise `UnusableAnswerError` for an answer that stays invalid, is refused or cut off, and what `chat.complete`
    raises.
    """
    return (await structured_reply(chat, answer, messages, temperature=temperature))[0]


async def structured_reply(
    chat: Chat, answer: type[M], messages: Messages, *, temperature: float | None = None
) -> tuple[M, ChatReply]:
    """Ask as `structured` does, and give what was read with the reply that held it."""
    asking = _Asking(chat, answer, temperature)
    if not isinstance(chat, KnowsCapabilities):
        return await _asked(asking, messages, Capabilities())
    async with chat.capabilities.question(chat.spec.structured, chat.paused):
        return await _asked(asking, messages, chat.capabilities)


async def _asked(asking: "_Asking[M]", messages: Messages, capabilities: Capabilities) -> tuple[M, ChatReply]:
    """Ask in one form after the other, until the server takes one."""
    chat, knew_form = asking.chat, capabilities.knows_form
    first: ProviderError | None = None
    for form in capabilities.forms(chat.spec.structured):
        try:
            reply = await asking.ask(form, messages)
        except CassetteMissError as error:  # what a server refused when recording was not recorded
            first = first or error
        except SendError as error:
            if not is_of_form(error, knew_form=knew_form):
                raise
            first = first or error
        else:
            remembers = chat if chat.spec.structured == "auto" and isinstance(chat, KnowsCapabilities) else None
            if first is not None and remembers:
                remembers.understood(form)  # what the server refuses is not asked for again, if its answer is unusable
            given, reply, answered_in = await asking.read(form, messages, reply)
            if remembers:
                remembers.understood(answered_in)
            return given, reply
    assert first is not None  # noqa: S101 - there is at least one form, and it failed
    if chat.spec.structured != "auto" and isinstance(first, SendError):
        told = f"the suite sets `structured: {chat.spec.structured}` for this model: set `auto`, or another form"
        first.args = (with_hint(str(first), told),)
    raise first


@dataclass(frozen=True)
class _Asking(Generic[M]):
    """One question for one type."""

    chat: Chat
    answer: type[M]
    temperature: float | None

    async def ask(self, form: Form, messages: Messages) -> ChatReply:
        """Ask in one form."""
        schema, strict = schema_of(self.answer)
        options: dict[str, Any] = {"temperature": self.temperature}
        if form == "json_schema":
            described = {"name": self.name, "schema": schema, "strict": strict}
            options["response_format"] = {"type": "json_schema", "json_schema": described}
        elif form == "tool":
            function = {"name": self.name, "description": self.purpose, "parameters": schema}
            options["tools"] = [{"type": "function", "function": function}]
            options["tool_choice"] = {"type": "function", "function": {"name": self.name}}
        else:
            if form == "json":
                options["response_format"] = {"type": "json_object"}
            messages = _with_instruction(
                messages, _PROMPTS.text("json_form.v1").strip().format(schema=dumps(schema, indent=1))
            )
        return await self.chat.complete(messages, **options)

    async def read(self, form: Form, messages: Messages, reply: ChatReply) -> tuple[M, ChatReply, Form]:
        """Read an answer, giving the model one chance to correct it; say which reply held it, and in which form."""
        try:
            return self._read(reply), reply, form
        except UnreadableAnswerError as error:
            repair = _PROMPTS.text("repair.v1").strip().format(problems=error)
            ignored = isinstance(error, NoAnswerError) or (error.lacks_fields and form == "json_schema")
            if (ignored or reply.written_call) and self.chat.spec.structured == "auto" and form != "prompt":
                form = "json"  # it tells the model what is wanted, whatever the server makes of the rest
        corrected = await self.ask(form, [*messages, *_shown(reply, repair)])
        try:
            return self._read(corrected), corrected, form
        except UnreadableAnswerError as error:
            raise UnusableAnswerError(
                f"{self._model(corrected)} gave no valid {self.answer.__name__}, also after it was told what is wrong "
                f"({_in_a_line(error)}); it said: {shorten(printable(corrected.text or _text_of(corrected)), 300)!r}"
                + (f"; it wrote its tool call as text; {PARSER}" if corrected.written_call else ""),
                said=corrected.text or _text_of(corrected),
            ) from error

    @property
    def name(self) -> str:
        """The type's name, as servers take it."""
        return re.sub(r"[^A-Za-z0-9_-]", "_", self.answer.__name__)[:64]

    @property
    def purpose(self) -> str:
        """What the tool is said to be for."""
        return (self.answer.__doc__ or "").strip() or f"Give the {self.name}."

    def _read(self, reply: ChatReply) -> M:
        if reply.refusal:
            raise UnusableAnswerError(
                f"{self._model(reply)} refused to give the {self.answer.__name__} asked for: "
                f"{shorten(printable(reply.refusal), 300)!r}"
            )
        try:
            return self._found(reply)
        except UnreadableAnswerError as error:
            if reply.truncated:
                raise TokenLimitError(
                    f"{self._model(reply)} gave no whole {self.answer.__name__}; it was "
                    f"{cut_off(reply, self.chat.spec.max_tokens)}"
                ) from error
            if reply.finish_reason == "content_filter":
                raise UnusableAnswerError(
                    f"{self._model(reply)} was stopped by the server's content filter before its "
                    f"{self.answer.__name__} was whole"
                ) from error
            raise

    def _found(self, reply: ChatReply) -> M:
        """Read the text where it holds the answer, else the first call: servers wrap the one in the other at times."""
        if reply.calls and reply.content:
            with contextlib.suppress(UnreadableAnswerError):
                return read_answer(self.answer, reply.content)
        return read_answer(self.answer, _text_of(reply))

    def _model(self, reply: ChatReply) -> str:
        return printable(repr(reply.model or self.chat.spec.model))


def _text_of(reply: ChatReply) -> str:
    return reply.calls[0].arguments if reply.calls else reply.text


def _in_a_line(error: UnreadableAnswerError) -> str:
    """Give a list of problems, as the model is told them, as one line for people."""
    return "; ".join(line.removeprefix("- ") for line in str(error).splitlines())


def _shown(reply: ChatReply, repair: str) -> list[dict[str, Any]]:
    """Give the unusable answer as it was said, and what is wrong with it, as messages."""
    if not reply.calls:
        said = shorten(reply.text, _SHOWN) or "(nothing)"
        return [{"role": "assistant", "content": said}, {"role": "user", "content": repair}]
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in reply.calls
    ]
    results = [{"role": "tool", "tool_call_id": call.id, "content": repair} for call in reply.calls]
    return [with_more({"role": "assistant", "content": reply.content, "tool_calls": calls}, reply), *results]


def _with_instruction(messages: Messages, text: str) -> list[dict[str, Any]]:
    """Put `text` at the end: into the last message where it is the user's text, else into one of its own."""
    if messages and messages[-1].get("role") == "user" and isinstance(messages[-1].get("content"), str):
        last = messages[-1]
        return [*messages[:-1], {**last, "content": f"{last['content']}\n\n{text}"}]
    return [*messages, {"role": "user", "content": text}]


T = TypeVar("T")
U = TypeVar("U")

_SHOWN_FAULTS = 1_000
"""Characters of what is wrong with an answer that an error shows."""


async def refusable(
    chat: Chat,
    answer: type[M],
    messages: Messages,
    *,
    faults: Callable[[M], list[str]],
    told: Callable[[str], str],
    temperature: float | None = None,
) -> M:
    """Ask for an `answer` without `faults`.

    One that has some is shown to the model, once, with what `told` makes of the list of them. Raise
    `UnusableAnswerError` where it still has some, and what `structured` raises.
    """
    given = await structured(chat, answer, messages, temperature=temperature)
    wrong = faults(given)
    if not wrong:
        return given
    listed = "\n".join(f"- {printable(fault)}" for fault in wrong)
    again = [{"role": "assistant", "content": dumps(given)}, {"role": "user", "content": told(listed)}]
    given = await structured(chat, answer, [*messages, *again], temperature=temperature)
    wrong = faults(given)
    if wrong:
        said = shorten(printable("; ".join(wrong)), _SHOWN_FAULTS)
        model = printable(repr(chat.spec.model))
        raise UnusableAnswerError(f"the {answer.__name__} of {model} was refused twice: {said}")
    return given


async def usable(
    asked: Awaitable[T],
    otherwise: Callable[[AgentBenchError], U],
    of: tuple[type[AgentBenchError], ...] = (ProviderError,),
) -> T | U:
    """Give what was asked for, else what `otherwise` makes of an error that is one `of` these.

    A recording that lacks the answer is an error of its own, and is raised.
    """
    try:
        return await asked
    except CassetteMissError:
        raise
    except of as error:
        return otherwise(error)
