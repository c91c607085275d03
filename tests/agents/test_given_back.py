"""What a server adds to an answer goes back to it with the conversation, where tools were called."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.llm.completion import read_reply
from pytest_agentbench.testing import ModelServer, fault
from pytest_agentbench.users.llm.user import LlmUser
from tests.agents.chatting import Chatting
from tests.users.llm.chat import PlayedChat, saying

HELLO = Message(role="assistant", content="Is it on?")
SIGNED = {"google": {"thought_signature": "c2lnbmVk"}}


def completion(content: str | None, *, call: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Give a completion with one choice, whose server adds `more` to its message."""
    message: dict[str, Any] = {"role": "assistant", "content": content, **more}
    if call is not None:
        function = {"name": "find", "arguments": '{"id": "W1"}'}
        message["tool_calls"] = [{"id": "call_0", "type": "function", "function": function, **call}]
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


def asked(root: Path, *answers: dict[str, Any], says: tuple[str, ...] = ("Where is W1?", "Thanks")) -> list[Any]:
    """Hold a conversation in which the agent's model answers so; give the messages of its last request."""
    with ModelServer([fault.raw(json.dumps(answer)) for answer in answers]) as server:

        async def conversing() -> None:
            chatting = Chatting(root, server.base_url)
            try:
                await chatting.hold(chatting.agent(), *says)
            finally:
                await chatting.models.close()

        asyncio.run(conversing())
        return server.requests[-1].messages


def test_thoughts_and_signatures_of_a_turn_with_calls_go_back_for_good(tmp_path: Path) -> None:
    """Also those of its last words, and in all later turns; ids that a server gives twice mix nothing up."""
    messages = asked(
        tmp_path,
        completion("Hm.", call={"extra_content": SIGNED}, reasoning_content="First, W1."),
        completion(None, call={}, reasoning_content=""),
        completion("It is shipped.", reasoning_content="It was W1."),
        completion("Bye."),
    )

    first, second, last = (message for message in messages if message["role"] == "assistant")
    assert (first["reasoning_content"], second["reasoning_content"]) == ("First, W1.", "")
    assert first["tool_calls"][0]["extra_content"] == SIGNED
    assert "extra_content" not in second["tool_calls"][0]
    assert last == {"role": "assistant", "content": "It is shipped.", "reasoning_content": "It was W1."}


@pytest.mark.parametrize(
    "more",
    [
        {"reasoning_content": "It is W1."},
        {"refusal": None, "annotations": [], "prefix": False, "function_call": None},
        {"reasoning_content": "x" * 300_000},
    ],
    ids=["thoughts", "nothing", "too much"],
)
def test_what_nobody_wants_back_stays_here(tmp_path: Path, more: dict[str, Any]) -> None:
    """Thoughts of turns without calls, fields that say nothing, and what is too long: requests are as without them."""
    has_calls = "reasoning_content" not in more or len(more["reasoning_content"]) > 100
    looking = [completion(None, call={"index": 0}, **more)] if has_calls else []
    plain = [completion(None, call={})] if has_calls else []

    added = asked(tmp_path, *looking, completion("It is shipped.", **more), completion("Bye."))

    assert added == asked(tmp_path, *plain, completion("It is shipped."), completion("Bye."))


def test_a_user_with_tools_of_its_own_gives_back_as_well() -> None:
    """Its thoughts go to its own model alone."""
    calling = read_reply(completion(None, call={"extra_content": SIGNED}, reasoning_content="I look."), "m")
    chat = PlayedChat(calling, saying("It is on.", "inform"))
    user = LlmUser(chat)
    knows: dict[str, Any] = {"goal": "Light", "tools": (ToolSpec(name="find", description="Look."),)}

    turn = asyncio.run(user.reply(View(messages=(HELLO,), **knows)))
    made = Message(role="user", tool_calls=turn.tool_calls)
    seen = Message(role="tool", content="on", tool_call_id=turn.tool_calls[0].id, requestor="user")
    asyncio.run(user.reply(View(messages=(HELLO, made, seen), **knows)))

    [own] = [message for message in chat.asked[1] if message["role"] == "assistant"]
    assert (own["reasoning_content"], own["tool_calls"][0]["extra_content"]) == ("I look.", SIGNED)
