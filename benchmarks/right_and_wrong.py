"""How often a right agent fails, and how often what a wrong one did is excused: both have to be never.

    python -m benchmarks.right_and_wrong [--data ../shared/data/tau2] [--every N] [--suites SUITE …]

*Right* are runs that an oracle passes which shares nothing with the checks: all calls were answered, a naive replay of
the expected calls leads to the very same state (where there is none, the same writes succeeded), and what has to be
communicated stands in the last message, letter by letter. They are the oracle runs of every example suite and of
τ²-bench's tasks, reworded, with lookups moved or made twice, with independent writes swapped, and with scenarios that
state less of an expected write. So are recordings that τ² rewards, where its domains are installed.

*Wrong* are runs with one fault, proven in the same way: another state or other writes, a call that is forbidden, a
write before the yes. Each is judged as it is, and once more for each of the user, a provider and the environment that
breaks off the conversation after it.

The exit status is 1 where a right run failed or a fault was excused; every one of them is listed.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.verdict import Blame, Verdict
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.runs.expected_state import ExpectedStates
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.runs.transcript_runs import look_over, score
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.tau2.checkout import has_inspect_evals, installed_package
from pytest_agentbench.validation.known import of_user
from pytest_agentbench.validation.mutants import MutantSource, mutations, other_writes
from pytest_agentbench.validation.oracle import NoExampleError, Oracle, Rules, Writer, result_of
from pytest_agentbench.validation.scripted_run import Described, Performance, ScriptedRun, ScriptPlayer, Step, numbered
from pytest_agentbench.validation.world_values import Columns

PROJECT = Path(__file__).parents[1] / "example_project"
SUITES = ("support", "weather", "weather_generated")
DOMAINS = ("mock", "airline", "retail", "telecom")
REWORDINGS = 5

FILLERS = (
    "I see.",
    "Un instant, s'il vous plaît.",
    "Right, let me look into that.",
    "はい、少々お待ちください。",
    "Okay!",
)
AROUND = (
    ("I would now make this change: ", ". Shall I proceed, yes or no?"),
    ("Just to be sure: ", ". Is that what you want?"),
    ("Ich würde nun Folgendes tun: ", ". Soll ich?"),
    ("Here is what I am about to do, please confirm. ", ""),
)
BROKEN_OFF = (
    (Blame.USER, Termination.STALLED, "the user repeats itself"),
    (Blame.PROVIDER, Termination.CRASHED, "the model could not be reached"),
    (Blame.ENVIRONMENT, Termination.CRASHED, "the state could not be read"),
)
"""Who breaks the conversation off after a fault of the agent's, and how."""

PROVEN = ("wrong argument", "invented value", "extra write", "wrong order", "forbidden call")
"""Faults that stand once they are made; that something is missing may still be mended later."""


@dataclass
class Tally:
    """How many runs of each kind were judged, and those that were judged wrongly."""

    runs: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def note(self, kind: str, name: str, judgement: Judgement, *, right: bool) -> None:
        """Count a run; note it where the verdict is not the one that it must have."""
        self.runs[kind] += 1
        passed = judgement.verdict is Verdict.PASSED
        failed = judgement.verdict is Verdict.FAILED and judgement.blame is Blame.AGENT
        if (right and failed) or (not right and not failed):
            why = "; ".join(one.message for one in judgement.findings if one.passed is not True)[:400]
            self.wrong.append(f"{kind}: {name}: {judgement.verdict}, blame {judgement.blame}: {why}")
        elif right and not passed:
            self.runs[f"{kind}, unscored"] += 1


