"""The judgement on a closed run: every check and metric, then verdict and blame; and a judgement with more found.

Default verdict: the run FINISHED; its final state is the one the expected calls lead to; everything to be
communicated was said; no forbidden call was made and no policy broken. What could not be measured neither passes nor
fails: the other parts decide, and a run of which nothing that its scenario asks for was measured is not scored.
"""

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TypeVar

from pytest_agentbench.checks.answers import check_communicate, check_output, check_replies
from pytest_agentbench.checks.calls import check_approvals, check_calls, check_forbidden, check_handoffs, check_makers
from pytest_agentbench.checks.claims import claims_without_source, wanted_from_nowhere
from pytest_agentbench.checks.effects import wrote
from pytest_agentbench.checks.fault_outcomes import SUFFERS, Handling, check_handling, is_excused
from pytest_agentbench.checks.findings import cut, finding, value_text
from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.checks.matching import Matching, explain, match_calls, match_run
from pytest_agentbench.checks.measurement import measured
from pytest_agentbench.checks.other_faults import others_of
from pytest_agentbench.checks.policies import PolicyReport, check_policies
from pytest_agentbench.checks.state import check_state
from pytest_agentbench.core.codec import digest, dumps
from pytest_agentbench.core.errors import PatternBoundError
from pytest_agentbench.core.protocols import Check
from pytest_agentbench.core.run import Judgement, PolicyOutcome, Run
from pytest_agentbench.core.text import printable, raised_text
from pytest_agentbench.core.text_similarity import SHORTEST, echoes, normal, similar
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import CallRecord, Transcript
from pytest_agentbench.core.verdict import (
    FINDING_KINDS,
    Blame,
    CallExplanation,
    Finding,
    Flag,
    OtherFault,
    Verdict,
)
from pytest_agentbench.llm.answer_text import PARSER, written_call


def measure(run: Run, matching: Matching) -> dict[str, float | None]:
    """Give the metrics that `Judgement` names; None where not measured.

    tool_errors: the agent's calls that failed. errors_then_retried: those after which it called the same tool again
    (tool-to-scenario's attempts after an error). calls_ratio: the agent's calls / its expected calls. tool_calls: the
    agent's calls. redundant_calls: those whose answer it had. agent_turns: its turns. coherence, echo_rate: see there.
    """
    calls = run.calls
    expected = sum(want.requestor == "assistant" for want in matching.expected)
    retried = (
        record.failed and any(later.call.name == record.call.name for later in calls[place + 1 :])
        for place, record in enumerate(calls)
    )
    of_calls: dict[str, float | None] = {
        "name_recall": matching.name_recall,
        "strict_recall": matching.strict_recall,
        "complete": None if matching.complete is None else float(matching.complete),
        "tool_errors": float(sum(record.failed for record in calls)),
        "errors_then_retried": float(sum(retried)),
        "calls_ratio": len(calls) / expected if expected else None,
        "tool_calls": float(len(calls)),
        "redundant_calls": float(len(redundant_calls(run.transcript.trajectory, run.toolset))),
        "coherence": coherence(run),
    }
    return {
        **(of_calls if run.calls_visible else dict.fromkeys(of_calls)),
        "agent_turns": float(run.transcript.agent_turns),
        "echo_rate": echo_rate(run.transcript),
    }


def echo_rate(transcript: Transcript) -> float | None:
    """Give the share of user turns, from 0 to 1, that echo the agent; None without a user turn to compare.

    What counts as an echo is the same as in a stall (`core.text_similarity.echoes`).
    """
    users, agents = transcript.said_by_turn("user"), transcript.said_by_turn("assistant")
    answers = [(at, later) for at, later in pairwise(sorted({*users, *agents})) if at in agents and later in users]
    return sum(echoes(users[later], agents[at]) for at, later in answers) / len(answers) if answers else None


def redundant_calls(records: Sequence[CallRecord], toolset: Toolset) -> tuple[CallRecord, ...]:
    """Give the agent's calls whose answer it had: same tool, same arguments, no failure and no write in between.

    A write by whoever made it, and a call of which nobody knows whether it wrote, may have changed the answer.
    """
    answered: set[str] = set()
    redundant = []
    for record in records:
        changed = wrote(record, toolset)
        if record.call.requestor == "assistant" and not record.failed and changed is False:
            made = f"{record.call.name} {digest(record.call.arguments)}"
            if made in answered:
                redundant.append(record)
            answered.add(made)
        elif changed is not False and not record.failed:
            answered.clear()
    return tuple(redundant)


