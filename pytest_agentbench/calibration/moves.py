"""The moves that `situations.toml` lists, each something that is called or said, and the play that they make."""

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from inspect import isawaitable
from random import Random

from pytest_agentbench.calibration.labelled import Situation
from pytest_agentbench.calibration.playing import Play
from pytest_agentbench.calibration.scene import InexpressibleError, Scene, facts_of, spoken
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.validation.values import scalars

Move = Callable[[Play], Awaitable[ToolResult | None] | None]
"""Plays a part of a conversation; what it gives is the answer that counts from then on.

Each raises `InexpressibleError` where a scene does not lend itself to it.
"""

_LOG, _DUMPED = 1500, 60
"""Characters of an answer in a log that are shown, and facts of a dump."""


async def played(scene: Scene, language: str, situation: Situation, random: Random, *, is_near: bool = False) -> Play:
    """Play a situation in a scene; raise `InexpressibleError` where that cannot be."""
    first = Play(scene, language, random, is_near)
    if "checks of people" in situation.moves and not first.checks:  # before a world is opened in vain
        raise InexpressibleError("no tool checks, registers or looks up people, or the request changes something")
    requests: dict[str, Iterable[Sequence[ToolCall]]] = {
        "cut": first.wrong_calls.cut(),
        "refused": first.wrong_calls.refusable(scene.target),
    }
    for asked in requests.get(situation.asks, [None]):
        play = first if asked is None else replace(first, asked=asked)
        faults = play.faults(situation.fault)
        async with play.opened(faults):
            for name in situation.moves:
                if " says " in name:
                    play.say(*name.split(" says "))
                else:
                    given = _MOVES[name](play)
                    play.result = (await given if isawaitable(given) else given) or play.result
            if faults and not play.schedule.met:
                raise InexpressibleError(f"{faults[0].kind} finds nothing to change in the answer that counts")
            if situation.closes:
                play.say("user", situation.closes)
        if play.result.error or (situation.asks == "cut" and not facts_of(play.result.content)) or not situation.asks:
            return play
    raise InexpressibleError("no request with another value comes to nothing")


async def _asked(play: Play) -> ToolResult:
    for call in play.asked or ():
        result = await play.make([call])
        if result.error:
            break
    return result


async def _misdirected(play: Play) -> ToolResult:
    """Make the target with a value of the user's exchanged for another.

    Where no such call succeeds and values at hand are not wanted, another scenario's calls take the place of all.
    """
    try:
        return await play.first_useful(
            play.wrong_calls.swapped(play.target), "no call with another value than the user's succeeds"
        )
    except InexpressibleError:
        names = [call.name for call in play.scene.calls]
        others = [one for one in play.scene.siblings if [call.name for call in one.calls] == names]
        if not others or play.is_near:
            raise
    del play.messages[len(play.lines) :]
    result = await play.make(play.random.choice(others).calls, play.scene.target)
    if result.error:
        raise InexpressibleError("the calls with other values fail")
    return result


async def _another_need(play: Play) -> ToolResult:
    reads = [call for call in play.wrong_calls.of_other_tools() if play.scene.spec(call.name).kind != "write"]
    return await play.first_useful([*play.unrelated(), *reads])


async def _useless(play: Play) -> None:
    extra = play.unrelated()[:2]
    if not extra:
        raise InexpressibleError("no read that this request does not need is known")
    reads = [call for place, call in enumerate(play.scene.calls) if not play.scene.writes(place)]
    await play.make([*extra, *reads[:1] * 2])


async def _checks(play: Play) -> None:
    if all([(await play.make([call])).error for call in play.checks[:3]]):
        raise InexpressibleError("no checking tool succeeds with the values at hand")


def _ask_again(play: Play) -> None:
    given = play.wrong_calls.supplied(play.scene.calls)
    said = [(key, item) for name, value in given for key, item in scalars(value, name) if len(str(item)) > 1]
    if not said:
        raise InexpressibleError("the user gives no value that could be asked for again")
    name, value = play.random.choice(said)
    for _ in range(2):
        play.say("agent", "ask_again", play.phrase("ask_again", key=spoken(name)))
        play.answer("said_already", value=str(value))


def _report_unseen(play: Play) -> None:
    if facts_of(play.result.content):
        play.report(play.facts())
    else:
        play.say("agent", "done_bare")


def _make_up(play: Play) -> None:
    told, wrong = play.wrong(play.facts(play.right, figure=True), play.right.content)
    play.report(told[:2] if wrong[0] in told[:2] else wrong, wrong)


def _dump(play: Play) -> None:
    facts = tuple(fact for one in play.transcript.trajectory for fact in facts_of(one.answer))[:_DUMPED]
    if not facts:
        raise InexpressibleError("the answers hold nothing that could be told")
    told = "; ".join(map(str, facts))
    play.say("agent", "dump", f"{play.phrase('overload_lead')} {told}", told=facts, is_fixed=True)


def _show_logs(play: Play) -> None:
    logs = []
    for one in play.transcript.trajectory:
        request = json.dumps({"tool": one.call.name, "arguments": one.call.arguments}, ensure_ascii=False)
        logs.append(f">>> {request}\n<<< {one.answer[:_LOG]}")
    play.say("agent", "logs", "\n".join(logs), is_fixed=True)


def _report_spoilt(play: Play) -> None:
    answer, found, _ = play.spoilt()
    play.report([found[0], *[fact for fact in play.facts(answer) if fact != found[0]][:2]], found[:1])


def _report_corrected(play: Play) -> None:
    _, found, right = play.spoilt()
    play.report(found[:2], found[:1])
    play.answer("noticed", value=right[0].text)


def _report_in_part(play: Play) -> None:
    told = {fact.key for fact in facts_of(play.result.content)}
    missing = [fact.key for fact in facts_of(play.right.content) if fact.key not in told]
    play.report(play.facts())
    play.say("user", "partial", play.phrase("partial", key=missing[0] if missing else play.task))


_MOVES: dict[str, Move] = {
    # calls
    "leads": lambda play: play.make(play.scene.calls[: play.scene.target]),
    "target": lambda play: play.make([play.target]),
    "target twice": lambda play: play.make([play.target] * play.random.choice([1, 2])),
    "the rest": lambda play: play.make(play.scene.calls[play.scene.target :], counts=0),
    "all calls": lambda play: play.make(play.scene.calls, counts=play.scene.target),
    "asked calls": _asked,
    "another tool": lambda play: play.first_useful(play.wrong_calls.of_other_tools()),
    "other values": _misdirected,
    "another need": _another_need,
    "useless reads": _useless,
    "checks of people": _checks,
    # words
    "ask again": _ask_again,
    "report": lambda play: play.report(play.facts()),
    "report rightly": lambda play: play.report(play.facts(rightly=True), play.wanted()),
    "report another": lambda play: play.report(play.facts(), task=spoken(play.transcript.trajectory[-1].call.name)),
    "report unseen": _report_unseen,
    "misread": lambda play: play.report(*play.wrong(play.facts(figure=True, rightly=True))),
    "make up": _make_up,
    "dump": _dump,
    "show logs": _show_logs,
    "report spoilt": _report_spoilt,
    "report corrected": _report_corrected,
    "report in part": _report_in_part,
}
