"""The suite file, key by key, and the recipe of `agentbench generate`."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from pytest_agentbench.core.fault import FaultAxis
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.rubric import RubricOrFile
from pytest_agentbench.core.scenario import Approvals, Context, Language
from pytest_agentbench.core.suite import AuditorMode, RecipeKeys
from pytest_agentbench.core.termination import Limits, Thresholds
from pytest_agentbench.core.written import (
    Choice,
    FileName,
    Filled,
    Holds,
    Number,
    OneOf,
    Positive,
    Says,
    Text,
    Whole,
    Written,
)
from pytest_agentbench.spec.environment import EnvironmentForm
from pytest_agentbench.spec.roles import AgentForm, CassetteForm, JudgeForm, ModelForm, UserForm
from pytest_agentbench.spec.scenario import ScenarioForm

_Nodes = Annotated[Whole, Field(ge=3, le=1000), Says("a number of nodes, from 3 to 1000")]
_Path = Annotated[Filled, Says("a path, relative to the suite's folder")]


class NodesForm(Written):
    """The length of a walk in nodes (tool-to-scenario §4.4)."""

    expected: ClassVar[str] = "{min: 6, max: 25}: the length of a walk in nodes"

    min: _Nodes | None = None
    """The least, two calls: 6, or 4 with `shape: react`."""
    max: _Nodes = 25
    """The most."""


class LevelsForm(Written):
    """The least and the most complexity of scenarios of policies."""

    expected: ClassVar[str] = "{min: 2, max: 11}: sums of the policies' challenges"

    min: Positive = 2
    """The least."""
    max: Positive = 11
    """The most."""


class RecipeForm(RecipeKeys):
    """The recipe of `agentbench generate`."""

    expected: ClassVar[str] = "a recipe: {from: tools, count: 50, seed: 7}"

    source: Annotated[Literal["tools", "policies"], Choice("tools or policies")] = Field(alias="from")
    """What scenarios are made from."""
    out: Annotated[_Path, Says("the folder that is written")] = "generated"
    """The folder that is written, below the suite's own."""
    nodes: NodesForm = NodesForm.model_construct()
    """The length of a walk in nodes."""
    complexity: Annotated[
        dict[str, Annotated[Number, Field(ge=0), Says("a share, 0 or more")]],
        Holds("a mapping such as {simple: 0.5, complex: 0.5}", 1),
    ] = {}
    """Shares of the scenarios by class or level."""
    levels: LevelsForm | None = None
    """The least and the most complexity of scenarios of policies."""
    document: Annotated[_Path, Says("a document with policies, relative to the suite's folder")] | None = None
    """A document that policies are read from; without it the suite's own."""
    traces: Annotated[tuple[_Path, ...], Holds("a list of recorded conversations", 1)] = ()
    """Recorded conversations that weights come from."""
    agents: Annotated[
        dict[Annotated[str, Field(pattern=r"\S"), Says("the name of an agent")], _Path],
        Holds("a mapping of other agents to their suite files: {helpdesk: desk.agentbench.yaml}", 1),
    ] = {}
    """Suite files of other agents by name, whose graphs stand in the place of tools."""
    llm: ModelForm | None = None
    """The model that plays the roles of the pipeline."""


class TrialsForm(Written):
    """Trials that stop early."""

    expected: ClassVar[str] = "{most: 8, stop: sequential}"

    most: Annotated[Whole, Field(ge=2), Says("a whole number, 2 or more")]
    """The most trials of a scenario."""
    stop: Annotated[Literal["sequential"], Choice("sequential")] | None = None
    """Leaves out trials that are not needed any more."""


_VARIANT = r"^(?!t[0-9]+$)[A-Za-z0-9_.-]*[A-Za-z0-9_][A-Za-z0-9_.-]*\Z"
_Variant = Annotated[
    str,
    Field(pattern=_VARIANT),
    Says("letters, digits, _ . and -, not t and a number (that names trials)"),
]
Policies = Annotated[tuple[Policy, ...], Holds("a list of policies")]
"""What a file of policies holds."""


class SuiteFile(Written):
    """A suite: an agent, an environment, a simulated user, scenarios, limits and gates."""

    expected: ClassVar[str] = "a suite: a mapping with at least agent and scenarios"

    agent: AgentForm
    """The agent under test."""
    scenarios: Annotated[
        tuple[
            Annotated[
                Annotated[FileName, Says("a file or pattern")] | ScenarioForm,
                OneOf("a scenario, or a file or pattern such as scenarios/*.yaml"),
            ],
            ...,
        ],
        Holds("a list of scenarios and of files or patterns, at least one", 1),
    ]
    """The tests: scenarios, and files or patterns of files that hold them."""
    extends: Annotated[FileName, Says("the path of a suite file whose keys this one takes over")] | None = None
    """Another suite file, whose keys this one takes over."""
    name: Annotated[Filled, Says("the name of the suite")] = ""
    """The name of the suite; without it that of the file or its folder."""
    owner: Annotated[Filled, Says("who sees to the suite, for the report")] = ""
    """Who sees to the suite, for the report."""
    variants: Annotated[
        dict[_Variant, Annotated[dict[str, Any], Holds("a mapping of keywords for the factory")] | None],
        Holds("a mapping of variant names to keywords of the factory", 1),
    ] = {}
    """Named configurations of the agent: keywords of its factory. The first one runs unless others are asked for."""
    environment: EnvironmentForm = EnvironmentForm.model_construct()
    """Tools and state that the agent acts on."""
    user: UserForm = "scripted"
    """Who plays the simulated user."""
    language: Language = "en"
    """The language of the scripted user's lines."""
    approvals: Approvals | None = None
    """What the user decides about an approval that nothing else decides."""
    llm: ModelForm | None = None
    """What the models of all roles have in common."""
    judge: JudgeForm | None = None
    """The model that judges rubrics, audits and endings."""
    auditor: Annotated[AuditorMode, Choice("what the auditor may do: off, flags or decide")] | None = None
    """Whether the judge's model reads each run, and whether that decides."""
    rubric: RubricOrFile | None = None
    """The rubric that every run is judged by, unless its scenario has one of its own."""
    cassette: CassetteForm = CassetteForm.model_construct()
    """Where model calls are recorded."""
    policies: Annotated[FileName | Policies, OneOf("a file or a list of policies")] = ()
    """The rules that the agent must keep."""
    faults: FaultAxis = ()
    """What goes wrong at the boundary between agent and tools; each scenario runs once under each entry."""
    generate: RecipeForm | None = None
    """The recipe of `agentbench generate`."""
    limits: Limits = Limits.model_construct()
    """What a run may spend."""
    stall: Thresholds = Thresholds.model_construct()
    """When a conversation counts as STALLED."""
    gates: Annotated[
        tuple[Annotated[Text, Says("a gate such as 'success >= 0.80'")], ...],
        Holds("a list of gates such as 'success >= 0.80'"),
    ] = ()
    """Thresholds that decide the exit status."""
    trials: (
        Annotated[Positive | TrialsForm, OneOf("a whole number, 1 or more, or {most: 8, stop: sequential}")] | None
    ) = None
    """How often each scenario is run."""
    context: Context = {}
    """What the agent, its framework and the tools get, never the user."""
    now: (
        Annotated[
            str,
            Field(
                pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
                r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2}))?\Z"
            ),
            Says("a date and time with its zone, such as 2026-11-22T10:00Z, or a date, which is midnight UTC"),
        ]
        | None
    ) = None
    """What the clock of every run shows."""