def coherence(run: Run) -> float | None:
    """Give the share, 0 to 1, of the agent's turns after its first that go on from what was before.

    A turn does not when it makes a redundant call, says again what the agent said before (24 signs and more, see
    `core.text_similarity.similar`), or has the user give the same fact a second time. None without a second turn. It
    tells of lost context, not of relevance: whether a turn is right, the checks say.
    """
    transcript = run.transcript
    pairs = list(zip(transcript.turns, transcript.messages, strict=True))
    later = sorted({turn for turn, message in pairs if message.role == "assistant"})[1:]
    if not later:
        return None
    # shorter texts (`You are welcome.`) are manners
    said = {turn: text for turn, text in transcript.said_by_turn("assistant").items() if len(normal(text)) >= SHORTEST}
    lost = {record.turn for record in redundant_calls(transcript.trajectory, run.toolset)}
    lost |= {turn for turn, text in said.items() if any(similar(text, said[one]) for one in said if one < turn)}
    given: set[str] = set()
    before = 0  # the agent's turn that the user answers
    for turn, message in pairs:
        if message.role == "assistant":
            before = turn
        facts = {dumps([name, value]) for act in message.acts or () for name, value in act.facts.items()}
        lost |= {before} if facts & given else set()
        given |= facts
    return 1 - len(lost.intersection(later)) / len(later)


T = TypeVar("T")


def judge(
    run: Run,
    extra: Sequence[Check] = (),
    ignore: Sequence[str] = (),
    *,
    resolve: Resolver | None = None,
    prompt: str = "",
    notes: bool = True,
) -> Judgement:
    """Judge a run; never raises but for KeyboardInterrupt.

    `extra` are further checks, run after the built-in ones. `ignore` are path patterns left out when states are
    compared. `resolve` gives the predicate behind an import path, for `$call` matchers.
    `prompt` is what the agent was told beforehand, as far as it is known: its system prompt, the suite's policies.
    Without `notes` it is not told which values come from nowhere.

    Verdict and blame. What is proven decides first: a broken rule, a `never`, a stray or wrong write that stands is the
    agent's failure, whatever the user, a provider, the environment, a check or the end of the run did later; that is
    told in `also`. Else a run whose conversation failed by somebody else's fault (`run.blame`) is an ERROR. So is one
    with a check that raised, blamed on the scenario. One in which a guard rail suspects the simulated user is
    *disputed*, which decides nothing. Else a required finding that failed is the agent's. A run of which nothing that
    was asked for could be measured is an ERROR, blame *scenario*; what else was not measured changes nothing. Faults
    that were let loose on purpose: what a silent one spoilt is the environment's; where one that lasts kept an agent
    from it which had done what came before, and did and made up nothing else, nobody can tell: blame *unclear*.
    """
    guard = _Guard(f"{run.scenario.file}:{run.scenario.line}" if run.scenario.file else run.key.suite)
    matching = guard.run("calls", lambda: match_run(run, resolve), match_calls((), run.transcript.trajectory))
    explanations: list[CallExplanation] = guard.run("calls", lambda: explain(run, matching, resolve), [])
    # where the expected calls themselves could not be read, nothing is said on the strength of half of them
    compared = {} if guard.findings else _compared(run, matching, explanations, ignore)
    policies = guard.run("policies", lambda: check_policies(run, resolve), PolicyReport())
    guard.findings.extend(policies.undecided)
    checks = _checks(run, resolve, compared)
    findings = [found for name, check in checks.items() for found in guard.ask(name, check)]
    findings.extend(policies.findings)
    for check in extra:
        findings.extend(guard.ask(str(getattr(check, "__qualname__", type(check).__qualname__)), partial(check, run)))
    flags: tuple[Flag, ...] = ()
    if notes or run.faults:
        flags = guard.run("claims", lambda: claims_without_source(run, prompt), ())
    handling = guard.run("fault", lambda: check_handling(run, flags, prompt), Handling())
    metrics: dict[str, float | None] = guard.run("metrics", lambda: measure(run, matching), {})
    findings = guard.run("fault", lambda: _misled(run, findings, handling, resolve), findings)
    findings.extend(handling.findings)
    parts = measured(run, findings, policies.outcomes)
    if notes:
        findings = guard.run("values", lambda: _noted(run, findings, explanations, prompt), findings)
    others = others_of(run, guard.findings, findings, explanations, handling)
    verdict, blame = _decide(findings, others, handling, is_excused(explanations, handling), parts.nothing)
    if verdict is Verdict.ERROR:
        findings += _excuses(findings, others)
    unknown = parts.nothing and verdict is Verdict.ERROR and not others
    is_whole = unknown or (verdict is not Verdict.ERROR and not others)
    return Judgement(
        verdict=verdict,
        blame=blame,
        also=tuple(others) if verdict is Verdict.FAILED else (),
        flags=flags,
        disputed="".join(f"turn {fault.turn}: {cut(fault.message)}" for fault in run.user_faults[:1]),
        asked=parts.asked,
        unmeasured=parts.unmeasured,
        nothing_measured=unknown,
        findings=tuple(sorted([*findings, *guard.findings], key=badness)),
        calls=tuple(explanations),
        policies=policies.outcomes,
        metrics={**metrics, **handling.metrics, "measured": parts.share if is_whole else None},
    )


