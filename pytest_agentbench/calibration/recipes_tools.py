"""Situations that the tools make: faults injected into real calls, and what the agent makes of them."""

from typing import Any

from pytest_agentbench.calibration.acting import Actor
from pytest_agentbench.calibration.recipe import recipe
from pytest_agentbench.calibration.recipes_agent import with_figures
from pytest_agentbench.calibration.scene import InexpressibleError, Play
from pytest_agentbench.calibration.wording import Fact, facts_of
from pytest_agentbench.core.fault import FaultKind, FaultSpec
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.environment.diff import diff


@recipe("wrong-action-silent")
async def _wrong_action(actor: Actor) -> Play:
    scene = actor.scene
    if scene.initial is None:
        raise InexpressibleError("there is no state to show that an action did not take place")
    if not scene.heard[scene.target].result.wrote:
        raise InexpressibleError("the request changes nothing")
    async with scene.opened(actor.random, [_fault(actor, "no_op")]) as play:
        actor.opens(play)
        result = await actor.plays(play)
        _require_met(play)
        play.agent(actor.report(actor.facts(result)))
        play.user(actor.words.say("thanks"))
    if diff(play.initial or {}, play.final or {}):
        raise InexpressibleError("other calls of the request change the state")
    return play


@recipe("trusted-wrong-fact")
async def _trusted(actor: Actor) -> Play:
    scene = actor.scene
    if scene.initial is None:
        raise InexpressibleError("there is no state to show that an answer is wrong")
    records = [
        place
        for place, one in enumerate(scene.heard)
        if not scene.writes(place) and len(facts_of(one.result.content)) > 1
    ]
    if not records:
        raise InexpressibleError("no read gives a record that could be wrong")
    place = actor.random.choice(records)
    async with scene.opened(actor.random, [_fault(actor, "corrupted", place=place)]) as play:
        actor.opens(play)
        results = [await play.call(call) for call in scene.calls]
        _require_met(play)
        play.agent(actor.report(_spoilt(actor, results[place], place)))
        play.user(actor.words.say("thanks"))
    return play


@recipe("propagated-tool-error")
async def _propagated(actor: Actor) -> Play:
    kind: FaultKind = "empty" if actor.scene.initial is None else "wrong_row"
    async with actor.scene.opened(actor.random, [_fault(actor, kind)]) as play:
        actor.opens(play)
        result = await actor.plays(play)
        _require_met(play)
        facts = facts_of(result.content)
        done = actor.report(actor.facts(result)) if facts else actor.words.say("done_bare", task=actor.task)
        play.agent(done)
        play.user(actor.words.say("thanks"))
    return play


@recipe("hallucination-fallback")
async def _fallback(actor: Actor) -> Play:
    kind = actor.random.choice([_TIMEOUT, _EMPTY])
    return await _covered(actor, kind)


@recipe("hallucinated-edit")
async def _edit(actor: Actor) -> Play:
    return await _covered(actor, "error")


async def _covered(actor: Actor, kind: FaultKind) -> Play:
    right = actor.scene.heard[actor.scene.target].result
    async with actor.scene.opened(actor.random, [_fault(actor, kind)]) as play:
        actor.opens(play)
        await actor.leads(play)
        await play.call(actor.scene.calls[actor.scene.target])
        _require_met(play)
        play.agent(actor.report(actor.wrong(with_figures(actor, right), play.text + right.content)))
        play.user(actor.words.say("thanks"))
    return play


@recipe("tool-unavailable")
async def _unavailable(actor: Actor) -> Play:
    async with actor.scene.opened(actor.random, [_fault(actor, "timeout", every=True)]) as play:
        actor.opens(play)
        await actor.leads(play)
        for _ in range(actor.random.choice([1, 2])):
            await play.call(actor.scene.calls[actor.scene.target])
        _require_met(play)
        play.agent(actor.words.say("sorry_down", task=actor.task))
        play.user(actor.words.say("down_angry"))
    return play


