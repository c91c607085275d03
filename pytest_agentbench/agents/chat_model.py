"""A chat model as the agent: its system prompt, the conversation so far, and the tools of the environment."""

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_agentbench.agents.refusals import filtered, filtered_ending, refusal
from pytest_agentbench.core.conversation import Reply, Turn
from pytest_agentbench.core.errors import AgentError, ProviderError
from pytest_agentbench.core.names import count
from pytest_agentbench.core.suite import OpenAIAgentSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.llm.reply import ChatReply, GivenBack
from pytest_agentbench.messages.assembly import made_call


class OpenAIChatAgent:
    """Answers each turn with one model call; the calls it asks for are executed by the conversation.

    It answers what the turn tells, which is the whole conversation. `log` collects what the transcript does not
    show, such as an answer that was cut off. `works_by_chat` says that it does nothing but ask its `Chat`, which takes
    a slot for each call and ends when it is cancelled.
    """

    calls_visible = True
    works_by_chat = True

    def __init__(self, chat: Chat, spec: OpenAIAgentSpec) -> None:
        self.log: list[str] = []
        self._chat = chat
        self._spec = spec
        self._system = [Message(role="system", content=spec.system).openai()] if spec.system else []
        self._written: list[tuple[Message, dict[str, Any]]] = []
        self._given = GivenBack()

    async def reply(self, turn: Turn) -> Reply:
        """Ask the model; raise `AgentError` where it answers nothing, or calls tools without an end.

        `ProviderError` and `NotRunError` come from the model access and are not the agent's.
        """
        rounds = _rounds(turn.messages)
        if rounds >= self._spec.rounds:
            raise AgentError(
                f"{self._named} asked for tools in {count(rounds, 'model call')} of one turn and never answered the "
                f"user (`rounds: {self._spec.rounds}` of the agent bounds them)"
            )
        try:
            answer = await self._chat.complete(self._messages(turn), tools=[tool.openai() for tool in turn.tools])
        except ProviderError as error:
            if (event := filtered(error)) is None:
                raise
            return Reply(messages=(refusal(event),))
        message = self._read(answer)
        self._given.keep(answer, message.text)
        return Reply(messages=(message,))

    @property
    def _named(self) -> str:
        return f"the model {self._spec.model.model!r}"

    def _messages(self, turn: Turn) -> list[dict[str, Any]]:
        # each turn tells again what those before told; only what is new has to be written
        known = self._written
        self._written = [
            known[at] if at < len(known) and known[at][0] is message else (message, message.openai())
            for at, message in enumerate(with_ids(turn.messages))
        ]
        return [*self._system, *self._given.added([written for _, written in self._written])]

    def _read(self, answer: ChatReply) -> Message:
        text = answer.text if answer.text.strip() else answer.refusal or ""
        if (event := filtered_ending(answer.finish_reason)) and not answer.calls:
            return refusal(event, text=text)
        if not text.strip() and not answer.calls:
            silence = f"answered with neither text nor a tool call (finish_reason {answer.finish_reason!r})"
            raise AgentError(f"unusable reply: {self._named} {silence}")
        if answer.truncated:
            self.log.append(f"an answer of {self._named} was cut off at its token limit; it is kept as far as it goes")
        calls = tuple(made_call(asked.name, asked.arguments, asked.id) for asked in answer.calls)
        said, cut = text or None, answer.truncated
        return Message(role="assistant", content=said, tool_calls=calls, thoughts=answer.thoughts, cut_off=cut)


def _rounds(messages: Sequence[Message]) -> int:
    """Count the agent's messages since the user last spoke."""
    count = 0
    for message in reversed(messages):
        if message.role == "user":
            break
        count += message.role == "assistant"
    return count


def with_ids(messages: Iterable[Message]) -> list[Message]:
    """Give an id to each call that has none, and to each nameless result that of the next call not yet answered."""
    done: list[Message] = []
    waiting: list[str] = []
    for index, message in enumerate(messages):
        if message.role != "tool" and not message.tool_calls:
            waiting = []
            done.append(message)
            continue
        if message.role == "tool":
            name = message.tool_call_id or (waiting[0] if waiting else f"call_at_{index}")
            waiting = [other for other in waiting if other != name]
            done.append(message if name == message.tool_call_id else message.model_copy(update={"tool_call_id": name}))
            continue
        named = message if all(call.id for call in message.tool_calls) else _named(message, index)
        waiting = [call.id for call in named.tool_calls]
        done.append(named)
    return done


def _named(message: Message, index: int) -> Message:
    calls = (
        call if call.id else call.model_copy(update={"id": f"call_at_{index}_{n}"})
        for n, call in enumerate(message.tool_calls, 1)
    )
    return message.model_copy(update={"tool_calls": tuple(calls)})
