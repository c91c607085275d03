"""Who plays the roles of a run (simulated user, auditor, judges, critic), by which models, and what that took."""

from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any, cast

from pytest_agentbench.checks.measurement import LET_ANSWER
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.conversation import Stop, UserFault
from pytest_agentbench.core.errors import (
    AgentBenchError,
    BudgetSpentError,
    KeyMissingError,
    NotRunError,
    ProviderError,
    SendError,
    SuiteFaultError,
)
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.model import ModelSpec, Usage
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.protocols import RunSync, User
from pytest_agentbench.core.rubric import Criterion, Rubric
from pytest_agentbench.core.run import BUDGET, Judgement, Run
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import JudgeSpec, Suite
from pytest_agentbench.core.termination import Limits, Termination
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.verdict import Blame, Finding
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.runs.access import SessionModels
from pytest_agentbench.runs.cassettes import SessionName
from pytest_agentbench.runs.forecast import auditing, is_part
from pytest_agentbench.runs.judgement import not_measured, own_states, with_metrics
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.simulation.conversation import Objection, crashed
from pytest_agentbench.suites.known_info import known_values
from pytest_agentbench.suites.language import language_of
from pytest_agentbench.users.knowledge import askable, leaves_open, required, telling, wants_of
from pytest_agentbench.users.scripted import ScriptedUser

if TYPE_CHECKING:  # few suites have a judge, or a user that a model plays
    from pytest_agentbench.checks.judges.ending import EndCritic
    from pytest_agentbench.checks.judges.model_judgement import Auditing
    from pytest_agentbench.llm.capabilities import Paused
    from pytest_agentbench.llm.chat import ChatModel
    from pytest_agentbench.llm.protocols import Chat
    from pytest_agentbench.users.modifiers.applying import Behaviour


