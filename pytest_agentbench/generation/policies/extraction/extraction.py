"""From a system prompt or policy document to its flows and policies (§3.1.1), by the structure of the document."""

from collections.abc import Iterable, Sequence

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.text import ascii_slug
from pytest_agentbench.generation.policies.diff import carried_ids
from pytest_agentbench.generation.policies.extraction.identity import ids_for, key_of
from pytest_agentbench.generation.policies.extraction.language import language_of, lexicon
from pytest_agentbench.generation.policies.extraction.passages import Passage, passages
from pytest_agentbench.generation.policies.extraction.rating import category, challenge
from pytest_agentbench.generation.policies.values import ExtractedPolicy, Extraction, Flow, LeftOut, Span

GENERAL = "general"
"""The flow of rules that stand above every part: they hold in any conversation."""

STRUCTURE = "structure"
"""Who read a document without a model."""

_LARGEST = 2_000_000
"""Characters of a document that are read; more is not a policy document."""


class PolicyDocument(Model):
    """A document to read: its name as reports show it, its text, and what was read from it before, if anything.

    Policies that `previous` holds keep their ids where they are the same or were edited.
    """

    name: str = ""
    text: str
    previous: Extraction | None = None


class StructureExtractor:
    """Extracts by headings, lists, tables, modal verbs and conditions, without a model: same text, same policies."""

    async def __call__(self, given: PolicyDocument, /) -> Extraction:
        """Extract flows and policies; a document without rules gives none."""
        return extract(given)


def extract(given: PolicyDocument) -> Extraction:
    """Extract flows and policies from a document in English or French by its structure."""
    text = given.text[:_LARGEST]
    found = passages(text)
    places = Places(text)
    flow_level = _flow_level(found)
    policies = [_policy(one, flow_level, places) for one in found if one.strength]
    left_out = tuple(
        LeftOut(span=places.span(one.ranges[0][0], one.ranges[-1][1]), reason=one.reason)
        for one in found
        if not one.strength
    )
    return assemble(given, policies, by=STRUCTURE, places=places, left_out=left_out)


def assemble(
    given: PolicyDocument,
    policies: Sequence[ExtractedPolicy],
    *,
    by: str,
    places: "Places",
    left_out: tuple[LeftOut, ...] = (),
) -> Extraction:
    """Join what is said more than once, name what is left, and carry known ids over.

    The `id` of a given policy is the one that its author gave it, or "". `flows` hold titles, of which ids are made.
    """
    joined = _joined(policies)
    known = [one.id for one in joined]
    if given.previous is not None:
        known = carried_ids(given.previous.policies, joined)
    names = ids_for([one.text for one in joined], _unique(known))
    titles = list(dict.fromkeys(title for one in joined for title in one.flows))
    flow_ids = dict(zip(titles, ids_of_titles(titles), strict=True))
    final = tuple(
        one.model_copy(update={"id": name, "flows": tuple(flow_ids[title] for title in one.flows)})
        for one, name in zip(joined, names, strict=True)
    )
    flows = tuple(
        Flow(id=flow_ids[title], title=title, spans=_flow_spans(final, flow_ids[title], places)) for title in titles
    )
    return Extraction(
        document=given.name, document_hash=digest(given.text), by=by, flows=flows, policies=final, left_out=left_out
    )


class Places:
    """Where the lines of a document begin."""

    def __init__(self, text: str) -> None:
        """Look through a text once."""
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, start: int, end: int) -> Span:
        """Give a range of characters with its lines."""
        return Span(start=start, end=end, line=self.line(start), last_line=self.line(max(start, end - 1)))

    def line(self, at: int) -> int:
        """Give the 1-based line of a character."""
        low, high = 0, len(self._starts) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._starts[middle] <= at else (low, middle - 1)
        return low + 1


def ids_of_titles(titles: Sequence[str]) -> list[str]:
    """Give each title of a flow an id of its own."""
    taken: dict[str, int] = {}
    found = []
    for title in titles:
        slug = ascii_slug(title.lower())[:60].strip("-.")
        taken[slug] = taken.get(slug, 0) + 1
        found.append(slug if taken[slug] == 1 else f"{slug}-{taken[slug]}")
    return found


def _flow_level(found: Iterable[Passage]) -> int | None:
    """Give the outermost level at which the document has more than one heading above rules; None without headings."""
    headings = {one.headings for one in found if one.strength}
    for level in sorted({level for path in headings for level, _ in path}):
        if len({text for path in headings for at, text in path if at == level}) > 1:
            return level
    levels = [level for path in headings for level, _ in path]
    return min(levels) if levels else None


def _policy(passage: Passage, flow_level: int | None, places: Places) -> ExtractedPolicy:
    words = lexicon(passage.language)
    assert passage.strength is not None  # noqa: S101 - the caller asked
    titles = [text for level, text in passage.headings if level == flow_level]
    headings = [text for level, text in passage.headings if flow_level is None or level > flow_level]
    under = (*titles, *headings, *([passage.lead] if passage.lead else []))
    return ExtractedPolicy(
        id=passage.id,
        text=passage.text,
        refers_to=passage.refers_to,
        category=category(passage.text, " ".join(under), words),
        challenge=challenge(passage.text, passage.strength, words),
        strength=passage.strength,
        flows=tuple(titles) or (GENERAL,),
        under=under,
        spans=tuple(places.span(start, end) for start, end in passage.ranges),
    )


def _joined(policies: Iterable[ExtractedPolicy]) -> list[ExtractedPolicy]:
    """Make one of policies that say the same, with the flows and places of all of them."""
    found: dict[str, ExtractedPolicy] = {}
    for one in policies:
        key = key_of(one.text)
        first = found.get(key)
        found[key] = one if first is None else _both(first, one)
    return list(found.values())


def _both(first: ExtractedPolicy, second: ExtractedPolicy) -> ExtractedPolicy:
    flows = tuple(dict.fromkeys((*first.flows, *second.flows)))
    spans = tuple(dict.fromkeys((*first.spans, *second.spans)))
    challenges = max(first.challenge, second.challenge)
    return first.model_copy(
        update={"id": first.id or second.id, "flows": flows, "spans": spans, "challenge": challenges}
    )


def _unique(known: Sequence[str]) -> list[str]:
    """Keep the first of equal ids alone."""
    return [one if known.index(one) == at else "" for at, one in enumerate(known)]


def _flow_spans(policies: Sequence[ExtractedPolicy], flow: str, places: Places) -> tuple[Span, ...]:
    spans = [span for one in policies if flow in one.flows for span in one.spans]
    if not spans:
        return ()
    return (places.span(min(span.start for span in spans), max(span.end for span in spans)),)


def language(given: PolicyDocument) -> str:
    """Give the language that a document is written in: `en` or `fr`."""
    return language_of(given.text)
