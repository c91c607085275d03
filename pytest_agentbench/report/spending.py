"""What models took in a session, role by role, and who could not be observed."""

from collections.abc import Iterable, Sequence

from pytest_agentbench.core.model import Usage
from pytest_agentbench.core.run import Result
from pytest_agentbench.report.glyphs import Glyphs, Line
from pytest_agentbench.report.table import wrap

_RECORDED = "recorded"


def usage_by_role(results: Iterable[Result]) -> dict[str, Usage]:
    """Add up what models took, by role in alphabetical order."""
    sums: dict[str, Usage] = {}
    for result in results:
        for role, usage in result.usage.items():
            sums[role] = sums.get(role, Usage()) + usage
    return dict(sorted(sums.items()))


def spending(results: Sequence[Result], cassette: str, marks: Glyphs, width: int) -> list[Line]:
    """Give the lines on model use; none where no model of ours played and none could be observed.

    An agent whose model calls cannot be seen is *not observed*; it also stays live in a session that replays.
    """
    sums = usage_by_role(results)
    begun = [result for result in results if result.players]
    unseen = [result for result in begun if "agent" not in result.usage and not _is_ours(result.players["agent"])]
    if not sums and not (cassette in {"replay", "record", "refresh"} and unseen):
        return []
    facts = [f"{role} {usage_text(usage)}" for role, usage in sums.items()]
    if unseen:
        share = "" if len(unseen) == len(begun) else f" in {len(unseen)} of {len(begun)} runs"
        facts.append(f"agent not observed{share}")
    if len(sums) > 1:
        facts.append(f"in all {usage_text(sum(sums.values(), Usage()))}")
    text = f"model calls  {f' {marks.dot} '.join(facts)}"
    lines = [Line(part) for part in wrap(marks.plain(text), width, " " * 13)]
    if cassette == "replay" and unseen:
        warning = "live all the same: the agent, whose model calls cannot be seen (let its factory take `base_url`)"
        lines += [Line(part, "warn") for part in wrap(warning, width, "  ")]
    return lines


def _is_ours(player: str) -> bool:
    """Whether the agent's model calls are made by us, or there are none."""
    return player == _RECORDED or player.startswith("openai:")


def usage_text(usage: Usage) -> str:
    """Say calls, where they were answered, and what they cost as far as that is known."""
    answered = [f"{usage.calls}"] if usage.calls or not usage.replayed else []
    if usage.replayed:
        answered.append(f"{usage.replayed} replayed")
    return " + ".join(answered) + _price(usage)


def _price(usage: Usage) -> str:
    if not usage.calls:
        return ""
    if usage.unpriced == usage.calls:
        return ", price unknown"
    unknown = f" ({usage.unpriced} of unknown price)" if usage.unpriced else ""
    return f", {usage.cost_usd:.4g} USD{unknown}"
