"""How hard a rule is to keep (1–5) and what it is about, from its words.

IntellAgent asks a model for both (§3.1.1: 1 trivial, 3 moderate, 5 intricate). Here each thing that a rule makes the
agent do beside a single act adds one: weigh a condition, know an exception, keep an order, compute, tell several cases
apart, refuse.
"""

from pytest_agentbench.generation.policies.extraction.language import Lexicon
from pytest_agentbench.generation.policies.extraction.modality import Strength

HARDEST = 5

_LONG = 35
"""Words from which a rule holds more than one thing to keep in mind."""

OTHER = "other"
"""The category of what no cue places."""


def challenge(text: str, strength: Strength, words: Lexicon) -> int:
    """Give the challenge of a rule; a model's is better, this one is the same for the same words."""
    conditions = words.count("condition", text)
    cases = text.count(";") + text.count(" or ") + text.count(" ou ")
    points = (
        min(conditions, 2)
        + words.has("exception", text)
        + words.has("sequence", text)
        + (words.has("computation", text) or words.measure.search(text) is not None)
        + (cases >= 2)
        + (strength == "must_not" or (words.has("must_not", text) and strength == "must"))
        + (len(text.split()) >= _LONG)
    )
    return min(HARDEST, 1 + points)


def category(text: str, under: str, words: Lexicon) -> str:
    """Give the category that most cues in a rule stand for, its headings deciding ties; `OTHER` without any."""
    counts: dict[str, float] = {name: sum(1 for _ in cue.finditer(text)) for name, cue in words.categories.items()}
    # nearly every rule limits something: that only places what nothing else does
    counts = {name: count - (count > 0 and name in ("eligibility", "scope")) * 0.9 for name, count in counts.items()}
    best = max(counts.values())
    if best <= 0:
        return OTHER
    close = [name for name, count in counts.items() if count == best]
    return next((name for name in close if words.categories[name].search(under)), close[0])
