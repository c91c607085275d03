"""The turns of a draft out of the calls that were made, and whether their values hold in any environment."""

import itertools
from collections.abc import Sequence

from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.draft import Origin, PlannedCall, Reference, Stated, Turn, Wanted
from pytest_agentbench.generation.language.plain import label_of
from pytest_agentbench.generation.tools.hydration.arguments import Option
from pytest_agentbench.generation.tools.hydration.facts import said_at, stands_at
from pytest_agentbench.generation.tools.hydration.memory import Unsteady
from pytest_agentbench.generation.tools.hydration.stock import Stock
from pytest_agentbench.generation.tools.probing.reading import parsed
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.probing.verdicts import judge
from pytest_agentbench.validation.values import scalars


def turns_of_calls(made: Sequence[tuple[PlannedCall, Option]], wanted: Sequence[Wanted], stock: Stock) -> list[Turn]:
    """Give the turns of the calls that one line asks for: the request, and a yes before each change that needs one.

    What the user wants to be told stands in the answer of the last call.
    """
    groups: list[list[PlannedCall]] = [[]]
    abouts: list[tuple[JsonValue, ...]] = [()]
    states: list[Stated] = []
    references: list[Reference] = []
    for number, (planned, option) in enumerate(made):
        call = ToolCall(name=planned.call.name, arguments=planned.call.arguments)
        if stock.rules.must_confirm(call):
            groups.append([])
            abouts.append(tuple(value for _, value in scalars(call.arguments)))
        groups[-1].append(planned)
        schemas = {one.path: one.schema_ for one in stock.card(call.name).parameters}
        states += [
            Stated(label=label_of(path, schemas.get(path)), value=value, argument=path, call=number)
            for path, value in option.states.items()
        ]
        references += [one.model_copy(update={"call": number}) for one in option.references]
    last = len(groups[-1]) - 1
    asked = tuple(one.model_copy(update={"call": last}) for one in wanted)
    request = Turn(
        calls=tuple(groups[0]),
        states=tuple(states),
        references=tuple(references),
        wanted=asked if len(groups) == 1 else (),
    )
    answers = [
        Turn(act="confirm", calls=tuple(calls), about=about, wanted=asked if place == len(groups) - 1 else ())
        for place, (calls, about) in enumerate(zip(groups[1:], abouts[1:], strict=True), start=1)
    ]
    return [request, *answers]


def numbered(turn: Turn) -> Turn:
    """Give a turn whose paths name the first entry of a list by its number, as drafts do: `item_ids.0`."""

    def of(path: str) -> str:
        return path.replace(".*", ".0")

    calls = [
        call.model_copy(update={"origins": {of(path): one for path, one in call.origins.items()}})
        for call in turn.calls
    ]
    states = [one.model_copy(update={"argument": of(one.argument)}) for one in turn.states]
    references = [one.model_copy(update={"argument": of(one.argument)}) for one in turn.references]
    return turn.model_copy(update={"calls": tuple(calls), "states": tuple(states), "references": tuple(references)})


async def unsteady_values(turns: Sequence[Turn], stock: Stock) -> set[Unsteady]:
    """Give the values that another environment has not; the calls are made again in a fresh one to find out.

    A call that fails there loses what it was given by results. Where environments do not open anew, none is known.
    """
    calls = [call for turn in turns for call in turn.calls]
    is_asked = any(turn.wanted for turn in turns)
    if not stock.world.resettable or not (is_asked or any(one.call is not None for one in _origins(calls))):
        return set()
    lost: set[Unsteady] = set()
    results: list[JsonValue] = []
    async with stock.world.open() as opened:
        for turn in turns:
            for planned in turn.calls:
                name, slots = planned.call.name, read_slots(planned.call.arguments)
                taken = {path: one for path, one in planned.origins.items() if one.call is not None}
                gone = [
                    path
                    for path, one in taken.items()
                    if not stands_at(slots.get(path), one.path, results[one.call or 0])
                ]
                answer = await opened.call(name, planned.call.arguments)
                if not gone and not planned.fails and judge(answer).verdict != "ok":
                    gone = list(taken)
                lost |= {(calls[taken[path].call or 0].call.name, name, path) for path in gone}
                results.append(parsed(answer.content))
            for one in turn.wanted:
                told = turn.calls[one.call]
                if said_at(results[len(results) - len(turn.calls) + one.call], one.path) != one.text:
                    lost.add((told.call.name, "", one.path))
    return lost


def _origins(calls: Sequence[PlannedCall]) -> list[Origin]:
    return list(itertools.chain.from_iterable(call.origins.values() for call in calls))
