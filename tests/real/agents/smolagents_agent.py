"""Two agents of smolagents, one that calls tools and one that writes code; each remembers what it was told."""

import os

import orders
from smolagents import CodeAgent, LogLevel, OpenAIServerModel, ToolCallingAgent, tool

model = OpenAIServerModel(
    "loopback", api_base=os.environ["OPENAI_BASE_URL"], api_key="none", client_kwargs={"max_retries": 0}
)


@tool
def get_order(order_id: str) -> str:
    """Look an order up.

    Args:
        order_id: which order
    """
    return orders.get_order(order_id)


agent = ToolCallingAgent([get_order], model, max_steps=3, verbosity_level=LogLevel.OFF)
coder = CodeAgent([get_order], model, max_steps=3, verbosity_level=LogLevel.OFF)


async def close():
    """Give the connections back."""
    model.client.close()
