"""What models took in a session, role by role, and who could not be observed."""

from collections.abc import Iterable, Sequence
from math import ceil

from pytest_agentbench.core.model import Usage
from pytest_agentbench.core.names import count
from pytest_agentbench.core.run import Result
from pytest_agentbench.report.table import Layout, Line

_RECORDED = "recorded"


def usage_by_role(results: Iterable[Result]) -> dict[str, Usage]:
    """Add up what models took, by role in alphabetical order."""
    sums: dict[str, Usage] = {}
    latencies: dict[str, list[float]] = {}
    for result in results:
        for role, usage in result.usage.items():
            # tuples that grow call by call would take time with the square of all calls
            sums[role] = sums.get(role, Usage()) + usage.model_copy(update={"latencies": ()})
            latencies.setdefault(role, []).extend(usage.latencies)
    return {role: sums[role].model_copy(update={"latencies": tuple(latencies[role])}) for role in sorted(sums)}


def spending(results: Sequence[Result], retried: Sequence[Result], cassette: str, layout: Layout) -> list[Line]:
    """Give the lines on model use; none where no model of ours played and none could be observed.

    What attempts took that were `retried` is counted, too: they were asked and paid for. An agent whose model calls
    cannot be seen is *not observed*; it also stays live in a session that replays.
    """
    sums = usage_by_role([*results, *retried])
    begun = [result for result in results if result.players]
    unseen = [result for result in begun if "agent" not in result.usage and not _is_ours(result.players["agent"])]
    if not sums and not (cassette in {"replay", "record", "refresh"} and (unseen or live_parties(begun))):
        return []
    facts = [f"{role} {usage_text(usage)}" for role, usage in sums.items()]
    if unseen:
        share = "" if len(unseen) == len(begun) else f" in {len(unseen)} of {count(len(begun), 'run')}"
        facts.append(f"agent not observed{share}")
    if len(sums) > 1:
        facts.append(f"in all {usage_text(sum(sums.values(), Usage()))}")
    timed = [f"{role} {latency_text(usage.latencies)}" for role, usage in sums.items() if usage.latencies]
    adapted = [f"{role}: {', '.join(usage.adapted)}" for role, usage in sums.items() if usage.adapted]
    lines = layout.wrapped(f"model calls  {layout.joined(facts)}", " " * 13)
    if timed:
        lines += layout.wrapped(f"latency      {layout.joined(timed)}", " " * 13)
    if adapted:
        told = f"adapted      {layout.joined(adapted)} (what the server does not take as asked)"
        lines += layout.wrapped(told, " " * 13)
    if cassette == "replay" and (live := live_parties(begun)):
        lines += layout.wrapped(f"live despite the replay: {'; '.join(live)}", style="warn")
    return lines


def live_parties(results: Iterable[Result]) -> list[str]:
    """Name who is asked live in a session that replays: model calls alone are recorded."""
    played = list(results)
    parties: list[str] = []
    if any("agent" not in one.usage and not _is_ours(one.players["agent"]) for one in played):
        parties.append("the agent, whose model calls cannot be seen (let its factory take `base_url`)")
    servers = sorted({one.players["tools"] for one in played if "tools" in one.players})
    if servers:
        parties.append(f"the tools behind {' and '.join(servers)}")
    return parties


def latency_text(latencies: Sequence[float]) -> str:
    """Say the median and the 95th percentile of the seconds that answers took (nearest rank)."""
    ordered = sorted(latencies)
    median, high = (ordered[ceil(share * len(ordered)) - 1] for share in (0.5, 0.95))
    return f"median {median:.3g} s, p95 {high:.3g} s"


def _is_ours(player: str) -> bool:
    """Whether the agent's model calls are made by us, or there are none."""
    return player == _RECORDED or player.startswith("openai:")


def usage_text(usage: Usage) -> str:
    """Say calls, where they were answered, and what they cost as far as that is known."""
    answered = [f"{usage.calls}"] if usage.calls or not usage.replayed else []
    if usage.replayed:
        answered.append(f"{usage.replayed} replayed")
    thoughts = f", {usage.reasoning_tokens} tokens of thoughts" if usage.reasoning_tokens else ""
    return " + ".join(answered) + _price(usage) + thoughts


def _price(usage: Usage) -> str:
    if not usage.calls:
        return ""
    if usage.unpriced == usage.calls:
        return ", price unknown"
    unknown = f" ({usage.unpriced} of unknown price)" if usage.unpriced else ""
    return f", {usage.cost_usd:.4g} USD{unknown}"
