"""The suite file, key by key: who plays what, limits, gates, and the recipe of `agentbench generate`."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from pytest_agentbench.core.fault import FaultAxis
from pytest_agentbench.core.file_models import (
    Address,
    Choice,
    FileName,
    Filled,
    Flag,
    Holds,
    ImportPath,
    Number,
    OneOf,
    Positive,
    Says,
    Text,
    Whole,
    Written,
)
from pytest_agentbench.core.model import Price, Reach
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.remote import ServiceSpec
from pytest_agentbench.core.rubric import RubricOrFile
from pytest_agentbench.core.scenario import Approvals, Context, LanguageName
from pytest_agentbench.core.suite import AuditorMode, CassetteKeys, ChatKeys, JudgeKeys, Posted, RecipeKeys, UserKeys
from pytest_agentbench.core.termination import Limits, Thresholds
from pytest_agentbench.spec.environment import AnyEnvironment, EnvironmentForm
from pytest_agentbench.spec.scenario import ScenarioForm

_Serial = Annotated[Flag, Says("true: runs of this agent never overlap")]


class ModelForm(Reach):
    """A model; what is left out comes from the suite's `llm`."""

    model: Annotated[Filled, Says("the name of a model, as in openai:NAME")] | None = None
    """`PROVIDER:NAME`, or the bare name; without it, that of the suite's `llm`."""


class FactoryForm(Written):
    """An agent that a factory builds, once per run."""

    expected: ClassVar[str] = "{factory: package.module:name}"

    factory: ImportPath
    """The import path of the factory."""
    serial: _Serial = False
    """Whether runs of this agent never overlap."""
    upstream: Annotated[Address, Says("the address of the model server that the factory's base_url leads to")] = ""
    """The address of the model server that the factory's `base_url` leads to."""
    price: Price | None = None
    """What tokens of its model cost."""


class CallableForm(Written):
    """An agent that is a plain reply function."""

    expected: ClassVar[str] = "{callable: package.module:name}"

    callable: ImportPath
    """The import path of the function."""
    serial: _Serial = False
    """Whether runs of this agent never overlap."""


class ChatForm(ModelForm, ChatKeys):
    """A chat model as the agent."""

    expected: ClassVar[str] = "a mapping such as {model: …, system: …}"

    system: Annotated[Text, Says("the system prompt")] = ""
    """The system prompt."""
    system_file: Annotated[FileName, Says("a file that holds the system prompt")] | None = None
    """A file that holds the system prompt."""


class ChatAgentForm(Written):
    """A chat model with the tools of the environment."""

    expected: ClassVar[str] = "{openai: {model: …, system: …}}"

    openai: ChatForm
    """The model and its prompt."""


_BESIDE = {"serial": "write it beside `http`: `agent: {http: …, serial: true}`"}


class EndpointForm(Posted):
    """An agent behind an address."""

    expected: ClassVar[str] = "a mapping such as {url: …, body: …, reply: …}"
    instead: ClassVar[dict[str, str]] = _BESIDE

    url: Address
    """Where a turn is posted to; `{port}` is where `serve` listens."""
    serve: ServiceSpec | None = None
    """The agent's service, started for the runs."""


class AppForm(Posted):
    """An ASGI app that is played in this process."""

    expected: ClassVar[str] = "a mapping such as {app: package.module:name, url: /chat, reply: …}"
    instead: ClassVar[dict[str, str]] = _BESIDE

    app: ImportPath
    """The import path of the app."""
    factory: Annotated[Flag, Says("true: calling `app` gives the app")] = False
    """Whether calling `app` gives the app."""
    url: Annotated[
        str,
        Field(pattern=r"^(https?:/)?/\S*\Z"),
        Says("a path such as /chat, or an address such as https://host/chat"),
    ] = "/"
    """The path of the app that a turn is posted to."""


class HttpAgentForm(Written):
    """An agent behind HTTP."""

    expected: ClassVar[str] = "{http: {url: …}} or {http: {app: …}}"

    http: Annotated[
        EndpointForm | AppForm,
        OneOf("{url: …}, an endpoint, or {app: package.module:name}, an ASGI app that is played in this process"),
    ]
    """The endpoint, or the app."""
    serial: _Serial = False
    """Whether runs of this agent never overlap."""


