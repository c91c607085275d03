"""The models of one process: who reaches which, over connections and limits that all runs share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from pytest_agentbench.core.errors import KeyMissingError, SendError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.providers import PROVIDERS, PYDANTIC_AI, Provider, provider_of
from pytest_agentbench.llm.capabilities import Capabilities, Paused
from pytest_agentbench.llm.chat import ChatModel, Ways
from pytest_agentbench.llm.limiter import Limiter
from pytest_agentbench.llm.prices import server_of
from pytest_agentbench.llm.protocols import Caller, Recorder, Transport
from pytest_agentbench.llm.wire import where

if TYPE_CHECKING:  # aiohttp takes a fifth of a second to import, and most sessions call no model
    from pytest_agentbench.llm.transport import Connections

_EXTRA = "pip install 'pytest-agentbench[providers]'"

RecorderOf = Callable[[Caller], Recorder | None]
"""Gives what remembers the answers to a caller; None for what is not recorded."""


class Models:
    """Gives chats. Transports, limits and what was learnt about a provider are shared by `base_url`.

    `environ` holds keys and what fills addresses. `share` is this process's part of the bounds that specs set,
    1/workers under xdist. Nothing is opened, and no key is needed, before the first live call.
    """

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        ways: Ways | None = None,
        recorder_of: RecorderOf | None = None,
        share: float = 1.0,
    ) -> None:
        self._environ = environ
        self._ways = ways or Ways()
        self._recorder_of = recorder_of
        self._share = share
        self._connections: Connections | None = None
        self._transports: dict[str, Transport] = {}
        self._limiters: dict[str, Limiter] = {}
        self._capabilities: dict[tuple[str, str], Capabilities] = {}

    @property
    def limiters(self) -> Mapping[str, Limiter]:
        """The limiter of each provider in use, by `base_url`."""
        return self._limiters

    def chat(
        self, spec: ModelSpec, caller: Caller, *, paused: Paused = nullcontext, working: Paused = nullcontext
    ) -> ChatModel:
        """Give the model of `spec` to a role.

        `paused` stops the run's clock while a call waits for its turn, `working` holds a slot while it is out.
        """
        url = server_of(spec, self._environ).rstrip("/")
        limiter = self._limiters.get(url)
        if limiter is None:
            ways = self._ways
            limiter = Limiter(now=ways.now, sleep=ways.sleep, random=ways.random, share=self._share)
            self._limiters[url] = limiter
        limiter.restrict(
            in_flight=spec.in_flight,
            requests_per_minute=spec.requests_per_minute,
            tokens_per_minute=spec.tokens_per_minute,
        )
        return ChatModel(
            spec,
            caller,
            transport=lambda: self._transport(spec, url),
            limiter=limiter,
            ways=self._ways,
            recorder=self._recorder_of(caller) if self._recorder_of is not None else None,
            capabilities=self._capabilities.setdefault((url, spec.model), Capabilities(renamed=_renames(spec, url))),
            paused=paused,
            working=working,
        )

    def key_of(self, spec: ModelSpec) -> str:
        """Give the key that `spec` is used with; `""` for a server that needs none.

        Raise `KeyMissingError` where OpenAI's own server or a provider that asks for keys is meant, where the variable
        was named in the spec, or where no variable says where the provider's server is.
        """
        if spec.transport == PYDANTIC_AI:
            return ""
        names = spec.key_variables
        found = (self._environ.get(name, "").strip() for name in names)
        key = spec.api_key.strip() or next((value for value in found if value), "")
        url, provider = server_of(spec, self._environ), provider_of(spec.provider)
        if provider and not spec.base_url and provider.place and not provider.found_place(self._environ):
            raise _unset(f"no server for model {spec.model!r}", provider.place)
        if key or not (names and self._needs_key(spec, provider)):
            return key
        raise _unset(f"no key for model {spec.model!r} at {where(url)}", names)

    def _needs_key(self, spec: ModelSpec, provider: Provider | None) -> bool:
        if "api_key_env" in spec.model_fields_set:
            return True
        if provider is not None and provider is not PROVIDERS["openai"]:
            return provider.needs_key
        return not (spec.base_url or self._environ.get("OPENAI_BASE_URL"))

    async def close(self) -> None:
        """Close all connections; closing twice is fine."""
        transports, self._transports = list(self._transports.values()), {}
        for transport in transports:
            await transport.close()
        if self._connections is not None:
            await self._connections.close()

    def _transport(self, spec: ModelSpec, url: str) -> Transport:
        key = self.key_of(spec)
        model = spec.model if spec.transport == PYDANTIC_AI else ""
        how = (spec.transport, url, model, key, _row(spec).key_header, sorted(spec.headers.items()), spec.seconds)
        reached_by = repr(how)
        found = self._transports.get(reached_by)
        if found is None:
            found = self._transports[reached_by] = self._open(spec, url, key)
        return found

    def _open(self, spec: ModelSpec, url: str, key: str) -> Transport:
        if spec.transport == PYDANTIC_AI:
            try:
                from pytest_agentbench.llm.pydantic_ai_client import PydanticAITransport  # noqa: PLC0415 - an extra
            except ImportError as error:
                raise SendError(f"transport: pydantic_ai needs the extra `providers`: {_EXTRA} ({error})") from error
            secrets = [self._environ[name] for name in spec.key_variables if name in self._environ]
            return PydanticAITransport(spec.model, seconds=spec.seconds, headers=spec.headers, secrets=secrets)
        how: dict[str, Any] = {"seconds": spec.seconds, "headers": spec.headers, "key_header": _row(spec).key_header}
        if spec.transport == "openai":
            from pytest_agentbench.llm.transport import OpenAITransport  # noqa: PLC0415 - imports aiohttp

            return OpenAITransport(url, key, **how)
        from pytest_agentbench.llm.transport import Connections, DirectTransport  # noqa: PLC0415 - imports aiohttp

        self._connections = self._connections or Connections()
        return DirectTransport(url, key, shared=self._connections, **how)


def _row(spec: ModelSpec) -> Provider:
    """Give the row of a spec's provider; a server that is known by its address alone is taken to be like OpenAI's."""
    return provider_of(spec.provider) or PROVIDERS["openai"]


def _renames(spec: ModelSpec, url: str) -> Mapping[str, str]:
    """Give the parameters that a server is known to take under other names; another one at its name is not."""
    row = _row(spec)
    return row.renames if spec.transport != PYDANTIC_AI and url == row.url else {}


def _unset(what: str, names: Sequence[str]) -> KeyMissingError:
    told = f"the environment variable {names[0]} is not set (set it"
    if len(names) > 1:
        told = f"none of the environment variables {', '.join(names)} is set (set one"
    return KeyMissingError(f"{what}: {told}, or replay a cassette)")