@dataclass
class Found:
    """All tallies, and what was left out with the reason."""

    right: Tally = field(default_factory=Tally)
    wrong: Tally = field(default_factory=Tally)
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass
class Ground:
    """A scenario with its right run, and what an oracle of its own knows of the worlds that it leads to."""

    plan: RunPlan
    player: ScriptPlayer
    oracle: Oracle
    base: Run
    bench: MutantSource
    forbidden: tuple[ToolCall, ...]

    @property
    def name(self) -> str:
        """The scenario, with its suite."""
        return f"{Path(self.plan.suite_key).stem}::{self.plan.scenario.id}"

    def says_all(self, transcript: Transcript) -> bool:
        """Whether what has to be communicated stands in the agent's last words, letter by letter."""
        last = next((one.text for one in reversed(transcript.messages) if one.role == "assistant" and one.text), "")
        return all(info in last for info in self.plan.scenario.communicate_info)

    def says_nowhere(self, transcript: Transcript) -> bool:
        """Whether something that has to be communicated stands in no message of the agent's."""
        texts = [text.casefold() for _, text in transcript.texts("assistant")]
        return any(not any(info.casefold() in text for text in texts) for info in self.plan.scenario.communicate_info)

    def stands(self, transcript: Transcript, final: State | None, kind: str) -> bool:
        """Whether a fault left something behind: a call that is wrong by itself, another value, or another write."""
        if kind in ("wrong order", "forbidden call"):
            return True
        right, start = self.base.final_state, self.base.initial_state
        if right is None or final is None or start is None:
            made, due = Counter(writes(transcript, self.plan.toolset)), writes(self.base.transcript, self.plan.toolset)
            return bool(made - Counter(due))
        return _left_behind(final, right, start)

    def is_equal(self, transcript: Transcript, final: State | None) -> bool:
        """Whether a run leads to the state of the right one, or where there is none makes the same writes."""
        if self.base.final_state is not None:
            return final == self.base.final_state
        return writes(transcript, self.plan.toolset) == writes(self.base.transcript, self.plan.toolset)


def writes(transcript: Transcript, toolset: Toolset) -> list[str]:
    """Give the calls that succeeded and may have written, in no order."""
    return sorted(
        json.dumps([record.call.requestor, record.call.name, record.call.arguments], sort_keys=True, default=str)
        for record in transcript.trajectory
        if not record.failed
        and ((spec := toolset.get(record.call.name, record.call.requestor)) is None or spec.kind != "read")
    )


async def ground(plan: RunPlan, isolation: IsolationGate, expected: ExpectedStates, found: Found) -> Ground | None:
    """Play the oracle of a scenario; None where it is no right run by an oracle that knows no checks."""
    player = ScriptPlayer(plan=plan, isolation=isolation, now=time.monotonic, expected=expected)
    rules = Rules(plan.policies, plan.toolset)
    writer = Writer(plan.scenario, rules, plan.toolset)
    environment = player.new_environment(f"{player.name}-first")
    columns = Columns({})
    try:
        async with environment:
            tools = environment.tools
            player.is_played = bool(tools) and all(environment.can_call(one.name, one.requestor) for one in tools)
            state = await environment.snapshot() if player.is_played else None
            columns = Columns(state or {})
            box = environment if player.is_played else Described(plan.toolset)
            oracle = await writer.write(box, columns, can_fail=player.is_played)
        if oracle.failed:
            found.left_out["an expected call fails"] += 1
            return None
        done = await player.performed(oracle.script)
        base = _closed(plan, done.transcript).model_copy(update={"initial_state": state, "final_state": done.final})
        known = of_user(plan.scenario)
        for heard in oracle.heard:
            known.add(result_of(heard.call.name), heard.result.content, heard.call.name)
        extra = await other_writes(player, oracle, known, columns)
    except NoExampleError:
        found.left_out["nothing known fits a matcher"] += 1
        return None
    bench = MutantSource(plan.scenario, oracle, plan.toolset, rules, columns, extra, 0)
    made = Ground(plan, player, oracle, base, bench, tuple(_forbidden(plan.scenario)))
    if not made.says_all(done.transcript) or not await _is_replayed(made):
        found.left_out["the oracle does not pass it"] += 1
        return None
    return made


async def _is_replayed(made: Ground) -> bool:
    """Whether making the expected calls, and nothing else, leads to the right run's state."""
    if made.base.final_state is None:
        return True
    async with made.player.world() as world:
        heard = {one.position: one.call for one in made.oracle.heard if not one.is_needed}
        for position, want in enumerate(made.plan.scenario.expected_calls):
            stated = ToolCall(name=want.name, arguments=want.arguments, requestor=want.requestor)
            await world.call(heard[position] if holds_matcher(want.arguments) else stated)
        return await world.snapshot() == made.base.final_state


def _forbidden(scenario: Scenario) -> Iterator[ToolCall]:
    for never in scenario.never:
        if not holds_matcher(never.arguments):
            yield ToolCall(name=never.name, arguments=never.arguments, requestor=never.requestor)


