"""The form of a policy's rule, as JSON Schema.

A rule is a mapping with one operator. `before`, `never`, `confirm_before`, `only_if`, `at_most` and `when … then` say
themselves what they are about; the other operators are requirements, which stand inside them.
"""

from pytest_agentbench.core.policy import ONE_OPERATOR
from pytest_agentbench.suites.schema_forms import FREE, HANDOFF_BODY, Schema, mapping, texts

_FIRST: Schema = {**texts("a list of names of tools, at least one"), "minItems": 1}
_CALLS: Schema = {
    "anyOf": [
        {"enum": ["writes", "any"]},
        {**_FIRST, "description": "a list of names of tools, at least one, or writes, or any"},
    ],
    "description": "a list of names of tools, at least one, or writes, or any",
}
_WHERE: Schema = {**FREE, "description": "a mapping of arguments to values"}
_RESULT: Schema = {"description": "a value or matcher; of a mapping, at least what is written here"}
_EARLIER: Schema = {
    "type": "array",
    "minItems": 1,
    "items": {
        "anyOf": [
            {"type": "string", "description": "the name of a tool"},
            mapping({"handoff": HANDOFF_BODY}, "{handoff: agent}", ("handoff",)),
        ],
        "description": "the name of a tool, or {handoff: agent}",
    },
    "description": "a list of names of tools and of handoffs, {handoff: agent}, at least one",
}
_SAME: Schema = {**texts("a list of arguments that both calls have alike, at least one"), "minItems": 1}
_COUNT: Schema = {
    "type": "integer",
    "minimum": 1,
    "description": "a whole number from 1; write never to forbid such calls",
}
_TIMES: Schema = {"type": "integer", "minimum": 1, "description": "a whole number from 1"}
_WITHIN: Schema = {"type": "integer", "minimum": 1, "description": "a whole number from 1"}
_PER: Schema = {**_SAME, "description": "a list of arguments: counted for each value"}
_FAILED: Schema = {"type": "boolean", "description": "true: such a call that failed"}
_ABOUT: Schema = {"calls": _CALLS, "where": _WHERE, "result": _RESULT}

_RECKONED: Schema = {
    "times": {"description": "a number to multiply by"},
    "plus": {"description": "a number to add, or a span by which a date is moved, such as 30d"},
}

_TEXT: Schema = {
    "anyOf": [
        {"type": ["string", "number"], "pattern": r"\S", "description": "a text"},
        mapping({"pattern": {"type": "string", "description": "a regular expression"}}, "{pattern: …}", ("pattern",)),
        mapping(
            {"$argument": {"type": "string"}, **_RECKONED}, "{$argument: name}: an argument of the call", ("$argument",)
        ),
        mapping({"$result": {"type": "string"}, **_RECKONED}, "{$result: name}: what the call gave", ("$result",)),
        mapping({"$today": {"type": "string"}}, "{$today: 30d}: a day counted from the suite's now", ("$today",)),
        mapping({"$now": {"type": "string"}}, "{$now: 1h}: a time counted from the suite's now", ("$now",)),
        {
            "type": "array",
            "items": {"$ref": "#/$defs/spoken"},
            "minItems": 1,
            "description": "a list of texts, any of them",
        },
    ],
    "description": "a text, {pattern: …}, {$argument: …}, {$result: …} or a list of these",
}

_SUM: Schema = {
    "anyOf": [
        {"type": "string", "pattern": r"^[^\s.]+(\.[^\s.]+)*$", "description": "the name of an argument"},
        mapping({"$result": {"type": "string"}}, "{$result: name}: what each call gave", ("$result",)),
    ],
    "description": "the name of an argument, or {$result: name}: what each call gave",
}
_LIMIT: Schema = {
    "anyOf": [
        {"type": "number", "description": "a number"},
        mapping({"$argument": {"type": "string"}, **_RECKONED}, "{$argument: name}", ("$argument",)),
        mapping({"$result": {"type": "string"}, **_RECKONED}, "{$result: name}", ("$result",)),
    ],
    "description": "a number, or {$argument: …} or {$result: …} of the call around the rule",
}
_AT_MOST: Schema = {
    "anyOf": [
        mapping(
            {**_ABOUT, "times": _COUNT, "per": _PER},
            "{calls: …, times: n}: such calls are made n times in all",
            ("calls", "times"),
        ),
        mapping(
            {**_ABOUT, "sum": _SUM, "lte": _LIMIT, "per": _PER},
            "{calls: …, sum: amount, lte: n}: such calls come to n in all",
            ("calls", "sum", "lte"),
        ),
    ],
    "description": "{calls: …, times: n}: such calls are made n times in all; "
    "or {calls: …, sum: amount, lte: n}: they come to n in all",
}

_HANDOFF: Schema = {"handoff": HANDOFF_BODY}
_OTHER: Schema = {**_ABOUT, "same": _SAME, "failed": _FAILED, "times": _TIMES}
_EARLIER_ONE: Schema = {
    "anyOf": [
        mapping(_OTHER, "{calls: …, where: {…}, result: …, same: […]}: another call", ("calls",)),
        mapping(_HANDOFF, "{handoff: agent}: a handoff", ("handoff",)),
    ],
    "description": "{calls: …}: such a call was made earlier and did not fail; or {handoff: agent}",
}
_LATER_ONE: Schema = {
    "anyOf": [
        mapping(
            {**_OTHER, "within": _WITHIN},
            "{calls: …, within: 1}: another call, in one of the agent's next turns",
            ("calls",),
        ),
        mapping({**_HANDOFF, "within": _WITHIN}, "{handoff: agent, within: 1}: a handoff", ("handoff",)),
    ],
    "description": "{calls: …}: such a call is made later and does not fail; or {handoff: agent}",
}

