"""Runs: scenario × variant × trial, what a check sees of one, and what is kept of it."""

from datetime import datetime
from typing import Any, Self

from pydantic import Field

from pytest_agentbench.core.approvals import has_arguments
from pytest_agentbench.core.audit import Audit
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.conversation import UserFault
from pytest_agentbench.core.fault import FaultHit, FaultSpec
from pytest_agentbench.core.model import Usage
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.scenario import ComplexityScale, Quarantine, Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import CallRecord, Transcript
from pytest_agentbench.core.verdict import Blame, CallExplanation, Finding, Flag, OtherFault, Unmeasured, Verdict

BUDGET = "budget"
"""How `Result.not_run` begins where a budget of the session did not hold the run; such a session fails."""


class RunKey(Model):
    """What names a run: suite (path relative to the root), scenario, variant, trial and attempt (both from 1), fault.

    `fault` is the entry of the suite's `faults` that it runs under, "" where there is none.
    """

    suite: str
    scenario: str
    variant: str = ""
    trial: int = 1
    attempt: int = 1
    fault: str = ""

    @property
    def label(self) -> str:
        """What tells runs of one scenario apart, but for trials: the variant and the fault."""
        return "-".join(part for part in (self.variant, self.fault) if part)

    @property
    def name(self) -> str:
        """The scenario with what tells its runs apart, but for trials."""
        return f"{self.scenario}[{self.label}]" if self.label else self.scenario

    @property
    def without_attempt(self) -> tuple[str, str, str, str, int]:
        """What all attempts of a run share; sorts by suite, scenario, variant, fault and trial."""
        return (self.suite, self.scenario, self.variant, self.fault, self.trial)

    def __str__(self) -> str:
        variant = f"[{self.label}]" if self.label else ""
        return f"{self.suite}::{self.scenario}{variant}#{self.trial}.{self.attempt}"


