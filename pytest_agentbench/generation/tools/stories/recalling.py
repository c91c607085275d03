"""Calls that come back to what an earlier turn made: the user says what was given or answered then."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.probing.schemas import build, read_slots
from pytest_agentbench.generation.tools.recruiting.basis import is_opaque
from pytest_agentbench.generation.tools.recruiting.scouting import is_needed, is_sayable
from pytest_agentbench.generation.tools.recruiting.stock import Stock
from pytest_agentbench.generation.tools.stories.flows import connecting
from pytest_agentbench.generation.tools.stories.narrator import WishGiven
from pytest_agentbench.generation.tools.stories.propagation import Made, Propagated, propagated
from pytest_agentbench.generation.tools.values import Card, PoolEntry


def recalled(
    card: Card, made: Sequence[Made], stock: Stock, entries: Sequence[PoolEntry], lost: Collection[tuple[str, str, str]]
) -> list[Propagated]:
    """Give arguments for a tool that works only after others, from what the calls of all turns gave, the latest first.

    `entries` are verified calls behind others, which complete what no result gives. Values that are others in each
    environment (`lost`: source, target and argument) are none that a user could say.
    """
    found: list[Propagated] = []
    for place in range(len(made), 0, -1):
        source = made[place - 1].card.tool
        typed = bool(connecting(stock.taxonomy, source, card.tool))
        for entry in entries:
            before = stock.pool.get(entry.after)
            if typed or (before is not None and before.tool == source):
                found += propagated(source, card, made[:place], stock.taxonomy, [entry], any_turn=True)
    found = [one for one in found if _is_pointed_at(one, made) or not any(map(is_opaque, _said(one)))]
    return [one for one in lasting(found, made, card, lost, connected=False) if is_sayable(one.arguments)]


def recalling(card: Card, option: Propagated, made: Sequence[Made]) -> WishGiven:
    """Give what the user says of it: `that note` of what was made just now, else the values themselves.

    `made` are the calls before it.
    """
    if _is_pointed_at(option, made):
        names = tuple(one.argument for one in option.provenance if one.argument not in option.given)
        return WishGiven(card=card, given=dict(option.given), places=(), taken=names)
    return WishGiven(card=card, given=read_slots(option.arguments) or dict(option.arguments))


def _is_pointed_at(option: Propagated, made: Sequence[Made]) -> bool:
    """Whether everything that a call takes is of the call just before, which gave one thing: `that note`."""
    taken = [one for one in option.provenance if one.source == "result"]
    is_one = option.places is not None and not option.places
    return bool(taken) and is_one and all(one.call == len(made) - 1 for one in taken)


def _said(option: Propagated) -> list[JsonValue]:
    return list(read_slots(option.arguments).values())


def lasting(
    options: Sequence[Propagated],
    made: Sequence[Made],
    card: Card,
    lost: Collection[tuple[str, str, str]],
    *,
    connected: bool = True,
) -> list[Propagated]:
    """Give the options without values that are others in each environment; none that needs such a value.

    Where calls are to be `connected`, none that takes nothing from a result then.
    """
    needed = {one.path for one in card.parameters if is_needed(one)}
    found: list[Propagated] = []
    for option in options:
        gone = {
            one.argument
            for one in option.provenance
            if one.call is not None and (made[one.call].card.tool, card.tool, one.argument) in lost
        }
        if not gone:
            found.append(option)
        elif not gone & needed:
            slots = {path: value for path, value in read_slots(option.arguments).items() if path not in gone}
            proof = tuple(one for one in option.provenance if one.argument not in gone)
            is_taken = any(one.source == "result" for one in proof)
            if is_taken or not connected:
                places = option.places if is_taken else None
                found.append(replace(option, arguments=build(slots), provenance=proof, places=places))
    return found
