"""The prober that reasons and acts (§4.1): a model gives values first, then the calls that answer what is left open."""

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from pydantic import Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.tools.probing.conforming import described, described_span, fits
from pytest_agentbench.generation.tools.probing.replay import ReplayLog
from pytest_agentbench.generation.tools.probing.schemas import slots_of
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord, ProbeSession
from pytest_agentbench.generation.tools.probing.strategies import seen_for
from pytest_agentbench.generation.tools.template import render
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.llm.structured import structured

_MOST = 6
_SHOWN = 24
_WORKED = 8
_TRIED = 60
"""Further calls of which only the arguments are shown."""
_TRIED_LENGTH = 160
_TOOLS = 12
"""Tools that one request for values is about."""
_VALUES = 6
TEMPERATURE = 0.1
"""As the roles that judge rather than write (Annex D)."""


class ArgumentValues(Model):
    """Values that an argument may take, each as the text of its JSON."""

    tool: str
    argument: str
    values: list[str]


class ProposedValues(Model):
    """Values for the arguments of several tools."""

    arguments: list[ArgumentValues] = Field(default_factory=list)


class ProposedCall(Model):
    """A call that a model proposes: the question first, the arguments as the text of a JSON object."""

    question: str
    arguments: str


class ProposedCalls(Model):
    """The calls that a model would make next; none when nothing is open."""

    calls: list[ProposedCall] = Field(default_factory=list)


def open_questions(tool: ProbedTool) -> Iterator[str]:
    """Give what a tool's declaration leaves open, argument by argument, as hypotheses that calls can answer."""
    spec = tool.spec
    for slot in slots_of(spec):
        if not slot.required:
            yield f"{slot.path}: may be needed all the same{' despite its default' if 'default' in slot.schema else ''}"
            yield f"{slot.path}: may make no difference"
        if slot.type == "any":
            yield f"{slot.path}: its type is not declared"
        if slot.type == "string" and not ({"enum", "pattern", "format"} & slot.schema.keys()):
            yield f"{slot.path}: may take known values only; blank, padded and unknown ones may fail"
        if slot.type in ("integer", "number") and not ({"minimum", "maximum"} & slot.schema.keys()):
            stated = " in the schema, though in words" if described_span(slot) else ""
            yield f"{slot.path}: no bounds are declared{stated}"
        if not slot.schema.get("enum") and len(described(slot)) > 1:
            yield f"{slot.path}: values named in its description may not all be accepted"
    if not spec.description.strip():
        yield "the tool: nothing says what it is for"
    if not spec.returns:
        yield "the tool: nothing says what its results hold"


async def propose_values(
    session: ProbeSession, tools: Sequence[ProbedTool], chat: Chat, random: Random, told: Callable[[str], None]
) -> None:
    """Let a model name values for the arguments of tools of which no call works: one request for a dozen tools.

    What does not conform is passed over; a model that gives no usable answer names nothing, and `told` hears of it.
    """
    asked = [tool for tool in tools if tool.base is None and tool.slots and tool.permission.called]
    for start in range(0, len(asked), _TOOLS):
        several = asked[start : start + _TOOLS]
        record = [
            {
                "declaration": tool.spec.openai()["function"],
                "calls": [_told(one) for one in shown(tool)[:3]],
                "observed": _observed(session, tool),
            }
            for tool in several
        ]
        try:
            with session.waiting():
                answer = await structured(
                    chat, ProposedValues, _messages("values.v1", record, random), temperature=TEMPERATURE
                )
        except UnusableAnswerError as error:
            told(f"the model proposed no values: {printable(shorten(str(error), 200))}")
            continue
        for one in answer.arguments:
            tool = session.tools.get(one.tool)
            slot = tool.slot(one.argument) if tool is not None else None
            if tool is not None and slot is not None:
                values = [value for text in one.values[:_VALUES] if fits(value := _value(text, slot.type), slot)]
                session.proposed[tool.name, slot.path] += values


async def propose_calls(
    log: ReplayLog, tool: ProbedTool, chat: Chat, random: Random, told: Callable[[str], None]
) -> list[ProbeRecord]:
    """Let a model propose calls of a tool, once, and make those that policy and budget admit; give what was made.

    It sees what was called so far. Arguments that are no JSON object, or were tried before, are passed over. Raise what
    the model's access raises.
    """
    session = log.session
    if not session.may_call(tool):
        return []
    record = {
        "declaration": tool.spec.openai()["function"],
        "open": list(open_questions(tool)),
        "observed": _observed(session, tool),
        "calls": [_told(one) for one in shown(tool)],
        "tried": also_tried(tool),
    }
    try:
        with session.waiting():
            answer = await structured(
                chat, ProposedCalls, _messages("react.v1", record, random), temperature=TEMPERATURE
            )
    except UnusableAnswerError as error:
        told(f"{tool.name}: the model proposed nothing: {printable(shorten(str(error), 200))}")
        return []
    made: list[ProbeRecord] = []
    for call in answer.calls[:_MOST]:
        arguments = _value(call.arguments or "{}", "object")
        if not isinstance(arguments, dict) or any(dumps(one.arguments) == dumps(arguments) for one in tool.records):
            continue
        one = await session.call(tool, arguments, "proposed")
        if one is not None:
            made.append(one)
            if one.ok and tool.base is None:
                await log.adopt(tool, one)
    return made


def shown(tool: ProbedTool) -> list[ProbeRecord]:
    """Give the calls that a model is shown: those that worked, what it proposed itself, and one for each way to fail.

    The last ones alone would hide which calls worked, and it would propose them again.
    """
    kept: dict[str, ProbeRecord] = {}
    worked = 0
    for record in tool.records:
        key = dumps(record.arguments) if record.ok or record.kind == "proposed" else record.judged.reason[:80]
        if key in kept or (record.ok and record.kind != "proposed" and worked >= _WORKED):
            continue
        worked += record.ok
        kept[key] = record
    return list(kept.values())[-_SHOWN:]


def also_tried(tool: ProbedTool) -> list[str]:
    """Give the arguments of calls that were made and are not shown, each once and shortened: the shortest are kept."""
    known = {dumps(record.arguments) for record in shown(tool)}
    texts = dict.fromkeys(dumps(record.arguments) for record in tool.records)
    left = [shorten(text, _TRIED_LENGTH) for text in texts if text not in known]
    kept = set(sorted(left, key=len)[:_TRIED])
    return [text for text in left if text in kept][:_TRIED]


def _told(record: ProbeRecord) -> dict[str, Any]:
    return {
        "arguments": record.arguments,
        "verdict": record.verdict,
        "answer": shorten(record.answer.content, 400),
    }


def _observed(session: ProbeSession, tool: ProbedTool) -> dict[str, list[Any]]:
    seen = {
        slot.path: [one.value for one in seen_for(session, tool, slot) if one.likeness >= 0.3][:8]
        for slot in tool.slots
    }
    return {path: values for path, values in seen.items() if values}


def _messages(prompt: str, record: Any, random: Random) -> list[dict[str, Any]]:
    nonce = f"{random.getrandbits(64):016x}"
    text = json.dumps(json.loads(dumps(record)), ensure_ascii=False, indent=1).replace(nonce, "")
    return [
        {"role": "system", "content": render(prompt, {"nonce": nonce, "most": str(_MOST)})},
        {"role": "user", "content": f"BEGIN {nonce}\n{text}\nEND {nonce}"},
    ]


def _value(text: str, kind: str) -> Any:
    """Give the JSON of a text; a text that is none is itself where texts are taken."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text if kind in ("string", "any") else None
    return text if kind == "string" and not isinstance(value, str) else value
