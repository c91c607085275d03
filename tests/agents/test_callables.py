"""Reply functions are called by what their parameters name, on the loop or in the run's thread."""

import threading
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from pytest_agentbench.agents.callables import adapt
from pytest_agentbench.core.conversation import Reply, Turn
from pytest_agentbench.core.errors import AgentError, SuiteFaultError
from pytest_agentbench.core.protocols import RunSync
from pytest_agentbench.core.tool import ToolCall, ToolSpec
from pytest_agentbench.core.transcript import Message

HELLO = Message(role="user", content="hello")
CALL = ToolCall(name="look", arguments={"id": 1}, id="c1")
TURN = Turn(message="hello", messages=(HELLO,), session_id="s1", context={"user": "u1"}, tools=(ToolSpec(name="look"),))


async def said(agent: Any, run_sync: RunSync, turn: Turn = TURN) -> str:
    """Give the text of the agent's answer."""
    return (await adapt(agent, run_sync=run_sync).reply(turn)).messages[-1].text


class Takes:
    """Agents of every shape, each answering with what it was given."""

    def message(self, message: str) -> str:
        return repr(message)

    def other_name(self, utterance: str) -> str:
        return repr(utterance)

    def positional_only(self, text: str, extra: int = 3, /, session_id: str = "") -> str:
        return repr((text, extra, session_id))

    def star(self, *args: str, **kwargs: str) -> str:
        return repr((args, kwargs))

    def star_after(self, session_id: str, *args: str) -> str:
        return repr((session_id, args))

    def defaulted(self, text: str = "", temperature: float = 0.2) -> str:
        return repr((text, temperature))

    def messages(self, messages: list[dict[str, Any]]) -> str:
        return repr(messages)

    def everything(self, message: str, session_id: str, context: dict[str, Any], results: list[Any]) -> str:
        return repr((message, session_id, context, results))

    def tools(self, message: str, tools: list[dict[str, Any]]) -> str:
        return repr([tool["function"]["name"] for tool in tools])

    def annotated(self, given: Turn) -> str:
        return given.session_id

    async def turn(self, turn: Turn) -> str:
        return turn.session_id


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("message", "'hello'"),
        ("other_name", "'hello'"),
        ("positional_only", "('hello', 3, 's1')"),
        ("star", "(('hello',), {})"),
        ("star_after", "('s1', ('hello',))"),
        ("defaulted", "('hello', 0.2)"),
        ("messages", "[{'role': 'user', 'content': 'hello'}]"),
        ("everything", "('hello', 's1', {'user': 'u1'}, [])"),
        ("tools", "['look']"),
        ("annotated", "s1"),
        ("turn", "s1"),
    ],
)
async def test_parameters_get_what_they_name(name: str, expected: str, run_sync: RunSync) -> None:
    """Each parameter is filled by its name; one of another name gets the text."""
    assert await said(getattr(Takes(), name), run_sync) == expected


async def test_sync_code_runs_in_the_runs_thread_and_async_code_on_the_loop(run_sync: RunSync) -> None:
    """Only sync code leaves the loop's thread; what it returns is awaited on the loop."""

    def sync(message: str) -> str:
        return threading.current_thread().name

    async def on_loop(message: str) -> str:
        return threading.current_thread().name

    here = threading.current_thread().name
    assert (await said(sync, run_sync)).startswith("the-run")
    assert await said(on_loop, run_sync) == here
    assert await said(partial(on_loop), run_sync) == here
    assert await said(lambda message: on_loop(message), run_sync) == here  # noqa: PLW0108 - a sync function that gives a coroutine


async def test_objects_with_reply_or_call_are_agents(run_sync: RunSync) -> None:
    """An object's `reply` wins over its `__call__`."""

    class Speaks:
        async def reply(self, turn: Turn) -> Reply:
            return Reply(messages=(Message(role="assistant", content="from reply"),))

    class Called:
        async def __call__(self, text: str) -> str:
            return f"called with {text}"

    class Both(Called):
        def reply(self, text: str) -> str:
            return "reply"

    assert await said(Speaks(), run_sync) == "from reply"
    assert await said(Called(), run_sync) == "called with hello"
    assert await said(Both(), run_sync) == "reply"


async def test_functions_that_python_cannot_describe_get_the_text(run_sync: RunSync) -> None:
    """A builtin without a signature is called with the text."""
    assert await said("{}!".format, run_sync) == "hello!"


