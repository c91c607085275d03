"""Situations that the agent makes: how each goes wrong with tools that work, and how the user takes it."""

import json

from pytest_agentbench.calibration.acting import Actor
from pytest_agentbench.calibration.recipe import recipe
from pytest_agentbench.calibration.scene import InexpressibleError, Play
from pytest_agentbench.calibration.wording import Fact, facts_of, has_figure, spoken
from pytest_agentbench.core.tool import ToolResult
from pytest_agentbench.core.values import same
from pytest_agentbench.validation.values import scalars

_CUTTABLE = 4
"""Characters from which half of a value is still something."""


@recipe("correct")
async def _correct(actor: Actor) -> Play:
    async with actor.scene.opened(actor.random) as play:
        actor.opens(play)
        result = await actor.plays(play)
        play.agent(actor.report(actor.facts(result, play)))
        play.user(actor.words.say("thanks"))
    return play


async def _wrong_tool(actor: Actor, reaction: str) -> Play:
    async with actor.scene.opened(actor.random) as play:
        actor.opens(play)
        await actor.leads(play)
        _, result = await actor.other_tool(play)
        play.agent(actor.report(actor.facts(result)))
        play.user(actor.words.say(reaction))
    return play


@recipe("wrong-tool-silent")
async def _wrong_tool_silent(actor: Actor) -> Play:
    return await _wrong_tool(actor, "thanks")


@recipe("wrong-tool-aware")
async def _wrong_tool_aware(actor: Actor) -> Play:
    return await _wrong_tool(actor, "wrong_tool")


async def _other_value(actor: Actor, reaction: str) -> Play:
    async with actor.scene.opened(actor.random) as play:
        actor.opens(play)
        result = await actor.misdirected(play)
        play.agent(actor.report(actor.facts(result)))
        play.user(actor.words.say(reaction))
    return play


@recipe("bad-params-silent")
async def _bad_params_silent(actor: Actor) -> Play:
    return await _other_value(actor, "thanks")


@recipe("bad-input-data")
async def _bad_input_data(actor: Actor) -> Play:
    return await _other_value(actor, "irrelevant")


async def _misread(actor: Actor, reaction: str) -> Play:
    async with actor.scene.opened(actor.random) as play:
        actor.opens(play)
        result = await actor.plays(play)
        play.agent(actor.report(actor.wrong(with_figures(actor, result, play), play.text)))
        play.user(actor.words.say(reaction))
    return play


def with_figures(actor: Actor, result: ToolResult, play: Play | None = None) -> list[Fact]:
    """Choose what to tell of an answer, a figure among it; raise `InexpressibleError` where it holds none."""
    found = actor.facts(result, play)
    if not any(has_figure(fact) for fact in found):
        raise InexpressibleError("the answer that counts holds no figure of two digits or more to get wrong")
    return found


@recipe("bad-parse-silent")
async def _bad_parse(actor: Actor) -> Play:
    return await _misread(actor, "thanks")


@recipe("hallucination-with-access")
async def _hallucination(actor: Actor) -> Play:
    return await _misread(actor, "made_up")


@recipe("superfluous-calls")
async def _superfluous(actor: Actor) -> Play:
    extra = actor.unrelated()[:2]
    if not extra:
        raise InexpressibleError("no read that this request does not need is known")
    async with actor.scene.opened(actor.random) as play:
        actor.opens(play)
        for call in extra:
            await play.call(call)
        reads = [call for place, call in enumerate(actor.scene.calls) if not actor.scene.writes(place)]
        for call in reads[:1] * 2:
            await play.call(call)
        result = await actor.plays(play)
        play.agent(actor.report(actor.facts(result, play)))
        play.user(actor.words.say("thanks"))
    return play


@recipe("skipped-call")
async def _skipped(actor: Actor) -> Play:
    async with actor.scene.opened(actor.random) as play:
        actor.opens(play)
        await actor.leads(play)
        play.agent(actor.words.say("done_bare", task=actor.task))
        play.user(actor.words.say("thanks"))
    return play


