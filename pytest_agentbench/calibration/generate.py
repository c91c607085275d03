"""Labelled conversations of every situation that a suite's environment can express, made by playing its scenarios.

Tool results are real, failures are injected into real calls, and labels come from what was played. Words are plain
phrases, for `worded` to replace. Every conversation is held against the gold log before it is kept.
"""

import asyncio
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from pytest_agentbench.calibration.checking import check
from pytest_agentbench.calibration.labelled import Folder, GoldCall, Labelled, Situation, situations
from pytest_agentbench.calibration.moves import played
from pytest_agentbench.calibration.playing import Play
from pytest_agentbench.calibration.scene import InexpressibleError, Scene, languages, scene_of
from pytest_agentbench.checks.judges.evidence import Goal
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.listing import real_toolset
from pytest_agentbench.environment.toolset import load_toolset, remote_parts
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.validation.values import scalars
from pytest_agentbench.validation.wrong_calls import holds

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
