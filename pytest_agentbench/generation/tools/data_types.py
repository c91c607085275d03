"""What the stages hand to each other and save: cards, semantic types, the graph, walks, verified calls.

The stages and their values are those of tool-to-scenario (§3.3, §4.1–4.4, Annexes B and D).
"""

from typing import Any, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from pytest_agentbench.core.base import Model

RUN_CONVERSATION = "Run_Conversation"
"""The node of the user's turns: the start of every walk (§4.3)."""

END_OF_SIMULATION = "End_of_Simulation"
"""The node in which every walk ends (§4.3)."""

ProbeKind = Literal[
    "nominal", "boundary", "missing", "wrong_type", "out_of_range", "cross_parameter", "observed", "proposed"
]
"""Why a probe was made; `observed` uses values of other tools' results, `proposed` is a model's."""

Cure = Literal[
    "",
    "environment.reads",
    "environment.writes",
    "generate.trust_annotations",
    "generate.allow_writes",
    "generate.allow",
]
"""The key of a suite that would have a tool called."""

Verdict = Literal["ok", "empty", "refused", "broken", "environment"]
"""What a probe's result means, whatever its error flag says.

ok: it did what the tool is for. empty: an answer without content. refused: the input was not accepted. broken: the tool
failed on input that its declaration admits. environment: credentials, network or time, no fact about the tool.
"""


class Probe(Model):
    """One call made to learn about a tool: `seconds` is its latency, `content` the result as text, redacted."""

    kind: ProbeKind
    arguments: dict[str, Any]
    content: str = ""
    error: bool = False
    verdict: Verdict = "ok"
    reason: str = ""
    seconds: float = 0.0


class ParameterCard(Model):
    """What is known of one argument, `path` being its name, dotted where it lies inside an object.

    `declared_required` is what the schema says, `required` what probing found (None: not found out). `accepted` and
    `refused` are values seen to be, `domain` says in words what is accepted, `no_effect` that no value of it made a
    difference.
    """

    path: str
    schema_: dict[str, Any] = {}
    declared_required: bool = False
    required: bool | None = None
    accepted: tuple[Any, ...] = ()
    refused: tuple[Any, ...] = ()
    domain: str = ""
    no_effect: bool = False


class Divergence(Model):
    """One place where a tool does other than it declares; `kind` names it, `evidence` are indexes of probes."""

    kind: str
    parameter: str = ""
    declared: str = ""
    actual: str = ""
    evidence: tuple[int, ...] = ()


class FailureMode(Model):
    """A way in which a tool fails, with a recorded example."""

    when: str
    example: dict[str, Any] = {}
    answer: str = ""


