"""The blind critic: a model that sees persona, tools, rules, rows and lines, never the calls, and must find the writes.

Code compares its writes with the draft's; rejections are counted as tool-to-scenario counts them (implausible,
invented), and for other writes apart.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.asking import ask, language_name
from pytest_agentbench.generation.draft import Draft
from pytest_agentbench.generation.language.guard import scalars_of, stated
from pytest_agentbench.generation.language.writer import TEMPLATES
from pytest_agentbench.generation.report import CriticCount
from pytest_agentbench.generation.solver import differing_writes
from pytest_agentbench.llm.seams import Chat

PROMPT = "critic.v2"

_LOOKUP = 1_500
"""Characters of an answer that the critic is shown."""
_SUMMARY = 140
_DEEPEST = 50
"""Lists and objects within each other that an argument of the critic's may have."""

Why = Literal["", "implausible", "invented", "other writes"]


class CriticArgument(BaseModel):
    """An argument; `value` is JSON, or a bare text."""

    name: str
    value: str


class CriticCall(BaseModel):
    """A call that an honest assistant makes."""

    tool: str
    arguments: list[CriticArgument] = []


class Critique(BaseModel):
    """What an honest assistant would change, and whether a person would say this."""

    writes: list[CriticCall] = []
    refusal: str = ""
    plausible: bool
    reason: str = ""
    invented: list[str] = []
    purpose: str = ""
    initial_situation: str = ""


class Opinion(Model):
    """Why a draft is refused ("" where it is not), and the critic's summaries."""

    why: Why = ""
    detail: str = ""
    purpose: str = ""
    situation: str = ""


class Critic:
    """Asks the critic about worded drafts, once each, and counts its verdicts."""

    def __init__(self, chat: Chat, toolset: Toolset, policies: Sequence[Policy] = ()) -> None:
        self._chat = chat
        self._toolset = toolset
        self._policies = tuple(policies)
        self.count = CriticCount()

    async def review(self, draft: Draft, rows: Sequence[Mapping[str, JsonValue]]) -> Opinion:
        """Give the critic's opinion of a worded draft."""
        critique, _ = await ask(
            self._chat,
            Critique,
            TEMPLATES,
            PROMPT,
            values={"language": language_name(draft.language)},
            data=self._data(draft, rows),
            seed=[turn.line for turn in draft.turns],
            temperature=0.0,
        )
        opinion = self._opinion(critique, draft, rows)
        counted = {
            "verdicts": 1,
            "rejected": bool(opinion.why),
            "invented": opinion.why == "invented",
            "implausible": opinion.why == "implausible",
        }
        known = self.count.model_dump()
        self.count = CriticCount(**{name: known[name] + int(counted.get(name, 0)) for name in known})
        return opinion

    def _opinion(self, critique: Critique, draft: Draft, rows: Sequence[Mapping[str, JsonValue]]) -> Opinion:
        if not critique.plausible:
            return Opinion(why="implausible", detail=critique.reason)
        if invented := _invented(critique, draft, rows):
            return Opinion(why="invented", detail=", ".join(invented))
        made = [
            ToolCall(name=one.tool, arguments={part.name: _read(part.value) for part in one.arguments})
            for one in critique.writes
        ]
        if differs := differing_writes(draft, made, self._toolset):
            why = f"{differs}; it refuses: {critique.refusal}" if critique.refusal else differs
            return Opinion(why="other writes", detail=why)
        values = [one for value in draft.values.values() for one in scalars_of(value)]
        is_pattern = not any(
            isinstance(value, str) and stated(value, critique.purpose, draft.language) for value in values
        ) and not any(char.isdigit() for char in critique.purpose)
        purpose = " ".join(critique.purpose.split()) if is_pattern else ""
        return Opinion(purpose=purpose, situation=" ".join(critique.initial_situation.split()))

    def _data(self, draft: Draft, rows: Sequence[Mapping[str, JsonValue]]) -> dict[str, Any]:
        persona = draft.personas[0] if draft.personas else None
        lookups = sorted({shorten(call.answer, _LOOKUP) for call in draft.calls if not call.writes and not call.fails})
        return {
            "tools": [_tool(spec.name, spec.description, spec.parameters) for spec in self._toolset.of("assistant")],
            "rules": [policy.text for policy in self._policies],
            "rows": list(rows),
            "lookups": lookups,
            "persona": persona.model_dump(exclude={"modifiers"}, exclude_none=True) if persona else {},
            "lines": [{"act": turn.act, "line": turn.line} for turn in draft.turns],
        }


def _tool(name: str, description: str, parameters: Mapping[str, Any]) -> str:
    """Give a tool in a line: its name, arguments with their types, and what it declares to do."""
    required = parameters.get("required", ())
    arguments = ", ".join(
        f"{one}{'' if one in required else '?'}: {_type(schema)}"
        for one, schema in parameters.get("properties", {}).items()
    )
    return f"{name}({arguments}): {shorten(' '.join(description.split()), _SUMMARY)}"


def _type(schema: JsonValue) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    if isinstance(schema.get("enum"), list):
        return " | ".join(json.dumps(one, ensure_ascii=False) for one in schema["enum"][:8])
    found = str(schema.get("type", "any"))
    inner = schema.get("items") if found == "array" else None
    if isinstance(inner, Mapping):
        return f"list of {_type(inner)}"
    if isinstance(schema.get("properties"), Mapping):
        return "{" + ", ".join(f"{name}: {_type(one)}" for name, one in schema["properties"].items()) + "}"
    return found


def _invented(critique: Critique, draft: Draft, rows: Sequence[Mapping[str, JsonValue]]) -> list[str]:
    """Keep what the critic calls invented as far as it is said, and neither planned nor in any row or answer."""
    said = plain(" ".join(turn.line for turn in draft.turns))
    values = " ".join(str(one) for value in draft.values.values() for one in scalars_of(value))
    known = plain(f"{values} {json.dumps(list(rows), default=str)} {' '.join(call.answer for call in draft.calls)}")
    labels = [one.label for turn in draft.turns for one in turn.states]
    labels += [one.label for turn in draft.turns for one in turn.wanted]
    wanted = set(map(plain, labels))
    found = (one for one in critique.invented if plain(one) and plain(one) in said)
    return [one for one in found if plain(one) not in known and plain(one) not in wanted]


def _read(text: str) -> JsonValue:
    """Give a value that is written as JSON; what is none, or has lists in lists without end, is its text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    level = [found]
    for _ in range(_DEEPEST):
        level = [item for one in level if isinstance(one, dict | list) for item in _items(one)]
        if not level:
            return found
    return text


def _items(value: JsonValue) -> list[JsonValue]:
    return list(value.values()) if isinstance(value, dict) else value