class RecordedForm(Written):
    """Recorded conversations, which are scored without running anything."""

    expected: ClassVar[str] = "{transcripts: runs.jsonl}"

    transcripts: Annotated[
        FileName | Annotated[tuple[FileName, ...], Holds("a list of files", 1)],
        OneOf("a file of recorded conversations, or a list of files"),
    ]
    """A file or pattern, or a list of these."""


AgentForm = Annotated[
    ImportPath | FactoryForm | CallableForm | ChatAgentForm | HttpAgentForm | RecordedForm,
    OneOf(
        "an import path such as package.module:name, {factory: …}, {callable: …}, {openai: …}, {http: …} "
        "or {transcripts: …}"
    ),
]
"""`agent` of a suite."""

_SCRIPTED = "a scripted user has no modifiers and no critique: write `user: scripted`, or `llm` beside them"


class PlayedUserForm(UserKeys):
    """A simulated user that a model plays."""

    expected: ClassVar[str] = "{llm: {model: …}, modifiers: […], critique: 2}"
    instead: ClassVar[dict[str, str]] = {"llm": _SCRIPTED, "scripted": _SCRIPTED}

    llm: ModelForm
    """The model."""


UserForm = Annotated[
    Annotated[Literal["scripted", "llm"], Choice("scripted or llm")] | PlayedUserForm,
    OneOf("the simulated user: scripted, llm, or {llm: {model: …}}"),
]
"""`user` of a suite."""

_Figures = Annotated[Filled, Says("a file of `agentbench calibrate --json`")]


class CalibrationForm(Written):
    """The figures that a judge must have."""

    expected: ClassVar[str] = "{file: FILE, kappa: 0.6}"

    file: _Figures
    """A file that `agentbench calibrate --json` wrote."""
    kappa: Annotated[Number, Field(ge=-1, le=1), Says("the least kappa, from -1 to 1")] | None = None
    """The least kappa, from -1 to 1."""


class JudgeForm(JudgeKeys):
    """The model that judges rubrics, audits and endings."""

    expected: ClassVar[str] = "{llm: {model: …}, votes: 1}"

    llm: ModelForm
    """The model."""
    calibration: (
        Annotated[
            _Figures | CalibrationForm,
            OneOf("the path of a file that `agentbench calibrate --json` wrote, or {file: …, kappa: …}"),
        ]
        | None
    ) = None
    """The figures that it must have before it judges: a file of `agentbench calibrate`, or `{file: …, kappa: 0.6}`."""


