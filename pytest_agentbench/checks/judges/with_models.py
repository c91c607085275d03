"""The judgement that models add to one that the deterministic checks gave: policies without a rule, and the rubric.

Deterministic evidence comes first. A run that failed by somebody else's fault is not shown to any model. What a model
finds can fail a run that passed so far. That a model gives no usable answer, or is not reached, leaves the verdict as
it stands: what it was asked for is *not measured*.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from pytest_agentbench.checks.decide import WORST_FIRST
from pytest_agentbench.checks.judges.critique import PolicyVerdict, breach, critique_policies
from pytest_agentbench.checks.judges.evidence import Evidence, goal_of_run, of_run
from pytest_agentbench.checks.judges.judge import judge_criteria
from pytest_agentbench.checks.judges.rubric import (
    ResolveCheck,
    RunSync,
    decided_scores,
    rubric_findings,
    rubric_metrics,
    unmeasured_finding,
)
from pytest_agentbench.checks.judges.scoring import rate
from pytest_agentbench.checks.parts import ADD_JUDGE, ADD_RULE, measured
from pytest_agentbench.core.errors import (
    AgentBenchError,
    CassetteMissError,
    NotRunError,
    ProviderError,
    SendError,
    TokenLimitError,
    UnusableAnswerError,
)
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.rubric import Rubric, Sees
from pytest_agentbench.core.run import Judgement, PolicyOutcome, Run
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.verdict import Blame, Finding, OtherFault, Verdict
from pytest_agentbench.llm.seams import Chat

JUDGE = "judge"
"""The role that scores rubrics."""

CRITIQUE = "critique"
"""The role that judges policies and endings."""

_WIDTH = 300


def needs_model(rubric: Rubric | None, policies: Sequence[Policy]) -> bool:
    """Whether a rubric and the policies without a rule cannot be judged by code alone."""
    return any(policy.rule is None for policy in policies) or bool(rubric and rubric.judged)


async def judge_with_models(
    run: Run,
    judgement: Judgement,
    *,
    chat_for: Callable[[str], Chat],
    random: Random,
    rubric: Rubric | None = None,
    policies: Sequence[Policy] = (),
    system: str = "",
    votes: int = 1,
    sees: Sees = "goal",
    notes: bool = False,
    ignore: Sequence[str] = (),
    resolve: ResolveCheck | None = None,
    run_sync: RunSync | None = None,
) -> Judgement:
    """Add to `judgement` what models say of the `policies` without a rule and of the rubric.

    `chat_for` gives the model of a role (`JUDGE`, `CRITIQUE`), asked for only where it is needed. `system` is the
    agent's system prompt where it is known. `random` gives nonces, and orders the votes. `sees` says what the judge of
    the rubric is shown beside the conversation, `notes` shows it and the critique notes on calls.
    `ignore` are path patterns left out of state differences, `resolve` leads from import paths to functions, which
    `run_sync` runs. Raise `NotRunError` where a model may not be asked.
    """
    todo = _Todo(run, judgement, rubric, tuple(policy for policy in policies if policy.rule is None))
    if judgement.verdict is Verdict.ERROR and not judgement.nothing_measured:
        return todo.unmeasured("the run could not be judged, so no model was asked")
    evidence = of_run(run, system=system, ignore=ignore, notes=notes)
    if todo.policies:
        try:
            given = await critique_policies(chat_for(CRITIQUE), todo.policies, evidence, random=random)
        except NotRunError:
            raise
        except AgentBenchError as error:
            todo.failed_policies(error)
        else:
            todo.add_policies(given, evidence)
    if rubric is not None:
        try:
            scores = await decided_scores(rubric, run, judgement.metrics, resolve=resolve, run_sync=run_sync)
            if rubric.judged:
                shown = replace(evidence, goal=goal_of_run(run, ignore=ignore)) if sees == "goal" else evidence
                scores += await judge_criteria(chat_for(JUDGE), rubric.judged, shown, random=random, votes=votes)
        except NotRunError:
            raise
        except AgentBenchError as error:
            todo.failed_rubric(error)
        else:
            rated = rate(rubric, scores)
            todo.findings += rubric_findings(rubric, scores, rated)
            todo.metrics |= rubric_metrics(rubric, rated)
    return todo.judgement()


def without_models(
    run: Run, judgement: Judgement, *, why: str, rubric: Rubric | None = None, policies: Sequence[Policy] = ()
) -> Judgement:
    """Show as *not measured* all that models would have judged; what code found decides."""
    return _Todo(run, judgement, rubric, tuple(policy for policy in policies if policy.rule is None)).unmeasured(why)


class _Todo:
    """What is added to one judgement."""

    def __init__(self, run: Run, judgement: Judgement, rubric: Rubric | None, policies: tuple[Policy, ...]) -> None:
        self._run = run
        self._before = judgement
        self._rubric = rubric
        self.policies = policies
        self.findings: list[Finding] = []
        self.metrics: dict[str, float | None] = {}
        self._outcomes: dict[str, PolicyOutcome] = {}
        self._blames: list[Blame] = []

    def add_policies(self, given: Sequence[PolicyVerdict], evidence: Evidence) -> None:
        """Note verdicts on policies; one that was not exercised is in no rate and has no finding."""
        for verdict in given:
            kept = not verdict.violated if verdict.exercised else None
            outcome = PolicyOutcome(policy=verdict.policy, exercised=verdict.exercised, kept=kept)
            self._outcomes[verdict.policy] = outcome
            if verdict.exercised:
                self.findings.append(_policy_finding(verdict, evidence))

    def failed_policies(self, error: AgentBenchError) -> None:
        """Note that the critique gave nothing."""
        self.findings += _unmeasured_policies(self.policies, _text(error), _cure(error))
        self._blames.append(_blame(error))

    def failed_rubric(self, error: AgentBenchError) -> None:
        """Note that the rubric could not be judged; what the user's own code or names broke is a failed check."""
        blame = _blame(error)
        if blame is Blame.SCENARIO:
            self.findings.append(Finding(check="rubric", kind="check", passed=False, message=_text(error)))
        else:
            self.findings.append(unmeasured_finding(_text(error), cure=_cure(error)))
        self._blames.append(blame)

    def unmeasured(self, why: str) -> Judgement:
        """Give the judgement with everything not measured."""
        self.findings += _unmeasured_policies(self.policies, why, ADD_RULE)
        if self._rubric is not None:
            self.findings.append(unmeasured_finding(why, cure=ADD_JUDGE))
        return self.judgement()

    def judgement(self) -> Judgement:
        """Give the judgement with all that was added."""
        before = self._before
        known = {outcome.policy for outcome in before.policies}
        replaced = [self._outcomes.get(outcome.policy, outcome) for outcome in before.policies]
        added = [outcome for name, outcome in self._outcomes.items() if name not in known]
        findings = sorted([*before.findings, *self.findings], key=_badness)
        parts = measured(self._run, findings, (*replaced, *added))
        verdict, blame, also = self._decided(nothing=parts.nothing)
        is_scored = verdict is not Verdict.ERROR and not before.also
        share = parts.share if is_scored or parts.nothing else None
        return before.model_copy(
            update={
                "verdict": verdict,
                "blame": blame,
                "also": also,
                "asked": parts.asked,
                "unmeasured": parts.unmeasured,
                "nothing_measured": verdict is Verdict.ERROR and before.nothing_measured and parts.nothing,
                "findings": tuple(findings),
                "policies": (*replaced, *added),
                "metrics": {**before.metrics, **self.metrics, "measured": share},
            }
        )

    def _decided(self, *, nothing: bool) -> tuple[Verdict, Blame | None, tuple[OtherFault, ...]]:
        before = self._before
        raised = next((one.message for one in self.findings if one.kind == "check" and one.passed is False), None)
        if before.verdict is Verdict.FAILED:
            more = () if raised is None else (OtherFault(blame=Blame.SCENARIO, reason=raised),)
            return before.verdict, before.blame, (*before.also, *more)
        if before.verdict is Verdict.ERROR and not before.nothing_measured:
            return before.verdict, before.blame, before.also
        if raised is not None or Blame.SCENARIO in self._blames:
            return Verdict.ERROR, Blame.SCENARIO, ()
        if any(one.required and one.passed is False for one in self.findings):
            return Verdict.FAILED, Blame.AGENT, ()
        if nothing:
            # the rubric is judged last and told first: the blame is of what is told
            return Verdict.ERROR, self._blames[-1] if self._blames else Blame.SCENARIO, ()
        return Verdict.PASSED, None, ()


