"""LangGraph: a compiled graph whose state has `messages`, who of several agents spoke, and threads of its own."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any, get_type_hints

from pytest_agentbench.agents.frameworks.agent import Answered, Marked, Waiting
from pytest_agentbench.agents.frameworks.context import fitted, values_of
from pytest_agentbench.agents.frameworks.langgraph_pauses import Origin, Pause, pause_of, resumed_with
from pytest_agentbench.agents.refusals import ended, filtered, filtered_ending, refusal
from pytest_agentbench.agents.replies import read, typed
from pytest_agentbench.core.approvals import ApprovalRequest, Decision
from pytest_agentbench.core.errors import AgentError, SuiteFaultError
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.json_values import to_json
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.protocols import RunSync
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, asking
from pytest_agentbench.environment.state_access import Raised, caught
from pytest_agentbench.messages.content import field, result_text, text_field
from pytest_agentbench.messages.handoffs import last_sender, with_handoffs

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


class LangGraphSession:
    """The conversation of one run: `thread_id` for a graph with a checkpointer, its messages handed back for others.

    An interrupt, and a stop before or after a node, is put to the user, whose decision resumes the graph.
    """

    def __init__(self, graph: Any, session_id: str, context: Any = None) -> None:
        """Raise `SuiteFaultError` where the state has no `messages`, or the graph's context lacks what it needs."""
        channels = getattr(graph, "channels", {})
        _refuse_without_messages("the graph's state has no `messages` (it has", channels)
        taken = _input(graph)
        if taken is not None:
            _refuse_without_messages("the graph takes no `messages` (it takes", taken)
        self._graph = graph
        self._config, self._context = _contexts(graph, session_id, context)
        self._remembers = getattr(graph, "checkpointer", None) not in (None, False)
        self._kept: list[Any] = []
        self._told: set[str] = set()
        self._sender: str | None = None
        self._waiting = Waiting()
        self._decisions: list[Decision] = []
        self._pauses: list[Pause] = []
        self._stopped: Stopped | None = None
        self._tools = tools_of(graph)
        self._handoffs = handoff_tools(self._tools)
        self.shows = frozenset({"output"} if _TYPED in channels else ())
        self._typed: Any = None
        self.begun: Sequence[Message] = ()

    async def fit(self, run_sync: RunSync) -> None:
        """Ask a graph whose checkpointer has no async methods in the run's thread."""
        checkpointer: Any = getattr(self._graph, "checkpointer", None)
        if not self._remembers or not hasattr(checkpointer, "aget_tuple"):
            return
        try:
            await checkpointer.aget_tuple(self._config)
        except NotImplementedError:
            self._graph = _InThread(self._graph, run_sync)

    async def answer(self, message: str) -> Answered:
        """Invoke the graph; give the messages that were not given before."""
        return await self._go_on(self._given(message))

    async def decide(self, decisions: Sequence[Decision], message: str) -> Answered:
        """Resume the graph with what the user decided."""
        for update, as_node in self._updates(decisions):
            await self._graph.aupdate_state(self._config, update, as_node)
        return await self._go_on(self._resumed(decisions))

    async def _go_on(self, given: object) -> Answered:
        try:
            state = await self._graph.ainvoke(given, self._config, **self._context)
            saved = await self._saved() if self._keeps_typed(state) else None
            snapshot = await self._graph.aget_state(self._config) if self._may_wait(state) else None
            return self._answered(state, snapshot, _version(saved))
        except Exception as error:  # noqa: BLE001 - `_refused` raises again what is no refusal
            if self._remembers and not self._decisions:
                self.begun = self._until_now(await self._graph.aget_state(self._config))
            return _refused(error)

    async def _saved(self) -> Any:
        if isinstance(self._graph, _InThread):
            return await self._graph.in_thread(self._graph.checkpointer.get_tuple, self._config)
        return await self._graph.checkpointer.aget_tuple(self._config)

    def _may_wait(self, state: object) -> bool:
        """Whether the graph may have stopped for its user: it was interrupted, or is built to stop at a node."""
        stops = any(getattr(self._graph, f"interrupt_{when}_nodes", None) for when in ("before", "after"))
        return self._remembers and (stops or bool(field(state, "__interrupt__")))

    def _keeps_typed(self, state: object) -> bool:
        """Whether a typed answer may be that of an earlier turn, which only the version of its channel tells."""
        return self._remembers and field(state, _TYPED) is not None and hasattr(self._graph.checkpointer, "aget_tuple")

    def _answered(self, state: object, snapshot: Any, version: object) -> Answered:
        if not isinstance(state, Mapping) or not isinstance(state.get("messages"), list | tuple):
            raise AgentError(f"the graph gave {type(state).__name__} without `messages`")
        messages, interrupts = list(state["messages"]), state.get("__interrupt__") or ()
        self._kept = messages
        pending = pending_calls(messages)
        self._pauses = [pause_of(one, pending, origin_of(one, snapshot, pending)) for one in interrupts]
        self._stopped = None if interrupts else stopped_at(snapshot, messages, pending)
        requests = [request for pause in self._pauses for request in pause.requests]
        requests += self._stopped.requests if self._stopped else ()
        new = self._new(messages)
        is_new = version is None or version != self._typed
        output = state.get(_TYPED) if is_new and not requests else None
        self._typed = self._typed if requests else version
        asked = None
        if requests:  # calls that wait for the user are given once they are answered
            new = _answered_only(new)
            by = text_field(calling_message(messages), "name") if pending else ""
            asked = asking(requests).model_copy(update={"by": by or None})
        self._told |= {text_field(one, "id") for one in new}
        shown = with_handoffs(marked(new, self._handoffs, asked), self._sender)
        self._sender = last_sender(shown, self._sender)
        shown = self._waiting.decided(shown, self._decisions)
        if not requests:
            self._decisions.clear()
        used = [usage for one in new if (usage := field(one, "usage_metadata"))]
        return Answered(
            messages=answer_typed(shown, output, self._tools),
            input_tokens=sum(field(usage, "input_tokens") or 0 for usage in used) if used else None,
            output_tokens=sum(field(usage, "output_tokens") or 0 for usage in used) if used else None,
            output=output,
        )

    def _until_now(self, snapshot: Any) -> Sequence[Message]:
        """Give what a checkpoint holds of the turn that broke off."""
        messages = field(field(snapshot, "values"), "messages") or ()
        return with_handoffs(marked(self._new(messages), self._handoffs, None), self._sender)

    def _given(self, message: str) -> object:
        earlier = [] if self._remembers else self._kept
        return {"messages": [*earlier, {"role": "user", "content": message}]}

    def _updates(self, decisions: Sequence[Decision]) -> list[tuple[dict[str, Any], str | None]]:
        """Note what was decided; give what it changes in the state of a graph that stopped at a node."""
        if not self._remembers:
            raise AgentError("the graph was interrupted, and has no checkpointer to go on from")
        goes_on = {one.id for pause in self._pauses if pause.goes_on for one in pause.requests}
        self._decisions += [one for one in decisions if one.kind != "respond" or one.id not in goes_on]
        return self._stopped.updates(decisions) if self._stopped else []

    def _resumed(self, decisions: Sequence[Decision]) -> object:
        from langgraph.types import Command  # noqa: PLC0415 - the framework is there, since the graph is its own

        return Command(resume=resumed_with(self._pauses, decisions)) if self._pauses else None

    def _new(self, messages: Sequence[Any]) -> list[Any]:
        """Tell by their ids, since graphs may trim what was said; where ids lack, by the user's last message."""
        if all(text_field(one, "id") for one in messages):
            return [one for one in messages if text_field(one, "id") not in self._told and not _is_users(one)]
        last = max((at for at, one in enumerate(messages) if _is_users(one)), default=-1)
        return list(messages[last + 1 :])


