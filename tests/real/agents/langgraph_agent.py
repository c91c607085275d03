"""A LangGraph agent that keeps its conversations in a checkpointer."""

from langchain_core.messages import AnyMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from orders import get_order

model = ChatOpenAI(model="loopback", max_retries=0).bind_tools([get_order])


async def think(state: MessagesState) -> dict[str, list[AnyMessage]]:
    """Let the model speak or call."""
    return {"messages": [await model.ainvoke(state["messages"])]}


builder = StateGraph(MessagesState)
builder.add_node("think", think)
builder.add_node("tools", ToolNode([get_order]))
builder.add_edge(START, "think")
builder.add_conditional_edges("think", tools_condition)
builder.add_edge("tools", "think")
graph = builder.compile(checkpointer=InMemorySaver())


async def close() -> None:
    """Give the connections back."""
    await model.bound.root_async_client.close()
