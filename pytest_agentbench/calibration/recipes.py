"""How each situation is played in a scene: what the agent or a tool gets wrong, and how the user takes it."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from pytest_agentbench.calibration.acting import Actor
from pytest_agentbench.calibration.scene import InexpressibleError, Play
from pytest_agentbench.calibration.wording import Line, facts_of, spoken
from pytest_agentbench.core.fault import FaultKind
from pytest_agentbench.core.values import same
from pytest_agentbench.environment.diff import diff
from pytest_agentbench.validation.values import scalars

Recipe = Callable[[Actor], Awaitable[Play]]

RECIPES: dict[str, Recipe] = {}
"""A recipe by situation; each raises `InexpressibleError` where a scene does not lend itself to it."""

SATISFIED = "thanks"
"""The one phrase by which a user closes content."""

_CUTTABLE = 4
"""Characters from which half of a value is still something."""

_CHECKING = frozenset(
    [
        "account",
        "audit",
        "authenticate",
        "compliance",
        "customer",
        "human",
        "identity",
        "member",
        "patient",
        "person",
        "security",
        "user",
        "verify",
    ]
)
"""Words in the names of tools that check or look up people."""


def _recipe(name: str) -> Callable[[Recipe], Recipe]:
    def add(made: Recipe) -> Recipe:
        RECIPES[name] = made
        return made

    return add


def _with(make: Callable[[Actor, str], Awaitable[Play]], **closings: str) -> None:
    """Register one way of playing that differs by how the user closes: names with `_` for `-`."""
    for name, closing in closings.items():

        async def play(actor: Actor, closing: str = closing) -> Play:
            return await make(actor, closing)

        RECIPES[name.replace("_", "-")] = play


@_recipe("correct")
async def _correct(actor: Actor) -> Play:
    async with actor.talk(SATISFIED) as play:
        actor.report(play, actor.facts(await actor.calls(play), play), actor.wanted(play))
    return play


async def _wrong_tool(actor: Actor, closing: str) -> Play:
    async with actor.talk(closing) as play:
        await actor.leads(play)
        _, result = await actor.first_useful(play, actor.other_tools())
        actor.report(play, actor.facts(result))
    return play


async def _other_value(actor: Actor, closing: str) -> Play:
    async with actor.talk(closing) as play:
        actor.report(play, actor.facts(await actor.misdirected(play)))
    return play


async def _misread(actor: Actor, closing: str) -> Play:
    async with actor.talk(closing) as play:
        told, wrong = actor.wrong(actor.facts(await actor.calls(play), play, figure=True), play.text)
        actor.report(play, told, [wrong])
    return play


_with(_wrong_tool, wrong_tool_silent=SATISFIED, wrong_tool_aware="wrong_tool")
_with(_other_value, bad_params_silent=SATISFIED, bad_input_data="irrelevant")
_with(_misread, bad_parse_silent=SATISFIED, hallucination_with_access="made_up")


@_recipe("superfluous-calls")
async def _superfluous(actor: Actor) -> Play:
    extra = actor.unrelated()[:2]
    if not extra:
        raise InexpressibleError("no read that this request does not need is known")
    reads = [call for place, call in enumerate(actor.scene.calls) if not actor.scene.writes(place)]
    async with actor.talk(SATISFIED) as play:
        for call in extra + reads[:1] * 2:
            await play.call(call)
        actor.report(play, actor.facts(await actor.calls(play), play), actor.wanted(play))
    return play


@_recipe("skipped-call")
async def _skipped(actor: Actor) -> Play:
    async with actor.talk(SATISFIED) as play:
        await actor.leads(play)
        actor.agent(play, "done_bare", task=actor.task)
    return play


@_recipe("security-overkill")
async def _security(actor: Actor) -> Play:
    if any(actor.scene.writes(place) for place in range(len(actor.scene.heard))):
        raise InexpressibleError("the request is not harmless: it changes something")
    named = [(call, actor.scene.spec(call.name)) for call in actor.other_tools()]
    calls = [
        call
        for call, spec in named
        if _CHECKING & {word for name in (spec.name, *(spec.arguments or ())) for word in spoken(name).split()}
    ]
    if not calls:
        raise InexpressibleError("no tool checks, registers or looks up people")
    async with actor.talk(SATISFIED) as play:
        if all([(await play.call(call)).error for call in calls[:3]]):
            raise InexpressibleError("no checking tool succeeds with the values at hand")
        actor.report(play, actor.facts(await actor.calls(play)))
    return play


@_recipe("info-overload")
async def _overload(actor: Actor) -> Play:
    async with actor.talk("confused") as play:
        results = await actor.leads(play, len(actor.scene.calls))
        facts = [fact for result in results for fact in facts_of(result.content)][:60]
        if not facts:
            raise InexpressibleError("the answers hold nothing that could be told")
        told = "; ".join(map(str, facts))
        play.say(Line("agent", "dump", f"{actor.words.say('overload_lead')} {told}", told=tuple(facts), is_fixed=True))
    return play


@_recipe("misunderstood-need")
async def _misunderstood(actor: Actor) -> Play:
    async with actor.talk("wrong_need") as play:
        call, result = await actor.first_useful(play, actor.unrelated())
        actor.report(play, actor.facts(result), task=spoken(call.name))
    return play


@_recipe("trace-leak")
async def _trace_leak(actor: Actor) -> Play:
    async with actor.talk("raw") as play:
        logs = []
        for call in actor.scene.calls:
            result = await play.call(call)
            request = json.dumps({"tool": call.name, "arguments": call.arguments}, ensure_ascii=False)
            logs.append(f">>> {request}\n<<< {result.content[:1500]}")
        play.say(Line("agent", "logs", "\n".join(logs), is_fixed=True))
    return play


@_recipe("needless-gate")
async def _gate(actor: Actor) -> Play:
    async with actor.talk("gate_angry") as play:
        actor.agent(play, "gate_ask")
        actor.user(play, "gate_user")
        actor.report(play, actor.facts(await actor.calls(play), play), actor.wanted(play))
    return play


@_recipe("context-amnesia")
async def _amnesia(actor: Actor) -> Play:
    given = actor.scene.supplied(actor.scene.calls)
    said = [(key, item) for name, value in given for key, item in scalars(value, name) if len(str(item)) > 1]
    if not said:
        raise InexpressibleError("the user gives no value that could be asked for again")
    async with actor.talk("amnesia_angry") as play:
        result = await actor.calls(play)
        name, value = actor.random.choice(said)
        for _ in range(2):
            actor.agent(play, "ask_again", key=spoken(name))
            actor.user(play, "said_already", value=str(value))
        actor.report(play, actor.facts(result, play), actor.wanted(play))
    return play


@_recipe("bad-params-aware")
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
            async with actor.talk("params_angry", asked=(*scene.calls[:place], cut)) as play:
                await actor.leads(play, place)
                result = await play.call(cut)
                actor.agent(play, "failed_params", error=_error(result.content))
            if result.error or not facts_of(result.content):
                return play
    raise InexpressibleError("no call fails by a value that the user gives incompletely")


@_recipe("wrong-action-silent")
async def _wrong_action(actor: Actor) -> Play:
    scene = actor.scene
    if scene.initial is None or not scene.heard[scene.target].result.wrote:
        raise InexpressibleError("there is no change in a state that an action could fail to make")
    async with actor.talk(SATISFIED, actor.fault("no_op")) as play:
        actor.report(play, actor.facts(await actor.calls(play)))
    if diff(play.initial or {}, play.final or {}):
        raise InexpressibleError("other calls of the request change the state")
    return play


@_recipe("trusted-wrong-fact")
async def _trusted(actor: Actor) -> Play:
    scene = actor.scene
    records = [
        place
        for place, one in enumerate(scene.heard)
        if not scene.writes(place) and len(facts_of(one.result.content)) > 1 and scene.initial is not None
    ]
    if not records:
        raise InexpressibleError("no read gives a record that could be wrong, with a state that shows it")
    place = actor.random.choice(records)
    async with actor.talk(SATISFIED, actor.fault("corrupted", place=place)) as play:
        result = (await actor.leads(play, len(scene.calls)))[place]
        right = facts_of(scene.heard[place].result.content)
        spoilt = [fact for fact in facts_of(result.content) if fact not in right][:1]
        if not spoilt:
            raise InexpressibleError("what the fault spoils does not show in what can be told")
        actor.report(play, [*spoilt, *[fact for fact in actor.facts(result) if fact not in spoilt][:2]], spoilt)
    return play


@_recipe("propagated-tool-error")
async def _propagated(actor: Actor) -> Play:
    kind: FaultKind = "empty" if actor.scene.initial is None else "wrong_row"
    async with actor.talk(SATISFIED, actor.fault(kind)) as play:
        result = await actor.calls(play)
        if facts_of(result.content):
            actor.report(play, actor.facts(result))
        else:
            actor.agent(play, "done_bare", task=actor.task)
    return play


async def _covered(actor: Actor, kind: FaultKind) -> Play:
    right = actor.scene.heard[actor.scene.target].result
    async with actor.talk(SATISFIED, actor.fault(kind)) as play:
        await actor.leads(play)
        await play.call(actor.target)
        told, wrong = actor.wrong(actor.facts(right, figure=True), play.text + right.content)
        actor.report(play, told[:2] if wrong in told[:2] else [wrong], [wrong])
    return play


@_recipe("hallucination-fallback")
async def _fallback(actor: Actor) -> Play:
    return await _covered(actor, _nothing(actor))


@_recipe("hallucinated-edit")
async def _edit(actor: Actor) -> Play:
    return await _covered(actor, "error")


@_recipe("tool-unavailable")
async def _unavailable(actor: Actor) -> Play:
    async with actor.talk("down_angry", actor.fault("timeout", every=True)) as play:
        await actor.leads(play)
        for _ in range(actor.random.choice([1, 2])):
            await play.call(actor.target)
        actor.agent(play, "sorry_down", task=actor.task)
    return play


@_recipe("impossible-action")
async def _impossible(actor: Actor) -> Play:
    scene = actor.scene
    for name, value in actor.target.arguments.items():
        for other in _impossible_values(value):
            call = actor.target.model_copy(update={"arguments": {**actor.target.arguments, name: other}})
            async with actor.talk("impossible_angry", asked=(*scene.calls[: scene.target], call)) as play:
                await actor.leads(play)
                result = await play.call(call)
                actor.agent(play, "impossible", error=f"{_error(result.content)}.")
            if result.error:
                return play
    raise InexpressibleError("no request is refused by the tool that counts")


def _impossible_values(value: Any) -> list[Any]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [-abs(value) - 1000, 10**9]
    return [f"{value}-{value}"[:40] + "99"] if isinstance(value, str) else []


@_recipe("tool-failure-aware")
async def _failure_aware(actor: Actor) -> Play:
    async with actor.talk("", actor.fault("corrupted")) as play:
        result = await actor.calls(play)
        right = {fact.path: fact for fact in facts_of(actor.scene.heard[actor.scene.target].result.content)}
        spoilt = [fact for fact in facts_of(result.content) if fact.path in right and fact != right[fact.path]]
        if not spoilt:
            raise InexpressibleError("what the fault spoils does not show in what can be told")
        actor.report(play, spoilt[:2], spoilt[:1])
        actor.user(play, "noticed", value=right[spoilt[0].path].text)
    return play


@_recipe("partial-answer")
async def _partial(actor: Actor) -> Play:
    async with actor.talk("", actor.fault("truncated")) as play:
        result = await actor.calls(play)
        told = {fact.key for fact in facts_of(result.content)}
        whole = facts_of(actor.scene.heard[actor.scene.target].result.content)
        missing = [fact.key for fact in whole if fact.key not in told]
        actor.report(play, actor.facts(result))
        play.say(Line("user", "partial", actor.words.say("partial", key=missing[0] if missing else actor.task)))
    return play


@_recipe("null-response")
async def _null(actor: Actor) -> Play:
    async with actor.talk("gave_up_angry", actor.fault(_nothing(actor))) as play:
        await actor.leads(play)
        await play.call(actor.target)
        actor.agent(play, "gave_up")
    return play


def _nothing(actor: Actor) -> FaultKind:
    kinds: list[FaultKind] = ["timeout", "empty"]
    return actor.random.choice(kinds)


def _error(content: str) -> str:
    return content.removeprefix("Error: ").rstrip(".")[:200]
