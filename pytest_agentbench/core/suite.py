"""Suites: an agent, an environment, a simulated user, scenarios, limits and gates, as `agentbench.yaml` states them."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.fault import FaultSpec
from pytest_agentbench.core.file_models import (
    Choice,
    Filled,
    Flag,
    Free,
    Headers,
    Holds,
    ImportPath,
    Names,
    Positive,
    Says,
    Seconds,
    Share,
    Text,
    ToolName,
    Whole,
    Written,
)
from pytest_agentbench.core.model import ModelSpec, Price
from pytest_agentbench.core.modifier import Modifiers
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.remote import McpSpec, OpenApiSpec, ResetRequest, ServiceSpec
from pytest_agentbench.core.rubric import Rubric, Sees
from pytest_agentbench.core.scenario import ReviewMode, Scenario
from pytest_agentbench.core.termination import Limits, Thresholds


class ChatKeys(Written):
    """What a chat agent has beside its model."""

    rounds: Annotated[Positive, Says("a whole number, 1 or more: model calls per turn")] = 20
    """The most model calls of one turn."""


class OpenAIAgentSpec(ChatKeys):
    """A chat model as the agent: its system prompt, and the tools of the environment."""

    model: ModelSpec
    system: str = ""


_Path = Annotated[Text, Says("a dotted path into the answer, such as choices.0.message.content")]


class Posted(Written):
    """What is posted to an endpoint each turn, and where its answer holds what; dotted paths lead into the answer."""

    headers: Headers = {}
    """Headers of every request."""
    body: Annotated[Free, Holds("a mapping to post, with $message, $messages, $session_id and others in it")] = {
        "message": "$message",
        "session_id": "$session_id",
    }
    """The JSON to post; `$message`, `$messages`, `$session_id`, `$session`, `$context`, `$tools` and `$decisions` stand
    for values."""
    reply: _Path = "reply"
    """Where the text of the reply stands."""
    calls: _Path = ""
    """Where the list of the tool calls stands."""
    call: Annotated[
        dict[Annotated[str, Choice(values=("name", "arguments", "result", "error", "id"))], _Path],
        Holds("{name: …, arguments: …, result: …, error: …, id: …}: paths within each call"),
    ] = {}
    """Where each call holds name, arguments, result, error and id."""
    approvals: _Path = ""
    """Where the list of the approvals stands that the agent asks for."""
    session: _Path = ""
    """Where the server names the session."""
    stop: _Path = ""
    """Where it stands that the agent closed the conversation."""
    output: _Path = ""
    """Where a typed answer stands."""
    reset: ResetRequest = ""
    """A request, as `POST /path`, made before each run; runs that share what it resets take turns."""
    seconds: Seconds = 60.0
    """Seconds that a turn may take."""


class HttpAgentSpec(Posted):
    """An agent behind an HTTP endpoint.

    `app` is the import path of an ASGI app that is played in this process, of a `factory` that gives one where that is
    set; `url` may then be a path of it. `serve` is started for the runs; `{port}` in `url` is where it listens.
    """

    url: str = "/"
    app: str = ""
    factory: bool = False
    serve: ServiceSpec | None = None

    @property
    def address(self) -> str:
        """Where a turn is posted to; an app is called `app` where the suite names no host."""
        return f"http://app{self.url}" if self.app and self.url.startswith("/") else self.url

    @property
    def makes_calls(self) -> bool:
        """Whether the endpoint makes the calls of its agent itself, and tells what they gave."""
        return "result" in self.call

    @property
    def takes_turns(self) -> bool:
        """Whether one run has the endpoint at a time: all share it, and it is reset for each."""
        return bool(self.reset) and (self.serve is None or self.serve.share == "session")


class AgentSpec(Model):
    """Where the agent comes from.

    `factory`: import path called once per run. `callable`: import path of a plain reply function. `openai`: a chat
    model with the environment's tools. `http`: an endpoint. `transcripts`: files of recorded conversations, scored
    without running anything. `serial` runs one at a time. `upstream` is the model server that a factory's `base_url`
    leads to, "" where the factory's own default says it.
    """

    kind: Literal["factory", "callable", "openai", "http", "transcripts"]
    target: str = ""
    files: tuple[Path, ...] = ()
    serial: bool = False
    upstream: str = ""
    price: Price | None = None
    openai: OpenAIAgentSpec | None = None
    http: HttpAgentSpec | None = None


AuditorMode = Literal["off", "flags", "decide"]
"""What an auditor may do: nothing since it is not asked, flag what it sees, or decide by it."""


class UserKeys(Written):
    """How a model plays the simulated user."""

    modifiers: Modifiers = ()
    """Ways in which it behaves, in every scenario that they fit."""
    critique: Annotated[int, Choice("how often a conversation that is not over goes on: 1 or 2", (1, 2))] = 0
    """How often a conversation that the user closes is resumed where a judge says that it is not over."""


class UserSpec(UserKeys):
    """Who plays the simulated user: the script, or a model."""

    kind: Literal["scripted", "llm"] = "scripted"
    model: ModelSpec | None = None


class CalibrationSpec(Model):
    """The figures that a judge must have: a file of `agentbench calibrate`, and the least kappa, None for any."""

    file: Path
    kappa: float | None = None


class JudgeKeys(Written):
    """How the judge's model is asked."""

    votes: Annotated[Literal[1, 3, 5, 7, 9], Choice("how often a judge is asked: 1, 3, 5, 7 or 9")] = 1
    """How often it is asked, an odd number up to 9; the median or the majority counts."""
    sees: Annotated[
        Sees,
        Choice("goal: also what the user wants, policies and expected effects; conversation: not these"),
    ] = "goal"
    """What it sees beside the conversation: `goal` or `conversation`."""
    notes: Annotated[Flag, Says("true or false: whether it is shown notes on each call")] = False
    """Whether it sees a note on each call: how it went, and where its arguments came from."""