_Checks = dict[str, Callable[[], Iterable[Finding]]]
"""Checks by their names, in the order in which what is equally bad is listed."""


def _compared(run: Run, matching: Matching, explanations: Sequence[CallExplanation], ignore: Sequence[str]) -> _Checks:
    """Give the checks that compare calls with the expected ones."""
    return {
        "state": lambda: check_state(run, matching, explanations, ignore),
        "calls": lambda: check_calls(run, matching, explanations),
        "by": lambda: check_makers(matching),
    }


def _checks(run: Run, resolve: Resolver | None, compared: _Checks) -> _Checks:
    return {
        "termination": lambda: check_termination(run),
        "user": lambda: check_simulated_user(run),
        WRITTEN_CALLS: lambda: check_written_calls(run),
        TOOL_SLIPS: lambda: check_tool_slips(run),
        **compared,
        "handoffs": lambda: check_handoffs(run),
        "communicate": lambda: check_communicate(run),
        "output": lambda: check_output(run, resolve),
        "replies": lambda: check_replies(run),
        "approvals": lambda: check_approvals(run, resolve),
        "never": lambda: check_forbidden(run, resolve),
    }


def _misled(run: Run, findings: list[Finding], handling: Handling, resolve: Resolver | None) -> list[Finding]:
    """Take the proof from what only an injected answer may have led to: what is forbidden here, or in such a state."""
    if handling.misled is None:
        return findings
    stateless = run.model_copy(update={"initial_state": None, "final_state": None, "states": ()})
    sure = {(one.check, one.turn, one.tool) for one in check_policies(stateless, resolve).findings if one.proven}
    return [
        one.model_copy(update={"proven": False})
        if one.kind == "policy" and (one.turn or 0) >= handling.misled and (one.check, one.turn, one.tool) not in sure
        else one
        for one in findings
    ]


NOWHERE = "nothing that was said, returned or stored holds it: does the scenario ask for what is right?"
"""What stands beside a value that the agent neither told nor passed on, and cannot have known."""


def _noted(run: Run, findings: list[Finding], explanations: Sequence[CallExplanation], prompt: str) -> list[Finding]:
    """Give the findings with a note beside each value that is asked for and comes from nowhere."""
    wrong = [one.passed is False and one.expected is not None and one.kind in SUFFERS for one in findings]
    nowhere = {value_text(value) for value in wanted_from_nowhere(run, explanations, prompt)} if any(wrong) else set()
    return [
        one.model_copy(update={"message": f"{one.message}; {NOWHERE}"}) if is_wrong and one.expected in nowhere else one
        for one, is_wrong in zip(findings, wrong, strict=True)
    ]


def _decide(
    findings: Sequence[Finding], others: Sequence[OtherFault], handling: Handling, excused: bool, nothing: bool
) -> tuple[Verdict, Blame | None]:
    failed = [finding for finding in findings if finding.required and finding.passed is False]
    # a silent fault may have led to a wrong write
    if any(one.proven and not (handling.silent and one.kind in SUFFERS) for one in failed):
        return Verdict.FAILED, Blame.AGENT
    if others:
        return Verdict.ERROR, others[0].blame
    if failed:
        if excused and all(one.kind in SUFFERS for one in failed):
            return Verdict.ERROR, Blame.UNCLEAR
        return Verdict.FAILED, Blame.AGENT
    return (Verdict.ERROR, Blame.SCENARIO) if nothing else (Verdict.PASSED, None)


EXCUSE = "not the agent's"
"""The check of the finding that says why a run that failed is not held against the agent."""


def _excuses(findings: Sequence[Finding], others: Sequence[OtherFault]) -> list[Finding]:
    """Say why an unscored run is not the agent's fault where its end does not tell and nothing else says so."""
    if not others or others[0].ended or any(others[0].reason in one.message for one in findings if one.passed is False):
        return []
    return [finding(EXCUSE, "user", None, others[0].reason, required=False)]


def badness(finding: Finding) -> tuple[int, int, int]:
    """Give the place of a finding: required failures, other ones, what was not measured, passes; by kind in each."""
    group = {False: 0 if finding.required else 1, None: 2, True: 3}[finding.passed]
    return group, FINDING_KINDS.index(finding.kind), finding.turn or 0


