"""A project whose agent and user are models, played by a scripted server."""

import json
import re
from typing import Any

from pytest_agentbench.testing import Answer, ModelRequest, call, structured, text
from tests.plugin.project import TOOLS, Project

REACH = {"base_url": "", "price": {"input": 1000, "output": 1000}, "max_tokens": 100}
"""One dollar for a thousand tokens: dear enough to see."""


def said(request: ModelRequest) -> str:
    """Everything that was sent, as one text."""
    return json.dumps(request.messages)


def agent(request: ModelRequest) -> Answer:
    """Refund the order that the user names, say so, then say goodbye."""
    if request.messages[-1]["role"] == "tool":
        return text("It is refunded.")
    orders = [
        found[0]
        for message in request.messages
        if message["role"] == "user" and (found := re.search(r"W\d+", str(message["content"])))
    ]
    if orders and '"tool"' not in said(request):
        return call("refund", order_id=orders[-1])
    return text("You are welcome." if orders else "Which order is it?")


def user(request: ModelRequest) -> Answer:
    """Ask for the refund that the goal names, and leave when it is done."""
    order = re.search(r"order (W\d+)", said(request))
    assert order is not None
    if any(message["role"] == "assistant" for message in request.messages):
        return structured(turn("Thank you, bye.", "close", done=True, stop="done"))
    return structured(turn(f"I would like a refund of {order[1]}, please.", "request"))


def turn(text: str, *acts: str, done: bool = False, **fields: Any) -> dict[str, Any]:
    """Give a typed turn of a user that wants a refund."""
    return {
        "text": text,
        "acts": [{"kind": act, "facts": []} for act in acts],
        "goal": [{"item": "refund", "done": done}],
        "shows": [],
        "stop": None,
        "decision": None,
        **fields,
    }


SCRIPT = {"agent": agent, "user": user}


def models_suite(project: Project, base_url: str, *, count: int = 6, **keys: Any) -> None:
    """Write a suite of `count` refunds, `s1` on, in which both parties are models at `base_url`."""
    scenarios = [
        {
            "id": f"s{number}",
            "goal": f"Get order W{number} refunded.",
            "expect": [{"refund": {"order_id": f"W{number}"}}],
        }
        for number in range(1, count + 1)
    ]
    given: dict[str, Any] = {
        "agent": {"openai": {"model": "agent", "system": "You refund orders."}},
        "llm": {**REACH, "base_url": base_url},
        "user": {"llm": {"model": "user"}},
        **keys,
    }
    tools, chat = given.pop("tools", TOOLS), given.pop("agent")
    file = project.suite(*scenarios, tools=tools, orders=count + 1, **given)
    file.write_text(file.read_text().replace('"shop_agent:build"', json.dumps(chat)))
