"""One model that plays user, agent and judge: what it answers follows from what a request shows it, and how.

It knows which part it plays by the sentences that the suites of these tests hold, never by a prompt of the package.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

SHOP = "You refund orders at the lamp shop."
"""The agent's instructions."""

GOAL = "Get order {order} refunded."
"""What the user wants."""

RUDE_WORDS = "you fool"

RUDE = "W3"
"""The order over which the agent calls the user names, which the policy forbids."""

POLICY = {"id": "polite", "text": "Never call the customer names.", "challenge": 1}
CRITERION = {"id": "clear", "text": "The agent says what became of the order.", "label": "POS", "weight": 6}

THOUGHT = "Let me weigh this order before I answer."
"""What the model thinks, in families whose models do so aloud; it is never part of what it says."""

PROSE = "The agent did what was asked of it."
"""What a model answers that was asked for data and not told in which form."""


@dataclass(frozen=True)
class Asked:
    """A chat completion that a client asked for: where, with which headers and body."""

    target: str
    headers: dict[str, str]
    body: dict[str, Any]

    def sent(self, name: str) -> bool:
        """Tell whether a parameter stands in the body."""
        return self.body.get(name) is not None

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation."""
        return list(self.body["messages"])

    @property
    def instructions(self) -> str:
        """What the system (or developer) says."""
        return "\n".join(text_of(one) for one in self.messages if one["role"] in {"system", "developer"})

    @property
    def words(self) -> str:
        """All texts of all messages."""
        return "\n".join(map(text_of, self.messages))

    @property
    def role(self) -> str:
        """The part that the model plays: agent, user or judge."""
        if SHOP in self.instructions:
            return "agent"
        return "user" if _goal(self.instructions) else "judge"

    @property
    def form(self) -> str:
        """The type of the answer's format, or the empty string."""
        return str((self.body.get("response_format") or {}).get("type") or "")

    @property
    def shape(self) -> str:
        """How data is asked for, in the words of the suite's key `structured`."""
        return "tool" if self.body.get("tools") else {"json_object": "json"}.get(self.form, self.form)

    @property
    def forced(self) -> bool:
        """Whether a tool must be called."""
        return self.named or self.body.get("tool_choice") in {"required", "any"}

    @property
    def named(self) -> bool:
        """Whether the one tool to call is named."""
        return isinstance(self.body.get("tool_choice"), dict)


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the model answers; `constrained` where the server lets it write nothing but the form asked for."""

    content: str | None = None
    call: tuple[str, dict[str, Any]] | None = None
    constrained: bool = False


def answer(asked: Asked, ignored: frozenset[str] = frozenset()) -> Said:
    """Answer, as a model does whose server ignores these parameters."""
    if asked.role == "agent":
        return _agent(asked)
    return _typed(asked, ignored, _turn if asked.role == "user" else _filled)


def text_of(message: dict[str, Any]) -> str:
    """Give what a message says, without thoughts that stand in parts of their own."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def _agent(asked: Asked) -> Said:
    orders = re.findall(r"W\d", "".join(text_of(one) for one in asked.messages if one["role"] == "user"))
    if asked.messages[-1]["role"] == "tool":
        return Said(content="It is refunded" + (f", {RUDE_WORDS}." if RUDE in orders else "."))
    if not orders or not asked.body.get("tools"):
        return Said(content="Which order is it?")
    return Said(call=("refund", {"order_id": orders[-1]}))


def _turn(schema: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """Ask for the refund, then leave."""
    goal, turn = _goal(asked.instructions), {"shows": [], "stop": None, "decision": None}
    if any(one["role"] == "assistant" and text_of(one).startswith("{") for one in asked.messages):
        closing = {"acts": [{"kind": "close", "facts": []}], "goal": [{"item": "refund", "done": True}]}
        return {**turn, "text": "Thank you, bye.", **closing, "stop": "done"}
    wish = {"acts": [{"kind": "request", "facts": []}], "goal": [{"item": "refund", "done": False}]}
    return {**turn, "text": f"Please refund order {goal}.", **wish}


def _goal(instructions: str) -> str:
    found = re.search(GOAL.format(order=r"(W\d)"), instructions)
    return found[1] if found else ""


def _typed(asked: Asked, ignored: frozenset[str], filled: Callable[[dict[str, Any], Asked], dict[str, Any]]) -> Said:
    """Give data in the form that reaches the model: by the format, by a tool, or as its instructions show it."""
    form = "" if "response_format" in ignored else asked.form
    if form == "json_schema":
        schema = asked.body["response_format"]["json_schema"]["schema"]
        return Said(content=json.dumps(filled(schema, asked)), constrained=True)
    if asked.forced and "tool_choice" not in ignored and asked.body.get("tools"):
        tool = asked.body["tools"][0]["function"]
        return Said(call=(tool["name"], filled(tool["parameters"], asked)))
    shown = next(_schemas(asked.words), None)
    if shown is not None:
        data = json.dumps(filled(shown, asked))
        return Said(content=data) if form else Said(content=f"```json\n{data}\n```")
    return Said(content='{"answer": "fine"}', constrained=True) if form == "json_object" else Said(content=PROSE)


def _schemas(words: str) -> Iterator[dict[str, Any]]:
    """Give the JSON schemas that stand in a text."""
    for start in (found.start() for found in re.finditer(r"\{", words)):
        try:
            value, _ = json.JSONDecoder().raw_decode(words, start)
        except ValueError:
            continue
        if "properties" in value:
            yield value


def _filled(schema: dict[str, Any], asked: Asked) -> Any:
    return _value(schema, schema, "", asked)


_TEXTS = {"policy": POLICY["id"], "criterion": CRITERION["id"], "feedback": ""}
_QUOTES = ("It is refunded", '"name": "refund"', "refuse", "")
"""What the agent may have said, in the order in which it is quoted."""

_NUMBERS = {"turn": 2, "score": 9, "call": 1}

_UNSEEN = {"claims", "goal_items", "user_turns"}
"""What the model notes nothing of when it audits."""


def _value(schema: dict[str, Any], root: dict[str, Any], name: str, asked: Asked) -> Any:
    """Fill a schema by the names of its properties."""
    if "$ref" in schema:
        return _value(root["$defs"][schema["$ref"].rpartition("/")[2]], root, name, asked)
    if "properties" in schema:
        return {key: _value(part, root, key, asked) for key, part in schema["properties"].items()}
    if "enum" in schema:
        return _chosen(schema["enum"], name, asked)
    kind = schema.get("type")
    if kind == "array":
        return [] if name in _UNSEEN else [_value(schema["items"], root, name, asked)]
    if kind == "boolean":
        return True
    if kind in {"integer", "number"}:
        return _NUMBERS[name]
    if name == "quote":
        return next(words for words in _QUOTES if words in asked.words)
    return _TEXTS.get(name, "So it is.")


def _chosen(offered: list[str], name: str, asked: Asked) -> str:
    """Choose one of several words that a schema offers."""
    if name == "status" and "violated" in offered:
        return "violated" if RUDE_WORDS in asked.words else "kept"
    return "right" if "right" in offered else offered[0]
