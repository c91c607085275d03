"""What can be told of runs before they begin: calls, money, gates and quarantines that no run can meet."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.checks.measurement import ADD_RULE
from pytest_agentbench.core.errors import GateError, Problem
from pytest_agentbench.core.gate_grammar import KnownNames, parse_gate
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.names import count
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.extends import read_suite_document
from pytest_agentbench.suites.script_lines import form_of

if TYPE_CHECKING:  # few suites have a judge
    from pytest_agentbench.checks.judges.model_judgement import Auditing


def has_auditor(suite: Suite) -> bool:
    """Whether a suite has a model that may be asked."""
    return suite.judge is not None and suite.auditor != "off"


def is_part(suite: Suite) -> bool:
    """Whether the suite asks for the auditor, so that it is a part of every run."""
    return suite.auditor in ("flags", "decide")


def auditing(run: Run, judgement: Judgement, plan: RunPlan) -> "Auditing | None":
    """Say what the auditor's word counts for in a closed run, None where it is not asked.

    It is asked in suites that have a judge: where they say so, and unless they say `off` where a policy in words is
    listed, where labels leave open what the user agreed to, and where a model plays the user.
    """
    suite = plan.suite
    if not has_auditor(suite) or suite.auditor == "off":
        return None
    if suite.auditor is not None:
        return suite.auditor
    unmeasured = {outcome.policy for outcome in judgement.policies if not outcome.is_measured}
    leaves_open = any(policy.rule is None or (policy.id in unmeasured and _asks(policy)) for policy in run.policies)
    return "flags" if leaves_open or _is_played_by_model(plan) else None


def _may_audit(plan: RunPlan) -> bool:
    """Whether the auditor may be asked about a run, as far as that can be told before it."""
    if not has_auditor(plan.suite) or plan.suite.auditor is not None:
        return has_auditor(plan.suite)
    return _is_played_by_model(plan) or any(policy.rule is None or _asks(policy) for policy in plan.policies)


def _is_played_by_model(plan: RunPlan) -> bool:
    return plan.suite.user.model is not None and plan.recording is None


def _asks(policy: Policy) -> bool:
    from pytest_agentbench.checks.rules import needs_consent, read_rule  # noqa: PLC0415 - few policies have a rule

    return policy.rule is not None and needs_consent(read_rule(policy.rule))


MOST_FOR_AN_ANSWER = 4
"""A role is asked once more where its answer has not the form, and both again where code finds fault with it."""


def estimate(plans: Sequence[RunPlan], costs: Mapping[str, float], *, judges: bool = True) -> str:
    """Say how many runs there are and what they take at most; with `judges` False no model judges them.

    `costs` are US dollars that a run of a suite took on average when it was last run, by the suite's key.
    """
    played = [plan for plan in plans if plan.recording is None]
    calls = {id(plan): _most_calls(plan, judges=judges) for plan in plans}
    facts = []
    if played:
        own = [plan for plan in played if plan.suite.agent.openai is None]
        note = " beside those of the agent itself" if own else ""
        most, turns = sum(calls[id(plan)] for plan in played), sum(plan.limits.turns for plan in played)
        models = f"{count(most, 'model call')}{note}" if most else f"no model calls{note}"
        facts.append(f"at most {count(turns, 'agent turn')}, {models}")
    if recorded := [plan for plan in plans if plan.recording is not None]:
        asked = sum(calls[id(plan)] for plan in recorded)
        judged = f", at most {count(asked, 'model call')} to judge them" if asked else ""
        facts.append(f"{len(recorded)} recorded, nothing is played{judged}")
    if paying := [plan for plan in plans if calls[id(plan)]]:
        known = [costs[plan.suite_key] for plan in paying if plan.suite_key in costs]
        facts.append(f"about {sum(known):.2g} USD by the last results" if len(known) == len(paying) else "cost unknown")
    return f"{count(len(plans), 'run')}; {'; '.join(facts)}"


def _most_calls(plan: RunPlan, *, judges: bool) -> int:
    limits, played = plan.limits, plan.recording is None
    calls = 0
    if plan.suite.user.model is not None and played:
        calls += MOST_FOR_AN_ANSWER * (limits.turns + 1)
    if plan.suite.agent.openai is not None:
        # each call of the agent's model ends a turn or makes a tool call, of which there are only so many
        calls += limits.turns + limits.tool_calls
    if judges and (judge := plan.suite.judge) is not None:
        rubric = plan.suite.rubric if plan.scenario.rubric is None else plan.scenario.rubric
        votes = judge.votes if rubric is not None and rubric.judged else 0
        criteria = plan.scenario.task.evaluation_criteria
        asserted = bool(criteria is not None and criteria.nl_assertions)
        critiques = plan.suite.user.critique if played else 0
        calls += MOST_FOR_AN_ANSWER * (votes + asserted + _may_audit(plan) + critiques)
    return calls if limits.model_calls is None else min(calls, limits.model_calls)


def asks_models(plan: RunPlan) -> bool:
    """Whether a model plays a role in a run that is not the agent's own affair."""
    return any(role is not None for role in (plan.suite.user.model, plan.suite.agent.openai, plan.suite.judge))


