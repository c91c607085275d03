"""What becomes of the auditor's observations: findings, flags, a disputed run, verdict and blame."""

from collections.abc import Sequence

from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.core.audit import Audit
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.verdict import Blame


def observed(
    run: Run, judgement: Judgement, audit: Audit, *, decides: bool, resolve: Resolver | None = None
) -> Judgement:
    """Add to the judgement of `checks.decide.judge` what the auditor saw; `decides` as the suite's `auditor: decide`."""
    return judgement.model_copy(update={"audit": audit})


def unaudited(
    run: Run,
    judgement: Judgement,
    *,
    why: str,
    cure: str = "",
    blame: Blame | None = None,
    policies: Sequence[Policy] | None = None,
) -> Judgement:
    """Show as *not measured* what the auditor would have told of the policies without a rule (None: all of the run).

    `blame` is whose fault it is, where nothing that the scenario asks for is measured.
    """
    return judgement
