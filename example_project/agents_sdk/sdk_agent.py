"""An agent of the OpenAI Agents SDK: a model that looks orders up."""

from agents import Agent, function_tool

ORDERS = {"W1": "shipped", "W2": "pending"}


@function_tool
def get_order(order_id: str) -> str:
    """Look an order up."""
    return f"Order {order_id} is {ORDERS[order_id]}."


agent = Agent(name="desk", instructions="Look orders up. Be brief.", model="language-model", tools=[get_order])
