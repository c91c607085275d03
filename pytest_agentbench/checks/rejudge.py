"""A judgement with more found: findings in their order, policies, parts, and the verdict that follows."""

from collections.abc import Callable, Mapping, Sequence

from pytest_agentbench.checks.decide import badness
from pytest_agentbench.checks.parts import measured
from pytest_agentbench.core.run import Judgement, PolicyOutcome, Run
from pytest_agentbench.core.verdict import Blame, Finding, OtherFault, Verdict

Decided = tuple[Verdict, Blame | None, tuple[OtherFault, ...]]


def as_before(judgement: Judgement) -> Decided:
    """Give what a judgement came to."""
    return judgement.verdict, judgement.blame, judgement.also


def rejudged(
    run: Run,
    before: Judgement,
    findings: Sequence[Finding],
    outcomes: Mapping[str, PolicyOutcome],
    *,
    decide: Callable[[Sequence[Finding], bool], Decided],
    metrics: Mapping[str, float | None] | None = None,
) -> Judgement:
    """Give the judgement with these `findings` in place of its own, and `outcomes` for those of the same policy.

    `decide` gets the required findings that failed, and whether nothing that was asked for is measured.
    """
    known = {outcome.policy for outcome in before.policies}
    replaced = [outcomes.get(outcome.policy, outcome) for outcome in before.policies]
    policies = (*replaced, *(outcome for name, outcome in outcomes.items() if name not in known))
    parts = measured(run, findings, policies)
    failed = [one for one in findings if one.required and one.passed is False]
    verdict, blame, also = decide(failed, parts.nothing)
    is_open = before.nothing_measured or before.verdict is not Verdict.ERROR
    is_scored = verdict is not Verdict.ERROR and not also
    return before.model_copy(
        update={
            "verdict": verdict,
            "blame": blame,
            "also": also,
            "asked": parts.asked,
            "unmeasured": parts.unmeasured,
            "nothing_measured": verdict is Verdict.ERROR and parts.nothing and is_open,
            "findings": tuple(sorted(findings, key=badness)),
            "policies": policies,
            "metrics": {
                **before.metrics,
                **(metrics or {}),
                "measured": parts.share if is_scored or parts.nothing else None,
            },
        }
    )
