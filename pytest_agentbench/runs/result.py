"""What is kept of a run: the judged run, or why there is none, as a `Result`."""

from pytest_agentbench.core.run import Judgement, PlannedRun, Result, Run
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text_similarity import similar
from pytest_agentbench.core.verdict import Blame, Finding, Verdict
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.roles import Roles

_LONGEST = 200
"""Characters of an answer that is kept; part of a longer one could be part of a secret."""

_OF_RUN = ("session_id", "termination", "stop_reason", "error", "reported", "seconds", "turn_seconds")


def result_of(plan: RunPlan, run: Run, judgement: Judgement, roles: Roles, players: dict[str, str]) -> Result:
    """Give the result of a run that was judged, or that one of its `roles` kept from taking place."""
    planned = plan.planned
    if roles.not_run is not None:
        return Result.of_not_run(planned, roles.not_run, usage=roles.usage, players=players)
    called = (record.call.name for record in run.transcript.trajectory)
    tools = tuple(dict.fromkeys((*planned.tools, *called)))
    names, described = tuple(dict.fromkeys(record.call.name for record in run.calls)), run.toolset.names()
    return Result(
        **{**dict(planned), "tools": tools},
        **dict(judgement),
        **{name: getattr(run, name) for name in _OF_RUN},
        seen_writes=_seen_writes(run),
        called=names,
        sole_answer=_sole_answer(run),
        undescribed=tuple(name for name in names if name not in described),
        agents=run.transcript.agents,
        players=players,
        usage=roles.usage,
    )


def _sole_answer(run: Run) -> str:
    """Give what the agent said in every turn, "" where it said different things, or much, or made calls."""
    said = [text for _, text in run.transcript.texts("assistant")]
    is_one = bool(said) and not run.calls and all(similar(said[0], text) for text in said)
    return said[0] if is_one and len(said[0]) <= _LONGEST else ""


def _seen_writes(run: Run) -> tuple[str, ...]:
    """Name the tools that changed the state, and whose kind nobody declares."""
    found: dict[str, None] = {}
    for record in run.transcript.trajectory:
        spec = run.toolset.get(record.call.name, record.call.requestor)
        is_settled = spec is None or spec.kind == "write" or (spec.kind != "unknown" and spec.kind_from != "name")
        if not is_settled and record.result is not None and record.result.wrote is True:
            found[record.call.name] = None
    return tuple(found)


def deserves_another(run: Run, result: Result, *, replaying: bool) -> bool:
    """Whether a run is played once more: its user or its provider spoilt it, or its user is suspected to have.

    Passed or not is not asked. What is `replaying` misses the same recording again, and a script says the same again; a
    server that let nobody in will not the next time either.
    """
    if run.was_denied:
        return False
    is_scripted = result.players.get("user") == "scripted"
    if result.decided and result.disputed and not is_scripted:
        return True
    spoilt = {Blame.USER} if replaying else {Blame.USER, Blame.PROVIDER}
    return result.not_run is None and result.verdict is Verdict.ERROR and result.blame in spoilt


def crashed(plan: RunPlan, reason: str) -> Run:
    """Give a run of which nothing is known but that the agent kept it from ever coming to an end."""
    return Run(
        key=plan.key,
        scenario=plan.scenario,
        policies=plan.policies,
        toolset=plan.toolset,
        termination=Termination.CRASHED,
        stop_reason=reason,
        error=reason,
        blame=Blame.AGENT,
    )


def crash_result(planned: PlannedRun, reason: str) -> Result:
    """Give the result of a run that took its process down with it."""
    finding = Finding(check="termination", kind="termination", passed=False, message=reason)
    return Result(
        **dict(planned),
        verdict=Verdict.FAILED,
        blame=Blame.AGENT,
        termination=Termination.CRASHED,
        stop_reason=reason,
        error=reason,
        findings=(finding,),
    )
