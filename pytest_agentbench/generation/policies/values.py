"""What the stages hand to each other and save: flows, policies, their graph, sampled sets, events with their stages.

The stages are those of IntellAgent (§3.1): policies are extracted from a document and join a graph (§3.1.1), sets of
policies of a requested level are sampled from it (Algorithm 1), and each set becomes an event (§3.1.2, Table 3).
"""

from collections.abc import Iterable
from itertools import combinations
from typing import Annotated, Any, Literal

from pydantic import Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.scenario import ExpectedCall

MOST_LIKELY = 10
"""The highest weight of an edge: whenever one of the two policies matters the other does (§3.1.1: 1–10)."""

NEVER = 0
"""The weight of two policies that no conversation is about at once; the paper starts at 1, its code at 0."""

Challenge = Annotated[int, Field(ge=1, le=5)]
"""How hard a policy is to keep: 1 trivial, 3 moderate, 5 intricate."""

Weight = Annotated[float, Field(ge=NEVER, le=MOST_LIKELY)]

WalkMode = Literal["weighted", "uniform", "max"]
"""How the next policy is chosen (Table 1): in proportion to the weights, evenly, or the one of highest weight."""

Walk = Literal["exact", "paper"]
"""Whether sets have exactly the level asked for, or are drawn by Algorithm 1 as it stands, which overshoots."""

WeightSource = Literal["shared", "model", "conversations", "given"]
"""Where edge weights come from: shared headings, tools and columns, a model, real conversations, or a file."""


class Span(Model):
    """A place in a document: characters `start` to `end` (0-based, end excluded), lines 1-based, both included."""

    start: int
    end: int
    line: int = 1
    last_line: int = 1

    def overlap(self, other: "Span") -> int:
        """Count the characters that two places share."""
        return max(0, min(self.end, other.end) - max(self.start, other.start))


class Flow(Model):
    """A kind of conversation that a document describes; `spans` are the sections about it."""

    id: str
    title: str
    spans: tuple[Span, ...] = ()


class ExtractedPolicy(Model):
    """A rule found in a document, in its own words, or a suite's own policy.

    `flows` names every flow that states it, `spans` every place: what is said twice is one policy. `under` are the
    headings that it stands below, outermost first. `challenge`, `rule`, `tools` and `source` (the sentence that these
    were read from) are the suite's, or were proposed and stand in the file that people review. `note` says what the
    rule leaves out, or why there is none.
    """

    id: str
    text: str
    category: str = ""
    challenge: Challenge | None = None
    rule: dict[str, Any] | None = None
    tools: tuple[str, ...] = ()
    source: str = ""
    note: str = ""
    flows: tuple[str, ...] = ()
    under: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()

    @property
    def span(self) -> Span | None:
        """The place where it stands first; None where it was not read from a document."""
        return self.spans[0] if self.spans else None

    def policy(self) -> Policy:
        """Give it as suites state policies."""
        return Policy(
            id=self.id,
            text=self.text,
            challenge=self.challenge,
            category=self.category,
            rule=self.rule,
            tools=self.tools,
            source=self.source,
        )


class LeftOut(Model):
    """A passage of a document that became no policy, and why."""

    span: Span
    reason: str


