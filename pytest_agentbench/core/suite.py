"""Suites: an agent, an environment, a simulated user, scenarios, limits and gates, as `agentbench.yaml` states them."""

from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.fault import FaultSpec
from pytest_agentbench.core.model import ModelSpec, Price
from pytest_agentbench.core.modifier import ModifierSpec
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.remote import McpSpec, OpenApiSpec
from pytest_agentbench.core.review import ReviewMode
from pytest_agentbench.core.rubric import Rubric, Sees
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.termination import Limits, Thresholds


class OpenAIAgentSpec(Model):
    """A chat model as the agent: its system prompt, and the tools of the environment.

    `rounds` bounds the model calls of one turn.
    """

    model: ModelSpec
    system: str = ""
    rounds: int = 20


class HttpAgentSpec(Model):
    """An agent behind an HTTP endpoint: what is posted each turn, and where its answer holds what.

    `app` is the import path of an ASGI app that is played in this process, of a `factory` that gives one where that is
    set; `url` may then be a path of it.
    `body` is a JSON template in which `$message`, `$messages`, `$session_id`, `$session`, `$context` and `$tools` stand
    for values, and `$decisions`. `reply`, `calls`, `approvals`, `session`, `stop` and `output` (a typed answer) are
    dotted paths into the answer;
    `call` maps name, arguments, result, error and id to paths within each call. `session` is what the server called the
    session in its last answer.
    """

    url: str = "/"
    app: str = ""
    factory: bool = False
    headers: dict[str, str] = {}
    body: dict[str, Any] = {"message": "$message", "session_id": "$session_id"}
    reply: str = "reply"
    calls: str = ""
    call: dict[str, str] = {}
    approvals: str = ""
    session: str = ""
    stop: str = ""
    output: str = ""
    seconds: float = 60.0

    @property
    def address(self) -> str:
        """Where a turn is posted to; an app is called `app` where the suite names no host."""
        return f"http://app{self.url}" if self.app and self.url.startswith("/") else self.url


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


class UserSpec(Model):
    """Who plays the simulated user: the script, or a model; `modifiers` apply to every scenario they fit.

    A conversation that a model closes is resumed at most `critique` times where a judge says that it is not over.
    """

    kind: Literal["scripted", "llm"] = "scripted"
    model: ModelSpec | None = None
    modifiers: tuple[ModifierSpec, ...] = ()
    critique: int = 0


class CalibrationSpec(Model):
    """The figures that a judge must have: a file of `agentbench calibrate`, and the least kappa, None for any."""

    file: Path
    kappa: float | None = None


class JudgeSpec(Model):
    """The model that judges what code cannot, and how often it is asked: an odd number of votes.

    `sees` says what a rubric's judge is shown beside the conversation, `notes` shows it notes on calls. Without figures
    as `calibration` asks for, no session is judged by it.
    """

    model: ModelSpec
    votes: int = 1
    sees: Sees = "goal"
    notes: bool = False
    calibration: CalibrationSpec | None = None


class CassetteSpec(Model):
    """Where model calls are recorded (None: beside the suite file), and what requests are compared without.

    `ignore` are regular expressions: what they match, times and ids say, makes no difference between two requests.
    `unrecorded` says what a replay does with runs of which nothing is recorded.
    """

    file: Path | None = None
    ignore: tuple[str, ...] = ()
    unrecorded: Literal["fail", "skip"] = "fail"


class ToolsSpec(Model):
    """Where tools come from: `python` is executed anew per run, `schema` is a file that only describes them.

    `openapi` and `mcp` are executed by another process, which `remote` tells how to reach; `target` names it. `prefix`
    is put before the names of the tools, as the agent and the scenarios see them.
    """

    kind: Literal["python", "schema", "openapi", "mcp"]
    target: str
    remote: OpenApiSpec | McpSpec | None = None
    prefix: str = ""


