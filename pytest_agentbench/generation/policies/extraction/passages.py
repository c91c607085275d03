"""The passages of a document that state a rule, each as one policy would: what belongs together, what stands alone.

A sentence is a passage of its own. What refers back to the sentence before joins it, a lead-in joins the conditions
listed below it, an entry that finishes a lead-in's sentence is read with it, and an entry that its author gave a name
(`… (late-fee)`) stays whole.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_agentbench.generation.policies.extraction.clauses import as_sentence, clauses
from pytest_agentbench.generation.policies.extraction.language import LANGUAGES, Lexicon, language_of, lexicon
from pytest_agentbench.generation.policies.extraction.markdown import Block, parse
from pytest_agentbench.generation.policies.extraction.modality import (
    Modality,
    Strength,
    describes_parts,
    ends_open,
    is_bare_condition,
    is_imperative,
    modality,
    opens_condition,
)
from pytest_agentbench.generation.policies.extraction.sentences import sentences

_NAMED = re.compile(r"\s*[(\[](?P<id>[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)+)[)\]]\s*$")
_NUMBERED = re.compile(r"^\s*[(\[]?(?P<id>[A-Z]{1,8}[-_ ]?\d+(?:\.\d+)*)[)\]]?[:.)\]–-]?\s+(?=\S)")

_SHORT = 5
"""Words up to which a sentence of a list entry leans on the one before it (`Ask for it.`)."""


@dataclass(frozen=True, kw_only=True)
class Passage:
    """Text that states a rule (`strength` None: that states none, `reason` says why) and the source ranges it has.

    `headings` are the headings above it, outermost first, with their levels; `lead` is the sentence that leads to it,
    `refers_to` the one that its first word points back to.
    """

    text: str
    ranges: tuple[tuple[int, int], ...]
    headings: tuple[tuple[int, str], ...] = ()
    lead: str = ""
    refers_to: str = ""
    strength: Strength | None = None
    reason: str = ""
    id: str = ""
    language: str = LANGUAGES[0]


def passages(document: str) -> list[Passage]:
    """Read a document in English or French, or both; the passages stand in its order."""
    return list(_Reader(document).read())


class _Reader:
    def __init__(self, document: str) -> None:
        self._blocks = parse(document)
        self._language = language_of(document)
        self._headings: list[tuple[int, str]] = []
        self._ignored: int | None = None

    def read(self) -> Iterator[Passage]:
        yield from self._siblings(self._blocks, lead="")

    def _siblings(self, blocks: Sequence[Block], lead: str) -> Iterator[Passage]:
        index = 0
        while index < len(blocks):
            block = blocks[index]
            if block.kind == "heading":
                self._enter(block)
                index += 1
                continue
            items, after = _list_below(blocks, index)
            read = index + 1
            yield from self._led(block, items, after, lead)
            if items and items[0].kind == "item" and items[0] not in block.children:
                read += len(items) + (after is not None and self._takes(block, items))
            index = read

    def _led(self, block: Block, items: Sequence[Block], after: Block | None, lead: str) -> Iterator[Passage]:
        """Read a block and the list below it, which its last sentence may lead to."""
        ranges = sentences(block.text)
        led = bool(items) and block.text.rstrip().endswith(":")
        own = ranges[:-1] if led else ranges
        yield from self._sentences(block, own, lead)
        if not led:
            yield from self._siblings(items, lead=block.text if items and len(block.text.split()) <= 12 else lead)
            return
        last = ranges[-1]
        if self._is_one_rule(block.text[slice(*last)], items):
            takes = after if self._takes(block, items) else None
            yield self._merged(block, last, items, takes, lead)
            if takes is not None:
                yield from self._sentences(takes, sentences(takes.text)[1:], lead)
        else:
            yield from self._entries(block.text[slice(*last)], block, last, items, lead)
            if after is not None and self._takes(block, items):
                yield from self._siblings([after], lead=lead)

    def _takes(self, block: Block, items: Sequence[Block]) -> bool:
        """Whether the paragraph below a list says what follows from the conditions in it."""
        last = sentences(block.text)[-1] if block.text else (0, 0)
        text = block.text[slice(*last)]
        if not items or not block.text.rstrip().endswith(":") or not is_bare_condition(text, self._words(text)):
            return False
        # `If the user: - …` waits for its consequence; entries that state one themselves leave none open
        return not any("," in entry.text.rstrip(" ,;") or self._modality(entry.text).strong for entry in items)

    def _is_one_rule(self, text: str, items: Sequence[Block]) -> bool:
        """Whether a lead-in and its entries are one rule: conditions, or things that the rule is about."""
        words = self._words(text)
        opens = opens_condition(text, words)
        ruling = sum(
            is_imperative(entry.text, words) if opens else self._modality(entry.text).strong for entry in items
        )
        if 2 * ruling >= len(items) or (ends_open(text, words) and not opens) or any(entry.children for entry in items):
            return False
        return modality(text, words).strength is not None or opens

    def _merged(
        self, block: Block, last: tuple[int, int], items: Sequence[Block], after: Block | None, lead: str
    ) -> Passage:
        parts = [block.text[slice(*last)].strip(), "; ".join(entry.text.strip(" ;,.") for entry in items)]
        ranges = [block.place(*last), *(entry.place(0, len(entry.text)) for entry in items if entry.text)]
        if after is not None:
            parts[-1] += ","
            first = sentences(after.text)[0]
            parts.append(after.text[slice(*first)])
            ranges.append(after.place(*first))
        text = _joined(" ".join(parts))
        found = self._modality(text)
        return self._passage(text, ranges, lead, replace(found, strength=found.strength or "states"))

    def _entries(
        self, text: str, block: Block, last: tuple[int, int], items: Sequence[Block], lead: str
    ) -> Iterator[Passage]:
        """Read entries one by one, as the end of the lead-in's sentence where it needs one."""
        words = self._words(text)
        start = _joined(text).rstrip(" :")
        if describes_parts(text, words):
            yield self._passage(text, [block.place(*last)], lead, Modality(None, reason="leads to a list"))
            yield from self._described(items, start)
            return
        whole = ends_open(text, words) or (is_bare_condition(text, words) and bool(items))
        found = modality(text, words)
        if found.strength is None or not whole:
            yield self._passage(text, [block.place(*last)], lead, Modality(None, reason="leads to a list"))
        for entry in items:
            if not whole or entry.children or not entry.text:
                yield from self._siblings([entry], lead=start)
                continue
            joint = ", " if is_bare_condition(text, words) else " "
            composed = f"{start}{joint}{_lowered(_joined(entry.text).rstrip(' ,;'))}"
            place = entry.place(0, len(entry.text))
            strength = modality(composed, words).strength or found.strength
            yield self._passage(composed, [place], lead, Modality(strength, strong=True), entry.text)

    def _described(self, items: Sequence[Block], lead: str) -> Iterator[Passage]:
        """Read entries that say what something consists of, or what the agent is for."""
        for entry in items:
            if entry.text:
                found = Modality(None, reason="an entry of a description")
                yield self._passage(entry.text, [entry.place(0, len(entry.text))], lead, found)
            yield from self._described(entry.children, lead)

    def _sentences(self, block: Block, ranges: Sequence[tuple[int, int]], lead: str) -> Iterator[Passage]:
        named = _NAMED.search(block.text) or (_NUMBERED.match(block.text) if block.kind == "item" else None)
        if block.kind == "row":
            yield self._row(block, lead)
            return
        if named and ranges:
            yield self._whole(block, named, lead)
            return
        held: Passage | None = None
        for start, end in self._cut(block, ranges):
            text = _joined(block.text[start:end])
            if (start, end) not in ranges:
                text = as_sentence(text)
            found = self._modality(text)
            words = self._words(text)
            leans = words.continuations.match(text) is not None
            points_back = words.anaphors.match(text) is not None
            if (start, end) not in ranges and words.unfinished.match(text):
                points_back = True
            leans = leans or (points_back and not (found.strong and len(text.split()) > _SHORT))
            if held is not None and held.strength and (leans or (found.strength and self._is_short(text, block))):
                held = _grown(held, text, block.place(start, end))
                continue
            if held is not None:
                yield held
            before = held.text if held is not None and points_back else ""
            held = self._passage(text, [block.place(start, end)], before or lead, found)
            held = replace(held, refers_to=before)
        if held is not None:
            yield held

    def _cut(self, block: Block, ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Cut sentences of running text where they hold several rules; an entry of a list is as its author cut it."""
        for start, end in ranges:
            text = block.text[start:end]
            if block.kind != "paragraph":
                yield start, end
                continue
            for low, high in clauses(text, self._words(text)):
                yield start + low, start + high

    def _is_short(self, text: str, block: Block) -> bool:
        return block.kind == "item" and len(text.split()) <= _SHORT

    def _whole(self, block: Block, named: re.Match[str], lead: str) -> Passage:
        before, after = block.text[: named.start()], block.text[named.end() :]
        text = _joined(before if before.strip() else after)
        inside = [self._modality(block.text[slice(*one)]).strength for one in sentences(block.text)]
        strongest: Strength = next((one for one in inside if one not in (None, "states")), "states")
        place = block.place(0, len(block.text))
        return replace(
            self._passage(text, [place], lead, Modality(strongest, strong=True)), id=named["id"].replace(" ", "-")
        )

    def _row(self, block: Block, lead: str) -> Passage:
        words = self._words(block.text)
        found = self._modality(block.text)
        headers = {part.partition(":")[0].strip().lower() for part in block.text.split("; ")}
        ruling = any(set(header.split()) & words.table_headers for header in headers)
        if found.strength is None and ruling:
            found = Modality("states")
        return self._passage(_joined(block.text), [block.place(0, len(block.text))], lead, found)

    def _passage(
        self, text: str, ranges: list[tuple[int, int]], lead: str, found: Modality, language_text: str = ""
    ) -> Passage:
        strength, reason = found.strength, found.reason
        if self._ignored is not None:
            strength, reason = None, "stands under a heading of examples or definitions"
        elif strength in ("states", "may") and self._is_described() and not self._words(text).has("limit", text):
            strength, reason = None, "stands under a heading of what there is"
        return Passage(
            text=_joined(text),
            ranges=tuple(ranges),
            headings=tuple(self._headings),
            lead=lead,
            strength=strength,
            reason="" if strength else reason or "describes and asks nothing",
            language=self._words(language_text or text).name,
        )

    def _enter(self, block: Block) -> None:
        self._headings = [(level, text) for level, text in self._headings if level < block.level]
        if self._ignored is not None and block.level <= self._ignored:
            self._ignored = None
        if not block.text:
            return
        self._headings.append((block.level, _joined(block.text)))
        if self._ignored is None and self._words(block.text).ignored_headings.match(block.text):
            self._ignored = block.level

    def _is_described(self) -> bool:
        return any(self._words(text).descriptive_headings.match(text) for _, text in self._headings)

    def _modality(self, text: str) -> Modality:
        return modality(_joined(text), self._words(text))

    def _words(self, text: str) -> Lexicon:
        return lexicon(language_of(text, self._language))


def _list_below(blocks: Sequence[Block], index: int) -> tuple[list[Block], Block | None]:
    """Give the entries below a block and the paragraph that follows them."""
    block = blocks[index]
    if block.kind == "item":
        return block.children, None
    if block.kind != "paragraph" or not block.text.rstrip().endswith(":"):
        return [], None
    end = index + 1
    while end < len(blocks) and blocks[end].kind == "item":
        end += 1
    follows = blocks[end] if end < len(blocks) and blocks[end].kind == "paragraph" else None
    return list(blocks[index + 1 : end]), follows


def _grown(passage: Passage, text: str, place: tuple[int, int]) -> Passage:
    *before, last = passage.ranges
    return replace(passage, text=f"{passage.text} {text}", ranges=(*before, (last[0], place[1])))


def _joined(text: str) -> str:
    return " ".join(text.split())


def _lowered(text: str) -> str:
    """Lower the first letter of what becomes the rest of a sentence, unless it is a name or an abbreviation."""
    return text[:1].lower() + text[1:] if len(text) > 1 and text[1].islower() else text
