"""What an endpoint can do wrong: each fault is the agent's, and its error says what was found."""

import asyncio
import socket
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from aiohttp import web

from pytest_agentbench.agents.http.agent import HttpAgent, endpoint_of_run
from pytest_agentbench.agents.http.connections import MAX_BODY, HttpConnections
from pytest_agentbench.core.errors import AgentError, EnvironmentFaultError, SuiteFaultError
from pytest_agentbench.core.suite import HttpAgentSpec
from pytest_agentbench.environment.isolation import IsolationGate
from tests.agents.http_endpoint import endpoint
from tests.agents.test_http import CONNECTIONS, FIND, agent_at, turn
from tests.tables import each


async def failing(_: web.Request) -> web.Response:
    """Answer with an error status and a body that must not reach a terminal as it is."""
    return web.Response(status=503, text="\x1b[31mdatabase\x00 down " + "x" * 1000)


async def moved(_: web.Request) -> web.Response:
    """Answer with a redirect."""
    return web.Response(status=307, headers={"Location": "http://127.0.0.1:1/v2?key=secret"})


async def page(_: web.Request) -> web.Response:
    """Answer with a page instead of JSON."""
    return web.Response(text="<html>Sign in</html>", content_type="text/html")


async def nothing(_: web.Request) -> web.Response:
    """Answer with an empty body."""
    return web.Response()


