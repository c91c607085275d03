"""Graphs whose checkpointer has no async methods: one whose nodes are sync, and one whose node is async."""

import sqlite3

from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph


def think(state):
    """Say how much was said."""
    return {"messages": [AIMessage(f"{len(state['messages'])} so far.")]}


async def think_async(state):
    """Say how much was said."""
    return think(state)


def graph_of(node):
    """Give a graph of one node, with a database of its own."""
    builder = StateGraph(MessagesState)
    builder.add_node("think", node)
    builder.add_edge(START, "think")
    return builder.compile(checkpointer=SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False)))


graph, async_graph = graph_of(think), graph_of(think_async)
