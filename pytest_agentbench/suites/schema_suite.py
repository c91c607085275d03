"""The form of suite files and policies, as JSON Schema."""

from pytest_agentbench.suites.schema_faults import AXIS
from pytest_agentbench.suites.schema_forms import IMPORT_PATH, NAME, TEXT, Schema, mapping, texts
from pytest_agentbench.suites.schema_generate import GENERATE
from pytest_agentbench.suites.schema_models import CASSETTE, HTTP_AGENT, MODEL, OPENAI_AGENT, PRICE, UPSTREAM, USER
from pytest_agentbench.suites.schema_remote import MCP_TOOLS, OPENAPI_TOOLS, PREFIX, STATE_TOOLS
from pytest_agentbench.suites.schema_rubric import AUDITOR, JUDGE, RUBRIC
from pytest_agentbench.suites.schema_rules import RULE_DEFINITIONS
from pytest_agentbench.suites.schema_scenario import APPROVALS, CONTEXT, DEFINITIONS, LANGUAGE, SCENARIO_FILE

_FILE: Schema = {"type": "string", "pattern": r"\S", "description": "the path of a file"}
_FILES: Schema = {"type": "array", "items": _FILE, "minItems": 1, "description": "a list of files"}
_MODULE: Schema = {"type": "string", "pattern": r"\S", "description": "a module"}
_SERIAL: Schema = {"type": "boolean", "description": "true: runs of this agent never overlap"}
_NAMES = texts("a list of names of tools")

_AGENT: Schema = {
    "anyOf": [
        IMPORT_PATH,
        mapping(
            {"factory": IMPORT_PATH, "serial": _SERIAL, "upstream": UPSTREAM, "price": PRICE},
            "{factory: package.module:name}",
            ("factory",),
        ),
        mapping({"callable": IMPORT_PATH, "serial": _SERIAL}, "{callable: package.module:name}", ("callable",)),
        mapping({"openai": OPENAI_AGENT}, "{openai: {model: …, system: …}}", ("openai",)),
        mapping({"http": HTTP_AGENT, "serial": _SERIAL}, "{http: {url: …}} or {http: {app: …}}", ("http",)),
        mapping(
            {
                "transcripts": {
                    "anyOf": [_FILE, _FILES],
                    "description": "a file of recorded conversations, or a list of files",
                }
            },
            "{transcripts: runs.jsonl}",
            ("transcripts",),
        ),
    ],
    "description": "an import path such as package.module:name, {factory: …}, {callable: …}, {openai: …}, {http: …} "
    "or {transcripts: …}",
}

_PROVIDERS: list[Schema] = [
    {"type": "string", "pattern": r"\S", "description": "a Python module or a .json file that describes tools"},
    mapping(
        {"python": {"type": "string", "pattern": r"\S", "description": "a module"}, "prefix": PREFIX},
        "{python: …}",
        ("python",),
    ),
    mapping({"schema": _FILE, "prefix": PREFIX}, "{schema: tools.json}", ("schema",)),
    OPENAPI_TOOLS,
    MCP_TOOLS,
]

_PROVIDER = "a Python module, a .json file, {python: …}, {schema: …}, {openapi: …} or {mcp: …}"

_TOOLS: Schema = {
    "anyOf": [
        *_PROVIDERS,
        {
            "type": "array",
            "minItems": 1,
            "items": {"anyOf": _PROVIDERS, "description": _PROVIDER},
            "description": "a list of these",
        },
    ],
    "description": f"{_PROVIDER}, or a list of these",
}

_TRIALS: Schema = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "description": "a whole number, 1 or more"},
        mapping(
            {
                "most": {"type": "integer", "minimum": 2, "description": "a whole number, 2 or more"},
                "stop": {"enum": ["sequential"], "description": "sequential"},
            },
            "{most: 8, stop: sequential}",
            ("most",),
        ),
    ],
    "description": "a whole number, 1 or more, or {most: 8, stop: sequential}",
}

_IGNORE = texts("a list of path patterns left out of comparisons, such as orders.*.updated_at")
_UNORDERED = texts("a list of path patterns of lists whose order makes no difference, such as orders.*.items")
_COMPARED: Schema = {"ignore": _IGNORE, "unordered": _UNORDERED}

_TURNS: Schema = {"type": "integer", "minimum": 1, "description": "a whole number, 1 or more"}
_STALL = mapping(
    {
        "similarity": {"type": "number", "minimum": 0.5, "maximum": 1, "description": "a number from 0.5 to 1"},
        **dict.fromkeys(("repeats", "mirrors", "mirrored_turns", "idle_turns"), _TURNS),
        "new_text": {"type": "number", "minimum": 0, "maximum": 1, "description": "a number from 0 to 1"},
    },
    "a mapping of thresholds from which a conversation counts as STALLED",
)

_NOW: Schema = {
    "type": "string",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2}))?$",
    "description": "a date and time with its zone, such as 2026-11-22T10:00Z, or a date, which is midnight UTC",
}

