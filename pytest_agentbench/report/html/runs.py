"""What the page says about one run: a line of the list, and all that is shown when it is opened."""

import ast
import re
from collections.abc import Sequence

from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.verdict import CallExplanation, Finding, Verdict
from pytest_agentbench.report.failures import Divergence, check_name, failed_findings, finding_text, no_finding_text
from pytest_agentbench.report.html.shown import MOST_TEXT, number, shown, shown_arguments
from pytest_agentbench.report.sections import IN_QUARANTINE, PENDING, value_flags
from pytest_agentbench.report.table import UNICODE
from pytest_agentbench.results.audits import auditor_flags

MOST_MESSAGES = 200
"""Messages of one conversation that the page holds."""

MOST_FINDINGS = 100

_LINE = 300

_JUDGED = ("rubric", "policy", "claim", "goal", "user", "termination")
"""What findings are about that may quote."""

# as `checks/judges` words its findings: reason, then what it quotes as a Python literal, in parentheses
_QUOTE = re.compile(r"^(?P<reason>[\s\S]*?) \((?:turn (?P<turn>\d+): )?(?P<quote>'[\s\S]*'|\"[\s\S]*\")\)$")


def row(result: Result, level: str, noted: str = "") -> dict[str, JsonValue]:
    """Give the line of the list; `level` is the label of the run's complexity, `noted` stands beside its verdict."""
    found = failed_findings(result)
    broken = [outcome.policy for outcome in result.policies if outcome.exercised and outcome.kept is False]
    exercised = [outcome.policy for outcome in result.policies if outcome.exercised]
    return {
        "suite": shown(result.key.suite, 200),
        "name": shown(result.key.scenario, 200),
        "title": shown(result.title, 200) if result.title != result.key.scenario else "",
        "variant": shown(result.key.variant, 80),
        "fault": shown(result.key.fault, 80),
        "trial": result.key.trial,
        "verdict": verdict(result),
        "blame": str(result.blame or ""),
        "termination": str(result.termination or "not run"),
        "complexity": result.complexity,
        "level": level,
        "policies": [shown(policy, 200) for policy in dict.fromkeys((*exercised, *result.listed_policies))],
        "broken": [shown(policy, 200) for policy in broken],
        "tags": [shown(tag, 80) for tag in result.tags],
        "tools": [shown(tool, 120) for tool in result.tools],
        "open": len(result.unmeasured) if result.decided else 0,
        "noted": ", ".join(filter(None, (_waits(result), noted))),
        "line": "" if result.passed else shown(headline(result, found), _LINE),
    }


def _waits(result: Result) -> str:
    if not result.set_aside:
        return ""
    why = PENDING if result.pending else IN_QUARANTINE
    return f"{why}, {result.verdict.value}" if result.decided else why


def verdict(result: Result) -> str:
    """Give what the list shows: passed, failed, or unscored: others to blame, not run, not reviewed."""
    if result.scored:
        return "passed" if result.passed else "failed"
    return "unscored"


def headline(result: Result, found: Sequence[Finding]) -> str:
    """Say in one line what kept a run from passing."""
    if not found or not (result.scored or result.verdict is Verdict.FAILED):
        return no_finding_text(result, UNICODE)
    return f"{UNICODE.plain(check_name(found[0]))}: {finding_text(result, found[0], UNICODE, _LINE)}"


def details(
    result: Result,
    transcript: Transcript | None,
    *,
    divergences: Sequence[Divergence] = (),
    rerun: str = "",
    path: str = "",
    earlier: Sequence[Result] = (),
) -> dict[str, JsonValue]:
    """Give what is shown of an opened run; `path` is where its whole transcript lies."""
    failed = failed_findings(result)
    rest = [finding for finding in result.findings if finding not in failed]
    return {
        "findings": [_finding(finding, failing=True) for finding in failed[:MOST_FINDINGS]]
        + [_finding(finding, failing=False) for finding in rest[: MOST_FINDINGS - len(failed[:MOST_FINDINGS])]],
        "more_findings": max(len(result.findings) - MOST_FINDINGS, 0),
        "calls": [_call(call) for call in result.calls[:MOST_MESSAGES]],
        "messages": None if transcript is None else _messages(transcript),
        "more": 0 if transcript is None else max(len(transcript.messages) - MOST_MESSAGES, 0),
        "divergences": [
            {
                "turn": one.turn,
                "reason": shown(one.reason, _LINE * 2),
                "against": one.against,
                **({"agent": shown(one.agent, 120)} if one.agent else {}),
            }
            for one in divergences
        ],
        "rerun": shown(rerun, 1_000),
        "transcript": shown(path, 400),
        "file": f"{shown(result.file, 300)}:{result.line}" if result.file and result.line else shown(result.file, 300),
        "stop": shown(result.stop_reason, 1_000),
        "error": shown(result.error or "", 2_000),
        "not_run": shown(result.not_run or "", 1_000),
        "also": [[str(one.blame), shown(one.reason, _LINE)] for one in result.also],
        "flags": [[one.turn, shown(one.value, 200), shown(one.quote, _LINE)] for one in value_flags(result)],
        "seen": [
            [one.kind, one.turn, shown(one.message or one.value, _LINE), shown(one.quote, _LINE)]
            for one in auditor_flags(result)
        ],
        "disputed": shown(result.disputed, _LINE),
        "unmeasured": [
            [shown(one.part, 200), shown(one.why.removeprefix("not measured: "), _LINE), shown(one.cure, _LINE)]
            for one in result.unmeasured
        ],
        "scale": result.complexity_scale or "",
        "seconds": number(result.seconds),
        "metrics": [[shown(name, 80), number(value)] for name, value in result.metrics.items()],
        "policies": [[shown(one.policy, 200), one.exercised, one.kept] for one in result.policies],
        "players": [[shown(role, 40), shown(player, 200)] for role, player in result.players.items()],
        "usage": [[shown(role, 40), use.calls, use.replayed] for role, use in result.usage.items()],
        "earlier": [
            [one.key.attempt, verdict(one), str(one.blame or ""), shown(headline(one, failed_findings(one)), _LINE)]
            for one in earlier
        ],
    }


