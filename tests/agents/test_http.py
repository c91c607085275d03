"""Agents behind an HTTP endpoint: what is posted, what an answer means, and how sessions stay apart."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from pytest_agentbench.agents.http.agent import HttpAgent
from pytest_agentbench.agents.http.connections import HttpConnections
from pytest_agentbench.core.approvals import Decision
from pytest_agentbench.core.conversation import Turn
from pytest_agentbench.core.errors import AgentError
from pytest_agentbench.core.suite import HttpAgentSpec
from pytest_agentbench.core.tool import ToolCall, ToolSpec
from pytest_agentbench.core.transcript import Message
from tests.agents.http_endpoint import endpoint

FIND = ToolSpec(name="find", parameters={"type": "object", "properties": {"id": {"type": "string"}}})


# kept: what is collected with connections that are open warns, in whichever test that happens; they close with the loop
CONNECTIONS = HttpConnections()


def agent_at(url: str, *, context: dict[str, Any] | None = None, **parts: Any) -> HttpAgent:
    """Give an agent at an endpoint, with the connections of the test's loop."""
    return HttpAgent(HttpAgentSpec(url=url, **parts), context=context or {}, connections=CONNECTIONS)


def turn(message: str, **parts: Any) -> Turn:
    """Give a turn in which the user says `message`."""
    return Turn(message=message, messages=(Message(role="user", content=message),), session_id="s1", **parts)


async def test_the_default_body_holds_message_and_session_id() -> None:
    """Without a body of its own, an endpoint is told the text and the run, and answers under `reply`."""
    async with endpoint({"reply": "Hello."}) as there:
        reply = await agent_at(there.url).reply(turn("Hi"))

    assert there.bodies == [{"message": "Hi", "session_id": "s1"}]
    assert [message.text for message in reply.messages] == ["Hello."]
    assert not reply.stop


async def test_a_body_is_filled_with_values_and_texts() -> None:
    """A text that is one placeholder becomes the value; inside longer texts, values are put in as text."""
    body = {
        "input": [{"text": "$message"}],
        "history": "$messages",
        "tools": "$tools",
        "results": "$results",
        "session": "$session",
        "user": "$context.user",
        "note": "run $session_id of $context.user.id, $session, $$message costs 5$ in total",
        "fixed": 3,
    }
    context = {"user": {"id": 7}}
    async with endpoint({"reply": "Yes."}) as there:
        await agent_at(there.url, body=body, context=context).reply(turn("Hi", context=context, tools=(FIND,)))

    assert there.bodies == [
        {
            "input": [{"text": "Hi"}],
            "history": [{"role": "user", "content": "Hi"}],
            "tools": [FIND.openai()],
            "results": [],
            "session": None,
            "user": {"id": 7},
            "note": "run s1 of 7, , $message costs 5$ in total",
            "fixed": 3,
        }
    ]


async def test_headers_and_address_take_fields_of_the_context() -> None:
    """A token of the scenario's context goes into a header, an id into the address, percent-encoded there."""
    context = {"token": "t-1", "user": "a/b"}
    async with endpoint({"reply": "Yes."}) as there:
        headers = {"Authorization": "Bearer $context.token", "X-Run": "$session_id"}
        agent = agent_at(f"{there.url}/$context.user", headers=headers, context=context)
        await agent.reply(turn("Hi", context=context))

    assert there.headers[0]["Authorization"] == "Bearer t-1"
    assert there.headers[0]["X-Run"] == "s1"
    assert there.paths == ["/chat/a%2Fb"]


async def test_lone_surrogates_go_there_and_come_back() -> None:
    """A text that is no Unicode reaches the endpoint and the transcript as it is."""
    broken = "half \ud83d"

    async def echo(request: web.Request) -> web.Response:
        return web.json_response({"reply": (await request.json())["message"]})

    async with endpoint(echo) as there:
        reply = await agent_at(there.url).reply(turn(broken))

    assert there.bodies[0]["message"] == broken
    assert reply.messages[-1].text == broken


async def test_paths_lead_into_mappings_and_lists() -> None:
    """An OpenAI-shaped answer is read by dotted paths; `-1` is the last of a list."""
    answer = {"choices": [{"message": {"content": "first"}}, {"message": {"content": "last"}}]}
    async with endpoint(answer) as there:
        first = await agent_at(there.url, reply="choices.0.message.content").reply(turn("Hi"))
        last = await agent_at(there.url, reply="choices.-1.message.content").reply(turn("Hi"))

    assert (first.messages[0].text, last.messages[0].text) == ("first", "last")


async def test_an_empty_reply_path_takes_the_whole_answer() -> None:
    """An endpoint that answers with a JSON text, or with plain text, needs no path."""

    async def plain(_: web.Request) -> web.Response:
        return web.Response(text="Just text.")

    async def number(_: web.Request) -> web.Response:
        return web.Response(text="42")

    async with endpoint(["A JSON text.", plain, number]) as there:
        agent = agent_at(there.url, reply="")
        said = [(await agent.reply(turn("Hi"))).messages[0].text for _ in range(3)]

    assert said == ["A JSON text.", "Just text.", "42"]


