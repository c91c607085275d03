"""The judgement on a closed run: every check, then verdict and blame; and a judgement with more found.

Default verdict: the run FINISHED; its final state is the one the expected calls lead to; everything to be
communicated was said; no forbidden call was made and no policy broken. What could not be measured neither passes nor
fails: the other parts decide, and a run of which nothing that its scenario asks for was measured is not scored.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar, get_args

from pytest_agentbench.checks.answers import check_communicate, check_output, check_replies
from pytest_agentbench.checks.calls import check_approvals, check_calls, check_forbidden, check_handoffs, check_makers
from pytest_agentbench.checks.claims import claims_without_source, wanted_from_nowhere
from pytest_agentbench.checks.explain import explain
from pytest_agentbench.checks.findings import value_text
from pytest_agentbench.checks.handling import SUFFERS, Handling, check_handling, is_excused
from pytest_agentbench.checks.matchers import Resolver
from pytest_agentbench.checks.matching import Matching, match_calls, match_run
from pytest_agentbench.checks.metrics import measure
from pytest_agentbench.checks.parts import measured
from pytest_agentbench.checks.policies import PolicyReport, check_policies
from pytest_agentbench.checks.state import check_state, is_of_failing_call
from pytest_agentbench.core.errors import PatternBoundError
from pytest_agentbench.core.run import Judgement, PolicyOutcome, Run
from pytest_agentbench.core.seams import Check
from pytest_agentbench.core.text import printable, raised_text, shorten
from pytest_agentbench.core.verdict import Blame, CallExplanation, Finding, FindingKind, Flag, OtherFault, Verdict
from pytest_agentbench.environment.replay import failure_text
from pytest_agentbench.llm.written_calls import PARSER, written_call

T = TypeVar("T")

_WIDTH = 300
"""Characters of a reason."""

WORST_FIRST: tuple[FindingKind, ...] = get_args(FindingKind)
"""The kinds of findings in the order in which failures are listed."""


def judge(
    run: Run,
    extra: Sequence[Check] = (),
    ignore: Sequence[str] = (),
    *,
    resolve: Resolver | None = None,
    prompt: str = "",
) -> Judgement:
    """Judge a run; never raises but for KeyboardInterrupt.

    `extra` are further checks, run after the built-in ones. `ignore` are path patterns left out when states are
    compared. `resolve` gives the predicate behind an import path, for `$call` matchers.
    `prompt` is what the agent was told beforehand, as far as it is known: its system prompt, the suite's policies.

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
    nothing = match_calls((), run.transcript.trajectory)
    matching = guard.run("calls", lambda: match_run(run, resolve), nothing)
    explanations: list[CallExplanation] = []
    explanations = guard.run("calls", lambda: explain(run, matching, resolve), explanations)
    is_read = not guard.findings
    policies = guard.run("policies", lambda: check_policies(run, resolve), PolicyReport())
    of_calls = _about_calls(run, matching, explanations, ignore, guard, is_whole=is_read)
    guard.findings.extend(policies.undecided)
    findings = [
        *guard.ask("termination", lambda: check_termination(run)),
        *guard.ask("user", lambda: check_simulated_user(run)),
        *guard.ask(WRITTEN_CALLS, lambda: check_written_calls(run)),
        *of_calls,
        *guard.ask("handoffs", lambda: check_handoffs(run)),
        *guard.ask("communicate", lambda: check_communicate(run)),
        *guard.ask("output", lambda: check_output(run, resolve)),
        *guard.ask("replies", lambda: check_replies(run)),
        *guard.ask("approvals", lambda: check_approvals(run, resolve)),
        *guard.ask("never", lambda: check_forbidden(run, resolve)),
        *policies.findings,
    ]
    for check in extra:
        findings.extend(guard.ask(_name(check), partial(check, run)))
    flags: tuple[Flag, ...] = ()
    flags = guard.run("claims", lambda: claims_without_source(run, prompt), flags)
    handling = guard.run("fault", lambda: check_handling(run, flags, prompt), Handling())
    metrics: dict[str, float | None] = {}
    metrics = guard.run("metrics", lambda: measure(run, matching), metrics)
    findings.extend(handling.findings)
    metrics = {**metrics, **handling.metrics}
    parts = measured(run, findings, policies.outcomes)
    findings = guard.run("values", lambda: _noted(run, findings, explanations, prompt), findings)
    others = [*_others(run, guard.findings), *_of_world(run, findings)]
    excused = is_excused(explanations, handling)
    verdict, blame = _decide(findings, others, handling, excused=excused, nothing=parts.nothing)
    unknown = parts.nothing and verdict is Verdict.ERROR and not others
    is_whole = unknown or (verdict is not Verdict.ERROR and not others)
    return Judgement(
        verdict=verdict,
        blame=blame,
        also=tuple(others) if verdict is Verdict.FAILED else (),
        flags=flags,
        disputed=_disputed(run),
        asked=parts.asked,
        unmeasured=parts.unmeasured,
        nothing_measured=unknown,
        findings=tuple(sorted([*findings, *guard.findings], key=badness)),
        calls=tuple(explanations),
        policies=policies.outcomes,
        metrics={**metrics, "measured": parts.share if is_whole else None},
    )


