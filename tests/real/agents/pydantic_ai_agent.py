"""A pydantic-ai agent; whoever runs it keeps the history."""

from orders import get_order
from pydantic_ai import Agent

agent = Agent("openai:loopback", tools=[get_order], instructions="Be brief.")


async def close() -> None:
    """Give the connections back."""
    await agent.model.client.close()