def _findings(given: object) -> list[Finding]:
    """Read what a check gave; whatever is not an iterable of findings raises `TypeError`."""
    if isinstance(given, Coroutine):
        given.close()
        raise TypeError("a check must not be async: it decides about a closed run")
    if not isinstance(given, Iterable):
        raise TypeError(f"a check yields findings, this one returned {given!r}")
    found = list(given)
    for item in found:
        if not isinstance(item, Finding):
            raise TypeError(f"a check yields findings, this one yielded {item!r}")
    return found


class _Guard:
    """Runs checks and turns what they raise into findings."""

    def __init__(self, place: str) -> None:
        self._place = place
        self.findings: list[Finding] = []

    def ask(self, name: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
        """Give what a check finds, nothing where it raises."""
        found: list[Finding] = []
        return self.run(name, lambda: _findings(check()), found)

    def run(self, name: str, check: Callable[[], T], otherwise: T) -> T:
        """Give what a part of the judgement comes to, `otherwise` where it raises."""
        try:
            return check()
        except KeyboardInterrupt:
            raise
        except PatternBoundError as error:
            raised = finding(name, "check", False, f"{self._place}: {error}")
            if raised.message in [other.message for other in self.findings]:
                return otherwise
        except BaseException as error:  # noqa: BLE001 - pytest.skip() or sys.exit() in a check is an error, not a skip
            raised = finding(name, "check", False, f"check {printable(name)} raised {raised_text(error)}")
        self.findings.append(raised)
        return otherwise


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
    policies = tuple({**{one.policy: one for one in before.policies}, **outcomes}.values())
    parts = measured(run, findings, policies)
    failed = [one for one in findings if one.required and one.passed is False]
    verdict, blame, also = decide(failed, parts.nothing)
    is_open = before.nothing_measured or before.verdict is not Verdict.ERROR
    share = parts.share if parts.nothing or (verdict is not Verdict.ERROR and not also) else None
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
            "metrics": {**before.metrics, **(metrics or {}), "measured": share},
        }
    )


def check_termination(run: Run) -> Iterator[Finding]:
    """Give one finding: passed when the run FINISHED and nobody is to blame for how it did.

    It names who ended the run where that is not the agent: whether the agent is to blame is the verdict's to say.
    """
    reason = cut(run.stop_reason or run.error or "")
    by = f", blame {run.blame}" if run.blame not in (None, Blame.AGENT) else ""
    message = f"{run.termination}{by}{f': {reason}' if reason else ''}"
    turn, actual = next(iter(run.transcript.turns[-1:]), None), str(run.termination)
    passed = run.finished and run.blame is None
    yield finding("termination", "termination", passed, message, turn=turn, expected="FINISHED", actual=actual)


_SHOWED = {
    True: "showed",
    False: "did not show: this run says nothing about it",
    None: "is not measured: turns of the user do not say what it meant",
}


def check_simulated_user(run: Run) -> Iterator[Finding]:
    """Give a finding per fault, per modifier in force, and per modifier that does not fit the scenario.

    None of them is required of the agent: a fault makes the run *disputed*, see `decide`.
    """
    for fault in run.user_faults:
        yield finding(f"user {fault.rule}", "user", False, cut(fault.message), turn=fault.turn, required=False)
    became = {name: (showed, _SHOWED[showed]) for name, showed in run.behaviours.items()}
    became |= {name: (None, f"was left out: {cut(why, 200)}") for name, why in run.unfit.items()}
    for name, (showed, what) in became.items():
        yield finding(f"modifier {name}", "user", showed, f"the modifier {name!r} {what}", required=False)


WRITTEN_CALLS = "calls as text"


def check_written_calls(run: Run) -> Iterator[Finding]:
    """Give a finding for the first message of the agent that is a call of one of its tools in words.

    It is not required: the run is judged by what happened, and this says why it may have.
    """
    offered = [spec.name for spec in run.toolset.of("assistant")]
    for turn, said in zip(run.transcript.turns, run.transcript.messages, strict=True):
        if not offered or said.role != "assistant" or said.tool_calls or not said.content:
            continue
        if name := written_call(said.content, offered):
            message = f"the agent wrote a call of {printable(name)!r} as text, and nobody made it; {PARSER}"
            yield finding(WRITTEN_CALLS, "calls", False, message, tool=name, turn=turn, required=False)
            return


TOOL_SLIPS = "tools"


def check_tool_slips(run: Run) -> Iterator[Finding]:
    """Give a finding for each tool whose own code failed at every call without meaning to.

    It is not required: the agent saw a refusal, and is judged by what it did then.
    """
    slipped = ((tool, why) for tool, why in run.slipped_tools.items() if tool not in run.down)
    for tool, why in slipped:
        message = f"the tool {printable(tool)!r} raised {printable(why)} at every call; {MEND_TOOL}"
        yield finding(TOOL_SLIPS, "calls", False, message, tool=tool, required=False)


MEND_TOOL = "mend it, or let it raise a ValueError in words where it is to refuse"
