"""From a document to its policies (§3.1.1): by its structure, or by a model that says which blocks state rules.

By structure each list item, row and paragraph is a policy, and nothing is read off the words. Which of these state a
rule, and what prose says, is a model's to tell, or people's, who review the list. Every rule of a model must quote the
block that states it, and hold no figure that its block has not, so that each policy has a place, and none is invented.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from pydantic import Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.generation.policies.data_types import ExtractedPolicy, Extraction, Flow, LeftOut, Span
from pytest_agentbench.generation.policies.document import Block, blocks
from pytest_agentbench.generation.policies.identity import carried_ids, ids_for, ids_for_titles, key_of
from pytest_agentbench.generation.policies.model_question import Answer, ask
from pytest_agentbench.llm.protocols import Chat

GENERAL = "general"
"""The flow of rules that stand above every part: they hold in any conversation."""

STRUCTURE = "structure"
"""Who read a document without a model."""

_LEADS = "leads to a list"

_MOST = 12_000
"""Characters of blocks in one question."""

_NAMED = re.compile(r"\s*[(\[](?P<id>[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)+)[)\]]\s*$")
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


class PolicyDocument(Model):
    """A document to read: its name as reports show it, its text, and what was read from it before, if anything.

    Policies that `previous` holds keep their ids where they are the same or were edited.
    """

    name: str = ""
    text: str
    previous: Extraction | None = None


def extract(document: PolicyDocument) -> Extraction:
    """Make a policy of each entry of a document; what leads to a list is told with its items and is none itself."""
    found = blocks(document.text)
    entries = [one for one in found if one.kind != "lead"]
    left_out = [LeftOut(span=one.span, reason=_LEADS) for one in found if one.kind == "lead"]
    return _assembled(document, _policies(entries, [one.whole for one in entries]), STRUCTURE, left_out)


class FoundRule(Answer):
    """One rule."""

    number: int = Field(description="the number of the block that states it")
    quote: str = Field(description="the words of this block that state it, copied exactly")
    also: list[int] = Field(description="numbers of further blocks that are parts of it, mostly none")
    text: str = Field(description="the rule in words that stand alone")


class FoundRules(Answer):
    """The rules of these blocks, in their order."""

    rules: list[FoundRule]


async def extract_by_model(document: PolicyDocument, chat: Chat, random: Random) -> Extraction:
    """Extract with a model: a call for every 12,000 characters, what is refused once more; `random` gives the nonces.

    Raise `UnusableAnswerError` where an answer is refused twice.
    """
    found = blocks(document.text)

    async def read(part: range) -> FoundRules:
        return await ask(
            chat,
            FoundRules,
            "entries.v1",
            data="\n".join(_shown(found, part)),
            random=random,
            faults=lambda answer: [fault for rule in answer.rules for fault in _faults(rule, found, part)],
        )

    answers = await asyncio.gather(*map(read, _parts(found)))
    rules = sorted((rule for answer in answers for rule in answer.rules), key=lambda rule: rule.number)
    policies = _policies([found[rule.number - 1] for rule in rules], [rule.text.strip() for rule in rules])
    placed = [
        policy.model_copy(update={"spans": _spans(rule, found, document.text)})
        for policy, rule in zip(policies, rules, strict=True)
    ]
    used = {number for rule in rules for number in (rule.number, *rule.also)}
    left_out = [
        LeftOut(span=block.span, reason=_LEADS if block.kind == "lead" else "states no rule")
        for number, block in enumerate(found, 1)
        if number not in used
    ]
    return _assembled(document, placed, f"llm:{chat.spec.model}", left_out)


def _policies(entries: Sequence[Block], texts: Sequence[str]) -> list[ExtractedPolicy]:
    """Make a policy of each block with the text that it was document, under the block's headings.

    Where most list items end with a name in parentheses, `… (late-fee)`, these are the ids. Flows are the headings of
    the outermost level at which the document has more than one above entries.
    """
    paths = {one.headings for one in entries}
    levels = sorted({level for path in paths for level, _ in path})
    several = [level for level in levels if len({text for path in paths for at, text in path if at == level}) > 1]
    flow = next(iter(several or levels), None)
    names = [_NAMED.search(one.text) if one.kind == "item" else None for one in entries]
    is_named = 2 * sum(name is not None for name in names) > sum(one.kind == "item" for one in entries)
    return [
        ExtractedPolicy(
            id=name["id"] if name and is_named else "",
            text=_NAMED.sub("", text) if name and is_named else text,
            category=block.headings[-1][1] if block.headings else "",
            flows=tuple(title for level, title in block.headings if level == flow) or (GENERAL,),
            under=tuple(title for level, title in block.headings if flow is None or level >= flow),
            spans=(block.span,),
        )
        for block, text, name in zip(entries, texts, names, strict=True)
    ]


def _assembled(
    document: PolicyDocument, policies: Iterable[ExtractedPolicy], by: str, left_out: Sequence[LeftOut]
) -> Extraction:
    """Join what is said more than once, name what has no id, and carry known ids over.

    The `flows` of the policies are titles, of which ids are made.
    """
    by_text: dict[str, list[ExtractedPolicy]] = defaultdict(list)
    for one in policies:
        by_text[key_of(one.text)].append(one)
    joined = [
        same[0].model_copy(
            update={
                "id": next((one.id for one in same if one.id), ""),
                "flows": tuple(dict.fromkeys(flow for one in same for flow in one.flows)),
                "spans": tuple(dict.fromkeys(span for one in same for span in one.spans)),
            }
        )
        for same in by_text.values()
    ]
    known = carried_ids(document.previous.policies if document.previous else (), joined)
    first = {name: at for at, name in reversed(list(enumerate(known)))}
    unique = [name if first[name] == at else "" for at, name in enumerate(known)]
    titles = list(dict.fromkeys(title for one in joined for title in one.flows))
    ids = dict(zip(titles, ids_for_titles(titles), strict=True))
    final = tuple(
        one.model_copy(update={"id": name, "flows": tuple(ids[title] for title in one.flows)})
        for one, name in zip(joined, ids_for([one.text for one in joined], unique), strict=True)
    )
    spans: dict[str, list[Span]] = defaultdict(list)
    for one in final:
        for name in one.flows:
            spans[name] += one.spans[:1]
    flows = tuple(Flow(id=name, title=title, spans=tuple(spans[name])) for title, name in ids.items())
    return Extraction(
        document=document.name,
        document_hash=digest(document.text),
        by=by,
        flows=flows,
        policies=final,
        left_out=tuple(left_out),
    )


def _parts(found: Sequence[Block]) -> Iterator[range]:
    """Give the numbers of blocks that fit into one question, in document order."""
    first, size = 1, 0
    for number, block in enumerate(found, 1):
        size += len(block.text)
        if size > _MOST and number > first:
            yield range(first, number)
            first, size = number, len(block.text)
    if found:
        yield range(first, len(found) + 1)


def _shown(found: Sequence[Block], part: range) -> Iterator[str]:
    path: tuple[tuple[int, str], ...] = ()
    for number in part:
        block = found[number - 1]
        if block.headings != path:
            path = block.headings
            yield f"## {' > '.join(text for _, text in path)}"
        yield f"{number}. ({block.kind}) {block.text}"


def _faults(rule: FoundRule, found: Sequence[Block], part: range) -> Iterator[str]:
    unknown = [number for number in (rule.number, *rule.also) if number not in part]
    if unknown:
        yield f"there is no block {unknown[0]}"
        return
    block = found[rule.number - 1]
    named = f"block {rule.number}, {rule.quote[:40]!r}"
    if _find(rule.quote, block.text) is None:
        yield f"{named}: the quote does not stand in the block"
    if not rule.text.strip():
        yield f"{named}: the rule has no text"
    also = [found[number - 1].text for number in rule.also]
    context = " ".join((block.whole, *also, *(title for _, title in block.headings)))
    if invented := sorted(set(_FIGURE.findall(rule.text)) - set(_FIGURE.findall(context))):
        yield f"{named}: the figure {invented[0]} stands in none of its blocks"


def _spans(rule: FoundRule, found: Sequence[Block], text: str) -> tuple[Span, ...]:
    """Give the places of a rule: where its quote stands in its block, and the further blocks."""
    span = found[rule.number - 1].span
    if where := _find(rule.quote, text[span.start : span.end]):
        start, end = span.start + where[0], span.start + where[1]
        line = span.line + text.count("\n", span.start, start)
        span = Span(start=start, end=end, line=line, last_line=line + text.count("\n", start, end))
    return tuple(dict.fromkeys((span, *(found[number - 1].span for number in rule.also))))


def _find(quote: str, text: str) -> tuple[int, int] | None:
    """Find a quote whatever its spaces and the marks of Markdown between its words."""
    sought = "".join(char for char in quote if not _is_mark(char))
    places = [at for at, char in enumerate(text) if not _is_mark(char)]
    start = "".join(text[at] for at in places).find(sought) if sought else -1
    return (places[start], places[start + len(sought) - 1] + 1) if start >= 0 else None


def _is_mark(char: str) -> bool:
    return char in "*_`|" or char.isspace()
