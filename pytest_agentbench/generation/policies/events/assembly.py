"""Assembly: an event becomes a scenario in our own form; what only the critique may know stands where no user reads."""

from collections.abc import Mapping
from typing import Any

from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation.policies.events.events import state_of_rows
from pytest_agentbench.generation.policies.events.samples import Samples
from pytest_agentbench.generation.policies.events.user import labelled
from pytest_agentbench.generation.policies.values import Event
from pytest_agentbench.generation.recipe import PROVENANCE, Hashes

_NAMED = 3


def scenario_form(event: Event, samples: Samples, *, hashes: Hashes, seed: int) -> dict[str, JsonValue]:
    """Give a scenario: user, rows as its state, expected and forbidden calls, policies, and the stages as provenance.

    Where a right run writes nothing every expected call counts, since the state alone would pass an agent that does
    nothing.
    """
    form: dict[str, JsonValue] = {
        "id": scenario_id(event),
        "title": event.goal,
        "description": {"purpose": event.stages.symbolic_description, "notes": event.expected_behaviour},
        "persona": event.persona,
        "goal": event.goal,
        "says": labelled(event.says),
    }
    if event.facts:
        form["knows"] = {fact.name: fact.value for fact in event.facts}
    if event.unknown:
        form["unknown"] = list(event.unknown)
    form["state"] = state_of_rows(event.rows, samples.schema, samples.rows)
    form["expect"] = [_call(call) for call in event.expected]
    if event.forbidden:
        form["never"] = [_forbidden(call, event) for call in event.forbidden]
    if event.communicate:
        form["communicate"] = list(event.communicate)
    if event.failing:
        form["faults"] = [{"error": {"tool": name, "calls": "every"}} for name in event.failing]
    match: dict[str, JsonValue] = {**({"order": "in_order"} if event.ordered else {})}
    if event.unchanged:
        match["expected_calls"] = "all"
    if match:
        form["match"] = match
    form["policies"] = list(event.set.policies)
    form["tags"] = ["generated", *(["refusal"] if _refuses(event) else []), *(["failure"] if event.failing else [])]
    form["provenance"] = {
        PROVENANCE: hashes.model_dump(),
        "set": event.set.id,
        "seed": seed,
        "language": event.language,
        "stages": {
            "level": event.stages.level,
            "policies": list(event.stages.policies),
            "symbolic_description": event.stages.symbolic_description,
            "symbolic_variables": {one.symbol: f"{one.table}: {one.description}" for one in event.entities},
            "scenario": event.stages.scenario,
        },
        "relations": [f"{one.source}.{one.column} = {one.target}" for one in event.relations],
        "decided_by": {one.policy: f"{one.handling}: {one.reason}" for one in event.bindings},
    }
    return form


def scenario_id(event: Event) -> str:
    """Name a scenario by what is asked for, in words, and by its set."""
    places = [at for one in event.bindings if one.handling == "refuses" for at in one.forbidden]
    refused = [event.forbidden[at].name for at in places]
    asked = [*refused, *(call.name for call in event.expected[::-1])]
    names = [humanize(name).replace(" ", "-") for name in dict.fromkeys(asked)][:1]
    verdict = "refused-" if _refuses(event) else ""
    return f"{'-'.join(names[:_NAMED])[:60]}-{verdict}{event.id}"


def _refuses(event: Event) -> bool:
    """Whether something is asked for that a right run does not do; what the user takes back itself is none."""
    return any(one.handling == "refuses" for one in event.bindings)


def _call(call: ExpectedCall) -> dict[str, Any]:
    if call.compare_args is None:
        return {call.name: dict(call.arguments)}
    return {"name": call.name, "arguments": dict(call.arguments), "compare_args": list(call.compare_args)}


def _forbidden(call: ExpectedCall, event: Event) -> Mapping[str, Any]:
    """Forbid a call on the rows that it is about, whatever its other arguments are, unless they are what is wrong."""
    if call.compare_args is not None:
        return {call.name: dict(call.arguments)}
    keys = {row.values.get(column) for row in event.rows for column in row.values if column.endswith("id")}
    named = {name: value for name, value in call.arguments.items() if isinstance(value, str | int) and value in keys}
    first = dict(list(named.items())[:1])
    return {call.name: first or dict(call.arguments)}