def no_parameters() -> str:
    """Take nothing."""
    return "hi"


def only_session(session_id: str) -> str:
    """Take no message."""
    return session_id


def requires_more(message: str, history: list[str]) -> str:
    """Require what nothing fills."""
    return message


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (no_parameters, "takes no message"),
        (only_session, "takes no message"),
        (requires_more, "requires history"),
        (None, "is no agent"),
        ("hello", "is no agent"),
        (Takes, "is no agent"),
        ({"reply": 1}, "is no agent"),
    ],
)
def test_what_cannot_be_called_is_refused_before_the_first_turn(made: object, says: str, run_sync: RunSync) -> None:
    """The error says what is wrong with the function, and what it may declare."""
    with pytest.raises(SuiteFaultError, match=says):
        adapt(made, run_sync=run_sync)


def test_an_object_whose_attributes_raise_is_refused(run_sync: RunSync) -> None:
    """Looking at the user's object is guarded too."""

    class Hostile:
        @property
        def reply(self) -> object:
            raise SystemExit(4)

    with pytest.raises(AgentError, match="SystemExit: 4"):
        adapt(Hostile(), run_sync=run_sync)


async def test_returned_calls_come_back_with_their_results(run_sync: RunSync) -> None:
    """An agent whose calls the loop runs is called again with results, in the OpenAI format."""

    def agent(message: str, results: list[dict[str, Any]]) -> object:
        if results:
            return f"it says {results[0]['content']} for {results[0]['tool_call_id']}"
        return {"tool_calls": [{"name": "look", "args": {}}, {"name": "look", "args": {}}]}

    adapted = adapt(agent, run_sync=run_sync)
    first = await adapted.reply(TURN)
    calls = first.messages[-1].tool_calls
    result = Message(role="tool", content="42", tool_call_id=calls[0].id)
    second = await adapted.reply(Turn(results=(result,)))
    assert [call.id for call in calls] == ["call_1_1", "call_1_2"]
    assert second.messages[-1].text == "it says 42 for call_1_1"


async def test_an_agent_that_cannot_take_results_is_told_so(run_sync: RunSync) -> None:
    """Calling a text-only function again with an empty text would be a riddle, so it is an error."""

    def agent(message: str) -> object:
        return {"tool_calls": [{"name": "look", "args": {}}]}

    adapted = adapt(agent, run_sync=run_sync)
    await adapted.reply(TURN)
    with pytest.raises(AgentError, match="declare `messages`, `results` or `turn`"):
        await adapted.reply(Turn(results=(Message(role="tool", content="42", tool_call_id="call_1_1"),)))


async def test_calls_are_visible_when_tools_are_given_or_calls_are_shown(run_sync: RunSync) -> None:
    """Text alone shows nothing; tools that were given, returned calls, and lists of messages do."""

    def text(message: str) -> str:
        return "hi"

    def with_tools(message: str, tools: list[Any]) -> str:
        return "hi"

    def listing(message: str) -> list[Any]:
        return [{"role": "assistant", "content": "hi"}]

    def calling(message: str) -> dict[str, Any]:
        return {"tool_calls": [{"name": "look", "args": {}}]}

    async def visible(agent: Any, turn: Turn = TURN) -> bool:
        adapted = adapt(agent, run_sync=run_sync)
        await adapted.reply(turn)
        return adapted.calls_visible

    assert not await visible(text)
    assert await visible(with_tools)
    assert not await visible(with_tools, Turn(message="hello"))
    assert await visible(listing)
    assert await visible(calling)


async def test_an_agent_may_declare_whether_its_calls_show(run_sync: RunSync) -> None:
    """A bool attribute `calls_visible` is believed."""

    class Declares:
        def __init__(self, calls_visible: bool) -> None:
            self.calls_visible = calls_visible

        def reply(self, message: str, tools: list[Any]) -> str:
            return "hi"

    for declared in (True, False):
        assert adapt(Declares(declared), run_sync=run_sync).calls_visible is declared


async def test_streams_are_refused_with_what_is_allowed(run_sync: RunSync) -> None:
    """An async generator is no reply."""

    async def streaming(message: str) -> AsyncIterator[str]:
        yield "hi"

    with pytest.raises(AgentError, match="unusable reply: found async_generator"):
        await adapt(streaming, run_sync=run_sync).reply(TURN)
