"""The turns of a draft out of the calls that were made, and whether their values hold in any environment."""

from collections.abc import Sequence

from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.draft import Stated, Turn, Wanted
from pytest_agentbench.generation.language.plain import label_of
from pytest_agentbench.generation.tools.hydration.arguments import Executed
from pytest_agentbench.generation.tools.hydration.facts import said_at, stands_at
from pytest_agentbench.generation.tools.hydration.memory import Unsteady
from pytest_agentbench.generation.tools.hydration.stock import Stock
from pytest_agentbench.generation.tools.probing.reading import parsed
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.probing.verdicts import judge
from pytest_agentbench.validation.values import scalars


def turns_of_calls(made: Sequence[Executed], wanted: Sequence[Wanted], stock: Stock) -> list[Turn]:
    """Give the turns of the calls that one line asks for: the request, and a yes before each change that needs one.

    What the user wants to be told stands in the answer of the last call.
    """
    groups: list[list[Executed]] = [[]]
    for one in made:
        if stock.rules.must_confirm(ToolCall(name=one.card.tool, arguments=one.arguments)):
            groups.append([])
        groups[-1].append(one)
    asked = tuple(one.model_copy(update={"call": len(groups[-1]) - 1}) for one in wanted)
    turns = [
        Turn(
            act="confirm" if place else "request",
            calls=tuple(one.planned for one in group),
            about=tuple(value for _, value in scalars(group[0].arguments)) if place else (),
            wanted=asked if place == len(groups) - 1 else (),
        )
        for place, group in enumerate(groups)
    ]
    schemas = [{parameter.path: parameter.schema_ for parameter in one.card.parameters} for one in made]
    states = [
        Stated(label=label_of(path, schemas[call].get(path)), value=value, argument=path, call=call)
        for call, one in enumerate(made)
        for path, value in one.option.said.items()
    ]
    references = [
        ref.model_copy(update={"call": call}) for call, one in enumerate(made) for ref in one.option.references
    ]
    return [turns[0].model_copy(update={"states": tuple(states), "references": tuple(references)}), *turns[1:]]


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
    hands_on = any(one.call is not None for call in calls for one in call.origins.values())
    if not stock.world.resettable or not (hands_on or any(turn.wanted for turn in turns)):
        return set()
    lost: set[Unsteady] = set()
    results: list[JsonValue] = []
    async with stock.world.open() as opened:
        for turn in turns:
            first = len(results)
            for planned in turn.calls:
                name, slots = planned.call.name, read_slots(planned.call.arguments)
                taken = {path: (one.call, one.path) for path, one in planned.origins.items() if one.call is not None}
                gone = [path for path, (call, at) in taken.items() if not stands_at(slots.get(path), at, results[call])]
                answer = await opened.call(name, planned.call.arguments)
                if not gone and not planned.fails and judge(answer).verdict != "ok":
                    gone = list(taken)
                lost |= {(calls[taken[path][0]].call.name, name, path) for path in gone}
                results.append(parsed(answer.content))
            lost |= {
                (turn.calls[one.call].call.name, "", one.path)
                for one in turn.wanted
                if said_at(results[first + one.call], one.path) != one.text
            }
    return lost
