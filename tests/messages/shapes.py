"""One conversation in the shapes of every API: turns of a user's text, calls of the agent with results, its text."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st


@dataclass(frozen=True)
class Call:
    """A call with its result."""

    id: str
    name: str
    arguments: dict[str, Any]
    result: str


@dataclass(frozen=True)
class Turn:
    """What the user says, several calls made in parallel, and what the agent says."""

    asked: str
    calls: tuple[Call, ...]
    answered: str


@dataclass(frozen=True)
class Talk:
    """A conversation."""

    turns: tuple[Turn, ...]

    @property
    def texts(self) -> list[str]:
        """What both parties say, in order."""
        return [text for turn in self.turns for text in (turn.asked, turn.answered)]

    @property
    def calls(self) -> list[Call]:
        """All calls, in order."""
        return [call for turn in self.turns for call in turn.calls]


@st.composite
def talks(draw: st.DrawFn) -> Talk:
    """Give conversations; tools of one message differ, since results by name could not be told apart otherwise."""
    said = st.text(st.characters(codec="utf-8", exclude_characters="<"), min_size=1, max_size=8).filter(str.strip)
    value = st.integers() | said | st.none() | st.lists(st.booleans(), max_size=2)
    arguments = st.dictionaries(st.sampled_from(["order_id", "amount", "type", "text"]), value, max_size=3)
    turns = []
    for number in range(draw(st.integers(1, 3))):
        names = draw(st.lists(st.sampled_from(["look", "take", "give"]), unique=True, max_size=3))
        calls = tuple(Call(f"c{number}-{name}", name, draw(arguments), draw(said)) for name in names)
        turns.append(Turn(draw(said), calls, draw(said)))
    return Talk(tuple(turns))


def _openai(talk: Talk) -> list[object]:
    items: list[object] = []
    for turn in talk.turns:
        items.append({"role": "user", "content": turn.asked})
        if turn.calls:
            made = [
                {
                    "id": one.id,
                    "type": "function",
                    "function": {"name": one.name, "arguments": json.dumps(one.arguments)},
                }
                for one in turn.calls
            ]
            items.append({"role": "assistant", "content": None, "tool_calls": made})
        items += [{"role": "tool", "tool_call_id": one.id, "content": one.result} for one in turn.calls]
        items.append({"role": "assistant", "content": turn.answered})
    return items


def _responses(talk: Talk) -> list[object]:
    items: list[object] = []
    for turn in talk.turns:
        items.append({"role": "user", "content": [{"type": "input_text", "text": turn.asked}]})
        items += [
            {"type": "function_call", "call_id": one.id, "name": one.name, "arguments": json.dumps(one.arguments)}
            for one in turn.calls
        ]
        items += [{"type": "function_call_output", "call_id": one.id, "output": one.result} for one in turn.calls]
        items.append(
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": turn.answered}]}
        )
    return items


def _anthropic(talk: Talk) -> list[object]:
    items: list[object] = []
    for turn in talk.turns:
        items.append({"role": "user", "content": [{"type": "text", "text": turn.asked}]})
        if turn.calls:
            made = [{"type": "tool_use", "id": one.id, "name": one.name, "input": one.arguments} for one in turn.calls]
            results = [{"type": "tool_result", "tool_use_id": one.id, "content": one.result} for one in turn.calls]
            items += [{"role": "assistant", "content": made}, {"role": "user", "content": results}]
        items.append({"role": "assistant", "content": [{"type": "text", "text": turn.answered}]})
    return items


def _gemini(talk: Talk) -> list[object]:
    items: list[object] = []
    for turn in talk.turns:
        items.append({"role": "user", "parts": [{"text": turn.asked}]})
        if turn.calls:
            made = [{"functionCall": {"name": one.name, "args": one.arguments}} for one in turn.calls]
            results = [
                {"functionResponse": {"name": one.name, "response": {"result": one.result}}} for one in turn.calls
            ]
            items += [{"role": "model", "parts": made}, {"role": "user", "parts": results}]
        items.append({"role": "model", "parts": [{"text": turn.answered}]})
    return items


def _langchain(talk: Talk) -> list[object]:
    items: list[object] = []
    for turn in talk.turns:
        items.append({"type": "human", "data": {"content": turn.asked}})
        if turn.calls:
            made = [{"id": one.id, "name": one.name, "args": one.arguments} for one in turn.calls]
            blocks = [{"type": "tool_call", **call} for call in made]
            items.append({"type": "ai", "data": {"content": blocks, "tool_calls": made}})
        items += [{"type": "tool", "data": {"content": one.result, "tool_call_id": one.id}} for one in turn.calls]
        items.append({"type": "ai", "data": {"content": turn.answered}})
    return items


def _pydantic_ai(talk: Talk) -> list[object]:
    items: list[object] = []
    for turn in talk.turns:
        items.append({"kind": "request", "parts": [{"part_kind": "user-prompt", "content": turn.asked}]})
        if turn.calls:
            ids = [{"tool_name": one.name, "tool_call_id": one.id} for one in turn.calls]
            made = [
                {"part_kind": "tool-call", "args": one.arguments, **named}
                for one, named in zip(turn.calls, ids, strict=True)
            ]
            results = [
                {"part_kind": "tool-return", "content": one.result, **named}
                for one, named in zip(turn.calls, ids, strict=True)
            ]
            items += [{"kind": "response", "parts": made}, {"kind": "request", "parts": results}]
        items.append({"kind": "response", "parts": [{"part_kind": "text", "content": turn.answered}]})
    return items


SHAPES: dict[str, Callable[[Talk], list[object]]] = {
    "openai": _openai,
    "responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "langchain": _langchain,
    "pydantic-ai": _pydantic_ai,
}