class Card(Model):
    """The identity card of a tool (Annex B, §4.1).

    `output` is the effective schema of what it returns. `partial` says why the card is incomplete, "" where it is not
    (the quality alert). `latency` is the median in seconds. `closed` tells whether arguments that the schema does not
    name are refused (None: not found out), `called` whether it may be called, `safety` why, `cure` the key of
    the suite that would allow it. `opener` is the tool that must be called first in each conversation, which says whose
    affairs the calls are about; "" where none must.
    """

    tool: str
    declared_description: str = ""
    actual_description: str = ""
    trigger: str = ""
    consumes: tuple[str, ...] = ()
    produces: tuple[str, ...] = ()
    parameters: tuple[ParameterCard, ...] = ()
    output: dict[str, Any] = {}
    failure_modes: tuple[FailureMode, ...] = ()
    divergences: tuple[Divergence, ...] = ()
    probes: tuple[Probe, ...] = ()
    writes: bool | None = None
    destructive: bool = False
    latency: float | None = None
    partial: str = ""
    closed: bool | None = None
    called: bool = True
    safety: str = ""
    cure: Cure = ""
    opener: str = ""

    @model_serializer(mode="wrap")
    def _without_nothing(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        saved: dict[str, Any] = handler(self)
        return saved if self.opener else {key: value for key, value in saved.items() if key != "opener"}


class Flow(Model):
    """A value that one tool gave and another accepted (§4.2, observed): `values` are such values.

    `source_path` and `pattern` say where it stood as a `Place` does, `target_path` is the argument's.
    `refused` are values of the same shape that were not accepted; without any, names are what joins the two.
    """

    source: str
    source_path: str
    pattern: str = ""
    target: str
    target_path: str
    values: tuple[Any, ...] = ()
    refused: tuple[Any, ...] = ()


class Cards(Model):
    """All cards, in the tools' order; `flows` are what was seen between tools, `unfit` what was tried in vain,
    `repeated` flows from reads that only give back what they were given.
    """

    cards: tuple[Card, ...] = ()
    flows: tuple[Flow, ...] = ()
    unfit: tuple[Flow, ...] = ()
    repeated: tuple[Flow, ...] = ()

    def get(self, tool: str) -> Card | None:
        """Find the card of a tool."""
        return next((card for card in self.cards if card.tool == tool), None)


class Place(Model):
    """Where a semantic type meets a tool: `path` is dotted into the arguments or the result, `*` for any list entry.

    `pattern` is a regular expression with one group for a value that stands inside prose, "" where the value is whole.
    A path leads through JSON that stands inside a string as through any other.
    """

    tool: str
    path: str
    pattern: str = ""


class SemanticType(Model):
    """A concept that flows between tools (§4.2): an ASCII snake_case id, at most one parent, who makes and takes it.

    `evidence` are values that a producer gave and a consumer accepted.
    """

    id: str
    parent: str | None = None
    produced: tuple[Place, ...] = ()
    consumed: tuple[Place, ...] = ()
    evidence: tuple[Any, ...] = ()

    @property
    def is_connector(self) -> bool:
        """Whether it makes edges: some tool produces it and some tool consumes it."""
        return bool(self.produced) and bool(self.consumed)


class Taxonomy(Model):
    """The semantic types of an environment; parents do not inherit their children's tools (D.1)."""

    types: tuple[SemanticType, ...] = ()


class Edge(Model):
    """A step that a conversation may take; `via` are the types, `reason` says why where none is. Where it `repeats`,
    the source only gives back what it was given: no call is made for that, though one may well follow.
    """

    source: str
    target: str
    via: tuple[str, ...] = ()
    reason: str = ""
    weight: float = 0.0
    repeats: bool = False


class Graph(Model):
    """The tool graph as data (§4.3): `to_networkx` in `graph.py` gives it as a graph. Rows of weights sum to 1.

    `agents` names the agent of each tool that another one than the suite's first has.
    """

    tools: tuple[str, ...] = ()
    edges: tuple[Edge, ...] = ()
    wildcards: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()
    weights: str = "uniform"
    agents: dict[str, str] = {}

    @model_serializer(mode="wrap")
    def _without_nothing(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        saved: dict[str, Any] = handler(self)
        if not self.agents:
            saved.pop("agents", None)
        return saved


class Walk(Model):
    """A path through the graph from `Run_Conversation` to `End_of_Simulation`; `enriched` names the planned failure."""

    id: str
    nodes: tuple[str, ...]
    enriched: str = ""


class PoolEntry(Model):
    """A call that was made and answered as it should: arguments never come from anywhere else but a result.

    `after` is the entry whose call had been made before in the same environment, "" for a call that works at once.
    `seen` says of a change that reads answered otherwise after it. `opener` is the entry whose call opens the session
    that it was made in, and says whose.
    """

    id: str
    tool: str
    arguments: dict[str, Any]
    content: str
    result: Any = None
    after: str = ""
    seen: bool = False
    opener: str = ""

    @model_serializer(mode="wrap")
    def _without_nothing(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        saved: dict[str, Any] = handler(self)
        return {key: value for key, value in saved.items() if value or key not in ("after", "seen", "opener")}