class JudgeSpec(JudgeKeys):
    """The model that judges what code cannot; without figures as `calibration` asks for, no session is judged by it."""

    model: ModelSpec
    calibration: CalibrationSpec | None = None


class CassetteKeys(Written):
    """How requests are compared with recorded ones."""

    expected: ClassVar[str] = "{file: …, ignore: […], unrecorded: skip}"

    ignore: Annotated[
        Names, Holds("a list of regular expressions for what makes no difference between two requests")
    ] = ()
    """Regular expressions: what they match, times and ids say, makes no difference between two requests."""
    unrecorded: Annotated[
        Literal["fail", "skip"], Choice("what a replay does with runs of which nothing is recorded: fail or skip")
    ] = "fail"
    """What a replay does with runs of which nothing is recorded."""


class CassetteSpec(CassetteKeys):
    """Where model calls are recorded (None: beside the suite file), and what requests are compared without."""

    file: Path | None = None


class ToolsSpec(Model):
    """Where tools come from: `python` is executed anew per run, `schema` is a file that only describes them.

    `openapi` and `mcp` are executed by another process, which `remote` tells how to reach; `target` names it. `prefix`
    is put before the names of the tools, as the agent and the scenarios see them.
    """

    kind: Literal["python", "schema", "openapi", "mcp"]
    target: str
    remote: OpenApiSpec | McpSpec | None = None
    prefix: str = ""


class Compared(Written):
    """How two states are compared."""

    expected: ClassVar[str] = "{ignore: […], unordered: […]} beside an environment that brings its own state"

    ignore: Annotated[Names, Holds("a list of path patterns left out of comparisons, such as orders.*.updated_at")] = ()
    """Path patterns left out of comparisons, such as `orders.*.updated_at`."""
    unordered: Annotated[
        Names, Holds("a list of path patterns of lists whose order makes no difference, such as orders.*.items")
    ] = ()
    """Path patterns of lists whose order makes no difference, such as `orders.*.items`."""


class StateSpec(Compared):
    """Where state comes from: `sqlite`, `json`, the import path of a state provider (`own`), a `plugin`, an `offered`
    environment, or what remote `tools` tell of it; `options` are the provider's own.
    """

    kind: Literal["sqlite", "json", "own", "plugin", "offered", "tools"]
    options: dict[str, Any] = {}