_TYPED = "structured_response"
"""The channel of a graph's state that holds its typed answer."""


def _version(saved: Any) -> object:
    """Read which write of the typed answer a checkpoint holds, None where it does not say."""
    versions = field(field(saved, "checkpoint"), "channel_versions")
    return versions.get(_TYPED) if isinstance(versions, Mapping) else None


def _refuse_without_messages(problem: str, names: Iterable[str]) -> None:
    known = [name for name in names if not name.startswith(("__", "branch:"))]
    if "messages" not in known:
        raise SuiteFaultError(
            f"{problem} {listing(sorted(known)) or 'nothing'}), so nothing tells what to give it; "
            "write a factory that returns a reply function, which calls the graph"
        )


def _input(graph: Any) -> Iterable[str] | None:
    """Name what a graph is called with, as far as it has an input schema of its own."""
    schema = getattr(getattr(graph, "builder", None), "input_schema", None)
    try:
        return get_type_hints(schema) or None if isinstance(schema, type) else None
    except (NameError, TypeError):  # a name that is not known where it is looked for: the graph itself will tell
        return None


def _contexts(graph: Any, session_id: str, context: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the config, whose `configurable` holds the context's values, and `context=` where the graph has a schema."""
    schema = getattr(graph, "context_schema", None)
    made = fitted(context, schema, what="context_schema", others=True) if schema is not None else None
    is_object = schema is not None and context is not None and not isinstance(context, Mapping)
    values = {} if is_object else values_of(context, "`configurable`")
    if "thread_id" in values:
        raise SuiteFaultError("context.thread_id: every run has a thread of its own, which is named here; leave it out")
    config = {"configurable": {**values, "thread_id": session_id}}
    return config, {} if made is None else {"context": made}


_GUARDS = {"PIIDetectionError": "pii_type", "OpenAIModerationError": "stage"}
"""What LangChain's middleware raises to stop an agent, and the attribute that says what it found, or where."""


def _refused(error: Exception) -> Answered:
    """Answer with a refusal where middleware stopped the agent, or the provider's filter did; else raise `error`."""
    found = next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _GUARDS), "")
    about = str(getattr(error, _GUARDS[found], "")) if found else ""
    event = Event(kind="guardrail", name=f"{found} ({about})" if about else found) if found else filtered(error)
    if event is None:
        raise error
    return Answered(messages=[refusal(event)])