def unmeasurable_gates(suite: Suite, plans: Sequence[RunPlan]) -> Iterator[Problem]:
    """Give a problem for each gate on a policy that none of the suite's runs can measure."""
    policies = {policy.id: policy for policy in suite.policies}
    for index, text in enumerate(suite.gates):
        gate = parse_gate(text)
        policy = policies.get(gate.argument) if gate.metric == "policy" else None
        found = None if policy is None else _obstacle(policy, suite, plans) or _undecided(policy, suite)
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
    from pytest_agentbench.checks.rules import needs_consent, read_rule, reads_calls  # noqa: PLC0415 - as in `_asks`

    rule = read_rule(form)
    if reads_calls(rule) and suite.agent.http is not None and not suite.agent.http.calls:
        why = f"the rule of {policy.id!r} is about tool calls, and none can be seen in the agent's answers"
        return why, "say where the response holds them: `agent: {http: {calls: …}}`"
    if has_auditor(suite):
        return None  # what labels do not tell of a consent, the auditor reads
    recorded = [plan.recording.transcript.messages for plan in plans if plan.recording is not None]
    is_labelled = any(one.role == "user" and one.acts is not None for messages in recorded for one in messages)
    if needs_consent(rule) and suite.agent.kind == "transcripts" and plans and not is_labelled:
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


def impossible_gates(suite: Suite, plans: Sequence[RunPlan], toolset: Toolset) -> Iterator[Problem]:
    """Give a problem for each gate on a name that the suite does not have, or on more trials than it plays."""
    known = _known(suite, plans, toolset)
    for index, text in enumerate(suite.gates):
        try:
            gate = parse_gate(text, known=known)
            if gate.metric == "pass^":
                _check_trials(text, int(gate.argument), suite, plans)
        except GateError as error:
            yield read_suite_document(suite.path).problem(("gates", index), error.message, error.hint)


def expired(suite: Suite, today: date) -> Iterator[Problem]:
    """Give a problem for each scenario whose quarantine is over."""
    for scenario in suite.scenarios:
        quarantine = scenario.quarantine
        if quarantine is not None and quarantine.until < today:
            ended = f"that of {scenario.id} ended on {quarantine.until.isoformat()}"
            message = f"{ended}; {quarantine.owner} owns it: {quarantine.reason}"
            hint = "remove `quarantine` and let the scenario count, or set a later `until`"
            form = form_of(suite, scenario)
            if form is None:
                yield Problem(file=Path(scenario.file or suite.path), line=scenario.line, message=message, hint=hint)
            else:
                yield form[0].problem((*form[1], "quarantine", "until"), message, hint)


def _known(suite: Suite, plans: Sequence[RunPlan], toolset: Toolset) -> KnownNames:
    """Give the names that gates may be about; agents are known only when they run."""
    scenarios = [*suite.scenarios, *(plan.scenario for plan in plans)]  # a plan's may have tags of its own
    expected = {call.name for scenario in scenarios for call in scenario.expected_calls}
    policies = {policy.id: policy for policy in suite.policies}
    rated = (scenario.rated_complexity(policies) for scenario in scenarios)
    rubrics = (rubric for rubric in (suite.rubric, *(one.rubric for one in scenarios)) if rubric is not None)
    known: dict[str, Collection[str]] = {
        "tag": {tag for scenario in scenarios for tag in scenario.tags},
        "language": {scenario.language or suite.language for scenario in scenarios},
        "rubric": {criterion.id for rubric in rubrics for criterion in rubric.criteria},
        "complexity": {str(one[0]) for one in rated if one is not None},
    }
    if toolset.names():  # an agent's own tools are seen only when it runs
        known["tool"] = toolset.names() | {spec.name for spec in toolset.own} | expected
    return known


def _check_trials(text: str, k: int, suite: Suite, plans: Sequence[RunPlan]) -> None:
    most = max((plan.trial for plan in plans), default=suite.trials or 1)
    if k > most:
        raise GateError(
            f"the gate {text!r} needs {count(k, 'trial')} of a scenario, and the suite plays {most}",
            f"write `trials: {k}`, or `--agentbench-trials {k}`",
        )
    if any(plan.stops_early for plan in plans):
        raise GateError(
            f"the gate {text!r} needs all trials, and the suite stops them early",
            "leave `stop: sequential` out, or the gate",
        )
