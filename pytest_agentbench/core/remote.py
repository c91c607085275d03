"""Tools that another process executes: a REST service by its OpenAPI document, or an MCP server."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.file_models import (
    Address,
    Choice,
    Filled,
    Holds,
    Names,
    Says,
    Seconds,
    Text,
    Variables,
    Written,
)
from pytest_agentbench.core.json_values import JsonValue

Sharing = Literal["run", "session"]
"""Whether each run has a process of its own, or all runs of a session share one."""

_Share = Annotated[Sharing, Choice("run (a process for each run) or session (one for all)")]
_Command = Annotated[tuple[Text, ...], Holds("a command, as a list of its words", 1)]


def is_web_address(text: str | None) -> bool:
    """Whether a text is a whole address."""
    return text is not None and text.startswith(("http://", "https://"))


def is_fixed_address(text: str | None) -> bool:
    """Whether a text is a whole address with a port of its own."""
    return text is not None and is_web_address(text) and "{port}" not in text


def server_of(address: str) -> str:
    """Give the server of an address; both names of this machine are one."""
    try:
        parts = urlsplit(address)
        host = "127.0.0.1" if parts.hostname == "localhost" else parts.hostname
        return f"{parts.scheme}://{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
    except ValueError:
        return address


class ServiceSpec(Written):
    """A service that is started for the runs; `{port}`, `{run_dir}`, `{python}`, `{now}` in its words are filled in."""

    expected: ClassVar[str] = "{command: […], ready: /path, share: run or session}"

    command: _Command
    """The command, as a list of its words."""
    env: Variables = {}
    """Variables of its environment."""
    ready: Annotated[Filled, Says("a path that answers with a status below 400 once the service is up")] | None = None
    """A path, or an address of a fixed port, that answers below 400 once it is up; without it, any answer at `/`."""
    share: _Share = "run"
    """Whether each run has a service of its own, or all share one."""
    seconds: Seconds = 30.0
    """Seconds that are waited for `ready`."""


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


class Offered(Written):
    """What is offered of the tools of a service or a server."""

    only: Annotated[Names, Holds("a list of names and patterns of the tools that are offered")] = ()
    """Names and patterns of the tools that are offered."""
    seconds: Seconds = 30.0
    """Seconds that a start, and a call, may take."""


ResetRequest = Annotated[
    str, Field(pattern=r"^(?i:GET|POST|PUT|PATCH|DELETE) /\S*\Z"), Says("a request such as POST /reset")
]
"""A request that puts a service back to its first state, as `POST /path`."""


class RestKeys(Offered):
    """How a REST service is asked."""

    base_url: Address = ""
    """The address that stands for the servers that the document names."""
    headers: Variables = {}
    """Headers of every request."""
    reset: ResetRequest = ""
    """A request, as `POST /path`, made before each run."""


class AgentReset(Model):
    """How `agent.http.reset` is asked: `address` is where the agent is."""

    address: str
    headers: dict[str, str] = {}
    seconds: float


class OpenApiSpec(RestKeys):
    """A REST service. `document` is a file below the suite's folder, or an address.

    `service` is started for the runs; `tools` is a committed list of tools. `reset_as` says how `reset` is asked where
    it is the agent's.
    """

    document: str
    auth: AuthSpec | None = None
    service: ServiceSpec | None = None
    tools: Path | None = None
    reset_as: AgentReset | None = None

    @property
    def takes_turns(self) -> bool:
        """Whether one run has the service at a time: all share it, and it is reset for each."""
        return bool(self.reset) and (self.service is None or self.service.share == "session")


class McpCommand(Written):
    """An MCP server that speaks on its standard streams; `{run_dir}` and `{python}` are filled in."""

    expected: ClassVar[str] = "{command: […], env: {…}}"

    command: _Command
    """The command, as a list of its words."""
    env: Variables = {}
    """Variables of its environment."""
    inherit: Annotated[Names, Holds("a list of names of variables")] = ()
    """Names of variables of the process environment that the server gets besides."""


class McpAddress(Written):
    """An MCP server behind an address (streamable HTTP)."""

    expected: ClassVar[str] = "{url: …, headers: {…}}"

    url: Address
    """The address."""
    headers: Variables = {}
    """Headers of every request."""


class McpKeys(Offered):
    """How the process of an MCP server is shared."""

    share: _Share = "run"
    """Whether each run has a server of its own, or all share one."""


class McpSpec(McpKeys):
    """An MCP server: one that is started by a `command`, or one at a `url`; `tools` is a committed list of tools."""

    command: tuple[str, ...] = ()
    env: dict[str, str] = {}
    inherit: tuple[str, ...] = ()
    url: str = ""
    headers: dict[str, str] = {}
    tools: Path | None = None


Arguments = dict[str, JsonValue]
"""The arguments of a call, by name."""
