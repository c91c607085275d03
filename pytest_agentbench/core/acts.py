"""What a simulated user meant with a turn: it knows, so nobody has to read it off the words."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import model_serializer, model_validator

from pytest_agentbench.core.approvals import DECISIONS, DecisionKind, ScriptedDecision
from pytest_agentbench.core.base import Model

ActKind = Literal["request", "inform", "confirm", "condition", "decline", "withdraw", "ask", "close", "other"]

ACT_KINDS: tuple[ActKind, ...] = get_args(ActKind)

ACTS: Mapping[ActKind, str] = {
    "request": "asks for something to be done",
    "inform": "gives facts",
    "confirm": "agrees",
    "condition": "agrees if something holds",
    "decline": "says no",
    "withdraw": "takes back a request or a yes",
    "ask": "wants to know something",
    "close": "says goodbye",
    "other": "anything else",
}
"""What the user does with each act."""


class Act(Model):
    """One thing that a turn did: `about` are the values it concerns, `facts` what it gave, by name."""

    kind: ActKind
    about: tuple[Any, ...] = ()
    facts: dict[str, Any] = {}


class GoalItem(Model):
    """One thing that a simulated user wants, in its own words; `done` where it got it or was finally refused it."""

    text: str
    done: bool = False


DECIDED: dict[DecisionKind, ActKind] = {
    "approve": "confirm",
    "reject": "decline",
    "edit": "confirm",
    "respond": "inform",
}
"""What a decision about an approval means as an act."""


class Line(Model):
    """One line of a script as its file has it: a text, or `{confirm: text, about: value}`, or a decision.

    `act` None means that the file does not say what the line means; `about` None, which values it concerns. A line with
    a `decision`, `{approve: {tool: {argument: value}}, say: text}`, answers an approval and is never said otherwise.
    """

    text: str = ""
    act: ActKind | None = None
    about: tuple[Any, ...] | None = None
    decision: ScriptedDecision | None = None

    @property
    def words(self) -> str:
        """The words of the line; of a decision without any, what it decides."""
        return self.text if self.text or self.decision is None else self.decision.words

    @model_validator(mode="before")
    @classmethod
    def _of_a_file(cls, written: Any) -> Any:
        if isinstance(written, str):
            return {"text": written}
        if not isinstance(written, dict) or "text" in written or "decision" in written:
            return written
        if decided := [kind for kind in DECISIONS if kind in written]:
            return _decision_line(decided, written)
        about = written.get("about")
        several = about if isinstance(about, list | tuple) or about is None else (about,)
        acts = [(key, value) for key, value in written.items() if key != "about"]
        if len(acts) != 1:
            raise ValueError(f"a line has one act, found {[key for key, _ in acts]}")
        return {"act": acts[0][0], "text": acts[0][1], "about": several}

    @model_serializer
    def _as_in_a_file(self) -> str | dict[str, Any]:
        if self.decision is not None:
            about = {self.decision.tool: self.decision.arguments} if self.decision.arguments else self.decision.tool
            return {self.decision.kind: about, **({"say": self.text} if self.text else {})}
        if self.act is None:
            return self.text
        return {self.act: self.text} if self.about is None else {self.act: self.text, "about": list(self.about)}


def _decision_line(kinds: list[DecisionKind], written: dict[str, Any]) -> dict[str, Any]:
    if len(written.keys() - {"say"}) != 1:
        raise ValueError(f"a line has one decision, found {[key for key in written if key != 'say']}")
    given = written[kinds[0]]
    tool, arguments = (given, {}) if isinstance(given, str) else next(iter(given.items()))
    decision = {"kind": kinds[0], "tool": tool, "arguments": arguments or {}}
    return {"text": written.get("say", ""), "act": DECIDED[kinds[0]], "decision": decision}
