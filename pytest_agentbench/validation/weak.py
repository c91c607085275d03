"""Weak agents, which no scenario worth running lets pass: one that does nothing, an echo, one with wrong arguments."""

from collections.abc import Iterator
from random import Random

from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.validation.oracle import DONE, Oracle, opening
from pytest_agentbench.validation.screenplay import Screenplay, Step, numbered
from pytest_agentbench.validation.values import Columns, another

NOTHING = "does nothing"
ECHO = "echoes the user"
WRONG = "uses wrong arguments"


def weak_agents(
    scenario: Scenario, oracle: Oracle | None, toolset: Toolset, columns: Columns, seed: int
) -> Iterator[tuple[str, Screenplay]]:
    """Give each weak agent's name and run; wrong arguments only where some expected call has arguments."""
    lines = opening(scenario)
    yield NOTHING, numbered(lines)
    yield ECHO, numbered([_echoed(lines[place - 1], step) for place, step in enumerate(lines)])
    if oracle is not None and (wrong := _all_wrong(oracle, toolset, columns, seed)):
        yield WRONG, wrong


def _echoed(before: Step, step: Step) -> Step:
    return step.model_copy(update={"text": before.text}) if step.party == "assistant" else step


def _all_wrong(oracle: Oracle, toolset: Toolset, columns: Columns, seed: int) -> Screenplay | None:
    """Give the oracle's run with one argument of every expected call wrong and nothing communicated."""
    steps: list[Step] = []
    changed = 0
    for step in oracle.screenplay:
        made = step
        if step.part == "told":
            made = step.model_copy(update={"text": DONE})
        elif step.part == "call" and step.call is not None:
            spec = toolset.get(step.call.name, step.call.requestor)
            schema = spec.parameters.get("properties", {}) if spec else {}
            for name, value in step.call.arguments.items():
                chance = Random(f"{seed} {step.position} {name}")  # noqa: S311 - no secret
                wrong = another(value, name, schema.get(name, {}), columns, chance)
                if wrong is not None:
                    arguments = {**step.call.arguments, name: wrong}
                    made = step.model_copy(update={"call": step.call.model_copy(update={"arguments": arguments})})
                    changed += 1
                    break
        steps.append(made)
    return tuple(steps) if changed else None
