"""The prober that reasons and acts (§4.1): a model gives values first, then the calls that answer what is left open."""

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, TypeVar

from pydantic import BaseModel, Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.tools.probing.replay import ReplayLog
from pytest_agentbench.generation.tools.probing.schema_values import described, described_span, fits
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord, ProbeSession
from pytest_agentbench.generation.tools.probing.strategies import seen_for
from pytest_agentbench.generation.tools.template import asked
from pytest_agentbench.llm.protocols import Chat
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

Answer = TypeVar("Answer", bound=BaseModel)


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


class ModelProber:
    """Asks a model: what it gives is held against declarations, policy and budget; `told` hears what is unusable."""

    def __init__(self, log: ReplayLog, chat: Chat, seed: int, told: Callable[[str], None]) -> None:
        self._log = log
        self._session = log.session
        self._chat = chat
        self._seed = seed
        self._told = told

    async def propose_values(self, tools: Sequence[ProbedTool]) -> None:
        """Let the model name values for arguments of tools of which no call works: one request for a dozen tools."""
        open_ones = [tool for tool in tools if tool.base is None and tool.slots and tool.permission.called]
        random = self._random(",".join(tool.name for tool in tools))
        for start in range(0, len(open_ones), _TOOLS):
            record = [
                {
                    "declaration": tool.spec.openai()["function"],
                    "calls": [_call(one) for one in _shown(tool)[:3]],
                    "observed": _observed(self._session, tool),
                }
                for tool in open_ones[start : start + _TOOLS]
            ]
            answer = await self._ask(ProposedValues, "values.v1", record, random, "the model proposed no values")
            for one in answer.arguments if answer is not None else ():
                tool = self._session.tools.get(one.tool)
                slot = tool.slot(one.argument) if tool is not None else None
                if tool is not None and slot is not None:
                    values = (_value(text, slot.type) for text in one.values[:_VALUES])
                    self._session.proposed[tool.name, slot.path] += [value for value in values if fits(value, slot)]

    async def propose_calls(self, tool: ProbedTool) -> None:
        """Let the model propose calls of a tool, once, and make those that policy and budget admit.

        It sees what was called so far. Arguments that are no JSON object, or were tried before, are passed over.
        """
        if not self._session.may_call(tool):
            return
        record = {
            "declaration": tool.spec.openai()["function"],
            "open": list(_open_questions(tool)),
            "observed": _observed(self._session, tool),
            "calls": [_call(one) for one in _shown(tool)],
            "tried": _also_tried(tool),
        }
        random = self._random(tool.name)
        answer = await self._ask(ProposedCalls, "react.v1", record, random, f"{tool.name}: the model proposed nothing")
        for call in answer.calls[:_MOST] if answer is not None else ():
            arguments = _value(call.arguments or "{}", "object")
            made_before = {dumps(one.arguments) for one in tool.records}
            if isinstance(arguments, dict) and dumps(arguments) not in made_before:
                one = await self._session.call(tool, arguments, "proposed")
                if one is not None and one.ok and tool.base is None:
                    await self._log.adopt(tool, one)

    def _random(self, name: str) -> Random:
        return Random(f"{self._seed}{name}")  # noqa: S311 - no secret hangs on it

    async def _ask(self, kind: type[Answer], prompt: str, record: Any, random: Random, failed: str) -> Answer | None:
        messages = asked(prompt, record, random, {"most": str(_MOST)}, indent=1)
        try:
            with self._session.waiting():
                return await structured(self._chat, kind, messages, temperature=TEMPERATURE)
        except UnusableAnswerError as error:
            self._told(f"{failed}: {printable(shorten(str(error), 200))}")
            return None


def _open_questions(tool: ProbedTool) -> Iterator[str]:
    """Give what a tool's declaration leaves open, argument by argument, as hypotheses that calls can answer."""
    for slot in tool.slots:
        keys = slot.schema.keys()
        default = " despite its default" if "default" in keys else ""
        stated = " in the schema, though in words" if described_span(slot) else ""
        has_bounds = bool({"minimum", "maximum"} & keys)
        is_free = slot.type == "string" and not {"enum", "pattern", "format"} & keys
        questions = {
            f"may be needed all the same{default}": not slot.required,
            "may make no difference": not slot.required,
            "its type is not declared": slot.type == "any",
            "may take known values only; blank, padded and unknown ones may fail": is_free,
            f"no bounds are declared{stated}": slot.type in ("integer", "number") and not has_bounds,
            "values named in its description may not all be accepted": not slot.schema.get("enum")
            and len(described(slot)) > 1,
        }
        yield from (f"{slot.path}: {question}" for question, is_open in questions.items() if is_open)
    if not tool.spec.description.strip():
        yield "the tool: nothing says what it is for"
    if not tool.spec.returns:
        yield "the tool: nothing says what its results hold"


def _shown(tool: ProbedTool) -> list[ProbeRecord]:
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


def _also_tried(tool: ProbedTool) -> list[str]:
    """Give the arguments of calls that were made and are not shown, each once and shortened: the shortest are kept."""
    known = {dumps(record.arguments) for record in _shown(tool)}
    texts = dict.fromkeys(dumps(record.arguments) for record in tool.records)
    left = [shorten(text, _TRIED_LENGTH) for text in texts if text not in known]
    kept = set(sorted(left, key=len)[:_TRIED])
    return [text for text in left if text in kept][:_TRIED]


def _call(record: ProbeRecord) -> dict[str, Any]:
    answer = shorten(record.answer.content, 400)
    return {"arguments": record.arguments, "verdict": record.verdict, "answer": answer}


def _observed(session: ProbeSession, tool: ProbedTool) -> dict[str, list[Any]]:
    seen = {
        slot.path: [one.value for one in seen_for(session, tool, slot) if one.likeness >= 0.3] for slot in tool.slots
    }
    return {path: values[:8] for path, values in seen.items() if values}


def _value(text: str, kind: str) -> Any:
    """Give the JSON of a text; a text that is none is itself where texts are taken."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text if kind in ("string", "any") else None
    return text if kind == "string" and not isinstance(value, str) else value
