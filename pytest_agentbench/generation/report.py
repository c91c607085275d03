"""What a session of generation reports: scenarios, losses by stage and reason, coverage, handling, models and cost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.model import ModelSpec, Usage
from pytest_agentbench.core.text import percentage, printable, shorten
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.draft import Draft, Loss
from pytest_agentbench.llm.prices import cost_of
from pytest_agentbench.llm.reply import TokenCount

CALLS, TOKENS = 3, 6_000
"""Model calls and tokens that one scenario may take, at most."""

PAPER = 33.0
"""Model calls per accepted scenario of tool-to-scenario: (transitions + 1) x 135/50 + 1 persona at 11.7 nodes."""

BOUNDS = {False: 0.10, True: 0.30}
"""The share of drafts that may be lost, without a model and with one that may call a draft absurd."""

_EXAMPLES = 3
_WIDTH = 110


class CoverageRow(Model):
    """How much of what is covered, and what is missing with the reason."""

    what: str
    covered: int
    total: int
    missing: tuple[tuple[str, str], ...] = ()


class CriticCount(Model):
    """What a critic said, counted as tool-to-scenario counts: verdicts, rejections, those for invented values."""

    verdicts: int = 0
    rejected: int = 0
    invented: int = 0
    implausible: int = 0


@dataclass(frozen=True, kw_only=True)
class Report:
    """What became of a recipe: drafts that were accepted, losses, files, and what models took by role.

    `coverage` and `lines` are the source's own. `stopped` says why no further draft was tried. `kept` files a reviewer
    decided about, those of `foreign` names somebody else wrote, `removed` ones are gone, and `left` ones of earlier
    sessions stay, since nothing was accepted.
    """

    name: str
    source: str
    seed: int
    wanted: int
    out: Path
    accepted: Sequence[Draft] = ()
    losses: Sequence[Loss] = ()
    scenarios: int = 0
    kept: int = 0
    foreign: Sequence[str] = ()
    removed: int = 0
    left: int = 0
    stopped: str = ""
    coverage: Sequence[CoverageRow] = ()
    lines: Sequence[str] = ()
    usage: Mapping[str, Usage] = field(default_factory=dict)
    players: Mapping[str, str] = field(default_factory=dict)
    critic: CriticCount = field(default_factory=CriticCount)
    estimate: str = ""

    @property
    def tried(self) -> int:
        """The number of drafts that were tried."""
        return len(self.accepted) + len(self.losses)

    @property
    def handling(self) -> dict[str, Counter[str]]:
        """How often each policy was decided, exercised, enforced by its tool or left to a judge, by its id."""
        found: dict[str, Counter[str]] = {}
        for part in (part for draft in self.accepted for part in draft.policies):
            found.setdefault(part.policy, Counter())[part.handling] += 1
        return dict(sorted(found.items()))


def estimate_of(spec: ModelSpec, wanted: int) -> str:
    """Say what wording so many scenarios takes at most, before anything is asked."""
    tokens = TokenCount(input=wanted * TOKENS * 3 // 4, output=wanted * TOKENS // 4)
    cost = cost_of(spec, spec.model, tokens)
    price = "price unknown" if cost is None else f"{cost:.2f} USD"
    each = f"{CALLS} calls and {TOKENS} tokens a scenario"
    return f"wording {wanted} scenarios by {spec.model}: at most {wanted * CALLS} model calls ({each}), {price}"


def lines_of(report: Report) -> list[str]:
    """Give the report as lines for people."""
    with_model = bool(report.players)
    lost = len(report.losses)
    share = f" ({100 * lost / report.tried:.1f} %, bound {100 * BOUNDS[with_model]:.0f} %)" if report.tried else ""
    calls = [len(draft.calls) for draft in report.accepted]
    lines = [
        f"agentbench generate: {report.name} · from {report.source} · seed {report.seed}",
        f"{len(report.accepted)} of {report.wanted} scenarios"
        + (f", {sum(calls) / len(calls):.1f} calls on average" if calls else "")
        + (f"; {report.scenarios} with all personas" if report.scenarios > len(report.accepted) else ""),
        *_files(report),
        *report.lines,
        f"drafts tried: {report.tried}, lost: {lost}{share}",
    ]
    for (stage, reason), details in _by_reason(report.losses).items():
        lines.append(f"  {len(details):>4}  {stage}: {reason}")
        shown = dict.fromkeys(filter(None, details[:_EXAMPLES]))
        lines += [f"        {shorten(printable(detail), _WIDTH)}" for detail in shown]
    lines += _coverage(report.coverage)
    lines += _handling(report)
    lines += _models(report)
    if len(report.accepted) < report.wanted:
        missing = report.wanted - len(report.accepted)
        lines.append(f"{missing} scenarios short: {report.stopped or 'see the reasons above'}")
    return lines


def _files(report: Report) -> list[str]:
    """Say where files are written, and what became of those that stood there."""
    told = [f"written to {report.out}"]
    told += [f"{report.kept} reviewed files kept as they are"] if report.kept else []
    told += [f"{report.removed} files of earlier sessions removed"] if report.removed else []
    lines = ["; ".join(told)]
    if report.left:
        lines.append(f"nothing was accepted: the {report.left} files of earlier sessions stay")
    if report.foreign:
        names = ", ".join(printable(name) for name in report.foreign)
        lines.append(f"not written over, since somebody else wrote it: {names}; move it to have the scenario written")
    return lines


def document_of(report: Report) -> dict[str, JsonValue]:
    """Give the report as JSON."""
    return {
        "suite": report.name,
        "from": report.source,
        "seed": report.seed,
        "wanted": report.wanted,
        "accepted": [draft.id for draft in report.accepted],
        "scenarios": report.scenarios,
        "kept": report.kept,
        "foreign": list(report.foreign),
        "removed": report.removed,
        "left": report.left,
        "tried": report.tried,
        "lost": [loss.model_dump() for loss in report.losses],
        "worded": dict(Counter(draft.worded_by for draft in report.accepted)),
        "calls": {draft.id: len(draft.calls) for draft in report.accepted},
        "coverage": [row.model_dump(mode="json") for row in report.coverage],
        "handling": {policy: dict(counts) for policy, counts in report.handling.items()},
        "players": dict(report.players),
        "critic": report.critic.model_dump(),
        "models": {
            role: {
                "calls": usage.calls + usage.replayed,
                "tokens": usage.input_tokens + usage.output_tokens,
                "cost_usd": round(usage.cost_usd, 6),
                "unpriced": usage.unpriced,
            }
            for role, usage in report.usage.items()
        },
        "stopped": report.stopped,
    }


def _by_reason(losses: Sequence[Loss]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for loss in losses:
        found.setdefault((loss.stage, loss.reason), []).append(loss.detail)
    return dict(sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def _coverage(rows: Sequence[CoverageRow], most: int = 10) -> list[str]:
    if not rows:
        return []
    width = max(8, *(len(row.what) + 1 for row in rows))
    lines = ["", f"{'':<{width}}{'covered':>8}{'of':>7}"]
    for row in rows:
        share = percentage(row.covered / row.total) if row.total else "-"
        lines.append(f"{row.what:<{width}}{row.covered:>8}{row.total:>7}{share:>7}")
    for row in rows:
        lines += [f"missing {row.what}: {name} ({reason})" for name, reason in row.missing[:most]]
        if len(row.missing) > most:
            lines.append(f"missing {row.what}: {len(row.missing) - most} more")
    return [*lines, ""]


def _handling(report: Report) -> list[str]:
    """Give a line per policy: in how many scenarios it is decided, exercised, enforced by the tool, or judge-only."""
    if not report.handling:
        return []
    width = max(len(policy) for policy in report.handling) + 2
    lines = ["", f"{'policy':<{width}}{'decided':>8}{'exercised':>11}{'enforced':>10}{'judge only':>12}"]
    for policy, counts in report.handling.items():
        row = f"{counts['decided']:>8}{counts['exercised']:>11}{counts['enforced']:>10}{counts['judge_only']:>12}"
        lines.append(f"{policy:<{width}}{row}")
    return [*lines, ""]


def _models(report: Report) -> list[str]:
    if not report.players:
        return ["model calls: none; the users speak in plain phrases"]
    total = sum(usage.calls + usage.replayed for usage in report.usage.values())
    tokens = sum(usage.input_tokens + usage.output_tokens for usage in report.usage.values())
    cost = sum(usage.cost_usd for usage in report.usage.values())
    unpriced = sum(usage.unpriced for usage in report.usage.values())
    number = max(len(report.accepted), 1)
    roles = ", ".join(f"{role} {usage.calls + usage.replayed}" for role, usage in report.usage.items())
    each = f"{total / number:.1f} and {tokens / number:.0f} tokens per accepted scenario"
    lines = [
        *([report.estimate] if report.estimate else []),
        f"model calls: {total} ({roles}), {each} (the paper's pipeline: about {PAPER:.0f} calls)",
        f"cost: {cost:.4f} USD" + (f", {unpriced} calls of unknown price" if unpriced else ""),
    ]
    if report.critic.verdicts:
        found = report.critic
        rejected = max(found.rejected, 1)
        other = found.rejected - found.invented - found.implausible
        lines.append(
            f"critic: {found.rejected} of {found.verdicts} verdicts are rejections "
            f"({100 * found.rejected / found.verdicts:.0f} %): {found.implausible} implausible, {found.invented} with "
            f"invented values ({100 * found.invented / rejected:.0f} %), {other} with other writes; the paper: 63 %, "
            "79 % of them invented"
        )
    return lines
