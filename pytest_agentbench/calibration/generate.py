"""Labelled conversations of every situation that a suite's environment can express, made by playing its scenarios.

Tool results are real, failures are injected into real calls, and labels come from what was played. Words are plain
phrases, for `worded` to replace. Every conversation is held against the gold log before it is kept.
"""

import asyncio
import json
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from pathlib import Path
from random import Random

from pytest_agentbench.calibration.dataset import Folder, GoldCall, Labelled, Situation, situations
from pytest_agentbench.calibration.situation_check import check
from pytest_agentbench.calibration.situation_player import (
    InexpressibleError,
    Play,
    Scene,
    facts_of,
    languages,
    scene_of,
    spoken,
)
from pytest_agentbench.checks.judges.evidence import Goal
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.toolset import load_toolset, real_toolset, remote_parts
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.validation.mutants import holds
from pytest_agentbench.validation.world_values import scalars

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


_ATTEMPTS = 5
"""Chances that a scene gets per situation and language before another one is tried."""
_IDS = re.compile(r"\w*\d[\w.,:@/-]*")


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What is wanted: `per_situation` conversations of each of `only` (all where empty), in `languages`.

    `positives` is the number of POS ones, since one situation stands against all the others.
    """

    per_situation: int = 20
    positives: int = 60
    languages: Sequence[str] = field(default_factory=languages)
    only: Sequence[str] = ()
    seed: int = 0


@dataclass
class Generated:
    """What was made, and what became of the other attempts: refused, equal to another one, not expressible.

    `plays` are how the conversations were played, by id.
    """

    cases: list[Labelled] = field(default_factory=list)
    plays: dict[str, Play] = field(default_factory=dict, repr=False)
    refused: Counter[str] = field(default_factory=Counter)
    equal: int = 0
    inexpressible: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    @property
    def folder(self) -> Folder:
        """The conversations as files hold them."""
        return Folder(cases=tuple(self.cases), inexpressible=self.inexpressible)


def generate(
    path: Path,
    wish: Wish | None = None,
    *,
    environ: Mapping[str, str],
    now: Callable[[], float] = time.monotonic,
    told: Callable[[int, int], None] = lambda _done, _total: None,
) -> Generated:
    """Make labelled conversations of the suite in a file; same seed, same conversations.

    Raise `SuiteError` where the suite cannot be read, and `AgentBenchError` where its tools cannot be called.
    """
    suite, wish = load_suite(path, environ=environ), wish or Wish()
    made = Generated()

    async def of_all(gate: IsolationGate, closing: ExitStack) -> None:
        scenes = await _scenes(suite, gate, now, made, closing)
        wanted = [one for one in situations().values() if not wish.only or one.id in wish.only]
        seen: set[str] = set()
        for number, situation in enumerate(wanted, start=1):
            before = len(made.cases)
            await _of_situation(situation, scenes, wish, made, seen)
            if len(made.cases) == before:
                reasons = [text for text, _ in made.reasons[situation.id].most_common(2)]
                made.inexpressible[situation.id] = "; ".join(reasons) or "no scenario was tried"
            told(number, len(wanted))

    with tempfile.TemporaryDirectory(prefix="agentbench-") as directory, ExitStack() as closing:
        asyncio.run(of_all(IsolationGate(Path(directory)), closing))
    return made


async def _scenes(
    suite: Suite, gate: IsolationGate, now: Callable[[], float], made: Generated, closing: ExitStack
) -> list[Scene]:
    """Give the scenes that can be played, each with the others and with the values of all calls."""
    toolset = load_toolset(suite.environment, suite.root, recorded=False)
    if remote_parts(suite.environment) and not toolset:
        toolset = await real_toolset(suite.environment, suite.root, gate)
    key, variant = str(suite.path), next(iter(suite.variants), "")
    scenes: list[Scene] = []
    for scenario in suite.scenarios:
        plan = RunPlan(suite=suite, suite_key=key, scenario=scenario, variant=variant, toolset=toolset)
        try:
            scenes.append(await scene_of(plan, gate, now))
        except (InexpressibleError, AgentBenchError) as error:
            made.reasons["scenes"][str(error)] += 1
        else:
            closing.callback(scenes[-1].player.runner.close)
    if not scenes:
        why = "; ".join(text for text, _ in made.reasons["scenes"].most_common(3))
        raise AgentBenchError(f"{suite.path}: no scenario can be played as its expected calls say: {why}")
    pool: dict[str, list[JsonValue]] = defaultdict(list)
    for call in (call for scene in scenes for call in scene.calls):
        for name, value in (*call.arguments.items(), *scalars(call.arguments)):
            if not holds(((name, one) for one in pool[name]), name, value):
                pool[name].append(value)
    return [replace(one, pool=dict(pool), siblings=tuple(each for each in scenes if each is not one)) for one in scenes]


async def _of_situation(
    situation: Situation, scenes: Sequence[Scene], wish: Wish, made: Generated, seen: set[str]
) -> None:
    """Make the conversations of one situation, going round scenes and languages until there are enough."""
    name = situation.id
    random = Random(f"{wish.seed}/{name}")  # noqa: S311 - chooses words and values
    rounds = [(scene, language) for language in wish.languages for scene in scenes]
    random.shuffle(rounds)
    number = 0
    for attempt in range(_ATTEMPTS):
        fruitful = []
        for scene, language in rounds:
            if number >= (wish.positives if situation.label == "POS" else wish.per_situation):
                return
            try:
                play = await played(scene, language, situation, random, is_near=not attempt)
            except (InexpressibleError, AgentBenchError) as error:
                made.reasons[name][str(error)] += 1
                continue
            fruitful.append((scene, language))
            case = _case(situation, play, f"{name}-{number + 1}")
            mark = masked(case)
            if problem := check(play, name):
                made.refused[f"{name}: {problem}"] += 1
                made.reasons[name][f"the gold log speaks against it: {problem}"] += 1
            elif mark in seen:
                made.equal += 1
            else:
                number += 1
                seen.add(mark)
                made.cases.append(case)
                made.plays[case.id] = play
        # what is near at hand reads best, and what is not is better than nothing
        rounds = fruitful if attempt else rounds


def _case(situation: Situation, play: Play, identity: str) -> Labelled:
    scene = play.scene
    return Labelled.of(
        situation,
        id=identity,
        transcript=play.transcript,
        toolset=scene.plan.toolset or play.world.tools,
        initial=scene.initial,
        final=play.final,
        # what was asked for instead has no expected effects that anybody wrote down
        goal=Goal(policies=scene.goal.policies) if play.asked is not None else scene.goal,
        language=play.language,
        scenario=scene.plan.scenario.id,
        faults=tuple(hit.fault.name for hit in play.schedule.met),
        grade="gold",
        wording="plain",
        gold=tuple(
            GoldCall(name=one.call.name, arguments=one.call.arguments, result=one.result.content) for one in scene.heard
        ),
    )


def masked(case: Labelled) -> str:
    """Give a conversation with everything that holds a digit masked, to tell whether two are the same."""
    messages = case.transcript.messages
    return _IDS.sub("#", dumps([[one.role, one.text, [call.name for call in one.tool_calls]] for one in messages]))
