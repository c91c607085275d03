"""`agentbench validate --refresh`: generated scenarios held against the world as it is now.

The expected calls are made again, in order, in a fresh environment. A value that was taken from an answer, or that the
agent must tell, is stale where it no longer stands there; an answer that merely differs is told apart.
"""

from collections.abc import Iterator, Mapping, Sequence

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.scenario import ExpectedCall, Scenario
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.assemble import CALLS, FACTS
from pytest_agentbench.generation.recipe import PROVENANCE
from pytest_agentbench.generation.tools.flows import found_at
from pytest_agentbench.generation.tools.hydration.turns import said_at, stands_at
from pytest_agentbench.generation.tools.probing.result_parser import parsed
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
    generated = [
        one for one in scenarios if PROVENANCE in one.provenance and isinstance(one.provenance.get(CALLS), list)
    ]
    return tuple([await _refreshed(scenario, world) for scenario in generated])


async def _refreshed(scenario: Scenario, world: World) -> Freshness:
    reads = {spec.name for spec in world.toolset if spec.kind == "read"}
    if not world.resettable and any(call.name not in reads for call in scenario.expected_calls):
        return Freshness(id=scenario.id, differing=("not tried: its calls may change what cannot be reset",))
    stale: list[str] = []
    differing: list[str] = []
    results: list[JsonValue] = []
    async with world.open(_state_of(scenario, world)) as opened:
        for call, origin in zip(scenario.expected_calls, scenario.provenance[CALLS], strict=False):
            stale += _moved(call, origin.get("arguments") or {}, results)
            answer = await opened.call(call.name, call.arguments)
            results.append(parsed(answer.content))
            if digest(answer.content) == origin.get("answer"):
                continue
            shown = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
            shown = f"{call.name}({shorten(printable(shown), 100)})"
            if answer.error or judge(answer).verdict in ("broken", "environment"):
                stale.append(f"{shown} is not answered any more: {shorten(printable(answer.content), 160)}")
            else:
                differing.append(f"{shown} is answered otherwise")
    return Freshness(id=scenario.id, stale=(*stale, *_untold(scenario, results)), differing=tuple(differing))


def _state_of(scenario: Scenario, world: World) -> Mapping[str, JsonValue]:
    """Give what a scenario adds to the suite's state, as its runs have it."""
    initial = scenario.task.initial_state
    whole = initial.model_dump() if initial is not None else {}
    return whole if world.spec.offered else scenario.initial_rows


def _moved(call: ExpectedCall, origins: Mapping[str, JsonValue], results: Sequence[JsonValue]) -> Iterator[str]:
    """Name the arguments whose value no longer stands in the result that it was taken from."""
    slots = read_slots(call.arguments)
    for written, origin in origins.items():
        path = written.replace(".0", ".*")
        place = int(origin.get("call", -1)) if isinstance(origin, Mapping) and path in slots else -1
        if not 0 <= place < len(results) or not isinstance(origin, Mapping):
            continue
        where, value = str(origin.get("path", "")), slots[path]
        if not stands_at(value, where, results[place]):
            now = next((shorten(printable(repr(one.value)), 60) for one in found_at(results[place], where)), "")
            what = f"where {now} is now" if now else "which is not there now"
            yield f"{call.name}: {path} {value!r} was at {where} of call {place + 1}, {what}"


def _untold(scenario: Scenario, results: Sequence[JsonValue]) -> Iterator[str]:
    """Name what the agent must tell and no answer says any more."""
    facts = scenario.provenance.get(FACTS)
    for fact, text in zip(facts if isinstance(facts, list) else (), scenario.communicate_info, strict=False):
        if not fact:
            continue  # a text that stands in no answer
        call, where = int(fact.get("call", -1)), str(fact.get("path", ""))
        now = said_at(results[call], where) if 0 <= call < len(results) else None
        if now != text:
            yield f"communicate {text!r}: {where} of call {call + 1} is {now!r} now"
