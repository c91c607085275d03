"""Whose refusal it was, where a tool refuses a request that rules forbid: that of a rule, or of something else.

Nothing reads what a tool says. A refusal is a rule's where requests that keep the rule are not refused, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_agentbench.generation.policies.events.requests import Request


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A request as it was tried: the rules that forbid it, and whether its tool refuses it."""

    request: Request
    broken: frozenset[str]
    refused: bool


def refused_otherwise(one: Tried, others: Sequence[Tried]) -> frozenset[str]:
    """Give the rules that forbid a request and are no reason of its refusal, as far as other requests show.

    A booking that has ended is extended by 8 nights, where a rule allows for 7 and the tool refuses:

    - by 7 nights it is refused, too, though no rule forbids that: the refusal is no rule's;
    - elsewhere 8 nights are accepted: the tool does not know this rule;
    - another request that only *confirmed bookings* forbids is refused: that rule explains this refusal already.
    """
    if not one.refused or not one.broken:
        return frozenset()
    alike = [other for other in others if other.request.tool == one.request.tool]
    about_it = [other for other in alike if other.request.focus == one.request.focus]
    if any(not other.broken and other.refused and _one_apart(other.request, one.request) for other in about_it):
        return one.broken
    unknown = {rule for other in alike if not other.refused for rule in other.broken if len(other.broken) == 1}
    smaller = {other.broken for other in alike if other.refused and other.broken and other.broken <= one.broken}
    least = {rules for rules in smaller if not any(less < rules for less in smaller)}
    return frozenset(rule for rule in one.broken if rule in unknown or not any(rule in rules for rules in least))


def _one_apart(first: Request, second: Request) -> bool:
    """Whether two requests differ in the value of one argument."""
    return sum(one != other for one, other in zip(first.values, second.values, strict=True)) == 1
