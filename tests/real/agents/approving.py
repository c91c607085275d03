"""Factories of agents that ask their user before they refund, each in the way of its framework."""

import os
from pathlib import Path
from typing import Any


def refund(order_id: str, amount: float) -> str:
    """Give money back."""
    with Path("refunds.log").open("a") as log:
        log.write(f"{order_id} {amount:g}\n")
    return f"Refunded {amount:g} for {order_id}."


def build_openai_agents() -> Any:
    """Give an agent of the OpenAI Agents SDK whose tool needs approval."""
    from agents import Agent, OpenAIChatCompletionsModel, function_tool
    from openai import AsyncOpenAI

    model = OpenAIChatCompletionsModel(model="loopback", openai_client=AsyncOpenAI(max_retries=0))
    return Agent(name="desk", model=model, tools=[function_tool(refund, needs_approval=True)])


def build_pydantic_ai() -> Any:
    """Give a pydantic-ai agent whose tool requires approval."""
    from pydantic_ai import Agent, DeferredToolRequests, Tool
    from pydantic_ai.models.openai import OpenAIChatModel

    tool = Tool(refund, requires_approval=True)
    return Agent(OpenAIChatModel("loopback"), tools=[tool], output_type=[str, DeferredToolRequests])


def build_middleware() -> Any:
    """Give a LangChain agent under review, one interrupt for a turn of its model."""
    return _under_review("batched")


def build_middleware_per_call() -> Any:
    """Give a LangChain agent under review, one interrupt for each call."""
    return _under_review("per_call")


def _under_review(mode: str) -> Any:
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.memory import InMemorySaver

    reviewed: dict[str, Any] = {"refund": True, "ask_user": {"allowed_decisions": ["respond"]}}
    middleware = HumanInTheLoopMiddleware(interrupt_on=reviewed, interrupt_mode=mode)
    model = ChatOpenAI(model="loopback", max_retries=0)
    return create_agent(model, [refund, ask_user], middleware=[middleware], checkpointer=InMemorySaver())


def ask_user(question: str) -> str:
    """Ask the user."""
    raise AssertionError("a person answers in its place")


def build_inbox() -> Any:
    """Give a graph that asks by the agent inbox's form."""
    from langgraph.types import interrupt

    def reviewed(order_id: str, amount: float) -> str:
        """Give money back."""
        action = {"action": "refund", "args": {"order_id": order_id, "amount": amount}}
        allowed = {"allow_accept": True, "allow_edit": True, "allow_ignore": True, "allow_respond": False}
        [answer] = interrupt([{"action_request": action, "config": allowed}])
        if answer["type"] == "ignore":
            return "The user said no."
        return refund(**(answer["args"]["args"] if answer["type"] == "edit" else action["args"]))

    reviewed.__name__ = "refund"
    return _graph(reviewed)


def build_interrupt() -> Any:
    """Give a graph whose tool asks by an interrupt of its own form."""
    from langgraph.types import interrupt

    def asking(order_id: str, amount: float) -> str:
        """Give money back."""
        is_fine = interrupt({"what": "refund", "order": order_id, "euros": amount})
        return refund(order_id, amount) if is_fine else "The user said no."

    asking.__name__ = "refund"
    return _graph(asking)


def build_static() -> Any:
    """Give a graph that stops before it runs its tool."""
    return _graph(refund, interrupt_before=["tools"])


def build_static_after() -> Any:
    """Give a graph that stops after its model spoke."""
    return _graph(refund, interrupt_after=["think"])


def _graph(tool: Any, **stops: Any) -> Any:
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    model = ChatOpenAI(model="loopback", max_retries=0).bind_tools([tool])

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    builder.add_node("tools", ToolNode([tool]))
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", tools_condition)
    builder.add_edge("tools", "think")
    return builder.compile(checkpointer=InMemorySaver(), **stops)


def build_adk() -> Any:
    """Give an agent of Google ADK whose tool requires confirmation, and one that asks for a number."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

    from google.adk.agents import Agent
    from google.adk.models.lite_llm import LiteLlm
    from google.adk.tools import FunctionTool

    base = os.environ["OPENAI_BASE_URL"]
    model = LiteLlm("openai/loopback", api_base=base, api_key="none", num_retries=0)
    return Agent(name="desk", model=model, tools=[FunctionTool(refund, require_confirmation=True)])
