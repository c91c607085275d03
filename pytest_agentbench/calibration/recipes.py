"""How situations are played: the moves that `situations.toml` lists, each something that is called or told."""

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import cast

from pytest_agentbench.calibration.acting import Actor
from pytest_agentbench.calibration.scene import InexpressibleError, Play
from pytest_agentbench.calibration.situations import Situation
from pytest_agentbench.calibration.wording import Fact, Line, facts_of, spoken
from pytest_agentbench.core.fault import FaultKind, FaultSpec
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.core.values import same
from pytest_agentbench.validation.values import scalars

Move = Callable[[Actor, Play], Awaitable[ToolResult | None] | None]
"""Plays a part of a conversation; what it gives is the answer that counts from then on.

Each raises `InexpressibleError` where a scene does not lend itself to it.
"""

_CUTTABLE = 4
"""Characters from which half of a value is still something."""


async def played(actor: Actor, situation: Situation) -> Play:
    """Play a situation in a scene; raise `InexpressibleError` where that cannot be."""
    if "checks of people" in situation.moves and not actor.checks:  # before a world is opened in vain
        raise InexpressibleError("no tool checks, registers or looks up people, or the request changes something")
    requests = {"": lambda _: [None], "cut": _cut_requests, "refused": Actor.refusable}[situation.asks]
    for asked in requests(actor):
        async with actor.talk(situation.closes, *_faults(actor, situation.fault), asked=asked) as play:
            for name in situation.moves:
                head, _, kind = name.partition(" ")
                made = (_saying(kind) if head == "say" else _MOVES[name])(actor, play)
                play.result = (await made if made is not None else None) or play.result
        came_to_nothing = play.result.error or (situation.asks == "cut" and not facts_of(play.result.content))
        if came_to_nothing or not situation.asks:
            return play
    raise InexpressibleError("no request with another value comes to nothing")


def _faults(actor: Actor, name: str) -> list[FaultSpec]:
    if not name:
        return []
    if name == "corrupted read":
        return [actor.fault("corrupted", place=actor.random.choice(_records(actor)))]
    if name == "nothing":
        name = actor.random.choice(["timeout", "empty"])
    if name == "other row":
        name = "empty" if actor.scene.initial is None else "wrong_row"
    if name == "no_op" and not (actor.scene.initial is not None and actor.scene.heard[actor.scene.target].result.wrote):
        raise InexpressibleError("there is no change in a state that an action could fail to make")
    kind, _, always = name.partition(" ")
    return [actor.fault(cast("FaultKind", kind), every=bool(always))]


def _records(actor: Actor) -> list[int]:
    """Give the places of reads that give a record, where a state shows whether it is right."""
    heard = enumerate(actor.scene.heard)
    found = [n for n, one in heard if not actor.scene.writes(n) and len(facts_of(one.result.content)) > 1]
    if not found or actor.scene.initial is None:
        raise InexpressibleError("no read gives a record that could be wrong, with a state that shows it")
    return found


def _cut_requests(actor: Actor) -> Iterator[Sequence[ToolCall]]:
    """Give the right calls up to one with a value of the user's, which is cut short."""
    given = actor.scene.supplied(actor.scene.calls)
    for place, call in enumerate(actor.scene.calls):
        for name, value in call.arguments.items():
            is_given = any(name == other and same(one, value) for other, one in given)
            if is_given and isinstance(value, str) and len(value) >= _CUTTABLE:
                arguments = {**call.arguments, name: _cut(value)}
                yield [*actor.scene.calls[:place], call.model_copy(update={"arguments": arguments})]


def _cut(value: str) -> str:
    """Give the beginning of a value: `ann@mail.example` without its last part, else half of it."""
    place = max(value.rfind(mark) for mark in ".-_ ")
    return value[:place] if place >= len(value) // 2 else value[: len(value) // 2]


def _saying(kind: str) -> Move:
    def say(actor: Actor, play: Play) -> None:
        error = play.result.content.removeprefix("Error: ").rstrip(".")[:200]
        actor.agent(play, kind, task=actor.task, error=f"{error}.")

    return say


async def _leads(actor: Actor, play: Play) -> ToolResult:
    return [ToolResult(content=""), *await actor.make(play, actor.scene.calls[: actor.scene.target])][-1]


async def _target_twice(actor: Actor, play: Play) -> ToolResult:
    return (await actor.make(play, [actor.target] * actor.random.choice([1, 2])))[-1]


async def _rest(actor: Actor, play: Play) -> ToolResult:
    return (await actor.make(play, actor.scene.calls[actor.scene.target :]))[0]


async def _all(actor: Actor, play: Play) -> ToolResult:
    return (await actor.make(play, actor.scene.calls))[actor.scene.target]


async def _asked(_: Actor, play: Play) -> ToolResult:
    for call in play.asked or ():
        if (result := await play.call(call)).error:
            break
    return result


async def _another_need(actor: Actor, play: Play) -> ToolResult:
    reads = [call for call in actor.other_tools() if actor.scene.spec(call.name).kind != "write"]
    return await actor.first_useful(play, [*actor.unrelated(), *reads])


async def _useless(actor: Actor, play: Play) -> None:
    extra = actor.unrelated()[:2]
    if not extra:
        raise InexpressibleError("no read that this request does not need is known")
    reads = [call for place, call in enumerate(actor.scene.calls) if not actor.scene.writes(place)]
    await actor.make(play, extra + reads[:1] * 2)


