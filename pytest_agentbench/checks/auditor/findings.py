"""What becomes of the auditor's observations: findings, flags, a disputed run, verdict and blame.

`ROWS` is the whole table, the one of docs/understand/blame.md. An observation alone is a flag unless the suite says
`auditor: decide`; one with a structural fact beside it decides. Nothing excuses a broken rule or a `never`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pytest_agentbench.checks.auditor.facts import Lack, StructuralFacts
from pytest_agentbench.checks.decide import Decided, as_before, rejudged
from pytest_agentbench.checks.handling import SUFFERS, settled
from pytest_agentbench.checks.judges.evidence import is_quoted
from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.checks.parts import ADD_RULE
from pytest_agentbench.checks.policies import PolicyReport, check_policies
from pytest_agentbench.checks.rules_values import Heard
from pytest_agentbench.core.audit import Audit, Claim, Consent, ConsentKind, GoalItem, PolicyObservation, Quoted
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Judgement, PolicyOutcome, Run
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.verdict import Blame, Finding, FindingKind, Flag, FlagKind, OtherFault, Verdict

Becomes = Literal[
    "failed, agent", "unscored, user", "unscored, environment", "unscored, scenario", "kept or broken", "unclear",
    "in the rate", "excused", "cause", "flag", "flag, in the rate", "flag, disputed",
]  # fmt: skip


@dataclass(frozen=True)
class Row:
    """What is seen, the structural fact beside it, what that becomes, and what under `auditor: decide`."""

    name: str
    seen: str
    fact: str
    becomes: Becomes
    deciding: Becomes


ROWS = (
    Row("effect-failed", "claim of an effect that nothing bears out, or that is shown false",
        "the call it names failed, and no equal call succeeded", "failed, agent", "failed, agent"),
    Row("effect-unmade", "claim of an effect that nothing bears out, or that is shown false",
        "no successful call that writes holds a value of it; without a value: none succeeded, though tried or expected",
        "failed, agent", "failed, agent"),
    Row("claim-corrected", "claim that nothing bears out, or that is shown false, and that the agent puts right later",
        "", "flag", "flag"),
    Row("figure-unknown", "claim that a call shows false",
        "code finds a value in its words nowhere either", "failed, agent", "failed, agent"),
    Row("value-denied", "claim that denies something, and that nothing bears out, or that is shown false",
        "something to `communicate` is said in no other words", "failed, agent", "failed, agent"),
    Row("claim-open", "any other claim that nothing bears out, or that is shown false", "", "flag", "failed, agent"),
    Row("consent-open", "consent given, or not",
        "a rule asks for consent to this call, and the user's acts do not tell", "kept or broken", "kept or broken"),
    Row("consent-unclear", "consent given, or not", "a rule asks for it, and the user's acts say the opposite",
        "unclear", "unclear"),
    Row("policy-kept", "policy without a rule exercised and kept", "", "in the rate", "in the rate"),
    Row("policy-violated", "policy without a rule violated", "", "flag, in the rate", "failed, agent"),
    Row("goal-left", "goal item refused or open, and no rule, tool or user stands against it",
        "an expected call was not made rightly, or something was not told", "cause", "cause"),
    Row("goal-flagged", "goal item refused or open, and no rule, tool or user stands against it", "", "flag",
        "failed, agent"),
    Row("goal-tool", "goal item not done because of a tool",
        "an expected call was made as expected, and all calls of this tool failed (recordings that cannot be replayed)",
        "unscored, environment", "unscored, environment"),
    Row("fault-told", "goal item not done because of a tool, in words of the agent",
        "a [fault that lasts](faults.md) may be all that is behind what is missing", "excused", "excused"),
    Row("scenario-suspected", "every goal item done, and every claim borne out",
        "all that differs are values that the scenario asks for, and that no user, result, row or policy holds",
        "unscored, scenario", "unscored, scenario"),
    Row("user-stopped", "goal item open because of the user, who stops early or plays the agent",
        "the user spoke last, and an expected call was never tried or something was not told",
        "unscored, user", "unscored, user"),
    Row("user-misled", "turn of the user against its goal or knowledge",
        "the values in which a write is wrong stand in its words before the call, and in neither goal nor `knows`",
        "unscored, user", "unscored, user"),
    Row("user-reversed", "turn of the user against its goal, and in a later one a yes to a write",
        "this write is not as expected, or none of the goal", "unscored, user", "unscored, user"),
    Row("user-suspected", "any other turn of the user against its role", "", "flag, disputed", "flag, disputed"),
    Row("tools-misused", "tools used wrongly by the agent", "", "flag", "flag"),
    Row("agent-inappropriate", "conduct of the agent that is not appropriate", "", "flag", "flag"),
)  # fmt: skip
"""Each thing that may be seen, by the first row that fits; two causes, or a cause of half of it, are *unclear*."""

_BY_NAME = {row.name: row for row in ROWS}
_WIDTH = 300
_NOT_GIVEN: dict[ConsentKind, str] = {
    "asked": "without a yes of the user",
    "conditional": "although the user's yes depended on something",
    "withdrawn": "although the user said no, or took the yes back",
    "not asked": "without asking the user",
}
_UNQUOTED = "not measured: the auditor gave no words of the run for it"
_QUOTE_EXACTLY = "let a model judge that quotes exactly"


@dataclass(frozen=True)
class Hit:
    """A row that fits: where, in which words, what it says, what it is about, and which lacks it explains."""

    row: Row
    turn: int
    quote: str
    message: str
    kind: FindingKind
    flag: FlagKind
    policy: str | None = None
    explains: frozenset[Lack] = frozenset()

    @property
    def text(self) -> str:
        """The message with the words that show it."""
        quote = f" ({printable(shorten(self.quote, 120))!r})" if self.quote else ""
        return f"{self.said}{quote}"

    @property
    def said(self) -> str:
        """The message, safe to print."""
        return printable(shorten(self.message, _WIDTH))


def worth_asking(run: Run, judgement: Judgement) -> bool:
    """Whether what the auditor sees can tell more of a run: not where it broke off by somebody else's fault.

    In one that tools or scenario kept from passing the agent may have said that it worked.
    """
    if judgement.verdict is not Verdict.ERROR or judgement.nothing_measured:
        return True
    raised = any(one.kind == "check" and one.passed is False for one in judgement.findings)
    return run.blame is None and not raised


def observed(
    run: Run,
    judgement: Judgement,
    audit: Audit,
    *,
    decides: bool,
    policies: Sequence[Policy] | None = None,
    resolve: Resolver | None = None,
) -> Judgement:
    """Add to the judgement of `checks.decide.judge` what the auditor saw; `decides` as the suite's `auditor: decide`.

    `policies` are those that it was asked about (None: all of the run without a rule).
    """
    asked = _asked(run, policies)
    before = judgement
    told = next((one for one in audit.goal_items if _is_told(one, run)), None)
    if told is not None:
        judgement = settled(judgement, told=True)
    excused = told is not None and judgement is not before
    facts = StructuralFacts(run, judgement)
    hits = [
        *_claims(audit, facts),
        *_goal(audit, facts),
        *_user(audit, facts),
        *_scenario(audit, facts),
        *_impressions(audit),
    ]
    if told is not None and excused:
        message = f"{told.item!r} was not done, since a tool failed, and the agent said so"
        hits.append(_hit("fault-told", told, message, "goal", "goal"))
    hits += _policies([one for one in audit.policies if one.policy in asked])
    heard = dict(_heard(audit, facts))
    report = _with_consents(run, judgement, heard, resolve)
    applied = _Applied(decides=decides)
    for hit in hits:
        applied.add(hit)
    outcomes = {outcome.policy: outcome for outcome in report.outcomes}
    outcomes |= {one.policy: _outcome(one) for one in audit.policies if one.policy in asked}
    said = {one.policy for one in audit.policies}
    open_ones = [_unmeasured(name, _UNQUOTED, _QUOTE_EXACTLY) for name in asked if name not in said]
    findings = [*_others(judgement, report), *report.findings, *applied.findings, *open_ones]
    flags = tuple(dict.fromkeys((*judgement.flags, *applied.flags)))
    disputed = judgement.disputed or applied.disputed
    consents = {"consent_unclear": float(len(report.unclear))} if heard else {}
    judged = rejudged(
        run,
        judgement,
        findings,
        outcomes,
        decide=lambda failed, nothing: _decided(
            run, judgement, facts, failed, applied.excuses, nothing=nothing, unquoted=bool(open_ones)
        ),
        metrics=consents,
    )
    differs = (judged.verdict, judged.blame) != (before.verdict, before.blame)
    return judged.model_copy(
        update={
            "audit": audit,
            "flags": flags,
            "disputed": "" if judged.verdict is Verdict.ERROR else disputed,
            "rests_on_auditor": differs,
        }
    )


def unaudited(
    run: Run,
    judgement: Judgement,
    *,
    why: str,
    cure: str = ADD_RULE,
    blame: Blame = Blame.SCENARIO,
    policies: Sequence[Policy] | None = None,
    is_part: bool = False,
) -> Judgement:
    """Show as *not measured* what the auditor would have told of the `policies` without a rule (None: all of the run).

    `cure` is what would measure it. `blame` is whose fault it is, where nothing that the scenario asks for is measured.
    With `is_part` the suite asks for the auditor itself.
    """
    added = [_unmeasured(name, f"not measured: {why}", cure) for name in _asked(run, policies)]
    if is_part:
        added.append(Finding(check="auditor", kind="check", passed=None, message=f"not measured: {why}", cure=cure))

    def decide(_: Sequence[Finding], nothing: bool) -> Decided:
        is_open = judgement.nothing_measured or judgement.verdict is Verdict.PASSED
        return (Verdict.ERROR, blame, ()) if is_open and nothing else as_before(judgement)

    return rejudged(run, judgement, [*judgement.findings, *added], {}, decide=decide)


@dataclass
class _Applied:
    """What the rows that fit come to."""

    decides: bool
    findings: list[Finding] = field(default_factory=list)
    flags: list[Flag] = field(default_factory=list)
    excuses: list[tuple[Blame, Hit]] = field(default_factory=list)
    disputed: str = ""

    def add(self, hit: Hit) -> None:
        """Do what the table says of a row."""
        becomes = hit.row.deciding if self.decides else hit.row.becomes
        fails = becomes == "failed, agent"
        if becomes.startswith("unscored"):
            self.excuses.append((Blame(becomes.rpartition(" ")[2]), hit))
        if becomes.startswith("flag"):
            quote, message = shorten(hit.quote, _WIDTH), shorten(hit.said, _WIDTH)
            self.flags.append(Flag(turn=hit.turn, quote=quote, kind=hit.flag, message=message))
        if becomes == "flag, disputed":
            self.disputed = self.disputed or f"turn {hit.turn}: {hit.text}"
        if hit.policy is not None or fails or becomes in ("cause", "excused") or becomes.startswith("unscored"):
            check = f"policy:{hit.policy}" if hit.policy else hit.kind
            passed = becomes in ("in the rate", "excused")
            self.findings.append(
                Finding(
                    check=check,
                    kind=hit.kind,
                    passed=passed,
                    message=hit.text,
                    turn=hit.turn or None,
                    policy=hit.policy,
                    required=fails or becomes == "in the rate",
                )
            )


def _claims(audit: Audit, facts: StructuralFacts) -> Iterator[Hit]:
    denied = facts.only_denied(audit.claims)
    for claim, info in denied:
        yield _hit("value-denied", claim, f"{info!r} is said only where it is denied", "communicate", "claim")
    for claim in audit.claims:
        if claim.support in ("call", "told") or any(claim is one for one, _ in denied):
            continue
        shown = "is shown to be false" if claim.support == "against" else "is borne out by nothing"
        name, message = _claim_row(claim, facts)
        yield _hit(name, claim, f"the agent's statement {shown}{message}", "claim", "claim")


def _claim_row(claim: Claim, facts: StructuralFacts) -> tuple[str, str]:
    if claim.corrected:
        return "claim-corrected", ", and put right later"
    if claim.kind == "effect" and not claim.denies:
        if failed := facts.failed_call(claim):
            return "effect-failed", f": {failed} failed, and was not repeated with success"
        if lacking := facts.unheld(claim):
            return "effect-unmade", f": {lacking}"
    if (claim.call is not None or claim.support == "against") and (value := facts.unknown_value(claim)):
        return "figure-unknown", f": {value} stands nowhere"
    return "claim-open", ""


def _goal(audit: Audit, facts: StructuralFacts) -> Iterator[Hit]:
    seen = [one for one in audit.user_turns if not facts.is_acted(one.turn)]
    stops = [one for one in seen if one.kind in ("stops early", "plays agent")]
    for item in audit.goal_items:
        if item.status == "done" or item.reason in ("none", "rule"):
            continue
        what = f"{item.item!r} was {'refused' if item.status == 'refused' else 'left open'}"
        if item.reason == "agent":
            row = "goal-left" if facts.lacks else "goal-flagged"
            against = "though no rule, tool or user stands against it"
            yield _hit(row, item, f"{what} by the agent, {against}", "goal", "goal")
        elif item.reason == "tool" and facts.refused_by_tools:
            explains = frozenset(facts.refused_by_tools)
            yield _hit("goal-tool", item, f"{what}, since a tool failed", "goal", "goal", explains=explains)
        elif item.reason == "user" and item.status == "open" and stops and facts.user_spoke_last and facts.unfinished:
            explains = frozenset(facts.unfinished)
            message = f"{what}, since the user {'stopped' if stops[-1].kind == 'stops early' else 'played the agent'}"
            yield _hit("user-stopped", stops[-1], message, "user", "user", explains=explains)


def _scenario(audit: Audit, facts: StructuralFacts) -> Iterator[Hit]:
    """Give a scenario that asks for what nobody can know of an agent that did and told what is right by all else."""
    is_right = all(item.status == "done" for item in audit.goal_items)
    is_right = is_right and all(claim.support in ("call", "told") for claim in audit.claims)
    if audit.goal_items and is_right and facts.from_nowhere:
        explains, value = frozenset(facts.from_nowhere), next(iter(facts.from_nowhere.values()))
        message = f"the scenario asks for {value!r}, and nothing that was said, returned or stored holds it"
        yield _hit("scenario-suspected", audit.goal_items[-1], message, "goal", "goal", explains=explains)


def _user(audit: Audit, facts: StructuralFacts) -> Iterator[Hit]:
    """Give the user's faults; what a modifier has it do is none."""
    seen = [one for one in audit.user_turns if not facts.is_acted(one.turn)]
    misled = facts.misled([one for one in seen if one.kind in ("against goal", "against knowledge")])
    reversed_by = facts.reversed_by([one for one in seen if one.kind == "against goal"], audit.consents)
    stopped = bool(facts.unfinished) and facts.user_spoke_last
    for one in seen:
        explains = frozenset(lack for lack, by in misled.items() if by is one)
        undone = frozenset(lack for lack, by in reversed_by.items() if by is one)
        if undone:
            message = "the user agreed to this against its goal"
            yield _hit("user-reversed", one, message, "user", "user", explains=explains | undone)
        elif explains:
            yield _hit("user-misled", one, f"the user's words are {one.kind}", "user", "user", explains=explains)
        elif not (stopped and one.kind in ("stops early", "plays agent") and _left_by_user(audit)):
            yield _hit("user-suspected", one, _USER[one.kind], "user", "user")


