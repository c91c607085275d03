"""A chat model as the agent, on the scripted model server."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.conversation import Turn
from pytest_agentbench.core.errors import KeyMissingError
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.testing import ModelRequest, ModelServer, call, calls, fault, refusal, text, truncated
from tests.agents.chatting import Chatted, Chatting


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """Serve a model whose script each test gives."""
    with ModelServer() as serving:
        yield serving


def hold(server: ModelServer, root: Path, script: Any, *says: str, **spec: Any) -> Chatted:
    """Hold one conversation with a chat agent that follows `script`."""
    server.play(script)

    async def conversing() -> Chatted:
        chatting = Chatting(root, server.base_url)
        try:
            return await chatting.hold(chatting.agent(**spec), *(says or ("Where is W1?",)))
        finally:
            await chatting.models.close()

    return asyncio.run(conversing())


def test_the_model_gets_prompt_conversation_and_tools(server: ModelServer, tmp_path: Path) -> None:
    """Each request holds the system prompt, all that was said and called so far, and the environment's tools."""
    script = [call("find", id="W1"), text("It is shipped."), text("Bye.")]

    held = hold(server, tmp_path, script, "Where is W1?", "Thanks", system="Be kind.", temperature=0.5)

    first, second, third = server.requests
    assert held.closed.termination is Termination.FINISHED
    assert first.messages == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Where is W1?"},
    ]
    assert (first.tools, first.body["temperature"]) == (["find"], 0.5)
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "tool"]
    assert second.messages[2]["tool_calls"][0]["function"] == {"name": "find", "arguments": '{"id":"W1"}'}
    assert second.messages[3]["tool_call_id"] == second.messages[2]["tool_calls"][0]["id"]
    assert second.last == "W1 is shipped"
    assert [message["role"] for message in third.messages][-2:] == ["assistant", "user"]
    assert [record.call.arguments for record in held.transcript.trajectory] == [{"id": "W1"}]


def test_several_calls_keep_their_order_and_the_text_beside_them(server: ModelServer, tmp_path: Path) -> None:
    """All calls of one message are made in turn, and the text that came with them stays."""
    both = calls(call("find", id="W2"), call("find", id="W1"), content="Let me look.")

    held = hold(server, tmp_path, [both, text("Both are shipped.")])

    asking = held.transcript.messages[1]
    assert (asking.text, [c.arguments["id"] for c in asking.tool_calls]) == ("Let me look.", ["W2", "W1"])
    assert [r.result.content for r in held.transcript.trajectory if r.result] == ["W2 is shipped", "W1 is shipped"]


FINISHED, CRASHED = Termination.FINISHED, Termination.CRASHED

FAULTS: dict[str, tuple[Any, dict[str, Any], Termination, Blame | None, str]] = {
    "429, then fine": ([fault.status(429), text("Hello.")], {}, FINISHED, None, ""),
    "429 with Retry-After, then fine": ([fault.status(429, retry_after=3), text("Hello.")], {}, FINISHED, None, ""),
    "429 for ever": (lambda _: fault.status(429), {}, CRASHED, Blame.PROVIDER, "429"),
    "500, then fine": ([fault.status(500), text("Hello.")], {}, FINISHED, None, ""),
    "500 for ever": (lambda _: fault.status(500), {}, CRASHED, Blame.PROVIDER, "500"),
    "400": ([fault.status(400, "no such model")], {}, CRASHED, Blame.PROVIDER, "no such model"),
    "hang": (lambda _: fault.hang(), {"seconds": 0.1}, CRASHED, Blame.PROVIDER, "did not answer within 0.1 s"),
    "reset in the body": (lambda _: fault.reset(), {}, CRASHED, Blame.PROVIDER, "broke the connection off"),
    "malformed JSON": (lambda _: fault.malformed(), {}, CRASHED, Blame.PROVIDER, "not JSON"),
    "no completion": (lambda _: fault.raw("[]"), {}, CRASHED, Blame.PROVIDER, "array"),
    "no choices": (lambda _: fault.no_choices(), {}, CRASHED, Blame.PROVIDER, "no choices"),
    "10 MB": ([fault.big(10)], {}, FINISHED, None, ""),
    "lone surrogates": ([call("find", id="\ud83d"), text("It \udc00 is.")], {}, FINISHED, None, ""),
    "unknown tool": ([call("fnd", id="W1"), text("Sorry.")], {}, FINISHED, None, ""),
    "arguments no JSON": ([call("find", '{"id": "W'), text("Sorry.")], {}, FINISHED, None, ""),
    "arguments no object": ([call("find", '["W1"]'), text("Sorry.")], {}, FINISHED, None, ""),
    "arguments unknown": ([call("find", number="W1"), text("Sorry.")], {}, FINISHED, None, ""),
    "refusal": ([refusal("I cannot help with that.")], {}, FINISHED, None, ""),
    "truncated": ([truncated("It is on")], {}, FINISHED, None, ""),
    "empty": ([text("")], {}, CRASHED, Blame.AGENT, "'m' answered with neither text nor a tool call (finish_reason"),
    "blank": ([text(" \n ")], {}, CRASHED, Blame.AGENT, "neither text nor a tool call"),
    "truncated before a word": ([truncated("")], {}, CRASHED, Blame.PROVIDER, "raise `max_tokens`"),
    "calls without end": (
        lambda _: call("find", id="W1"),
        {"rounds": 3},
        CRASHED,
        Blame.AGENT,
        "the model 'm' asked for tools in 3 model calls of one turn and never answered the user (`rounds: 3`",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_has_its_blame(server: ModelServer, tmp_path: Path, name: str) -> None:
    """What the server does wrong is the provider's, what the model does wrong the agent's."""
    script, spec, termination, blame, says = FAULTS[name]

    held = hold(server, tmp_path, script, **spec)

    assert (held.closed.termination, held.closed.blame) == (termination, blame), held.closed
    assert says in (held.closed.error or "")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (call("fnd", id="W1"), "unknown tool 'fnd'. The tools are: find"),
        (call("find", '{"id": "W'), 'are not a JSON object: {"id": "W'),
        (call("find", '["W1"]'), "are not a JSON object"),
        (call("find", number="W1"), "number"),
    ],
)
def test_a_wrong_call_is_told_to_the_model(server: ModelServer, tmp_path: Path, wrong: Any, says: str) -> None:
    """The model sees the error of its call as the tool's answer, and may do better."""
    held = hold(server, tmp_path, [wrong, call("find", id="W1"), text("It is shipped.")])

    assert says in server.requests[1].last
    assert [record.failed for record in held.transcript.trajectory] == [True, False]
    assert held.closed.termination is Termination.FINISHED


