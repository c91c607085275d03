"""The form of scenario files, as JSON Schema."""

from pytest_agentbench.core.acts import ACT_KINDS
from pytest_agentbench.core.approvals import DECISIONS
from pytest_agentbench.suites.review_form import REVIEW
from pytest_agentbench.suites.schema_criteria import RUBRIC_FILE
from pytest_agentbench.suites.schema_faults import FAULT, FAULT_OPTIONS, SCENARIO_FAULTS
from pytest_agentbench.suites.schema_forms import (
    AGENT,
    COUNT,
    FREE,
    HANDOFF_BODY,
    IMPORT_PATH,
    NAME,
    OPTIONAL_TEXT,
    REASON,
    TEXT,
    Schema,
    mapping,
    texts,
)
from pytest_agentbench.suites.schema_modifiers import MODIFIERS

_FULL_CALL = mapping(
    {
        "name": {"type": "string", "minLength": 1, "description": "the name of a tool"},
        "arguments": {**FREE, "description": "a mapping of argument names to values or matchers"},
        "requestor": {"enum": ["assistant", "user"], "description": "who makes the call"},
        "compare_args": {
            "anyOf": [texts("the arguments to compare"), {"type": "null"}],
            "description": "a list of argument names, or nothing for all that are given",
        },
        "info": {**OPTIONAL_TEXT, "description": "a note for people"},
        "action_id": {"type": "string", "description": "a name for this call"},
        "by": {"type": "string", "minLength": 1, "description": "the agent, of several, that makes the call"},
    },
    "a call written in full: {name: tool, arguments: {…}}",
    ("name",),
)

_SHORT_CALL: Schema = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": {"type": ["object", "null"], "description": "a mapping of argument names to values"},
    "description": "a call: {tool: {argument: value}}",
}

_CALL_BY: Schema = {
    **_SHORT_CALL,
    "minProperties": 2,
    "maxProperties": 2,
    "properties": {"by": {"type": "string", "minLength": 1, "description": "the agent that makes the call"}},
    "required": ["by"],
    "description": "a call of one agent: {tool: {argument: value}, by: agent}",
}

_CALL: Schema = {
    "anyOf": [
        {"type": "string", "minLength": 1, "description": "the name of a tool"},
        _SHORT_CALL,
        _CALL_BY,
        _FULL_CALL,
    ],
    "description": "a call: {tool: {argument: value}}, {name: tool, arguments: {…}} or the name of a tool",
}

_ABOUT_CALL: Schema = {
    "anyOf": [{"type": "string", "minLength": 1, "description": "the name of a tool"}, _SHORT_CALL],
    "description": "the name of a tool, or {tool: {argument: value}}",
}

APPROVAL = mapping(
    {"approval": _ABOUT_CALL},
    "an approval that the agent asks for: {approval: tool}, or {approval: {tool: {argument: value}}}",
    ("approval",),
)

_HANDOFF = mapping({"handoff": HANDOFF_BODY}, "a handoff: {handoff: agent}", ("handoff",))

_STEP: Schema = {
    "anyOf": [*_CALL["anyOf"], _HANDOFF, APPROVAL],
    "description": "a call, {tool: {argument: value}} or the name of a tool; a handoff, {handoff: agent}; or an "
    "approval, {approval: tool}",
}

_REPLY = mapping(
    {
        "contains": {"type": "string", "minLength": 1, "description": "a text that the reply contains"},
        "matches": {"type": "string", "minLength": 1, "description": "a regular expression that fits in the reply"},
        "json": {"type": ["string", "object"], "description": "a JSON Schema, or the file that holds it"},
        "max_words": {**COUNT, "description": "a whole number, 0 or more: the words of the reply"},
        "turn": {
            "anyOf": [{"enum": ["last", "any"]}, {"type": "integer", "minimum": 1}],
            "description": "last, any, or a whole number from 1: the agent's turn",
        },
    },
    "{contains: …}, {matches: …}, {json: …} or {max_words: …}, with turn: last, any or a number",
)

_LIMITS = mapping(
    {
        "turns": {"type": "integer", "minimum": 1, "description": "a whole number, 1 or more: agent turns"},
        "tool_calls": {**COUNT, "description": "a whole number, 0 or more: tool calls of both parties"},
        "seconds": {"type": "number", "exclusiveMinimum": 0, "description": "seconds, more than 0"},
        "cost_usd": {
            "type": "number",
            "minimum": 0,
            "maximum": 1_000_000_000,
            "description": "US dollars, from 0 to a billion: what models cost",
        },
        "model_calls": {**COUNT, "description": "a whole number, 0 or more: calls to models"},
    },
    "limits of one run: turns, tool_calls, seconds, cost_usd, model_calls",
)

