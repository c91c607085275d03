"""When the auditor is asked about a run, and what it stands for where it is not, or cannot be used."""

from collections.abc import Callable, Sequence
from random import Random
from typing import cast

from pytest_agentbench.checks.auditor.ask import AUDITOR, audit
from pytest_agentbench.checks.auditor.findings import observed, unaudited
from pytest_agentbench.checks.judges.evidence import of_audit
from pytest_agentbench.checks.judges.with_models import _blame, _cure, _text
from pytest_agentbench.checks.rules import needs_consent, read_rule
from pytest_agentbench.core.errors import AgentBenchError, NotRunError
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.core.verdict import Blame, Finding, Verdict
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.runs.plan import RunPlan

def may_audit(plan: RunPlan) -> bool:
    """Whether the auditor may be asked about a run, as far as that can be told before it."""
    suite = plan.suite
    if suite.judge is None or suite.auditor is not None:
        return suite.judge is not None and suite.auditor != "off"
    return _is_played_by_model(plan) or any(policy.rule is None or _asks(policy) for policy in plan.policies)


async def audited(
    run: Run, judgement: Judgement, plan: RunPlan, *, chat: Callable[[], Chat] | None, random: Random
) -> Judgement:
    """Add what the auditor sees of a closed run, where it is asked; `chat` is None where no model judges the session.

    It is asked once, of suites that have a judge: where they say so, and unless they say `off` where a policy in words
    is listed, where labels leave open what the user agreed to, and where a model plays the user. Raise `NotRunError`
    where a model may not be asked.
    """
    suite, worded = plan.suite, [policy for policy in run.policies if policy.rule is None]
    is_part = bool(worded) or _is_asked_for(suite)
    if suite.judge is None or not (is_part or _is_played_by_model(plan) or _leaves_consent_open(run, judgement)):
        return judgement
    if suite.auditor == "off":
        why, cure = "the suite says `auditor: off`", "give the policy a `rule`, or write `auditor: flags`"
        return unaudited(run, judgement, why=why, cure=cure) if is_part else judgement
    if chat is None:
        why, cure = "no model judges this session", "let it judge (no `--agentbench-no-judge`)"
        return _open(run, judgement, suite, why=why, cure=cure) if is_part else judgement
    if judgement.verdict is Verdict.ERROR and not judgement.nothing_measured:
        return _open(run, judgement, suite, why="the run could not be judged, so no model was asked")
    return await _asked(run, judgement, plan, worded, chat=chat(), random=random)


async def _asked(
    run: Run, judgement: Judgement, plan: RunPlan, worded: Sequence[Policy], *, chat: Chat, random: Random
) -> Judgement:
    suite = plan.suite
    ignore = suite.environment.state.ignore if suite.environment.state else ()
    notes = suite.judge is not None and suite.judge.notes
    evidence = of_audit(run, system=plan.system, ignore=ignore, notes=notes, policies=worded)

    def resolve(path: str) -> Callable[[JsonValue], object]:
        return cast("Callable[[JsonValue], object]", load_object(path, suite.root))

    try:
        seen = await audit(chat, run, policies=worded, evidence=evidence, random=random)
    except NotRunError:
        raise
    except AgentBenchError as error:
        return _open(run, judgement, suite, why=_text(error), cure=_cure(error), blame=_blame(error))
    if _is_asked_for(suite):
        judgement = _noted(judgement, passed=True, message="the auditor read the run")
    return observed(run, judgement, seen, decides=suite.auditor == "decide", resolve=resolve)


def _open(
    run: Run, judgement: Judgement, suite: Suite, *, why: str, cure: str = "", blame: Blame = Blame.SCENARIO
) -> Judgement:
    """Show as *not measured* what the auditor would have told, itself where the suite asks for it."""
    if _is_asked_for(suite):
        judgement = _noted(judgement, passed=None, message=f"not measured: {why}", cure=cure)
    return unaudited(run, judgement, why=why, blame=blame, **({"cure": cure} if cure else {}))


def _noted(judgement: Judgement, *, passed: bool | None, message: str, cure: str = "") -> Judgement:
    """Add the part that `auditor:` in a suite asks for."""
    part = Finding(check=AUDITOR, kind="check", passed=passed, message=message, cure=cure)
    return judgement.model_copy(update={"findings": (*judgement.findings, part)})


def _is_asked_for(suite: Suite) -> bool:
    return suite.auditor in ("flags", "decide")


def _is_played_by_model(plan: RunPlan) -> bool:
    return plan.suite.user.model is not None and plan.recording is None


def _leaves_consent_open(run: Run, judgement: Judgement) -> bool:
    """Whether labels do not tell what became of a rule about what the user agreed to."""
    open_ones = {outcome.policy for outcome in judgement.policies if not outcome.is_measured}
    return any(policy.id in open_ones and _asks(policy) for policy in run.policies)


def _asks(policy: Policy) -> bool:
    return policy.rule is not None and needs_consent(read_rule(policy.rule))
