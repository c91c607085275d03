"""From a document to its policies (§3.1.1): by its structure, or by a model that says which blocks state rules.

By structure each list item, row and paragraph is a policy, and nothing is read off the words. Which of these state a
rule, and what prose says, is a model's to tell, or people's, who review the list. Every rule of a model must quote the
block that states it, and hold no figure that its block has not, so that each policy has a place, and none is invented.

Markdown is read by markdown-it-py. One habit of system prompts is added: a tag alone on its line, `<refunds>`, stands
above what follows it like a heading.
"""

import asyncio
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.generation.policies.data_types import ExtractedPolicy, Extraction, Flow, LeftOut, Span
from pytest_agentbench.generation.policies.identity import carried_ids, ids_for, ids_for_titles, key_of
from pytest_agentbench.generation.policies.model_question import Answer, ask
from pytest_agentbench.llm.protocols import Chat

if TYPE_CHECKING:
    from markdown_it.token import Token

Kind = Literal["item", "row", "paragraph", "lead"]

_LARGEST = 2_000_000
"""Characters of a document that are read; more is not a policy document."""

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---[ \t]*(?=\n|\Z)", re.DOTALL)
_TAG = re.compile(r"[ \t]*<(?P<close>/?)(?P<name>[A-Za-z][\w:.-]*)(?:[ \t][^<>]*)?>[ \t]*")
_LINE = re.compile(r"\r\n|\r|\n")

_TAG_LEVEL = 0
"""A tag stands above every heading."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """One block; `headings` are those above it with their levels, outermost first.

    `lead` is the text that ends in a colon right above its list; such a text is a block of its own, of kind `lead`.
    """

    kind: Kind
    text: str
    span: Span
    headings: tuple[tuple[int, str], ...] = ()
    lead: str = ""

    @property
    def whole(self) -> str:
        """The text with what leads to it, so that it can be read alone."""
        return f"{self.lead} {self.text}" if self.lead else self.text


def blocks(document: str) -> list[Block]:
    """Give the blocks of a document in order, without code, comments and front matter."""
    return _Reader(document[:_LARGEST]).blocks


class _Reader:
    """Walks the tokens of a document once, and notes what stands above each block."""

    def __init__(self, document: str) -> None:
        from markdown_it import MarkdownIt  # noqa: PLC0415 - only documents need it

        self.blocks: list[Block] = []
        self.starts = [0, *(line.end() for line in _LINE.finditer(document))]
        self.lines = _LINE.split(document)
        text = "\n".join(self.lines).replace("\0", " ")
        shown = _without_comments(_FRONT_MATTER.sub(lambda match: _blank(match[0]), text)).split("\n")
        found = [(at, match) for at, line in enumerate(shown) if (match := _TAG.fullmatch(line))]
        for at, _ in found:
            shown[at] = ""
        self.tags = deque((at, "" if match["close"] else match["name"]) for at, match in found)
        self.headings: list[tuple[int, str]] = []
        self.leads: list[tuple[int, str]] = []
        self.header: list[str] = []
        self.cells: list[str] = []
        self.row = self.depth = 0
        # a block of HTML would swallow the lines below a tag
        parser = MarkdownIt("commonmark").enable("table").disable("html_block")
        self._walk(parser.parse("\n".join(shown)))

    def _walk(self, tokens: Sequence["Token"]) -> None:
        for index, token in enumerate(tokens):
            while token.map is not None and self.tags and self.tags[0][0] < token.map[0]:
                self._enter(_TAG_LEVEL, self.tags.popleft()[1].replace("_", " "))
            match token.type:
                case "list_item_open" | "list_item_close":
                    self.depth += token.nesting
                case "bullet_list_close" | "ordered_list_close" | "table_close":
                    self.leads = [one for one in self.leads if one[0] < token.level]
                case "heading_open":
                    self._enter(int(token.tag[1:]), _plain(tokens[index + 1]))
                case "inline" if tokens[index - 1].type == "paragraph_open":
                    self._text(token, tokens[index + 2] if index + 2 < len(tokens) else None)
                case "inline" if tokens[index - 1].type == "th_open":
                    self.header.append(_plain(token))
                case "inline" if tokens[index - 1].type == "td_open":
                    self.cells.append(_plain(token))
                case "thead_open":
                    self.header = []
                case "tr_open" if token.map:
                    self.row = token.map[0]
                case "tr_close" if self.cells:
                    self._row()

    def _enter(self, level: int, text: str) -> None:
        self.headings = [one for one in self.headings if one[0] < level] + ([(level, text)] if text else [])
        self.leads = []

    def _text(self, token: "Token", after: "Token | None") -> None:
        text = _plain(token)
        is_lead = text.endswith(":") and after is not None and after.type.endswith(("list_open", "table_open"))
        if not self.depth:
            self.leads = []
        kind: Kind = "lead" if is_lead else "item" if self.depth else "paragraph"
        self._add(kind, text, token.content.split("\n"), token.map[0] if token.map else 0)
        if is_lead and after is not None:
            self.leads.append((after.level, text))

    def _row(self) -> None:
        names = [*self.header, *[""] * len(self.cells)]
        parts = [f"{name}: {cell}" if name else cell for name, cell in zip(names, self.cells, strict=False) if cell]
        self.cells = []
        self._add("row", "; ".join(parts), [self.lines[self.row].strip(" \t|")], self.row)

    def _add(self, kind: Kind, text: str, pieces: Sequence[str], line: int) -> None:
        if not any(char.isalnum() for char in text):
            return
        last = line + len(pieces) - 1
        start, end = self._place(pieces[0], line)[0], self._place(pieces[-1], last)[1]
        span = Span(start=start, end=end, line=line + 1, last_line=last + 1)
        lead = " ".join(one for _, one in self.leads)
        self.blocks.append(Block(kind=kind, text=text, span=span, headings=tuple(self.headings), lead=lead))

    def _place(self, piece: str, line: int) -> tuple[int, int]:
        source, shown = self.lines[line], piece.strip()
        at = source.find(shown)
        start = self.starts[line] + max(at, 0)
        return start, start + (len(shown) if at >= 0 else len(source))


def _blank(text: str) -> str:
    """Give as many lines, so that places stay what they are."""
    return re.sub(r"[^\n]", " ", text)


def _without_comments(text: str) -> str:
    """Blank the comments of a document; one without an end is text."""
    parts, at = [], 0
    # an expression would look for the end of each that has none, through all that follows
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts += [text[at:start], _blank(text[start : end + 3])]
        at = end + 3
    return "".join([*parts, text[at:]])


def _plain(token: "Token") -> str:
    """Give the text of a block without its markup, on one line."""
    return " ".join("".join(_pieces(token.children or ())).split())


def _pieces(children: Sequence["Token"]) -> Iterator[str]:
    for child in children:
        if child.type in ("text", "code_inline"):
            yield child.content
        elif child.type in ("softbreak", "hardbreak"):
            yield " "
        elif child.type == "image":
            yield from _pieces(child.children or ())


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