def _policy_finding(verdict: PolicyVerdict, evidence: Evidence) -> Finding:
    cited = breach(verdict, evidence) if verdict.violated else verdict.evidence[0]
    reason = printable(shorten(verdict.reason.strip(), _WIDTH)) or ("broken" if verdict.violated else "kept")
    quote = f" ({printable(shorten(cited.quote, 120))!r})" if cited else ""
    return Finding(
        check=f"policy:{verdict.policy}",
        kind="policy",
        passed=not verdict.violated,
        message=f"{reason}{quote}",
        turn=cited.turn if cited else None,
        policy=verdict.policy,
    )


def _unmeasured_policies(policies: Sequence[Policy], why: str, cure: str) -> list[Finding]:
    return [
        Finding(
            check=f"policy:{policy.id}",
            kind="policy",
            passed=None,
            message=f"not measured: {why}",
            policy=policy.id,
            cure=cure,
        )
        for policy in policies
    ]


def _cure(error: AgentBenchError) -> str:
    if isinstance(error, CassetteMissError):
        return "record what the judge answers: --agentbench-cassette record"
    if isinstance(error, TokenLimitError):
        return "`max_tokens` and `effort` are keys of `judge: {llm: {…}}`"
    if isinstance(error, UnusableAnswerError):
        return "let a model judge that keeps to the form it is asked for"
    if isinstance(error, SendError) and not error.again:
        return "let a model judge whose server takes what it is asked"
    return "run it again when the judge's model answers"


def _blame(error: AgentBenchError) -> Blame:
    if isinstance(error, UnusableAnswerError) and not isinstance(error, TokenLimitError):
        return Blame.JUDGE
    return Blame.PROVIDER if isinstance(error, ProviderError) else Blame.SCENARIO


def _text(error: AgentBenchError) -> str:
    return printable(shorten(str(error), 2 * _WIDTH))


_GROUPS: Mapping[bool | None, int] = {False: 0, None: 2, True: 3}


def _badness(finding: Finding) -> tuple[int, int, int]:
    """As in `checks.decide`: required failures, other failures, what was not measured, passes; by kind in each."""
    group = 1 if finding.passed is False and not finding.required else _GROUPS[finding.passed]
    return group, WORST_FIRST.index(finding.kind), finding.turn or 0