_MATCH = mapping(
    {
        "order": {
            "enum": ["any_order", "in_order", "exact"],
            "description": "any_order: each expected call is made; in_order: in this order; exact: and no other call",
        },
        "expected_calls": {
            "enum": ["writes", "all"],
            "description": "writes: missing reads are measured only; all: they fail the run",
        },
    },
    "how expected calls are matched",
)

_CALLS: Schema = {"type": "array", "items": {"$ref": "#/$defs/call"}, "description": "a list of calls"}

_STEPS: Schema = {
    "type": "array",
    "items": {"$ref": "#/$defs/step"},
    "description": "a list of calls, handoffs and approvals",
}

_DECISION = mapping(
    {
        **dict.fromkeys(DECISIONS, _ABOUT_CALL),
        "edit": {**_SHORT_CALL, "description": "{tool: {argument: new value}}"},
        "say": {**TEXT, "description": "what the user says with it, in words"},
    },
    "an answer to an approval, such as {approve: {refund: {amount: 12.5}}} or {reject: refund, say: 'Too dear'}",
)

APPROVALS: Schema = {
    "enum": ["approve", "reject"],
    "description": "approve or reject: what the user decides about an approval that nothing else decides",
}

_LABELLED = mapping(
    {
        **{kind: {"type": "string", "description": "what the user says, in words"} for kind in ACT_KINDS},
        "about": {
            "type": ["string", "number", "boolean", "array"],
            "description": "the value, or a list of the values, that the line concerns",
        },
    },
    "a line with what it means, such as {confirm: 'Do that', about: W1}",
)

CONTEXT: Schema = {
    **FREE,
    "description": "a mapping that the agent, its framework and the tools get, never the user; {make: "
    "package.module:name} names a function that makes it of the other values",
}
LANGUAGE: Schema = {
    "type": "string",
    "pattern": r"\S",
    "description": "the language of the scripted user's lines, such as en, or a .toml file of a language of your own",
}

_SAYS: Schema = {
    "type": "array",
    "items": {
        "anyOf": [TEXT, _LABELLED, _DECISION],
        "description": "a line: text, text under what it means, such as {confirm: 'Do that'}, or an answer to an "
        "approval, such as {approve: refund}",
    },
    "description": "a list of what the scripted user says, in order",
}

_GOAL: Schema = {**TEXT, "description": "what the user wants, in words"}

_SESSION = mapping(
    {
        "says": _SAYS,
        "goal": {**_GOAL, "description": "what the user wants in this session, in words"},
        "expect": {**_CALLS, "description": "a list of the calls of a right run that this session asks for"},
        "after": {
            "type": "string",
            "pattern": r"^[0-9]{1,6}(d|h|min|w)$",
            "description": "the time since the session before, such as 1d, 2h or 30min",
        },
    },
    "a session: {says: […], expect: […], after: 1d}",
)

