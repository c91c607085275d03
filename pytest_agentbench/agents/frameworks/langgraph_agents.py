"""Several agents in one LangGraph: who sent a message, and who gave the conversation to whom."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from pytest_agentbench.agents.frameworks.marking import Marked
from pytest_agentbench.agents.refusals import ended, filtered_ending
from pytest_agentbench.agents.replies import read, typed
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.content import field, result_text, text_field

_TO, _BACK = "__handoff_destination", "__is_handoff_back"
"""What LangGraph's packages for several agents write on tools and messages that hand over."""


def tools_of(graph: Any) -> dict[str, Any]:
    """Give the tools that the graph and those inside it run, by name."""
    graphs = [graph, *(inner for _, inner in graph.get_subgraphs(recurse=True))] if _has_subgraphs(graph) else [graph]
    nodes = (node for one in graphs for node in getattr(one, "nodes", {}).values())
    tools = (getattr(getattr(node, "bound", None), "tools_by_name", None) or {} for node in nodes)
    return {str(name): tool for some in tools for name, tool in some.items()}


def handoff_tools(tools: Mapping[str, Any]) -> dict[str, str]:
    """Map the tools that hand over, as LangGraph's packages mark them, to the agents that they lead to."""
    led = {name: (getattr(tool, "metadata", None) or {}).get(_TO) for name, tool in tools.items()}
    return {name: to for name, to in led.items() if isinstance(to, str)}


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


def answer_typed(messages: list[Message], output: object, tools: Collection[str] = ()) -> list[Message]:
    """Let a turn that ends with the tool through which a typed answer came end with that answer; it is no call.

    The `tools` that the graph runs are calls, whatever stands beside them.
    """
    if output is None or not messages or messages[-1].role != "tool":
        return messages
    results = {one.tool_call_id for one in takewhile(lambda one: one.role == "tool", reversed(messages))}
    ending = [(one, call) for one in messages for call in one.tool_calls if call.id in results]
    own = [(one, call) for one, call in ending if call.name not in tools and _gave(call, output)]
    if not own:
        return messages
    names, said = {call.name for _, call in own}, own[-1][0]
    ids = {call.id for one in messages for call in one.tool_calls if call.name in names}
    kept = [_without(one, names) for one in messages if one.role != "tool" or one.tool_call_id not in ids]
    whole = [one for one in kept if one.role != "assistant" or one.text or one.tool_calls or one.events]
    if whole and whole[-1].role == "assistant" and whole[-1].text and not whole[-1].tool_calls:
        return whole
    text = result_text(typed(output))
    if whole and whole[-1].role == "assistant" and not whole[-1].tool_calls:  # emptied, and holds events
        return [*whole[:-1], whole[-1].model_copy(update={"content": text})]
    return [*whole, Message(role="assistant", content=text, by=said.by)]


def _gave(call: ToolCall, output: object) -> bool:
    """Whether a call gave the typed answer: it is named like the answer's type, or has the keys of a mapping."""
    if isinstance(output, Mapping):
        return bool(call.arguments) and call.arguments.keys() <= output.keys()
    return call.name == type(output).__name__


def _without(message: Message, names: Collection[str]) -> Message:
    rest = tuple(call for call in message.tool_calls if call.name not in names)
    return message if rest == message.tool_calls else message.model_copy(update={"tool_calls": rest})


def _read(item: Any) -> Iterable[Message]:
    """Read a message; an answer without calls that the provider's filter ended is a refusal."""
    how = field(item, "response_metadata") or {}
    event = filtered_ending(field(how, "finish_reason"), field(how, "stop_reason"), field(how, "stopReason"))
    found = read([item]).messages
    return found if text_field(item, "type") == "tool" else ended(found, event)


def _has_subgraphs(graph: Any) -> bool:
    return callable(getattr(graph, "get_subgraphs", None))
