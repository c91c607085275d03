"""Labelled conversations, replayed through the loop by parties that do what the transcript says, and judged."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pytest_agentbench.checks.verdict import judge
from pytest_agentbench.core.conversation import Reply, Turn, UserTurn, View
from pytest_agentbench.core.errors import EnvironmentFaultError, NotRunError, ProviderError
from pytest_agentbench.core.model import ModelSpec, Usage
from pytest_agentbench.core.run import Run, RunKey
from pytest_agentbench.core.scenario import Instructions, Scenario, Task, UserScenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.termination import Limits
from pytest_agentbench.core.tool import ToolCall, ToolResult, Toolset, ToolSpec, read_arguments
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.llm.reply import ChatReply
from pytest_agentbench.simulation.clock import Stopwatch
from pytest_agentbench.simulation.conversation import Conversation, crashed
from pytest_agentbench.simulation.transcript_builder import Recording
from pytest_agentbench.users.llm.user import LlmUser

Ending = tuple[str, str]
"""A termination and who is to blame, "nobody" where none is."""

STILL_GOING = ("(still going)", "nobody")
"""What is answered where the transcript is over and nothing has closed the conversation."""

_EXITS = ("SystemExit", "KeyboardInterrupt")
_PLENTY = 1_000


@dataclass(frozen=True)
class Ended:
    """How a replayed conversation closed: termination, blame, and the reasons for both."""

    ending: Ending
    reason: str


def label_of(case: dict[str, Any]) -> Ending:
    """Give the ending that the author wrote down."""
    return case["label"]["termination"], case["label"]["blame"] or "nobody"


def load(path: Path) -> list[dict[str, Any]]:
    """Read a file of labelled conversations: one JSON document, or one conversation a line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    cases: list[dict[str, Any]] = json.loads(text)["conversations"]
    return cases


def replay(case: dict[str, Any]) -> Ended:
    """Play one conversation in the loop and judge the closed run."""
    return asyncio.run(_replay(case))


async def _replay(case: dict[str, Any]) -> Ended:
    stage = Stage(case)
    user = PlayedUser(stage)
    environment = PlayedEnvironment(stage)
    recording = Recording()
    conversation = Conversation(
        scenario=stage.scenario,
        agent=PlayedAgent(stage),
        user=user,
        environment=environment,
        recording=recording,
        stopwatch=stage.stopwatch,
        limits=stage.limits,
        session_id=case["id"],
    )
    try:
        closed = await conversation.run()
        await environment.snapshot()
    except EnvironmentFaultError as error:  # the state is read after closing
        closed = crashed(error, Blame.ENVIRONMENT)
    except TranscriptOverError:
        return Ended(STILL_GOING, "")
    run = Run(
        key=RunKey(suite="endings", scenario=case["id"]),
        scenario=stage.scenario,
        transcript=recording.close(),
        termination=closed.termination,
        stop_reason=closed.reason,
        error=closed.error,
        blame=closed.blame,
        user_faults=tuple(user.llm.faults),
        toolset=environment.tools,
    )
    judgement = judge(run)
    faults = "; ".join(f"{fault.rule}: {fault.message}" for fault in run.user_faults)
    return Ended((str(closed.termination), str(judgement.blame or "nobody")), f"{closed.reason} {faults}".strip())


class TranscriptOverError(NotRunError):
    """Whoever has to act next has nothing left to do, and nothing has closed the conversation."""


@dataclass
class Stage:
    """A transcript with a cursor that all parties share, and what happens at its end."""

    case: dict[str, Any]
    at: int = 0
    stopwatch: Stopwatch = field(default_factory=lambda: Stopwatch(lambda: 0.0))

    def __post_init__(self) -> None:
        self.messages: list[dict[str, Any]] = self.case["messages"]
        self.ends: dict[str, Any] = self.case.get("ends") or {}
        told = Instructions(reason_for_call=self.case["goal"])
        task = Task(id=self.case["id"], user_scenario=UserScenario(instructions=told))
        knows = self.case.get("knows") or {}
        self.scenario = Scenario(id=self.case["id"], title=self.case["id"], task=task, knows=knows)

    @property
    def limits(self) -> Limits:
        """Give the limit that is spent at the end, and plenty of everything else."""
        spent = self.ends.get("limit")
        calls = sum(len(message.get("tool_calls") or ()) for message in self.messages)
        return Limits(
            turns=self.turns if spent == "turns" else _PLENTY,
            tool_calls=calls if spent == "tool_calls" else _PLENTY,
        )

    @property
    def turns(self) -> int:
        """The agent's turns: what it does between two messages of the user's."""
        roles = [message["role"] for message in self.messages if message["role"] in {"user", "assistant"}]
        return sum(
            role == "assistant" and before != "assistant" for before, role in zip(["", *roles], roles, strict=False)
        )

    def next(self, role: str) -> dict[str, Any] | None:
        """Give the next message, which is `role`'s; None where the transcript is over."""
        if self.at == len(self.messages):
            return None
        message = self.messages[self.at]
        assert message["role"] == role, f"{self.case['id']}: message {self.at} is no {role}'s"
        self.at += 1
        return message

    def closes(self, *parties: str) -> bool:
        """Tell whether the message just taken is the last one and one of `parties` closes with it."""
        return self.at == len(self.messages) and self.ends.get("closed_by") in parties

    async def end(self, actor: str) -> None:
        """Let happen what ends the conversation while `actor` acts and has nothing left to do."""
        match self.ends:
            case {"raised_by": "provider", "error": error}:
                raise ProviderError(error)
            case {"raised_by": "state", "error": error}:
                raise EnvironmentFaultError(error)
            case {"raised_by": "tool", "error": error} if error.startswith(_EXITS):
                raise EnvironmentFaultError(f"the tool tried to exit: {error}")
            case {"raised_by": by, "error": error} if by == actor:
                raise RuntimeError(error)
            case {"limit": "seconds", "acting": by} if by == actor or (by == "environment" and actor == "tool"):
                await self._until_time_is_up()
        if self.ends.get("limit") not in {"turns", "tool_calls"}:
            raise TranscriptOverError

    async def _until_time_is_up(self) -> None:
        deadline = self.stopwatch.deadline
        assert deadline is not None
        deadline.reschedule(asyncio.get_running_loop().time())
        await asyncio.Event().wait()