async def stream(request: web.Request) -> web.StreamResponse:
    """Answer with events that never end."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await asyncio.Event().wait()
    return response


async def huge(request: web.Request) -> web.StreamResponse:
    """Answer with more than is read."""
    return web.Response(body=b'"' + b"x" * MAX_BODY + b'"', content_type="application/json")


async def bomb(request: web.Request) -> web.StreamResponse:
    """Answer with little that unpacks to more than is read."""
    response = web.Response(body=b'"' + b"x" * MAX_BODY + b'"', content_type="application/json")
    response.enable_compression(web.ContentCoding.gzip)
    return response


async def half(request: web.Request) -> web.StreamResponse:
    """Break the connection in the middle of the body."""
    response = web.StreamResponse(headers={"Content-Length": "100", "Content-Type": "application/json"})
    await response.prepare(request)
    await response.write(b'{"reply": ')
    assert request.transport is not None
    request.transport.abort()
    return response


async def hang(_: web.Request) -> web.Response:
    """Never answer."""
    await asyncio.Event().wait()
    raise AssertionError


FAULTS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "error status": (failing, {}, r"/chat answered 503 Service Unavailable: 'database\\+x00 down x+…'$"),
    "redirect": (moved, {}, r"answered 307 .*redirects are not followed; it names http://127.0.0.1:1/v2\)$"),
    "no JSON": (page, {}, r"something that is no JSON: '<html>Sign in</html>'"),
    "empty body": (nothing, {}, r"no JSON: \(an empty body\)"),
    "stream": (stream, {}, r"stream of events; let it answer as one JSON value"),
    "too much": (huge, {}, r"more than 8388608 bytes: '\"xxx"),
    "too much, packed": (bomb, {}, r"more than 8388608 bytes: '\"xxx"),
    "reset in the body": (half, {}, r"gave no whole answer: "),
    "hang": (hang, {"seconds": 0.2}, r"has not answered within 0.2 s \(`seconds` bounds it\)"),
    "reply off the list": ({"out": []}, {"reply": "out.0"}, r"nowhere: at 'out' there is a list of 0"),
    "reply beyond a text": ({"out": "hi"}, {"reply": "out.text"}, r"nowhere: at 'out' there is 'hi'"),
    "reply of a wrong type": ({"reply": {"text": "hi"}}, {}, r"to a mapping \{'text': 'hi'\}; it must lead to a text"),
    "null reply": ({"reply": None}, {}, r"`reply: reply` leads to null; it must lead to a text"),
    "blank reply": ({"reply": " \n"}, {}, r"which says nothing"),
    "no mapping": ([[1]], {}, r"at the top there is a list of 1"),
    "whole answer no text": ({"a": 1}, {"reply": ""}, r"`reply` is the whole answer and leads to a mapping"),
    "calls no list": ({"reply": "hi", "calls": {}}, {"calls": "calls"}, r"leads to a mapping \{\}.* to a list"),
    "call no mapping": ({"reply": "hi", "calls": ["find"]}, {"calls": "calls"}, r"`call.name: name` leads nowhere"),
    "nameless call": ({"calls": [{"name": "", "arguments": {}}]}, {"calls": "calls"}, r"to the name of a tool"),
    "results and no text": (
        {"reply": "", "calls": [{"name": "find", "arguments": {}, "out": "x"}]},
        {"calls": "calls", "call": {"result": "out"}},
        r"which says nothing",
    ),
    "stop no bool": ({"reply": "hi", "stop": "no"}, {"stop": "stop"}, r"to the text 'no'; it must lead to true or fal"),
}


@each("fault", FAULTS)
async def test_a_fault_of_the_endpoint_is_the_agents(fault: str) -> None:
    """Status, body, keys found and what was meant stand in the error, shortened and safe to print."""
    answer, parts, says = FAULTS[fault]
    async with endpoint(answer) as there:
        with pytest.raises(AgentError, match=says) as caught:
            await agent_at(there.url, **parts).reply(turn("Hi"))

    assert len(there.bodies) == 1, "a request is never sent twice"
    assert len(str(caught.value)) < 700
    assert "\x1b" not in str(caught.value)
    assert "secret" not in str(caught.value)


CALL = {"name": "find", "arguments": {"id": "W1"}, "out": "x"}

MISSPELT: dict[str, tuple[Any, dict[str, Any], str]] = {
    "reply": (
        {"answer": {"txt": "hi"}},
        {"reply": "answer.text"},
        r"^agent.http.reply: 'answer.text' leads nowhere .* at 'answer' there is only the key 'txt' \(write `reply: a",
    ),
    "reply of another name": (
        {"thread": "t1", "output": "Hi there"},
        {},
        r"at the top there are the keys 'thread', 'output' \(write `reply: output`\)$",
    ),
    "reply in other case": ({"Reply": "hi"}, {}, r"only the key 'Reply' \(write `reply: Reply`\)$"),
    "reply a level deeper": ({"data": {"reply": "hi"}}, {}, r"write `reply: data.reply`"),
    "reply within a list": (
        {"messages": [{"content": "hi"}]},
        {"reply": "messages.content"},
        r"at 'messages' there is a list of 1 \(write `reply: messages.-1.content`\)$",
    ),
    "calls": ({"reply": "hi", "tool_call": []}, {"calls": "tool_calls"}, r"\(write `calls: tool_call`\)$"),
    "calls elsewhere": (
        {"reply": "hi", "trace": {"steps": [CALL]}},
        {"calls": "calls", "call": {"result": "out"}},
        r"write `calls: trace.steps`; where these are none of its calls: an answer without calls has an empty list at",
    ),
    "calls of other keys elsewhere": (
        {"reply": "hi", "steps": [{"tool": "find", "args": {}}]},
        {"calls": "calls"},
        r"write `calls: steps`",
    ),
    "name of a call": (
        {"reply": "hi", "calls": [{"tool": "find", "arguments": {}}]},
        {"calls": "calls"},
        r"^agent.http.call.name: 'name' leads nowhere in a call of the agent's answer: .* \(write `name: tool`\)$",
    ),
    "arguments of a call": (
        {"reply": "hi", "calls": [{"name": "find", "args": {}}]},
        {"calls": "calls"},
        r"'arguments' leads nowhere in a call .* are the keys 'name', 'args' \(write `arguments: args`\)$",
    ),
    "result of a call": (
        {"reply": "hi", "calls": [CALL]},
        {"calls": "calls", "call": {"result": "outt"}},
        r"write `result: out`",
    ),
    "stop": ({"reply": "hi", "isDone": True}, {"stop": "is_done"}, r"write `stop: isDone`"),
}


@each("misspelt", MISSPELT)
async def test_a_path_that_the_suite_misspells_is_the_suites_fault(misspelt: str) -> None:
    """Where another spelling leads to what the key is for, the error names it; nobody blames the agent."""
    answer, parts, says = MISSPELT[misspelt]
    async with endpoint(answer) as there:
        agent = agent_at(there.url, **parts)
        await agent.reply(turn("Hi", tools=(FIND,)))

    with pytest.raises(SuiteFaultError, match=says):
        agent.check_answers()


@each(
    ("answer", "parts", "says"),
    [
        ({"reply": "hi", "steps": [CALL]}, {"calls": "calls", "call": {"result": "out"}}, "write `calls: steps`"),
        ({"reply": "hi", "steps": [{"tool": "find", "args": {}}]}, {"calls": "calls"}, "write `calls: steps`"),
        (
            {"reply": "hi", "steps": [{"do": "find-it", "with": {}}]},
            {"calls": "x", "call": {"name": "do", "arguments": "with"}},
            "write `calls: steps`",
        ),
    ],
)
async def test_calls_elsewhere_are_seen_where_nobody_describes_tools(
    answer: Any, parts: dict[str, Any], says: str
) -> None:
    """What is written as the suite writes calls is one, and so is whatever names a tool that the suite names."""
    async with endpoint(answer) as there:
        agent = HttpAgent(HttpAgentSpec(url=there.url, **parts), context={}, connections=CONNECTIONS, names=("find",))
        await agent.reply(turn("Hi"))

    with pytest.raises(SuiteFaultError, match=says):
        agent.check_answers()


@each("answer", [{"sources": [{"name": "a.md", "arguments": {}}]}, {"messages": [{"role": "assistant", "meta": {}}]}])
async def test_what_is_no_call_is_none_where_nobody_describes_tools(answer: Any) -> None:
    """Neither a file nor a message is taken for a call."""
    async with endpoint({"reply": "hi", **answer}) as there:
        agent = agent_at(there.url, calls="calls")
        await agent.reply(turn("Hi"))
    agent.check_answers()


@each("answers", [[{"reply": "a"}, {"Reply": "b"}], [{"Reply": "b"}, {"reply": "a"}]])
async def test_an_agent_that_spells_its_answers_in_two_ways_is_to_blame_whatever_comes_first(answers: Any) -> None:
    """The path of the suite led somewhere, so it is right, and an answer without it is not."""

    async def converse(agent: HttpAgent) -> None:
        for _ in answers:
            await agent.reply(turn("Hi"))
        agent.check_answers()

    for _ in range(2):  # what another run heard changes nothing
        async with endpoint(answers) as there:
            with pytest.raises(AgentError, match="`reply: reply` leads nowhere"):
                await converse(agent_at(there.url))


async def test_a_path_is_looked_for_within_bounds() -> None:
    """An answer of megabytes takes no longer than it takes to read it."""
    wide = {f"a{n}": {f"b{m}": {f"c{i}": {"x": 1} for i in range(50)} for m in range(50)} for n in range(40)}
    flat = {f"key_{n}": n for n in range(100_000)}
    async with endpoint({"reply": "hi", "all": wide, **flat}) as there:
        agent = agent_at(there.url, calls="calls")
        started = process_time()
        await agent.reply(turn("Hi", tools=(FIND,)))
        agent.check_answers()

    assert process_time() - started < 2


REFUSALS: dict[int, str] = {
    422: r"agent.http.body: the endpoint does not take the request of the suite, .* 422 .*field required",
    400: "agent.http.body: .* answered 400",
    404: "agent.http.url: the endpoint does not take the address of the suite",
    405: "agent.http.url: ",
}


@each("status", REFUSALS)
async def test_a_request_that_was_never_taken_is_the_suites_fault(status: int) -> None:
    """Once the endpoint has taken one, or within a conversation, what it refuses is the agent's affair."""
    answers = []

    async def answer(_: web.Request) -> web.Response:
        return answers.pop(0)

    answers += [web.json_response({"detail": "field required"}, status=status)]
    async with endpoint(answer) as there:
        with pytest.raises(SuiteFaultError, match=REFUSALS[status]):
            await agent_at(there.url).reply(turn("Hi"))
        answers += [web.json_response({"reply": "hi"}), web.json_response({}, status=status)]
        agent = agent_at(there.url)
        await agent.reply(turn("Hi"))
        with pytest.raises(AgentError, match=f"answered {status}"):
            await agent.reply(turn("Hi"))


