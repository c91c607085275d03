"""Whether the values of a story hold in any environment: its calls are made again in a fresh one.

A number that a service draws, the time, or a run's own folder stand in an answer once and never again: a scenario that
expects them would be right on the day it was written. What is found so is not handed on again.
"""

from collections.abc import Sequence

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.probing.reading import parsed
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.probing.verdicts import judge
from pytest_agentbench.generation.tools.recruiting.pool import FAILURE
from pytest_agentbench.generation.tools.recruiting.stock import Lost, Stock
from pytest_agentbench.generation.tools.stories.facts import said_at
from pytest_agentbench.generation.tools.stories.flows import ARGUMENT, found_at
from pytest_agentbench.generation.tools.stories.tracing import is_same_value
from pytest_agentbench.generation.tools.values import Provenance, Step

TOLD = "told"
"""Stands in the place of a tool where a value went to the user."""


async def lost_values(steps: Sequence[Step], stock: Stock) -> set[Lost]:
    """Give the values that another environment has not, as source, target and argument; {} where none is handed on.

    What is told counts too, as source, `TOLD` and where it stands. A call that fails there loses what it was given by
    results. Where environments do not open anew, none is known.
    """
    calls = [step for step in steps if step.call is not None]
    is_told = any(step.facts for step in steps)
    is_handed_on = any(one.source == "result" for step in calls for one in step.provenance)
    if not stock.world.resettable or not (is_handed_on or is_told):
        return set()
    lost: set[Lost] = set()
    results: list[JsonValue] = []
    told: JsonValue = None
    async with stock.world.open() as opened:
        for step in steps:
            if step.call is None:
                lost |= {
                    (step.source, TOLD, path)
                    for path in step.facts.values()
                    if said_at(told, path) != said_at(results[-1], path)
                }
                continue
            told = parsed(step.content)
            slots = read_slots(step.call.arguments)
            taken = [one for one in step.provenance if one.source == "result" and not one.path.startswith(ARGUMENT)]
            gone = [one for one in taken if not _stands(slots.get(one.argument), one, results)]
            answer = await opened.call(step.call.name, step.call.arguments)
            planned = any(FAILURE in one.entry for one in step.provenance)
            if not gone and judge(answer).verdict != "ok" and not planned:
                gone = [one for one in step.provenance if one.source == "result"]
            for one in gone:
                source = calls[one.call or 0].call
                lost.add((source.name if source is not None else "", step.call.name, one.argument))
            results.append(parsed(answer.content))
    return lost


def _stands(value: JsonValue, proof: Provenance, results: Sequence[JsonValue]) -> bool:
    if proof.call is None or not 0 <= proof.call < len(results):
        return False
    found = [one.value for one in found_at(results[proof.call], proof.path)]
    return any(is_same_value(one, value) or (isinstance(one, str) and str(value) in one) for one in found)
