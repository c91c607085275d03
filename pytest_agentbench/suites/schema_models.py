"""The form of what reaches a model or an endpoint: models, chat agents, HTTP agents, the simulated user, cassettes."""

from pytest_agentbench.suites.schema_forms import FREE, IMPORT_PATH, INSTEAD, TEXT, Schema, mapping, texts
from pytest_agentbench.suites.schema_modifiers import MODIFIERS

_FILE: Schema = {"type": "string", "pattern": r"\S", "description": "the path of a file"}
_URL: Schema = {"type": "string", "pattern": r"^https?://\S+$", "description": "an address such as https://host/v1"}
_POSITIVE: Schema = {"type": "integer", "minimum": 1, "description": "a whole number, 1 or more"}
_SECONDS: Schema = {"type": "number", "exclusiveMinimum": 0, "description": "seconds, more than 0"}
_DOLLARS: Schema = {
    "type": "number",
    "minimum": 0,
    "maximum": 1_000_000_000,
    "description": "US dollars per million tokens, from 0 to a billion",
}
_HEADERS: Schema = {"type": "object", "additionalProperties": TEXT, "description": "a mapping of headers to texts"}
_PATH: Schema = {"type": "string", "description": "a dotted path into the answer, such as choices.0.message.content"}

PRICE = mapping(
    {"input": _DOLLARS, "output": _DOLLARS, "cached_input": _DOLLARS},
    "{input: …, output: …} in US dollars per million tokens",
    ("input", "output"),
)

UPSTREAM = {**_URL, "description": "the address of the model server that the factory's base_url leads to"}

_REACH: Schema = {
    "model": {"type": "string", "pattern": r"\S", "description": "the name of a model, as in openai:NAME"},
    "base_url": _URL,
    "api_key": {"type": "string", "pattern": r"\S", "description": "a key, best written as ${VARIABLE}"},
    "api_key_env": {"type": "string", "pattern": r"^[A-Za-z_][A-Za-z0-9_]*$", "description": "a variable's name"},
    "temperature": {"type": "number", "minimum": 0, "maximum": 2, "description": "a number from 0 to 2"},
    "seed": {"type": "integer", "description": "a whole number"},
    "max_tokens": _POSITIVE,
    "effort": {
        "enum": ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
        "description": "how long a reasoning model may think: none, minimal, low, medium, high, xhigh or max",
    },
    "seconds": {**_SECONDS, "description": "seconds that one request may take, more than 0"},
    "retries": {"type": "integer", "minimum": 0, "description": "a whole number, 0 or more"},
    "extra_body": {**FREE, "description": "a mapping of further keys of the request"},
    "headers": _HEADERS,
    "price": PRICE,
    "in_flight": _POSITIVE,
    "requests_per_minute": _POSITIVE,
    "tokens_per_minute": _POSITIVE,
    "structured": {
        "enum": ["auto", "json_schema", "tool", "json", "prompt"],
        "description": "how JSON answers are asked for",
    },
    "transport": {"enum": ["direct", "openai", "pydantic_ai"], "description": "who posts requests"},
}

MODEL = mapping(_REACH, "a mapping such as {model: …, base_url: …, temperature: …}")
"""How a model is reached; what is left out comes from the suite's `llm`."""

OPENAI_AGENT = mapping(
    {
        **_REACH,
        "system": {**TEXT, "description": "the system prompt"},
        "system_file": {**_FILE, "description": "a file that holds the system prompt"},
        "rounds": {**_POSITIVE, "description": "a whole number, 1 or more: model calls per turn"},
    },
    "a mapping such as {model: …, system: …}",
)

_POSTED: Schema = {
    "headers": _HEADERS,
    "body": {**FREE, "description": "a mapping to post, with $message, $messages, $session_id and others in it"},
    "reply": _PATH,
    "calls": _PATH,
    "call": mapping(
        dict.fromkeys(("name", "arguments", "result", "error", "id"), _PATH),
        "{name: …, arguments: …, result: …, error: …, id: …}: paths within each call",
    ),
    "approvals": _PATH,
    "session": _PATH,
    "stop": _PATH,
    "output": _PATH,
    "seconds": _SECONDS,
}
_PART_OF_APP: Schema = {
    "type": "string",
    "pattern": r"^(https?:/)?/\S*$",
    "description": "a path such as /chat, or an address such as https://host/chat",
}

HTTP_AGENT: Schema = {
    "anyOf": [
        mapping({"url": _URL, **_POSTED}, "a mapping such as {url: …, body: …, reply: …}", ("url",)),
        mapping(
            {
                "app": IMPORT_PATH,
                "factory": {
                    "type": "boolean",
                    "description": "true: calling `app` gives the app",
                },
                "url": _PART_OF_APP,
                **_POSTED,
            },
            "a mapping such as {app: package.module:name, url: /chat, reply: …}",
            ("app",),
        ),
    ],
    "description": "{url: …}, an endpoint, or {app: package.module:name}, an ASGI app that is played in this process",
}

_SCRIPTED = "a scripted user has no modifiers and no critique: write `user: scripted`, or `llm` beside them"

USER: Schema = {
    "anyOf": [
        {"enum": ["scripted", "llm"], "description": "scripted or llm"},
        {
            **mapping(
                {
                    "llm": MODEL,
                    "modifiers": MODIFIERS,
                    "critique": {
                        "enum": [1, 2],
                        "description": "how often a conversation that is not over goes on: 1 or 2",
                    },
                },
                "{llm: {model: …}, modifiers: […], critique: 2}",
                ("llm",),
            ),
            INSTEAD: {"llm": _SCRIPTED, "scripted": _SCRIPTED},
        },
    ],
    "description": "the simulated user: scripted, llm, or {llm: {model: …}}",
}

CASSETTE = mapping(
    {
        "file": {**_FILE, "description": "the file that model calls are recorded in"},
        "ignore": texts("a list of regular expressions for what makes no difference between two requests"),
        "unrecorded": {
            "enum": ["fail", "skip"],
            "description": "what a replay does with runs of which nothing is recorded: fail or skip",
        },
    },
    "{file: …, ignore: […], unrecorded: skip}",
)
