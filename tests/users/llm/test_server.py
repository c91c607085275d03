"""The user over a real connection, with the test kit's model server as the model."""

import asyncio
import json
from contextlib import suppress

from pytest_agentbench.core.acts import Act, GoalItem
from pytest_agentbench.core.conversation import Stop, UserTurn, View
from pytest_agentbench.core.errors import TokenLimitError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.testing import (
    Answer,
    Fault,
    ModelRequest,
    ModelServer,
    call,
    fault,
    refusal,
    structured,
    truncated,
)
from pytest_agentbench.users.llm.user import LlmUser
from tests.tables import each
from tests.users.llm.chat import turn

STATUS = ToolSpec(name="check_status", requestor="user")
OPEN = [{"item": "network", "done": False}]
DONE = [{"item": "network", "done": True}]


def test_a_conversation_over_a_server() -> None:
    """The user opens, calls its tool, tells what it saw after one regeneration, and closes."""
    script = [
        call("say", **json.loads(turn("no network since noon", "request", goal=OPEN))),
        call("check_status"),
        call("say", **json.loads(turn("it says SIM4711", "inform", goal=OPEN))),
        call("say", **json.loads(turn("it says no signal", "inform", goal=OPEN))),
        call("say", **json.loads(turn("", "close", goal=DONE, stop="done"))),
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

    assert (opened.text, opened.acts) == ("no network since noon", (Act(kind="request"),))
    assert [one.name for one in called.tool_calls] == ["check_status"]
    assert (told.text, told.goal_items) == ("it says no signal", (GoalItem(text="network"),))
    assert closed.stop == Stop(reason="done")
    assert server.problems == []
    assert [request.tools for request in server.requests] == [["check_status", "say"]] * 5


def test_a_user_without_tools_over_a_server() -> None:
    """It answers by the schema, or in prose after one repair."""
    script = [structured(json.loads(turn("lamp's broken", "request", goal=OPEN))), "Well?", "Well?"]

    async def converse(server: ModelServer) -> list[UserTurn]:
        models = Models(environ={"OPENAI_API_KEY": "none"})
        user = LlmUser(models.chat(ModelSpec(model="any", base_url=server.base_url), Caller(role="user")))
        opened = await user.reply(View(goal="Get a new lamp."))
        assert opened.message is not None
        heard = (opened.message, Message(role="assistant", content="Which lamp?"))
        replies = [opened, await user.reply(View(goal="Get a new lamp.", messages=heard))]
        await models.close()
        return replies

    with ModelServer(script) as server:
        opened, prose = asyncio.run(converse(server))

    assert (opened.text, opened.acts) == ("lamp's broken", (Act(kind="request"),))
    assert prose == UserTurn(text="Well?")
    assert [request.body["response_format"]["type"] for request in server.requests[:2]] == ["json_schema"] * 2


@each("answer", ["", turn(""), truncated("Well"), refusal("No.")])
def test_an_unusable_answer_of_a_server_that_refuses_forms_costs_few_requests(answer: Answer | str) -> None:
    """What it refused once is not asked for again, whatever its first answer is worth."""

    def answered(request: ModelRequest) -> Answer | Fault | str:
        form = next((name for name in ("response_format", "tools") if request.body.get(name)), None)
        return fault.refused(form) if form else answer

    async def converse(server: ModelServer) -> None:
        models = Models(environ={"OPENAI_API_KEY": "none"})
        user = LlmUser(models.chat(ModelSpec(model="any", base_url=server.base_url), Caller(role="user")))
        with suppress(TokenLimitError):
            await user.reply(View(goal="Get a new lamp."))
        await models.close()

    with ModelServer(answered) as server:
        asyncio.run(converse(server))

    assert len(server.requests) == 3 + 2