class CassetteForm(CassetteKeys):
    """Where model calls are recorded, and how requests are compared."""

    file: Annotated[FileName, Says("the file that model calls are recorded in")] | None = None
    """The file that model calls are recorded in; without it, one beside the suite file."""


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
    """What scenarios are made from: `tools` or `policies`."""
    out: Annotated[_Path, Says("the folder that is written")] = "generated"
    """The folder that is written."""
    nodes: NodesForm = NodesForm.model_construct()
    """The length of a walk, `{min: 6, max: 25}`; with `shape: react`, `min` is 4."""
    complexity: Annotated[
        dict[str, Annotated[Number, Field(ge=0), Says("a share, 0 or more")]],
        Holds("a mapping such as {simple: 0.5, complex: 0.5}", 1),
    ] = {}
    """Shares of scenarios by class, `simple` (2–4 calls) and `complex` (5–13), or by level."""
    levels: LevelsForm | None = None
    """The least and the most complexity of scenarios from policies: `{min: 2, max: 11}`."""
    document: Annotated[_Path, Says("a document with policies, relative to the suite's folder")] | None = None
    """A document to read policies from; without it, the suite's own policies."""
    traces: Annotated[tuple[_Path, ...], Holds("a list of recorded conversations", 1)] = ()
    """Recorded conversations that weights come from; with `from: policies`, results files that correct them."""
    agents: Annotated[
        dict[Annotated[str, Field(pattern=r"\S"), Says("the name of an agent")], _Path],
        Holds("a mapping of other agents to their suite files: {helpdesk: desk.agentbench.yaml}", 1),
    ] = {}
    """Other agents and their suites: `{helpdesk: desk.agentbench.yaml}`."""
    llm: ModelForm | None = None
    """The model that plays the roles."""


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
    instead: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("callable", "factory", "http", "openai", "transcripts"), "write it under `agent`"),
        "url": "write it as `agent: {http: {url: …}}`",
        **dict.fromkeys(("reads", "state", "tools", "writes"), "write it under `environment`"),
        **{key: f"write it as `environment: {{tools: {{{key}: …}}}}`" for key in ("mcp", "openapi")},
        **dict.fromkeys(
            ("communicate", "expect", "goal", "id", "knows", "never", "says"), "write it in one of the `scenarios`"
        ),
    }

    agent: AgentForm
    """The agent under test: an import path, `{factory: …}`, `{callable: …}`, `{openai: …}`, `{http: …}` or
    `{transcripts: …}`."""
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
    """The tests: a list of scenarios, of files, and of patterns of files."""
    extends: Annotated[FileName, Says("the path of a suite file whose keys this one takes over")] | None = None
    """The suite file whose keys this one takes over: `../base.agentbench.yaml`."""
    name: Annotated[Filled, Says("the name of the suite")] = ""
    """The name in reports; without it, that of the file or its folder."""
    owner: Annotated[Filled, Says("who sees to the suite, for the report")] = ""
    """Who looks after the suite, for reports."""
    variants: Annotated[
        dict[_Variant, Annotated[dict[str, Any], Holds("a mapping of keywords for the factory")] | None],
        Holds("a mapping of variant names to keywords of the factory", 1),
    ] = {}
    """Named configurations of the agent, `{name: {keyword: value}}`; the first one runs unless you ask for others."""
    environment: AnyEnvironment = EnvironmentForm.model_construct()
    """What the agent works on: `tools`, `user_tools`, `state`, `reads`, `writes`; or what a plugin offers."""
    user: UserForm = "scripted"
    """Who plays the simulated user: `scripted`, `llm`, or `{llm: {model: …}, modifiers: […], critique: 2}`."""
    language: LanguageName = "en"
    """The language of the scripted user's phrases: `en`, `de`, …, or a `.toml` file of yours."""
    approvals: Approvals | None = None
    """The answer to an approval that neither a line nor the wanted values decide: `approve` or `reject`; else the run
    is unscored."""
    llm: ModelForm | None = None
    """What the models of all roles share."""
    judge: JudgeForm | None = None
    """The model that judges: `{llm: {model: …}, votes: 3, sees: goal}`."""
    auditor: Annotated[AuditorMode, Choice("what the auditor may do: off, flags or decide")] | None = None
    """What the auditor may do: `off`, `flags` or `decide`; without it, it reads only the runs that need it."""
    rubric: RubricOrFile | None = None
    """The criteria of every run, or the file that holds them; a scenario may have its own."""
    cassette: CassetteForm = CassetteForm.model_construct()
    """Where model calls are recorded: `{file: …, ignore: […], unrecorded: skip}`."""
    policies: Annotated[FileName | Policies, OneOf("a file or a list of policies")] = ()
    """What the agent must or must not do: a list, or a file that holds it."""
    faults: FaultAxis = ()
    """Failures at the tools; each scenario runs once with each entry."""
    generate: RecipeForm | None = None
    """The recipe of `agentbench generate`."""
    limits: Limits = Limits.model_construct()
    """The most that one run may spend; a call over the limit is refused and ends the run."""
    stall: Thresholds = Thresholds.model_construct()
    """When a conversation counts as STALLED."""
    gates: Annotated[
        tuple[Annotated[Text, Says("a gate such as 'success >= 0.80'")], ...],
        Holds("a list of gates such as 'success >= 0.80'"),
    ] = ()
    """Thresholds that decide the exit status; without them, every scenario must pass."""
    trials: (
        Annotated[Positive | TrialsForm, OneOf("a whole number, 1 or more, or {most: 8, stop: sequential}")] | None
    ) = None
    """How often each scenario is played: a number, or `{most: 8, stop: sequential}`; without it, once."""
    context: Context = {}
    """A mapping for the agent and its tools; the user never sees it."""
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
    """What the clock shows in every run: `2026-11-22T10:00Z`, or a date."""
