"""Scenarios: τ²-bench's task fields plus ours.

The τ² part keeps unknown keys and the difference between an absent key, null and an empty list, so that
`model_dump(exclude_unset=True)` gives the task back as it was read.
"""

from bisect import bisect_right
from collections.abc import Iterable
from datetime import date, timedelta
from itertools import accumulate, groupby
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from pytest_agentbench.core.acts import Line
from pytest_agentbench.core.approvals import Standing
from pytest_agentbench.core.base import Model, OpenModel
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.fault import ScenarioFaults
from pytest_agentbench.core.file_models import (
    Becomes,
    Choice,
    Count,
    Filled,
    Holds,
    ImportPath,
    Named,
    Says,
    Seconds,
    Written,
)
from pytest_agentbench.core.modifier import Modifiers
from pytest_agentbench.core.moments import span_of
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.rubric import WrittenRubric
from pytest_agentbench.core.termination import Dollars, Limits, ModelCalls, ToolCalls, Turns
from pytest_agentbench.core.tool import Requestor
from pytest_agentbench.core.wording import misfit

ReviewMode = Literal["pending", "off"]
"""What a recipe says of its scenarios: pending ones wait for a reviewer, `off` counts them at once."""

ReviewState = Literal["pending", "lapsed", "accepted", "rejected"]
"""lapsed: it was accepted, and has changed since, so that it is pending again."""


class Review(Model):
    """The state of a scenario's review; `by` and `on` (an ISO date) say who decided and when.

    `hash` is that of the scenario as it was accepted, `reason` why it was rejected.
    """

    state: ReviewState = "pending"
    by: str = ""
    on: str = ""
    hash: str = ""
    reason: str = ""

    @property
    def waits(self) -> bool:
        """Whether somebody has to review the scenario before it counts."""
        return self.state in ("pending", "lapsed")


class ExpectedReply(Model):
    """What one reply of the agent must be like; all that is given must hold of the same reply.

    `turn` says which: the last one, any one, or that of the agent's n-th turn (from 1). `json_schema` is the schema
    that the reply fits as JSON, `json_file` the file that it was read from, as the scenario names it.
    """

    contains: str | None = None
    matches: str | None = None
    json_schema: dict[str, Any] | None = None
    json_file: str = ""
    max_words: Annotated[int, Field(ge=0)] | None = None
    turn: Literal["last", "any"] | Annotated[int, Field(ge=1)] = "last"


OrderMode = Literal["any_order", "in_order", "exact"]
"""any_order: each expected call is made. in_order: and in this order. exact: and nothing besides."""

ComplexityScale = Literal["policies", "calls", "given"]


class Instructions(OpenModel):
    """What the simulated user is told (τ²: StructuredUserInstructions)."""

    domain: str | None = None
    reason_for_call: str | None = None
    known_info: str | None = None
    unknown_info: str | None = None
    task_instructions: str | None = None


class UserScenario(OpenModel):
    """Who the simulated user is and what it wants (τ²: UserScenario)."""

    persona: str | None = None
    instructions: Instructions | str | None = None


class ExpectedCall(OpenModel):
    """A call that a right run makes (τ²: Action); argument values may be matchers such as `{$regex: "W\\d+"}`.

    `by` names the one of several agents that makes it, `session` the number of the session under which it stands.
    """

    action_id: str = ""
    requestor: Requestor = "assistant"
    name: str
    arguments: dict[str, Any] = {}
    info: str | None = None
    compare_args: list[str] | None = None
    by: str | None = None
    session: int | None = None

    @property
    def compared(self) -> list[str]:
        """The names of the arguments that count."""
        return [name for name in self.arguments if self.compare_args is None or name in self.compare_args]


class EvaluationCriteria(OpenModel):
    """What a right run does (τ²: EvaluationCriteria)."""

    actions: list[ExpectedCall] | None = None
    env_assertions: list[dict[str, Any]] | None = None
    communicate_info: list[str] | None = None
    nl_assertions: list[str] | None = None
    reward_basis: list[str] | None = None


