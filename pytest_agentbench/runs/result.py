"""What is kept of a run: the judged run, or why there is none, as a `Result`."""

from functools import lru_cache
from pathlib import PurePath

from pytest_agentbench.core.run import Judgement, Result, Run
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.verdict import Blame, Finding, Verdict
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.runner import Judged
from pytest_agentbench.suites.hashes import scenario_hash


def blank(plan: RunPlan, *, nodeid: str = "") -> Result:
    """Give what is known of a run before it starts: its names, hashes, complexity and policies."""
    complexity = plan.scenario.rated_complexity({policy.id: policy for policy in plan.suite.policies})
    return Result(
        key=plan.key,
        nodeid=nodeid,
        title=plan.scenario.title,
        file=_relative(plan.scenario.file or plan.suite.path, plan.suite.path, plan.suite_key),
        line=plan.scenario.line,
        scenario_hash=scenario_hash(_as_run(plan), plan.suite.secrets),
        suite_hash=plan.suite.content_hash,
        verdict=Verdict.ERROR,
        not_run="not run",
        listed_policies=plan.scenario.policies,
        complexity=complexity[0] if complexity else None,
        complexity_scale=complexity[1] if complexity else None,
        trials=plan.trials,
        stops_early=plan.stops_early,
        pending=plan.suite.is_pending(plan.scenario),
        quarantine=plan.scenario.quarantine,
        plain=plan.scenario.provenance.get("worded") == "plain",
        language=plan.scenario.language or plan.suite.language,
        tags=plan.scenario.tags,
        tools=tuple(dict.fromkeys(call.name for call in plan.scenario.expected_calls)),
        faults=tuple(fault.name for fault in plan.strikes),
    )


def _as_run(plan: RunPlan) -> Scenario:
    """Give the scenario with all the faults that it runs under: under others it is another test."""
    return plan.scenario.model_copy(update={"faults": plan.strikes}) if plan.faults else plan.scenario


_OF_RUN = ("session_id", "termination", "stop_reason", "error", "reported", "seconds", "turn_seconds")


def result_of(plan: RunPlan, judged: Judged, known: Result) -> Result:
    """Give the result of a judged run; `known` is what was known of it, or of another attempt, before it started."""
    run, judgement = judged.run, judged.judgement
    called = (record.call.name for record in run.transcript.trajectory)
    before = known if known.key == plan.key else known.model_copy(update={"key": plan.key})
    if judged.not_run is not None:
        return before.model_copy(update={"not_run": judged.not_run, "usage": judged.usage, "players": judged.players})
    kept = {name: getattr(judgement, name) for name in Judgement.model_fields.keys() & Result.model_fields.keys()}
    kept |= {name: getattr(run, name) for name in _OF_RUN}
    return before.model_copy(
        update={
            **kept,
            "not_run": None,
            "seen_writes": _seen_writes(run),
            "tools": tuple(dict.fromkeys((*before.tools, *called))),
            "agents": run.transcript.agents,
            "players": judged.players,
            "usage": judged.usage,
        }
    )


def _seen_writes(run: Run) -> tuple[str, ...]:
    """Name the tools that changed the state, and whose kind nobody declares."""
    found: dict[str, None] = {}
    for record in run.transcript.trajectory:
        spec = run.toolset.get(record.call.name, record.call.requestor)
        is_settled = spec is None or spec.kind == "write" or (spec.kind != "unknown" and spec.kind_from != "name")
        if not is_settled and record.result is not None and record.result.wrote is True:
            found[record.call.name] = None
    return tuple(found)


def deserves_another(result: Result, *, replaying: bool) -> bool:
    """Whether a run is played once more: its user or its provider spoilt it, or its user is suspected to have.

    Passed or not is not asked. What is `replaying` misses the same recording again, and a script says the same again.
    """
    is_scripted = result.players.get("user") == "scripted"
    if result.decided and result.disputed and not is_scripted:
        return True
    spoilt = {Blame.USER} if replaying else {Blame.USER, Blame.PROVIDER}
    return result.not_run is None and result.verdict is Verdict.ERROR and result.blame in spoilt


def crash_result(before: Result, reason: str) -> Result:
    """Give the result of a run that took its process down with it."""
    finding = Finding(check="termination", kind="termination", passed=False, message=reason)
    return before.model_copy(
        update={
            "not_run": None,
            "verdict": Verdict.FAILED,
            "blame": Blame.AGENT,
            "termination": Termination.CRASHED,
            "stop_reason": reason,
            "error": reason,
            "findings": (finding,),
        }
    )


@lru_cache(maxsize=64)  # a file holds many scenarios
def _relative(file: str | PurePath, suite: PurePath, key: str) -> str:
    """Give a scenario's file relative to where the key of its suite starts."""
    path, base = PurePath(file), suite
    for _ in PurePath(key).parts:
        base = base.parent
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else path.as_posix()
