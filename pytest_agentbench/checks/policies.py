"""Which policies a run exercised and which it broke, decided by their rules.

A rule is exercised when what sets it off occurred, and judges the agent's conduct: an attempt that the tool refused
breaks it as well. A policy without a rule, and every rule about calls where they are not visible, is left open.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_agentbench.checks.calls import CONTRADICTED
from pytest_agentbench.checks.effects import is_write_tool
from pytest_agentbench.checks.findings import finding, not_seen
from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.checks.rule_arguments import Heard, RuleFacts
from pytest_agentbench.core.errors import PatternBoundError
from pytest_agentbench.core.expression import every
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import PolicyOutcome, Run
from pytest_agentbench.core.verdict import Finding

if TYPE_CHECKING:  # few policies have a rule
    from pytest_agentbench.checks.rule_points import Judged


@dataclass(frozen=True)
class PolicyReport:
    """An outcome per policy, and a finding per broken rule and offending call or per exercised and kept rule.

    `undecided` are findings on rules whose own patterns could not be held against what was said, `unclear` the calls
    (their positions) of whose consent the auditor saw the opposite of what the user's acts say.
    """

    outcomes: tuple[PolicyOutcome, ...] = ()
    findings: tuple[Finding, ...] = ()
    undecided: tuple[Finding, ...] = ()
    unclear: Mapping[int, Heard] = field(default_factory=dict)


def check_policies(
    run: Run, resolve: Resolver | None = None, consents: Mapping[int, Heard] | None = None
) -> PolicyReport:
    """Judge every policy of the run; raise `ValueError` on a rule that is not well-formed.

    `consents` says of calls (their positions) what the auditor saw of the user's consent.
    """
    facts = RuleFacts(run, resolve, consents)
    outcomes: list[PolicyOutcome] = []
    findings: list[Finding] = []
    undecided: list[Finding] = []
    for policy in run.policies:
        try:
            outcome, found = _judge(policy, facts)
        except PatternBoundError as error:
            outcome, found = PolicyOutcome(policy=policy.id), []
            message = f"{run.key.suite}: {error}"
            undecided.append(finding(f"policy:{policy.id}", "check", False, message, policy=policy.id))
        outcomes.append(outcome)
        findings.extend(found)
    return PolicyReport(tuple(outcomes), tuple(findings), tuple(undecided), dict(facts.unclear))


def _judge(policy: Policy, facts: RuleFacts) -> tuple[PolicyOutcome, list[Finding]]:
    run = facts.run
    if policy.rule is None:
        return PolicyOutcome(policy=policy.id), []
    from pytest_agentbench.checks.rule_evaluation import judge_rule  # noqa: PLC0415 - few policies have a rule
    from pytest_agentbench.checks.rules import is_about_writes, read_rule, reads_calls  # noqa: PLC0415 - the same

    rule = read_rule(policy.rule)
    if reads_calls(rule) and not run.calls_visible:
        return PolicyOutcome(policy=policy.id), [not_seen(f"policy:{policy.id}", "policy", policy.id)]
    judged = judge_rule(rule, facts)
    if not judged:
        unsure = is_about_writes(rule) and any(is_write_tool(one, run.toolset) is None for one in run.calls)
        return PolicyOutcome(policy=policy.id, exercised=None if unsure else False), []
    kept = every(one.kept for one in judged)
    telling = [one for one in judged if one.kept is not True] if kept is not True else judged[:1]
    exercised = None if all(one.is_unsure for one in judged) else True
    findings = dict.fromkeys(_worded(policy, facts, one) for one in telling)
    return PolicyOutcome(policy=policy.id, exercised=exercised, kept=kept), list(findings)


def _worded(policy: Policy, facts: RuleFacts, judged: "Judged") -> Finding:
    """Word what was found at a point, with the turn where it shows, the call that it is about, and what is missing."""
    point, why = judged.point, judged.why
    record = None if point.call is None else facts.calls[point.call]
    message = point.message if judged.kept is not False or judged.message is None else judged.message
    about = f"{point.what} " if point.what else ""
    if judged.kept:
        text = f"kept: {point.what}" if point.what else "kept"
    elif judged.kept is None:
        text = f"not measured: {about}({why})" if about else f"not measured: {why}"
    elif record is not None and not why.startswith(("was ", "must ")):
        text = f"{about}was called {why}"
    elif point.handoff is not None and not why.startswith("must "):
        text = f"{about}took place {why}"
    else:
        text = f"{about}{why}"
    meant = ""
    if judged.kept is False and point.call is not None and policy.rule is not None:
        from pytest_agentbench.checks.rule_evaluation import forbids_expected  # noqa: PLC0415 - as above
        from pytest_agentbench.checks.rules import read_rule  # noqa: PLC0415 - as above

        meant = CONTRADICTED if forbids_expected(read_rule(policy.rule), point.call, facts) else ""
    return finding(
        f"policy:{policy.id}",
        "policy",
        judged.kept,
        text,
        policy=policy.id,
        turn=facts.run.transcript.turns[message] if message >= 0 else None,
        tool=record.call.name if record else None,
        cure=meant or judged.cure,
        proven=judged.kept is False and not judged.is_open and not meant,
    )