class Run(Model):
    """A closed conversation as checks see it.

    `session_id` is what the agent saw of its session, new in every run; `now` what its clock showed, as the suite says.
    `calls_visible` False means that the agent's own tool calls could not be seen, `approvals_visible` that the run is a
    recording which may have had no place for approvals. `initial_state`, `final_state`
    and `expected_state` are None where state cannot be read or the expected calls cannot be replayed; `states` are what
    each call that was seen to write left behind, where a rule asks for it; `unreplayed` says
    which expected calls (by position) fail when replayed, and how, so that the expected state does not show them.
    `replay_differs` says where the replay of a recording answered something else, so that its state is not known.
    `left_over` says how the shared world that the run began in was not that in which the expected calls were made.
    `untold` says why the run's calls could not be made again, `unmade` that the suite has no tool for one that is
    expected, `unknown_rows` which rows hold what two worlds made up and nobody can compare. `down` maps tools that
    broke in a way that no arguments cause, in the run or where expected calls were made again, to how; where a fault of
    the suite's struck one, nobody knows. `broken_tools` maps tools that broke at every call of the run to how, though
    they work in a fresh world; `useless_tools` those that break there, too, at an expected call as the agent made it;
    `slipped_tools` those whose own code failed at every call without meaning to, what it raised and where. `played` is
    from when to when the final state came to be, in seconds since 1970.
    `blame` and `error` are set when the conversation itself failed. `user_faults` are what a model-backed user did
    wrong; `behaviours` says of each modifier in force whether it showed (None: not known), `unfit` why others were left
    out. `faults` were to strike at the tools, `met` are those that did.
    `unanswered` is the agent's question to which the user left without an answer, not knowing that all was done.
    `model_user` says that a model played the user.
    `replay` is what a plugin's environment found when it made the calls again, `answers` are a judge's to questions of
    plugins.
    `reported` are the agent's own numbers: the last value it gave under each name. `shows` is what it would tell if it
    were there: *handoffs*, *output*. `turn_seconds` are how long each turn of the agent took, waits left out. `printed`
    is what agent and tools printed and logged. `was_denied` says that a model's server did not let in who asked.
    """

    key: RunKey
    session_id: str = ""
    scenario: Scenario
    policies: tuple[Policy, ...] = ()
    now: datetime | None = None
    transcript: Transcript = Transcript()
    termination: Termination
    stop_reason: str = ""
    error: str | None = None
    blame: Blame | None = None
    unanswered: str = ""
    model_user: bool = False
    user_faults: tuple[UserFault, ...] = ()
    behaviours: dict[str, bool | None] = {}
    unfit: dict[str, str] = {}
    toolset: Toolset = Toolset()
    calls_visible: bool = True
    shows: frozenset[str] = frozenset()
    approvals_visible: bool = True
    initial_state: State | None = None
    final_state: State | None = None
    states: tuple[State, ...] = ()
    expected_state: State | None = None
    unreplayed: dict[int, str] = {}
    replay_differs: str = ""
    untold: str = ""
    unmade: bool = False
    left_over: str = ""
    unknown_rows: tuple[tuple[str, ...], ...] = ()
    down: dict[str, str] = {}
    broken_tools: dict[str, str] = {}
    useless_tools: dict[str, str] = {}
    slipped_tools: dict[str, str] = {}
    played: tuple[float, float] | None = None
    faults: tuple[FaultSpec, ...] = ()
    met: tuple[FaultHit, ...] = ()
    reported: dict[str, float] = {}
    replay: Any = None
    answers: dict[str, bool] = {}
    seconds: float = 0.0
    turn_seconds: tuple[float, ...] = ()
    log: str = ""
    printed: str = ""
    was_denied: bool = False

    @property
    def finished(self) -> bool:
        """Whether a party closed the conversation."""
        return self.termination is Termination.FINISHED

    @property
    def labelled_by_model(self) -> bool:
        """Whether a model that played the user labelled its own turns; in recordings its goal items tell."""
        return self.model_user or any(message.goal_items for message in self.transcript.messages)

    @property
    def tells_handoffs(self) -> bool:
        """Whether a handoff would be seen: the agent says so, or names who sent a message."""
        return "handoffs" in self.shows or bool(self.transcript.agents)

    @property
    def output(self) -> Any:
        """The agent's last typed answer, None where there is none."""
        return self.transcript.output

    @property
    def made(self) -> tuple[CallRecord, ...]:
        """Every call of both parties, but for those of the conversation that the scenario begins with (τ²)."""
        initial = self.scenario.task.initial_state
        history = (initial.message_history or ()) if initial else ()
        begins = [(entry.get("role"), entry.get("content") or "") for entry in history]
        starts = [(message.role, message.text) for message in self.transcript.messages[: len(history)]]
        before = len(history) if begins == starts else 0
        return tuple(record for record in self.transcript.trajectory if record.message >= before)

    @property
    def calls(self) -> tuple[CallRecord, ...]:
        """The agent's tool calls with their results, in order."""
        return tuple(record for record in self.transcript.trajectory if record.call.requestor == "assistant")

    def called(self, name: str, **arguments: Any) -> bool:
        """Whether the agent called `name` with at least these arguments."""
        return any(one.call.name == name and has_arguments(one.call.arguments, arguments) for one in self.calls)

    def said(self, text: str) -> bool:
        """Whether some message of the agent contains `text`, ignoring case."""
        return any(text.lower() in said.lower() for _, said in self.transcript.texts("assistant"))