class InitialState(OpenModel):
    """What the environment starts from, beside the suite's own state (τ²: InitialState)."""

    initialization_data: dict[str, Any] | None = None
    initialization_actions: list[dict[str, Any]] | None = None
    message_history: list[dict[str, Any]] | None = None


class Task(OpenModel):
    """A τ²-bench task as its file holds it."""

    id: str
    description: dict[str, Any] | str | None = None
    user_scenario: UserScenario | None = None
    ticket: str | None = None
    initial_state: InitialState | None = None
    evaluation_criteria: EvaluationCriteria | None = None


class Match(Written):
    """How expected calls are matched."""

    expected: ClassVar[str] = "how expected calls are matched"

    order: Annotated[
        OrderMode,
        Choice("any_order: each expected call is made; in_order: in this order; exact: and no other call"),
    ] = "any_order"
    """Whether each expected call is made, in this order, or with no other call besides."""
    expected_calls: Annotated[
        Literal["writes", "all"], Choice("writes: missing reads are measured only; all: they fail the run")
    ] = "writes"
    """Whether missing reads fail a run."""


class ScenarioLimits(Written):
    """A scenario's own limits; what is left out is the suite's."""

    expected: ClassVar[str] = Limits.expected

    turns: Turns | None = None
    """Turns of the agent."""
    tool_calls: ToolCalls | None = None
    """Tool calls of both parties."""
    seconds: Seconds | None = None
    """Seconds of wall time."""
    cost_usd: Dollars | None = None
    """What the models may cost, in US dollars."""
    model_calls: ModelCalls | None = None
    """Calls to models."""


class SessionPlan(Model):
    """One of several sessions of a scenario: how many of its lines are said in it, and how long `after` the last one.

    `goal` takes the place of the scenario's own, "" leaves it.
    """

    lines: int = 0
    goal: str = ""
    after: str = ""


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise misfit(f"{text}: there is no such date") from None


_Day = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\Z"), Says("the last day of it, such as 2026-12-31")]
_Reason = Annotated[str, Field(min_length=1)]


class Quarantine(Written):
    """Why a scenario decides nothing for a while: it is played and shown."""

    expected: ClassVar[str] = (
        "{owner: …, reason: …, until: 2026-12-31}: the scenario is played and shown, and decides nothing"
    )

    owner: Annotated[_Reason, Says("who is responsible for it")]
    """Who sees to it."""
    reason: Annotated[_Reason, Says("why the scenario decides nothing for now, in words")]
    """Why the scenario decides nothing for now."""
    until: Annotated[date, Becomes(_Day, _day)]
    """The last day of it."""


LanguageName = Annotated[
    Filled,
    Says("the language of the scripted user's lines, such as en, or a .toml file of a language of your own"),
]
Approvals = Annotated[
    Standing, Choice("approve or reject: what the user decides about an approval that nothing else decides")
]
Context = Annotated[
    dict[str, Any],
    Holds(
        "a mapping that the agent, its framework and the tools get, never the user; {make: package.module:name} names "
        "a function that makes it of the other values"
    ),
]


