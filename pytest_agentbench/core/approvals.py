"""Approvals: what an agent asks its user to decide before it goes on, and what the user decided."""

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.json_values import JsonValue, leaves, same, to_json

DecisionKind = Literal["approve", "reject", "edit", "respond"]
"""approve: make the call. reject: do not. edit: make it with other arguments. respond: answer in its place."""

DECISIONS: tuple[DecisionKind, ...] = get_args(DecisionKind)

Standing = Literal["approve", "reject"]
"""What a user decides about every approval that nothing else decides."""


class ApprovalRequest(Model):
    """A call that waits for its user: `id` is the agent's name for it, `text` what the agent says about it.

    `allowed` are the decisions that the agent can take. A question (`is_question`) is answered by whatever the user
    says next; `tool` then names who asks.
    """

    id: str = ""
    tool: str
    arguments: dict[str, Any] = {}
    text: str = ""
    allowed: tuple[DecisionKind, ...] = DECISIONS
    is_question: bool = False

    @property
    def call(self) -> str:
        """The call as it is put to the user."""
        shown = (f"{name}={json.dumps(to_json(value), ensure_ascii=False)}" for name, value in self.arguments.items())
        return f"{self.tool}({', '.join(shown)})"

    @property
    def asked(self) -> str:
        """What the user is asked, in words."""
        if self.is_question:
            return self.text or self.call
        return "\n".join(part for part in (self.text.strip(), f"Do you approve {self.call}?") if part)


class Decision(Model):
    """What a user decided about the request `id`: `arguments` are those that the call is to be made with.

    `text` is what the user said with it, or in its place.
    """

    kind: DecisionKind
    id: str = ""
    tool: str
    arguments: dict[str, Any] = {}
    text: str = ""

    @property
    def runs(self) -> bool:
        """Whether the call is made."""
        return self.kind in ("approve", "edit")


class ScriptedDecision(Model):
    """What a line of a script decides: every request of `tool` with at least these `arguments`, or those to change."""

    kind: DecisionKind
    tool: str
    arguments: dict[str, Any] = {}

    def fits(self, request: ApprovalRequest) -> bool:
        """Whether the line is about a request."""
        if self.tool != request.tool:
            return False
        return self.kind == "edit" or has_arguments(request.arguments, self.arguments)

    @property
    def words(self) -> str:
        """The line in words, for who cannot say it as it stands."""
        return f"{self.kind} {ApprovalRequest(tool=self.tool, arguments=self.arguments).call}"


def has_arguments(given: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether `given` holds every argument of `wanted` with an equal value."""
    return all(name in given and same(to_json(given[name]), to_json(value)) for name, value in wanted.items())


def values_of(arguments: Mapping[str, Any]) -> tuple[JsonValue, ...]:
    """Give the plain values in the arguments of a call, each once."""
    found: dict[str, JsonValue] = {}
    for value in leaves(to_json(dict(arguments))):
        found.setdefault(repr(value), value)
    return tuple(found.values())
