"""What a simulated user meant with a turn: it knows, so nobody has to read it off the words."""

from typing import Any, Literal

from pytest_agentbench.core.base import Model

ActKind = Literal["request", "inform", "confirm", "condition", "decline", "withdraw", "ask", "close", "other"]
"""request: asks for something to be done. inform: gives facts. confirm: agrees. condition: agrees if something holds.
decline: says no. withdraw: takes back a request or a yes. ask: wants to know something. close: says goodbye."""


class Act(Model):
    """One thing that a turn did: `about` are the values it concerns, `facts` what it gave, by name."""

    kind: ActKind
    about: tuple[Any, ...] = ()
    facts: dict[str, Any] = {}
