"""What the oracle decides on: requests and the sampled rows they are about, then the calls that were made for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.generation.policies.events.acts import Proposal
from pytest_agentbench.generation.policies.events.conditions import Condition
from pytest_agentbench.generation.policies.events.occasions import Occasion
from pytest_agentbench.generation.policies.events.samples import Place
from pytest_agentbench.generation.tools.world import Answer


class OracleError(Exception):
    """No right run could be found for a set of policies; says why."""


@dataclass(frozen=True, kw_only=True)
class Act:
    """One request: a tool, the row it is about, whether policies allow it, and which refuse it.

    `occasion` is what else happens; `owner` the row that the focus belongs to, where that is not the event's own root.
    `changes` are values of the focus that differ from the sampled row's.
    """

    tool: str
    focus: Place
    choice: int
    refused_by: tuple[Condition, ...] = ()
    occasion: Occasion | None = None
    owner: Place | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_refused(self) -> bool:
        """Whether a right run does not do it: a policy refuses it, it is somebody else's, or the user says no."""
        return bool(self.refused_by) or self.is_("stranger", "second", "declined")

    def is_(self, *kinds: str) -> bool:
        """Whether one of these happens."""
        return self.occasion is not None and self.occasion.kind in kinds

    @property
    def is_plain(self) -> bool:
        """Whether it is asked for, allowed and done, and nothing else happens."""
        return not self.refused_by and self.occasion is None


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What an event will be about, told by sampled rows; `unproven` says that the user offers no proof of who it is."""

    root: Place
    acts: tuple[Act, ...]
    unproven: tuple[Occasion, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A value that the agent has to tell: its name in words, how it is told, for which policy it is.

    Where the user asks for it, `question` is what it asks for, and `call` the lookup that tells it.
    """

    name: str
    text: str
    policy: str = ""
    evidence: str = ""
    question: str = ""
    call: Proposal | None = None


@dataclass(frozen=True, kw_only=True)
class Performed:
    """The calls of a right run, made: `expected` with what each gave, `forbidden` those that were not made.

    `firsts` are calls that the user names first and then corrects, by the position of the act; `failing` are tools that
    fail in the event; `ordered` says that the order of calls decides about a policy.
    """

    expected: tuple[Proposal, ...]
    answers: tuple[Answer, ...]
    acts: tuple[tuple[Act, Proposal], ...]
    forbidden: tuple[Proposal, ...] = ()
    wrote: bool = False
    firsts: Mapping[int, Proposal] = field(default_factory=dict)
    failing: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    unproven: tuple[Occasion, ...] = ()
    ordered: bool = False
