"""What a session of generation reports: scenarios, walks lost by stage and reason, coverage, model calls."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.storing import Finished
from pytest_agentbench.generation.tools.walks.coverage import Row, report
from pytest_agentbench.generation.tools.walks.sampling import calls_of, class_of

PAPER = 33.0
"""Model calls per accepted scenario of tool-to-scenario: (transitions + 1) x 135/50 + 1 persona at 11.7 nodes."""
_EXAMPLES = 3


@dataclass(frozen=True, kw_only=True)
class Session:
    """What there is to report."""

    name: str
    seed: int
    wanted: int
    out: Path
    finished: Sequence[Finished]
    coverage: Sequence[Row]
    calls: Mapping[str, int] = field(default_factory=dict)
    players: Mapping[str, str] = field(default_factory=dict)
    unpooled: Mapping[str, str] = field(default_factory=dict)
    exhausted: bool = False
    uncalled: Sequence[str] = ()
    kinds: Sequence[str] = ()

    @property
    def accepted(self) -> list[Finished]:
        """The walks that became scenarios."""
        return [one for one in self.finished if one.forms]


def lines_of(session: Session) -> list[str]:
    """Give the report as a coverage tool would print it."""
    accepted = session.accepted
    classes = Counter(class_of(one.walk) for one in accepted)
    calls = [len(calls_of(one.walk)) for one in accepted]
    scenarios = sum(len(one.forms) for one in accepted)
    lines = [
        f"agentbench generate: {session.name} · from tools · seed {session.seed}",
        f"{len(accepted)} of {session.wanted} scenarios: {classes['simple']} simple, {classes['complex']} complex"
        + (f", {sum(calls) / len(calls):.1f} calls on average" if calls else "")
        + (f"; {scenarios} with all personas" if scenarios != len(accepted) else ""),
        f"written to {session.out}",
        *session.uncalled,
        *session.kinds,
    ]
    lost = len(session.finished) - len(accepted)
    share = f" ({100 * lost / len(session.finished):.1f} %)" if session.finished else ""
    lines.append(f"walks tried: {len(session.finished)}, lost: {lost}{share}")
    for (stage, reason), several in _lost(session.finished).items():
        lines.append(f"  {len(several):>4}  {stage}: {reason}")
        lines += [
            f"        {shorten(printable(detail), 110)}" for detail in dict.fromkeys(several[:_EXAMPLES]) if detail
        ]
    lines += ["", *report(session.coverage), ""]
    told = {name for row in session.coverage for name, _ in row.missing}
    lines += [
        f"no verified call of {tool}: {why}" for tool, why in sorted(session.unpooled.items()) if tool not in told
    ]
    lines.append(_models(session, len(accepted)))
    if len(accepted) < session.wanted:
        lines.append(_short(session))
    return lines


def document_of(session: Session) -> dict[str, JsonValue]:
    """Give the report as JSON."""
    accepted = session.accepted
    return {
        "suite": session.name,
        "seed": session.seed,
        "wanted": session.wanted,
        "accepted": len(accepted),
        "scenarios": [form["id"] for one in accepted for form in one.forms],
        "classes": dict(Counter(class_of(one.walk) for one in accepted)),
        "calls": {one.walk.id: len(calls_of(one.walk)) for one in accepted},
        "attempts": {one.walk.id: one.story.attempts for one in accepted if one.story},
        "tried": len(session.finished),
        "lost": [one.rejection.model_dump() for one in session.finished if one.rejection],
        "coverage": [row.model_dump() for row in session.coverage],
        "no_verified_calls": dict(session.unpooled),
        "players": dict(session.players),
        "model_calls": dict(session.calls),
    }


def _lost(finished: Sequence[Finished]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for one in finished:
        if one.rejection is not None:
            found.setdefault((one.rejection.stage, one.rejection.reason), []).append(one.rejection.detail)
    return dict(sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def _models(session: Session, accepted: int) -> str:
    if not session.players:
        return "model calls: none, every role was played without a model"
    total = sum(session.calls.values())
    each = (
        f"{total / accepted:.1f} per accepted scenario (the paper's pipeline: about {PAPER:.0f})" if accepted else "-"
    )
    roles = ", ".join(f"{role} {count}" for role, count in session.calls.items())
    return f"model calls: {total}, {each}" + (f"; {roles}" if roles else "")


def _short(session: Session) -> str:
    missing = session.wanted - len(session.accepted)
    if session.exhausted:
        why = "the graph has no further walks of the lengths asked for"
        what = "lower `count`, raise `nodes: {max: …}` or `pool`, or name values for arguments under `values`"
    elif not session.accepted:
        why, what = f"the first {len(session.finished)} walks were all lost", "see the reasons above"
    else:
        why, what = "too many walks were lost", "see the reasons above"
    return f"{missing} scenarios short: {why} ({what})"
