"""Factories that give agents of frameworks the environment's tools."""

from typing import Any


def build_langgraph(tools: list[Any]) -> Any:
    """Give a graph."""
    from langchain_openai import ChatOpenAI
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    model = ChatOpenAI(model="loopback", max_retries=0).bind_tools(tools)
    builder = StateGraph(MessagesState)
    builder.add_node("think", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", tools_condition)
    builder.add_edge("tools", "think")
    return builder.compile()


def build_pydantic_ai(tools: list[Any]) -> Any:
    """Give an agent."""
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel

    return Agent(OpenAIChatModel("loopback"), tools=tools)
