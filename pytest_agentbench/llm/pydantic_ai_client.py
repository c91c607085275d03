"""The same seam through pydantic-ai's model classes, for providers without an endpoint that speaks like OpenAI's.

A request's body is told in its messages and settings, its answer is told as a chat completion. It is an extra.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from typing import Any, cast

from pydantic_ai import exceptions
from pydantic_ai import messages as parts
from pydantic_ai.direct import model_request
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from pytest_agentbench.core.errors import KeyMissingError, SendError, causes
from pytest_agentbench.core.per_loop import PerLoop
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.llm.http_errors import hidden, status_error

_SENT_AS = {
    "temperature": "temperature",
    "seed": "seed",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "parallel_tool_calls": "parallel_tool_calls",
    "reasoning_effort": "thinking",
}
"""Keys of a request, and the settings they are."""

_OWN = frozenset({"model", "messages", "tools", "tool_choice", "response_format", *_SENT_AS})

_FINISHED = {"tool_call": "tool_calls", "error": "stop"}
"""How answers end, where pydantic-ai has another word for it."""


def history(messages: list[dict[str, Any]]) -> list[parts.ModelMessage]:
    """Give a conversation; what no model said between two of its answers is one request."""
    told: list[parts.ModelMessage] = []
    asked: list[parts.ModelRequestPart] = []
    names: dict[str, str] = {}
    for message in messages:
        if message["role"] != "assistant":
            asked.append(_asked(message, names))
            continue
        if asked:
            told.append(parts.ModelRequest(parts=asked))
            asked = []
        calls = message.get("tool_calls") or []
        names |= {call["id"]: call["function"]["name"] for call in calls}
        told.append(parts.ModelResponse(parts=list(_answered(message, calls))))
    return [*told, parts.ModelRequest(parts=asked)] if asked else told


def parameters(body: Mapping[str, Any]) -> ModelRequestParameters:
    """Give the tools of a request and the form of its answer; JSON mode without a schema is left to the prompt."""
    tools = [_tool(tool["function"]) for tool in body.get("tools") or ()]
    form = body.get("response_format") or {}
    if form.get("type") != "json_schema":
        return ModelRequestParameters(function_tools=tools)
    described = form["json_schema"]
    wanted = OutputObjectDefinition(
        json_schema=described["schema"], name=described.get("name"), strict=described.get("strict")
    )
    return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=wanted)


def settings(body: Mapping[str, Any], *, seconds: float, headers: Mapping[str, str]) -> ModelSettings:
    """Give all else of a request; nothing is sent twice, and what pydantic-ai has no name for goes along as it is."""
    chosen: dict[str, Any] = {"timeout": seconds, "max_retries": 0}
    chosen |= {name: body[key] for key, name in _SENT_AS.items() if key in body}
    if headers:
        chosen["extra_headers"] = dict(headers)
    if further := {key: value for key, value in body.items() if key not in _OWN}:
        chosen["extra_body"] = further
    choice = body.get("tool_choice")
    if choice is not None:
        chosen["tool_choice"] = [choice["function"]["name"]] if isinstance(choice, dict) else choice
    return cast("ModelSettings", chosen)


def completion(response: parts.ModelResponse, asked: str) -> dict[str, Any]:
    """Give an answer as a `chat.completion`; a thought is a thought, whatever its provider calls it."""
    said = "".join(part.content for part in response.parts if isinstance(part, parts.TextPart))
    thought = "\n".join(part.content for part in response.parts if isinstance(part, parts.ThinkingPart))
    calls = [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
        }
        for part in response.parts
        if isinstance(part, parts.ToolCallPart)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": said or None}
    message |= {"tool_calls": calls} if calls else {}
    message |= {"reasoning_content": thought} if thought else {}
    reason = response.finish_reason or ("tool_call" if calls else "stop")
    usage = response.usage
    return {
        "id": response.provider_response_id or "",
        "object": "chat.completion",
        "model": response.model_name or asked,
        "choices": [{"index": 0, "message": message, "finish_reason": _FINISHED.get(reason, reason)}],
        "usage": {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        },
    }


def _asked(message: Mapping[str, Any], names: Mapping[str, str]) -> parts.ModelRequestPart:
    content = message.get("content") or ""
    if message["role"] in {"system", "developer"}:
        return parts.SystemPromptPart(content=_text(content))
    if message["role"] == "tool":
        called = str(message.get("tool_call_id") or "")
        return parts.ToolReturnPart(tool_name=names.get(called, ""), content=_text(content), tool_call_id=called)
    return parts.UserPromptPart(content=content if isinstance(content, str) else [_piece(piece) for piece in content])


def _piece(piece: Mapping[str, Any]) -> parts.UserContent:
    return parts.ImageUrl(url=piece["image_url"]["url"]) if "image_url" in piece else str(piece.get("text") or "")


def _text(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(str(piece.get("text") or "") for piece in content)


def _answered(message: Mapping[str, Any], calls: list[dict[str, Any]]) -> Iterator[parts.ModelResponsePart]:
    if text := _text(message.get("content") or ""):
        yield parts.TextPart(content=text)
    for call in calls:
        function = call["function"]
        yield parts.ToolCallPart(tool_name=function["name"], args=function["arguments"], tool_call_id=call["id"])


def _tool(function: Mapping[str, Any]) -> ToolDefinition:
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return ToolDefinition(
        name=function["name"],
        description=function.get("description"),
        parameters_json_schema=schema,
        strict=function.get("strict"),
    )


class PydanticAITransport:
    """Asks the model that pydantic-ai knows by `name` (`bedrock:…`, `cohere:…`); server and key are its affair.

    One model for each event loop, its own retries off. `secrets` are shown in no error. A form of answers that the
    model's class does not offer is refused without asking.
    """

    def __init__(
        self,
        name: str,
        *,
        seconds: float,
        headers: Mapping[str, str] | None = None,
        secrets: Iterable[str] = (),
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._name = name
        self._seconds = seconds
        self._headers = dict(headers or {})
        self._secrets = (*secrets, *self._headers.values())
        self._wall = wall
        self._models = PerLoop(_Opened.close)

    async def send(self, body: dict[str, Any]) -> dict[str, Any]:
        """Ask once and give a `chat.completion`; raise `SendError` for anything else, `KeyMissingError` for no key."""
        opened = await self._models.get(self._open)
        await opened.enter()
        asked = parameters(body)
        if asked.output_mode == "native" and not opened.model.profile.get("supports_json_schema_output"):
            raise SendError(f"{self._where} takes no schema for answers", status=400, param="response_format")
        try:
            async with asyncio.timeout(self._seconds):  # a client's own bounds each read, not the whole
                response = await model_request(
                    opened.model,
                    history(body["messages"]),
                    model_settings=settings(body, seconds=self._seconds, headers=self._headers),
                    model_request_parameters=asked,
                )
        except TimeoutError as error:
            told = SendError(f"{self._where} did not answer within {self._seconds:g} s", again=True, billed=True)
            raise told from error
        except Exception as error:  # clients of twenty providers raise what they like
            raise hidden(self._read(error), self._secrets) from error
        return completion(response, self._name)

    async def models(self) -> tuple[str, ...]:
        """Give no names: pydantic-ai lists none."""
        return ()

    async def close(self) -> None:
        """Close connections; closing twice is fine."""
        await self._models.close()

    @property
    def _where(self) -> str:
        return printable(f"{self._name} (pydantic-ai)")

    async def _open(self) -> "_Opened":
        try:
            if ":" in self._name:
                infer_provider_class(self._name.partition(":")[0])
            return _Opened(infer_model(self._name))
        except ImportError as error:  # a provider's own client is an extra of pydantic-ai's
            raise SendError(f"{self._where} cannot be asked: {self._told(error)}") from error
        except ValueError as error:
            raise SendError(f"pydantic-ai knows no provider of {printable(self._name)!r}") from error
        except exceptions.UserError as error:
            if ":" not in self._name:
                raise SendError(f"pydantic-ai knows no model {printable(self._name)!r}") from error
            # the provider is known: what it lacks is in the environment
            raise KeyMissingError(f"no key for model {self._name!r}: {self._told(error)}") from error

    def _read(self, error: Exception) -> SendError:
        if isinstance(error, exceptions.ModelHTTPError):
            return self._refused(error)
        if isinstance(error, exceptions.ContentFilterError):
            return SendError(f"{self._where} filtered it: {self._told(error)}", code="content_filter", billed=True)
        if isinstance(error, exceptions.ModelConnectionError):
            is_sent = error.phase not in {"pool", "connect"}
            return SendError(f"{self._where} broke off: {self._told(error)}", again=True, billed=is_sent)
        may_pass = isinstance(
            error, exceptions.ModelRateLimitError | exceptions.ModelUnavailableError | exceptions.ModelServerError
        )
        is_busy = isinstance(error, exceptions.ModelRateLimitError)
        return SendError(
            f"{self._where} cannot be asked: {self._told(error)}",
            status=429 if is_busy else 0,
            again=may_pass,
            retry_after=getattr(error, "retry_after", None),
            code=str(getattr(error, "provider_error_code", None) or ""),
        )

    def _refused(self, error: exceptions.ModelHTTPError) -> SendError:
        """Read an error that came with a status as if it had been posted directly; clients unwrap its body."""
        body = error.body
        whole = body if isinstance(body, dict) and "error" in body else {"error": body}
        content = json.dumps(whole, default=str).encode()
        return status_error(error.status_code, error.headers or {}, content, where=self._where, wall=self._wall())

    def _told(self, error: BaseException) -> str:
        deepest = [*causes(error)][-1]
        return shorten(printable(str(error) or str(deepest) or type(error).__name__), 300)


class _Opened:
    """A model, and the connections that its provider opened for it."""

    def __init__(self, model: Model[Any]) -> None:
        self.model = model
        self._stack = AsyncExitStack()
        self._is_entered = False

    async def enter(self) -> None:
        """Hold its connections open until `close`."""
        if not self._is_entered:
            self._is_entered = True
            await self._stack.enter_async_context(self.model)

    async def close(self) -> None:
        """Close its connections."""
        await self._stack.aclose()
