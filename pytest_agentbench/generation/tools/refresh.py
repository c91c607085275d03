"""`agentbench validate --refresh`: generated scenarios held against the world as it is now.

The expected calls are made again, in order, in a fresh environment. A value that was taken from an answer, or that the
agent must tell, is stale where it no longer stands there; an answer that merely differs is told apart.
"""

from collections.abc import Mapping, Sequence

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.assemble import CALLS, FACTS
from pytest_agentbench.generation.recipe import PROVENANCE
from pytest_agentbench.generation.tools.flows import found_at
from pytest_agentbench.generation.tools.hydration.facts import said_at, stands_at
from pytest_agentbench.generation.tools.probing.reading import parsed
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.probing.verdicts import judge
from pytest_agentbench.generation.tools.world import World


class Freshness(Model):
    """What became of one scenario: values that are stale, and the calls whose answers differ otherwise."""

    id: str
    stale: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()


async def refreshed(scenarios: Sequence[Scenario], world: World) -> tuple[Freshness, ...]:
    """Make the calls of every generated scenario again, and say what no longer holds.

    Raise `EnvironmentFaultError` where no environment can be opened. Where it cannot be reset, scenarios with calls
    that may write are left out.
    """
    written = [
        scenario
        for scenario in scenarios
        if PROVENANCE in scenario.provenance and isinstance(scenario.provenance.get(CALLS), list)
    ]
    return tuple([await _refreshed(scenario, world) for scenario in written])


async def _refreshed(scenario: Scenario, world: World) -> Freshness:
    origins: Sequence[Mapping[str, JsonValue]] = scenario.provenance[CALLS]
    kinds = {call.name: spec.kind if (spec := world.toolset.get(call.name)) else "" for call in scenario.expected_calls}
    if not world.resettable and any(kind != "read" for kind in kinds.values()):
        return Freshness(id=scenario.id, differing=("not tried: its calls may change what cannot be reset",))
    stale: list[str] = []
    differing: list[str] = []
    results: list[JsonValue] = []
    async with world.open(_state_of(scenario, world)) as opened:
        for call, origin in zip(scenario.expected_calls, origins, strict=False):
            slots = read_slots(call.arguments)
            stale += _moved(call.name, slots, origin.get("arguments") or {}, results)
            answer = await opened.call(call.name, call.arguments)
            verdict = judge(answer).verdict
            results.append(parsed(answer.content))
            if digest(answer.content) == origin.get("answer"):
                continue
            if answer.error or verdict in ("broken", "environment"):
                said = shorten(printable(answer.content), 160)
                stale.append(f"{call.name}({_shown(call.arguments)}) is not answered any more: {said}")
            else:
                differing.append(f"{call.name}({_shown(call.arguments)}) is answered otherwise")
    stale += _untold(scenario, results)
    return Freshness(id=scenario.id, stale=tuple(stale), differing=tuple(differing))


def _state_of(scenario: Scenario, world: World) -> Mapping[str, JsonValue]:
    """Give what a scenario adds to the suite's state, as its runs have it."""
    initial = scenario.task.initial_state
    whole = initial.model_dump() if initial is not None else {}
    rows: Mapping[str, JsonValue] = (whole.get("initialization_data") or {}).get("agent_data") or {}
    return whole if world.spec.tau2 else rows


def _moved(
    tool: str,
    slots: Mapping[str, JsonValue],
    origins: Mapping[str, JsonValue],
    results: Sequence[JsonValue],
) -> list[str]:
    """Name the arguments whose value no longer stands in the result that it was taken from."""
    stale = []
    for written, origin in origins.items():
        path = written.replace(".0", ".*")
        if not isinstance(origin, Mapping) or path not in slots:
            continue
        call, where = int(origin.get("call", -1)), str(origin.get("path", ""))
        if not 0 <= call < len(results):
            continue
        value = slots[path]
        if not stands_at(value, where, results[call]):
            values = [one.value for one in found_at(results[call], where)]
            now = (
                f", where {shorten(printable(repr(values[0])), 60)} stands now"
                if values
                else ", which is not there now"
            )
            stale.append(f"{tool}: {path} {value!r} was at {where} of call {call + 1}{now}")
    return stale


def _untold(scenario: Scenario, results: Sequence[JsonValue]) -> list[str]:
    """Name what the agent must tell and no answer says any more."""
    stale = []
    facts = scenario.provenance.get(FACTS)
    for fact, text in zip(facts if isinstance(facts, list) else (), scenario.communicate_info, strict=False):
        if not fact:
            continue  # a text that stands in no answer
        call, where = int(fact.get("call", -1)), str(fact.get("path", ""))
        now = said_at(results[call], where) if 0 <= call < len(results) else None
        if now != text:
            stale.append(f"communicate {text!r}: {where} of call {call + 1} is {now!r} now")
    return stale


def _shown(arguments: Mapping[str, JsonValue]) -> str:
    return shorten(printable(", ".join(f"{name}={value!r}" for name, value in arguments.items())), 100)
