"""Agents of frameworks that read a context, which whoever runs them gives."""

from dataclasses import dataclass
from typing import Any, TypedDict


@dataclass
class Customer:
    """Whom an agent serves."""

    customer: str
    tier: int = 1


class CustomerDict(TypedDict):
    """The same as a mapping."""

    customer: str


class Clerk:
    """Whoever is at a desk."""


@dataclass
class Desk:
    """What no suite file can hold."""

    shop: str
    owner: Clerk
    customer: str = ""


ORDERS: dict[str, Any] = {"W1": {"total": 3}}


def make_context(state: Any, session_id: str, customer: str) -> Customer:
    """Make the context of a run."""
    assert session_id
    return Customer(customer=f"{customer} of {state['shop']}")


def openai_agents(*, typed: bool, by_key: bool = False, instructed: bool = False, orders: bool = False) -> Any:
    """Give an agent of the OpenAI Agents SDK whose tool, or instructions, read the context."""
    from agents import Agent, OpenAIChatCompletionsModel, RunContextWrapper, function_tool
    from openai import AsyncOpenAI

    @function_tool
    def whoami(ctx: RunContextWrapper[Any]) -> str:
        """Tell who the customer is."""
        if orders:
            return str(ORDERS["W9"])
        return str(ctx.context["customer"] if by_key else ctx.context.customer)

    def instructions(ctx: RunContextWrapper[Any], agent: Any) -> str:
        return f"Serve {ctx.context.customer}."

    kind = Agent[Customer] if typed else Agent
    return kind(
        name="desk",
        instructions=instructions if instructed else "Be brief.",
        model=OpenAIChatCompletionsModel(model="loopback", openai_client=AsyncOpenAI(max_retries=0)),
        tools=[whoami],
    )


def pydantic_ai(*, deps_type: Any, orders: bool = False) -> Any:
    """Give a pydantic-ai agent whose tool reads its deps."""
    from pydantic_ai import Agent, RunContext
    from pydantic_ai.models.openai import OpenAIChatModel

    options = {} if deps_type is None else {"deps_type": deps_type}
    agent: Any = Agent(OpenAIChatModel("loopback"), **options)

    @agent.tool
    def whoami(ctx: RunContext[Any]) -> str:
        """Tell who the customer is."""
        if orders:
            return str(ORDERS.get("W9")["total"])
        return str(ctx.deps["customer"] if isinstance(ctx.deps, dict) else ctx.deps.customer)

    return agent


def langgraph(*, schema: Any = None, orders: bool = False) -> Any:
    """Give a graph that reads its context, or its configurable values where it has no schema."""
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.runtime import Runtime

    def of_context(state: MessagesState, runtime: Runtime[Any]) -> Any:
        context = runtime.context
        return {"messages": [AIMessage(context["customer"] if isinstance(context, dict) else context.customer)]}

    def of_config(state: MessagesState, config: RunnableConfig) -> Any:
        return {"messages": [AIMessage(ORDERS["W9"] if orders else config["configurable"]["customer"])]}

    builder = StateGraph(MessagesState, context_schema=schema)
    builder.add_node("think", of_config if schema is None else of_context)
    builder.add_edge(START, "think")
    return builder.compile(checkpointer=InMemorySaver())


def adk(*, instructed: bool = False, orders: bool = False) -> Any:
    """Give an agent of Google ADK whose tool, or instruction, reads the session's state."""
    import os

    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    from google.adk.agents import Agent
    from google.adk.models.lite_llm import LiteLlm
    from google.adk.tools import ToolContext

    def whoami(tool_context: ToolContext) -> str:
        """Tell who the customer is."""
        return str(ORDERS["W9"] if orders else tool_context.state["customer"])

    model = LiteLlm("openai/loopback", api_base=os.environ["OPENAI_BASE_URL"], api_key="none", num_retries=0)
    instruction = "Serve {customer}." if instructed else "Be brief."
    return Agent(name="desk", model=model, instruction=instruction, tools=[whoami])
