"""The calls of a right run, made on an event's rows; then which of them, and which words, decide about each policy."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_agentbench.generation.policies.events.acts import Proposal, Scene
from pytest_agentbench.generation.policies.events.oracle import Oracle
from pytest_agentbench.generation.policies.events.plans import Act, OracleError, Performed, Planned
from pytest_agentbench.generation.policies.events.samples import Place
from pytest_agentbench.generation.policies.events.telling import facts_of_run
from pytest_agentbench.generation.policies.values import PolicyBinding
from pytest_agentbench.generation.tools.world import Answer, Opened


async def perform(
    oracle: Oracle,
    planned: Planned,
    scene: Scene,
    opened: Opened,
    random_of: Mapping[Place, str],
    *,
    policies: Sequence[str] = (),
) -> Performed:
    """Make the calls of a right run on fresh rows; raise `OracleError` for the first that fails."""
    made: list[Proposal] = []
    answers: list[Answer] = []
    acts: list[tuple[Act, Proposal]] = []
    forbidden: list[Proposal] = []
    firsts: dict[int, Proposal] = {}
    wrote = False
    for act in planned.acts:
        proposal, first = _proposed(oracle, act, scene, random_of)
        if first is not None:
            firsts[len(acts)] = first
            forbidden.append(first)
        acts.append((act, proposal))
        names = [one.tool for one in made]
        needed = oracle.needed(act.tool, scene, act.focus if act.owner is None else scene.root, names)
        if act.owner is not None:  # who asks is found, what is somebody else's is not looked at
            needed = [one for one in needed if one.tool in oracle.finders]
        steps = [one for one in needed if one not in made]
        if act.is_refused:
            forbidden.append(proposal)
        elif proposal not in made:
            steps.append(proposal)
        for step in steps:
            answer = await opened.call(step.tool, step.arguments)
            if answer.error or answer.hung or answer.crashed:
                raise OracleError(f"{step.tool} fails on the event's rows: {answer.content}")
            made.append(step)
            answers.append(answer)
            wrote = wrote or bool(answer.wrote)
    if not made:
        raise OracleError("a right run would make no call")
    performed = Performed(
        expected=tuple(made),
        answers=tuple(answers),
        acts=tuple(acts),
        forbidden=tuple(forbidden),
        wrote=wrote,
        firsts=firsts,
        failing=tuple(dict.fromkeys(act.tool for act, _ in acts if act.is_("failing"))),
        unproven=planned.unproven,
        ordered=bool(planned.unproven) and len(acts) == 1,
    )
    facts = await facts_of_run(oracle, policies, performed, scene, opened)
    return replace(performed, facts=facts)


def _proposed(
    oracle: Oracle, act: Act, scene: Scene, random_of: Mapping[Place, str]
) -> tuple[Proposal, Proposal | None]:
    """Give the call that a request means, and the one that the user names first where it corrects itself."""
    if act.owner is not None:
        return oracle.proposals(act.tool, oracle.sampled(act.owner, act.focus), act.focus, "")[act.choice], None
    seed = random_of[act.focus]
    proposal = oracle.proposals(act.tool, scene, act.focus, seed)[act.choice]
    if not act.is_("corrected"):
        return proposal, None
    first = oracle.another(act.tool, scene, act.focus, seed, proposal)
    if first is None:
        raise OracleError(f"nothing that a user could correct about {act.tool}")
    return proposal, first


def decide(oracle: Oracle, policies: Sequence[str], performed: Performed) -> tuple[PolicyBinding, ...]:
    """Say of each policy whether calls or words decide about it, which, and why only a judge can where none does."""
    return tuple(_decided(oracle, policy, performed) for policy in policies)


def _decided(oracle: Oracle, policy: str, performed: Performed) -> PolicyBinding:
    names = [one.tool for one in performed.expected]
    bound = {one.tool: one for one in oracle.bound.get(policy, ())}
    given: dict[str, Any] = {}
    for act, proposal in performed.acts:
        own = [one.evidence for one in act.refused_by if one.policy == policy]
        own += [act.occasion.evidence] if act.occasion and act.occasion.policy == policy else []
        if own and act.is_refused:
            at = performed.forbidden.index(proposal)
            return PolicyBinding(policy=policy, handling="refuses", reason=own[0], forbidden=(at,))
        if own and not given:
            given = {"handling": "fails" if act.is_("failing") else "calls", "reason": own[0]}
            given["expected"] = (performed.expected.index(proposal),)
    if given:
        return PolicyBinding(policy=policy, **given)
    expected = tuple(at for at, name in enumerate(names) if name in bound)
    if expected:
        reason = bound[names[expected[-1]]].evidence
        return PolicyBinding(policy=policy, handling="calls", reason=reason, expected=expected)
    told = next((one.evidence for one in performed.facts if one.policy == policy), None)
    if told is not None:
        return PolicyBinding(policy=policy, handling="said", reason=told)
    proof = next((one.evidence for one in performed.unproven if one.policy == policy), None)
    finding = tuple(at for at, name in enumerate(names) if name in oracle.finders)
    if proof and finding and (performed.ordered or oracle.is_first_by_rule(names[finding[0]])):
        reason = f"{proof}, and no proof is offered"
        return PolicyBinding(policy=policy, handling="calls", reason=reason, expected=finding)
    tools = ", ".join(sorted(bound)[:3])
    reason = f"about {tools}, which this event does not call" if bound else "its words are about no tool"
    return PolicyBinding(policy=policy, handling="judge_only", reason=reason)
