"""The 26 situations of tool-using conversations, and what each is labelled with and why.

A label is derived from four dimensions (TRACE §2.1 and appendix G). Eight of their twelve combinations are plausible;
others are refused. Superfluous, skipped and misread calls that nobody notices count as tool use gone wrong by the
agent, which is how the catalogue arrives at eight.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Literal, Self

from pydantic import model_validator

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.rubric import Label

ToolExecution = Literal["correct", "agent", "tool"]
"""correct; incorrect by the agent's misuse; incorrect by the tool."""

Behaviour = Literal["appropriate", "inappropriate"]
Satisfaction = Literal["satisfied", "dissatisfied"]

Bucket = Literal["easy", "hard", "dissatisfied-yet-appropriate"]
"""hard: satisfied yet NEG. dissatisfied-yet-appropriate: neither easy nor hard. easy: satisfaction tells the label."""

PLAUSIBLE: dict[tuple[ToolExecution, Behaviour, Satisfaction], Label] = {
    ("correct", "appropriate", "satisfied"): "POS",
    ("agent", "inappropriate", "satisfied"): "NEG",
    ("tool", "appropriate", "satisfied"): "NEG",
    ("tool", "inappropriate", "satisfied"): "NEG",
    ("correct", "inappropriate", "dissatisfied"): "NEG",
    ("agent", "inappropriate", "dissatisfied"): "NEG",
    ("tool", "appropriate", "dissatisfied"): "NEG",
    ("tool", "inappropriate", "dissatisfied"): "NEG",
}
"""The plausible combinations (TRACE §2.1) and the overall label of each: POS where all three are right.

That an appropriate agent with a dissatisfied user is NEG follows from table 3: a judge of satisfaction alone has a
recall of 1.00 on POS there, so no POS conversation has a dissatisfied user.
"""


class Situation(Model):
    """One situation; each `..._reason` says why its dimension has the value, `means` what decides an ambiguous one.

    It is played by `moves`, struck by `fault`; what the user `asks` for, if not the scenario's request, is cut short or
    will be refused; the user `closes` with a phrase. What it `holds` is checked.
    Refused where the combination is not plausible.
    """

    id: str
    tool: ToolExecution
    agent: Behaviour
    user: Satisfaction
    details: str
    tool_reason: str
    agent_reason: str
    user_reason: str
    means: str = ""
    moves: tuple[str, ...]
    closes: str = ""
    fault: str = ""
    asks: Literal["", "cut", "refused"] = ""
    holds: tuple[str, ...]

    @property
    def label(self) -> Label:
        """Whether the conversation is desirable overall."""
        return PLAUSIBLE[self.tool, self.agent, self.user]

    @property
    def agent_at_fault(self) -> bool:
        """Whether the agent is to blame: not where a tool failed and the agent did what could be done."""
        return self.agent == "inappropriate"

    @property
    def bucket(self) -> Bucket:
        """How far the user's satisfaction tells the label."""
        if self.user == "satisfied":
            return "easy" if self.label == "POS" else "hard"
        return "dissatisfied-yet-appropriate" if self.agent == "appropriate" else "easy"

    @property
    def reason(self) -> str:
        """Why it has its label."""
        return f"tools: {self.tool_reason}; agent: {self.agent_reason}; user: {self.user_reason}"

    @property
    def text(self) -> str:
        """It in words: what happens, and what of tools, agent and user."""
        lines = [
            self.details,
            f"Tools ({self.tool}): {self.tool_reason}.",
            f"Agent ({self.agent}): {self.agent_reason}.",
            f"User ({self.user}): {self.user_reason}.",
        ]
        return "\n".join([*lines, f"What decides: {self.means}"] if self.means else lines)

    @model_validator(mode="after")
    def _is_plausible(self) -> Self:
        if (self.tool, self.agent, self.user) not in PLAUSIBLE:
            raise ValueError(
                f"tool {self.tool!r}, agent {self.agent!r} and user {self.user!r} do not go together; "
                f"allowed: {', '.join('/'.join(one) for one in PLAUSIBLE)}"
            )
        return self


@cache
def _catalogue() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "situations.toml").read_text(encoding="utf-8"))


@cache
def situations() -> dict[str, Situation]:
    """Give the catalogue by id, in its order."""
    return {one["id"]: Situation.model_validate(one) for one in _catalogue()["situation"]}


def problems() -> dict[str, str]:
    """Give what speaks against a conversation that lacks what its situation `holds`."""
    return dict(_catalogue()["problems"])