class Roles:
    """The roles of one run, and its ways to models: chats, proxied agent, budgets and recordings.

    `not_run` says why the run could not take place, `lacks_key` that a key was missing. `paused` stops the run's clock
    while a call waits its turn, `working` holds a slot while one is out.
    """

    def __init__(
        self,
        plan: RunPlan,
        models: SessionModels | None,
        *,
        seed: int,
        paused: "Paused" = nullcontext,
        working: "Paused" = nullcontext,
    ) -> None:
        self._plan, self._suite = plan, plan.suite
        self._models = models
        self._paused = paused
        self._working = working
        self._session_seed = seed
        self._chats: dict[str, list[ChatModel]] = defaultdict(list)
        self._watched: tuple[Usage, tuple[AgentBenchError, ...], SendError | None] | None = None
        self._is_proxied = False
        self._behaviours: tuple[Behaviour, ...] = ()
        self._unfit: dict[str, str] = {}
        self._faults: list[list[UserFault]] = []
        self._critic: EndCritic | None = None
        self.not_run: str | None = None
        self.lacks_key = False

    @cached_property
    def _seed(self) -> int:
        """The seed of what models are asked in this run."""
        return int(digest([self._session_seed, self._plan.key.scenario, self._plan.key.trial]), 16)

    @property
    def usage(self) -> dict[str, Usage]:
        """What each role's model took so far."""
        own = {role: sum((chat.usage for chat in chats), Usage()) for role, chats in self._chats.items()}
        return {**own, "agent": self._watched[0]} if self._watched else own

    @property
    def was_denied(self) -> bool:
        """Whether a server did not let in one of our roles, which it would not the next time either."""
        return any(chat.was_denied for chats in self._chats.values() for chat in chats)

    @property
    def judge(self) -> JudgeSpec | None:
        """The suite's judge, where the session lets it be asked."""
        return self._suite.judge if self._models is not None and self._models.judges else None

    def begin(self, limits: Limits, session: SessionName | None = None) -> None:
        """Begin the run with its budgets; raise `NotRunError` where the session's is spent already."""
        if self._models is None:
            return
        if refused := self._models.budgets.refused:
            raise BudgetSpentError(refused, scope="session")
        self._models.recordings.begin(self._plan, session)
        self._models.budgets.begin(self._plan.key, limits)

    def stop(self, error: NotRunError) -> None:
        """Note why the run could not take place."""
        self.lacks_key = isinstance(error, KeyMissingError)
        self.not_run = f"{BUDGET}: {error}" if isinstance(error, BudgetSpentError) else str(error)

    def finished(self) -> None:
        """Say that the run was played and judged to its end."""
        if self._models is not None and self.not_run is None:
            self._models.recordings.finished(self._plan)

    def chat(self, role: str, spec: ModelSpec) -> "ChatModel":
        """Give a role its model; raise `SuiteFaultError` where none can be reached."""
        if self._models is None:
            raise SuiteFaultError(f"the {role} needs a model, which only a session with suites gives")
        from pytest_agentbench.llm.prices import server_of  # noqa: PLC0415 - few roles are played by a model

        spec = self._plan.extensions.priced(spec, server_of(spec))
        caller = Caller(role=role, run=self._plan.key)
        chat = self._models.models.chat(spec, caller, paused=self._paused, working=self._working)
        self._chats[role].append(chat)
        return chat

    async def base_url(self, default: str | None) -> str | None:
        """Give the base URL that the agent's factory is to use instead of `default`, so that its calls are seen."""
        if self._models is None:
            return None
        self._is_proxied = True
        spec, caller = self._suite.agent, Caller(role="agent", run=self._plan.key)
        upstream = spec.upstream or default or ""
        return await self._models.proxied(caller, upstream=upstream, price=spec.price, paused=self._paused)

    def overrule(self, closed: Stop, seconds: float) -> Stop:
        """Judge a closed conversation by what became of model calls, whatever its parties made of it.

        Of the run's `seconds` a provider may leave half to one call before it is held responsible for the lost time.
        """
        if closed.termination is Termination.SAFETY_TIMEOUT and closed.blame in {Blame.AGENT, Blame.USER}:
            waited = max((chat.unanswered for chats in self._chats.values() for chat in chats), default=0.0)
            if self._models is not None and self._is_proxied:
                waited = max(waited, self._models.unanswered(self._plan.key))
            if waited >= seconds / 2:
                reason = f"{closed.reason}; a model server had not answered for {waited:.0f} s"
                closed = closed.model_copy(update={"reason": reason, "blame": Blame.PROVIDER})
        if self._models is None or not self._is_proxied:
            return closed
        self._watched = _, faults, failure = self._models.left(self._plan.key)
        for fault in faults:
            if isinstance(fault, BudgetSpentError) and fault.scope == "run":
                spent = {"termination": Termination.SAFETY_TIMEOUT, "reason": str(fault), "blame": Blame.AGENT}
                return closed.model_copy(update=spent)
            if isinstance(fault, NotRunError):
                self.stop(fault)
            if isinstance(fault, ProviderError):
                return crashed(fault, Blame.PROVIDER)
        if failure is not None and closed.termination is Termination.CRASHED and closed.blame is Blame.AGENT:
            reason = f"{closed.reason} (its model server: {failure})"
            return closed.model_copy(update={"reason": reason, "blame": Blame.PROVIDER})
        return closed

    def user(self, state: State | None, tools: Toolset, session: int = 1) -> User:
        """Give the simulated user of a session, with the modifiers that fit the scenario and its initial state."""
        spec, scenario = self._suite.user, self._plan.scenario.session(session)
        wants = wants_of(scenario, tools)
        if spec.model is None:
            why = "the user is scripted; `user: llm` applies modifiers"
            self._unfit = {one.name: why for one in scenario.modifiers or ()}
            return ScriptedUser(
                scenario.says,
                wants=wants,
                askable=askable(tools),
                is_open=leaves_open(scenario, tools),
                required=required(scenario, tools),
                asks_for=scenario.communicate_info,
                known=known_values(scenario, tools),
                expected=[one for way in scenario.ways for one in way.expected_calls if one.requestor == "assistant"],
                language=language_of(scenario.language or self._suite.language, self._suite.root),
            )
        from pytest_agentbench.users.llm.user import LlmUser  # noqa: PLC0415 - scripted users need neither
        from pytest_agentbench.users.modifiers.plan import plan as plan_behaviours  # noqa: PLC0415 - the same

        asked = spec.modifiers if scenario.modifiers is None else scenario.modifiers
        self._behaviours, self._unfit = plan_behaviours(
            asked, scenario, state, seed=self._seed, tools=tools.of("assistant")
        )
        user = LlmUser(
            self.chat("user", spec.model),
            behaviours=self._behaviours,
            language=scenario.language or "",
            wants=[one.value for one in telling(wants)],
        )
        self._faults.append(user.faults)
        return user

    def seen_of_user(self, transcript: Transcript) -> dict[str, Any]:
        """Give what a closed run says of its simulated user: faults, modifiers in force, and those that did not fit."""
        by_model = {"model_user": True} if self._suite.user.model is not None else {}
        faults = tuple(fault for several in self._faults for fault in several)
        if not (faults or self._behaviours or self._unfit):
            return by_model
        from pytest_agentbench.users.modifiers.applying import shown  # noqa: PLC0415 - as above

        behaviours = {one.label: shown(one, transcript, self._plan.scenario) for one in self._behaviours}
        return {**by_model, "user_faults": faults, "behaviours": behaviours, "unfit": self._unfit}

    def objection(self, initial: State | None, snapshot: Callable[[], Awaitable[State | None]]) -> Objection | None:
        """Give the critic of endings, for a user that a model plays where the suite says `critique`."""
        most = self._suite.user.critique
        if self.judge is None or not most:
            return None
        from pytest_agentbench.checks.judges.ending import EndCritic  # noqa: PLC0415 - few suites have a judge

        chat, system = self.chat("critique", self.judge.model), self._plan.system
        critic = self._critic = EndCritic(chat, random=self._random("ending"), most=most, system=system)

        async def asked(transcript: Transcript, reason: str) -> str | None:
            now = await snapshot()
            changes = (initial, now) if initial is not None and now is not None else None
            return await critic.feedback(transcript, reason, changes=changes)

        return asked

    async def judged(self, run: Run, judgement: Judgement, runner: RunSync) -> Judgement:
        """Have models judge what code could not: what the auditor is asked about, the rubric, and endings."""
        try:
            judgement = await self._judged(run, judgement, runner)
        except NotRunError as error:
            self.stop(error)
        if self._critic is None:
            return judgement
        notes = [_ending_unknown(fault) for fault in self._critic.faults[:1]]
        metrics = {**judgement.metrics, "resumed": float(self._critic.resumed)}
        metrics |= {"endings_unchecked": float(len(notes))} if notes else {}
        return judgement.model_copy(update={"findings": (*judgement.findings, *notes), "metrics": metrics})

    async def _judged(self, run: Run, judgement: Judgement, runner: RunSync) -> Judgement:
        plan, suite, judge = self._plan, self._suite, self.judge
        policies = [policy for policy in run.policies if policy.rule is None] if suite.judge is not None else []
        if judge is not None and self.not_run is None:
            run, judgement = await with_answers(
                run,
                plan,
                judgement,
                chat_for=lambda: self.chat("judge", judge.model),
                random=self._random("assertions"),
                system=plan.system,
            )
        rubric = plan.rubric
        auditor = auditing(run, judgement, plan)
        if self.not_run is not None or not (policies or rubric or auditor):
            return judgement
        from pytest_agentbench.checks.auditor.findings import unaudited  # noqa: PLC0415 - few suites have a judge
        from pytest_agentbench.checks.judges.model_judgement import needs_model, without_models  # noqa: PLC0415 - same

        if suite.auditor == "off" and policies:
            why, cure = "the suite says `auditor: off`", "give the policy a `rule`, or write `auditor: flags`"
            judgement, policies = unaudited(run, judgement, why=why, cure=cure, policies=policies), []
        if self._models is None or not self._models.judges or (judge is None and needs_model(rubric, ())):
            cure = "" if suite.judge is None else LET_ANSWER
            why, audits = "no model judges this session", is_part(suite)
            return without_models(run, judgement, why=why, cure=cure, rubric=rubric, policies=policies, audits=audits)
        return await self._asked(run, judgement, policies, rubric, auditor, run_sync=runner)

    async def _asked(
        self,
        run: Run,
        judgement: Judgement,
        policies: list[Policy],
        rubric: Rubric | None,
        auditor: "Auditing | None",
        *,
        run_sync: RunSync,
    ) -> Judgement:
        from pytest_agentbench.checks.judges.model_judgement import judge_with_models  # noqa: PLC0415 - as above

        judge, state, root = self.judge, self._suite.environment.state, self._suite.root
        return await judge_with_models(
            run,
            judgement,
            chat_for=lambda role: self.chat(role, cast("JudgeSpec", judge).model),
            random=self._random("judge"),
            auditor=auditor,
            audits=is_part(self._suite),
            rubric=rubric,
            policies=policies,
            system=self._plan.system,
            votes=judge.votes if judge else 1,
            sees=judge.sees if judge else "goal",
            notes=judge is not None and judge.notes,
            ignore=state.ignore if state else (),
            resolve=lambda path: cast("Callable[[Run], object]", load_object(path, root)),
            resolve_value=lambda path: cast("Callable[[JsonValue], object]", load_object(path, root)),
            run_sync=run_sync,
        )

    def _random(self, purpose: str) -> Random:
        return Random(f"{self._seed} {purpose}")  # noqa: S311 - nonces are part of what recordings are compared by


