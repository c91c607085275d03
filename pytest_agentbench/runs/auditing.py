"""When the auditor is asked about a run, and what its word counts for there."""

from pytest_agentbench.checks.judges.with_models import Auditing
from pytest_agentbench.checks.rules import needs_consent, read_rule
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.runs.plan import RunPlan


def has_auditor(suite: Suite) -> bool:
    """Whether a suite has a model that may be asked."""
    return suite.judge is not None and suite.auditor != "off"


def may_audit(plan: RunPlan) -> bool:
    """Whether the auditor may be asked about a run, as far as that can be told before it."""
    if not has_auditor(plan.suite) or plan.suite.auditor is not None:
        return has_auditor(plan.suite)
    return _is_played_by_model(plan) or any(policy.rule is None or _asks(policy) for policy in plan.policies)


def auditing(run: Run, judgement: Judgement, plan: RunPlan) -> Auditing | None:
    """Say what the auditor's word counts for in a closed run, None where it is not asked.

    It is asked in suites that have a judge: where they say so, and unless they say `off` where a policy in words is
    listed, where labels leave open what the user agreed to, and where a model plays the user.
    """
    suite = plan.suite
    if not has_auditor(suite) or suite.auditor == "off":
        return None
    if suite.auditor is not None:
        return suite.auditor
    is_worded = any(policy.rule is None for policy in run.policies)
    wanted = is_worded or _is_played_by_model(plan) or _leaves_consent_open(run, judgement)
    return "flags" if wanted else None


def is_part(suite: Suite) -> bool:
    """Whether the suite asks for the auditor, so that it is a part of every run."""
    return suite.auditor in ("flags", "decide")


def _is_played_by_model(plan: RunPlan) -> bool:
    return plan.suite.user.model is not None and plan.recording is None


def _leaves_consent_open(run: Run, judgement: Judgement) -> bool:
    """Whether labels do not tell what became of a rule about what the user agreed to."""
    open_ones = {outcome.policy for outcome in judgement.policies if not outcome.is_measured}
    return any(policy.id in open_ones and _asks(policy) for policy in run.policies)


def _asks(policy: Policy) -> bool:
    return policy.rule is not None and needs_consent(read_rule(policy.rule))
