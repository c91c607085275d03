"""The question that the auditor is asked, once per run: what it sees, with words of the run for each observation."""

from collections.abc import Sequence
from random import Random

from pytest_agentbench.checks.judges.evidence import Evidence
from pytest_agentbench.core.audit import Audit
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Run
from pytest_agentbench.llm.seams import Chat


async def audit(
    chat: Chat, run: Run, *, policies: Sequence[Policy], evidence: Evidence, random: Random
) -> Audit:
    """Give the observations of a run; what has no words in it was asked for once more, then dropped and counted.

    `policies` are those without a rule, `evidence` is that of `evidence.of_audit`. Raise `UnusableAnswerError` where no
    answer can be used, and what `structured` raises.
    """
    raise NotImplementedError