LACKING: dict[str, tuple[Any, dict[str, Any]]] = {
    "a number beside": ({"reply": "hi", "tool_calls_count": 3}, {"calls": "tool_calls"}),
    "other lists": ({"reply": "hi", "sources": [{"name": "a.md", "arguments": {}}]}, {"calls": "calls"}),
    "what waits for its user": ({"pending": [CALL]}, {"calls": "calls", "approvals": "pending"}),
    "calls that were planned": ({"reply": "hi", "plan": [CALL], "calls": []}, {"calls": "calls"}),
}


@each("lacking", LACKING)
async def test_an_answer_that_has_no_calls_made_none(lacking: str) -> None:
    """Neither another kind of value, nor a list of something else, nor what asks for approval are misplaced calls."""
    answer, parts = LACKING[lacking]
    async with endpoint(answer) as there:
        agent = agent_at(there.url, **parts)
        reply = await agent.reply(turn("Hi", tools=(FIND,)))

    assert not any(message.tool_calls for message in reply.messages)
    agent.check_answers()


async def test_a_path_that_has_led_somewhere_is_not_misspelt() -> None:
    """What an answer lacks then is the agent's affair."""
    answers = [{"reply": "hi", "calls": [CALL]}, {"reply": "hi", "steps": [CALL]}, {"Reply": "hi"}]
    async with endpoint(answers) as there:
        agent = agent_at(there.url, calls="calls", call={"result": "out"})
        replies = [await agent.reply(turn("Hi", tools=(FIND,))) for _ in range(2)]
        with pytest.raises(AgentError, match=r"`reply: reply` leads nowhere: .* \(did you mean 'Reply'\?\)"):
            await agent.reply(turn("Hi"))
        agent.check_answers()

    assert [len(reply.messages) for reply in replies] == [3, 1]


