"""The LangGraph agent without a checkpointer: whoever invokes it keeps the messages."""

from langgraph_agent import builder

graph = builder.compile()
