"""Several agents in one LangGraph: who sent a message, and who gave the conversation to whom."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from pytest_agentbench.agents.frameworks.marking import Marked
from pytest_agentbench.agents.refusals import filtered_ending, refusal
from pytest_agentbench.agents.replies import read, typed
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.content import field, result_text, text_field

_TO, _BACK = "__handoff_destination", "__is_handoff_back"
"""What LangGraph's packages for several agents write on tools and messages that hand over."""


def handoff_tools(graph: Any) -> dict[str, str]:
    """Map the tools of a graph that hand over, as its packages mark them, to the agents that they lead to."""
    found: dict[str, str] = {}
    graphs = [graph, *(inner for _, inner in graph.get_subgraphs(recurse=True))] if _has_subgraphs(graph) else [graph]
    for one in graphs:
        for node in getattr(one, "nodes", {}).values():
            for name, tool in (getattr(getattr(node, "bound", None), "tools_by_name", None) or {}).items():
                to = (getattr(tool, "metadata", None) or {}).get(_TO)
                if isinstance(to, str):
                    found[str(name)] = to
    return found


def marked(messages: Sequence[Any], handoffs: Mapping[str, str], asked: Message | None = None) -> list[Message]:
    """Read the messages of a turn, each with the agent that it names; `asked` is what the turn ends with asking.

    A call that hands over, and another name than that of the message before, are events.
    """
    turn = _Turn(handoffs)
    for item in messages:
        turn.add(item)
    if asked is not None:
        turn.ask(asked)
    return turn.marked.messages


class _Turn:
    """What the messages of one turn say, read one by one; `last` is the agent that has the conversation."""

    def __init__(self, handoffs: Mapping[str, str]) -> None:
        self.marked = Marked()
        self._handoffs = handoffs
        self._ended: set[str] = set()
        self._last = ""

    def add(self, item: Any) -> None:
        """Read a message."""
        by = text_field(item, "name") if text_field(item, "type") != "tool" else ""
        self._give(by or self._last)
        for message in _read(item):
            if message.role == "tool":
                self._result(message, item)
            else:
                self._spoken(message, is_back=bool(field(field(item, "response_metadata"), _BACK)))

    def ask(self, message: Message) -> None:
        """End with a message of ours that puts calls which wait to the user."""
        self._give(message.by or self._last)
        self.marked.add(message, self._last or None)

    def _give(self, to: str) -> None:
        if self._last and to != self._last:
            self.marked.handed_over(self._last, to)
        self._last = to

    def _result(self, message: Message, item: Any) -> None:
        if message.tool_call_id not in self._ended:
            self.marked.add(message, self._last or None)
        elif isinstance(to := field(field(item, "response_metadata"), _TO), str):
            self._give(to)

    def _spoken(self, message: Message, *, is_back: bool) -> None:
        leading = [call for call in message.tool_calls if is_back or call.name in self._handoffs]
        self._ended |= {call.id for call in leading}
        rest = tuple(call for call in message.tool_calls if call not in leading)
        if rest or not leading or (message.text.strip() and not is_back):
            self.marked.add(message.model_copy(update={"tool_calls": rest}), self._last or None)
        for call in leading:
            self._give(self._handoffs.get(call.name, self._last))


def answer_typed(messages: list[Message], output: object) -> list[Message]:
    """Let a turn that ends with the tool through which a typed answer came end with that answer; it is no call."""
    if output is None or not messages or messages[-1].role != "tool":
        return messages
    results = {one.tool_call_id for one in takewhile(lambda one: one.role == "tool", reversed(messages))}
    kept = [one for one in messages if one.role != "tool" or one.tool_call_id not in results]
    calling = kept.pop()
    calls = tuple(call for call in calling.tool_calls if call.id not in results)
    text = calling.text or result_text(typed(output))
    return [*kept, calling.model_copy(update={"tool_calls": calls, "content": text})]


def _read(item: Any) -> Iterable[Message]:
    """Read a message; an answer that the provider's filter ended is a refusal."""
    how = field(item, "response_metadata") or {}
    event = filtered_ending(field(how, "finish_reason"), field(how, "stop_reason"), field(how, "stopReason"))
    found = read([item]).messages
    if event is None or text_field(item, "type") == "tool":
        return found
    return [refusal(event, text=message.text) for message in found] or [refusal(event)]


def _has_subgraphs(graph: Any) -> bool:
    return callable(getattr(graph, "get_subgraphs", None))