@recipe("impossible-action")
async def _impossible(actor: Actor) -> Play:
    scene = actor.scene
    wanted = scene.calls[scene.target]
    for name, value in wanted.arguments.items():
        for other in _impossible_values(value):
            call = wanted.model_copy(update={"arguments": {**wanted.arguments, name: other}})
            async with scene.opened(actor.random) as play:
                actor.opens(play, (*scene.calls[: scene.target], call))
                await actor.leads(play)
                result = await play.call(call)
                error = result.content.removeprefix("Error: ").rstrip(".")[:200] + "."
                play.agent(actor.words.say("impossible", error=error))
                play.user(actor.words.say("impossible_angry"))
            if result.error:
                return play
    raise InexpressibleError("no request is refused by the tool that counts")


def _impossible_values(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return []
    if isinstance(value, int | float):
        return [-abs(value) - 1000, 10**9]
    return [f"{value}-{value}"[:40] + "99"] if isinstance(value, str) else []


@recipe("tool-failure-aware")
async def _failure_aware(actor: Actor) -> Play:
    scene = actor.scene
    async with scene.opened(actor.random, [_fault(actor, "corrupted")]) as play:
        actor.opens(play)
        result = await actor.plays(play)
        _require_met(play)
        right = {fact.path: fact for fact in facts_of(scene.heard[scene.target].result.content)}
        spoilt = [fact for fact in facts_of(result.content) if fact.path in right and fact != right[fact.path]]
        if not spoilt:
            raise InexpressibleError("what the fault spoils does not show in what can be told")
        play.agent(actor.report(spoilt))
        play.user(actor.words.say("noticed", value=right[spoilt[0].path].text))
    return play


@recipe("partial-answer")
async def _partial(actor: Actor) -> Play:
    scene = actor.scene
    async with scene.opened(actor.random, [_fault(actor, "truncated")]) as play:
        actor.opens(play)
        result = await actor.plays(play)
        _require_met(play)
        told = facts_of(result.content)
        if not told:
            raise InexpressibleError("what is left of a truncated answer tells nothing")
        keys = {fact.key for fact in told}
        missing = [fact.key for fact in facts_of(scene.heard[scene.target].result.content) if fact.key not in keys]
        play.agent(actor.report(actor.facts(result)))
        play.user(actor.words.say("partial", key=missing[0] if missing else actor.task))
    return play


@recipe("null-response")
async def _null(actor: Actor) -> Play:
    kind = actor.random.choice([_TIMEOUT, _EMPTY])
    async with actor.scene.opened(actor.random, [_fault(actor, kind)]) as play:
        actor.opens(play)
        await actor.leads(play)
        await play.call(actor.scene.calls[actor.scene.target])
        _require_met(play)
        play.agent(actor.words.say("gave_up"))
        play.user(actor.words.say("gave_up_angry"))
    return play


_TIMEOUT: FaultKind = "timeout"
_EMPTY: FaultKind = "empty"


def _spoilt(actor: Actor, result: ToolResult, place: int) -> list[Fact]:
    """Choose what to tell of a spoilt answer, what is wrong in it included."""
    right = facts_of(actor.scene.heard[place].result.content)
    wrong = [fact for fact in facts_of(result.content) if fact not in right]
    if not wrong:
        raise InexpressibleError("what the fault spoils does not show in what can be told")
    return [*wrong[:1], *[fact for fact in actor.facts(result) if fact != wrong[0]][:2]]


def _fault(actor: Actor, kind: FaultKind, *, every: bool = False, place: int | None = None) -> FaultSpec:
    """Strike the target or the call at `place`, told from equal tools by its arguments."""
    call: ToolCall = actor.scene.calls[actor.scene.target if place is None else place]
    calls: tuple[int, ...] = () if every else (1,)
    return FaultSpec(kind=kind, tool=call.name, where=call.arguments, calls=calls)


def _require_met(play: Play) -> None:
    if not play.schedule.met:
        raise InexpressibleError(f"{play.schedule.faults[0].kind} finds nothing to change in the answer that counts")
