"""What one run may use of models, what that took, and what became of it, whatever the run's parties made of it."""

from collections import defaultdict
from contextlib import nullcontext
from dataclasses import replace

from pytest_agentbench.core.errors import (
    AgentBenchError,
    BudgetSpentError,
    KeyMissingError,
    NotRunError,
    ProviderError,
    SendError,
    SuiteFaultError,
)
from pytest_agentbench.core.model import ModelSpec, Usage
from pytest_agentbench.core.run import BUDGET
from pytest_agentbench.core.termination import Limits, Termination
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.chat import ChatModel
from pytest_agentbench.llm.prices import server_of
from pytest_agentbench.llm.turns import Paused
from pytest_agentbench.runs.access import SessionModels
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.session_name import SessionName
from pytest_agentbench.simulation.conversation import Closed, crashed


class RunModels:
    """The models of one run: its chats, its proxied agent, its budgets and recordings.

    `not_run` says why the run could not take place, `lacks_key` that a key was missing. `paused` stops the run's clock
    while a call waits its turn, `working` holds a slot while one is out.
    """

    def __init__(
        self, plan: RunPlan, models: SessionModels | None, *, paused: Paused, working: Paused = nullcontext
    ) -> None:
        self._plan = plan
        self._models = models
        self._paused = paused
        self._working = working
        self._chats: dict[str, list[ChatModel]] = defaultdict(list)
        self._watched: tuple[Usage, tuple[AgentBenchError, ...], SendError | None] | None = None
        self._is_proxied = False
        self.not_run: str | None = None
        self.lacks_key = False

    @property
    def usage(self) -> dict[str, Usage]:
        """What each role's model took so far."""
        own = {role: _sum([chat.usage for chat in chats]) for role, chats in self._chats.items()}
        return {**own, "agent": self._watched[0]} if self._watched else own

    @property
    def was_denied(self) -> bool:
        """Whether a server did not let in one of our roles, which it would not the next time either."""
        return any(chat.was_denied for chats in self._chats.values() for chat in chats)

    def begin(self, limits: Limits, session: SessionName | None = None) -> None:
        """Begin the run with its budgets; raise `NotRunError` where the session's is spent already."""
        if self._models is None:
            return
        if refused := self._models.refused:
            raise BudgetSpentError(refused, scope="session")
        self._models.begin(self._plan, limits, session)

    def stop(self, error: NotRunError) -> None:
        """Note why the run could not take place."""
        self.lacks_key = isinstance(error, KeyMissingError)
        self.not_run = f"{BUDGET}: {error}" if isinstance(error, BudgetSpentError) else str(error)

    def finished(self) -> None:
        """Say that the run was played and judged to its end."""
        if self._models is not None and self.not_run is None:
            self._models.finished(self._plan)

    def chat(self, role: str, spec: ModelSpec) -> ChatModel:
        """Give a role its model; raise `SuiteFaultError` where none can be reached."""
        if self._models is None:
            raise SuiteFaultError(f"the {role} needs a model, which only a session with suites gives")
        spec = self._plan.extensions.priced(spec, server_of(spec))
        caller = Caller(role=role, run=self._plan.key)
        chat = self._models.chat(spec, caller, paused=self._paused, working=self._working)
        self._chats[role].append(chat)
        return chat

    async def base_url(self, default: str | None) -> str | None:
        """Give the base URL that the agent's factory is to use instead of `default`, so that its calls are seen."""
        if self._models is None:
            return None
        self._is_proxied = True
        spec, caller = self._plan.suite.agent, Caller(role="agent", run=self._plan.key)
        upstream = spec.upstream or default or ""
        return await self._models.proxied(caller, upstream=upstream, price=spec.price, paused=self._paused)

    def overrule(self, closed: Closed, seconds: float) -> Closed:
        """Judge a closed conversation by what became of model calls, whatever its parties made of it.

        Of the run's `seconds` a provider may leave half to one call before it is held responsible for the lost time.
        """
        if closed.termination is Termination.SAFETY_TIMEOUT and closed.blame in {Blame.AGENT, Blame.USER}:
            waited = self._waited()
            if waited >= seconds / 2:
                reason = f"{closed.reason}; a model server had not answered for {waited:.0f} s"
                closed = replace(closed, reason=reason, blame=Blame.PROVIDER)
        if self._models is None or not self._is_proxied:
            return closed
        self._watched = _, faults, failure = self._models.left(self._plan.key)
        for fault in faults:
            if isinstance(fault, BudgetSpentError) and fault.scope == "run":
                reason = str(fault)
                return replace(closed, termination=Termination.SAFETY_TIMEOUT, reason=reason, blame=Blame.AGENT)
            if isinstance(fault, NotRunError):
                self.stop(fault)
            if isinstance(fault, ProviderError):
                return crashed(fault, Blame.PROVIDER)
        if failure is not None and closed.termination is Termination.CRASHED and closed.blame is Blame.AGENT:
            return replace(closed, reason=f"{closed.reason} (its model server: {failure})", blame=Blame.PROVIDER)
        return closed

    def _waited(self) -> float:
        """Give the seconds for which a call in flight, of whatever party, has had no answer."""
        waited = max((chat.unanswered for chats in self._chats.values() for chat in chats), default=0.0)
        if self._models is None or not self._is_proxied:
            return waited
        return max(waited, self._models.unanswered(self._plan.key))


def _sum(usages: list[Usage]) -> Usage:
    return usages[0] if len(usages) == 1 else sum(usages, Usage())