def _closed(plan: RunPlan, transcript: Transcript) -> Run:
    return Run(
        key=plan.key,
        scenario=plan.scenario,
        policies=plan.policies,
        transcript=transcript,
        termination=Termination.FINISHED,
        stop_reason="done",
        toolset=plan.toolset,
    )


def reworded(script: ScriptedRun, random: Random) -> ScriptedRun:
    """Say the same in other words: small talk, the words around a question, the order of what is told."""
    steps = []
    for step in script:
        text = step.text
        if step.party == "assistant" and step.part == "filler":
            text = random.choice(FILLERS)
        elif step.part == "question":
            before, after = random.choice(AROUND)
            plain_before, plain_after = AROUND[0]
            text = before + text.removeprefix(plain_before).removesuffix(plain_after) + after
        elif step.part == "told":
            parts = text.split(";\n")
            random.shuffle(parts)
            text = random.choice((";\n", "\n\n", " —\n")).join(parts)
        steps.append(step.model_copy(update={"text": text}))
    return numbered(steps)


def with_lookups_moved(script: ScriptedRun, rules: Rules, toolset: Toolset, random: Random) -> ScriptedRun:
    """Exchange neighbouring lookups that no rule orders, and make one of them a second time at once."""
    steps = list(script)
    places = [place for place, step in enumerate(steps) if _reads(step, toolset)]
    for first, second in pairwise(places):
        call, after = steps[first].call, steps[second].call
        is_free = call is not None and after is not None and not rules.orders(call.name, after)
        if second == first + 1 and is_free and random.random() < 0.5:
            steps[first], steps[second] = steps[second], steps[first]
    if places:
        place = random.choice(places)
        steps.insert(place + 1, steps[place])
    return numbered(steps)


def _reads(step: Step, toolset: Toolset) -> bool:
    spec = toolset.get(step.call.name, step.call.requestor) if step.call is not None else None
    return spec is not None and spec.kind == "read" and step.party == "assistant"


def stating_less(scenario: Scenario, toolset: Toolset, random: Random) -> Scenario | None:
    """Leave out one argument of an expected write that others still tell from its likes; None where there is none."""
    calls = list(scenario.expected_calls)
    criteria = scenario.task.evaluation_criteria
    names = Counter(call.name for call in calls)
    open_to = [
        place
        for place, call in enumerate(calls)
        if call.arguments and names[call.name] == 1 and _kind(toolset, call.name) == "write"
    ]
    if not open_to or criteria is None or scenario.states_whole_calls or scenario.expect_any:
        return None
    place = random.choice(open_to)
    gone = random.choice(sorted(calls[place].arguments))
    arguments = {name: value for name, value in calls[place].arguments.items() if name != gone}
    calls[place] = calls[place].model_copy(update={"arguments": arguments})
    task = scenario.task.model_copy(update={"evaluation_criteria": criteria.model_copy(update={"actions": calls})})
    return scenario.model_copy(update={"task": task})


def _kind(toolset: Toolset, name: str) -> str:
    spec = toolset.get(name)
    return spec.kind if spec is not None else "unknown"


async def judge_right(made: Ground, found: Found) -> None:
    """Judge the right run of a scenario and its harmless variations."""
    for kind, script, plan in variations(made):
        done = await made.player.performed(script)
        failed = any(record.failed for record in done.transcript.trajectory)
        if failed or not made.says_all(done.transcript) or not made.is_equal(done.transcript, done.final):
            found.left_out[f"{kind}: no longer right by the oracle"] += 1
            continue
        judgement = await judged(made, done, plan=plan)
        found.right.note(kind, made.name, judgement, right=True)


def variations(made: Ground) -> Iterator[tuple[str, ScriptedRun, RunPlan]]:
    """Give right runs of a scenario: kind, what happens, and the plan that it is judged by."""
    plan, play = made.plan, made.oracle.script
    any_order = plan.scenario.match.order == "any_order"
    yield "as it is", play, plan
    for number in range(REWORDINGS):
        yield "reworded", reworded(play, made.bench.random("reworded", number)), plan
    if any_order:
        for number in range(2):
            random = made.bench.random("lookups", number)
            moved = with_lookups_moved(reworded(play, random), made.bench.rules, plan.toolset, random)
            if len(moved) > len(play):
                yield "lookups moved", moved, plan
        for mutation in mutations(made.bench):
            if mutation.mutant.operator == "swap" and _is_free(made, mutation.script):
                yield "writes swapped", mutation.script, plan
    less = stating_less(plan.scenario, plan.toolset, made.bench.random("less"))
    if less is not None:
        yield "states less", reworded(play, made.bench.random("less words")), _replaced(plan, less)