async def test_an_endpoint_that_is_not_there_is_asked_after() -> None:
    """A refused connection names the address without its query, which may hold a key."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://me:pass@127.0.0.1:{taken.getsockname()[1]}/chat?key=secret"
        says = r"^http://127.0.0.1:\d+/chat cannot be reached: .*\(is it running\?\)$"
        CONNECTIONS.known.reached.clear()
        with pytest.raises(EnvironmentFaultError, match=says):  # it was never there
            await agent_at(url).reply(turn("Hi"))
        CONNECTIONS.known.reached.add(url.replace("me:pass@", "").replace("chat?key=secret", ""))
        with pytest.raises(AgentError, match=says):  # it went away
            await agent_at(url).reply(turn("Hi"))


@pytest.mark.parametrize(
    ("status", "reset", "says"),
    [
        (401, "", r"/chat answered 401: 'xxx.*it has let nobody in so far"),
        (
            401,
            "POST /reset",
            r"agent.http.reset: POST /reset: http://127.0.0.1:\d+/reset answered 401 Unauthorized: 'xxx",
        ),
        (200, "POST /reset", r"agent.http.reset: POST /reset: answered with more than 8388608 bytes: 'xxx"),
    ],
)
async def test_a_refusal_and_a_reset_are_read_within_bounds(status: int, reset: str, says: str, tmp_path: Path) -> None:
    """A body that never ends is left as soon as it is too long."""

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status)
        await response.prepare(request)
        await response.write(b"x" * (MAX_BODY + 2**16))
        return await hang(request)

    connections = HttpConnections()
    async with endpoint(endless) as there:
        spec = HttpAgentSpec(url=there.url, reset=reset, seconds=5)
        world = endpoint_of_run(spec, root=tmp_path, gate=IsolationGate(tmp_path), connections=connections, values={})
        with pytest.raises(EnvironmentFaultError, match=says):
            async with world:
                await HttpAgent(spec, context={}, connections=connections).reply(turn("Hi"))
        await connections.close()


async def test_an_endpoint_without_a_valid_certificate_is_not_trusted() -> None:
    """Speaking TLS to an endpoint that does not is told apart from one that is not there."""
    async with endpoint({"reply": "hi"}) as there:
        CONNECTIONS.known.reached.clear()
        with pytest.raises(EnvironmentFaultError, match=r"cannot be trusted: SSL"):
            await agent_at(there.url.replace("http://", "https://")).reply(turn("Hi"))


async def test_a_cancelled_run_leaves_nothing_behind() -> None:
    """Cancelling a run that waits for its endpoint passes as what it is."""
    async with endpoint(hang) as there:
        waiting = asyncio.create_task(agent_at(there.url).reply(turn("Hi")))
        while not there.bodies:
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_a_session_that_fits_no_header_is_the_agents() -> None:
    """What the endpoint calls its session cannot add headers of its own."""
    async with endpoint({"reply": "hi", "session": "a\r\nX-Admin: 1"}) as there:
        agent = agent_at(there.url, headers={"X-Session": "$session"}, session="session")
        await agent.reply(turn("Hi"))
        with pytest.raises(AgentError, match="cannot be asked: ValueError: the header 'X-Session' holds"):
            await agent.reply(turn("Hi"))

    assert len(there.bodies) == 1


@each(
    ("parts", "context", "says"),
    [
        ({"url": "localhost:8000"}, {}, "'localhost:8000', which is no address; it must begin with http"),
        ({"url": "http://"}, {}, "and name a host"),
        ({"url": "http://host:port/chat"}, {}, "no address"),
        (
            {"headers": {"Authorization": "Bearer $context.token"}},
            {"tokn": "t"},
            r"'\$context.token': the context holds no 'token' there, but tokn \(did you mean 'tokn'\?\)",
        ),
        ({"body": {"user": "$context.user.id"}}, {}, r"holds no 'user' there, but nothing"),
        ({"headers": {"X-Name": "$context.name"}}, {"name": "a\r\nX-Admin: 1"}, "'X-Name' holds a character"),
    ],
)
def test_what_the_suite_states_wrongly_is_its_own_fault(
    parts: dict[str, Any], context: dict[str, Any], says: str
) -> None:
    """A request that cannot be made from the run's context is refused when the agent is built."""
    with pytest.raises(SuiteFaultError, match=says):
        HttpAgent(
            HttpAgentSpec(**{"url": "http://127.0.0.1/chat", **parts}), context=context, connections=HttpConnections()
        )