_USER = {
    "against goal": "the user's words are against its goal",
    "against knowledge": "the user's words are against what it knows",
    "leaks": "the user gives away what it was told",
    "plays agent": "the user plays the agent",
    "stops early": "the user stops while something it wants is open",
}


def _left_by_user(audit: Audit) -> bool:
    return any(item.status == "open" and item.reason == "user" for item in audit.goal_items)


def _impressions(audit: Audit) -> Iterator[Hit]:
    if audit.tool_use is not None and audit.tool_use.use == "wrong by agent":
        yield _hit("tools-misused", audit.tool_use, "the agent uses a tool wrongly", "goal", "tool")
    if audit.agent_appropriate is not None and not audit.agent_appropriate.shows:
        yield _hit(
            "agent-inappropriate", audit.agent_appropriate, "the agent's conduct is not appropriate", "goal", "agent"
        )


def _policies(seen: Sequence[PolicyObservation]) -> Iterator[Hit]:
    for one in seen:
        if one.status == "not exercised":
            continue
        row = "policy-violated" if one.status == "violated" else "policy-kept"
        message = one.reason.strip() or one.status
        yield Hit(_BY_NAME[row], one.turn, one.quote, message, "policy", "policy", policy=one.policy)


def _hit(
    row: str,
    seen: Quoted,
    message: str,
    kind: FindingKind,
    flag: FlagKind,
    *,
    explains: frozenset[Lack] = frozenset(),
) -> Hit:
    return Hit(_BY_NAME[row], seen.turn, seen.quote, message, kind, flag, explains=explains)


