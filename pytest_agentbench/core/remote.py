"""Tools that another process executes: a REST service by its OpenAPI document, or an MCP server."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.values import JsonValue

Sharing = Literal["run", "session"]
"""Whether each run has a process of its own, or all runs of a session share one."""


class ServiceSpec(Model):
    """A service that is started for the runs: `{port}`, `{run_dir}`, `{python}` in `command` and `env` are filled in.

    `ready` is the path that answers once the service is up, for which `seconds` are waited.
    """

    command: tuple[str, ...]
    env: dict[str, str] = {}
    ready: str = "/"
    share: Sharing = "run"
    seconds: float = 30.0


class AuthSpec(Model):
    """How requests are authorised. `value` is the key, the token, or the password of `user`.

    `name` is that of the header, query parameter or cookie which holds an API key. Client credentials are exchanged for
    a token at `token_url` (OAuth 2, RFC 6749 §4.4), `user` being the client's id and `value` its secret.
    """

    kind: Literal["api_key", "bearer", "basic", "client_credentials"]
    value: str = Field(repr=False)
    place: Literal["header", "query", "cookie"] = "header"
    name: str = ""
    user: str = ""
    token_url: str = ""
    scope: str = ""


class OpenApiSpec(Model):
    """A REST service. `document` is a file below the suite's folder, or an address.

    `base_url` stands for the servers that the document names. `reset` is a request, as `POST /path`, made before each
    run. `only` are names and patterns of the operations that are offered, `tools` is a committed list of tools. A
    request may take `seconds`.
    """

    document: str
    base_url: str = ""
    headers: dict[str, str] = {}
    auth: AuthSpec | None = None
    reset: str = ""
    service: ServiceSpec | None = None
    only: tuple[str, ...] = ()
    tools: Path | None = None
    seconds: float = 30.0


class McpSpec(Model):
    """An MCP server: a `command` that speaks it on its standard streams, or the `url` of one (streamable HTTP).

    `{run_dir}` in `command` and `env` is a fresh folder, `{python}` this interpreter. `inherit` names variables of the
    process environment that the server gets besides. A start, and a call, may take `seconds`.
    """

    command: tuple[str, ...] = ()
    env: dict[str, str] = {}
    inherit: tuple[str, ...] = ()
    url: str = ""
    headers: dict[str, str] = {}
    share: Sharing = "run"
    only: tuple[str, ...] = ()
    tools: Path | None = None
    seconds: float = 30.0


RemoteSpec = OpenApiSpec | McpSpec

Arguments = dict[str, JsonValue]
"""The arguments of a call, by name."""