class PlayedAgent:
    """An agent that does what the transcript says."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def reply(self, turn: Turn) -> Reply:
        """Give the next message; at the end raise, hang, or call on and on."""
        stage = self._stage
        message = stage.next("assistant")
        if message is None:
            await stage.end("agent")
            return Reply(messages=(_call_again(stage.messages),))
        stop = stage.closes("agent", "hand-over") and not message.get("tool_calls")
        return Reply(messages=(_message(message),), stop=stop)


class PlayedUser:
    """A model-backed user whose model writes what the transcript says, however often it is asked."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._chat = PlayedChat()
        self.llm = LlmUser(self._chat)

    async def reply(self, view: View) -> UserTurn:
        """Say the next line without a word of what it means; at the end leave, hang, raise or go on."""
        stage = self._stage
        message = stage.next("user")
        if message is not None:
            closing = stage.closes("user", "hand-over")
        elif stage.ends.get("closed_by") == "user":
            message, closing = {"content": ""}, True
        else:
            await stage.end("user")
            message, closing = {"content": "…"}, False
        reason = "handed over" if stage.ends.get("closed_by") == "hand-over" else "done"
        self._chat.text = json.dumps({"text": message["content"], "stop": reason if closing else None})
        return await self.llm.reply(view)


class PlayedChat:
    """A model that answers with `text`."""

    spec = ModelSpec(model="played")
    usage = Usage()
    text = ""

    async def complete(
        self,
        messages: Sequence[dict[str, Any]],
        *,
        tools: Sequence[dict[str, Any]] = (),
        tool_choice: str | dict[str, Any] | None = None,
        response_format: dict[str, Any] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> ChatReply:
        """Answer once."""
        return ChatReply(content=self.text)


class PlayedEnvironment:
    """An environment whose tools answer as recorded; what they do is not what is scored, so they are reads."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        names = dict.fromkeys(
            call["function"]["name"] for message in stage.messages for call in message.get("tool_calls") or ()
        )
        self.tools = Toolset(specs=tuple(ToolSpec(name=name, kind="read") for name in names))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    async def call(self, call: ToolCall) -> ToolResult:
        """Answer as recorded, refuse the call for which there is no room; at the end raise or hang."""
        message = self._stage.next("tool")
        if message is None:
            if self._stage.ends.get("limit") == "tool_calls":
                return ToolResult(content="Error: no calls are left", error=True, wrote=False)
            await self._stage.end("tool")
            raise TranscriptOverError
        return ToolResult(content=message["content"], error=message["content"].startswith("error"), wrote=False)

    async def snapshot(self) -> State | None:
        """Fail where the state breaks after the conversation, else give nothing."""
        if self._stage.at == len(self._stage.messages) and self._stage.ends.get("raised_by") == "state":
            raise EnvironmentFaultError(self._stage.ends["error"])
        return None


def _message(message: dict[str, Any]) -> Message:
    calls = tuple(
        ToolCall(
            name=call["function"]["name"], arguments=read_arguments(call["function"]["arguments"])[0], id=call["id"]
        )
        for call in message.get("tool_calls") or ()
    )
    return Message(role=message["role"], content=message.get("content"), tool_calls=calls)


def _call_again(messages: Sequence[dict[str, Any]]) -> Message:
    """Give the last call once more: the one for which there is no room left."""
    last = next(message for message in reversed(messages) if message.get("tool_calls"))
    return _message({**last, "content": None})
