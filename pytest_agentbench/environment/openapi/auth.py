"""Authorising requests: API keys, bearer tokens, basic passwords, and tokens got for client credentials."""

import asyncio
import base64
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.remote import AuthSpec
from pytest_agentbench.core.secret_keys import hide
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.environment.openapi.request import Request
from pytest_agentbench.environment.remote import Now

_EARLY = 30.0
"""Seconds before its end from which a token is not used any more: it must outlive the request."""

Post = Callable[[str, dict[str, str], dict[str, str]], Awaitable[tuple[int, str]]]
"""Posts a form with headers to an address; gives status and text."""


@dataclass(frozen=True)
class Token:
    """An access token, and the time until which it is used; None where the server sets no end."""

    text: str
    until: float | None


class Authoriser:
    """Authorises the requests of the runs on one event loop; `secrets` are what must not be shown."""

    def __init__(self, spec: AuthSpec | None, post: Post, now: Now) -> None:
        self._spec = spec
        self._post = post
        self._now = now
        self._token: Token | None = None
        self._lock = asyncio.Lock()
        self._seen: list[str] = [spec.value] if spec and spec.value else []

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every key and token used so far."""
        return tuple(self._seen)

    @property
    def renewable(self) -> bool:
        """Whether a token that was refused can be replaced by a new one."""
        return self._spec is not None and self._spec.kind == "client_credentials"

    async def aclose(self) -> None:
        """Forget what was got."""
        self.forget()

    def forget(self) -> None:
        """Use no token got so far any more."""
        self._token = None

    async def authorise(self, request: Request) -> Request:
        """Add what the service asks for; raise `EnvironmentFaultError` where no token is given."""
        spec = self._spec
        if spec is None:
            return request
        if spec.kind == "api_key" and spec.place != "header":
            query = [*request.query, (spec.name, spec.value)] if spec.place == "query" else request.query
            cookies = {**request.cookies, spec.name: spec.value} if spec.place == "cookie" else request.cookies
            return _with(request, query=query, cookies=cookies)
        if spec.kind == "api_key":
            return _with(request, headers={**request.headers, spec.name: spec.value})
        return _with(request, headers={**request.headers, "Authorization": await self._authorization(spec)})

    async def _authorization(self, spec: AuthSpec) -> str:
        if spec.kind == "basic":
            text = base64.b64encode(f"{spec.user}:{spec.value}".encode()).decode()
            self._note(text)
            return f"Basic {text}"
        if spec.kind == "bearer":
            return f"Bearer {spec.value}"
        async with self._lock:
            token = self._token
            if token is None or (token.until is not None and self._now() >= token.until):
                token = self._token = await self._exchange(spec)
        return f"Bearer {token.text}"

    async def _exchange(self, spec: AuthSpec) -> Token:
        """Ask for a token (RFC 6749 §4.4.2); the client names itself in the header (§2.3.1)."""
        client = base64.b64encode(f"{quote(spec.user, safe='')}:{quote(spec.value, safe='')}".encode()).decode()
        self._note(client)
        form = {"grant_type": "client_credentials", **({"scope": spec.scope} if spec.scope else {})}
        status, text = await self._post(spec.token_url, form, {"Authorization": f"Basic {client}"})
        answer: Any = None
        with contextlib.suppress(ValueError, RecursionError):
            answer = json.loads(text)
        given = answer.get("access_token") if isinstance(answer, dict) else None
        if status >= 400 or not isinstance(given, str) or not given:
            said = shorten(printable(hide(text, self.secrets)), 200)
            raise EnvironmentFaultError(
                f"{spec.token_url} gave no token for the client credentials: HTTP {status}: {said} "
                "(look at client_id, client_secret and scope in environment.tools.auth)"
            )
        self._note(given)
        seconds = answer.get("expires_in")
        until = self._now() + float(seconds) - _EARLY if isinstance(seconds, int | float) else None
        return Token(given, until)

    def _note(self, secret: str) -> None:
        if secret not in self._seen:
            self._seen.append(secret)


def _with(request: Request, **changes: Any) -> Request:
    return Request(**{**vars(request), **changes})
