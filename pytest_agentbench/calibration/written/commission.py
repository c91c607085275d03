"""What a writer is asked for: a situation, the tools of one group, a language and names, for NEG also an example."""

from collections.abc import Iterator, Sequence
from random import Random

from pytest_agentbench.calibration.labelled import Case, Labelled
from pytest_agentbench.calibration.situations import Situation, situations
from pytest_agentbench.calibration.wording import Words
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.tool import Toolset, ToolSpec

UNWRITTEN = {
    "wrong-action-silent": "only the state shows it, and what is written has none",
    "trusted-wrong-fact": "only the state shows it, and what is written has none",
}
"""Situations that text cannot show, with the reason (TRACE, B.5, on the first)."""

POSITIVE = 0.35
"""The share of POS conversations (TRACE, table 2: 182 of 516)."""

MOST_TOOLS = 6
"""Tools of a group: one group at a time leaves a prompt short (TRACE §2.2)."""


class Commission(Model):
    """One conversation to make; `example` is one of the same situation, None for zero-shot.

    Names and example are for writers that have no words of their own.
    """

    situation: str
    toolset: Toolset
    language: str
    user: str = ""
    agent: str = ""
    example: Case | None = None


class Work(Model):
    """A conversation as a writer made it; `faults` are those that were injected into real calls."""

    case: Case
    faults: tuple[str, ...] = ()


def commissions(
    toolset: Toolset, examples: Sequence[Labelled], *, count: int, languages: Sequence[str], seed: int
) -> Iterator[Commission]:
    """Draw what is to be written: POS zero-shot, NEG one-shot where `examples` hold one; same seed, same draws."""
    random = Random(f"{seed}/written")  # noqa: S311 - chooses tools and names
    catalogue = situations()
    negative = [name for name, one in catalogue.items() if one.label == "NEG" and name not in UNWRITTEN]
    positive = [name for name, one in catalogue.items() if one.label == "POS"]
    random.shuffle(negative)
    groups = tool_groups(toolset)
    of_label = {"POS": 0, "NEG": 0}
    for number in range(count):
        is_positive = of_label["POS"] < round(POSITIVE * (number + 1))
        names = positive if is_positive else negative
        side = "POS" if is_positive else "NEG"
        name = names[of_label[side] % len(names)]
        of_label[side] += 1
        language = languages[number % len(languages)]
        alike = [one for one in examples if one.situation == name]
        ours = [one for one in alike if one.language == language] or alike
        user, agent = random.sample(Words(language, random).entries("names"), 2)
        yield Commission(
            situation=name,
            toolset=random.choice(groups),
            language=language,
            user=user,
            agent=agent,
            example=random.choice(ours).case if ours and not is_positive else None,
        )


def tool_groups(toolset: Toolset) -> list[Toolset]:
    """Give groups of tools that take an argument of the same name, six at most; those left alone are one group."""
    specs = toolset.of("assistant")
    groups: dict[tuple[str, ...], tuple[ToolSpec, ...]] = {}
    for spec in specs:
        near = sorted(specs, key=lambda other: (-_shared(spec, other), specs.index(other)))
        group = [other for other in near if other is spec or _shared(spec, other)][:MOST_TOOLS]
        ordered = tuple(one for one in specs if one in group)
        groups.setdefault(tuple(one.name for one in ordered), ordered)
    alone = tuple(spec for group in groups.values() if not group[1:] for spec in group)[:MOST_TOOLS]
    found = [group for group in groups.values() if group[1:]] + ([alone] if alone else [])
    return [Toolset(specs=group) for group in found]


def _shared(one: ToolSpec, other: ToolSpec) -> int:
    return len(one.parameters.get("properties", {}).keys() & other.parameters.get("properties", {}).keys())


def described(situation: Situation) -> str:
    """Give a situation in words: what happens, and what of tools, agent and user."""
    means = [f"What decides: {situation.means}"] if situation.means else []
    return "\n".join(
        [
            situation.details,
            f"Tools ({situation.tool}): {situation.tool_reason}.",
            f"Agent ({situation.agent}): {situation.agent_reason}.",
            f"User ({situation.user}): {situation.user_reason}.",
            *means,
        ]
    )