EXTRAS: Schema = {
    "says": _SAYS,
    "sessions": {
        "type": "array",
        "minItems": 2,
        "items": _SESSION,
        "description": "a list of two or more sessions of one user in one world, each a conversation of its own",
    },
    "language": LANGUAGE,
    "knows": {
        "type": ["object", "string"],
        "description": "what the user gives when asked: a mapping of names to values, or to "
        "{value: …, also: [other names]}; or text",
    },
    "modifiers": MODIFIERS,
    "unknown": {
        "anyOf": [TEXT, texts("a list of texts")],
        "description": "what the user does not know: text or a list of texts",
    },
    "never": {
        **_STEPS,
        "description": "a list of what is forbidden: tools, {tool: {argument: value}}, {handoff: agent} or "
        "{approval: tool}",
    },
    "approvals": APPROVALS,
    "output": {**FREE, "description": "a mapping of parts of the agent's typed answer to values or matchers"},
    "replies": {"type": "array", "items": _REPLY, "description": "a list of what replies of the agent are like"},
    "expect_any": {
        "type": "array",
        "minItems": 1,
        "items": _CALLS,
        "description": "a list of other ways, each a list of calls, that are as right as expect",
    },
    "faults": SCENARIO_FAULTS,
    "match": {"$ref": "#/$defs/match"},
    "policies": {
        "type": "array",
        "items": {**NAME, "description": "the id of a policy"},
        "description": "a list of ids of the policies that this scenario exercises",
    },
    "complexity": {**COUNT, "description": "a whole number, 0 or more: how hard the scenario is"},
    "checks": {"type": "array", "items": IMPORT_PATH, "description": "a list of import paths of further checks"},
    "rubric": {
        **RUBRIC_FILE,
        "description": "a list of criteria, or {criteria: […], formula: …}, instead of the suite's",
    },
    "context": CONTEXT,
    "limits": {"$ref": "#/$defs/limits"},
    "tags": {
        "type": "array",
        "items": {"type": "string", "pattern": r"\S", "description": "a tag"},
        "description": "a list of tags",
    },
    "quarantine": mapping(
        {
            "owner": {**REASON, "description": "who sees to it"},
            "reason": {**REASON, "description": "why the scenario decides nothing for now, in words"},
            "until": {
                "type": "string",
                "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
                "description": "the last day of it, such as 2026-12-31",
            },
        },
        "{owner: …, reason: …, until: 2026-12-31}: the scenario is played and shown, and decides nothing",
        ("owner", "reason", "until"),
    ),
    "skip": {**REASON, "description": "the reason why this scenario is not run"},
    "xfail": {**REASON, "description": "the reason why this scenario is expected to fail"},
    "provenance": {**FREE, "description": "a mapping that says where this scenario comes from"},
    "title": {"type": "string", "minLength": 1, "description": "a title for people"},
}
"""What we add to a τ² task; in τ² JSON these stand under the key `agentbench`."""

_TASK: Schema = {
    "persona": {**TEXT, "description": "who the user is, in words"},
    "goal": _GOAL,
    "instructions": {**TEXT, "description": "how the user behaves, in words"},
    "expect": {**_STEPS, "description": "a list of the calls, handoffs and approvals of a right run"},
    "communicate": texts("a list of what the agent must tell the user"),
    "state": {**FREE, "description": "a mapping merged into the suite's state before the run"},
    "description": {"type": ["object", "string", "null"], "description": "τ²: what the task is about"},
    "user_scenario": {"type": ["object", "null"], "description": "τ²: who the user is and what it wants, a mapping"},
    "ticket": {**OPTIONAL_TEXT, "description": "τ²: the ticket given to an agent without a user"},
    "initial_state": {"type": ["object", "null"], "description": "τ²: a mapping with what the environment starts from"},
    "evaluation_criteria": {"type": ["object", "null"], "description": "τ²: a mapping with what a right run does"},
}

DEFINITIONS: Schema = {
    "call": _CALL,
    "step": _STEP,
    "match": _MATCH,
    "limits": _LIMITS,
    "fault": FAULT,
    "fault_options": FAULT_OPTIONS,
    "scenario": mapping(
        {
            "id": {**NAME, "description": "the name of the scenario, unique in the suite"},
            **EXTRAS,
            **_TASK,
            "review": REVIEW,
        },
        "a scenario: {id: …, says: […], expect: […]}",
        ("id",),
    ),
    "extras": mapping(
        {
            **EXTRAS,
            "knows": {**FREE, "description": "a mapping of names to values that the user gives when asked"},
            "unknown": texts("a list of what the user does not know"),
            "handoffs": {
                "type": "array",
                "items": mapping(
                    {"from": AGENT, "to": AGENT, "place": COUNT},
                    "{from: agent, to: agent, place: the number of actions before it}",
                ),
                "description": "a list of expected handoffs",
            },
            "expect": {
                "type": "array",
                "items": APPROVAL,
                "description": "a list of approvals that a right run asks for",
            },
            "goal": {**TEXT, "description": "the goal as it was before reason_for_call was filled in for τ²"},
            "instructions": {
                **OPTIONAL_TEXT,
                "description": "task_instructions as it was before the lines were written into it for τ²",
            },
            "known_info": {**OPTIONAL_TEXT, "description": "known_info as it was before values were added for τ²"},
            "rows": {**FREE, "description": "rows of the suite that the task is about, for readers: nothing reads it"},
        },
        "the fields that pytest-agentbench adds to a τ² task",
    ),
}

SCENARIO_FILE: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "pytest-agentbench scenarios",
    "anyOf": [
        {"$ref": "#/$defs/scenario"},
        {"type": "array", "items": {"$ref": "#/$defs/scenario"}, "minItems": 1, "description": "a list of scenarios"},
    ],
    "description": "a scenario or a list of scenarios",
    "$defs": DEFINITIONS,
}
