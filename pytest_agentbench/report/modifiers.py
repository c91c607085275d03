"""Which modifiers of simulated users showed in a session, which did not, and which did not fit."""

from collections.abc import Sequence

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.verdict import Finding
from pytest_agentbench.report.glyphs import Glyphs, Line
from pytest_agentbench.report.table import wrap

_CHECK = "modifier "
_LEFT_OUT = "left out: "


def modifiers(results: Sequence[Result], marks: Glyphs, width: int) -> list[Line]:
    """Give a line for each modifier that was asked for: in how many runs it showed, did not show, or was left out."""
    found: dict[str, list[Finding]] = {}
    for finding in (finding for result in results for finding in result.findings):
        if finding.kind == "user" and finding.check.startswith(_CHECK):
            found.setdefault(finding.check.removeprefix(_CHECK), []).append(finding)
    lines = []
    for name, findings in sorted(found.items()):
        told = _told(findings)
        parts = wrap(marks.plain(f"modifier {name}  {f' {marks.dot} '.join(told)}"), width, " " * 13)
        lines += [Line(part, "" if len(told) == 1 and findings[0].passed else "warn") for part in parts]
    return lines


def _told(findings: Sequence[Finding]) -> list[str]:
    counts = {passed: [one for one in findings if one.passed is passed] for passed in (True, False, None)}
    told = [f"showed in {len(counts[True])}"] if counts[True] else []
    if counts[False]:
        told.append(f"did not show in {len(counts[False])}: nothing is known of it there")
    reasons = [one.message.partition(_LEFT_OUT)[2] for one in counts[None]]
    if unknown := reasons.count(""):
        told.append(f"not measured in {unknown}")
    if left_out := [reason for reason in reasons if reason]:
        told.append(f"left out in {len(left_out)} (the first: {left_out[0]})")
    return told