def without_conversation(data: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Give the details of a run without what was said, for a page that has grown large enough."""
    return {**data, "messages": None, "dropped": True}


def _finding(finding: Finding, *, failing: bool) -> dict[str, JsonValue]:
    reason, quote, turn = _quoted(finding)
    return {
        "check": shown(finding.check, 200),
        "kind": finding.kind,
        "tool": shown(finding.tool or "", 120),
        "passed": finding.passed,
        "failing": failing,
        "required": finding.required,
        "message": shown(reason, 2_000),
        "quote": shown(quote, 1_000),
        "turn": turn,
        "expected": None if finding.expected is None else shown(finding.expected, 1_000),
        "actual": None if finding.actual is None else shown(finding.actual, 1_000),
    }


def _quoted(finding: Finding) -> tuple[str, str, int | None]:
    """Take a judge's quote out of its message."""
    found = _QUOTE.match(finding.message) if finding.kind in _JUDGED else None
    if found is None:
        return finding.message, "", finding.turn
    try:
        quote = ast.literal_eval(found["quote"])
    except (ValueError, SyntaxError):
        return finding.message, "", finding.turn
    turn = int(found["turn"]) if found["turn"] else finding.turn
    return (found["reason"], quote, turn) if isinstance(quote, str) else (finding.message, "", finding.turn)


def _call(call: CallExplanation) -> dict[str, JsonValue]:
    sides = {name: list(shown_arguments({"e": expected, "a": actual}).values()) for name, (expected, actual) in
             call.differing.items()}  # fmt: skip
    return {
        "status": call.status,
        "tool": shown(call.tool, 120),
        "expected": None if call.expected is None else shown_arguments(call.expected),
        "actual": None if call.actual is None else shown_arguments(call.actual),
        "differing": {shown(str(name), 400): side for name, side in sides.items()},
        **({"open": shown_arguments(call.left_open)} if call.left_open else {}),
        "turn": call.turn,
        "write": call.write,
        "note": shown(call.note, 1_000),
    }


def _messages(transcript: Transcript) -> JsonValue:
    pairs = zip(transcript.turns, transcript.messages, strict=True)
    return [_message(turn, message) for turn, message in list(pairs)[:MOST_MESSAGES]]


def _message(turn: int, message: Message) -> dict[str, JsonValue]:
    text = "(leaves without a word)" if message.is_wordless else shown(message.text)
    data: dict[str, JsonValue] = {"role": message.role, "turn": turn, "text": text}
    if len(message.text) > MOST_TEXT:
        data["cut"] = len(message.text)
    if message.requestor != "assistant":
        data["by"] = message.requestor
    if message.session > 1:
        data["session"] = message.session
    if message.by:
        data["agent"] = shown(message.by, 120)
    if message.events:
        data["events"] = [shown(str(event), _LINE) for event in message.events]
    if message.output is not None:
        data["output"] = shown_arguments({"output": message.output})
    if message.error:
        data["error"] = True
    if message.rejected:
        data["rejected"] = True
    if message.wrote:
        data["wrote"] = True
    if message.tool_calls:
        data["calls"] = [
            {"name": shown(call.name, 120), "raw": shown(call.raw, 2_000)}
            if call.raw is not None
            else {"name": shown(call.name, 120), "arguments": shown_arguments(call.arguments)}
            for call in message.tool_calls
        ]
    waits = [("asks for approval", one.tool, one.arguments) for one in message.approvals if not one.is_question]
    waits += [(f"{one.kind}s", one.tool, one.arguments) for one in message.decisions if one.kind != "respond"]
    if waits:
        data["waits"] = [
            {"status": status, "name": shown(tool, 120), "arguments": shown_arguments(arguments)}
            for status, tool, arguments in waits
        ]
    return data
