"""The model that the agents of real frameworks talk to: its answers follow from the request alone."""

import json
import re

from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, call, text

BROKEN = "W13"
"""The order for which the model writes arguments that are no JSON."""

_ORDER = re.compile(r"\bW\d+\b")


def model_server() -> ModelServer:
    """Give a server whose model looks an order up when the user's last text names one.

    Else it repeats all that it has been told, so that anything from another conversation would show.
    """
    return ModelServer(_answer)


def _answer(request: ModelRequest) -> Answer:
    told = [message["content"] for message in request.messages if message["role"] == "user"]
    order = _ORDER.search(request.last) if request.messages[-1]["role"] == "user" else None
    if order:
        arguments = json.dumps({"order_id": order.group()})
        return call("get_order", arguments[:-3] if order.group() == BROKEN else arguments)
    found = f"{request.last}. " if request.messages[-1]["role"] == "tool" else ""
    return text(f"{found}You told me: {' | '.join(told)}")