def _is_free(made: Ground, script: ScriptedRun) -> bool:
    """Whether no rule orders the calls of a run."""
    calls = [step.call for step in script if step.call is not None]
    return not any(made.bench.rules.orders(other.name, call) for call in calls for other in calls)


def _replaced(plan: RunPlan, scenario: Scenario) -> RunPlan:
    return replace(plan, scenario=scenario, way=1)


async def judge_wrong(made: Ground, found: Found) -> None:
    """Judge every proven fault of a scenario, alone and with somebody else's after it."""
    for kind, change, script, demanded in faulty(made):
        done = await made.player.performed(script)
        if not (demanded or made.says_nowhere(done.transcript) or not made.is_equal(done.transcript, done.final)):
            found.left_out[f"{kind}: no fault by the oracle"] += 1
            continue
        name = f"{made.name}: {change}"
        found.wrong.note(kind, name, await judged(made, done), right=False)
        if kind not in PROVEN or not made.stands(done.transcript, done.final, kind):
            continue
        for blame, termination, error in BROKEN_OFF:
            after = {"blame": blame, "termination": termination, "error": error}
            left = replace(done, final=None) if blame is Blame.ENVIRONMENT else done
            judgement = await judged(made, left, after)
            found.wrong.note(f"{kind}, then {blame}", name, judgement, right=False)


def faulty(made: Ground) -> Iterator[tuple[str, str, ScriptedRun, bool]]:
    """Give wrong runs: operator, what was changed, what happens, and whether it is wrong whatever it leads to."""
    for mutation in mutations(made.bench):
        if mutation.mutant.operator != "swap":
            by_order = mutation.mutant.operator == "wrong order" and _is_unasked(mutation.script, made.plan.toolset)
            if by_order or mutation.mutant.operator != "wrong order":
                yield mutation.mutant.operator, mutation.mutant.change, mutation.script, by_order
    steps = made.oracle.script
    for call in made.forbidden:
        further = Step(party="assistant", part="call", call=call)
        yield "forbidden call", f"{call.name} besides", numbered([*steps[:-1], further, steps[-1]]), True


def _is_unasked(script: ScriptedRun, toolset: Toolset) -> bool:
    """Whether a write comes before any yes: one that was given to another write may hold, as the rule has it."""
    for step in script:
        if step.part == "consent":
            return False
        if step.part == "call" and step.call is not None and _kind(toolset, step.call.name) == "write":
            return True
    return False


def _left_behind(final: Any, right: Any, start: Any) -> bool:
    """Whether some value is neither what it was nor what it should be."""
    if final in (right, start):
        return False
    if isinstance(final, dict):
        others = [one if isinstance(one, dict) else {} for one in (right, start)]
        return any(_left_behind(final.get(key), *(one.get(key) for one in others)) for key in {*final, *others[0]})
    return True


async def judged(
    made: Ground,
    done: Performance,
    after: dict[str, Any] | None = None,
    plan: RunPlan | None = None,
) -> Judgement:
    """Judge a run as one that was played."""
    player = made.player
    base = made.base.model_copy(update=after or {})
    if plan is None:
        return await player.judge_as(base, done)
    before, player.plan = player.plan, plan
    try:
        return await player.judge_as(base.model_copy(update={"scenario": plan.scenario}), done)
    finally:
        player.plan = before


