"""Which failures come first, what the worst thing in each is, and how to run one again."""

import shlex
from collections.abc import Iterable

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.verdict import FINDING_KINDS, Blame, CallExplanation, Finding, Verdict
from pytest_agentbench.report.calls import explained
from pytest_agentbench.report.glyphs import Glyphs

_RANK = {kind: min(rank, FINDING_KINDS.index("communicate")) for rank, kind in enumerate(FINDING_KINDS)}
"""How bad a finding is; the last three kinds are equals."""


def worst_first(results: Iterable[Result]) -> list[Result]:
    """Give the runs that the agent failed: wrong writes, policies, other state, strict recall, the rest.

    Among equals: more failed findings, then lower strict recall, then higher complexity, then the key.
    """
    return sorted((run for run in results if run.scored and not run.passed), key=_severity)


def by_check(failures: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    """Give failures by suite and by the worst thing that each broke, in their order."""
    kinds: dict[tuple[str, str], list[Result]] = {}
    for run in failures:
        found = failed_findings(run)
        kinds.setdefault((run.key.suite, _kind(found[0]) if found else "termination"), []).append(run)
    return kinds


def _kind(finding: Finding) -> str:
    return "wrong write" if finding.kind == "write" and not finding.policy else check_name(finding)


def failed_findings(result: Result) -> list[Finding]:
    """Give the findings that failed the run, worst first; a crash or a spent limit explains what is merely missing.

    What happened before it and is proven, such as a broken policy, comes first. Of a run that is unscored by its
    simulated user's fault they are what that user did wrong.
    """
    if result.also:  # what is merely missing, as the run broke off, says nothing about the agent
        proven = [one for one in result.findings if one.required and one.passed is False and one.proven]
        return sorted(proven, key=lambda finding: _RANK[finding.kind])
    by_user = result.blame is Blame.USER and not result.decided  # of any other run a user is only suspected
    if by_user and (spoilt := [one for one in result.findings if one.kind == "user" and is_fault(one)]):
        return spoilt
    failed = [finding for finding in result.findings if finding.required and finding.passed is False]
    cut = result.termination in {Termination.CRASHED, Termination.SAFETY_TIMEOUT}

    def place(finding: Finding) -> tuple[int, int]:
        is_end = finding.kind == "termination"
        return (0 if finding.proven else 1 if is_end else 2) if cut else 0, _RANK[finding.kind]

    return sorted(failed, key=place)


def is_fault(finding: Finding) -> bool:
    """Whether a finding on the simulated user is a fault of it, and not about a modifier."""
    return finding.passed is False and not finding.check.startswith("modifier ")


def check_name(finding: Finding) -> str:
    """Name what failed: the policy, else what the check is about."""
    return finding.policy or ("state" if finding.kind == "write" else finding.check)


def call_of(result: Result, finding: Finding) -> CallExplanation | None:
    """Find the call that a finding is about, where an argument differs or the call was not asked for."""
    if finding.kind not in ("write", "state", "calls"):
        return None
    return next(
        (
            call
            for call in result.calls
            if call.status == "wrong_arguments" and finding.tool == call.tool and finding.turn == call.turn
        ),
        None,
    )


def finding_text(result: Result, finding: Finding, glyphs: Glyphs, width: int = 10_000) -> str:
    """Say in one line what is wrong: the call with the differing argument, else the message with both sides."""
    place = f"turn {finding.turn}: " if finding.turn is not None else ""
    call = call_of(result, finding)
    if call is not None:
        return place + explained(call, glyphs, width - len(place))
    message = glyphs.plain(finding.message)
    sides = [
        f"{side} {glyphs.plain(text)}"
        for side, text in (("expected", finding.expected), ("actual", finding.actual))
        # what differs between two states is worded with both sides, cut where they part
        if text is not None and finding.kind != "state" and glyphs.plain(text) not in message
    ]
    return place + message + (f"  {', '.join(sides)}" if sides else "")


def no_finding_text(result: Result, glyphs: Glyphs) -> str:
    """Say why a run did not pass when no finding says so."""
    if result.not_run is not None:
        why = result.not_run.removeprefix("not run").lstrip(": ")
        return f"not run: {glyphs.plain(why)}" if why else "not run"
    if result.verdict is Verdict.ERROR and result.asked and result.asked == len(result.unmeasured) and not result.error:
        first = result.unmeasured[0]
        cure = f" ({glyphs.plain(first.cure)})" if first.cure else ""
        return f"{glyphs.plain(first.part)}: {glyphs.plain(first.why)}{cure}"
    if result.verdict is Verdict.ERROR and result.faults and not result.error:
        wrong = next((finding.message for finding in result.findings if finding.passed is False), "")
        unseen = result.blame is Blame.ENVIRONMENT
        how = "struck unseen" if unseen else "struck, and nobody read whether the user was told"
        return f"{glyphs.plain(', '.join(result.faults))} {how}: {glyphs.plain(wrong)}"
    ending = result.termination.value if result.termination else "no result"
    reason = result.error or result.stop_reason
    return f"{ending}: {glyphs.plain(reason)}" if reason else ending


def rerun_command(result: Result, default_variant: str = "", *, cassette: str = "off", seed: int | None = None) -> str:
    """Give the command that runs this run again.

    `default_variant` is the one that runs without being asked for. What was replayed is replayed again, not asked live.
    """
    variant = result.key.variant
    option = ["--agentbench-variant", variant] if variant and variant != default_variant else []
    option += ["--agentbench-trials", str(result.key.trial)] if result.key.trial > 1 and result.trials > 1 else []
    option += ["--agentbench-cassette", cassette] if cassette == "replay" else []
    option += ["--agentbench-seed", str(seed)] if seed else []
    return shlex.join(["pytest", "--agentbench", *option, result.nodeid or str(result.key), "-vv"])


def _severity(result: Result) -> tuple[int, int, float, int, tuple[str, str, str, str, int]]:
    failed = failed_findings(result)
    recall = result.metrics.get("strict_recall")
    key = result.key
    return (
        _RANK[failed[0].kind] if failed else len(FINDING_KINDS),
        -len(failed),
        1.0 if recall is None else recall,
        -(result.complexity or 0),
        key.without_attempt,
    )
