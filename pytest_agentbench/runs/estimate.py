"""What a session may take, told before it begins: runs, turns, model calls, and money as far as that is known."""

from collections.abc import Mapping, Sequence

from pytest_agentbench.core.suite import JudgeSpec
from pytest_agentbench.runs.auditing import may_audit
from pytest_agentbench.runs.plan import RunPlan

MOST_FOR_AN_ANSWER = 4
"""A role is asked once more where its answer has not the form, and both again where code finds fault with it."""


def estimate(plans: Sequence[RunPlan], costs: Mapping[str, float], *, judges: bool = True) -> str:
    """Say how many runs there are and what they take at most; with `judges` False no model judges them.

    `costs` are US dollars that a run of a suite took on average when it was last run, by the suite's key.
    """
    played = [plan for plan in plans if plan.recording is None]
    recorded = len(plans) - len(played)
    facts = []
    if played:
        facts.append(
            f"at most {sum(plan.limits.turns for plan in played)} agent turns, {_calls(played, judges=judges)}"
        )
    if recorded:
        asked = sum(_most_calls(plan, judges=judges) for plan in plans if plan.recording is not None)
        told = f", at most {asked} model calls to judge them" if asked else ""
        facts.append(f"{recorded} recorded, nothing is played{told}")
    if paying := [plan for plan in plans if _most_calls(plan, judges=judges)]:
        known = [plan for plan in paying if plan.suite_key in costs]
        total = sum(costs[plan.suite_key] for plan in known)
        told = f"about {total:.2g} USD by the last results" if len(known) == len(paying) else "cost unknown"
        facts.append(told)
    return f"{len(plans)} run{'' if len(plans) == 1 else 's'}; {'; '.join(facts)}"


def _calls(plans: Sequence[RunPlan], *, judges: bool) -> str:
    most = sum(_most_calls(plan, judges=judges) for plan in plans)
    own = [plan for plan in plans if plan.suite.agent.openai is None]
    note = " (the agent's are its own)" if own else ""
    return f"{most} model calls of our own{note}" if len(own) == len(plans) else f"{most} model calls{note}"


def _most_calls(plan: RunPlan, *, judges: bool) -> int:
    limits, played = plan.limits, plan.recording is None
    calls = 0
    if plan.suite.user.model is not None and played:
        calls += MOST_FOR_AN_ANSWER * (limits.turns + 1)
    if plan.suite.agent.openai is not None:
        # each call of the agent's model ends a turn or makes a tool call, of which there are only so many
        calls += limits.turns + limits.tool_calls
    if judges and plan.suite.judge is not None:
        calls += MOST_FOR_AN_ANSWER * _most_judgements(plan, plan.suite.judge)
    return calls if limits.model_calls is None else min(calls, limits.model_calls)


def _most_judgements(plan: RunPlan, judge: JudgeSpec) -> int:
    """Count what a judge may be asked about a run: votes, τ²'s assertions, the audit and endings."""
    rubric = plan.suite.rubric if plan.scenario.rubric is None else plan.scenario.rubric
    votes = judge.votes if rubric is not None and rubric.judged else 0
    criteria = plan.scenario.task.evaluation_criteria
    asserted = bool(criteria is not None and criteria.nl_assertions)
    critiques = plan.suite.user.critique if plan.recording is None else 0
    return votes + asserted + may_audit(plan) + critiques


def asks_models(plan: RunPlan) -> bool:
    """Whether a model plays a role in a run that is not the agent's own affair."""
    return any(role is not None for role in (plan.suite.user.model, plan.suite.agent.openai, plan.suite.judge))