_STATING: Schema = {
    "type": "array",
    "minItems": 1,
    "items": {
        "anyOf": [
            {"type": "string", "pattern": r"\S", "description": "the name of an argument"},
            mapping({"$argument": {"type": "string"}, **_RECKONED}, "{$argument: name}", ("$argument",)),
            mapping({"$result": {"type": "string"}, **_RECKONED}, "{$result: name}", ("$result",)),
        ],
        "description": "the name of an argument, or {$argument: …} or {$result: …} of the call around the rule",
    },
    "description": "a list of what the agent states before the yes: arguments, or {$result: …} of the call around",
}

_STEP: Schema = {
    "anyOf": [
        {"type": ["string", "integer"], "pattern": r"\S", "description": "a key"},
        mapping({"$argument": {"type": "string"}}, "{$argument: name}", ("$argument",)),
        mapping({"$result": {"type": "string"}}, "{$result: name}", ("$result",)),
    ],
    "description": "a key, {$argument: …} or {$result: …}",
}
_IN_STATE = mapping(
    {
        "at": {"type": "array", "minItems": 1, "items": _STEP, "description": "a list of keys, the way into the state"},
        "value": {"description": "a value or matcher; of a mapping, at least what is written here"},
    },
    "{at: [table, {$argument: id}], value: {…}}: what the state holds there, just before",
    ("at", "value"),
)

_SPOKEN: Schema = {"$ref": "#/$defs/spoken"}
_RULES: Schema = {"type": "array", "items": {"$ref": "#/$defs/rule"}, "minItems": 1, "description": "a list of rules"}

_REQUIREMENTS: Schema = {
    "earlier": _EARLIER_ONE,
    "later": _LATER_ONE,
    "arguments": {**_WHERE, "description": "a mapping: the call has these arguments"},
    "state": _IN_STATE,
    "user_said": _SPOKEN,
    "agent_said": _SPOKEN,
    "confirmed": {
        "anyOf": [
            {"enum": [True], "description": "true: the user confirmed it"},
            mapping({"stating": _SAME}, "{stating: […]}: having heard these arguments", ("stating",)),
        ],
        "description": "true: the user confirmed it; or {stating: […]}: having heard these arguments",
    },
    "all": _RULES,
    "any": _RULES,
    "not": {"$ref": "#/$defs/rule"},
}
_TRIGGER: Schema = {
    "anyOf": [
        {"enum": ["always"], "description": "always"},
        mapping(
            {**_ABOUT, "failed": _FAILED, "times": _TIMES, "per": _PER},
            "{calls: …}: such a call was made and did not fail",
            ("calls",),
        ),
        mapping({"user_says": _SPOKEN, "times": _TIMES}, "{user_says: …}", ("user_says",)),
        mapping({"agent_says": _SPOKEN, "times": _TIMES}, "{agent_says: …}", ("agent_says",)),
        mapping(_HANDOFF, "{handoff: agent}: at each such handoff", ("handoff",)),
    ],
    "description": "{calls: …}, {user_says: …}, {agent_says: …}, {handoff: …} or always",
}

_OPERATORS: Schema = {
    "before": mapping(
        {**_ABOUT, "first": _EARLIER, "same": _SAME},
        "{calls: …, first: […]}: such a call needs an earlier successful call, or handoff, of `first`",
        ("calls", "first"),
    ),
    "never": {
        "anyOf": [
            mapping(_ABOUT, "{calls: …, where: {…}}: such a call is forbidden", ("calls",)),
            mapping(_HANDOFF, "{handoff: agent}: such a handoff is forbidden", ("handoff",)),
        ],
        "description": "{calls: …, where: {…}}: such a call is forbidden; or {handoff: agent}",
    },
    "only": mapping({**_ABOUT, "calls": _FIRST}, "{calls: […]}: every call is one of these", ("calls",)),
    "confirm_before": mapping(
        {**_ABOUT, "stating": _STATING},
        "{calls: …}: such a call needs the user's yes",
        ("calls",),
    ),
    "only_if": {
        "anyOf": [
            mapping({**_ABOUT, **_REQUIREMENTS}, "{calls: …, earlier: {…}}: such a call needs all this", ("calls",)),
            mapping({**_HANDOFF, **_REQUIREMENTS}, "{handoff: agent, …}: such a handoff needs all this", ("handoff",)),
        ],
        "description": "{calls: …, earlier: {…}}: such a call needs all this; or {handoff: agent, …}",
    },
    "at_most": _AT_MOST,
    **_REQUIREMENTS,
    "must_say": {
        "anyOf": [
            *_TEXT["anyOf"],
            mapping(
                {"text": _SPOKEN, "within": _WITHIN},
                "{text: …, within: 1}: in one of the agent's next messages",
                ("text",),
            ),
        ],
        "description": "a text, {pattern: …}, a list of these, or {text: …, within: 1}",
    },
    "must_not_say": _SPOKEN,
}

RULE: Schema = {
    "anyOf": [
        {**mapping(_OPERATORS, ONE_OPERATOR), "minProperties": 1, "maxProperties": 1},
        mapping({"when": _TRIGGER, "then": {"$ref": "#/$defs/rule"}}, "{when: …, then: …}", ("when", "then")),
    ],
    "description": ONE_OPERATOR,
}
"""The form of a policy's rule; its references lead into `RULE_DEFINITIONS`."""

RULE_DEFINITIONS: Schema = {"rule": RULE, "spoken": _TEXT}
