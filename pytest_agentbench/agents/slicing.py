"""What is new in the messages that an agent returned: frameworks give their whole state back every turn."""

from collections.abc import Sequence

from pytest_agentbench.core.conversation import Turn
from pytest_agentbench.core.transcript import Message


def new_messages(returned: Sequence[Message], turn: Turn, earlier: Sequence[Message] = ()) -> list[Message]:
    """Give the agent's own messages of this turn: its texts, its calls and their results.

    `earlier` is what the agent returned last time. The rule, step by step:

    1. System messages are dropped.
    2. If the list begins with all of `earlier` and goes on, that beginning is dropped.
    3. What stands up to the last user message that equals this turn's is dropped. If none equals it (the agent
       rewrote it) and the agent has replied before, what stands up to the last user message is dropped.
    4. When the turn brings results of calls that the loop ran, what stands up to the last of them is dropped.
    5. The user's remaining messages and results of the user's own tools are dropped.
    """
    spoken = _without_system(returned)
    rest = _after_earlier(spoken, _without_system(earlier))
    rest = rest[_after_user(rest, turn, replied=bool(earlier)) :]
    rest = rest[_after_results(rest, turn) :]
    return [message for message in rest if message.role != "user" and message.requestor == "assistant"]


def _without_system(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if message.role != "system"]


def _after_earlier(messages: list[Message], earlier: list[Message]) -> list[Message]:
    """Drop `earlier` from the front; a list that equals it is a repeated answer, not a state that grew."""
    size = len(earlier)
    return messages[size:] if size < len(messages) and messages[:size] == earlier else messages


def _after_user(messages: list[Message], turn: Turn, *, replied: bool) -> int:
    users = [index for index, message in enumerate(messages) if message.role == "user"]
    said = turn.message.strip()
    same = [index for index in users if said and messages[index].text.strip() == said]
    if same:
        return same[-1] + 1
    return users[-1] + 1 if users and replied else 0


def _after_results(messages: list[Message], turn: Turn) -> int:
    ids = {result.tool_call_id for result in turn.results if result.tool_call_id}
    return max((index + 1 for index, m in enumerate(messages) if m.role == "tool" and m.tool_call_id in ids), default=0)
