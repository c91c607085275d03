"""A LangGraph agent: a model that looks orders up."""

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

ORDERS = {"W1": "shipped", "W2": "pending"}


@tool
def get_order(order_id: str) -> str:
    """Look an order up."""
    return f"Order {order_id} is {ORDERS[order_id]}."


model = ChatOpenAI(model="language-model").bind_tools([get_order])


async def think(state: MessagesState) -> dict:
    """Let the model speak or call."""
    return {"messages": [await model.ainvoke(state["messages"])]}


builder = StateGraph(MessagesState)
builder.add_node("think", think)
builder.add_node("tools", ToolNode([get_order]))
builder.add_edge(START, "think")
builder.add_conditional_edges("think", tools_condition)
builder.add_edge("tools", "think")
graph = builder.compile(checkpointer=InMemorySaver())