async def test_calls_with_results_were_made_there() -> None:
    """Calls are read with their results and stand before the text; a failed one says so, ids are given."""
    answer = {
        "reply": "It is shipped.",
        "trace": [
            {"tool": {"name": "find", "args": '{"id": "W1"}'}, "out": {"status": "shipped"}, "key": "a"},
            {"tool": {"name": "refund", "args": {}}, "out": None, "failed": "not allowed"},
        ],
    }
    mapping = {"name": "tool.name", "arguments": "tool.args", "result": "out", "error": "failed", "id": "key"}
    async with endpoint(answer) as there:
        agent = agent_at(there.url, calls="trace", call=mapping)
        reply = await agent.reply(turn("Where is W1?"))

    calling, found, refused, spoken = reply.messages
    assert agent.calls_visible
    assert [(call.name, call.arguments, call.id) for call in calling.tool_calls] == [
        ("find", {"id": "W1"}, "a"),
        ("refund", {}, "call_1_1"),
    ]
    assert (found.text, found.error, found.tool_call_id) == ('{"status":"shipped"}', False, "a")
    assert (refused.text, refused.error, refused.tool_call_id) == ("not allowed", True, "call_1_1")
    assert spoken.text == "It is shipped."


async def test_calls_whose_results_are_never_told_are_still_calls() -> None:
    """An empty path for results says that the endpoint makes its calls and keeps what they gave."""
    answer = {"reply": "Done.", "calls": [{"name": "find", "arguments": {"id": "W1"}}]}
    async with endpoint(answer) as there:
        reply = await agent_at(there.url, calls="calls", call={"result": ""}).reply(turn("Hi"))

    assert [message.role for message in reply.messages] == ["assistant", "tool", "assistant"]


async def test_calls_without_results_are_made_here_and_answered() -> None:
    """Where no result is mapped, the conversation makes the calls, and the next request holds the results."""
    asks = {"reply": "One moment.", "calls": [{"id": "c1", "name": "find", "arguments": {"id": "W1"}}]}
    async with endpoint([asks, {"reply": "Shipped."}]) as there:
        body = {"text": "$message", "results": "$results"}
        agent = agent_at(there.url, calls="calls", body=body)
        asking = await agent.reply(turn("Where is W1?"))
        result = Message(role="tool", content="shipped", tool_call_id="c1")
        told = await agent.reply(Turn(results=(result,), session_id="s1"))

    assert asking.messages == (
        Message(
            role="assistant",
            content="One moment.",
            tool_calls=(ToolCall(id="c1", name="find", arguments={"id": "W1"}),),
        ),
    )
    assert there.bodies[1] == {"text": "", "results": [result.openai()]}
    assert told.messages[-1].text == "Shipped."


async def test_arguments_that_are_no_json_are_kept_as_written() -> None:
    """The tool, not the adapter, says what is wrong with them."""
    async with endpoint({"calls": [{"name": "find", "arguments": '{"id": "W'}]}) as there:
        reply = await agent_at(there.url, calls="calls").reply(turn("Hi"))

    assert reply.messages[0].tool_calls[0].raw == '{"id": "W'


async def test_an_answer_without_calls_or_stop_made_none() -> None:
    """Most endpoints leave out what is empty: that is noted once in the log, and is no error."""
    async with endpoint({"reply": "Hello.", "id": 1}) as there:
        agent = agent_at(there.url, calls="tool_calls", call={"result": "output"}, stop="done")
        for _ in range(2):
            reply = await agent.reply(turn("Hi"))

    assert len(reply.messages) == 1
    assert agent.log == [
        "the agent's `calls: tool_calls` leads nowhere: at the top there are the keys 'reply', 'id'",
        "the agent's `stop: done` leads nowhere: at the top there are the keys 'reply', 'id'",
    ]


async def test_the_session_that_the_endpoint_names_is_sent_back() -> None:
    """`$session` is null at first, then what the last answer named, whatever JSON it is."""
    answers = [{"reply": "1", "state": {"step": 1}}, {"reply": "2", "state": {"step": 2}}, {"reply": "3"}]
    async with endpoint([*answers, {"reply": "4"}]) as there:
        agent = agent_at(there.url, body={"message": "$message", "state": "$session"}, session="state")
        for _ in range(4):
            await agent.reply(turn("Hi"))

    assert [body["state"] for body in there.bodies] == [None, {"step": 1}, {"step": 2}, {"step": 2}]


async def test_a_path_to_the_session_that_leads_nowhere_is_an_error_of_the_first_answer() -> None:
    """Nothing would be sent back; later answers need not repeat what the first one named."""
    async with endpoint({"reply": "Hi", "conversation": {"number": 7}}) as there:
        with pytest.raises(AgentError, match=r"`session: talk\.id` leads nowhere: .*first answer must name it"):
            await agent_at(there.url, session="talk.id").reply(turn("Hi"))


