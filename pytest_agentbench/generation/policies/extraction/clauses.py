"""Where a sentence of running text holds several rules: cut at a coordination whose both sides stand on their own.

An entry of a list is what its author made one; in prose a sentence is often two rules. A clause that points back to
the one before (`…; do not accept it`) stays with it, and so does everything that one opening condition governs.
"""

import re

from pytest_agentbench.generation.policies.extraction.language import Lexicon
from pytest_agentbench.generation.policies.extraction.modality import is_imperative, modality, opens_with_clause

_FEWEST = 3
"""Words that a clause needs to be a rule of its own."""

_BEGINNING = 6
"""Words in which a pronoun refers to the clause before; one that stands later has a noun of its own clause."""


def clauses(text: str, words: Lexicon) -> list[tuple[int, int]]:
    """Give the ranges of a sentence that state one thing each; the whole of it where nothing can be cut."""
    found = []
    start = 0
    for joint in words.joints.finditer(text):
        left, right = text[start : joint.start()], text[joint.end() :]
        # what is judged is the next clause, not all that follows it
        following = words.joints.search(right)
        clause = right[: following.start()] if following else right
        if _are_two(left, clause, joint, words):
            found.append((start, joint.start()))
            start = joint.end()
    return [*found, (start, len(text))]


def _are_two(left: str, right: str, joint: re.Match[str], words: Lexicon) -> bool:
    if min(len(left.split()), len(right.split())) < _FEWEST or words.leaning_starts.match(right):
        return False
    orders = is_imperative(right, words) or words.forbids.match(right) is not None
    if not orders and not _has_subject(right, words):
        return False
    if joint["so"] is not None:
        return True
    if opens_with_clause(left, words) and (joint["stop"] is not None or not opens_with_clause(right, words)):
        return False
    leans = words.leaning.search(" ".join(right.split()[:_BEGINNING])) is not None
    if joint["stop"] is not None:
        return not leans
    if orders:
        # `claims need a receipt, and go to the team`: what looks like an order may go on about the subject
        return is_imperative(left, words) or bool(words.addressed.search(left) or words.forbids.match(right))
    # what stands before a `but` and is no rule only leads to the one behind it
    return not leans and (joint["but"] is not None or modality(left, words).strength is not None)


def _has_subject(text: str, words: Lexicon) -> bool:
    """Whether a clause says with a subject of its own what must or may be."""
    found = modality(text, words)
    return (found.strong or words.has("bound", text)) and words.subjects.match(text) is not None


def as_sentence(text: str) -> str:
    """Give a clause as a sentence of its own: a capital first, one stop last."""
    plain = " ".join(text.split()).strip(" ,;")
    ended = plain if plain.endswith((".", "!", "?", "…", ":")) else f"{plain}."
    return ended[:1].upper() + ended[1:]
