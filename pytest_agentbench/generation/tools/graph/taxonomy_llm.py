"""The Taxonomist (D.1): one question over all cards; its answer is checked, mended and merged with the evidence."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from pydantic import Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.tools.data_types import Card, Cards, Place, SemanticType, Taxonomy
from pytest_agentbench.generation.tools.graph.taxonomy import build_taxonomy, distinct, mended
from pytest_agentbench.generation.tools.probing.outputs import output_leaves
from pytest_agentbench.generation.tools.template import asked, render
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.llm.structured import structured

TEMPERATURE = 0.1
"""Of the Taxonomist (Annex D)."""


class TypeAnswer(Model):
    """One type as the model gives it; places are written `tool: path`."""

    id: str
    parent: str = ""
    consumed: list[str] = Field(default_factory=list)
    produced: list[str] = Field(default_factory=list)


class TaxonomyAnswer(Model):
    """The vocabulary of all tools."""

    types: list[TypeAnswer]


async def typed_by_model(
    chat: Chat, cards: Cards, random: Random, *, told: Callable[[str], None] = lambda _: None
) -> Taxonomy:
    """Let a model type all cards in one call; show it what breaks the rules once, mend the rest, merge the evidence.

    What was observed wins: a place that evidence puts into a connector type stays there. Types that connect tools by
    the model's word alone are kept where the argument is not known to refuse such values. `told` hears each change
    that its answer needed. Raise what model access does.
    """
    messages = asked("taxonomy.v1", [_shown(card, cards) for card in cards.cards], random)
    tools = [card.tool for card in cards.cards]
    answer = await structured(chat, TaxonomyAnswer, messages, temperature=TEMPERATURE)
    types, unknown = _read(answer, cards)
    wrong = [*mended(types, tools, most=None)[1], *unknown]
    if wrong:
        listed = "\n".join(f"- {printable(shorten(fault, 300))}" for fault in wrong[:40])
        again = [
            {"role": "assistant", "content": dumps(answer)},
            {"role": "user", "content": render("taxonomy_again.v1", {"faults": listed})},
        ]
        answer = await structured(chat, TaxonomyAnswer, [*messages, *again], temperature=TEMPERATURE)
        types, unknown = _read(answer, cards)
    merged, moved = _with_evidence(types, cards)
    taxonomy, changes = mended(merged, tools)
    for change in (*unknown, *moved, *changes):
        told(f"taxonomy: {printable(change)}")
    return taxonomy


def _read(answer: TaxonomyAnswer, cards: Cards) -> tuple[list[SemanticType], list[str]]:
    """Read places, leaving out those that no card has; give the types and what was left out."""
    takes = {card.tool: {one.path for one in card.parameters} for card in cards.cards}
    gives = {card.tool: {"", *(path for path, _ in output_leaves(card.output))} for card in cards.cards}
    for flow in cards.flows:
        gives[flow.source].add(flow.source_path)
    unknown: list[str] = []

    def places(name: str, written: list[str], known: dict[str, set[str]]) -> tuple[Place, ...]:
        found: list[Place] = []
        for text in written:
            tool, _, path = (part.strip() for part in text.partition(":"))
            if path in known.get(tool, ()):
                found.append(Place(tool=tool, path=path))
            else:
                unknown.append(f"{name!r} names {text!r}, which no card has")
        return distinct(found)

    types = [
        SemanticType(
            id=one.id,
            parent=one.parent or None,
            consumed=places(one.id, one.consumed, takes),
            produced=places(one.id, one.produced, gives),
        )
        for one in answer.types
    ]
    return types, unknown


def _with_evidence(types: list[SemanticType], cards: Cards) -> tuple[list[SemanticType], list[str]]:
    """Move what evidence connects into one type each, under the model's name where it has one for the argument."""
    closed = {(flow.target, flow.target_path) for flow in cards.flows if flow.refused}
    result = list(types)
    moved: list[str] = []
    for proven in (one for one in build_taxonomy(cards).types if one.is_connector):
        takes, gives = _ends(proven.consumed), _ends(proven.produced)
        at = next((number for number, one in enumerate(result) if takes & _ends(one.consumed)), None)
        for number, one in enumerate(result):
            consumed = tuple(place for place in one.consumed if (place.tool, place.path) not in takes)
            produced = tuple(place for place in one.produced if (place.tool, place.path) not in gives)
            if number != at and len(consumed) < len(one.consumed):
                moved.append(f"{one.id!r} lost arguments that take {proven.id!r}, as was observed")
            # what a model says is made of this type elsewhere cannot be, where the argument takes known values only
            if number == at and takes & closed and produced:
                moved.append(f"{one.id!r} lost places whose values were never accepted")
                produced = ()
            result[number] = one.model_copy(update={"consumed": consumed, "produced": produced})
        if at is None:
            result.append(proven)
            moved.append(f"{proven.id!r} was added: it was observed")
        else:
            update = {
                "consumed": distinct((*proven.consumed, *result[at].consumed)),
                "produced": distinct((*proven.produced, *result[at].produced)),
                "evidence": proven.evidence,
            }
            result[at] = result[at].model_copy(update=update)
    return result, moved


def _ends(places: Iterable[Place]) -> set[tuple[str, str]]:
    return {(place.tool, place.path) for place in places}


def _shown(card: Card, cards: Cards) -> dict[str, Any]:
    return {
        "tool": card.tool,
        "description": shorten(card.declared_description, 400),
        "found": shorten(card.actual_description, 400),
        "accepts": [
            {"path": one.path, "required": one.required, "domain": one.domain, "values": list(one.accepted[:3])}
            for one in card.parameters
        ],
        "gives": [f"{path}: {kind}" for path, kind in output_leaves(card.output)][:40] if card.output else [],
        "observed": [
            f"{flow.target_path} takes {dumps(list(flow.values[:2]))} from {flow.source}: {flow.source_path}"
            for flow in cards.flows
            if flow.target == card.tool
        ][:20],
    }
