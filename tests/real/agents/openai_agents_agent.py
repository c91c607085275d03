"""An agent of the OpenAI Agents SDK on Responses, which it asks by default."""

from agents import Agent, OpenAIResponsesModel, function_tool
from openai import AsyncOpenAI
from orders import get_order

client = AsyncOpenAI(max_retries=0)
agent = Agent(
    name="desk",
    instructions="Be brief.",
    model=OpenAIResponsesModel(model="loopback", openai_client=client),
    tools=[function_tool(get_order)],
)


async def close():
    """Give the connections back."""
    await client.close()
