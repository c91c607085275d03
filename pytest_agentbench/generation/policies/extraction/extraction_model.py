"""From a document to its flows and policies by a model: one question for the flows, one for each flow's policies.

Every policy must quote the passages that state it; what is quoted and does not stand in the document is refused, so
that each policy has a place, and none is invented.
"""

import asyncio
import re
from random import Random
from typing import Annotated

from pydantic import Field

from pytest_agentbench.generation.policies.asking import Answer, ask
from pytest_agentbench.generation.policies.extraction.extraction import Places, PolicyDocument, assemble
from pytest_agentbench.generation.policies.extraction.language import language_of, lexicon
from pytest_agentbench.generation.policies.extraction.modality import modality
from pytest_agentbench.generation.policies.extraction.rating import OTHER
from pytest_agentbench.generation.policies.values import ExtractedPolicy, Extraction
from pytest_agentbench.llm.seams import Chat

FLOWS, POLICIES = "flows.v1", "policies.v1"
"""The templates in force."""

ROLE = "extractor"
"""The role whose model this is."""

_MOST_FLOWS = 12


class FlowTitles(Answer):
    """The kinds of conversations of a document."""

    flows: list[str] = Field(description="titles of one to five words")


class FoundPolicy(Answer):
    """One rule."""

    text: str = Field(description="the rule in words that stand alone")
    quotes: list[str] = Field(description="the passages that state it, copied exactly")
    challenge: Annotated[int, Field(ge=1, le=5)] = Field(description="1 trivial to 5 intricate")
    category: str = Field(description="one of the categories given")


class FoundPolicies(Answer):
    """The rules of one kind of conversation."""

    policies: list[FoundPolicy]


class ModelExtractor:
    """Extracts with a model; `1 + flows` calls, what is refused once more."""

    def __init__(self, chat: Chat, *, random: Random) -> None:
        """Take the model, and a source of nonces."""
        self._chat = chat
        self._random = random

    async def __call__(self, given: PolicyDocument, /) -> Extraction:
        """Extract flows and policies; raise `UnusableAnswerError` where an answer is refused twice."""
        by = f"llm:{self._chat.spec.model}"
        places = Places(given.text)
        if not given.text.strip():
            return assemble(given, [], by=by, places=places)
        categories = [*lexicon(language_of(given.text)).categories, OTHER]
        titles = await ask(self._chat, FlowTitles, FLOWS, data=given.text, random=self._random, faults=_flow_faults)
        of_flows = await asyncio.gather(*(self._of_flow(title, given.text, categories) for title in titles.flows))
        found = [
            _policy(one, title, given.text, places)
            for title, answer in zip(titles.flows, of_flows, strict=True)
            for one in answer.policies
        ]
        return assemble(given, _same_places(found), by=by, places=places)

    async def _of_flow(self, title: str, text: str, categories: list[str]) -> FoundPolicies:
        return await ask(
            self._chat,
            FoundPolicies,
            POLICIES,
            data=text,
            random=self._random,
            faults=lambda one: _policy_faults(one, text, categories),
            values={"flow": " ".join(title.split()), "categories": ", ".join(categories)},
        )


def _flow_faults(given: FlowTitles) -> list[str]:
    faults = []
    if not given.flows or len(given.flows) > _MOST_FLOWS:
        faults.append(f"give 1 to {_MOST_FLOWS} flows, found {len(given.flows)}")
    if len({title.strip().lower() for title in given.flows}) < len(given.flows) or not all(map(str.strip, given.flows)):
        faults.append("each title must stand once, and none be empty")
    return faults


def _policy_faults(given: FoundPolicies, text: str, categories: list[str]) -> list[str]:
    faults = []
    for number, policy in enumerate(given.policies, 1):
        if not policy.text.strip():
            faults.append(f"rule {number} has no text")
        if not policy.quotes:
            faults.append(f"rule {number} quotes nothing")
        if policy.category not in categories:
            faults.append(f"rule {number}: {policy.category[:40]!r} is no category")
        faults += [
            f"rule {number}: quote {position} does not stand in the material"
            for position, quote in enumerate(policy.quotes, 1)
            if _find(quote, text, 0) is None
        ]
    return faults


def _policy(found: FoundPolicy, title: str, text: str, places: Places) -> ExtractedPolicy:
    spans = []
    start = 0
    for quote in found.quotes:
        where = _find(quote, text, start) or _find(quote, text, 0)
        assert where is not None  # noqa: S101 - answers with other quotes were refused
        spans.append(places.span(*where))
        start = where[1]
    plain = " ".join(found.text.split())
    return ExtractedPolicy(
        id="",
        text=plain,
        category=found.category,
        challenge=found.challenge,
        strength=modality(plain, lexicon(language_of(plain))).strength or "states",
        flows=(" ".join(title.split()),),
        spans=tuple(dict.fromkeys(spans)),
    )


def _find(quote: str, text: str, start: int) -> tuple[int, int] | None:
    words = [word for word in quote.replace("\n| ", "\n").split() if word != "|"]
    if not words:
        return None
    match = re.compile(r"\s+".join(map(re.escape, words))).search(text, start)
    return match.span() if match else None


def _same_places(found: list[ExtractedPolicy]) -> list[ExtractedPolicy]:
    """Give rules that two flows quote from the same places the words of the first, so that they are joined."""
    first: dict[tuple[int, ...], str] = {}
    return [
        one.model_copy(
            update={
                "text": first.setdefault(tuple(at for span in one.spans for at in (span.start, span.end)), one.text)
            }
        )
        for one in found
    ]
