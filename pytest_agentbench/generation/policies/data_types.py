"""What the stages hand on and save: the policies of a document, their graph, and the sets that are drawn from it.

The stages are those of IntellAgent (§3.1): policies are extracted from a document and joined in a graph (§3.1.1), sets
of policies of a requested level are drawn from it (Algorithm 1), and each set becomes an event (§3.1.2, Table 3).
"""

from collections.abc import Iterable
from itertools import combinations
from typing import Annotated, Any, Literal

from pydantic import Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.policy import Policy

MOST_LIKELY = 10
"""The highest weight of an edge: whenever one of the two policies matters the other does (§3.1.1: 1–10)."""

NEVER = 0
"""The weight of two policies that no conversation is about at once; the paper starts at 1, its code at 0."""

Challenge = Annotated[int, Field(ge=1, le=5)]
"""How hard a policy is to keep: 1 trivial, 3 moderate, 5 intricate."""

WalkMode = Literal["weighted", "uniform", "max"]
"""How the next policy is chosen (Table 1): in proportion to the weights, evenly, or the one of highest weight."""


class Span(Model):
    """A place in a document: characters `start` to `end` (0-based, end excluded), lines 1-based, both included."""

    start: int
    end: int
    line: int = 1
    last_line: int = 1


class Flow(Model):
    """A kind of conversation that a document describes; `spans` are the policies about it."""

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
        return Policy(**self.model_dump(exclude={"note", "flows", "under", "spans"}))


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


class PolicyEdge(Model):
    """How likely two policies matter in one conversation, 0 (never) to 10 (always); `via` is what they share."""

    source: str
    target: str
    weight: Annotated[float, Field(ge=NEVER, le=MOST_LIKELY)]
    via: tuple[str, ...] = ()


class PolicyGraph(Model):
    """The policy graph as data (§3.1.1): undirected, each edge once; a missing edge weighs 0.

    `weights` says where these come from. `tools` maps a policy to the tools that it is about, if known.
    """

    policies: tuple[ExtractedPolicy, ...] = ()
    edges: tuple[PolicyEdge, ...] = ()
    weights: Literal["shared", "model", "given"] = "given"
    tools: dict[str, tuple[str, ...]] = {}
    document_hash: str = ""


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


def exercised(sets: Iterable[PolicySet]) -> set[str]:
    """Give the policies that some set has."""
    return {policy for one in sets for policy in one.policies}


def covered_pairs(sets: Iterable[PolicySet]) -> set[tuple[str, str]]:
    """Give the pairs of policies, each sorted, that some set has."""
    return {(a, b) for one in sets for a, b in combinations(sorted(set(one.policies)), 2)}