def _ending_unknown(fault: str) -> Finding:
    """Say that nobody could tell whether a conversation was over; it ended, and is judged as it stands."""
    message = f"not measured: whether the conversation was over: {printable(shorten(fault, 300))}"
    cure = "run it again when the judge's model answers"
    return Finding(check="ending", kind="user", passed=None, message=message, cure=cure, required=False)


def judges_of(suite: Suite) -> dict[str, str]:
    """Name the model that judges, if there is one."""
    return {"judge": f"llm:{suite.judge.model.model}"} if suite.judge else {}


def players_of(suite: Suite) -> dict[str, str]:
    """Name who plays and judges beside the agent, and who executes tools that are not executed here."""
    servers = {part.kind for part in suite.environment.providers if part.remote}
    tools = {"tools": "+".join(sorted(servers))} if servers else {}
    user = f"llm:{suite.user.model.model}" if suite.user.model else suite.user.kind
    return {"user": user, **judges_of(suite), **tools}


async def with_answers(
    run: Run, plan: RunPlan, judgement: Judgement, *, chat_for: "Callable[[], Chat]", random: Random, system: str
) -> tuple[Run, Judgement]:
    """Have a model say of each sentence that plugins ask about whether it is true; without a usable answer none is.

    Raise `NotRunError` where the model may not be asked.
    """
    sentences = plan.extensions.questions(run)
    if not sentences:
        return run, judgement
    from pytest_agentbench.checks.judges.evidence import of_run  # noqa: PLC0415 - few suites have a judge
    from pytest_agentbench.checks.judges.rubric_judge import judge_criteria  # noqa: PLC0415 - the same

    asked = [Criterion(id=f"nl-{number}", text=text, max_score=1) for number, text in enumerate(sentences, start=1)]
    try:
        scores = await judge_criteria(chat_for(), asked, of_run(run, system=system), random=random)
    except NotRunError:
        raise
    except AgentBenchError as error:
        note = not_measured("questions", str(error))
        return run, judgement.model_copy(update={"findings": (*judgement.findings, note)})
    met = {score.criterion.text: score.value == 1 for score in scores}
    run = run.model_copy(update={"answers": met})
    return run, with_metrics(judgement, plan.extensions.metrics(own_states(run)))
