"""OpenAI Agents SDK: an agent that is run on the items of its last run, by whichever agent took over."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, get_args

from pytest_agentbench.agents.frameworks.agent import Answered, Marked, Waiting
from pytest_agentbench.agents.frameworks.context import fitted, lacking
from pytest_agentbench.agents.refusals import filtered, refusal
from pytest_agentbench.agents.replies import read
from pytest_agentbench.core.approvals import ApprovalRequest, Decision
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.tool import read_arguments
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.content import field, result_text, text_field

_WITHHELD = "Response withheld by the provider's content filter."
"""What the SDK puts in the place of an answer that ended with `content_filter`; it tells it by nothing else."""

_RESULTS = ("tool_call_output_item", "handoff_output_item")
"""Items after which a run was whole."""

_WAITING = "tool_approval_item"
"""What stands in a run for a call that waits, beside the call itself."""


class OpenAIAgentsSession:
    """The conversation of one run. Its traces are not exported: they would leave the machine in the background."""

    shows = frozenset({"handoffs", "output"})

    def __init__(self, agent: Any, session_id: str, context: Any = None) -> None:
        """Raise `SuiteFaultError` where the agent was made as an `Agent[…]` of what the context does not give."""
        self._agent = agent
        self._given = context
        self._context = fitted(context, _declared(agent), what="context")
        self._items: list[Any] = []
        self._waiting = Waiting()
        self._interrupted: Any = None
        self.begun: list[Message] = []

    async def answer(self, message: str) -> Answered:
        """Run the agent; give the items of this run as messages. What stops it on purpose is a refusal."""
        self._items = [*self._items, {"role": "user", "content": message}]
        return await self._run(self._items)

    async def decide(self, decisions: Sequence[Decision], message: str) -> Answered:
        """Go on with the run that waits, its calls approved or rejected with the user's words."""
        state = self._interrupted.to_state()
        for item, decision in zip(self._interrupted.interruptions, decisions, strict=True):
            if decision.runs:
                state.approve(item)
            else:
                state.reject(item, rejection_message=decision.text or None)
        return await self._run(state, decisions, earlier=self._interrupted)

    async def _run(self, said: Any, decisions: Sequence[Decision] = (), earlier: Any = None) -> Answered:
        """Run the agent; `earlier` is the result that the run goes on from, and whose items and usage it repeats."""
        from agents import RunConfig, Runner  # noqa: PLC0415 - the agent is its own

        watched = _Watched(self._given)
        config = RunConfig(tracing_disabled=True, **watched.options(RunConfig))
        try:
            result = await Runner.run(self._agent, said, context=self._context, run_config=config)
        except Exception as error:
            watched.settle()
            refused = _refusal(error)
            if refused is None:
                data = getattr(error, "run_data", None)
                self.begun = _Reader(data).read(getattr(data, "new_items", ())) if earlier is None else []
                raise
            return self._refused(error, refused, decisions, earlier)
        watched.settle()
        requests = [_request(item) for item in result.interruptions]
        self._agent, self._interrupted = result.last_agent, result if requests else None
        if not requests:  # a run that waits has not said anything yet; what it goes on from is its result
            self._items = result.to_input_list()
        reader = _Reader(result, earlier)
        messages = reader.read(result.new_items[_size(earlier) :])
        used, before = _used(result), _used(earlier)
        return Answered(
            messages=self._waiting.hold(self._waiting.decided(messages, decisions), requests),
            input_tokens=used[0] - before[0],
            output_tokens=used[1] - before[1],
            output=None if requests else result.final_output,
            hides_calls=reader.hides_calls,
        )

    def _refused(self, error: Exception, answer: Message, decisions: Sequence[Decision], earlier: Any) -> Answered:
        """Answer with the refusal, which the next turn's model is told, as are the calls that were answered."""
        data = getattr(error, "run_data", None)
        made = list(getattr(data, "new_items", ()))
        items, new = _answered_items(made), made[_size(earlier) :]
        agent = getattr(data, "last_agent", None) or self._agent
        answer = answer.model_copy(update={"by": text_field(agent, "name") or None})
        kept = [one.to_input_item() for one in items]
        self._items, self._agent = [*self._items, *kept, {"role": "assistant", "content": answer.text}], agent
        self._interrupted = None
        shown = [item for item in items if any(item is one for one in new)]
        reader = _Reader(data, earlier)
        messages = self._waiting.decided(reader.read(shown), decisions)
        used, before = _used(data), _used(earlier)
        return Answered(
            messages=[*messages, answer],
            input_tokens=used[0] - before[0] if data else None,
            output_tokens=used[1] - before[1] if data else None,
            hides_calls=reader.hides_calls,
        )


