"""The blind critic: a model that sees persona, tools, rules, rows and lines, never the calls, and must find the writes.

Code compares its writes with the draft's; a text of its writes that stands nowhere goes back to it once, as whatever a
call makes is named by that call. Rejections are counted as tool-to-scenario counts them (implausible, invented), and
for other writes apart.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.generation.draft import Draft
from pytest_agentbench.generation.language.guard import scalars_of, stated
from pytest_agentbench.generation.language.result_values import from_nowhere, resolved
from pytest_agentbench.generation.language.wording import TEMPLATES
from pytest_agentbench.generation.roles import ask
from pytest_agentbench.generation.solver import differing_writes
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.suites.language import language_name

PROMPT, REPAIR = "critic.v3", "critic_repair.v1"

_LOOKUP, _SUMMARY = 1_500, 140
"""Characters of an answer, and of what a tool declares to do, that the critic is shown."""
_DEEPEST = 50
"""Lists and objects within each other that an argument of the critic's may have."""

Why = Literal["", "implausible", "invented", "other writes"]
Rows = Sequence[Mapping[str, JsonValue]]


class CriticArgument(BaseModel):
    """An argument; `value` is JSON, or a bare text."""

    name: str
    value: str


class CriticCall(BaseModel):
    """A call that an honest assistant makes."""

    tool: str
    arguments: list[CriticArgument] = []


class OddLine(BaseModel):
    """A line that no person would say like this; `line` counts from 1."""

    line: int
    why: str


class Critique(BaseModel):
    """What an honest assistant would change, and whether a person would say this."""

    writes: list[CriticCall] = []
    refusal: str = ""
    plausible: bool
    reason: str = ""
    invented: list[str] = []
    odd: list[OddLine] = []
    purpose: str = ""
    initial_situation: str = ""

    @property
    def calls(self) -> list[ToolCall]:
        """The writes, with their arguments read."""
        return [
            ToolCall(name=one.tool, arguments={part.name: _read(part.value) for part in one.arguments})
            for one in self.writes
        ]


class Opinion(Model):
    """Why a draft is refused ("" where it is not), what is odd about which lines, and the critic's summaries."""

    why: Why = ""
    detail: str = ""
    odd: tuple[str, ...] = ()
    purpose: str = ""
    situation: str = ""


class Critic:
    """Asks the critic about worded drafts."""

    def __init__(self, chat: Chat, toolset: Toolset, policies: Sequence[Policy] = ()) -> None:
        self._chat = chat
        self._toolset = toolset
        self._policies = tuple(policies)

    async def review(self, draft: Draft, rows: Rows) -> Opinion:
        """Give the critic's opinion of a worded draft."""
        data, lines = self._data(draft, rows), " ".join(turn.line for turn in draft.turns)
        critique, _ = await ask(
            self._chat,
            Critique,
            TEMPLATES,
            PROMPT,
            values={"language": language_name(draft.language)},
            data=data,
            seed=[turn.line for turn in draft.turns],
            guard=lambda found: list(from_nowhere(found.calls, data, lines, draft.language)),
            temperature=0.0,
            repair=REPAIR,
        )
        return self._opinion(critique, draft, rows)

    def _opinion(self, critique: Critique, draft: Draft, rows: Rows) -> Opinion:
        if not critique.plausible:
            return Opinion(why="implausible", detail=critique.reason)
        if invented := _invented(critique, draft, rows):
            return Opinion(why="invented", detail=", ".join(invented))
        writes = resolved(draft, critique.calls, self._toolset)
        if differs := differing_writes(draft, writes, self._toolset):
            why = f"{differs}; it refuses: {critique.refusal}" if critique.refusal else differs
            return Opinion(why="other writes", detail=why)
        purpose = " ".join(critique.purpose.split())
        values = [one for value in draft.values.values() for one in scalars_of(value) if isinstance(one, str)]
        if any(map(str.isdigit, purpose)) or any(stated(one, critique.purpose, draft.language) for one in values):
            purpose = ""  # it is about this one case, and no pattern
        odd = tuple(f"line {one.line}: no person would say this: {one.why}" for one in critique.odd)
        return Opinion(odd=odd, purpose=purpose, situation=" ".join(critique.initial_situation.split()))

    def _data(self, draft: Draft, rows: Rows) -> dict[str, Any]:
        persona = draft.personas[0] if draft.personas else None
        lookups = sorted({shorten(call.answer, _LOOKUP) for call in draft.calls if not call.writes and not call.fails})
        return {
            "tools": [signature(spec) for spec in self._toolset.of("assistant")],
            "rules": [policy.text for policy in self._policies],
            "rows": list(rows),
            "lookups": lookups,
            "persona": persona.model_dump(exclude={"modifiers"}, exclude_none=True) if persona else {},
            "lines": [{"act": turn.act, "line": turn.line} for turn in draft.turns],
        }


def signature(spec: ToolSpec) -> str:
    """Give a tool in a line: its name, arguments with their types, and what it declares to do."""
    required = spec.parameters.get("required", ())
    arguments = ", ".join(
        f"{one}{'' if one in required else '?'}: {_type(schema)}"
        for one, schema in spec.parameters.get("properties", {}).items()
    )
    return f"{spec.name}({arguments}): {shorten(' '.join(spec.description.split()), _SUMMARY)}"


def _type(schema: JsonValue) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    if isinstance(schema.get("enum"), list):
        return " | ".join(json.dumps(one, ensure_ascii=False) for one in schema["enum"][:8])
    if schema.get("type") == "array" and isinstance(schema.get("items"), Mapping):
        return f"list of {_type(schema['items'])}"
    if isinstance(schema.get("properties"), Mapping):
        return "{" + ", ".join(f"{name}: {_type(one)}" for name, one in schema["properties"].items()) + "}"
    return str(schema.get("type", "any"))


def _invented(critique: Critique, draft: Draft, rows: Rows) -> list[str]:
    """Keep what the critic calls invented as far as it is said, and neither planned nor in any row or answer."""
    lines = plain(" ".join(turn.line for turn in draft.turns))
    values = " ".join(str(one) for value in draft.values.values() for one in scalars_of(value))
    known = plain(f"{values} {json.dumps(list(rows), default=str)} {' '.join(call.answer for call in draft.calls)}")
    labels = {plain(one.label) for turn in draft.turns for one in (*turn.states, *turn.wanted)}
    return [
        one
        for one in critique.invented
        if (text := plain(one)) and text in lines and text not in known and text not in labels
    ]


def _read(text: str) -> JsonValue:
    """Give a value that is written as JSON; what is none, or has lists in lists without end, is its text."""
    try:
        found: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    level = [found]
    for _ in range(_DEEPEST):
        inner = [one for one in level if isinstance(one, dict | list)]
        level = [item for one in inner for item in (one.values() if isinstance(one, dict) else one)]
    return text if level else found
