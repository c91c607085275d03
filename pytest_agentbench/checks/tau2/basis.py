"""What a task's `reward_basis` asks for beside an equal database: its assertions, and its expected calls."""

from collections.abc import Iterator

from pytest_agentbench.checks.effects import expects_write, wrote
from pytest_agentbench.checks.findings import not_measured, not_seen
from pytest_agentbench.checks.matching import match_run
from pytest_agentbench.checks.tau2.parts import check_actions
from pytest_agentbench.checks.wording import call_text
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.verdict import Finding
from pytest_agentbench.environment.tau2_bridge.replay import Replayed


def check_basis(run: Run, replayed: Replayed | None) -> Iterator[Finding]:
    """Give a finding for each assertion where ENV_ASSERTION is asked for, and those of ACTION where that is.

    `replayed` is the world that the run's calls led to. A basis that names neither, or is not stated, asks for nothing.
    """
    criteria = run.scenario.task.evaluation_criteria
    basis = (criteria.reward_basis if criteria else None) or ()
    if "ENV_ASSERTION" in basis:
        yield from _assertions(run, replayed)
    if "ACTION" in basis and run.scenario.expected_calls:
        yield from _actions(run)


def _assertions(run: Run, replayed: Replayed | None) -> Iterator[Finding]:
    criteria = run.scenario.task.evaluation_criteria
    stated = (criteria.env_assertions if criteria else None) or []
    if (replayed is None or replayed.difference) and run.calls_visible and _as_expected(run):
        message = "the calls that write are the expected ones, so that what is asserted holds"
        yield Finding(check="state", kind="state", passed=True, message=message)
        return
    held = replayed.assertions if replayed is not None and not replayed.difference else (None,) * len(stated)
    for assertion, holds in zip(stated, held, strict=False):
        text = printable(call_text(str(assertion.get("func_name")), assertion.get("arguments") or {}))
        wanted = f"{text} is {str(assertion.get('assert_value', True)).lower()}"
        if holds is not None:
            message = f"{wanted}, as asserted" if holds else f"it was asserted that {wanted}, and it is not"
            yield Finding(check="state", kind="state", passed=holds, message=message)
        elif run.finished:
            cure = "name the domain with `environment: {tau2: DOMAIN}` and install it (see docs/tau2.md)"
            yield not_measured("state", "state", f"whether {wanted} ({_why(replayed)})", cure=cure)


def _as_expected(run: Run) -> bool:
    """Whether every expected write was made, and no other by anyone: equal calls lead to the state that is asserted."""
    matching = match_run(run)
    done = matching.succeeded
    paired = set(matching.strict.values())
    others = [record for place, record in enumerate(matching.records) if place not in paired]
    return all(
        index in done or expects_write(want, matching.records, run.toolset) is False
        for index, want in enumerate(matching.expected)
    ) and all(wrote(record, run.toolset) is False for record in others)


def _why(replayed: Replayed | None) -> str:
    if replayed is None:
        return "the domain is not at hand"
    return f"when replayed, {replayed.difference}" if replayed.difference else "; ".join(replayed.notes)


def _actions(run: Run) -> Iterator[Finding]:
    """Judge the expected calls as τ²'s ACTION does, which is what the basis asks for."""
    if not run.calls_visible:
        yield not_seen("calls", "calls")
        return
    wanted = zip(run.scenario.expected_calls, check_actions(run), strict=True)
    missing = [call_text(call.name, call.arguments) for call, made in wanted if not made]
    for text in missing:
        yield Finding(check="calls", kind="calls", passed=False, message=f"{text} was never called (ACTION)")
    if not missing:
        yield Finding(check="calls", kind="calls", passed=True, message="the expected calls were made (ACTION)")
