"""Who plays the roles of a run, what of a model they may use, and what that took."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.conversation import UserFault
from pytest_agentbench.core.errors import (
    AgentBenchError,
    BudgetSpentError,
    NotRunError,
    ProviderError,
    SendError,
    SuiteFaultError,
)
from pytest_agentbench.core.model import ModelSpec, Usage
from pytest_agentbench.core.run import BUDGET
from pytest_agentbench.core.seams import User
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import UserSpec
from pytest_agentbench.core.termination import Limits, Termination
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.chat import Paused
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.runs.access import SessionModels
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.simulation.conversation import Closed, crashed
from pytest_agentbench.users.modifiers.behaviour import Behaviour
from pytest_agentbench.users.scripted import ScriptedUser


class Cast:
    """The parties of one run, as far as models play them; `not_run` says why the run could not take place."""

    def __init__(self, plan: RunPlan, models: SessionModels | None, *, seed: int, paused: Paused) -> None:
        self._plan = plan
        self._models = models
        self._seed = int(digest([seed, plan.key.scenario, plan.key.trial]), 16)
        self._paused = paused
        self._chats: dict[str, list[Chat]] = defaultdict(list)
        self._behaviours: tuple[Behaviour, ...] = ()
        self._unfit: dict[str, str] = {}
        self._faults: list[UserFault] = []
        self._watched: tuple[Usage, tuple[AgentBenchError, ...], SendError | None] | None = None
        self._is_proxied = False
        self.not_run: str | None = None

    @property
    def usage(self) -> dict[str, Usage]:
        """What each role's model took so far."""
        own = {role: sum((chat.usage for chat in chats), Usage()) for role, chats in self._chats.items()}
        return {**own, "agent": self._watched[0]} if self._watched else own

    def begin(self, limits: Limits) -> None:
        """Begin the run with its budgets; raise `NotRunError` where the session's is spent already."""
        if self._models is None:
            return
        if refused := self._models.refused:
            raise BudgetSpentError(refused, scope="session")
        self._models.begin(self._plan, limits)

    def stop(self, error: NotRunError) -> None:
        """Note why the run could not take place."""
        self.not_run = f"{BUDGET}: {error}" if isinstance(error, BudgetSpentError) else str(error)

    def finished(self) -> None:
        """Say that the run was played and judged to its end."""
        if self._models is not None and self.not_run is None:
            self._models.finished(self._plan)

    def chat(self, role: str, spec: ModelSpec) -> Chat:
        """Give a role its model; raise `SuiteFaultError` where none can be reached."""
        if self._models is None:
            raise SuiteFaultError(f"the {role} needs a model, which only a session with suites gives")
        chat = self._models.chat(spec, Caller(role=role, run=self._plan.key), paused=self._paused)
        self._chats[role].append(chat)
        return chat

    async def base_url(self, default: str | None) -> str | None:
        """Give the base URL that the agent's factory is to use instead of `default`, so that its calls are seen."""
        if self._models is None:
            return None
        self._is_proxied = True
        spec, caller = self._plan.suite.agent, Caller(role="agent", run=self._plan.key)
        return await self._models.proxied(caller, upstream=spec.upstream or default or "", price=spec.price)

    def overrule(self, closed: Closed) -> Closed:
        """Judge a closed conversation by what became of the agent's own model calls, whatever the agent made of it."""
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

    def user(self, state: State | None, tools: Toolset) -> User:
        """Give the simulated user, with the modifiers that fit the scenario and its initial state."""
        spec, scenario = self._plan.suite.user, self._plan.scenario
        if spec.model is None:
            return ScriptedUser()
        # a session with scripted users needs neither of these
        from pytest_agentbench.users.llm.user import LlmUser  # noqa: PLC0415
        from pytest_agentbench.users.modifiers.plan import plan as plan_behaviours  # noqa: PLC0415

        asked = spec.modifiers if scenario.modifiers is None else scenario.modifiers
        self._behaviours, self._unfit = plan_behaviours(
            asked, scenario, state, seed=self._seed, tools=tools.of("assistant")
        )
        user = LlmUser(self.chat("user", spec.model), behaviours=self._behaviours)
        self._faults = user.faults
        return user

    def seen_of_user(self, transcript: Transcript) -> dict[str, Any]:
        """Give what a closed run says of its simulated user: faults, modifiers in force, and those that did not fit."""
        if not (self._faults or self._behaviours or self._unfit):
            return {}
        from pytest_agentbench.users.modifiers.shown import shown  # noqa: PLC0415 - as above

        scenario = self._plan.scenario
        return {
            "user_faults": tuple(self._faults),
            "behaviours": {one.name: shown(one, transcript, scenario) for one in self._behaviours},
            "unfit": self._unfit,
        }


def player_of(spec: UserSpec) -> str:
    """Name who plays the user: the script, or the model."""
    return f"llm:{spec.model.model}" if spec.model else spec.kind
