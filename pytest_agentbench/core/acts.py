"""What a simulated user meant with a turn: it knows, so nobody has to read it off the words."""

from typing import Any, Literal, get_args

from pydantic import model_serializer, model_validator

from pytest_agentbench.core.base import Model

ActKind = Literal["request", "inform", "confirm", "condition", "decline", "withdraw", "ask", "close", "other"]
"""request: asks for something to be done. inform: gives facts. confirm: agrees. condition: agrees if something holds.
decline: says no. withdraw: takes back a request or a yes. ask: wants to know something. close: says goodbye."""

ACT_KINDS: tuple[ActKind, ...] = get_args(ActKind)


class Act(Model):
    """One thing that a turn did: `about` are the values it concerns, `facts` what it gave, by name."""

    kind: ActKind
    about: tuple[Any, ...] = ()
    facts: dict[str, Any] = {}


class Line(Model):
    """One line of a script as its file has it: a text, or `{confirm: text, about: value}`.

    `act` None means that the file does not say what the line means; `about` None, which values it concerns.
    """

    text: str
    act: ActKind | None = None
    about: tuple[Any, ...] | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_a_file(cls, written: Any) -> Any:
        if isinstance(written, str):
            return {"text": written}
        if not isinstance(written, dict) or "text" in written:
            return written
        about = written.get("about")
        several = about if isinstance(about, list | tuple) or about is None else (about,)
        acts = [(key, value) for key, value in written.items() if key != "about"]
        if len(acts) != 1:
            raise ValueError(f"a line has one act, found {[key for key, _ in acts]}")
        return {"act": acts[0][0], "text": acts[0][1], "about": several}

    @model_serializer
    def _as_in_a_file(self) -> str | dict[str, Any]:
        if self.act is None:
            return self.text
        return {self.act: self.text} if self.about is None else {self.act: self.text, "about": list(self.about)}