def test_refusals_and_cut_texts_go_to_the_user(server: ModelServer, tmp_path: Path) -> None:
    """A refusal is what the agent says; a text that was cut off is kept, and the log says so."""
    refused = hold(server, tmp_path, [refusal("I cannot help with that.")])
    cut = hold(server, tmp_path, [truncated("It is on")])

    assert refused.transcript.messages[-1].text == "I cannot help with that."
    assert refused.log == []
    assert cut.transcript.messages[-1].text == "It is on"
    assert [message.cut_off for message in cut.transcript.messages] == [False, True]
    assert cut.log == ["an answer of the model 'm' was cut off at its token limit; it is kept as far as it goes"]


def test_lone_surrogates_survive_both_ways(server: ModelServer, tmp_path: Path) -> None:
    """What the model wrote comes back to it and into the transcript as it was."""
    held = hold(server, tmp_path, [call("find", id="\ud83d"), text("It \udc00 is.")])

    assert server.requests[1].last == "\ud83d is shipped"
    assert held.transcript.trajectory[0].call.arguments == {"id": "\ud83d"}
    assert held.transcript.messages[-1].text == "It \udc00 is."


def test_a_conversation_that_began_before_the_run_is_told_whole(server: ModelServer, tmp_path: Path) -> None:
    """Calls and results without ids, as files may hold them, get ids: servers refuse them otherwise."""
    server.play([text("Still shipped.")])
    history = (
        Message(role="user", content="Where is W1?"),
        Message(role="assistant", tool_calls=(ToolCall(name="find", arguments={"id": "W1"}),)),
        Message(role="tool", content="W1 is shipped"),
        Message(role="assistant", content="It is shipped."),
        Message(role="user", content="And now?"),
    )

    async def once() -> None:
        chatting = Chatting(tmp_path, server.base_url)
        await chatting.agent().reply(Turn(message="And now?", messages=history))
        await chatting.models.close()

    asyncio.run(once())

    sent = server.requests[0].messages
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"] != ""


def test_rounds_are_counted_per_turn(server: ModelServer, tmp_path: Path) -> None:
    """Two turns of two model calls each stay within two rounds."""
    script = [call("find", id="W1"), text("Shipped."), call("find", id="W2"), text("Shipped, too.")]

    held = hold(server, tmp_path, script, "Where is W1?", "And W2?", rounds=2)

    assert held.closed.termination is Termination.FINISHED


def test_sixty_four_runs_at_once_share_nothing(server: ModelServer, tmp_path: Path) -> None:
    """Each run hears of its own order alone, though all share connections and a loop."""

    def script(request: ModelRequest) -> Any:
        told = " ".join(message.get("content") or "" for message in request.messages)
        last = request.messages[-1]
        return call("find", id=last["content"]) if last["role"] == "user" else text(f"You told me: {told}")

    server.play(script)

    async def all_of_them() -> list[Chatted]:
        chatting = Chatting(tmp_path, server.base_url)
        names = [f"W{number}" for number in range(100, 164)]
        held = await asyncio.gather(*(chatting.hold(chatting.agent(name), name, name=name) for name in names))
        await chatting.models.close()
        return held

    said = [held.transcript.messages[-1].text for held in asyncio.run(all_of_them())]

    assert said == [f"You told me: W{number}  W{number} is shipped" for number in range(100, 164)]


def test_a_missing_key_is_no_fault_of_the_agent(tmp_path: Path) -> None:
    """The run does not take place, and says which variable is not set."""

    async def once() -> None:
        chatting = Chatting(tmp_path, "")
        await chatting.hold(chatting.agent(), "Where is W1?")

    with pytest.raises(KeyMissingError, match="OPENAI_API_KEY"):
        asyncio.run(once())


def test_an_empty_answer_is_not_asked_for_again(server: ModelServer, tmp_path: Path) -> None:
    """The agent is what is measured: its silence counts."""
    held = hold(server, tmp_path, [text(""), text("Hello.")])

    assert held.closed.blame is Blame.AGENT
    assert server.left == 1
