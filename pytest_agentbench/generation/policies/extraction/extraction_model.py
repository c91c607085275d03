"""From a document to its policies by a model: it is shown the blocks that code found, and says which rules they state.

Every rule must quote the block that states it, and hold no figure that its block has not; what does not is refused, so
that each policy has a place, and none is invented.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from random import Random

from pydantic import Field

from pytest_agentbench.generation.policies.asking import Answer, ask
from pytest_agentbench.generation.policies.extraction.document import Block, blocks
from pytest_agentbench.generation.policies.extraction.extraction import PolicyDocument, assemble, policies_of
from pytest_agentbench.generation.policies.values import ExtractedPolicy, Extraction, LeftOut, Span
from pytest_agentbench.llm.seams import Chat

TASK = "entries.v1"
"""The template in force."""

ROLE = "extractor"
"""The role whose model this is."""

_MOST = 12_000
"""Characters of blocks in one question."""

_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


class FoundRule(Answer):
    """One rule."""

    number: int = Field(description="the number of the block that states it")
    quote: str = Field(description="the words of this block that state it, copied exactly")
    also: list[int] = Field(description="numbers of further blocks that are parts of it, mostly none")
    text: str = Field(description="the rule in words that stand alone")


class FoundRules(Answer):
    """The rules of these blocks, in their order."""

    rules: list[FoundRule]


class ModelExtractor:
    """Extracts with a model: one call for every 12,000 characters, what is refused once more."""

    def __init__(self, chat: Chat, *, random: Random) -> None:
        """Take the model, and a source of nonces."""
        self._chat = chat
        self._random = random

    async def __call__(self, given: PolicyDocument, /) -> Extraction:
        """Extract policies; raise `UnusableAnswerError` where an answer is refused twice."""
        found = blocks(given.text)
        answers = await asyncio.gather(*(self._read(found, part) for part in _parts(found)))
        rules = sorted((rule for answer in answers for rule in answer.rules), key=lambda rule: rule.number)
        policies = policies_of([found[rule.number - 1] for rule in rules], [rule.text.strip() for rule in rules])
        placed = [_placed(*pair, found, given.text) for pair in zip(policies, rules, strict=True)]
        used = {number for rule in rules for number in (rule.number, *rule.also)}
        left_out = tuple(
            LeftOut(span=block.span, reason="leads to a list" if block.kind == "lead" else "states no rule")
            for number, block in enumerate(found, 1)
            if number not in used
        )
        return assemble(given, placed, by=f"llm:{self._chat.spec.model}", left_out=left_out)

    async def _read(self, found: Sequence[Block], part: range) -> FoundRules:
        return await ask(
            self._chat,
            FoundRules,
            TASK,
            data="\n".join(_shown(found, part)),
            random=self._random,
            faults=lambda answer: [fault for rule in answer.rules for fault in _faults(rule, found, part)],
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
    context = " ".join(
        (block.whole, *(found[number - 1].text for number in rule.also), *(t for _, t in block.headings))
    )
    if invented := sorted(set(_FIGURE.findall(rule.text)) - set(_FIGURE.findall(context))):
        yield f"{named}: the figure {invented[0]} stands in none of its blocks"


def _placed(policy: ExtractedPolicy, rule: FoundRule, found: Sequence[Block], text: str) -> ExtractedPolicy:
    """Put a rule of a part of its block where its words stand."""
    whole = found[rule.number - 1].span
    where = _find(rule.quote, text[whole.start : whole.end])
    span = whole
    if where is not None:
        start, end = whole.start + where[0], whole.start + where[1]
        line = whole.line + text.count("\n", whole.start, start)
        span = Span(start=start, end=end, line=line, last_line=line + text.count("\n", start, end))
    spans = (span, *(found[number - 1].span for number in rule.also))
    return policy.model_copy(update={"spans": tuple(dict.fromkeys(spans))})


def _find(quote: str, text: str) -> tuple[int, int] | None:
    """Find a quote whatever its spaces and the marks of Markdown between its words."""
    sought = "".join(char for char in quote if not _is_mark(char))
    places = [at for at, char in enumerate(text) if not _is_mark(char)]
    start = "".join(text[at] for at in places).find(sought) if sought else -1
    return (places[start], places[start + len(sought) - 1] + 1) if start >= 0 else None


def _is_mark(char: str) -> bool:
    return char in "*_`|" or char.isspace()
