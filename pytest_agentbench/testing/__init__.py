"""A test kit for users: a scripted model server to point an agent at.

with ModelServer([call("lookup", order_id="W1"), text("It is on its way.")]) as server:
    agent = MyAgent(base_url=server.base_url, api_key="none")
"""

from pytest_agentbench.testing import fault
from pytest_agentbench.testing.answers import Answer, call, calls, refusal, structured, text, truncated
from pytest_agentbench.testing.fault import Fault
from pytest_agentbench.testing.script import ModelRequest
from pytest_agentbench.testing.server import ModelServer

__all__ = [
    "Answer",
    "Fault",
    "ModelRequest",
    "ModelServer",
    "call",
    "calls",
    "fault",
    "refusal",
    "structured",
    "text",
    "truncated",
]
