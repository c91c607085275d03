"""What an agent returned as the `Reply` that it is taken for."""

from collections.abc import Sequence

from pytest_agentbench.agents.replies import read, settle
from pytest_agentbench.core.conversation import Reply, Turn
from pytest_agentbench.core.transcript import Message


def to_reply(returned: object, turn: Turn | None = None, *, earlier: Sequence[Message] = (), number: int = 1) -> Reply:
    """Read and settle what an agent returned; `earlier` and `number` are those of `settle`."""
    return settle(read(returned), turn or Turn(), earlier=earlier, number=number)
