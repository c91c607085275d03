"""Gates that no run of a suite can measure: told before anything runs, with what to add."""

from collections.abc import Iterator, Sequence

from pytest_agentbench.checks.parts import ADD_RULE
from pytest_agentbench.checks.rules import needs_consent, read_rule, reads_calls
from pytest_agentbench.core.errors import Problem
from pytest_agentbench.core.gates import parse_gate
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.runs.auditing import has_auditor
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.extended import read_suite_document


def unmeasurable_gates(suite: Suite, plans: Sequence[RunPlan]) -> Iterator[Problem]:
    """Give a problem for each gate on a policy or a tag that none of the suite's runs can measure."""
    scenarios = [*suite.scenarios, *(plan.scenario for plan in plans)]  # a plan's may have tags of its own
    tags = {tag for scenario in scenarios for tag in scenario.tags}
    policies = {policy.id: policy for policy in suite.policies}
    for index, text in enumerate(suite.gates):
        gate = parse_gate(text)
        policy = policies.get(gate.argument) if gate.metric == "policy" else None
        found = None if policy is None else _obstacle(policy, suite, plans) or _undecided(policy, suite)
        if gate.metric == "tag" and gate.argument not in tags:
            listed = listing(map(repr, sorted(tags))) or "none"
            why = f"can never be measured: no scenario has the tag {gate.argument!r}; there are: {listed}"
            found = why, suggestion(gate.argument, tags)
        if found is not None:
            why, hint = found
            yield read_suite_document(suite.path).problem(("gates", index), f"the gate {text!r} {why}", hint)


def _obstacle(policy: Policy, suite: Suite, plans: Sequence[RunPlan]) -> tuple[str, str] | None:
    """Say why no run can measure a policy, and what to add."""
    found = _unread(policy, suite) if policy.rule is None else _unseen(policy, policy.rule, suite, plans)
    return found and (f"can never be measured: {found[0]}", found[1])


def _unread(policy: Policy, suite: Suite) -> tuple[str, str] | None:
    """Say why nobody reads a policy that has no rule."""
    if suite.judge is None:
        return f"the policy {policy.id!r} has no rule, and the suite no judge", ADD_RULE
    if suite.auditor == "off":
        why = f"the policy {policy.id!r} has no rule, and `auditor: off` lets no model read the runs"
        return why, f"write `auditor: decide`, or give {policy.id!r} a `rule`"
    if not any(policy.id in scenario.policies for scenario in suite.scenarios):
        why = f"the policy {policy.id!r} has no rule, and the auditor is asked about policies that a scenario lists"
        return why, f"list {policy.id!r} in the `policies` of a scenario, or give it a `rule`"
    return None


def _unseen(policy: Policy, form: JsonValue, suite: Suite, plans: Sequence[RunPlan]) -> tuple[str, str] | None:
    """Say why what a rule reads is never there."""
    rule = read_rule(form)
    if reads_calls(rule) and suite.agent.http is not None and not suite.agent.http.calls:
        why = f"the rule of {policy.id!r} is about tool calls, and none can be seen in the agent's answers"
        return why, "say where the response holds them: `agent: {http: {calls: …}}`"
    if has_auditor(suite):
        return None  # what labels do not tell of a consent, the auditor reads
    if needs_consent(rule) and suite.agent.kind == "transcripts" and plans and not _labelled(plans):
        why = f"the rule of {policy.id!r} asks what the user agreed to, and no recorded message of a user has `acts`"
        return why, (
            'label the recordings (`"acts": [{"kind": "confirm", "about": ["W1"]}]`), give the suite a `judge`, or '
            "leave the gate out"
        )
    return None


def _undecided(policy: Policy, suite: Suite) -> tuple[str, str] | None:
    """Say that a policy in words alone may be flagged, but stands in no gate, until the suite says otherwise."""
    if policy.rule is not None or suite.auditor == "decide":
        return None
    why = f"rests on what a model reads, since {policy.id!r} has no rule; that decides only where the suite says so"
    return why, f"write `auditor: decide` beside `judge`, give {policy.id!r} a `rule`, or leave the gate out"


def _labelled(plans: Sequence[RunPlan]) -> bool:
    """Whether some user's message of a recording says what was meant with it."""
    return any(
        message.role == "user" and message.acts is not None
        for plan in plans
        if plan.recording is not None
        for message in plan.recording.transcript.messages
    )
