"""The question that the auditor is asked, once per run: what it sees, with words of the run for each observation.

An observation counts only with words that stand in a turn of the right party. The answer is refused once where some do
not, with the reasons; what still has none then is dropped and counted. Words that stand in one such turn alone need no
right number: the turn is put right here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from pydantic import Field

from pytest_agentbench.checks.effects import is_write_tool
from pytest_agentbench.checks.judges.evidence import Evidence, Party, plain_marks
from pytest_agentbench.checks.judges.rubric_judge import Answer, ask
from pytest_agentbench.core.audit import (
    Audit,
    Claim,
    Consent,
    GoalItem,
    PolicyObservation,
    Seen,
    ToolUse,
    UserTurnObservation,
)
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.llm.protocols import Chat

TEMPLATE = "auditor.v1"
"""The template in force; a changed prompt is a new file, since recorded answers belong to the old one."""

AUDITOR = "auditor"
"""The role that is asked."""

MOST = 60
"""Observations of one kind that count, or as many as are asked for; a run has fewer, but for one that is made up."""

_MOST_FAULTS = 30
_MOST_VALUES = 20
"""Values of one claim, whose quote has 25 words at most."""
_LONGEST = {"quote": 1_000, "item": 300, "reason": 300}
"""Characters of what a model wrote that are kept."""

Q = TypeVar("Q", Claim, Consent, GoalItem, PolicyObservation, Seen, ToolUse, UserTurnObservation)


class Observations(Answer):
    """What was seen in the conversation."""

    claims: list[Claim] = Field(description="what the agent says that it did, and figures that it states")
    consents: list[Consent] = Field(description="one entry for each call that was asked about")
    goal_items: list[GoalItem] = Field(description="one entry for each thing that the user wants")
    policies: list[PolicyObservation] = Field(description="one entry for each policy id that was asked about")
    user_turns: list[UserTurnObservation] = Field(description="turns of the user that do not fit its role, mostly none")
    tool_use: ToolUse
    agent_appropriate: Seen = Field(description="whether the agent's conduct was appropriate")
    user_satisfied: Seen = Field(description="whether the user is satisfied in the end")


async def audit(chat: Chat, run: Run, *, policies: Sequence[Policy], evidence: Evidence, random: Random) -> Audit:
    """Give the observations of a run; what has no words in it was asked for once more, then dropped and counted.

    `policies` are those without a rule, `evidence` is what `evidence.of_audit` gives. Raise `UnusableAnswerError` where
    no answer can be used, and what `structured` raises.
    """
    calls = asked_consents(run)
    reading = _Reading(run, evidence, tuple(policy.id for policy in policies), tuple(calls))
    values = {
        "writes": ", ".join(f"call {number}" for number in calls) or "none",
        "policies": ", ".join(f"`{printable(one.id)}`" for one in policies) or "none",
    }
    readings: list[Audit] = []

    def faults(given: Observations) -> list[str]:
        read, found = reading.read(given)
        readings.append(read)
        return found[:_MOST_FAULTS]

    try:
        await ask(chat, Observations, TEMPLATE, data=[evidence], random=random, faults=faults, values=values)
    except UnusableAnswerError:
        if not readings:
            raise
    return readings[-1]  # what was said with words that stand there is no worse for the rest


def asked_consents(run: Run) -> dict[int, CallRecord]:
    """Give the agent's calls whose consent is asked about, by their number in the record: what writes, or may have."""
    return {
        number: record
        for number, record in enumerate(run.transcript.trajectory, start=1)
        if record.call.requestor == "assistant" and may_write(run, record)
    }


def may_write(run: Run, record: CallRecord) -> bool:
    """Whether a call is one of a tool that writes, or of which nothing says that it does not."""
    kind = is_write_tool(record, run.toolset)
    if kind is None:
        return record.result is None or record.result.wrote is not False
    return kind


