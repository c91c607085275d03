"""The user over a real connection, with the test kit's model server as the model."""

import asyncio

from pytest_agentbench.core.conversation import Stop, UserTurn, View
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.models import Models
from pytest_agentbench.testing import ModelServer, call
from pytest_agentbench.users.llm.user import LlmUser

STATUS = ToolSpec(name="check_status", requestor="user")


def test_a_conversation_over_a_server() -> None:
    """The user opens, calls its tool, tells what it saw after one regeneration, and closes."""
    script = [
        "I have no network.",
        call("check_status"),
        "Let me know how can I help you",
        "It says no signal.",
        "###STOP###",
    ]

    async def converse(server: ModelServer) -> list[UserTurn]:
        models = Models(environ={"OPENAI_API_KEY": "none"})
        user = LlmUser(models.chat(ModelSpec(model="any", base_url=server.base_url), Caller(role="user")))
        messages: tuple[Message, ...] = ()
        replies: list[UserTurn] = []
        for heard in (None, "What does the status bar say?", None, "Thanks, I fixed it on our side."):
            if heard:
                messages = (*messages, Message(role="assistant", content=heard))
            said = await user.reply(View(goal="You have no network.", messages=messages, tools=(STATUS,)))
            replies.append(said)
            if said.message is not None:
                results = tuple(
                    Message(role="tool", content="no signal", tool_call_id=one.id, requestor="user")
                    for one in said.tool_calls
                )
                messages = (*messages, said.message, *results)
        await models.close()
        assert user.faults == []
        return replies

    with ModelServer(script) as server:
        opened, called, told, closed = asyncio.run(converse(server))

    assert opened == UserTurn(text="I have no network.")
    assert [one.name for one in called.tool_calls] == ["check_status"]
    assert told == UserTurn(text="It says no signal.")
    assert closed == UserTurn(stop=Stop(reason="done"))
    assert server.problems == []
    assert [request.tools for request in server.requests] == [["check_status"]] * 5