class Extraction(Model):
    """What was read from one document; `document_hash` is the digest of its text, `by` who read it."""

    document: str = ""
    document_hash: str = ""
    by: str = ""
    flows: tuple[Flow, ...] = ()
    policies: tuple[ExtractedPolicy, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def get(self, policy: str) -> ExtractedPolicy | None:
        """Find a policy by its id."""
        return next((one for one in self.policies if one.id == policy), None)


class PolicyEdge(Model):
    """How likely two policies matter in one conversation, 0 (never) to 10 (always); `via` is what they share."""

    source: str
    target: str
    weight: Weight
    via: tuple[str, ...] = ()


class PolicyGraph(Model):
    """The policy graph as data (§3.1.1): undirected, each edge once; a missing edge weighs 0. `graph.py` computes it.

    `challenges` says where node challenges come from. `tools` maps a policy to the tools that it is about, if known.
    """

    policies: tuple[ExtractedPolicy, ...] = ()
    edges: tuple[PolicyEdge, ...] = ()
    weights: WeightSource = "given"
    challenges: Literal["document", "model", "results", "given"] = "document"
    tools: dict[str, tuple[str, ...]] = {}
    document_hash: str = ""

    def get(self, policy: str) -> ExtractedPolicy | None:
        """Find a policy by its id."""
        return next((one for one in self.policies if one.id == policy), None)


class PolicySet(Model):
    """Policies sampled for one event, in the order in which they were chosen; the first was allocated.

    `requested` and `realised` are levels: sums of challenges, or where policies have none, numbers of policies.
    `repeat` counts earlier sets of the same policies, which an event must then tell with other entities.
    """

    id: str
    first: str
    policies: tuple[str, ...]
    requested: int
    realised: int
    walk: WalkMode = "weighted"
    repeat: int = 0


class Cell(Model):
    """A first policy and a level."""

    first: str
    level: int


class Infeasible(Model):
    """A cell that no set of policies reaches exactly; `nearest` is the highest level below it that one does."""

    cell: Cell
    reason: str
    nearest: int | None = None


class Sampling(Model):
    """All sets sampled from a graph, and what could not be: `undecided` cells took longer to search than allowed."""

    sets: tuple[PolicySet, ...] = ()
    infeasible: tuple[Infeasible, ...] = ()
    undecided: tuple[Cell, ...] = ()
    seed: int = 0
    low: int = 1
    high: int = 1

    @property
    def repeats(self) -> int:
        """Count the sets that have the policies of an earlier one."""
        return sum(one.repeat > 0 for one in self.sets)


class Entity(Model):
    """Something an event is about: a symbol such as U1, what it is in words, and the table that its row stands in."""

    symbol: str
    table: str = ""
    description: str = ""


class Relation(Model):
    """That one entity names another: the `column` of `source`'s row holds the key of `target`'s."""

    source: str
    column: str
    target: str


class EventRow(Model):
    """One row for the initial state; `symbol` is the entity that it makes real, "" where it only completes others.

    `values` are JSON values by column; `bindings` are columns that hold another entity's key, by that entity's symbol.
    """

    table: str
    values: dict[str, Any]
    symbol: str = ""
    bindings: dict[str, str] = {}


class UserFact(Model):
    """Something that the simulated user knows and gives when asked; `symbol` and `column` say whose it is."""

    name: str
    value: Any
    symbol: str = ""
    column: str = ""


PolicyHandling = Literal["calls", "refuses", "fails", "said", "judge_only"]
"""What decides whether a policy was kept: calls that must happen, calls that must not, a call that fails and what is
said of it, what must be said, or a judge alone."""


class PolicyBinding(Model):
    """How one policy of an event is decided; `reason` says in words why it is so, always where only a judge can tell.

    `expected` and `forbidden` are positions in the event's lists of calls.
    """

    policy: str
    handling: PolicyHandling
    reason: str = ""
    expected: tuple[int, ...] = ()
    forbidden: tuple[int, ...] = ()


class Stages(Model):
    """The five stages of an event (Table 3), kept as its provenance: what each one had made of the one before."""

    level: int
    policies: tuple[str, ...]
    symbolic_description: str = ""
    symbolic_variables: tuple[Entity, ...] = ()
    scenario: str = ""


class Event(Model):
    """One event (§3.1.2): policies, a request that calls for them, and rows that make the request valid.

    `persona`, `goal`, `says` and `facts` are for the user, `expected_behaviour` is for the critique alone. `expected`
    are the calls of a right run, `forbidden` those that would break a policy, `communicate` what must be told,
    `failing` tools that fail whenever they are called; `ordered` says that the order of the expected calls counts,
    `unchanged` that a right run writes nothing. Policies that only a judge can decide are those whose binding says so.
    """

    id: str
    set: PolicySet
    stages: Stages
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    rows: tuple[EventRow, ...] = ()
    persona: str = ""
    goal: str = ""
    says: tuple[str, ...] = ()
    facts: tuple[UserFact, ...] = ()
    unknown: tuple[str, ...] = ()
    expected_behaviour: str = ""
    expected: tuple[ExpectedCall, ...] = ()
    forbidden: tuple[ExpectedCall, ...] = ()
    communicate: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    ordered: bool = False
    unchanged: bool = False
    bindings: tuple[PolicyBinding, ...] = ()
    language: Literal["en", "fr"] = "en"
    attempts: int = 1

    @property
    def judge_only(self) -> tuple[str, ...]:
        """The policies that no call decides."""
        return tuple(one.policy for one in self.bindings if one.handling == "judge_only")


class EventRejection(Model):
    """A set that became no event: at which stage, for which reason, after how many attempts."""

    set: str
    stage: Literal["symbols", "rows", "oracle", "story", "assembly", "validation"]
    reason: str
    detail: str = ""
    attempts: int = 1


def exercised(sets: Iterable[PolicySet]) -> set[str]:
    """Give the policies that some set has."""
    return {policy for one in sets for policy in one.policies}


def covered_pairs(sets: Iterable[PolicySet]) -> set[tuple[str, str]]:
    """Give the pairs of policies, each sorted, that some set has."""
    return {(a, b) for one in sets for a, b in combinations(sorted(set(one.policies)), 2)}
