"""The critique of policies that have no rule: which a run exercised, which it broke, with the turns that show it.

IntellAgent (section 3.3) asks a model the same of a dialogue without its tool calls. Here it sees them, what they
returned and what became of the data, and what it says only counts with words that stand in the record.
"""

from collections.abc import Sequence
from random import Random

from pydantic import Field

from pytest_agentbench.checks.judges.asking import ask
from pytest_agentbench.checks.judges.citations import Answer, Citation, citation_faults
from pytest_agentbench.checks.judges.evidence import Evidence
from pytest_agentbench.checks.judges.judge import id_faults
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Run
from pytest_agentbench.llm.seams import Chat

TEMPLATE = "policies.v1"
"""The template in force; a changed prompt is a new file, since recorded answers belong to the old one."""


class PolicyVerdict(Answer):
    """The verdict on one policy."""

    policy: str = Field(description="the id of the rule")
    evidence: list[Citation] = Field(description="the turns that the judgement rests on")
    reason: str = Field(description="one sentence")
    exercised: bool = Field(description="whether the conversation came to a point that the rule is about")
    violated: bool = Field(description="whether the agent broke the rule there")


class PolicyVerdicts(Answer):
    """One verdict for each rule."""

    verdicts: list[PolicyVerdict]


def open_policies(run: Run) -> tuple[Policy, ...]:
    """Give the policies of a run that no rule decides."""
    return tuple(policy for policy in run.policies if policy.rule is None)


async def critique_policies(
    chat: Chat, policies: Sequence[Policy], evidence: Evidence, *, random: Random
) -> list[PolicyVerdict]:
    """Give a verdict on each of `policies`, in their order.

    Raise `UnusableAnswerError` where an answer is refused twice, and what `structured` raises.
    """
    if not policies:
        return []
    given = await ask(
        chat,
        PolicyVerdicts,
        TEMPLATE,
        evidence=evidence,
        random=random,
        faults=lambda verdicts: _faults(verdicts, policies, evidence),
        values={"policies": "\n".join(f"- `{one.id}`: {' '.join(one.text.split())}" for one in policies)},
    )
    verdicts = {verdict.policy: verdict for verdict in given.verdicts}
    return [verdicts[policy.id] for policy in policies]


def breach(verdict: PolicyVerdict, evidence: Evidence) -> Citation | None:
    """Give the first citation of an agent's turn: where a violated policy was broken."""
    return next((citation for citation in verdict.evidence if evidence.is_agents(citation.turn)), None)


def _faults(given: PolicyVerdicts, policies: Sequence[Policy], evidence: Evidence) -> list[str]:
    wanted = [policy.id for policy in policies]
    faults = id_faults([verdict.policy for verdict in given.verdicts], wanted)
    for verdict in given.verdicts:
        if verdict.policy not in wanted:
            continue
        found = citation_faults(verdict.evidence, evidence)
        if verdict.violated and not verdict.exercised:
            found.append("it is violated, but not exercised; a rule that is broken was exercised")
        if verdict.exercised and not verdict.evidence:
            found.append("it is exercised, but no turn is quoted")
        if verdict.violated and not found and breach(verdict, evidence) is None:
            found.append("it is violated, but no turn of the agent is quoted; only the agent can break it")
        faults.extend(f"{verdict.policy}: {fault}" for fault in found)
    return faults
