"""What the oracle decides on: requests and the sampled rows they are about, then the calls that were made for them."""

from dataclasses import dataclass

from pytest_agentbench.generation.policies.acts import Proposal
from pytest_agentbench.generation.policies.conditions import Condition
from pytest_agentbench.generation.policies.samples import Place
from pytest_agentbench.generation.tools.world import Answer


class OracleError(Exception):
    """No right run could be found for a set of policies; says why."""


@dataclass(frozen=True, kw_only=True)
class Act:
    """One request: a tool, the row it is about, whether policies allow it, and which refuse it."""

    tool: str
    focus: Place
    choice: int
    refused_by: tuple[Condition, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Whether a policy refuses it."""
        return bool(self.refused_by)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What an event will be about, told by sampled rows."""

    root: Place
    acts: tuple[Act, ...]


@dataclass(frozen=True, kw_only=True)
class Performed:
    """The calls of a right run, made: `expected` with what each gave, `forbidden` those that were not made."""

    expected: tuple[Proposal, ...]
    answers: tuple[Answer, ...]
    acts: tuple[tuple[Act, Proposal], ...]
    forbidden: tuple[Proposal, ...] = ()
    wrote: bool = False