def _size(run: Any) -> int:
    return len(run.new_items) if run else 0


def _used(run: Any) -> tuple[int, int]:
    """Give the tokens that a run took, none where it tells nothing."""
    usage = getattr(getattr(run, "context_wrapper", None), "usage", None)
    return getattr(usage, "input_tokens", 0), getattr(usage, "output_tokens", 0)


def _request(item: Any) -> ApprovalRequest:
    raw = field(item, "raw_item")
    arguments, _ = read_arguments(field(raw, "arguments"))
    tool = text_field(item, "tool_name") or text_field(raw, "type")
    return ApprovalRequest(id=_call_id(item), tool=tool, arguments=arguments, allowed=("approve", "reject"))


def _declared(agent: Any) -> Any:
    """Give the type of context that an agent was made for, None where it was made as a plain `Agent`."""
    declared = get_args(getattr(agent, "__orig_class__", None))
    return declared[0] if declared and not isinstance(declared[0], TypeVar) else None


class _Watched:
    """Hears of the exceptions of tools, which the SDK keeps to itself: one may tell what the context lacks."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._fault: SuiteFaultError | None = None

    def options(self, config: Any) -> dict[str, Any]:
        """Give the option by which a run tells of them, where the SDK has it."""
        return {"tool_error_formatter": self._note} if "tool_error_formatter" in config.__dataclass_fields__ else {}

    def _note(self, told: Any) -> None:
        error = field(told, "error")
        if isinstance(error, BaseException):
            self._fault = self._fault or lacking(error, self._context)

    def settle(self) -> None:
        """Raise what was heard of."""
        if self._fault is not None:
            raise self._fault


def _refusal(error: Exception) -> Message | None:
    """Give the answer where a guardrail raised, the provider's filter struck, or the model declined."""
    declined = text_field(error, "refusal")
    if declined and declined != _WITHHELD:
        return Message(role="assistant", content=declined)
    event = Event(kind="refused_by_provider", name="content_filter") if declined else _stopped(error)
    return refusal(event) if event else None


def _stopped(error: Exception) -> Event | None:
    result = getattr(error, "guardrail_result", None)
    guardrail = getattr(error, "guardrail", None) or getattr(result, "guardrail", None)
    if guardrail is not None and hasattr(guardrail, "get_name"):
        return Event(kind="guardrail", name=str(guardrail.get_name()))
    return filtered(error)


def _answered_items(items: Sequence[Any]) -> list[Any]:
    """Leave out the answer that was stopped, and calls that were never made: no run goes on after those."""
    places = [at for at, item in enumerate(items) if text_field(item, "type") in _RESULTS]
    kept = items[: places[-1] + 1] if places else []
    answered = {_call_id(item) for item in kept if text_field(item, "type") == "tool_call_output_item"}
    calling = ("tool_call_item", _WAITING)
    made = [item for item in kept if text_field(item, "type") not in calling or _call_id(item) in answered]
    return [item for item in made if text_field(item, "type") != _WAITING]


def _call_id(item: Any) -> str:
    raw = field(item, "raw_item")
    return text_field(raw, "call_id") or text_field(raw, "id")