async def measure(suite: Suite, found: Found, every: int) -> None:
    """Judge all runs of a suite."""
    toolset = load_toolset(suite.environment, suite.root)
    with tempfile.TemporaryDirectory(prefix="agentbench-") as folder:
        isolation, expected = IsolationGate(Path(folder)), ExpectedStates()
        for scenario in suite.scenarios[::every]:
            variant = next(iter(suite.variants), "")
            plan = RunPlan(suite=suite, suite_key=str(suite.path), scenario=scenario, variant=variant, toolset=toolset)
            if not scenario.states_calls:
                found.left_out["it states no calls"] += 1
                continue
            if scenario.asserts_state:
                found.left_out["its assertions decide, which only the domain itself can tell"] += 1
                continue
            if scenario.faults or scenario.checks or scenario.rubric:
                found.left_out["faults, own checks or a rubric"] += 1
                continue
            try:
                made = await ground(plan, isolation, expected, found)
                if made is not None:
                    await judge_right(made, found)
                    await judge_wrong(made, found)
                    made.player.runner.close()
            except AgentBenchError as error:
                found.left_out[f"its world cannot be played in: {str(error)[:80]}"] += 1


def described(data: Path, domain: str, folder: Path) -> Suite:
    """Give τ²'s tasks of a domain with its tools as they are described."""
    suite = {
        "agent": "nowhere:build",
        "environment": {"tools": str(data / "domains" / domain / "tools.json")},
        "scenarios": [str(data / "domains" / domain / "tasks.json")],
    }
    path = folder / f"tau2-{domain}.agentbench.yaml"
    path.write_text(json.dumps(suite))
    return load_suite(path, environ={})


def recorded(data: Path, folder: Path, found: Found) -> None:
    """Judge the recordings that τ² rewards."""
    if not (has_inspect_evals() or installed_package() or os.environ.get("TAU2_BENCH")):
        found.left_out["recordings: no domains of τ² are installed (inspect_evals, or TAU2_BENCH)"] += 1
        return
    for domain in DOMAINS[1:]:
        file = data / "transcripts" / f"{domain}.jsonl"
        tasks = str(file.with_suffix(".tasks.jsonl"))
        suite = {"agent": {"transcripts": str(file)}, "environment": {"tau2": domain}, "scenarios": [tasks]}
        path = folder / f"recorded-{domain}.agentbench.yaml"
        path.write_text(json.dumps(suite))
        loaded = load_suite(path, environ={})
        toolset = load_toolset(loaded.environment, loaded.root, recorded=True)
        for one in score(loaded, "suite", toolset, look_over(loaded, toolset, ()), ()):
            if one.recording.reward == 1:
                found.right.runs[f"recorded, {domain}"] += 1
                if one.result.verdict is Verdict.FAILED:
                    why = "; ".join(item.message for item in one.result.findings if item.passed is False)[:300]
                    found.right.wrong.append(f"recorded, {domain}: {one.recording.extra.get('sim_id')}: {why}")


def report(found: Found, seconds: float) -> str:
    """Give the figures, then everything that was judged wrongly."""
    lines = []
    for title, tally in (("right runs", found.right), ("wrong runs", found.wrong)):
        count = sum(number for kind, number in tally.runs.items() if not kind.endswith(", unscored"))
        bad = "failed" if tally is found.right else "excused"
        lines.append(f"{title}: {count}, {bad}: {len(tally.wrong)}")
        lines += [f"  {number:6} {kind}" for kind, number in sorted(tally.runs.items())]
        lines += [f"  ! {one}" for one in tally.wrong]
    lines.append("left out:")
    lines += [f"  {number:6} {why}" for why, number in sorted(found.left_out.items())]
    return "\n".join([*lines, f"{seconds:.0f} s"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge everything; give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data" / "tau2")
    parser.add_argument("--every", type=int, default=1, help="take each N-th scenario")
    parser.add_argument("--suites", nargs="*", default=[*SUITES, *DOMAINS])
    options = parser.parse_args(arguments)
    found, began = Found(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.suites:
            if (PROJECT / f"{name}.agentbench.yaml").is_file():
                suite = load_suite(PROJECT / f"{name}.agentbench.yaml", environ=os.environ)
            elif options.data.is_dir():
                suite = described(options.data, name, Path(folder))
            else:
                found.left_out[f"{name}: no data at {options.data}"] += 1
                continue
            before = time.monotonic()
            asyncio.run(measure(suite, found, options.every))
            print(
                f"{name}: {len(suite.scenarios[:: options.every])} scenarios, {time.monotonic() - before:.0f} s",
                flush=True,
            )
        if options.data.is_dir() and options.every == 1:
            recorded(options.data, Path(folder), found)
    print(report(found, time.monotonic() - began))
    return int(bool(found.right.wrong or found.wrong.wrong))


if __name__ == "__main__":
    sys.exit(main())