class OfferedSpec(Model):
    """An environment that a plugin offers: the key that names it, its options as written, and whence files are seen."""

    name: str
    options: dict[str, Any]
    folder: Path


class EnvironmentSpec(Model):
    """Tools, of any number of providers, and state; each is optional. `reads` and `writes` settle what a tool does
    where it does not say; `seen` are tools that were seen to write, which settles it where nobody does. `named` are
    those that scenarios expect or forbid.

    What is `offered` stands in place of both parties' tools; the state is then its own, too. `now` is the suite's
    clock, which tools get that declare it.
    """

    tools: tuple[ToolsSpec, ...] = ()
    user_tools: tuple[ToolsSpec, ...] = ()
    state: StateSpec | None = None
    offered: OfferedSpec | None = None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    now: datetime | None = None

    @property
    def providers(self) -> tuple[ToolsSpec, ...]:
        """Where the tools of both parties come from."""
        return (*self.tools, *self.user_tools)


class RecipeKeys(Written):
    """What a recipe says of the scenarios, how they are made, and of what may be called for it."""

    count: Annotated[Whole, Field(ge=1, le=100_000), Says("a number of scenarios from 1 to 100000")] = 50
    """How many scenarios."""
    seed: Whole = 0
    """The seed of every choice."""
    languages: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*\Z"), Says("a language")], ...],
        Holds("a list of the users' languages, such as [en, fr]", 1),
    ] = ()
    """The languages of the users; beyond `en`, `de`, `es`, `fr` they need a model; without it, the suite's."""
    shape: Annotated[
        Literal["conversation", "react"],
        Choice("conversation (the user speaks again and again), or react (once, then calls to the end)"),
    ] = "conversation"
    """`conversation`: the user speaks before each chain of calls; `react`: the user speaks once."""
    chains: Annotated[
        Literal["deeds", "walks", "goals"],
        Choice("where calls come from: deeds (one each), walks (through the tool graph), or goals (a model plays)"),
    ] = "deeds"
    """Where calls come from: `deeds` (one each), `walks` of several requests, or `goals` that a model pursues."""
    walk: Annotated[
        Literal["exact", "paper"],
        Choice("exact (sets of exactly the level), or paper (IntellAgent's Algorithm 1, which overshoots)"),
    ] = "exact"
    """How sets of policies are drawn: `exact`, or `paper` (IntellAgent's algorithm)."""
    steps: Annotated[
        Literal["weighted", "uniform", "max"],
        Choice("how the next policy of a set is chosen: by the weights, evenly, or the highest weight"),
    ] = "weighted"
    """How the next policy of a set is drawn: `weighted`, `uniform` or `max`."""
    validators: Annotated[
        tuple[ImportPath, ...], Holds("a list of import paths of functions that check generated rows", 1)
    ] = ()
    """Import paths of functions that check generated rows."""
    enriched: Annotated[Share, Says("the share of scenarios with a planned failure, from 0 to 1")] = 0.1
    """The share of scenarios in which a tool refuses or finds nothing; the same of a no, and of one too many."""
    personas: Annotated[Whole, Field(ge=1, le=20), Says("users per scenario, from 1 to 20")] = 1
    """Users per scenario; each one after the first has a modifier."""
    pool: Annotated[Whole, Field(ge=1, le=1000), Says("verified calls per tool, from 1 to 1000")] = 12
    """Verified calls per tool."""
    allow_writes: Annotated[Flag, Says("true: tools that change state may be tried")] = False
    """Whether tools that write may be called where nothing can be reset."""
    trust_annotations: Annotated[
        Flag, Says("true: what servers tell of their tools (readOnlyHint, GET) counts as declared")
    ] = False
    """Whether it counts as declared what a server says of its tools."""
    allow: Annotated[tuple[ToolName, ...], Holds("a list of tools that may be called whatever they do", 1)] = ()
    """Tools that may be called whatever they do."""
    weights: Annotated[
        Literal["uniform", "conditioned", "prompting", "empirical", "traces"],
        Choice("where transition probabilities come from"),
    ] = "uniform"
    """Where the weights of steps come from: `uniform`, `conditioned`, `traces`, `prompting` or `empirical`."""
    candidates: Annotated[
        Whole,
        Field(ge=1, le=20),
        Says("walks drawn for each scenario, of which the most plausible are kept, from 1 to 20"),
    ] = 1
    """Walks drawn for each scenario; the most plausible one is kept."""
    values: Annotated[
        dict[
            str,
            Annotated[
                tuple[Any, ...], Holds("a list of values (an empty one: an optional argument that no user gives)")
            ],
        ],
        Holds("a mapping of arguments, or tool.argument, to lists of values that exist", 1),
    ] = {}
    """Values that exist, by argument: `{city: [Nantes, Brest]}`; without it, those of the state."""
    review: Annotated[
        ReviewMode, Choice("pending: a scenario counts once a reviewer accepted it; off: it counts at once")
    ] = "pending"
    """`pending`: a scenario counts once somebody accepted it; `off`: at once."""
    roles: Annotated[
        tuple[Annotated[Filled, Says("the name of a role")], ...],
        Holds("a list of the roles that the model plays; without it, all", 1),
    ] = ()
    """The roles that the model plays; without it, all."""