_STATE: Schema = {
    "anyOf": [
        mapping(
            {"sqlite": mapping({"schema": _FILE, "rows": _FILE}, "{schema: schema.sql, rows: rows.yaml}", ("schema",)),
             **_COMPARED},
            "{sqlite: {schema: …, rows: …}}",
            ("sqlite",),
        ),
        mapping({"json": _FILE, **_COMPARED}, "{json: state.json}", ("json",)),
        mapping({"tools": STATE_TOOLS, **_COMPARED}, "{tools: [read_all, …]}", ("tools",)),
        {
            "type": "object",
            "properties": {"own": IMPORT_PATH, **_COMPARED},
            "required": ["own"],
            "additionalProperties": True,
            "description": "{own: package.module:Provider, …its options}",
        },
        {
            "type": "object",
            "properties": {"plugin": {"type": "string", "pattern": r"\S", "description": "a name"}, **_COMPARED},
            "required": ["plugin"],
            "additionalProperties": True,
            "description": "{plugin: the name of a state that an installed plugin offers, …its options}",
        },
        mapping(_COMPARED, "{ignore: […], unordered: […]} beside tau2"),
    ],
    "description": "{sqlite: {schema: …, rows: …}}, {json: file} or {own: package.module:Provider}",
}  # fmt: skip

_POLICY = mapping(
    {
        "id": {**NAME, "description": "the name of the policy, unique in the suite"},
        "text": {"type": "string", "pattern": r"\S", "description": "the rule in words"},
        "challenge": {
            "type": ["integer", "null"],
            "minimum": 1,
            "maximum": 5,
            "description": "a whole number from 1 to 5",
        },
        "category": TEXT,
        "rule": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/rule"}]},
        "tools": texts("a list of the tools that it concerns, for people"),
        "source": {**TEXT, "description": "the sentence of a document that rule and challenge were read from"},
    },
    "a policy: {id: …, text: …, challenge: 1 to 5, category: …}",
    ("id", "text"),
)

_DEFINITIONS: Schema = {
    **DEFINITIONS,
    **RULE_DEFINITIONS,
    "policy": _POLICY,
    "policies": {"type": "array", "items": {"$ref": "#/$defs/policy"}, "description": "a list of policies"},
}

SUITE_FILE: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "pytest-agentbench suite",
    **mapping(
        {
            "name": {**TEXT, "pattern": r"\S", "description": "the name of the suite"},
            "owner": {**TEXT, "pattern": r"\S", "description": "who sees to the suite, for the report"},
            "agent": _AGENT,
            "variants": {
                "type": "object",
                "minProperties": 1,
                "propertyNames": {
                    "pattern": r"^(?!t[0-9]+$)[A-Za-z0-9_.-]*[A-Za-z0-9_][A-Za-z0-9_.-]*$",
                    "description": "letters, digits, _ . and -, not t and a number (that names trials)",
                },
                "additionalProperties": {
                    "type": ["object", "null"],
                    "description": "a mapping of keywords for the factory",
                },
                "description": "a mapping of variant names to keywords of the factory",
            },
            "environment": mapping(
                {
                    "tools": _TOOLS,
                    "user_tools": _TOOLS,
                    "state": _STATE,
                    "tau2": {"type": "string", "pattern": r"^[a-z0-9_-]+$", "description": "a domain of τ²-bench"},
                    "checkout": {"type": "string", "pattern": r"\S", "description": "a folder with τ²-bench's source"},
                    "reads": _NAMES,
                    "writes": _NAMES,
                },
                "a mapping with tools, user_tools, state, reads and writes; or with tau2 and checkout",
            ),
            "user": USER,
            "language": LANGUAGE,
            "approvals": APPROVALS,
            "now": _NOW,
            "llm": {**MODEL, "description": "a mapping of what the models of all roles have in common"},
            "cassette": CASSETTE,
            "judge": JUDGE,
            "auditor": AUDITOR,
            "rubric": RUBRIC,
            "policies": {"anyOf": [_FILE, {"$ref": "#/$defs/policies"}], "description": "a file or a list of policies"},
            "scenarios": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "anyOf": [{**_FILE, "description": "a file or pattern"}, {"$ref": "#/$defs/scenario"}],
                    "description": "a scenario, or a file or pattern such as scenarios/*.yaml",
                },
                "description": "a list of scenarios and of files or patterns, at least one",
            },
            "faults": AXIS,
            "generate": GENERATE,
            "limits": {"$ref": "#/$defs/limits"},
            "stall": _STALL,
            "gates": {
                "type": "array",
                "items": {"type": "string", "description": "a gate such as 'success >= 0.80'"},
                "description": "a list of gates such as 'success >= 0.80'",
            },
            "trials": _TRIALS,
            "context": CONTEXT,
            "extends": {**_FILE, "description": "the path of a suite file whose keys this one takes over"},
        },
        "a suite: a mapping with at least agent and scenarios",
        ("agent", "scenarios"),
    ),
    "$defs": _DEFINITIONS,
}

SCHEMAS: dict[str, Schema] = {"suite": SUITE_FILE, "scenario": SCENARIO_FILE}
"""The shipped schemas by the name under which the command line prints them."""