@dataclass(frozen=True)
class _Reading:
    """What makes an answer an audit: the run, what was shown of it, and what was asked about."""

    run: Run
    evidence: Evidence
    policies: tuple[str, ...]
    calls: tuple[int, ...]

    def read(self, given: Observations) -> tuple[Audit, list[str]]:
        """Give what stands there, and what is wrong with the rest."""
        faults: list[str] = []
        exercised = [one for one in given.policies if one.status != "not exercised"]
        others = [one for one in given.policies if one.status == "not exercised"]
        idle = [_bounded(one.model_copy(update={"turn": 0, "quote": ""})) for one in others]
        seen = {
            name: self._kept(name, [getattr(given, name)], faults)
            for name in ("tool_use", "agent_appropriate", "user_satisfied")
        }
        claims = self._kept("claims", given.claims, faults, by="agent")
        consents = self._kept("consents", given.consents, faults, most=max(MOST, len(self.calls)))
        policies = self._kept("policies", exercised, faults, most=max(MOST, len(self.policies)))
        user_turns = self._kept("user_turns", given.user_turns, faults, by="user")
        items = self._kept("goal_items", given.goal_items, faults)
        faults += _missing("consents", [one.call for one in given.consents], self.calls)
        faults += _missing("policies", [one.policy for one in given.policies], self.policies)
        said = len(given.claims) + len(given.consents) + len(given.goal_items) + len(exercised) + len(given.user_turns)
        kept = len(claims) + len(consents) + len(items) + len(policies) + len(user_turns)
        audit = Audit(
            claims=tuple(map(self._valued, claims)),
            consents=tuple(_one_each(consents, "call", self.calls)),
            goal_items=tuple(items),
            policies=tuple(_one_each([*policies, *idle], "policy", self.policies)),
            user_turns=tuple(user_turns),
            dropped=said - kept + sum(not found for found in seen.values()),
            **{name: next(iter(found), None) for name, found in seen.items()},
        )
        return audit, faults

    def _kept(
        self, name: str, given: Sequence[Q], faults: list[str], *, by: Party | None = None, most: int = MOST
    ) -> list[Q]:
        """Give the observations whose words stand in a turn, put right where only its number is wrong."""
        kept: list[Q] = []
        for number, one in enumerate(given[:most], start=1):
            party: Party | None = "agent" if getattr(one, "status", "") == "violated" else by
            turns = self.evidence.turns_with(one.quote, party)
            if one.turn in turns or len(turns) == 1:
                turn = one.turn if one.turn in turns else turns[0]
                kept.append(_bounded(one.model_copy(update={"turn": turn})))
            else:
                faults.append(f"{name} {number}: {self._fault(one, turns, party)}")
        if len(given) > most:
            faults.append(f"{name}: {len(given)} are too many; give {most} at most")
        return kept

    def _fault(self, one: Q, turns: Sequence[int], party: Party | None) -> str:
        if not 1 <= one.turn <= self.evidence.last_turn:
            return f"there is no turn {one.turn}; the last one is {self.evidence.last_turn}"
        whose = f", as one of the {party}'s," if party else ""
        where = f"; these words stand in turns {', '.join(map(str, turns[:5]))}" if turns else ""
        return f"turn {one.turn}{whose} does not hold these words exactly{where}"

    def _valued(self, claim: Claim) -> Claim:
        """Give a claim without values that do not stand in its quote, and without a call that is none of the run's."""
        quote = plain_marks(claim.quote).casefold()
        stand_there = (one for one in claim.values if one.strip() and plain_marks(one).casefold() in quote)
        values = tuple(dict.fromkeys(stand_there))[:_MOST_VALUES]
        calls = len(self.run.transcript.trajectory)
        call = claim.call if claim.call is not None and 1 <= claim.call <= calls else None
        return claim.model_copy(update={"values": values, "call": call})


def _missing(name: str, given: Sequence[object], asked: Sequence[object]) -> Iterator[str]:
    """Say which entries are missing, given twice or about what was not asked."""
    yield from (f"{name}: no entry for {one}" for one in asked if one not in given)
    yield from (f"{name}: more than one entry for {one}" for one in asked if given.count(one) > 1)
    if others := len([one for one in given if one not in asked]):
        yield f"{name}: {others} entries are about what was not asked"


def _one_each(given: Sequence[Q], key: str, asked: Sequence[object]) -> Iterator[Q]:
    """Give what is said of each thing that was asked about; two that differ say nothing."""
    for name in asked:
        said = [one for one in given if getattr(one, key) == name]
        if len(said) == 1:
            yield said[0]


def _bounded(one: Q) -> Q:
    """Give an observation without the rest of what is too long."""
    texts = {name: shorten(getattr(one, name), most) for name, most in _LONGEST.items() if hasattr(one, name)}
    return one.model_copy(update=texts)