NOWHERE = "nothing that was said, returned or stored holds it: does the scenario ask for what is right?"
"""What stands beside a value that the agent neither told nor passed on, and cannot have known."""


def _noted(run: Run, findings: list[Finding], explanations: Sequence[CallExplanation], prompt: str) -> list[Finding]:
    """Give the findings with a note beside each value that is asked for and comes from nowhere."""
    wrong = [one for one in findings if one.passed is False and one.expected is not None and one.kind in SUFFERS]
    told = {value_text(value) for value in wanted_from_nowhere(run, explanations, prompt)} if wrong else set()
    noted = [one for one in wrong if one.expected in told]
    return [
        one.model_copy(update={"message": f"{one.message}; {NOWHERE}"}) if any(one is other for other in noted) else one
        for one in findings
    ]


def _about_calls(
    run: Run,
    matching: Matching,
    explanations: Sequence[CallExplanation],
    ignore: Sequence[str],
    guard: "_Guard",
    *,
    is_whole: bool,
) -> list[Finding]:
    if not is_whole:
        # the expected calls themselves could not be read: nothing is said on the strength of half of them
        return []
    return [
        *guard.ask("state", lambda: check_state(run, matching, explanations, ignore)),
        *guard.ask("calls", lambda: check_calls(run, matching, explanations)),
        *guard.ask("by", lambda: check_makers(matching)),
    ]


def _others(run: Run, raised: Sequence[Finding]) -> list[OtherFault]:
    """Give what others did wrong, the end of the run first."""
    found = []
    if run.blame is not None and run.blame is not Blame.AGENT:
        reason = shorten(printable(run.error or run.stop_reason or str(run.termination)).split("\n")[0], _WIDTH)
        found.append(OtherFault(blame=run.blame, reason=reason, ended=True))
    elif run.finished and run.transcript.messages and all(one.role == "user" for one in run.transcript.messages):
        reason = "the user closed before the agent had a turn"
        found.append(OtherFault(blame=Blame.USER, reason=reason, ended=True))
    return found + [OtherFault(blame=Blame.SCENARIO, reason=finding.message) for finding in raised[:1]]


def _disputed(run: Run) -> str:
    """Say what a guard rail of the simulated user found in the run: it may have been at fault."""
    told = [f"turn {fault.turn}: {printable(shorten(fault.message, _WIDTH))}" for fault in run.user_faults[:1]]
    return told[0] if told else ""


def _decide(
    findings: Sequence[Finding],
    others: Sequence[OtherFault],
    handling: Handling,
    *,
    excused: bool,
    nothing: bool,
) -> tuple[Verdict, Blame | None]:
    failed = [finding for finding in findings if finding.required and finding.passed is False]
    if any(_is_proven(finding, handling) for finding in failed):
        return Verdict.FAILED, Blame.AGENT
    if others:
        return Verdict.ERROR, others[0].blame
    if failed:
        suffers = all(finding.kind in SUFFERS for finding in failed)
        if suffers and (handling.silent or excused):
            return Verdict.ERROR, Blame.ENVIRONMENT if handling.silent else Blame.UNCLEAR
        return Verdict.FAILED, Blame.AGENT
    return (Verdict.ERROR, Blame.SCENARIO) if nothing else (Verdict.PASSED, None)


def _is_proven(finding: Finding, handling: Handling) -> bool:
    """Whether a failure stands whatever came later; a silent fault may have led to a wrong write."""
    return finding.proven and not (handling.silent and finding.kind in SUFFERS)


def _of_world(run: Run, findings: Sequence[Finding]) -> list[OtherFault]:
    """Give what in the world kept everybody from passing; a read that fails, or a broken tool, only where it did."""
    failed = any(finding.required and finding.passed is False for finding in findings)
    failing = [one for one in findings if one.required and one.passed is None and is_of_failing_call(one)]
    found = []
    if run.unreplayed and (failed or failing):
        reason = failing[0].message if failing else _failing_call(run)
        found.append(OtherFault(blame=Blame.SCENARIO, reason=reason))
    if failed and (refused := _refused(run)):
        found.append(refused)
    if failed:
        for tool, why in list(run.broken_tools.items())[:1]:
            reason = f"the tool {tool!r} broke at every call of the run, and works in a fresh world: {why}"
            found.append(OtherFault(blame=Blame.ENVIRONMENT, reason=printable(shorten(reason, _WIDTH))))
        for tool, why in list(run.useless_tools.items())[:1]:
            reason = f"the tool {tool!r} breaks in a fresh world too, at a call that the scenario expects: {why}"
            found.append(OtherFault(blame=Blame.SCENARIO, reason=printable(shorten(reason, _WIDTH))))
    return found


