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


def build_openai_agents(tools: list[Any]) -> Any:
    """Give an agent of the OpenAI Agents SDK."""
    from agents import Agent, OpenAIChatCompletionsModel, function_tool
    from openai import AsyncOpenAI

    model = OpenAIChatCompletionsModel(model="loopback", openai_client=AsyncOpenAI(max_retries=0))
    return Agent(name="desk", instructions="Be brief.", model=model, tools=[function_tool(one) for one in tools])


def build_smolagents(tools: list[Any]) -> Any:
    """Give an agent of smolagents, whose tools are classes: their source must be on disk."""
    import os

    from smolagents import LogLevel, OpenAIServerModel, Tool, ToolCallingAgent

    class Named(Tool):
        name = tools[0].__name__
        description = tools[0].__doc__ or ""
        inputs = {"order_id": {"type": "string", "description": "which order"}}
        output_type = "string"

        def forward(self, order_id: str) -> str:
            return str(tools[0](order_id=order_id))

    base = os.environ["OPENAI_BASE_URL"]
    model = OpenAIServerModel("loopback", api_base=base, api_key="none", client_kwargs={"max_retries": 0})
    return ToolCallingAgent([Named()], model, max_steps=3, verbosity_level=LogLevel.OFF)


def build_adk(tools: list[Any]) -> Any:
    """Give an agent of Google ADK."""
    import os

    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

    from google.adk.agents import Agent
    from google.adk.models.lite_llm import LiteLlm

    base = os.environ["OPENAI_BASE_URL"]
    model = LiteLlm("openai/loopback", api_base=base, api_key="none", num_retries=0)
    return Agent(name="desk", model=model, instruction="Be brief.", tools=list(tools))
