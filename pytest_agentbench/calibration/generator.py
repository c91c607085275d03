"""Labelled conversations of every situation that a suite's environment can express, made by playing its scenarios.

Tool results are real, failures are injected into real calls, and words come from template data; what a model writes
instead is in `written/`. Every conversation is read by the checker before it is kept.
"""

import asyncio
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from pytest_agentbench.calibration.checker import Problem, check
from pytest_agentbench.calibration.labelled import Folder, Labelled
from pytest_agentbench.calibration.player import Player
from pytest_agentbench.calibration.recipe import RECIPES
from pytest_agentbench.calibration.scene import InexpressibleError, Scene, scene_of
from pytest_agentbench.calibration.situations import situations
from pytest_agentbench.calibration.wording import LANGUAGES
from pytest_agentbench.calibration.written.commission import Commission, Work
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.values import JsonValue, same
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.listing import real_toolset
from pytest_agentbench.environment.toolset import load_toolset, remote_parts
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.validation.values import scalars

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
    languages: Sequence[str] = LANGUAGES
    only: Sequence[str] = ()
    seed: int = 0


@dataclass
class Tally:
    """What became of the attempts: refused by the checker, equal to another one, and not expressible, with reasons."""

    refused: Counter[str] = field(default_factory=Counter)
    equal: int = 0
    reasons: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def generate(
    path: Path,
    wish: Wish | None = None,
    *,
    environ: Mapping[str, str],
    now: Callable[[], float] = time.monotonic,
    told: Callable[[int, int], None] = lambda _done, _total: None,
) -> tuple[Folder, Tally]:
    """Make labelled conversations of the suite in a file; same seed, same conversations.

    Raise `SuiteError` where the suite cannot be read, and `AgentBenchError` where its tools cannot be called.
    """
    suite = load_suite(path, environ=environ)
    with tempfile.TemporaryDirectory(prefix="agentbench-") as directory:
        gate = IsolationGate(Path(directory))
        return asyncio.run(_generated(suite, wish or Wish(), gate, now, told))


async def _generated(
    suite: Suite, wish: Wish, gate: IsolationGate, now: Callable[[], float], told: Callable[[int, int], None]
) -> tuple[Folder, Tally]:
    tally = Tally()
    with _scenes() as opened:
        opened.extend(await _readable(suite, gate, now, tally))
        if not opened:
            why = "; ".join(text for text, _ in tally.reasons["scenes"].most_common(3))
            raise AgentBenchError(f"{suite.path}: no scenario can be played as its expected calls say: {why}")
        scenes = _with_siblings(opened)
        wanted = [name for name in RECIPES if not wish.only or name in wish.only]
        cases: list[Labelled] = []
        seen: set[str] = set()
        for number, name in enumerate(wanted):
            cases += await _of_situation(name, scenes, wish, tally, seen)
            told(number + 1, len(wanted))
    made = {case.situation for case in cases}
    missing = {name: _why(tally.reasons[name]) for name in wanted if name not in made}
    return Folder(cases=tuple(cases), inexpressible=missing), tally


@contextmanager
def _scenes() -> Iterator[list[Scene]]:
    scenes: list[Scene] = []
    try:
        yield scenes
    finally:
        for scene in scenes:
            scene.player.runner.close()


async def _readable(suite: Suite, gate: IsolationGate, now: Callable[[], float], tally: Tally) -> list[Scene]:
    toolset = load_toolset(suite.environment, suite.root, recorded=False)
    if remote_parts(suite.environment) and not toolset:
        toolset = await real_toolset(suite.environment, suite.root, gate)
    scenes = []
    for scenario in suite.scenarios:
        plan = RunPlan(
            suite=suite,
            suite_key=str(suite.path),
            scenario=scenario,
            variant=next(iter(suite.variants), ""),
            toolset=toolset,
        )
        try:
            scenes.append(await scene_of(plan, gate, now))
        except (InexpressibleError, AgentBenchError) as error:
            tally.reasons["scenes"][str(error)] += 1
    return scenes


def _with_siblings(scenes: Sequence[Scene]) -> list[Scene]:
    pool: dict[str, list[JsonValue]] = defaultdict(list)
    for scene in scenes:
        for call in scene.calls:
            for name, value in call.arguments.items():
                if not any(same(value, one) for one in pool[name]):
                    pool[name].append(value)
            for name, value in scalars(call.arguments):
                if not any(same(value, one) for one in pool[name]):
                    pool[name].append(value)
    return [
        replace(scene, pool=dict(pool), siblings=tuple(one for one in scenes if one is not scene)) for scene in scenes
    ]


async def _of_situation(name: str, scenes: Sequence[Scene], wish: Wish, tally: Tally, seen: set[str]) -> list[Labelled]:
    """Make the conversations of one situation, going round scenes and languages until there are enough."""
    random = Random(f"{wish.seed}/{name}")  # noqa: S311 - chooses words and values
    rounds = [(scene, language) for language in wish.languages for scene in scenes]
    random.shuffle(rounds)
    found: list[Labelled] = []
    for attempt in range(_ATTEMPTS):
        fruitful = []
        for scene, language in rounds:
            if len(found) >= (wish.positives if situations()[name].label == "POS" else wish.per_situation):
                return found
            try:
                wanted = Commission(situation=name, toolset=scene.plan.toolset, language=language)
                work = await Player(scene, random)(wanted)
            except (InexpressibleError, AgentBenchError) as error:
                tally.reasons[name][str(error)] += 1
                continue
            fruitful.append((scene, language))
            case = _case(wanted, scene, work, f"{name}-{len(found) + 1}")
            problem: Problem | None = check(case.case, name)
            mark = masked(case)
            if problem is not None:
                tally.refused[f"{name}: {problem}"] += 1
                tally.reasons[name][f"the checker refuses it: {problem}"] += 1
            elif mark in seen:
                tally.equal += 1
            else:
                seen.add(mark)
                found.append(case)
        rounds = fruitful
        if not rounds and attempt == 0:
            break
    return found


def _case(wanted: Commission, scene: Scene, work: Work, identity: str) -> Labelled:
    situation = situations()[wanted.situation]
    return Labelled(
        id=identity,
        case=work.case,
        label=situation.label,
        situation=situation.id,
        language=wanted.language,
        scenario=scene.plan.scenario.id,
        faults=work.faults,
        grade="gold",
        reason=situation.reason,
    )


def masked(case: Labelled) -> str:
    """Give a conversation with everything that holds a digit masked, to tell whether two are the same."""
    messages = case.case.transcript.messages
    return _IDS.sub("#", dumps([[one.role, one.text, [call.name for call in one.tool_calls]] for one in messages]))


def _why(reasons: Counter[str]) -> str:
    return "; ".join(text for text, _ in reasons.most_common(2)) or "no recipe was tried"