class GenerateSpec(RecipeKeys):
    """The recipe of `agentbench generate`: what scenarios are made from, how many, and where they are written.

    `out` is a folder. `shortest` and `longest` bound a walk in nodes (§4.4). `complexity` maps classes or levels to
    shares of the scenarios, {} leaves them to the pipeline. `levels` are the least and the most complexity of scenarios
    of policies (None: not written), `document` is where these are read from (None: the suite's own), `traces` are the
    logs that weights come from. `agents` are the suites of other agents by name, whose graphs stand in
    the place of tools. `model` plays the roles; with None, code does what it can without them.
    """

    source: Literal["tools", "policies"]
    out: Path = Path("generated")
    shortest: int = 6
    longest: int = 25
    complexity: dict[str, float] = {}
    levels: tuple[int, int] | None = None
    document: Path | None = None
    traces: tuple[Path, ...] = ()
    agents: dict[str, Path] = {}
    model: ModelSpec | None = None


class Suite(Model):
    """A suite file, read and checked. `root` is the folder that import and file paths resolve from.

    `language` is that of its scripted users' lines, where a scenario does not say another. `auditor` is None where the
    suite does not say what it may do.

    `variants` maps a name to the keywords of the factory; it is empty where the suite declares none.
    `faults` are what each scenario runs under, one after the other, `()` for none; it is empty where none are declared.
    `secrets` are the values of `${VAR}`s, redacted wherever they would be written. `trials` is None when not declared;
    `stops_early` leaves out those that are not needed any more. `rejected` names the scenarios that a reviewer
    rejected; they are not among `scenarios`.
    """

    name: str
    owner: str = ""
    path: Path
    root: Path
    agent: AgentSpec
    variants: dict[str, dict[str, Any]] = {}
    environment: EnvironmentSpec = EnvironmentSpec()
    user: UserSpec = UserSpec()
    language: str = "en"
    cassette: CassetteSpec = CassetteSpec()
    judge: JudgeSpec | None = None
    auditor: AuditorMode | None = None
    rubric: Rubric | None = None
    policies: tuple[Policy, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    rejected: tuple[str, ...] = ()
    limits: Limits = Limits()
    stall: Thresholds = Thresholds()
    gates: tuple[str, ...] = ()
    trials: int | None = None
    stops_early: bool = False
    faults: tuple[tuple[FaultSpec, ...], ...] = ()
    context: dict[str, Any] = {}
    generate: GenerateSpec | None = None
    secrets: tuple[str, ...] = ()
    content_hash: str = ""

    @property
    def now(self) -> datetime | None:
        """What the clock of every run shows, None where the suite does not say; nobody reads a real one."""
        return self.environment.now

    def is_pending(self, scenario: Scenario) -> bool:
        """Whether a scenario is in no rate and no gate, since nobody has accepted it as it is."""
        is_asked = self.generate is None or self.generate.review != "off"
        return is_asked and scenario.review is not None and scenario.review.waits