async def test_an_endpoint_may_close_the_conversation() -> None:
    """A true `stop` closes, with or without a text."""
    async with endpoint([{"reply": "Bye.", "done": True}, {"done": True}]) as there:
        agent = agent_at(there.url, stop="done")
        replies = [await agent.reply(turn("Hi")) for _ in range(2)]

    assert [(reply.stop, len(reply.messages)) for reply in replies] == [(True, 1), (True, 0)]


async def test_cookies_stay_with_their_run_on_shared_connections() -> None:
    """Two interleaved runs over the same connections each send back their own cookie."""

    async def greet(request: web.Request) -> web.Response:
        known = request.cookies.get("who", "nobody")
        answer = web.json_response({"reply": f"You are {known}."})
        answer.set_cookie("who", (await request.json())["message"])
        return answer

    async with endpoint(greet) as there:
        connections = HttpConnections()
        spec = HttpAgentSpec(url=there.url)
        agents = [HttpAgent(spec, context={}, connections=connections) for _ in range(2)]
        said = [
            await asyncio.gather(*(agent.reply(turn(name)) for agent, name in zip(agents, ("ann", "bo"), strict=True)))
            for _ in range(2)
        ]
        await connections.close()

    assert [[reply.messages[0].text for reply in replies] for replies in said] == [
        ["You are nobody.", "You are nobody."],
        ["You are ann.", "You are bo."],
    ]


async def test_sixty_four_runs_share_connections_and_nothing_else() -> None:
    """What each run is told comes back to it alone, also when all of them post at once."""

    async def echo(request: web.Request) -> web.Response:
        body = await request.json()
        return web.json_response({"reply": body["message"], "state": body["message"], "seen": body["state"]})

    async with endpoint(echo) as there:
        connections = HttpConnections()
        body = {"message": "$message", "state": "$session"}
        spec = HttpAgentSpec(url=there.url, body=body, session="state")

        async def converse(number: int) -> list[str]:
            agent = HttpAgent(spec, context={}, connections=connections)
            return [(await agent.reply(turn(f"{number}.{n}"))).messages[0].text for n in range(3)]

        said = await asyncio.gather(*map(converse, range(64)))
        await connections.close()

    assert said == [[f"{number}.{n}" for n in range(3)] for number in range(64)]
    seen = {body["message"]: body["state"] for body in there.bodies}
    assert all(seen[f"{number}.2"] == f"{number}.1" for number in range(64))


async def test_one_connection_serves_turn_after_turn() -> None:
    """Connections are kept alive for the next run as well: ten turns of two runs need one."""
    ports = set()

    async def note(request: web.Request) -> web.Response:
        ports.add(request.transport.get_extra_info("peername")[1] if request.transport else 0)
        return web.json_response({"reply": "Yes."})

    async with endpoint(note) as there:
        connections = HttpConnections()
        for _ in range(2):
            agent = HttpAgent(HttpAgentSpec(url=there.url), context={}, connections=connections)
            for _ in range(5):
                await agent.reply(turn("Hi"))
        await connections.close()

    assert len(ports) == 1


async def test_user_and_password_of_an_address_are_sent_as_what_they_are() -> None:
    """They become basic authorization, which a header of the suite's own goes before."""
    async with endpoint({"reply": "Yes."}) as there:
        url = there.url.replace("//", "//ada:p%40ss@")
        await agent_at(url).reply(turn("Hi"))
        await agent_at(url, headers={"authorization": "Bearer t"}).reply(turn("Hi"))

    assert [headers["Authorization"] for headers in there.headers] == ["Basic YWRhOnBAc3M=", "Bearer t"]


def test_connections_outlive_no_loop() -> None:
    """The same connections serve one event loop after the other."""
    connections = HttpConnections()

    async def once() -> str:
        async with endpoint({"reply": "Hello."}) as there:
            agent = HttpAgent(HttpAgentSpec(url=there.url), context={}, connections=connections)
            return (await agent.reply(turn("Hi"))).messages[0].text

    assert [asyncio.run(once()) for _ in range(2)] == ["Hello.", "Hello."]


async def test_approvals_are_put_to_the_user_and_decisions_are_posted() -> None:
    """An answer may ask for approvals in place of a text, and the next body holds what was decided."""
    body = {"message": "$message", "decisions": "$decisions"}
    decision = Decision(kind="edit", id="7", tool="pay", arguments={"euros": 5}, text="But five")
    pending = [{"tool": "pay", "arguments": '{"euros": 9}', "id": 7}]
    async with endpoint([{"pending": pending}, {"reply": "Paid."}]) as there:
        agent = agent_at(there.url, body=body, approvals="pending")
        first = await agent.reply(turn("Pay"))
        await agent.reply(turn("But five", decisions=(decision,)))

    [asked] = first.messages
    assert asked.text == "Do you approve pay(euros=9)?"
    assert [(one.id, one.tool, one.arguments) for one in asked.approvals] == [("7", "pay", {"euros": 9})]
    assert there.bodies[1] == {"message": "But five", "decisions": [decision.model_dump()]}