class ScenarioKeys(Written):
    """What a scenario says in the same words in every form of it."""

    language: LanguageName | None = None
    """The language of the scripted user's phrases; without it, the suite's."""
    modifiers: Modifiers | None = None
    """How a user that a model plays behaves; without it, the suite's."""
    approvals: Approvals | None = None
    """`approve` or `reject`; without it, as the suite says."""
    output: (
        Annotated[dict[str, Any], Holds("a mapping of parts of the agent's typed answer to values or matchers")] | None
    ) = None
    """Parts of the agent's typed answer, with values or matchers: `{decision: block_card}`."""
    faults: ScenarioFaults = ()
    """Failures at the tools, all of them in each run."""
    match: Match = Match.model_construct()
    """How expected calls are matched: `{order: any_order, expected_calls: writes}`."""
    policies: Annotated[
        tuple[Annotated[Named, Says("the id of a policy")], ...],
        Holds("a list of ids of the policies that this scenario exercises"),
    ] = ()
    """The ids of the policies that this scenario is about."""
    checks: Annotated[tuple[ImportPath, ...], Holds("a list of import paths of further checks")] = ()
    """Import paths of checks of yours."""
    rubric: WrittenRubric | None = None
    """A rubric in place of the suite's."""
    complexity: Annotated[Count, Says("a whole number, 0 or more: how hard the scenario is")] | None = None
    """How hard the scenario is, a whole number; without it, it is derived."""
    context: Context = {}
    """As in the suite, and merged over it."""
    limits: ScenarioLimits = ScenarioLimits.model_construct()
    """As in the suite; these win."""
    tags: Annotated[tuple[Annotated[Filled, Says("a tag")], ...], Holds("a list of tags")] = ()
    """Words to select and count scenarios by."""
    quarantine: Quarantine | None = None
    """`{owner: payments, reason: flaky sandbox, until: 2026-12-31}`: it is played and shown, and decides nothing."""
    skip: Annotated[_Reason, Says("the reason why this scenario is not run")] | None = None
    """Why the scenario is not run."""
    xfail: Annotated[_Reason, Says("the reason why this scenario is expected to fail")] | None = None
    """Why the scenario should fail; then it counts in no rate."""
    provenance: Annotated[dict[str, Any], Holds("a mapping that says where this scenario comes from")] = {}
    """A mapping that says where the scenario comes from."""