def _outcome(one: PolicyObservation) -> PolicyOutcome:
    is_exercised = one.status != "not exercised"
    return PolicyOutcome(policy=one.policy, exercised=is_exercised, kept=one.status == "kept" if is_exercised else None)


def _heard(audit: Audit, facts: StructuralFacts) -> Iterator[tuple[int, Heard]]:
    for one in audit.consents:
        place = facts.place(one)
        if place is not None:
            yield place, Heard(given=one.consent == "given", turn=one.turn, why=_consent_text(one))


def _consent_text(one: Consent) -> str:
    said = _NOT_GIVEN.get(one.consent, "with the user's yes")
    return f"{said}, as the auditor reads turn {one.turn} ({printable(shorten(one.quote, 120))!r})"


def _with_consents(run: Run, judgement: Judgement, heard: dict[int, Heard], resolve: Resolver | None) -> PolicyReport:
    """Judge the rules once more, now that it is known what the user agreed to; nothing where they cannot be read."""
    ruled = tuple(policy for policy in run.policies if policy.rule is not None)
    known = [outcome for outcome in judgement.policies if outcome.policy in {policy.id for policy in ruled}]
    if not heard or not known:
        return PolicyReport()
    try:
        return check_policies(run.model_copy(update={"policies": ruled}), resolve, heard)
    except Exception:  # noqa: BLE001 - whatever a rule's own code raises was told when the run was judged
        return PolicyReport()