class StateSpec(Model):
    """Where state comes from: `sqlite`, `json`, the import path of a state provider (`own`), a τ² domain, or what
    remote `tools` tell of it.

    `options` are the provider's own. `ignore` are path patterns (`orders.*.updated_at`) left out of comparisons,
    `unordered` those of lists whose order makes no difference.
    """

    kind: Literal["sqlite", "json", "own", "plugin", "tau2", "tools"]
    options: dict[str, Any] = {}
    ignore: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()


class Tau2Spec(Model):
    """A domain of τ²-bench as tools and state; without a `checkout`, what is installed of it is looked for."""

    domain: str
    checkout: Path | None = None


class EnvironmentSpec(Model):
    """Tools, of any number of providers, and state; each is optional. `reads` and `writes` settle what a tool does
    where it does not say; `seen` are tools that were seen to write, which settles it where nobody does.

    `tau2` stands in place of both parties' tools; the state is then the domain's (`kind` tau2). `now` is the suite's
    clock, which tools get that declare it.
    """

    tools: tuple[ToolsSpec, ...] = ()
    user_tools: tuple[ToolsSpec, ...] = ()
    state: StateSpec | None = None
    tau2: Tau2Spec | None = None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    now: datetime | None = None

    @property
    def providers(self) -> tuple[ToolsSpec, ...]:
        """Where the tools of both parties come from."""
        return (*self.tools, *self.user_tools)


class GenerateSpec(Model):
    """The recipe of `agentbench generate`: what scenarios are made from, how many, and where they are written.

    `out` is a folder. `languages` are those of the users, () takes the suite's own. With `shape: react` the user speaks
    once, and the agent calls to the end (tool-to-scenario §6). `chains` of calls come from walks through the tool
    graph, or from goals that a model pursues. `shortest` and `longest` bound a walk in nodes (§4.4). `complexity` maps
    classes or levels to shares of the
    scenarios, {} leaves them to the pipeline. `levels` are the least and the most complexity of scenarios of policies
    (None: not written), `walk` and `steps` say how their sets are drawn, `document` is where these are read from (None:
    the suite's own), `validators` are import paths of checks of rows.
    `enriched` is the share of scenarios with a planned failure, `personas` the users per scenario, `pool` the verified
    calls per tool. Where nothing can be reset, `allow_writes` admits calls of tools that write, `trust_annotations`
    takes what servers tell of their tools for declared, and `allow` names tools that may be called whatever they do.
    `weights` says where transition probabilities come from, `traces` from which logs; of `candidates` walks drawn a
    scenario a judge keeps the plausible ones. `agents` are the suites of other agents by name, whose graphs stand in
    the place of tools. `values` are known ones by argument, or by `tool.argument`.
    With `review: off` scenarios that nobody reviewed count.
    `model` plays `roles` (() means all of them); with None, code does what it can without them.
    """

    source: Literal["tools", "policies"]
    count: int = 50
    seed: int = 0
    out: Path = Path("generated")
    languages: tuple[str, ...] = ()
    shape: Literal["conversation", "react"] = "conversation"
    chains: Literal["walks", "goals"] = "walks"
    shortest: int = 6
    longest: int = 25
    complexity: dict[str, float] = {}
    levels: tuple[int, int] | None = None
    walk: Literal["exact", "paper"] = "exact"
    steps: Literal["weighted", "uniform", "max"] = "weighted"
    document: Path | None = None
    validators: tuple[str, ...] = ()
    enriched: float = 0.1
    personas: int = 1
    pool: int = 12
    allow_writes: bool = False
    trust_annotations: bool = False
    allow: tuple[str, ...] = ()
    weights: Literal["uniform", "conditioned", "prompting", "empirical", "traces"] = "uniform"
    candidates: int = 1
    traces: tuple[Path, ...] = ()
    agents: dict[str, Path] = {}
    values: dict[str, tuple[Any, ...]] = {}
    review: ReviewMode = "pending"
    model: ModelSpec | None = None
    roles: tuple[str, ...] = ()


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
