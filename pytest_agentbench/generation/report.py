"""What a session of generation reports: scenarios, losses by stage and reason, coverage, handling, models and cost."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.model import ModelSpec, Usage
from pytest_agentbench.core.names import count
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.text import percentage, printable, shorten
from pytest_agentbench.generation.draft import HELPS, Draft, Loss
from pytest_agentbench.generation.recipe import recipe_of
from pytest_agentbench.generation.recipe_folder import SCENARIOS, Saved
from pytest_agentbench.generation.roles import RoleModels
from pytest_agentbench.llm.prices import cost_of
from pytest_agentbench.llm.reply import TokenCount

COST = {"deeds": (3, 6_000), "walks": (3, 6_000), "goals": (10, 20_000)}
"""Model calls and tokens that one scenario may take, at most, by where its chain of calls comes from."""

PAPER = 33.0
"""Model calls per accepted scenario of tool-to-scenario: (transitions + 1) x 135/50 + 1 persona at 11.7 nodes."""

BOUNDS = {False: 0.10, True: 0.30}
"""The share of drafts that may be lost, without a model and with one that may call a draft absurd."""

_EXAMPLES, _MISSING = 3, 10
"""Details of one reason, and names that are not covered, that are shown."""
_WIDTH = 110
_HANDLING = {"decided": 8, "exercised": 11, "enforced": 10, "judge_only": 12}
"""The columns of the table of policies, with their widths."""


class CoverageRow(Model):
    """How much of what is covered, and what is missing with the reason."""

    what: str
    covered: int
    total: int
    missing: tuple[tuple[str, str], ...] = ()


@dataclass(kw_only=True)
class Report:
    """What became of a recipe: drafts that were accepted, losses, files.

    `coverage` and `lines` are the source's own. `stopped` says why no further draft was tried; `left` files of earlier
    sessions stay, since nothing was accepted. `verdicts` are the critic's, why a draft is rejected or "".
    """

    suite: Suite
    wanted: int
    roles: RoleModels | None = None
    accepted: list[Draft] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    scenarios: int = 0
    saved: Saved = field(default_factory=Saved)
    left: int = 0
    stopped: str = ""
    coverage: Sequence[CoverageRow] = ()
    lines: Sequence[str] = ()
    verdicts: Sequence[str] = ()
    estimate: str = ""

    @property
    def usage(self) -> Mapping[str, Usage]:
        """What the model calls of each role took."""
        return self.roles.usage if self.roles else {}

    @property
    def players(self) -> Mapping[str, str]:
        """The models by the roles that they play."""
        return self.roles.players if self.roles else {}

    @property
    def tried(self) -> int:
        """The number of drafts that were tried."""
        return len(self.accepted) + len(self.losses)

    @property
    def critic(self) -> dict[str, int]:
        """The critic's verdicts, counted as tool-to-scenario counts them."""
        found = Counter(self.verdicts)
        counts = {"verdicts": found.total(), "rejected": found.total() - found[""]}
        return {**counts, "invented": found["invented"], "implausible": found["implausible"]}

    @property
    def handling(self) -> dict[str, Counter[str]]:
        """How often each policy was decided, exercised, enforced by its tool or left to a judge, by its id."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for part in (part for draft in self.accepted for part in draft.policies):
            found[part.policy][part.handling] += 1
        return dict(sorted(found.items()))


def estimate_of(spec: ModelSpec, wanted: int, chains: str = "walks") -> str:
    """Say what wording so many scenarios takes at most, before anything is asked; playing them, too, for goals."""
    most_calls, most_tokens = COST[chains]
    tokens = TokenCount(input=wanted * most_tokens * 3 // 4, output=wanted * most_tokens // 4)
    cost = cost_of(spec, spec.model, tokens)
    price = "price unknown" if cost is None else f"{cost:.2f} USD"
    each = f"{count(most_calls, 'call')} and {count(most_tokens, 'token')} a scenario"
    what = "playing and wording" if chains == "goals" else "wording"
    most = count(wanted * most_calls, "model call")
    return f"{what} {count(wanted, 'scenario')} by {spec.model}: at most {most} ({each}), {price}"


def document_of(report: Report) -> dict[str, JsonValue]:
    """Give the report as JSON."""
    recipe = recipe_of(report.suite)
    return {
        "suite": report.suite.name,
        "from": recipe.source,
        "seed": recipe.seed,
        "wanted": report.wanted,
        "accepted": [draft.id for draft in report.accepted],
        "scenarios": report.scenarios,
        "kept": len(report.saved.kept),
        "foreign": [file.name for file in report.saved.foreign],
        "removed": len(report.saved.removed),
        "left": report.left,
        "tried": report.tried,
        "lost": [loss.model_dump() for loss in report.losses],
        "worded": dict(Counter(draft.worded_by for draft in report.accepted)),
        "calls": {draft.id: len(draft.calls) for draft in report.accepted},
        "lapsing": [draft.id for draft in report.accepted if draft.lapses_after],
        "coverage": [row.model_dump(mode="json") for row in report.coverage],
        "handling": {policy: dict(counts) for policy, counts in report.handling.items()},
        "players": dict(report.players),
        "critic": report.critic,
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


def lines_of(report: Report) -> list[str]:
    """Give the report as lines for people."""
    recipe = recipe_of(report.suite)
    return [
        f"agentbench generate: {report.suite.name} · from {recipe.source} · seed {recipe.seed}",
        *_counts(report),
        *_files(report),
        *report.lines,
        *_losses(report),
        *_coverage(report.coverage),
        *_handling(report),
        *_models(report),
        *_missing(report),
    ]


def _counts(report: Report) -> Iterator[str]:
    calls = [len(draft.calls) for draft in report.accepted]
    average = f", {sum(calls) / len(calls):.1f} calls on average" if calls else ""
    personas = f"; {report.scenarios} with all personas" if report.scenarios > len(calls) else ""
    yield f"{len(calls)} of {count(report.wanted, 'scenario')}{average}{personas}"
    if lapsing := sum(draft.lapses_after > 0 for draft in report.accepted):
        yield f"{lapsing} of them hold with the suite's `now` alone; rows that are good for over a year after it help"


def _files(report: Report) -> Iterator[str]:
    """Say where files are written, and what became of those that stood there."""
    kept, removed = len(report.saved.kept), len(report.saved.removed)
    yield (
        f"written to {recipe_of(report.suite).out / SCENARIOS}"
        + (f"; {count(kept, 'reviewed file')} kept" if kept else "")
        + (f"; {count(removed, 'file')} of earlier sessions removed" if removed else "")
    )
    if report.left:
        yield f"nothing was accepted, and nothing removed: {count(report.left, 'file')} of earlier sessions"
    if names := ", ".join(printable(file.name) for file in report.saved.foreign):
        yield f"not written over, since somebody else wrote it: {names}; move it to have the scenario written"


def _losses(report: Report) -> Iterator[str]:
    lost, bound = len(report.losses), BOUNDS[bool(report.players)]
    share = f" ({100 * lost / report.tried:.1f} %)" if report.tried else ""
    yield f"drafts tried: {report.tried}, lost: {lost}{share}"
    if lost > bound * report.tried and lost > 1:
        yield f"  more than {100 * bound:.0f} % were lost: what was written is sound, and what was lost is not covered"
    details: dict[tuple[str, str], list[str]] = defaultdict(list)
    for loss in report.losses:
        details[loss.stage, loss.reason].append(loss.detail)
    for (stage, reason), several in sorted(details.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        yield f"  {len(several):>4}  {stage}: {reason}"
        yield from (f"        what helps: {helps}" for helps, reasons in HELPS.items() if reason in reasons)
        shown = dict.fromkeys(filter(None, several[:_EXAMPLES]))
        yield from (f"        {shorten(printable(detail), _WIDTH)}" for detail in shown)


def _coverage(rows: Sequence[CoverageRow]) -> Iterator[str]:
    if not rows:
        return
    width = max(8, *(len(row.what) + 1 for row in rows))
    yield from ("", f"{'':<{width}}{'covered':>8}{'of':>7}")
    for row in rows:
        share = percentage(row.covered / row.total) if row.total else "-"
        yield f"{row.what:<{width}}{row.covered:>8}{row.total:>7}{share:>7}"
    for row in rows:
        yield from (f"missing {row.what}: {name} ({reason})" for name, reason in row.missing[:_MISSING])
        if len(row.missing) > _MISSING:
            yield f"missing {row.what}: {len(row.missing) - _MISSING} more"
    yield ""


def _handling(report: Report) -> Iterator[str]:
    """Give a line per policy: in how many scenarios it is decided, exercised, enforced by the tool, or judge-only."""
    if not report.handling:
        return
    width = max(map(len, report.handling)) + 2
    head = "".join(f"{name.replace('_', ' '):>{column}}" for name, column in _HANDLING.items())
    yield from ("", f"{'policy':<{width}}{head}")
    for policy, counts in report.handling.items():
        yield f"{policy:<{width}}" + "".join(f"{counts[name]:>{column}}" for name, column in _HANDLING.items())
    yield ""


def _models(report: Report) -> Iterator[str]:
    if not report.players:
        yield "model calls: none; the users speak in plain phrases"
        return
    usages, number = report.usage.values(), max(len(report.accepted), 1)
    total = sum(usage.calls + usage.replayed for usage in usages)
    tokens = sum(usage.input_tokens + usage.output_tokens for usage in usages)
    unpriced = sum(usage.unpriced for usage in usages)
    roles = ", ".join(f"{role} {usage.calls + usage.replayed}" for role, usage in report.usage.items())
    each = f"{total / number:.1f} and {tokens / number:.0f} tokens per accepted scenario"
    yield from filter(None, [report.estimate])
    yield f"model calls: {total} ({roles}), {each} (the paper's pipeline: about {PAPER:.0f} calls)"
    cost = f"cost: {sum(usage.cost_usd for usage in usages):.4f} USD"
    yield cost + (f", {count(unpriced, 'call')} of unknown price" if unpriced else "")
    verdicts, rejected, invented, implausible = report.critic.values()
    if verdicts:
        yield (
            f"critic: {rejected} of {verdicts} verdicts are rejections ({100 * rejected / verdicts:.0f} %): "
            f"{implausible} implausible, {invented} with invented values ({100 * invented / max(rejected, 1):.0f} %), "
            f"{rejected - invented - implausible} with other writes; the paper: 63 %, 79 % of them invented"
        )


def _missing(report: Report) -> Iterator[str]:
    missing = report.wanted - len(report.accepted)
    if missing > 0:
        yield f"{count(missing, 'scenario')} short: {report.stopped or 'see the reasons above'}"
