"""How well policies are found in documents: precision and recall against labels, by overlap of source spans.

    python -m benchmarks.policy_extraction LABELS.json DOCUMENT.md [LABELS.json DOCUMENT.md …]

Labels are `{"policies": [{"quotes": ["words of the document", …]}, …]}`: each policy is one or more passages, quoted
as they stand (any white space equals any other). A policy found and one labelled are the same where they share at least
half of all characters that either has; each counts once. Looser figures stand beside it: labels of which half the
characters lie in something found, and findings of which half lie in something labelled, however they are cut.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.generation.policies.extraction.extraction import PolicyDocument, extract
from pytest_agentbench.generation.policies.values import Extraction

Ranges = Sequence[tuple[int, int]]

_SAME = 0.5


@dataclass(frozen=True, kw_only=True)
class Score:
    """What one document gave: counts, and the texts that were missed and invented."""

    labels: int
    found: int
    matched: int
    covered: int
    inside: int
    missed: tuple[str, ...]
    invented: tuple[str, ...]

    @property
    def precision(self) -> float:
        """Share of what was found that is labelled."""
        return self.matched / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Share of what is labelled that was found."""
        return self.matched / self.labels if self.labels else 0.0


def score(labels: Path, document: Path, extraction: Extraction | None = None) -> Score:
    """Score an extraction of a document (the deterministic one unless given); raise ValueError for a quote it lacks."""
    text = document.read_text(encoding="utf-8")
    wanted = [_places(text, entry["quotes"]) for entry in json.loads(labels.read_text(encoding="utf-8"))["policies"]]
    given = extraction or extract(PolicyDocument(name=document.name, text=text))
    found = [[(span.start, span.end) for span in policy.spans] for policy in given.policies]
    import networkx

    graph = networkx.Graph()
    for left, label in enumerate(wanted):
        for right, policy in enumerate(found):
            share = _characters(text, label, policy)
            if share >= _SAME:
                graph.add_edge(("label", left), ("found", right), weight=share)
    pairs = networkx.max_weight_matching(graph, maxcardinality=True)
    matched = {end for pair in pairs for end in pair}
    everything = [place for policy in found for place in policy]
    labelled = [place for label in wanted for place in label]
    return Score(
        labels=len(wanted),
        found=len(found),
        matched=len(pairs),
        covered=sum(_inside(text, label, everything) >= _SAME for label in wanted),
        inside=sum(_inside(text, policy, labelled) >= _SAME for policy in found),
        missed=tuple(_text(text, label) for at, label in enumerate(wanted) if ("label", at) not in matched),
        invented=tuple(_text(text, policy) for at, policy in enumerate(found) if ("found", at) not in matched),
    )


def _places(text: str, quotes: Sequence[str]) -> list[tuple[int, int]]:
    found = []
    start = 0
    for quote in quotes:
        pattern = re.compile(r"\s+".join(map(re.escape, quote.split())))
        match = pattern.search(text, start) or pattern.search(text)
        if match is None:
            raise ValueError(f"the document does not hold {quote!r}")
        found.append(match.span())
        start = match.end()
    return found


def _marks(text: str, ranges: Ranges) -> set[int]:
    return {at for start, end in ranges for at in range(start, end) if text[at].isalnum()}


def _characters(text: str, left: Ranges, right: Ranges) -> float:
    one, other = _marks(text, left), _marks(text, right)
    return len(one & other) / len(one | other) if one | other else 0.0


def _inside(text: str, ranges: Ranges, whole: Ranges) -> float:
    marks = _marks(text, ranges)
    return len(marks & _marks(text, whole)) / len(marks) if marks else 0.0


def _text(text: str, ranges: Ranges) -> str:
    return " … ".join(" ".join(text[start:end].split()) for start, end in ranges)


def told(name: str, given: Score) -> str:
    """Give a score as the lines that are printed."""
    lines = [
        f"{name}: {given.labels} labelled, {given.found} found, {given.matched} the same",
        f"  precision {given.precision:.2f}, recall {given.recall:.2f}",
        f"  however cut: {given.covered} of {given.labels} labels covered, {given.inside} of {given.found} are inside",
        *(f"  missed    {text}" for text in given.missed),
        *(f"  invented  {text}" for text in given.invented),
    ]
    return "\n".join(lines)


def main() -> None:
    """Score each pair of labels and document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", nargs="+", type=Path, metavar="LABELS.json DOCUMENT.md")
    pairs = parser.parse_args().pairs
    if len(pairs) % 2:
        sys.exit("labels and documents come in pairs")
    for labels, document in zip(pairs[::2], pairs[1::2], strict=True):
        print(told(document.name, score(labels, document)))


if __name__ == "__main__":
    main()