def _refused(run: Run) -> OtherFault | None:
    """Give the first refusal of the provider of the agent's model, which kept the agent from what it had to do."""
    for index, event in run.transcript.events:
        if event.kind == "refused_by_provider":
            named = f" ({printable(event.name)})" if event.name else ""
            reason = f"turn {run.transcript.turns[index]}: the provider of the agent's model refused to answer{named}"
            return OtherFault(blame=Blame.PROVIDER, reason=shorten(reason, _WIDTH))
    return None


def _failing_call(run: Run) -> str:
    position, problem = next(iter(run.unreplayed.items()))
    return failure_text(run.scenario.expected_calls[position], problem)


def badness(finding: Finding) -> tuple[int, int, int]:
    """Give the place of a finding: required failures, other ones, what was not measured, passes; by kind in each."""
    group = {False: 0 if finding.required else 1, None: 2, True: 3}[finding.passed]
    return group, WORST_FIRST.index(finding.kind), finding.turn or 0


def _findings(given: object) -> list[Finding]:
    """Read what a check gave; whatever is not an iterable of findings raises `TypeError`."""
    if isinstance(given, Coroutine):
        given.close()
        raise TypeError("a check must not be async: it decides about a closed run")
    if not isinstance(given, Iterable):
        raise TypeError(f"a check yields findings, this one returned {given!r}")
    found: list[Finding] = []
    for item in given:
        if not isinstance(item, Finding):
            raise TypeError(f"a check yields findings, this one yielded {item!r}")
        found.append(item)
    return found


def _name(check: Check) -> str:
    return str(getattr(check, "__qualname__", type(check).__qualname__))


class _Guard:
    """Runs checks and turns what they raise into findings."""

    def __init__(self, place: str) -> None:
        self._place = place
        self.findings: list[Finding] = []

    def ask(self, name: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
        found: list[Finding] = []
        return self.run(name, lambda: _findings(check()), found)

    def run(self, name: str, check: Callable[[], T], otherwise: T) -> T:
        try:
            return check()
        except KeyboardInterrupt:
            raise
        except PatternBoundError as error:
            finding = Finding(check=name, kind="check", passed=False, message=f"{self._place}: {error}")
            if finding.message not in [other.message for other in self.findings]:
                self.findings.append(finding)
            return otherwise
        except BaseException as error:  # noqa: BLE001 - pytest.skip() or sys.exit() in a check is an error, not a skip
            self.findings.append(
                Finding(
                    check=name,
                    kind="check",
                    passed=False,
                    message=f"check {printable(name)} raised {raised_text(error)}",
                )
            )
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


def check_termination(run: Run) -> Iterable[Finding]:
    """Give one finding: passed when the run FINISHED and nobody is to blame for how it did."""
    reason = printable(shorten(run.stop_reason or run.error or "", 300))
    blame = f", blame {run.blame}" if run.blame is not None else ""
    turns = run.transcript.turns
    yield Finding(
        check="termination",
        kind="termination",
        passed=run.finished and run.blame is None,
        message=f"{run.termination}{blame}{f': {reason}' if reason else ''}",
        turn=turns[-1] if turns else None,
        expected="FINISHED",
        actual=str(run.termination),
    )


_SHOWED = {
    True: "showed",
    False: "did not show: this run says nothing about it",
    None: "is not measured: turns of the user do not say what it meant",
}


def check_simulated_user(run: Run) -> Iterable[Finding]:
    """Give a finding per fault, per modifier in force, and per modifier that does not fit the scenario.

    None of them is required of the agent: a fault makes the run *disputed*, see `decide`.
    """
    for fault in run.user_faults:
        message = printable(shorten(fault.message, 300))
        yield Finding(
            check=f"user {fault.rule}", kind="user", passed=False, message=message, turn=fault.turn, required=False
        )
    for name, showed in run.behaviours.items():
        message = f"the modifier {name!r} {_SHOWED[showed]}"
        yield Finding(check=f"modifier {name}", kind="user", passed=showed, message=message, required=False)
    for name, why in run.unfit.items():
        message = f"the modifier {name!r} was left out: {printable(shorten(why, 200))}"
        yield Finding(check=f"modifier {name}", kind="user", passed=None, message=message, required=False)


WRITTEN_CALLS = "calls as text"


def check_written_calls(run: Run) -> Iterable[Finding]:
    """Give a finding for the first message of the agent that is a call of one of its tools in words.

    It is not required: the run is judged by what happened, and this says why it may have.
    """
    offered = [spec.name for spec in run.toolset.of("assistant")]
    if not offered:
        return
    for index, said in enumerate(run.transcript.messages):
        if said.role != "assistant" or said.tool_calls or not said.content:
            continue
        if name := written_call(said.content, offered):
            message = f"the agent wrote a call of {printable(name)!r} as text, and nobody made it; {PARSER}"
            turn = run.transcript.turns[index]
            yield Finding(
                check=WRITTEN_CALLS, kind="calls", passed=False, message=message, tool=name, turn=turn, required=False
            )
            return
