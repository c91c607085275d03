"""`environment` of a suite file: where tools and state come from."""

from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from pytest_agentbench.core.extensions import environments
from pytest_agentbench.core.file_models import (
    Address,
    FileName,
    Filled,
    Holds,
    ImportPath,
    Names,
    OneOf,
    Says,
    Text,
    ToolName,
    Written,
)
from pytest_agentbench.core.remote import McpAddress, McpCommand, McpKeys, RestKeys, ServiceSpec
from pytest_agentbench.core.suite import Compared

_AText = Annotated[Filled, Says("a text")]


class Prefixed(Written):
    """A provider of tools."""

    prefix: Annotated[
        str,
        Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*\Z"),
        Says("a prefix for the names of the tools, such as crm_"),
    ] = ""
    """What is put before the names of the tools, as the agent and the scenarios see them."""


class PythonTools(Prefixed):
    """The functions of a Python module."""

    expected: ClassVar[str] = "{python: …}"

    python: Annotated[Filled, Says("a module")]
    """The module."""


class DescribedTools(Prefixed):
    """Tools that a file only describes."""

    expected: ClassVar[str] = "{schema: tools.json}"

    file: FileName = Field(alias="schema")
    """The file."""


class Bearer(Written):
    """A token in the header `Authorization`."""

    expected: ClassVar[str] = "{bearer: …}"

    bearer: Annotated[Filled, Says("a token, best written as ${VARIABLE}")]
    """The token."""


class _Key(Written):
    value: Annotated[Filled, Says("a key, best written as ${VARIABLE}")]
    """The key."""


class HeaderKey(_Key):
    """A key in a header."""

    expected: ClassVar[str] = "{value: …, header: …}"

    header: Annotated[Filled, Says("the name of the header that holds it")]
    """The name of the header."""


class QueryKey(_Key):
    """A key in the query."""

    expected: ClassVar[str] = "{value: …, query: …}"

    query: Annotated[Filled, Says("the name of the query that holds it")]
    """The name of the query parameter."""


class CookieKey(_Key):
    """A key in a cookie."""

    expected: ClassVar[str] = "{value: …, cookie: …}"

    cookie: Annotated[Filled, Says("the name of the cookie that holds it")]
    """The name of the cookie."""


class ApiKey(Written):
    """A key of the service."""

    expected: ClassVar[str] = "{api_key: {value: …, header: …}}"

    api_key: Annotated[
        HeaderKey | QueryKey | CookieKey, OneOf("{value: …, header: …}, or with query or cookie in place of header")
    ]
    """The key, and the header, query parameter or cookie that holds it."""


class UserPassword(Written):
    """A user and a password."""

    expected: ClassVar[str] = "{user: …, password: …}"

    user: _AText
    """The user."""
    password: Text
    """The password."""


class Basic(Written):
    """A user and a password in the header `Authorization`."""

    expected: ClassVar[str] = "{basic: {user: …, password: …}}"

    basic: UserPassword
    """User and password."""


class Credentials(Written):
    """An id and a secret that are exchanged for a token (OAuth 2, RFC 6749 §4.4)."""

    expected: ClassVar[str] = "{token_url: …, client_id: …, client_secret: …, scope: …}"

    token_url: Address
    """Where they are exchanged."""
    client_id: _AText
    """The id."""
    client_secret: _AText
    """The secret."""
    scope: Text = ""
    """What the token is for."""


class ClientCredentials(Written):
    """Client credentials."""

    expected: ClassVar[str] = "{client_credentials: {…}}"

    client_credentials: Credentials
    """The credentials."""


AuthForm = Annotated[
    Bearer | ApiKey | Basic | ClientCredentials,
    OneOf("{bearer: …}, {api_key: {value: …, header: …}}, {basic: {…}} or {client_credentials: {…}}"),
]


class _Listed(Written):
    tool_list: Annotated[FileName, Says("the file of a committed list of tools")] | None = Field(
        default=None, alias="list"
    )
    """The file of a committed list of tools."""


class OpenApiTools(RestKeys, Prefixed, _Listed):
    """The operations of a REST service."""

    expected: ClassVar[str] = "{openapi: spec.json, base_url: …, auth: …}"

    openapi: Annotated[Filled, Says("the path or the address of an OpenAPI document")]
    """The path or the address of an OpenAPI document."""
    auth: AuthForm | None = None
    """How requests are authorised."""
    serve: ServiceSpec | None = None
    """A service that is started for the runs."""


class McpTools(McpKeys, Prefixed, _Listed):
    """The tools of an MCP server."""

    expected: ClassVar[str] = "{mcp: {command: […]} or {url: …}}"

    mcp: Annotated[McpCommand | McpAddress, OneOf("{command: […], env: {…}} or {url: …}")]
    """The command that starts the server, or its address."""


_PROVIDER = "a Python module, a .json file, {python: …}, {schema: …}, {openapi: …} or {mcp: …}"

