"""What a framework's conversation is to us: it answers one message with messages of the turn, and keeps the rest."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from pytest_agentbench.core.approvals import Decision
from pytest_agentbench.core.transcript import Message


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What a framework did in one turn, and how many tokens it says that this took (None: it does not say).

    `reason` is why the framework ended the turn, where it says so and there is no answer. `output` is the typed answer
    of the turn, None where the framework gave a text alone. Where the framework waits for its user to decide, the last
    message asks it. `hides_calls` says that an agent with tools worked behind a tool, of whose calls nothing is told.
    """

    messages: Sequence[Message]
    input_tokens: int | None = None
    output_tokens: int | None = None
    reason: str = ""
    output: object = None
    hides_calls: bool = False


@dataclass(kw_only=True)
class Spent:
    """Tokens of a run so far; `told` is whether the framework ever said anything about them."""

    input_tokens: int = 0
    output_tokens: int = 0
    told: bool = field(default=False)

    def add(self, answered: Answered) -> None:
        """Count a turn."""
        self.told |= answered.input_tokens is not None or answered.output_tokens is not None
        self.input_tokens += answered.input_tokens or 0
        self.output_tokens += answered.output_tokens or 0

    @property
    def metrics(self) -> dict[str, float]:
        """The numbers of the agent's own, none where nothing was told."""
        if not self.told:
            return {}
        return {"input_tokens": float(self.input_tokens), "output_tokens": float(self.output_tokens)}


class Session(Protocol):
    """The conversation of one run. `answer` may be sync, and is then called in the run's own thread.

    An attribute `shows` names what the framework would tell if it were there: *handoffs*, *output*. An attribute
    `begun` holds the messages of a turn that the framework did not bring to its end.
    """

    def answer(self, message: str) -> Answered | Awaitable[Answered]:
        """Answer the user; whatever it raises ends the run."""
        ...


def answered_only(messages: Sequence[Message]) -> list[Message]:
    """Give what was done in a turn that broke off, without calls that nothing answered: they may not have been made."""
    answers = {message.tool_call_id for message in messages if message.role == "tool"}
    kept: list[Message] = []
    for message in messages:
        calls = tuple(call for call in message.tool_calls if call.id in answers)
        if message.role != "user" and (calls or message.role == "tool" or message.text.strip()):
            kept.append(message.model_copy(update={"tool_calls": calls}))
    return kept


@runtime_checkable
class Deciding(Protocol):
    """A session whose framework waits for its user to decide about calls."""

    def decide(self, decisions: Sequence[Decision], message: str) -> Answered | Awaitable[Answered]:
        """Go on with what the user decided, and said with it."""
        ...


@runtime_checkable
class Choosy(Protocol):
    """A session that finds out, before the first turn, what is to answer in its place."""

    async def fitting(self) -> Session:
        """Give the session that holds the conversation: itself, or another."""
        ...
