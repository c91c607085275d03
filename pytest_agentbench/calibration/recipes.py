"""How each situation is played in a scene: what the agent or a tool gets wrong, and how the user takes it."""

import json
from collections.abc import Awaitable, Callable

from pytest_agentbench.calibration.acting import Actor
from pytest_agentbench.calibration.scene import InexpressibleError, Play
from pytest_agentbench.calibration.wording import Line, facts_of, spoken
from pytest_agentbench.core.fault import FaultKind
from pytest_agentbench.core.tool import ToolResult
from pytest_agentbench.core.values import same
from pytest_agentbench.environment.diff import diff
from pytest_agentbench.validation.values import scalars

Recipe = Callable[[Actor], Awaitable[Play]]
Tell = Callable[[Actor, Play, ToolResult], None]

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


def _played(
    name: str,
    closing: str,
    calls: Callable[[Actor, Play], Awaitable[ToolResult]],
    tell: Tell,
    fault: FaultKind | Callable[[Actor], FaultKind] | None = None,
) -> None:
    """Register a situation that is one way of calling, one way of telling, a closing phrase and at most one fault."""

    async def play(actor: Actor) -> Play:
        kind = fault(actor) if callable(fault) else fault
        faults = [actor.fault(kind, every=name == "tool-unavailable")] if kind else []
        async with actor.talk(closing, *faults) as made:
            tell(actor, made, await calls(actor, made))
        return made

    RECIPES[name] = play


async def _to_target(actor: Actor, play: Play) -> ToolResult:
    await actor.leads(play)
    return await play.call(actor.target)


async def _leads(actor: Actor, play: Play) -> ToolResult:
    return [ToolResult(content=""), *await actor.leads(play)][-1]


async def _tried(actor: Actor, play: Play) -> ToolResult:
    await actor.leads(play)
    return [await play.call(actor.target) for _ in range(actor.random.choice([1, 2]))][-1]


async def _another_tool(actor: Actor, play: Play) -> ToolResult:
    await actor.leads(play)
    return (await actor.first_useful(play, actor.other_tools()))[1]


async def _another_need(actor: Actor, play: Play) -> ToolResult:
    await actor.leads(play)
    return (await actor.first_useful(play, [*actor.unrelated(), *actor.other_reads()]))[1]


async def _after_gate(actor: Actor, play: Play) -> ToolResult:
    actor.agent(play, "gate_ask")
    actor.user(play, "gate_user")
    return await actor.calls(play)


def _saying(kind: str) -> Tell:
    return lambda actor, play, _: actor.agent(play, kind, task=actor.task)


def _rightly(actor: Actor, play: Play, result: ToolResult) -> None:
    actor.report(play, actor.facts(result, play), actor.wanted(play))


def _as_asked(actor: Actor, play: Play, result: ToolResult) -> None:
    actor.report(play, actor.facts(result))


def _as_another(actor: Actor, play: Play, result: ToolResult) -> None:
    actor.report(play, actor.facts(result), task=spoken(play.transcript.trajectory[-1].call.name))


def _misread(actor: Actor, play: Play, result: ToolResult) -> None:
    told, wrong = actor.wrong(actor.facts(result, play, figure=True), play.text)
    actor.report(play, told, [wrong])


def _made_up(actor: Actor, play: Play, _: ToolResult) -> None:
    right = actor.scene.heard[actor.scene.target].result
    told, wrong = actor.wrong(actor.facts(right, figure=True), play.text + right.content)
    actor.report(play, told[:2] if wrong in told[:2] else [wrong], [wrong])


def _unseen(actor: Actor, play: Play, result: ToolResult) -> None:
    if facts_of(result.content):
        _as_asked(actor, play, result)
    else:
        _saying("done_bare")(actor, play, result)


def _dumped(actor: Actor, play: Play, _: ToolResult) -> None:
    facts = [fact for one in play.transcript.trajectory if one.result for fact in facts_of(one.result.content)][:60]
    if not facts:
        raise InexpressibleError("the answers hold nothing that could be told")
    told = "; ".join(map(str, facts))
    play.say(Line("agent", "dump", f"{actor.words.say('overload_lead')} {told}", told=tuple(facts), is_fixed=True))


def _logged(_actor: Actor, play: Play, _: ToolResult) -> None:
    logs = []
    for one in play.transcript.trajectory:
        request = json.dumps({"tool": one.call.name, "arguments": one.call.arguments}, ensure_ascii=False)
        logs.append(f">>> {request}\n<<< {one.result.content[:1500] if one.result else ''}")
    play.say(Line("agent", "logs", "\n".join(logs), is_fixed=True))