class Scenario(ScenarioKeys):
    """One test definition. `id` is the slug that pytest shows, `title` the id as the file spells it.

    `says` are the scripted user's lines, of all `sessions` where there are several. `knows` maps the name of a value to
    the value the user gives when asked, `also` the same name to others by which it may be asked for; `unknown` lists
    what it answers that it does not know.
    `expect_any` are other ways that are as right as the expected calls. `never` lists forbidden calls. `asks` are the
    approvals that a right run asks for, `never_asks` those that it must not ask for. `handoffs` are expected from one
    agent to another, `never_handoffs` are forbidden; `replies` say what texts are like. `review` is what people said of
    a generated scenario, None where nobody is asked.
    """

    id: str
    title: str
    task: Task
    says: tuple[Line, ...] = ()
    sessions: tuple[SessionPlan, ...] = ()
    knows: dict[str, Any] = {}
    also: dict[str, tuple[str, ...]] = {}
    unknown: tuple[str, ...] = ()
    expect_any: tuple[tuple[ExpectedCall, ...], ...] = ()
    never: tuple[ExpectedCall, ...] = ()
    handoffs: tuple[ExpectedHandoff, ...] = ()
    never_handoffs: tuple[ExpectedHandoff, ...] = ()
    replies: tuple[ExpectedReply, ...] = ()
    asks: tuple[ExpectedCall, ...] = ()
    never_asks: tuple[ExpectedCall, ...] = ()
    review: Review | None = None
    file: str = ""
    line: int = 0

    @property
    def initial_rows(self) -> dict[str, Any]:
        """The state that is merged into the suite's before a run."""
        initial = self.task.initial_state
        return ((initial.initialization_data if initial else None) or {}).get("agent_data") or {}

    @property
    def lines(self) -> tuple[str, ...]:
        """The words of the scripted user's lines."""
        return tuple(line.words for line in self.says)

    def session(self, number: int) -> "Scenario":
        """Give the scenario as its user knows it in a session, from 1: its lines, its goal and what is to come of it.

        What is expected of the whole scenario is to come of the last one.
        """
        if not self.sessions:
            return self
        one, is_last = self.sessions[number - 1], number == len(self.sessions)
        begin = sum(other.lines for other in self.sessions[: number - 1])
        says, task = self.says[begin : begin + one.lines], self._with_goal(one.goal)
        if (criteria := task.evaluation_criteria) is not None:
            calls = [
                call for call in criteria.actions or () if call.session == number or (is_last and not call.session)
            ]
            update = {"actions": calls} | ({} if is_last else {"communicate_info": None})
            task = task.model_copy(update={"evaluation_criteria": criteria.model_copy(update=update)})
        return self.model_copy(update={"says": says, "task": task})

    def parts(self, places: Iterable[int]) -> list[list[int]]:
        """Give the places of lines, those of each session apart."""
        ends = list(accumulate(one.lines for one in self.sessions))
        return [list(several) for _, several in groupby(places, lambda at: bisect_right(ends, at))]

    def later(self, number: int) -> timedelta:
        """Give the time from the first session to one of them."""
        spans = (span_of(one.after) or timedelta() for one in self.sessions[:number])
        return sum(spans, timedelta())

    def _with_goal(self, goal: str) -> Task:
        story = self.task.user_scenario
        if not goal or story is None:
            return self.task
        told = self.instructions.model_copy(update={"reason_for_call": goal})
        return self.task.model_copy(update={"user_scenario": story.model_copy(update={"instructions": told})})

    @property
    def instructions(self) -> Instructions:
        """What the user is told in words; a plain text is the reason why it calls."""
        story = self.task.user_scenario
        told = story.instructions if story else None
        return told if isinstance(told, Instructions) else Instructions(reason_for_call=told)

    @property
    def user_texts(self) -> tuple[str, ...]:
        """All that the user wants, is told and knows, but for its persona."""
        told = self.instructions
        texts = (told.reason_for_call, told.known_info, told.task_instructions, self.task.ticket)
        return (*self.lines, *map(str, self.knows.values()), dumps(self.knows), *filter(None, texts))

    @property
    def expected_calls(self) -> tuple[ExpectedCall, ...]:
        """The expected calls in order; empty when the scenario states none."""
        criteria = self.task.evaluation_criteria
        return tuple(criteria.actions or ()) if criteria else ()

    @property
    def ways(self) -> "tuple[Scenario, ...]":
        """The scenario with each of the ways in turn as its expected calls; itself alone where there is one."""
        criteria = self.task.evaluation_criteria or EvaluationCriteria()
        others = (criteria.model_copy(update={"actions": list(calls)}) for calls in self.expect_any)
        tasks = (self.task.model_copy(update={"evaluation_criteria": other}) for other in others)
        alone = {"expect_any": (), "handoffs": ()}  # handoffs stand between the calls of `expect`
        return (self, *(self.model_copy(update={"task": task, **alone}) for task in tasks))

    @property
    def states_calls(self) -> bool:
        """Whether the scenario says which calls a right run makes; an empty list says *none*."""
        criteria = self.task.evaluation_criteria
        return criteria is not None and criteria.actions is not None

    @property
    def asserts_state(self) -> bool:
        """Whether assertions say which final state is right, in place of the one that the expected calls lead to."""
        criteria = self.task.evaluation_criteria
        basis = (criteria.reward_basis if criteria else None) or ()
        return "ENV_ASSERTION" in basis and "DB" not in basis

    @property
    def states_whole_calls(self) -> bool:
        """Whether expected calls say all that a call gives, as tasks do; else what is not said is left open."""
        criteria = self.task.evaluation_criteria
        if criteria is None or criteria.reward_basis is not None:
            return criteria is not None
        return self.file.endswith((".json", ".jsonl"))

    @property
    def communicate_info(self) -> tuple[str, ...]:
        """What the agent must tell the user."""
        criteria = self.task.evaluation_criteria
        return tuple(criteria.communicate_info or ()) if criteria else ()

    def rated_complexity(self, policies: dict[str, Policy]) -> tuple[int, ComplexityScale] | None:
        """Give the complexity and its scale: as given, else the policies' challenges, else the expected calls.

        None when the scenario has none of the three. Summing challenges is IntellAgent's complexity (§3.1); a policy
        without a challenge leaves the sum open.
        """
        if self.complexity is not None:
            return self.complexity, "given"
        challenges = [policies[name].challenge for name in self.policies if name in policies]
        if challenges and None not in challenges:
            return sum(one for one in challenges if one), "policies"
        if self.states_calls:
            return len(self.expected_calls), "calls"
        return None
