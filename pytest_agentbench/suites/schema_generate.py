"""The form of `generate`, the recipe of `agentbench generate`, as JSON Schema."""

from pytest_agentbench.suites.schema_forms import IMPORT_PATH, Schema, mapping
from pytest_agentbench.suites.schema_models import MODEL

_POSITIVE: Schema = {"type": "integer", "minimum": 1, "description": "a whole number, 1 or more"}
_SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1, "description": "a share from 0 to 1"}
_NODES: Schema = {"type": "integer", "minimum": 3, "maximum": 1000, "description": "a number of nodes, from 3 to 1000"}
_PATH: Schema = {"type": "string", "pattern": r"\S", "description": "a path, relative to the suite's folder"}

GENERATE = mapping(
    {
        "from": {"enum": ["tools", "policies"], "description": "tools or policies"},
        "count": {**_POSITIVE, "maximum": 100_000, "description": "how many scenarios, from 1 to 100000"},
        "seed": {"type": "integer", "description": "a whole number"},
        "out": {**_PATH, "description": "the folder that is written"},
        "languages": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "string",
                "pattern": r"^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$",
                "description": "a language",
            },
            "description": "a list of the users' languages, such as [en, fr]",
        },
        "shape": {
            "enum": ["conversation", "react"],
            "description": "conversation (the user speaks again and again), or react (once, then calls to the end)",
        },
        "chains": {
            "enum": ["walks", "goals"],
            "description": "where chains of calls come from: walks (through the tool graph), or goals (a model plays)",
        },
        "nodes": mapping({"min": _NODES, "max": _NODES}, "{min: 6, max: 25}: the length of a walk in nodes"),
        "complexity": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"type": "number", "minimum": 0, "description": "a share, 0 or more"},
            "description": "a mapping such as {simple: 0.5, complex: 0.5}",
        },
        "levels": mapping({"min": _POSITIVE, "max": _POSITIVE}, "{min: 2, max: 11}: sums of the policies' challenges"),
        "walk": {
            "enum": ["exact", "paper"],
            "description": "exact (sets of exactly the level), or paper (IntellAgent's Algorithm 1, which overshoots)",
        },
        "steps": {
            "enum": ["weighted", "uniform", "max"],
            "description": "how the next policy of a set is chosen: by the weights, evenly, or the highest weight",
        },
        "document": {**_PATH, "description": "a document with policies, relative to the suite's folder"},
        "validators": {
            "type": "array",
            "minItems": 1,
            "items": IMPORT_PATH,
            "description": "a list of import paths of functions that check generated rows",
        },
        "enriched": {**_SHARE, "description": "the share of scenarios with a planned failure, from 0 to 1"},
        "personas": {**_POSITIVE, "maximum": 20, "description": "users per scenario, from 1 to 20"},
        "pool": {**_POSITIVE, "maximum": 1000, "description": "verified calls per tool, from 1 to 1000"},
        "allow_writes": {"type": "boolean", "description": "true: tools that change state may be tried"},
        "trust_annotations": {
            "type": "boolean",
            "description": "true: what servers tell of their tools (readOnlyHint, GET) counts as declared",
        },
        "allow": {
            "type": "array",
            "items": {"type": "string", "pattern": r"\S", "description": "the name of a tool"},
            "minItems": 1,
            "description": "a list of tools that may be called whatever they do",
        },
        "weights": {
            "enum": ["uniform", "conditioned", "prompting", "empirical", "traces"],
            "description": "where transition probabilities come from",
        },
        "candidates": {
            **_POSITIVE,
            "maximum": 20,
            "description": "walks drawn for each scenario, of which the most plausible are kept, from 1 to 20",
        },
        "agents": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": r"\S", "description": "the name of an agent"},
            "additionalProperties": _PATH,
            "description": "a mapping of other agents to their suite files: {helpdesk: desk.agentbench.yaml}",
        },
        "traces": {"type": "array", "items": _PATH, "minItems": 1, "description": "a list of recorded conversations"},
        "values": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {
                "type": "array",
                "description": "a list of values (an empty one: an optional argument that no user gives)",
            },
            "description": "a mapping of arguments, or tool.argument, to lists of values that exist",
        },
        "review": {
            "enum": ["pending", "off"],
            "description": "pending: a scenario counts once a reviewer accepted it; off: it counts at once",
        },
        "llm": {**MODEL, "description": "the model that plays the roles of the pipeline"},
        "roles": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "pattern": r"\S", "description": "the name of a role"},
            "description": "a list of the roles that the model plays; without it, all",
        },
    },
    "a recipe: {from: tools, count: 50, seed: 7}",
    ("from",),
)