def _corrected(actor: Actor, play: Play, result: ToolResult) -> None:
    right = {fact.path: fact for fact in facts_of(actor.scene.heard[actor.scene.target].result.content)}
    spoilt = [fact for fact in facts_of(result.content) if fact.path in right and fact != right[fact.path]]
    if not spoilt:
        raise InexpressibleError("what the fault spoils does not show in what can be told")
    actor.report(play, spoilt[:2], spoilt[:1])
    actor.user(play, "noticed", value=right[spoilt[0].path].text)


def _in_part(actor: Actor, play: Play, result: ToolResult) -> None:
    told = {fact.key for fact in facts_of(result.content)}
    whole = facts_of(actor.scene.heard[actor.scene.target].result.content)
    missing = [fact.key for fact in whole if fact.key not in told]
    actor.report(play, actor.facts(result))
    play.say(Line("user", "partial", actor.words.say("partial", key=missing[0] if missing else actor.task)))


def _nothing(actor: Actor) -> FaultKind:
    kinds: list[FaultKind] = ["timeout", "empty"]
    return actor.random.choice(kinds)


def _other_row(actor: Actor) -> FaultKind:
    return "empty" if actor.scene.initial is None else "wrong_row"


_played("correct", SATISFIED, Actor.calls, _rightly)
_played("wrong-tool-silent", SATISFIED, _another_tool, _as_asked)
_played("wrong-tool-aware", "wrong_tool", _another_tool, _as_asked)
_played("bad-params-silent", SATISFIED, Actor.misdirected, _as_asked)
_played("bad-input-data", "irrelevant", Actor.misdirected, _as_asked)
_played("bad-parse-silent", SATISFIED, Actor.calls, _misread)
_played("hallucination-with-access", "made_up", Actor.calls, _misread)
_played("skipped-call", SATISFIED, _leads, _saying("done_bare"))
_played("info-overload", "confused", Actor.calls, _dumped)
_played("misunderstood-need", "wrong_need", _another_need, _as_another)
_played("trace-leak", "raw", Actor.calls, _logged)
_played("needless-gate", "gate_angry", _after_gate, _rightly)
_played("propagated-tool-error", SATISFIED, Actor.calls, _unseen, _other_row)
_played("hallucination-fallback", SATISFIED, _to_target, _made_up, _nothing)
_played("hallucinated-edit", SATISFIED, _to_target, _made_up, "error")
_played("tool-unavailable", "down_angry", _tried, _saying("sorry_down"), "timeout")
_played("tool-failure-aware", "", Actor.calls, _corrected, "corrupted")
_played("partial-answer", "", Actor.calls, _in_part, "truncated")
_played("null-response", "gave_up_angry", _to_target, _saying("gave_up"), _nothing)


@_recipe("superfluous-calls")
async def _superfluous(actor: Actor) -> Play:
    extra = actor.unrelated()[:2]
    if not extra:
        raise InexpressibleError("no read that this request does not need is known")
    reads = [call for place, call in enumerate(actor.scene.calls) if not actor.scene.writes(place)]
    async with actor.talk(SATISFIED) as play:
        await actor.leads(play)
        for call in extra + reads[:1] * 2:
            await play.call(call)
        result = await actor.rest(play)
        actor.report(play, actor.facts(result, play), actor.wanted(play))
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
        await actor.leads(play)
        if all([(await play.call(call)).error for call in calls[:3]]):
            raise InexpressibleError("no checking tool succeeds with the values at hand")
        actor.report(play, actor.facts(await actor.rest(play)))
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
            cut = call.model_copy(update={"arguments": {**call.arguments, name: _cut(value)}})
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


@_recipe("impossible-action")
async def _impossible(actor: Actor) -> Play:
    for calls in actor.refusable():
        async with actor.talk("impossible_angry", asked=calls) as play:
            for call in calls:
                if (result := await play.call(call)).error:
                    break
            actor.agent(play, "impossible", error=f"{_error(result.content)}.")
        if result.error:
            return play
    raise InexpressibleError("no request is refused by the tool that counts")


def _cut(value: str) -> str:
    """Give the beginning of a value: `ann@mail.example` without its last part, else half of it."""
    place = max(value.rfind(mark) for mark in ".-_ ")
    return value[:place] if place >= len(value) // 2 else value[: len(value) // 2]


def _error(content: str) -> str:
    return content.removeprefix("Error: ").rstrip(".")[:200]
