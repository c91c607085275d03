"""The same desk in every framework on the model class that it takes by itself, where a user names no other."""

import os
from typing import Any

from orders import get_order


def langgraph() -> Any:
    """Give a graph of the prebuilt kind."""
    from langchain_openai import ChatOpenAI
    from langgraph.prebuilt import create_react_agent

    return create_react_agent(ChatOpenAI(model="loopback", max_retries=0), [get_order])


def pydantic_ai() -> Any:
    """Give an agent whose model is a name."""
    from pydantic_ai import Agent

    return Agent("openai:loopback", tools=[get_order])


def openai_agents() -> Any:
    """Give an agent whose model is a name."""
    from agents import Agent, function_tool

    return Agent(name="desk", instructions="Be brief.", model="loopback", tools=[function_tool(get_order)])


def smolagents() -> Any:
    """Give an agent that calls tools."""
    from smolagents import LogLevel, OpenAIModel, ToolCallingAgent, tool

    def find(order_id: str) -> str:
        """Look an order up.

        Args:
            order_id: which
        """
        return get_order(order_id)

    find.__name__ = "get_order"
    model = OpenAIModel("loopback", api_base=os.environ["OPENAI_BASE_URL"], client_kwargs={"max_retries": 0})
    return ToolCallingAgent([tool(find)], model, verbosity_level=LogLevel.OFF)


def adk() -> Any:
    """Give an agent whose model is a name."""
    from google.adk.agents import Agent

    return Agent(name="desk", model="gemini-flash-latest", instruction="Be brief.", tools=[get_order])
