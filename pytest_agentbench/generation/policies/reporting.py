"""What a session of generation made, lost and covered: lines for the terminal, a document for the folder."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations

from pytest_agentbench.core.suite import GenerateSpec
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.policies.values import Event, EventRejection, Infeasible, covered_pairs, exercised

_TOLD = 5


@dataclass(kw_only=True)
class Made:
    """A session: its events, what became none, and the policies it was about."""

    name: str
    recipe: GenerateSpec
    events: list[Event]
    rejections: list[EventRejection]
    infeasible: list[Infeasible]
    policies: list[str]
    bound: list[str]
    challenges: dict[str, int] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    players: dict[str, str] = field(default_factory=dict)

    @property
    def handled(self) -> Counter[str]:
        """How policies of events are decided."""
        return Counter(one.handling for event in self.events for one in event.bindings)

    @property
    def lost(self) -> dict[str, int]:
        """Sets that became no scenario, by stage and reason."""
        return dict(sorted(Counter(f"{one.stage}: {one.reason}" for one in self.rejections).items()))

    @property
    def judged(self) -> float:
        """The share of the events' complexity that only a judge can decide about."""
        total = sum(event.set.realised for event in self.events)
        return 1 - sum(self.exercised(event) for event in self.events) / total if total else 0.0

    @property
    def by_level(self) -> dict[str, float]:
        """The mean complexity that the oracle's runs show, by the level asked for."""
        levels: dict[int, list[int]] = {}
        for event in self.events:
            levels.setdefault(event.set.requested, []).append(self.exercised(event))
        return {str(level): round(sum(own) / len(own), 2) for level, own in sorted(levels.items())}

    def exercised(self, event: Event) -> int:
        """Give the complexity that the oracle's run of an event shows: challenges of the policies it decides about."""
        return sum(self.challenges.get(one.policy, 0) for one in event.bindings if one.handling != "judge_only")


def document_of(made: Made) -> dict[str, JsonValue]:
    """Give the report as JSON."""
    sets = [event.set for event in made.events]
    judged = Counter(policy for event in made.events for policy in event.judge_only)
    return {
        "suite": made.name,
        "seed": made.recipe.seed,
        "wanted": made.recipe.count,
        "accepted": len(made.events),
        "lost": made.lost,
        "rejections": [one.model_dump(mode="json") for one in made.rejections],
        "levels": dict(sorted(Counter(str(one.realised) for one in sets).items(), key=lambda item: int(item[0]))),
        "exact": sum(one.realised == one.requested for one in sets),
        "repeats": sum(one.repeat > 0 for one in sets),
        "infeasible": len(made.infeasible),
        "policies": {"all": len(made.policies), "exercised": len(exercised(sets)), "bound": made.bound},
        "pairs": {"all": len(list(combinations(made.policies, 2))), "covered": len(covered_pairs(sets))},
        "decided_by": dict(sorted(made.handled.items())),
        "judge_only": dict(sorted(judged.items())),
        "complexity_by_calls": round(1 - made.judged, 3),
        "exercised_by_level": made.by_level,
        "with_calls": sum(bool(event.expected) for event in made.events),
        "with_refusal": sum(bool(event.forbidden) for event in made.events),
        "with_failure": sum(bool(event.failing) for event in made.events),
        "with_communicate": sum(bool(event.communicate) for event in made.events),
        "rows": sum(len(event.rows) for event in made.events),
        "model_calls": dict(sorted(made.calls.items())),
        "players": dict(sorted(made.players.items())),
    }


def lines_of(made: Made) -> list[str]:
    """Give the report as lines."""
    sets = [event.set for event in made.events]
    levels = [one.requested for one in sets] or [0]
    low, high = made.recipe.levels or (min(levels), max(levels))
    handled = made.handled
    pairs = len(list(combinations(made.policies, 2)))
    rows = sum(len(event.rows) for event in made.events)
    writes = sum(not event.unchanged for event in made.events)
    exact = sum(one.realised == one.requested for one in sets)
    lines = [
        f"agentbench generate: {made.name} · from policies · seed {made.recipe.seed}",
        f"{len(made.events)} of {made.recipe.count} scenarios, levels {low} to {high}, {exact} exactly as asked for",
        " · ".join(
            (
                f"policies {len(exercised(sets))} of {len(made.policies)}",
                f"pairs {len(covered_pairs(sets))} of {pairs}",
                f"sets given again {sum(one.repeat > 0 for one in sets)}",
            )
        ),
        " · ".join(
            (
                f"decided by calls {handled['calls']}",
                f"by refusal {handled['refuses']}",
                f"by a failure {handled['fails']}",
                f"by what is said {handled['said']}",
                f"by a judge alone {handled['judge_only']}",
                f"{1 - made.judged:.0%} of the complexity without a judge",
            )
        ),
        " · ".join(
            (
                f"{writes} scenarios write",
                f"{sum(bool(event.forbidden) for event in made.events)} have something to refuse",
                f"{rows} rows, each checked",
            )
        ),
    ]
    unbound = [policy for policy in made.policies if policy not in made.bound]
    if unbound:
        lines.append(f"about no tool, for a judge alone ({len(unbound)}): {', '.join(unbound)}")
    lines += [f"lost {count}: {reason}" for reason, count in made.lost.items()]
    lines += [f"  {one.set}: {one.detail}" for one in made.rejections[:_TOLD]]
    if made.infeasible:
        lines.append(f"{len(made.infeasible)} pairs of first policy and level that no set has")
    if made.events and made.calls:
        asked = sum(made.calls.values())
        per_row = rows / len(made.events)
        lines.append(
            f"model calls {asked}, {asked / len(made.events):.1f} an event"
            f" (IntellAgent: 4 + 3 a row, {4 + 3 * per_row:.1f} for these)"
        )
    lines.append(f"written to {made.recipe.out / 'scenarios'}")
    return lines