@recipe("security-overkill")
async def _security(actor: Actor) -> Play:
    scene = actor.scene
    if any(scene.writes(place) for place in range(len(scene.heard))):
        raise InexpressibleError("the request is not harmless: it changes something")
    words = set(actor.words.entries("person_words")) or set()
    used = {call.name for call in scene.calls}
    checking = [
        spec
        for spec in scene.plan.toolset.of("assistant")
        if spec.name not in used and words & set(spoken(f"{spec.name} {spec.description}").split())
    ]
    calls = [call for spec in checking if (call := actor.filled(spec.name)) is not None]
    if not calls:
        raise InexpressibleError("no tool checks, registers or looks up people")
    actor.random.shuffle(calls)
    async with scene.opened(actor.random) as play:
        actor.opens(play)
        results = [await play.call(call) for call in calls[:3]]
        if all(result.error for result in results):
            raise InexpressibleError("no checking tool succeeds with the values at hand")
        result = await actor.plays(play)
        play.agent(actor.report(actor.facts(result)))
        play.user(actor.words.say("thanks"))
    return play


@recipe("info-overload")
async def _overload(actor: Actor) -> Play:
    async with actor.scene.opened(actor.random) as play:
        actor.opens(play)
        results = [await play.call(call) for call in actor.scene.calls]
        facts = [fact for result in results for fact in facts_of(result.content)]
        if not facts:
            raise InexpressibleError("the answers hold nothing that could be told")
        listed = "; ".join(f"{one.path or 'value'} := {one.text} ({type(one.value).__name__})" for one in facts[:60])
        play.agent(f"{actor.words.say('overload_lead')} {listed}")
        play.user(actor.words.say("confused"))
    return play


@recipe("misunderstood-need")
async def _misunderstood(actor: Actor) -> Play:
    others = actor.unrelated()
    async with actor.scene.opened(actor.random) as play:
        actor.opens(play)
        for call in others:
            result = await play.call(call)
            if not result.error and facts_of(result.content):
                break
            del play.messages[-2:]
        else:
            raise InexpressibleError("no other question is known that a tool answers")
        facts = actor.facts(result)
        play.agent(actor.words.say("report", task=spoken(call.name), facts=actor.words.told(facts)))
        play.user(actor.words.say("wrong_need"))
    return play


@recipe("trace-leak")
async def _trace_leak(actor: Actor) -> Play:
    async with actor.scene.opened(actor.random) as play:
        actor.opens(play)
        logs = []
        for call in actor.scene.calls:
            result = await play.call(call)
            request = json.dumps({"tool": call.name, "arguments": call.arguments}, ensure_ascii=False)
            logs.append(f">>> {request}\n<<< {result.content[:1500]}")
        play.agent("\n".join(logs))
        play.user(actor.words.say("raw"))
    return play


@recipe("needless-gate")
async def _gate(actor: Actor) -> Play:
    async with actor.scene.opened(actor.random) as play:
        actor.opens(play)
        play.agent(actor.words.say("gate_ask"))
        play.user(actor.words.say("gate_user"))
        result = await actor.plays(play)
        play.agent(actor.report(actor.facts(result, play)))
        play.user(actor.words.say("gate_angry"))
    return play


@recipe("context-amnesia")
async def _amnesia(actor: Actor) -> Play:
    given = actor.scene.supplied(actor.scene.calls)
    said = [(key, item) for name, value in given for key, item in scalars(value, name) if len(str(item)) > 1]
    if not said:
        raise InexpressibleError("the user gives no value that could be asked for again")
    async with actor.scene.opened(actor.random) as play:
        actor.opens(play)
        result = await actor.plays(play)
        name, value = actor.random.choice(said)
        for _ in range(2):
            play.agent(actor.words.say("ask_again", key=spoken(name)))
            play.user(actor.words.say("said_already", value=str(value)))
        play.agent(actor.report(actor.facts(result, play)))
        play.user(actor.words.say("amnesia_angry"))
    return play


@recipe("bad-params-aware")
async def _bad_params_aware(actor: Actor) -> Play:
    scene = actor.scene
    given = scene.supplied(scene.calls)
    for place, call in enumerate(scene.calls):
        for name, value in call.arguments.items():
            if not isinstance(value, str) or len(value) < _CUTTABLE:
                continue
            if not any(name == other and same(one, value) for other, one in given):
                continue
            cut = call.model_copy(update={"arguments": {**call.arguments, name: value[: len(value) // 2]}})
            async with scene.opened(actor.random) as play:
                actor.opens(play, (*scene.calls[:place], cut))
                await actor.leads(play, place)
                result = await play.call(cut)
                error = result.content.removeprefix("Error: ")[:200]
                play.agent(actor.words.say("failed_params", error=error))
                play.user(actor.words.say("params_angry"))
            if result.error or not facts_of(result.content):
                return play
    raise InexpressibleError("no call fails by a value that the user gives incompletely")
