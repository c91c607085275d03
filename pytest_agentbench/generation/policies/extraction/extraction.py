"""From a document to its policies (§3.1.1), by the structure of the document: each list item, row and paragraph is one.

Nothing is read off the words. Which of the entries state a rule, and what prose says, is a model's to tell
(`extraction_model.py`), or people's, who review the list.
"""

import re
from collections.abc import Iterable, Sequence

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.text import ascii_slug
from pytest_agentbench.generation.policies.diff import carried_ids
from pytest_agentbench.generation.policies.extraction.document import Block, blocks
from pytest_agentbench.generation.policies.extraction.identity import ids_for, key_of
from pytest_agentbench.generation.policies.values import ExtractedPolicy, Extraction, Flow, LeftOut

GENERAL = "general"
"""The flow of rules that stand above every part: they hold in any conversation."""

STRUCTURE = "structure"
"""Who read a document without a model."""

_NAMED = re.compile(r"\s*[(\[](?P<id>[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)+)[)\]]\s*$")


class PolicyDocument(Model):
    """A document to read: its name as reports show it, its text, and what was read from it before, if anything.

    Policies that `previous` holds keep their ids where they are the same or were edited.
    """

    name: str = ""
    text: str
    previous: Extraction | None = None


def extract(given: PolicyDocument, *, without: Sequence[str] = ()) -> Extraction:
    """Make a policy of each entry of a document; what leads to a list is told with its items and is none itself.

    `without` names strategies of `document.STRATEGIES` to leave out.
    """
    found = blocks(given.text, without=without)
    entries = [one for one in found if one.kind != "lead"]
    left_out = tuple(LeftOut(span=one.span, reason="leads to a list") for one in found if one.kind == "lead")
    return assemble(given, policies_of(entries, [one.whole for one in entries]), by=STRUCTURE, left_out=left_out)


def policies_of(entries: Sequence[Block], texts: Sequence[str]) -> list[ExtractedPolicy]:
    """Make a policy of each block with the text that it was given, under the block's headings.

    Where most list items end with a name in parentheses, `… (late-fee)`, these are the ids.
    """
    level = _flow_level(entries)
    names = [_NAMED.search(one.text) if one.kind == "item" else None for one in entries]
    is_named = 2 * sum(name is not None for name in names) > sum(one.kind == "item" for one in entries)
    made = []
    for block, text, name in zip(entries, texts, names, strict=True):
        titles = tuple(title for at, title in block.headings if at == level)
        made.append(
            ExtractedPolicy(
                id=name["id"] if name and is_named else "",
                text=_NAMED.sub("", text) if name and is_named else text,
                category=block.headings[-1][1] if block.headings else "",
                flows=titles or (GENERAL,),
                under=tuple(title for at, title in block.headings if level is None or at >= level),
                spans=(block.span,),
            )
        )
    return made


def assemble(
    given: PolicyDocument, policies: Sequence[ExtractedPolicy], *, by: str, left_out: tuple[LeftOut, ...] = ()
) -> Extraction:
    """Join what is said more than once, name what has no id, and carry known ids over.

    The `flows` of the policies given are titles, of which ids are made.
    """
    joined = _joined(policies)
    known = [one.id for one in joined]
    if given.previous is not None:
        known = carried_ids(given.previous.policies, joined)
    unique = [name if known.index(name) == at else "" for at, name in enumerate(known)]
    titles = list(dict.fromkeys(title for one in joined for title in one.flows))
    ids = dict(zip(titles, ids_for_titles(titles), strict=True))
    final = tuple(
        one.model_copy(update={"id": name, "flows": tuple(ids[title] for title in one.flows)})
        for one, name in zip(joined, ids_for([one.text for one in joined], unique), strict=True)
    )
    flows = tuple(
        Flow(id=name, title=title, spans=tuple(one.span for one in final if name in one.flows and one.span))
        for title, name in ids.items()
    )
    return Extraction(
        document=given.name, document_hash=digest(given.text), by=by, flows=flows, policies=final, left_out=left_out
    )


def ids_for_titles(titles: Sequence[str]) -> list[str]:
    """Give each title of a flow an id of its own."""
    used: dict[str, int] = {}
    found = []
    for title in titles:
        slug = ascii_slug(title.lower())[:60].strip("-.")
        used[slug] = used.get(slug, 0) + 1
        found.append(slug if used[slug] == 1 else f"{slug}-{used[slug]}")
    return found


def _flow_level(entries: Iterable[Block]) -> int | None:
    """Give the outermost level at which the document has more than one heading above entries; None without headings."""
    paths = {one.headings for one in entries}
    levels = sorted({level for path in paths for level, _ in path})
    several = [level for level in levels if len({text for path in paths for at, text in path if at == level}) > 1]
    return next(iter(several or levels), None)


def _joined(policies: Iterable[ExtractedPolicy]) -> list[ExtractedPolicy]:
    """Make one of policies that say the same, with the flows and places of all of them."""
    found: dict[str, ExtractedPolicy] = {}
    for one in policies:
        key = key_of(one.text)
        first = found.get(key)
        if first is None:
            found[key] = one
            continue
        flows = tuple(dict.fromkeys((*first.flows, *one.flows)))
        spans = tuple(dict.fromkeys((*first.spans, *one.spans)))
        found[key] = first.model_copy(update={"id": first.id or one.id, "flows": flows, "spans": spans})
    return list(found.values())