async def _checks(actor: Actor, play: Play) -> None:
    if all(one.error for one in await actor.make(play, actor.checks[:3])):
        raise InexpressibleError("no checking tool succeeds with the values at hand")


def _gate(actor: Actor, play: Play) -> None:
    actor.agent(play, "gate_ask")
    actor.user(play, "gate_user")


def _ask_again(actor: Actor, play: Play) -> None:
    given = actor.scene.supplied(actor.scene.calls)
    said = [(key, item) for name, value in given for key, item in scalars(value, name) if len(str(item)) > 1]
    if not said:
        raise InexpressibleError("the user gives no value that could be asked for again")
    name, value = actor.random.choice(said)
    for _ in range(2):
        actor.agent(play, "ask_again", key=spoken(name))
        actor.user(play, "said_already", value=str(value))


def _report_unseen(actor: Actor, play: Play) -> None:
    if facts_of(play.result.content):
        actor.report(play, actor.facts(play.result))
    else:
        actor.agent(play, "done_bare", task=actor.task)


def _misread(actor: Actor, play: Play) -> None:
    told, wrong = actor.wrong(actor.facts(play.result, play, figure=True), play.text)
    actor.report(play, told, [wrong])


def _make_up(actor: Actor, play: Play) -> None:
    right = actor.scene.heard[actor.scene.target].result
    told, wrong = actor.wrong(actor.facts(right, figure=True), play.text + right.content)
    actor.report(play, told[:2] if wrong in told[:2] else [wrong], [wrong])


def _dump(actor: Actor, play: Play) -> None:
    facts = [fact for one in play.transcript.trajectory if one.result for fact in facts_of(one.result.content)][:60]
    if not facts:
        raise InexpressibleError("the answers hold nothing that could be told")
    told = "; ".join(map(str, facts))
    play.say(Line("agent", "dump", f"{actor.words.say('overload_lead')} {told}", told=tuple(facts), is_fixed=True))


def _show_logs(_: Actor, play: Play) -> None:
    logs = []
    for one in play.transcript.trajectory:
        request = json.dumps({"tool": one.call.name, "arguments": one.call.arguments}, ensure_ascii=False)
        logs.append(f">>> {request}\n<<< {one.result.content[:1500] if one.result else ''}")
    play.say(Line("agent", "logs", "\n".join(logs), is_fixed=True))


def _spoilt(actor: Actor, play: Play) -> tuple[ToolResult, list[Fact], list[Fact]]:
    """Give the answer that a fault struck, what it changed there, and what is right in these places."""
    pairs = zip(play.transcript.trajectory, actor.scene.heard, strict=False)
    struck = [(one.result.content, gold.result.content) for one, gold in pairs if one.result]
    given, wanted = next(((one, gold) for one, gold in struck if one != gold), ("", ""))
    right = {fact.path: fact for fact in facts_of(wanted)}
    found = [fact for fact in facts_of(given) if fact.path in right and fact != right[fact.path]]
    if not found:
        raise InexpressibleError("what the fault spoils does not show in what can be told")
    return ToolResult(content=given), found, [right[fact.path] for fact in found]


def _report_spoilt(actor: Actor, play: Play) -> None:
    answer, found, _ = _spoilt(actor, play)
    actor.report(play, [found[0], *[fact for fact in actor.facts(answer) if fact != found[0]][:2]], found[:1])


def _report_corrected(actor: Actor, play: Play) -> None:
    _, found, right = _spoilt(actor, play)
    actor.report(play, found[:2], found[:1])
    actor.user(play, "noticed", value=right[0].text)


def _report_in_part(actor: Actor, play: Play) -> None:
    told = {fact.key for fact in facts_of(play.result.content)}
    whole = facts_of(actor.scene.heard[actor.scene.target].result.content)
    missing = [fact.key for fact in whole if fact.key not in told]
    actor.report(play, actor.facts(play.result))
    play.say(Line("user", "partial", actor.words.say("partial", key=missing[0] if missing else actor.task)))


_MOVES: dict[str, Move] = {
    # calls
    "leads": _leads,
    "target": lambda actor, play: play.call(actor.target),
    "target twice": _target_twice,
    "the rest": _rest,
    "all calls": _all,
    "asked calls": _asked,
    "another tool": lambda actor, play: actor.first_useful(play, actor.other_tools()),
    "other values": Actor.misdirected,
    "another need": _another_need,
    "useless reads": _useless,
    "checks of people": _checks,
    # words
    "gate": _gate,
    "ask again": _ask_again,
    "report": lambda actor, play: actor.report(play, actor.facts(play.result)),
    "report rightly": lambda actor, play: actor.report(play, actor.facts(play.result, play), actor.wanted(play)),
    "report another": lambda actor, play: actor.report(
        play, actor.facts(play.result), task=spoken(play.transcript.trajectory[-1].call.name)
    ),
    "report unseen": _report_unseen,
    "misread": _misread,
    "make up": _make_up,
    "dump": _dump,
    "show logs": _show_logs,
    "report spoilt": _report_spoilt,
    "report corrected": _report_corrected,
    "report in part": _report_in_part,
}
