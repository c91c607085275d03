"""The seams of model access: what posts a request, what remembers answers, what holds the money."""

from collections.abc import Sequence
from typing import Any, Protocol

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.model import ModelSpec, Usage
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.llm.reply import ChatReply


class Caller(Model):
    """What calls are counted, budgeted and replayed under; `run` None is work that belongs to no run.

    `role` is `agent`, `user`, `judge`, …
    """

    role: str
    run: RunKey | None = None

    def __str__(self) -> str:
        return f"{self.run or 'session'}/{self.role}"


class Transport(Protocol):
    """Posts chat completions to one server. One per server and session, shared by all runs."""

    async def send(self, body: dict[str, Any]) -> dict[str, Any]:
        """Post `body` once and give the decoded JSON object; raise `SendError` for anything else. Never retries."""

    async def models(self) -> tuple[str, ...]:
        """Give the names of the models that the server lists, () where it lists none; never raise for a server."""

    async def close(self) -> None:
        """Close connections; closing twice is fine."""


class Recorded(Model):
    """An answer taken from a cassette: the object as the server gave it, redacted."""

    response: dict[str, Any]


class Recorder(Protocol):
    """Remembers answers. Requests and answers are JSON objects as posted to and received from `api`."""

    def find(self, caller: Caller, body: dict[str, Any], api: str = "chat") -> Recorded | None:
        """Give what was recorded for the next request like `body` of this caller, or None: it must be asked live.

        Raise `CassetteMissError` where nothing may be asked live.
        """

    def keep(self, caller: Caller, body: dict[str, Any], response: dict[str, Any], api: str = "chat") -> None:
        """Remember the answer to a request for which `find` gave None."""

    def note(self, model: str, facts: Sequence[str]) -> None:
        """Remember with the recordings what was learnt of a model's server."""


class Reservation(Model):
    """Money and a call set aside before sending; `cost_usd` None means that its price is unknown."""

    id: int
    cost_usd: float | None


class Budget(Protocol):
    """The money and the calls of a session and of each run, shared by all processes."""

    def bounds(self, caller: Caller) -> bool:
        """Whether a call of this caller needs its worst case to be known: nothing bounds it otherwise."""

    def reserve(self, caller: Caller, cost_usd: float | None) -> Reservation:
        """Set aside one call and its worst case; raise `BudgetSpentError` where a budget does not hold it."""

    def settle(self, reservation: Reservation, cost_usd: float | None) -> None:
        """Replace what was set aside by what it cost; None keeps the worst case as the price."""

    def release(self, reservation: Reservation) -> None:
        """Give back what was set aside for a call that was never answered."""


class Chat(Protocol):
    """A model as one role of one run uses it: cassette, budget, limits and retries included."""

    spec: ModelSpec

    @property
    def usage(self) -> Usage:
        """What the role's calls took so far."""

    async def complete(
        self,
        messages: Sequence[dict[str, Any]],
        *,
        tools: Sequence[dict[str, Any]] = (),
        tool_choice: str | dict[str, Any] | None = None,
        response_format: dict[str, Any] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> ChatReply:
        """Ask once; what is None is as the role's spec says.

        Raise `ProviderError` where no usable answer comes, `NotRunError` where the call may not be made.
        """