class PlannedRun(Model):
    """What is known of a run before it starts: its names, where its scenario stands, hashes, complexity and policies.

    `trials` counts those planned of the scenario; `stops_early` tells that they end once they have decided. A `pending`
    one is of a generated scenario that nobody reviewed. `plain` tells that the user's lines were worded by no model and
    name the tools. `tools` are those of expected calls, `faults` names what is to go wrong at the tools.
    """

    key: RunKey
    nodeid: str = ""
    title: str = ""
    file: str = ""
    line: int = 0
    scenario_hash: str = ""
    suite_hash: str = ""
    listed_policies: tuple[str, ...] = ()
    trials: int = 1
    stops_early: bool = False
    pending: bool = False
    quarantine: Quarantine | None = None
    plain: bool = False
    language: str = ""
    complexity: int | None = None
    complexity_scale: ComplexityScale | None = None
    tags: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What tells the run from all others, also where node ids do not; its attempts share it."""
        return str(self.key if self.key.attempt == 1 else self.key.model_copy(update={"attempt": 1}))

    @property
    def set_aside(self) -> bool:
        """Whether the run decides nothing: nobody reviewed its scenario, or it is in quarantine."""
        return self.pending or self.quarantine is not None


class PolicyOutcome(Model):
    """What became of a policy in a run; None means *not measured*: in no rate, neither exercised nor kept."""

    policy: str
    exercised: bool | None = None
    kept: bool | None = None

    @property
    def is_measured(self) -> bool:
        """Whether it is known that the policy was not exercised, or that it was, and whether it was kept."""
        return self.exercised is False or self.kept is not None

    @property
    def counts(self) -> bool:
        """Whether the run is in the rate of the policy: it exercised it, and it is known whether it kept it."""
        return bool(self.exercised) and self.kept is not None


class Judgement(Model):
    """What the checks decided about one run.

    `metrics` values are None where not measured: name_recall, strict_recall, complete (0 or 1), tool_errors,
    errors_then_retried, calls_ratio, agent_turns, tool_calls, redundant_calls, coherence, echo_rate, measured.

    `also` is what went wrong beside what the agent failed by. Of the `asked` parts that the scenario asks for (see
    `checks.measurement`), the `unmeasured` ones were not decided; `nothing_measured` tells that this is why there is no
    verdict. `flags` decide nothing: what the agent states and has from nowhere (see `checks.claims`), and what the
    auditor saw without a fact beside it. `audit` holds all that it saw, None where it was not asked. `disputed` says
    why the simulated user may have been at fault, `rests_on_auditor` that verdict or blame would be others without it.
    """

    verdict: Verdict
    blame: Blame | None = None
    also: tuple[OtherFault, ...] = ()
    flags: tuple[Flag, ...] = ()
    audit: Audit | None = None
    disputed: str = ""
    rests_on_auditor: bool = False
    asked: int = 0
    unmeasured: tuple[Unmeasured, ...] = ()
    nothing_measured: bool = Field(default=False, exclude=True)
    findings: tuple[Finding, ...] = ()
    calls: tuple[CallExplanation, ...] = ()
    policies: tuple[PolicyOutcome, ...] = ()
    metrics: dict[str, float | None] = {}


class Result(Judgement, PlannedRun):
    """What is kept of a run, with the transcript in a file of its own (`transcript`, relative to the run directory).

    `scored` results (passed, or failed by the agent) are the denominator of every rate; the others are unscored.
    `pending` ones, of generated scenarios that nobody reviewed, and those in `quarantine` are in no rate and no gate,
    and stand apart.
    `turn_seconds` are how long each turn of the agent took, waits left out; () where nobody saw it.
    `session_id` is what the agent saw, and a server or a store of its own may know the conversation by.
    `not_run` says why a run never started. `players` names who played each role, `usage` what its model took:
    `agent` is absent where the agent's model calls could not be observed. `tools` are those that were called, too.
    `reported` are the agent's own numbers.
    `seen_writes` are tools of which nothing says what they do, and whose calls changed the state; `called` those
    that the agent called, `undescribed` those of them that nobody describes. `sole_answer` is what the agent said in
    every turn where it said nothing else, and no call of it was seen.
    """

    session_id: str = ""
    seen_writes: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    undescribed: tuple[str, ...] = ()
    sole_answer: str = ""
    termination: Termination | None = None
    stop_reason: str = ""
    error: str | None = None
    not_run: str | None = None
    reported: dict[str, float] = {}
    agents: tuple[str, ...] = ()
    players: dict[str, str] = {}
    usage: dict[str, Usage] = {}
    transcript: str = ""
    seconds: float = 0.0
    turn_seconds: tuple[float, ...] = ()

    @classmethod
    def of_not_run(cls, planned: PlannedRun, why: str, **more: Any) -> Self:
        """Give the result of a run that did not take place."""
        return cls(**dict(planned), verdict=Verdict.ERROR, not_run=why, **more)

    @property
    def passed(self) -> bool:
        """Whether the agent passed."""
        return self.verdict is Verdict.PASSED

    @property
    def asks_nothing(self) -> bool:
        """Whether the run passed since its scenario asks for nothing but an end: whatever the agent did would pass."""
        return self.passed and self.not_run is None and not self.asked

    @property
    def ended_by_other(self) -> bool:
        """Whether the conversation closed by somebody else's fault, though the agent failed by what it had done."""
        return any(one.ended for one in self.also)

    @property
    def scored(self) -> bool:
        """Whether the run counts for or against the agent."""
        return self.decided and not self.set_aside

    @property
    def as_counted(self) -> "Result":
        """The run as if it were not set aside."""
        return self.model_copy(update={"pending": False, "quarantine": None})

    @property
    def decided(self) -> bool:
        """Whether the agent passed or failed; a run that is set aside may, too, and counts nowhere."""
        return self.not_run is None and (
            self.verdict is Verdict.PASSED or (self.verdict is Verdict.FAILED and self.blame is Blame.AGENT)
        )
