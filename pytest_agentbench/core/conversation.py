"""What the agent is given and gives back, and what the simulated user is given and gives back."""

from typing import Any

from pytest_agentbench.core.acts import Act, GoalItem
from pytest_agentbench.core.approvals import Decision, Standing
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolCall, ToolSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.verdict import Blame


class Turn(Model):
    """What an agent may see: the user's text, the whole conversation, its session, context and tools.

    `results` holds the tool messages that answer the calls of the agent's last reply; `message` is then empty.
    `decisions` are what the user decided about the approvals that the agent's last reply asked for.
    """

    message: str = ""
    messages: tuple[Message, ...] = ()
    results: tuple[Message, ...] = ()
    decisions: tuple[Decision, ...] = ()
    session_id: str = ""
    context: Any = {}
    tools: tuple[ToolSpec, ...] = ()


class Reply(Model):
    """What an agent did: messages of calls it ran itself with their results, then text, or calls to be executed.

    The last message decides: unanswered tool calls are executed by the loop, text goes to the user.
    `stop` closes the conversation after this reply. `metrics` are numbers of the agent's own, such as tokens so far or
    how it rates itself: of each name the last value given in a run is kept and reported. `output` is a typed answer,
    which the last message of the agent holds as well.
    """

    messages: tuple[Message, ...]
    stop: bool = False
    metrics: dict[str, float] = {}
    output: JsonValue = None


class View(Model):
    """What a simulated user may know: who it is, what it wants and knows, what was said to it, its own tools.

    It holds no tool results of the agent, no expected calls and no judge notes. The first `begun` of its messages were
    exchanged before the run. `feedback` says why the conversation is not over although the user closed it. `done` holds
    the values that the agent's successful writes were called with, once for each call: what a person sees happen.
    `calls` counts all that it called and that did not fail; None where its calls cannot be seen. `tried` counts all.
    `approvals` is what the user decides about an approval that nothing else decides. `earlier` are the messages of the
    sessions before this one.
    """

    messages: tuple[Message, ...] = ()
    begun: int = 0
    feedback: str = ""
    persona: str | None = None
    goal: str = ""
    says: tuple[str, ...] = ()
    knows: dict[str, Any] = {}
    also: dict[str, tuple[str, ...]] = {}
    known_info: str = ""
    unknown: tuple[str, ...] = ()
    task_instructions: str = ""
    tools: tuple[ToolSpec, ...] = ()
    done: tuple[str | int | float, ...] = ()
    calls: int | None = 0
    tried: int = 0
    approvals: Standing | None = None
    earlier: tuple[Message, ...] = ()


class Stop(Model):
    """How a conversation closes, by its user's decision or otherwise.

    `blame` is set when it could not go on: who is to blame. `error` says what broke. `unanswered` is a question of the
    agent to which the user that closed had no answer, while it did not know that all it wanted was done.
    """

    reason: str
    blame: Blame | None = None
    termination: Termination = Termination.FINISHED
    error: str | None = None
    unanswered: str = ""


class UserTurn(Model):
    """What a simulated user does in its turn: says `text`, calls tools of its own, then closes where `stop` is set.

    `acts` are what it meant; None means that it did not say. `goal_items` are what it wants, open and done, `shows` the
    modifiers that it acted out in this turn. `decisions` are its answers to approvals, `thoughts` what it thought and
    did not say.
    """

    text: str = ""
    acts: tuple[Act, ...] | None = None
    goal_items: tuple[GoalItem, ...] = ()
    shows: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    stop: Stop | None = None
    thoughts: str | None = None

    @property
    def message(self) -> Message | None:
        """The message that the transcript keeps; None where the user only leaves, and does not say what it means."""
        is_empty = not (self.text or self.tool_calls or self.acts or self.goal_items or self.shows)
        if is_empty and self.stop is not None:
            return None
        return Message(
            role="user",
            content=self.text or ("" if is_empty else None),
            tool_calls=self.tool_calls,
            acts=self.acts,
            goal_items=self.goal_items,
            shows=self.shows,
            decisions=self.decisions,
            thoughts=self.thoughts,
        )


class UserFault(Model):
    """A fault of a simulated user that asking again did not mend; the conversation went on with what it said.

    `rule` names the guard rail, `message` says what it found, `turn` counts as `Transcript.turns` does.
    """

    rule: str
    message: str
    turn: int
