"""An agent behind FastAPI."""

import re

from fastapi import FastAPI
from pydantic import BaseModel

ORDERS = {"W1": "shipped", "W2": "pending"}

app = FastAPI()


class Message(BaseModel):
    """What the user says, and in which conversation."""

    message: str
    session_id: str


@app.post("/chat")
async def chat(said: Message) -> dict[str, str]:
    """Answer with the status of the order that is named, or ask which one."""
    order = re.search(r"W\d+", said.message)
    if order is None:
        return {"reply": "Which order do you mean?"}
    return {"reply": f"Order {order[0]} is {ORDERS.get(order[0], 'unknown')}."}
