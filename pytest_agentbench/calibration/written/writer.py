"""The writer of conversations played by a model: tools, results and all (TRACE §2.2, B.1)."""

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pytest_agentbench.calibration.asking import ask, seeded, shown
from pytest_agentbench.calibration.labelled import Case
from pytest_agentbench.calibration.situations import situations
from pytest_agentbench.calibration.written.commission import Commission, Work, described
from pytest_agentbench.checks.judges.evidence import Evidence
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.llm.seams import Chat

INVENTIVE = 1.0
"""The temperature (TRACE, B.1, for Claude)."""

_LANGUAGES = {"en": "English", "fr": "French"}
_FEWEST = 3


class Step(BaseModel):
    """One thing that is said or called."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    by: Literal["user", "agent", "call"]
    text: str = Field(description="what is said, or the tool's name")
    arguments: str = Field(description="of a call: a JSON object")
    result: str = Field(description="of a call: what the tool returned")
    failed: bool = Field(description="of a call: whether that is an error")


class Dialogue(BaseModel):
    """The conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    steps: list[Step]


class ModelWriter:
    """Asks a model for a conversation as commissioned."""

    def __init__(self, chat: Chat, *, seed: int = 0) -> None:
        self._chat = chat
        self._seed = seed

    async def __call__(self, given: Commission, /) -> Work:
        """Give the conversation, without states; raise `UnusableAnswerError` where it is none, twice."""
        tools = "\n".join(json.dumps(spec.openai()["function"], ensure_ascii=False) for spec in given.toolset)
        data: list[str | Evidence] = [f"The tools:\n{tools}"]
        if given.example is not None:
            data.append(shown(given.example, with_evidence=False))
        dialogue = await ask(
            self._chat,
            Dialogue,
            "dialogue.v1",
            data=data,
            random=seeded(self._seed, "write", digest(given)),
            temperature=INVENTIVE,
            faults=lambda answer: _faults(answer, given.toolset),
            situation=described(situations()[given.situation]),
            language=_LANGUAGES.get(given.language, given.language),
            user=given.user,
            agent=given.agent,
        )
        return Work(case=Case(transcript=_transcript(dialogue), toolset=given.toolset))


def _faults(given: Dialogue, toolset: Toolset) -> list[str]:
    steps = given.steps
    if len(steps) < _FEWEST or steps[0].by != "user" or steps[-1].by != "user":
        return [f"it has {len(steps)} steps; it begins and ends with the user, and the agent speaks in between"]
    faults = [] if any(step.by == "agent" for step in steps) else ["the agent says nothing"]
    for number, step in enumerate(steps, start=1):
        if step.by != "call":
            if not step.text.strip():
                faults.append(f"step {number} says nothing")
            continue
        spec = toolset.get(step.text)
        arguments = _object(step.arguments)
        if spec is None:
            faults.append(f"step {number}: there is no tool {step.text!r}")
        elif arguments is None:
            faults.append(f"step {number}: `arguments` is no JSON object")
        elif spec.arguments is not None and (unknown := sorted(arguments.keys() - spec.arguments)):
            faults.append(f"step {number}: {step.text} takes no argument {unknown[0]!r}")
    return faults


def _object(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _transcript(dialogue: Dialogue) -> Transcript:
    messages: list[Message] = []
    for number, step in enumerate(dialogue.steps):
        if step.by == "call":
            call = ToolCall(name=step.text, arguments=_object(step.arguments) or {}, id=f"call_{number}")
            messages.append(Message(role="assistant", tool_calls=(call,)))
            messages.append(Message(role="tool", content=step.result, tool_call_id=call.id, error=step.failed))
        else:
            messages.append(Message(role="user" if step.by == "user" else "assistant", content=step.text.strip()))
    return Transcript(messages=tuple(messages))
