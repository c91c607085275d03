"""The same seam through pydantic-ai's model classes, for providers without an endpoint that speaks like OpenAI's."""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from pytest_agentbench.core.errors import KeyMissingError, SendError, causes
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.llm.http_errors import hidden, status_error
from pytest_agentbench.llm.per_loop import PerLoop

if TYPE_CHECKING:
    from pydantic_ai import exceptions
    from pydantic_ai.models import Model

EXTRA = "pip install 'pytest-agentbench[providers]'"


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
        self._models = PerLoop(self._open, _Opened.close)

    async def send(self, body: dict[str, Any]) -> dict[str, Any]:
        """Ask once and give a `chat.completion`; raise `SendError` for anything else, `KeyMissingError` for no key."""
        opened = await self._models.get()
        await opened.enter()
        from pydantic_ai.direct import model_request  # noqa: PLC0415 - an extra, and slow to import

        from pytest_agentbench.llm import pydantic_ai_form as form  # noqa: PLC0415 - as above

        asked = form.parameters(body)
        if asked.output_mode == "native" and not opened.model.profile.get("supports_json_schema_output"):
            raise SendError(f"{self._where} takes no schema for answers", status=400, param="response_format")
        try:
            async with asyncio.timeout(self._seconds):  # a client's own bounds each read, not the whole
                response = await model_request(
                    opened.model,
                    form.history(body["messages"]),
                    model_settings=form.settings(body, seconds=self._seconds, headers=self._headers),
                    model_request_parameters=asked,
                )
        except TimeoutError as error:
            told = SendError(f"{self._where} did not answer within {self._seconds:g} s", again=True, billed=True)
            raise told from error
        except Exception as error:  # clients of twenty providers raise what they like
            raise hidden(self._read(error), self._secrets) from error
        return form.completion(response, self._name)

    async def models(self) -> tuple[str, ...]:
        """Give no names: pydantic-ai lists none."""
        return ()

    async def close(self) -> None:
        """Close connections; closing twice is fine."""
        await self._models.close()

    @property
    def _where(self) -> str:
        return printable(f"{self._name} (pydantic-ai)")

    def _open(self) -> "_Opened":
        try:
            from pydantic_ai.exceptions import UserError  # noqa: PLC0415 - an extra, and slow to import
            from pydantic_ai.models import infer_model  # noqa: PLC0415 - as above
            from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415 - as above
        except ImportError as error:
            raise SendError(f"transport: pydantic_ai needs the extra `providers`: {EXTRA} ({error})") from error
        try:
            if ":" in self._name:
                infer_provider_class(self._name.partition(":")[0])
            return _Opened(infer_model(self._name))
        except ImportError as error:  # a provider's own client is an extra of pydantic-ai's
            raise SendError(f"{self._where} cannot be asked: {self._told(error)}") from error
        except ValueError as error:
            raise SendError(f"pydantic-ai knows no provider of {printable(self._name)!r}") from error
        except UserError as error:
            if ":" not in self._name:
                raise SendError(f"pydantic-ai knows no model {printable(self._name)!r}") from error
            # the provider is known: what it lacks is in the environment
            raise KeyMissingError(f"no key for model {self._name!r}: {self._told(error)}") from error

    def _read(self, error: Exception) -> SendError:
        from pydantic_ai import exceptions  # noqa: PLC0415 - an extra, and slow to import

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

    def _refused(self, error: "exceptions.ModelHTTPError") -> SendError:
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

    def __init__(self, model: "Model[Any]") -> None:
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