_Module = Annotated[Filled, Says("a Python module or a .json file that describes tools")]
_Provider = _Module | PythonTools | DescribedTools | OpenApiTools | McpTools
ProviderForm = Annotated[_Provider, OneOf(_PROVIDER)]
"""One provider of tools."""

ToolsForm = Annotated[
    _Provider | Annotated[tuple[ProviderForm, ...], Holds("a list of these", 1)],
    OneOf(f"{_PROVIDER}, or a list of these"),
]
"""`tools` and `user_tools`."""


class SqliteFiles(Written):
    """The files that an SQLite database is made from."""

    expected: ClassVar[str] = "{schema: schema.sql, rows: rows.yaml}"

    statements: FileName = Field(alias="schema")
    """The file with the statements that make its tables."""
    rows: FileName | None = None
    """The file with its rows."""


class SqliteState(Compared):
    """A fresh SQLite database per run."""

    expected: ClassVar[str] = "{sqlite: {schema: …, rows: …}}"

    sqlite: SqliteFiles
    """The files that it is made from."""


class JsonState(Compared):
    """A JSON file, of which every run has a copy."""

    expected: ClassVar[str] = "{json: state.json}"

    file: FileName = Field(alias="json")
    """The file."""


class ToldState(Compared):
    """What read-only tools tell."""

    expected: ClassVar[str] = "{tools: [read_all, …]}"

    tools: Annotated[
        tuple[
            Annotated[
                ToolName
                | Annotated[
                    dict[str, Annotated[dict[str, Any], Holds("a mapping")]],
                    Holds("a tool and its arguments, {name: {…}}", 1, 1),
                ],
                OneOf("the name of a tool, or {name: {…its arguments}}"),
            ],
            ...,
        ],
        Holds("a list of read-only tools that tell the state", 1),
    ]
    """Calls of tools whose answers are the state."""


class OwnState(Compared):
    """A state provider of the project's own; further keys are its options."""

    model_config = ConfigDict(extra="allow")

    expected: ClassVar[str] = "{own: package.module:Provider, …its options}"

    own: ImportPath
    """The import path of the provider."""


class PluginState(Compared):
    """A state that an installed plugin offers; further keys are its options."""

    model_config = ConfigDict(extra="allow")

    expected: ClassVar[str] = "{plugin: the name of a state that an installed plugin offers, …its options}"

    plugin: Annotated[Filled, Says("a name")]
    """The name of the state."""


AnyState = Annotated[
    SqliteState | JsonState | ToldState | OwnState | PluginState | Compared,
    OneOf("{sqlite: {schema: …, rows: …}}, {json: file} or {own: package.module:Provider}"),
]
"""`state` of an environment."""

_ToolNames = Annotated[Names, Holds("a list of names of tools")]
_ENVIRONMENT = "a mapping with tools, user_tools, state, reads and writes; or with what a plugin offers"


class _Kinds(Written):
    """What a suite says of its tools, wherever they come from."""

    reads: _ToolNames = ()
    """Tools that only read, where they do not say so themselves."""
    writes: _ToolNames = ()
    """Tools that write, where they do not say so themselves."""


class EnvironmentForm(_Kinds):
    """Tools and state that the agent acts on; each is optional."""

    expected: ClassVar[str] = _ENVIRONMENT

    tools: ToolsForm | None = None
    """Where the agent's tools come from."""
    user_tools: ToolsForm | None = None
    """Where the tools of the simulated user come from."""
    state: AnyState | None = None
    """Where the state comes from, and how two states are compared."""


class OfferedForm(_Kinds):
    """An environment that a plugin offers, which brings tools and state of its own, with the keys of its own form."""

    model_config = ConfigDict(extra="allow")

    expected: ClassVar[str] = _ENVIRONMENT

    state: AnyState | None = None
    """How two states are compared."""

    @classmethod
    def name_in(cls, value: dict[str, Any]) -> str:
        """Give the environment that a mapping names, or has a key of; "" where that is none which anybody offers."""
        own = EnvironmentForm.keys()
        offers = environments() if any(key not in own for key in value) else {}
        kept = (name for name, offer in offers.items() if set(value) & set(offer.form.keys()) - set(own))
        return next((name for name in offers if name in value), next(kept, ""))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Give the schemas of all that is offered, with the keys that stand beside in any of them."""
        found = super().__get_pydantic_json_schema__(schema, handler)
        offered = [
            handler.resolve_ref_schema(handler(one.form.__pydantic_core_schema__)) for one in environments().values()
        ]
        keys = {key: told for one in offered for key, told in one["properties"].items()}
        return {
            **found,
            "properties": {**found["properties"], **keys},
            "anyOf": [{"required": [name]} for name in environments()],
            "additionalProperties": False,
        }


AnyEnvironment = Annotated[
    EnvironmentForm | OfferedForm, OneOf(_ENVIRONMENT, lambda value: int(bool(OfferedForm.name_in(value))))
]
"""`environment` of a suite."""