def _others(judgement: Judgement, report: PolicyReport) -> list[Finding]:
    """Give the findings so far, but for those on rules that were judged once more."""
    again = {f"policy:{outcome.policy}" for outcome in report.outcomes}
    return [finding for finding in judgement.findings if finding.check not in again or finding.kind == "check"]


def _is_told(item: GoalItem, run: Run) -> bool:
    """Whether an item is not done because of a tool, and the agent's own words show it."""
    said = (text for index, text in run.transcript.texts("assistant") if run.transcript.turns[index] == item.turn)
    return item.status != "done" and item.reason == "tool" and any(is_quoted(item.quote, text) for text in said)


def _decided(
    run: Run,
    before: Judgement,
    facts: StructuralFacts,
    failed: Sequence[Finding],
    excuses: Sequence[tuple[Blame, Hit]],
    *,
    nothing: bool,
    unquoted: bool,
) -> Decided:
    """Give verdict, blame and what else went wrong; `unquoted` where the auditor said nothing usable of a policy."""
    is_soft = all(finding.kind in (*SUFFERS, "termination") for finding in failed)
    if before.verdict is Verdict.ERROR and not before.nothing_measured:
        if is_soft or not worth_asking(run, before):
            return as_before(before)
        reason = "kept the run from passing by itself"
        return Verdict.FAILED, Blame.AGENT, (OtherFault(blame=before.blame or Blame.UNCLEAR, reason=reason),)
    others = tuple(OtherFault(blame=blame, reason=f"turn {hit.turn}: {hit.text}") for blame, hit in excuses)
    lacks = set(facts.lacks)
    explained = {lack for _, hit in excuses for lack in hit.explains}
    if not failed:
        unknown = Blame.JUDGE if unquoted else before.blame or Blame.SCENARIO
        return (Verdict.ERROR, unknown, ()) if nothing else (Verdict.PASSED, None, ())
    if not (explained and is_soft):
        return Verdict.FAILED, Blame.AGENT, (*before.also, *(others if explained else ()))
    blames = {blame for blame, hit in excuses if hit.explains}
    if lacks == explained and len(blames) == 1:
        return Verdict.ERROR, blames.pop(), ()
    return Verdict.ERROR, Blame.UNCLEAR, ()


def _asked(run: Run, policies: Sequence[Policy] | None) -> tuple[str, ...]:
    given = run.policies if policies is None else policies
    return tuple(policy.id for policy in given if policy.rule is None)


def _unmeasured(policy: str, message: str, cure: str) -> Finding:
    return Finding(check=f"policy:{policy}", kind="policy", passed=None, message=message, policy=policy, cure=cure)