class _Reader:
    """Reads the items of a run. Handoffs, and the tools behind which other agents work, are events and no calls."""

    def __init__(self, run: Any, earlier: Any = None) -> None:
        """Read a run; one that goes on from an `earlier` one repeats what guardrails did there."""
        from agents import default_tool_error_function  # noqa: PLC0415 - the agent is its own

        # the SDK keeps exceptions of tools to itself: the model is told this text, which may end in the exception's own
        context: Any = None
        self._swallowed = default_tool_error_function(context, Exception("")).rstrip(" .:")
        self._marked = Marked()
        made = [item for item in getattr(run, "new_items", ()) if text_field(item, "type") == "tool_call_item"]
        self._delegated = {_call_id(item): other for item in made if (other := _delegate(item)) is not None}
        self.hides_calls = any(_may_call(other) for other in self._delegated.values())
        self._guards = {_call_id(item): _guardrails(item) for item in made}
        self._rejected: list[tuple[Any, str]] = []
        self._thoughts: list[Any] = []
        for is_input, name in ((True, "tool_input_guardrail_results"), (False, "tool_output_guardrail_results")):
            for result in list(getattr(run, name, ()))[len(getattr(earlier, name, ())) :]:
                self._struck(result, is_input=is_input)

    def read(self, items: Iterable[Any]) -> list[Message]:
        """Give texts, calls and results, each by its agent."""
        for item in items:
            self._add(item)
        return self._marked.messages

    def _struck(self, result: Any, *, is_input: bool) -> None:
        """Note a guardrail of a tool that let the run go on: the model was told something else than the result."""
        behaviour = field(field(result, "output"), "behavior") or {}
        if field(behaviour, "type") != "reject_content":
            return
        self._marked.happened(Event(kind="guardrail", name=str(result.guardrail.get_name())))
        if is_input:
            self._rejected.append((result.guardrail, text_field(behaviour, "message")))

    def _add(self, item: Any) -> None:
        kind, raw, called = text_field(item, "type"), field(item, "raw_item"), _call_id(item)
        by = text_field(field(item, "agent"), "name") or None
        if kind == "handoff_output_item":
            self._marked.handed_over(text_field(item.source_agent, "name"), text_field(item.target_agent, "name"))
        elif kind == "tool_call_item" and called in self._delegated:
            self._marked.handed_over(by or "", text_field(self._delegated[called], "name"))
        elif kind == "reasoning_item":
            self._thoughts.append(raw)
        elif kind not in ("handoff_call_item", _WAITING) and called not in self._delegated:
            for message in read([*self._thoughts, self._given(item)]).messages:
                self._marked.add(message, by)
            self._thoughts.clear()

    def _is_rejected(self, call: str, told: str) -> bool:
        """Whether a guardrail of the tool that was called gave its model these words instead of a result."""
        guards = self._guards.get(call, ())
        return any(told == words and any(one is guard for one in guards) for guard, words in self._rejected)

    def _given(self, item: Any) -> Any:
        """Give an item as the API has it; of a result the value that the tool gave, and whether the call failed."""
        raw = field(item, "raw_item")
        if text_field(item, "type") != "tool_call_output_item" or text_field(raw, "type") != "function_call_output":
            return raw
        output = field(item, "output")
        told = result_text(output)
        failed = told.startswith(self._swallowed) or self._is_rejected(_call_id(item), told)
        return {"type": "function_call_output", "call_id": field(raw, "call_id"), "output": output, "error": failed}


def _guardrails(item: Any) -> Sequence[Any]:
    """Give the guardrails that a call passes before its tool runs."""
    return getattr(_called(item), "tool_input_guardrails", None) or ()


def _called(item: Any) -> Any:
    """Give the tool that is called, None where the agent has none by its name (a server's, or one of MCP)."""
    agent, name = field(item, "agent"), text_field(field(item, "raw_item"), "name")
    return next((one for one in getattr(agent, "tools", None) or () if text_field(one, "name") == name), None)


def _delegate(item: Any) -> Any:
    """Give the agent that works behind the tool that is called (`as_tool`), None where it is a tool like others."""
    return getattr(_called(item), "_agent_instance", None)


def _may_call(agent: Any) -> bool:
    return any(field(agent, name) for name in ("tools", "mcp_servers", "handoffs"))
