"""Who plays the roles of a run: simulated user, auditor, judges, critic."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from random import Random
from typing import Any, cast

from pytest_agentbench.checks.auditor.findings import unaudited
from pytest_agentbench.checks.judges.ending import EndCritic
from pytest_agentbench.checks.judges.with_models import Auditing, judge_with_models, needs_model, without_models
from pytest_agentbench.checks.parts import LET_ANSWER
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.conversation import UserFault
from pytest_agentbench.core.errors import NotRunError
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.rubric import Rubric
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.seams import User
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import JudgeSpec, Suite, UserSpec
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.core.verdict import Finding
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.environment.runner import Runner
from pytest_agentbench.llm.turns import Paused
from pytest_agentbench.runs.access import SessionModels
from pytest_agentbench.runs.auditing import auditing, is_part
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.run_models import RunModels
from pytest_agentbench.runs.tau2 import with_assertions
from pytest_agentbench.simulation.conversation import Objection
from pytest_agentbench.suites.known_info import known_values
from pytest_agentbench.suites.language import language_of
from pytest_agentbench.users.modifiers.applying import Behaviour
from pytest_agentbench.users.scripted import ScriptedUser
from pytest_agentbench.users.values import wants_of

_NOBODY = "no model judges this session"
_OFF = "the suite says `auditor: off`"
_NOT_OFF = "give the policy a `rule`, or write `auditor: flags`"


class Cast(RunModels):
    """The parties of one run, as far as models play them."""

    def __init__(
        self, plan: RunPlan, models: SessionModels | None, *, seed: int, paused: Paused, working: Paused = nullcontext
    ) -> None:
        super().__init__(plan, models, paused=paused, working=working)
        self._seed = int(digest([seed, plan.key.scenario, plan.key.trial]), 16)
        self._behaviours: tuple[Behaviour, ...] = ()
        self._unfit: dict[str, str] = {}
        self._faults: list[UserFault] = []
        self._critics: tuple[EndCritic, ...] = ()

    @property
    def rubric(self) -> Rubric | None:
        """The rubric that the run is judged by."""
        own = self._plan.scenario.rubric
        return self._plan.suite.rubric if own is None else own

    @property
    def has_judge(self) -> bool:
        """Whether a model judges this run."""
        return self._models is not None and self._models.judges and self._plan.suite.judge is not None

    async def judged(self, run: Run, judgement: Judgement, runner: Runner) -> Judgement:
        """Have models judge what code could not: what the auditor is asked about, and the rubric."""
        judgement = await self._judged(run, judgement, runner)
        if not self._critics:
            return judgement
        notes = [_ending_unknown(fault) for critic in self._critics for fault in critic.faults[:1]]
        resumed = float(sum(critic.resumed for critic in self._critics))
        unchecked = {"endings_unchecked": float(len(notes))} if notes else {}
        return judgement.model_copy(
            update={
                "findings": (*judgement.findings, *notes),
                "metrics": {**judgement.metrics, "resumed": resumed, **unchecked},
            }
        )

    async def _judged(self, run: Run, judgement: Judgement, runner: Runner) -> Judgement:
        plan, suite = self._plan, self._plan.suite
        policies = [policy for policy in run.policies if policy.rule is None] if suite.judge is not None else []
        judge = suite.judge if self._models is not None and self._models.judges else None
        try:
            if judge is not None and self.not_run is None:
                judgement = await self._asserted(run, judgement, judge)
            auditor = auditing(run, judgement, plan)
            if self.not_run is not None or not (policies or self.rubric or auditor):
                return judgement
            if suite.auditor == "off" and policies:
                judgement, policies = unaudited(run, judgement, why=_OFF, cure=_NOT_OFF, policies=policies), []
            if self._models is None or not self._models.judges or (judge is None and needs_model(self.rubric, ())):
                return without_models(
                    run,
                    judgement,
                    why=_NOBODY,
                    cure="" if suite.judge is None else LET_ANSWER,
                    rubric=self.rubric,
                    policies=policies,
                    audits=is_part(suite),
                )
            return await self._judged_by(run, judgement, policies, auditor, runner)
        except NotRunError as error:
            self.stop(error)
            return judgement

    async def _judged_by(
        self,
        run: Run,
        judgement: Judgement,
        policies: Sequence[Policy],
        auditor: Auditing | None,
        runner: Runner,
    ) -> Judgement:
        suite, root = self._plan.suite, self._plan.suite.root
        judge, state = suite.judge, suite.environment.state
        return await judge_with_models(
            run,
            judgement,
            chat_for=lambda role: self.chat(role, cast("JudgeSpec", judge).model),
            random=self._random("judge"),
            auditor=auditor,
            audits=is_part(suite),
            rubric=self.rubric,
            policies=policies,
            system=self._plan.system,
            votes=judge.votes if judge else 1,
            sees=judge.sees if judge else "goal",
            notes=judge is not None and judge.notes,
            ignore=state.ignore if state else (),
            resolve=lambda path: cast("Callable[[Run], object]", load_object(path, root)),
            resolve_value=lambda path: cast("Callable[[JsonValue], object]", load_object(path, root)),
            run_sync=runner,
        )

    async def _asserted(self, run: Run, judgement: Judgement, judge: JudgeSpec) -> Judgement:
        """Have the judge answer a τ² task's sentences."""
        return await with_assertions(
            run,
            self._plan,
            judgement,
            chat_for=lambda: self.chat("judge", judge.model),
            random=self._random("assertions"),
            system=self._plan.system,
        )

    def objection(self, initial: State | None, snapshot: Callable[[], Awaitable[State | None]]) -> Objection | None:
        """Give the critic of endings, for a user that a model plays where the suite says `critique`."""
        judge, most = self._plan.suite.judge, self._plan.suite.user.critique
        if judge is None or not most or self._models is None or not self._models.judges:
            return None
        random, system = self._random("ending"), self._plan.system
        critic = EndCritic(self.chat("critique", judge.model), random=random, most=most, system=system)
        self._critics = (critic,)

        async def told(transcript: Transcript, reason: str) -> str | None:
            now = await snapshot()
            changes = (initial, now) if initial is not None and now is not None else None
            return await critic.feedback(transcript, reason, changes=changes)

        return told

    def _random(self, purpose: str) -> Random:
        return Random(f"{self._seed} {purpose}")  # noqa: S311 - nonces are part of what recordings are compared by

    def user(self, state: State | None, tools: Toolset) -> User:
        """Give the simulated user, with the modifiers that fit the scenario and its initial state."""
        spec, scenario = self._plan.suite.user, self._plan.scenario
        if spec.model is None:
            why = "the user is scripted; `user: llm` applies modifiers"
            self._unfit = {one.name: why for one in scenario.modifiers or ()}
            suite = self._plan.suite
            language = language_of(scenario.language or suite.language, suite.root)
            return ScriptedUser(
                scenario.says,
                wants=wants_of(scenario, tools),
                asks_for=scenario.communicate_info,
                known=known_values(scenario, tools),
                expected=[one for way in scenario.ways for one in way.expected_calls if one.requestor == "assistant"],
                language=language,
            )
        # a session with scripted users needs neither of these
        from pytest_agentbench.users.llm.user import LlmUser  # noqa: PLC0415
        from pytest_agentbench.users.modifiers.plan import plan as plan_behaviours  # noqa: PLC0415

        asked = spec.modifiers if scenario.modifiers is None else scenario.modifiers
        self._behaviours, self._unfit = plan_behaviours(
            asked, scenario, state, seed=self._seed, tools=tools.of("assistant")
        )
        user = LlmUser(
            self.chat("user", spec.model),
            behaviours=self._behaviours,
            language=scenario.language or "",
            wants=[one.value for one in wants_of(scenario, tools)],
        )
        self._faults = user.faults
        return user

    def seen_of_user(self, transcript: Transcript) -> dict[str, Any]:
        """Give what a closed run says of its simulated user: faults, modifiers in force, and those that did not fit."""
        by_model = {"model_user": True} if self._plan.suite.user.model is not None else {}
        if not (self._faults or self._behaviours or self._unfit):
            return by_model
        from pytest_agentbench.users.modifiers.shown import shown  # noqa: PLC0415 - as above

        scenario = self._plan.scenario
        return {
            **by_model,
            "user_faults": tuple(self._faults),
            "behaviours": {one.label: shown(one, transcript, scenario) for one in self._behaviours},
            "unfit": self._unfit,
        }


def _ending_unknown(fault: str) -> Finding:
    """Say that nobody could tell whether a conversation was over; it ended, and is judged as it stands."""
    message = f"not measured: whether the conversation was over: {printable(shorten(fault, 300))}"
    cure = "run it again when the judge's model answers"
    return Finding(check="ending", kind="user", passed=None, message=message, cure=cure, required=False)


def judges_of(suite: Suite) -> dict[str, str]:
    """Name the model that judges, if there is one."""
    return {"judge": f"llm:{suite.judge.model.model}"} if suite.judge else {}


def parties_of(suite: Suite) -> dict[str, str]:
    """Name who plays and judges beside the agent, and who executes tools that are not executed here."""
    environment = suite.environment
    servers = {part.kind for part in environment.providers if part.remote}
    tools = {"tools": "+".join(sorted(servers))} if servers else {}
    return {"user": player_of(suite.user), **judges_of(suite), **tools}


def player_of(spec: UserSpec) -> str:
    """Name who plays the user: the script, or the model."""
    return f"llm:{spec.model.model}" if spec.model else spec.kind
