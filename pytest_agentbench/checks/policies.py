"""Which policies a run exercised and which it broke, decided by their rules.

A rule is exercised when a call that it is about was attempted, and judges the agent's conduct: an attempt that the
tool refused breaks it as well. A policy without a rule, and every rule where calls are not visible, is left open.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_agentbench.checks.effects import is_write_tool
from pytest_agentbench.checks.matchers import Resolver, matches
from pytest_agentbench.checks.permission import permission
from pytest_agentbench.checks.rules import AtMost, Before, Calls, ConfirmBefore, Never, Rule, read_rule
from pytest_agentbench.checks.wording import NOT_SEEN, call_text
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import PolicyOutcome, Run
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.core.verdict import Finding


@dataclass(frozen=True)
class PolicyReport:
    """An outcome per policy, and a finding per broken rule and offending call or per exercised and kept rule."""

    outcomes: tuple[PolicyOutcome, ...] = ()
    findings: tuple[Finding, ...] = ()


def check_policies(run: Run, resolve: Resolver | None = None) -> PolicyReport:
    """Judge every policy of the run; raise `ValueError` on a rule that is not well-formed."""
    outcomes: list[PolicyOutcome] = []
    findings: list[Finding] = []
    for policy in run.policies:
        if policy.rule is None:
            outcomes.append(PolicyOutcome(policy=policy.id))
        elif not run.calls_visible:
            outcomes.append(PolicyOutcome(policy=policy.id))
            findings.append(_finding(policy, None, NOT_SEEN))
        else:
            outcome, found = _judge(policy, read_rule(policy.rule), run, resolve)
            outcomes.append(outcome)
            findings.extend(found)
    return PolicyReport(tuple(outcomes), tuple(findings))


def _judge(policy: Policy, rule: Rule, run: Run, resolve: Resolver | None) -> tuple[PolicyOutcome, list[Finding]]:
    concerned = [record for record in run.calls if _is_concerned(rule.calls, record, run)]
    if not concerned:
        unsure = rule.calls == "writes" and any(is_write_tool(record, run.toolset) is None for record in run.calls)
        return PolicyOutcome(policy=policy.id, exercised=None if unsure else False), []
    broken = [
        _finding(policy, False, f"{call_text(record.call.name, record.call.arguments)} {reason}", record)
        for record, reason in _offences(rule, concerned, run, resolve)
    ]
    kept = [] if broken else [_finding(policy, True, "kept", concerned[0])]
    return PolicyOutcome(policy=policy.id, exercised=True, kept=not broken), broken or kept


def _is_concerned(calls: Calls, record: CallRecord, run: Run) -> bool:
    if calls == "writes":
        return is_write_tool(record, run.toolset) is True
    return record.call.name in calls


def _offences(
    rule: Rule, concerned: Sequence[CallRecord], run: Run, resolve: Resolver | None
) -> Iterator[tuple[CallRecord, str]]:
    """Give each offending call with what is wrong about it."""
    match rule:
        case Before():
            yield from _too_early(rule, concerned, run)
        case Never():
            with_these = " with these arguments" if rule.where else ""
            yield from (
                (record, f"must never be called{with_these}")
                for record in concerned
                if _fits(rule, record.call, resolve)
            )
        case ConfirmBefore():
            for record in concerned:
                asked = permission(run.transcript, record)
                if not asked.given:
                    yield (
                        record,
                        f"was called {asked.why_not}"
                        if not asked.why_not.startswith("the ")
                        else (f"was called, but {asked.why_not}"),
                    )
        case AtMost():
            done = [record for record in concerned if not record.failed]
            times = f"{rule.times} time{'' if rule.times == 1 else 's'}"
            yield from (
                (record, f"was call number {rule.times + extra}, allowed {times} at most")
                for extra, record in enumerate(done[rule.times :], start=1)
            )


def _too_early(rule: Before, concerned: Sequence[CallRecord], run: Run) -> Iterator[tuple[CallRecord, str]]:
    is_first: Callable[[CallRecord], bool] = lambda record: record.call.name in rule.first and not record.failed  # noqa: E731
    calls = run.calls
    needed = " or ".join(rule.first)
    for record in concerned:
        place = next(index for index, other in enumerate(calls) if other is record)
        if not any(is_first(earlier) for earlier in calls[:place]):
            yield record, f"was called before {needed} succeeded"


def _fits(rule: Never, call: ToolCall, resolve: Resolver | None) -> bool:
    return all(
        name in call.arguments and matches(value, call.arguments[name], resolve) for name, value in rule.where.items()
    )


def _finding(policy: Policy, passed: bool | None, message: str, record: CallRecord | None = None) -> Finding:
    return Finding(
        check=f"policy:{policy.id}",
        kind="policy",
        passed=passed,
        message=message,
        turn=record.turn if record else None,
        policy=policy.id,
        tool=record.call.name if record else None,
    )
