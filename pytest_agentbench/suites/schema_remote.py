"""The form of tools that another process executes: REST services and MCP servers."""

from pytest_agentbench.suites.schema_forms import TEXT, Schema, mapping, texts

_FILLED: Schema = {"type": "string", "pattern": r"\S", "description": "a text"}
_FILE: Schema = {"type": "string", "pattern": r"\S", "description": "the path of a file"}
_URL: Schema = {"type": "string", "pattern": r"^https?://\S+$", "description": "an address such as https://host/v1"}
_SECONDS: Schema = {"type": "number", "exclusiveMinimum": 0, "description": "seconds, more than 0"}
_TEXTS: Schema = {"type": "object", "additionalProperties": TEXT, "description": "a mapping of names to texts"}
_COMMAND: Schema = {"type": "array", "items": TEXT, "minItems": 1, "description": "a command, as a list of its words"}
_SHARE: Schema = {"enum": ["run", "session"], "description": "run (a process for each run) or session (one for all)"}
_ONLY = texts("a list of names and patterns of the tools that are offered")

_SERVE = mapping(
    {
        "command": _COMMAND,
        "env": _TEXTS,
        "ready": {**_FILLED, "description": "the path that answers once the service is up"},
        "share": _SHARE,
        "seconds": _SECONDS,
    },
    "{command: […], ready: /path, share: run or session}",
    ("command",),
)

_AUTH: Schema = {
    "anyOf": [
        mapping(
            {"bearer": {**_FILLED, "description": "a token, best written as ${VARIABLE}"}}, "{bearer: …}", ("bearer",)
        ),
        *(
            mapping(
                {
                    "api_key": mapping(
                        {
                            "value": {**_FILLED, "description": "a key, best written as ${VARIABLE}"},
                            place: {**_FILLED, "description": f"the name of the {place} that holds it"},
                        },
                        f"{{value: …, {place}: …}}",
                        ("value", place),
                    )
                },
                f"{{api_key: {{value: …, {place}: …}}}}",
                ("api_key",),
            )
            for place in ("header", "query", "cookie")
        ),
        mapping(
            {"basic": mapping({"user": _FILLED, "password": TEXT}, "{user: …, password: …}", ("user", "password"))},
            "{basic: {user: …, password: …}}",
            ("basic",),
        ),
        mapping(
            {
                "client_credentials": mapping(
                    {"token_url": _URL, "client_id": _FILLED, "client_secret": _FILLED, "scope": TEXT},
                    "{token_url: …, client_id: …, client_secret: …, scope: …}",
                    ("token_url", "client_id", "client_secret"),
                )
            },
            "{client_credentials: {…}}",
            ("client_credentials",),
        ),
    ],
    "description": "{bearer: …}, {api_key: {value: …, header: …}}, {basic: {…}} or {client_credentials: {…}}",
}

PREFIX: Schema = {
    "type": "string",
    "pattern": r"^[A-Za-z_][A-Za-z0-9_-]*$",
    "description": "what is put before the names of the tools, such as crm_",
}
_TOOL_LIST: Schema = {**_FILE, "description": "the file of a committed list of tools"}

OPENAPI_TOOLS = mapping(
    {
        "openapi": {**_FILLED, "description": "the path or the address of an OpenAPI document"},
        "base_url": _URL,
        "headers": _TEXTS,
        "auth": _AUTH,
        "reset": {
            "type": "string",
            "pattern": r"^(?i:GET|POST|PUT|PATCH|DELETE) /\S*$",
            "description": "a request such as POST /reset",
        },
        "serve": _SERVE,
        "only": _ONLY,
        "list": _TOOL_LIST,
        "prefix": PREFIX,
        "seconds": _SECONDS,
    },
    "{openapi: spec.json, base_url: …, auth: …}",
    ("openapi",),
)

MCP_TOOLS = mapping(
    {
        "mcp": {
            "anyOf": [
                mapping(
                    {"command": _COMMAND, "env": _TEXTS, "inherit": texts("a list of names of variables")},
                    "{command: […], env: {…}}",
                    ("command",),
                ),
                mapping({"url": _URL, "headers": _TEXTS}, "{url: …, headers: {…}}", ("url",)),
            ],
            "description": "{command: […], env: {…}} or {url: …}",
        },
        "share": _SHARE,
        "only": _ONLY,
        "list": _TOOL_LIST,
        "prefix": PREFIX,
        "seconds": _SECONDS,
    },
    "{mcp: {command: […]} or {url: …}}",
    ("mcp",),
)

STATE_TOOLS: Schema = {
    "type": "array",
    "minItems": 1,
    "items": {
        "anyOf": [
            {"type": "string", "pattern": r"\S", "description": "the name of a tool"},
            {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": {"type": "object"},
                "description": "a tool and its arguments, {name: {…}}",
            },
        ],
        "description": "the name of a tool, or {name: {…its arguments}}",
    },
    "description": "a list of read-only tools that tell the state",
}
"""Calls of remote tools whose answers are the state."""