class _InThread:
    """A graph that is asked by its sync API in the run's thread, for checkpointers that have no other (`SqliteSaver`).

    What it has besides is the graph's own.
    """

    def __init__(self, graph: Any, run_sync: RunSync) -> None:
        self._graph = graph
        self._run_sync = run_sync

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    async def in_thread(self, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Call a function of the graph's."""
        value = await self._run_sync(lambda: caught(partial(function, *given, **named)))
        if isinstance(value, Raised):
            raise value.error
        return value

    async def ainvoke(self, *given: Any, **context: Any) -> Any:
        """Invoke the graph; raise `AgentError` where a node is async."""
        try:
            return await self.in_thread(self._graph.invoke, *given, **context)
        except TypeError as error:
            if "No synchronous function" not in str(error):
                raise
            kept = type(self._graph.checkpointer).__name__
            raise AgentError(
                f"{error}. It cannot be awaited either, since its checkpointer {kept} has no async methods: use the "
                f"async one of its kind (Async{kept}), or InMemorySaver while testing"
            ) from error

    async def aget_state(self, config: Any) -> Any:
        """Read the state of the graph."""
        return await self.in_thread(self._graph.get_state, config)

    async def aupdate_state(self, *given: Any) -> None:
        """Change the state of the graph."""
        await self.in_thread(self._graph.update_state, *given)


def _is_users(message: Any) -> bool:
    return "human" in text_field(message, "type").lower() or text_field(message, "role") == "user"


def _answered_only(messages: list[Any]) -> list[Any]:
    results = {text_field(one, "tool_call_id") for one in messages}
    for at, one in enumerate(messages):
        if any(field(call, "id") not in results for call in field(one, "tool_calls") or ()):
            return messages[:at]
    return messages


_PUSHED = "__pregel_push"
"""How LangGraph marks the task of a call that was sent to a node by itself."""


@dataclass(frozen=True)
class Stopped:
    """A stop before `node`: its calls are asked about one by one; `message` made them, None where there are none."""

    node: str
    message: Any
    requests: tuple[ApprovalRequest, ...]

    def updates(self, decisions: Sequence[Decision]) -> list[tuple[dict[str, Any], str | None]]:
        """Give the changes of the state, each with the node in whose name it is made, before the graph goes on.

        Calls that were refused are answered in the node's place where all were; else the message is left without them.
        """
        if self.message is None:
            said = [{"role": "user", "content": one.text} for one in decisions if one.kind == "respond"]
            return [({"messages": said}, None)] if said else []
        refused = {one.id: one for one in decisions if not one.runs}
        if len(refused) == len(decisions):
            return [({"messages": list(_refusals(refused.values()))}, self.node)]
        edited = {one.id: one.arguments for one in decisions if one.kind == "edit"}
        if not (refused or edited):
            return []
        calls = [
            {**call, "args": edited.get(text_field(call, "id"), call["args"])}
            for call in self.message.tool_calls
            if text_field(call, "id") not in refused
        ]
        return [({"messages": [self.message.model_copy(update={"tool_calls": calls})]}, None)]


def stopped_at(snapshot: Any, messages: Sequence[Any], pending: Sequence[Mapping[str, Any]]) -> Stopped | None:
    """Tell from the state of a graph that was not interrupted where it stopped; None where it came to its end."""
    nodes = tuple(dict.fromkeys(field(snapshot, "next") or ()))
    if not nodes:
        return None
    if not pending:
        request = ApprovalRequest(tool=" ".join(nodes), allowed=("approve", "respond"))
        return Stopped(nodes[0], None, (request,))
    requests = (
        ApprovalRequest(
            id=text_field(call, "id"),
            tool=text_field(call, "name"),
            arguments=to_json(field(call, "args") or {}),
            allowed=("approve", "reject", "edit"),
        )
        for call in pending
    )
    return Stopped(nodes[0], calling_message(messages), tuple(requests))


def pending_calls(messages: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Give the calls of the last message that makes any which have no result."""
    answered = {text_field(one, "tool_call_id") for one in messages}
    return [call for call in field(calling_message(messages), "tool_calls") or () if field(call, "id") not in answered]


def origin_of(interrupt: Any, snapshot: Any, pending: Sequence[Mapping[str, Any]]) -> Origin:
    """Tell in which node an interrupt was raised, and in which call: the one sent there, or the only one."""
    for task in field(snapshot, "tasks") or ():
        if any(field(one, "id") == field(interrupt, "id") for one in field(task, "interrupts") or ()):
            path = list(field(task, "path") or ())
            at = path[1] if path[:1] == [_PUSHED] and isinstance(path[1], int) else None
            sent = pending[at] if at is not None and at < len(pending) else None
            return Origin(str(field(task, "name") or ""), sent or (pending[0] if len(pending) == 1 else None))
    return Origin(call=pending[0] if len(pending) == 1 else None)


def calling_message(messages: Sequence[Any]) -> Any:
    """Give the last message that makes calls, None where none does."""
    return next((one for one in reversed(messages) if field(one, "tool_calls")), None)


def _refusals(decisions: Any) -> Iterator[Any]:
    from langchain_core.messages import ToolMessage  # noqa: PLC0415 - the framework is there, since the graph is its own

    for one in decisions:
        told = f"The user rejected this call: {one.text}" if one.text else "The user rejected this call."
        yield ToolMessage(content=told, tool_call_id=one.id, name=one.tool, status="error")
