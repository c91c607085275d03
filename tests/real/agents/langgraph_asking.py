"""A LangGraph agent that asks a person before its tool does anything."""

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt
from langgraph_agent import think


def get_order(order_id: str) -> str:
    """Look an order up."""
    said = interrupt(f"May I look {order_id} up?")
    return f"Order {order_id} is shipped ({said})"


builder = StateGraph(MessagesState)
builder.add_node("think", think)
builder.add_node("tools", ToolNode([get_order]))
builder.add_edge(START, "think")
builder.add_conditional_edges("think", tools_condition)
builder.add_edge("tools", "think")
graph = builder.compile(checkpointer=InMemorySaver())
