"""`agentbench parity`: our τ² verdicts beside the recorded ones, counted per domain and sub-check."""

import argparse
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentbench.checks.tau2 import CALLS_ONLY, Compared, compare, is_the_task, same_writes, tally, tau2_reward
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import EnvironmentFaultError, Problem, SuiteError
from pytest_agentbench.core.run import Run, RunKey
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.environment.schema_tools import read_schema_tools
from pytest_agentbench.environment.tau2_bridge.replay import Replayed, Replayer
from pytest_agentbench.environment.tau2_bridge.source import find_source
from pytest_agentbench.spec.loading import read_text
from pytest_agentbench.suites.recording import Recording, ScenarioIndex
from pytest_agentbench.suites.scenario_files import load_scenarios
from pytest_agentbench.suites.tau2 import task_to_scenario
from pytest_agentbench.suites.transcripts import read_recordings

TASKS = ".tasks.jsonl"
"""Files of this ending hold the tasks of the recordings beside them."""

DIFFERING = 1
SKIPPED = 3
MOST_SHOWN = 40


def parity(files: Sequence[Path], *, domains: Path | None, world: str, as_json: bool) -> tuple[str, int]:
    """Give the agreement table and the exit status: 1 where an exact sub-check differs, else 3 where one was skipped.

    `files` are τ² recordings, one a line, with `domain`, `reward_info` and a task to be found: in `NAME.tasks.jsonl`
    beside `NAME.jsonl`, else in `domains`/DOMAIN/tasks.json. `domains`/DOMAIN/tools.json says what tools there are.
    `world` is `auto`, `none` or a checkout of τ²-bench. What cannot be read or has no task is skipped and named; raise
    `SuiteError` where nothing is left.
    """
    worlds = _Worlds(world)
    kinds = _Kinds(domains)
    found: list[tuple[str, Compared]] = []
    runs: dict[str, int] = {}
    problems: list[Problem] = []
    for file in files:
        if file.name.endswith(TASKS):
            continue
        for domain, recording, scenario in _graded(file, domains, problems):
            runs[domain] = runs.get(domain, 0) + 1
            found += _compared(domain, recording, scenario, worlds, kinds)
    if problems and not runs:
        raise SuiteError(problems)
    differs = any(one.agreement == "differ" and one.row != CALLS_ONLY for _, one in found)
    skipped = bool(problems) or any(one.agreement == "skipped" and one.row != CALLS_ONLY for _, one in found)
    text = _json(found, problems) if as_json else _table(found, runs, worlds, problems)
    return text, DIFFERING if differs else SKIPPED if skipped else 0


def _graded(file: Path, domains: Path | None, problems: list[Problem]) -> Iterator[tuple[str, Recording, Scenario]]:
    """Give the recordings of a file that have a recorded verdict, each with the task it was graded with."""
    tasks = _Tasks(file, domains)
    for recording in _readable(file, problems):
        domain = str(recording.extra.get("domain") or tasks.domain)
        index = tasks.of(domain)
        scenario = index.find(recording) if index else None
        info = recording.extra.get("reward_info")
        why = ""
        if not isinstance(info, dict) or "reward" not in info:
            why = "the recording holds no reward_info to compare with"
        elif scenario is None:
            why = f"no task {recording.scenario!r} is at hand: give {tasks.beside.name} beside it, or --domains"
        elif not is_the_task([call.model_dump() for call in scenario.expected_calls], info):
            why = f"it was graded with another version of task {recording.scenario!r}"
        if why or scenario is None:
            problems.append(Problem(file=file, line=recording.line, column=1, message=why))
            continue
        yield domain, recording, scenario


def _readable(file: Path, problems: list[Problem]) -> Iterator[Recording]:
    """Give the recordings of a file; what is no recording is a problem."""
    try:
        yield from read_recordings(file)
    except SuiteError as error:
        problems += error.problems


class _Tasks:
    """The tasks that a file's recordings were graded with: its own, those of the file beside it, or the domain's."""

    def __init__(self, file: Path, domains: Path | None) -> None:
        self.beside = file.with_name(file.name.removesuffix(file.suffix) + TASKS)
        self.domain = ""
        self._domains = domains
        self._known: dict[str, ScenarioIndex] = {}
        self._all = ScenarioIndex(load_scenarios(self.beside, environ={})) if self.beside.is_file() else None
        if self._all is None and file.suffix == ".json":
            self._read_results(file)

    def of(self, domain: str) -> ScenarioIndex | None:
        """Give the tasks of a domain, None where they are not at hand."""
        if self._all is not None or self._domains is None:
            return self._all
        if domain not in self._known:
            self._known[domain] = ScenarioIndex(load_scenarios(self._domains / domain / "tasks.json", environ={}))
        return self._known[domain]

    def _read_results(self, file: Path) -> None:
        """Take tasks and domain from a results file, which holds both."""
        try:
            value = json.loads(read_text(file))
        except ValueError:  # the reader of recordings says what is wrong with it
            return
        if isinstance(value, dict) and isinstance(value.get("tasks"), list):
            found = [task_to_scenario(task) for task in value["tasks"]]
            self._all = ScenarioIndex(one for one in found if isinstance(one, Scenario))
            stated = ((value.get("info") or {}).get("environment_info") or {}).get("domain_name")
            self.domain = str(stated or "")


def _compared(
    domain: str, recording: Recording, scenario: Scenario, worlds: "_Worlds", kinds: "_Kinds"
) -> Iterable[tuple[str, Compared]]:
    info = recording.extra["reward_info"]
    basis = info.get("reward_basis")
    criteria = scenario.task.evaluation_criteria
    if criteria is not None and basis is not None:
        # what was recorded may leave a part of the task's basis out, which is no disagreement about any part
        graded = criteria.model_copy(update={"reward_basis": list(basis)})
        scenario = scenario.model_copy(
            update={"task": scenario.task.model_copy(update={"evaluation_criteria": graded})}
        )
    run = Run(
        key=RunKey(suite=domain, scenario=scenario.id),
        scenario=scenario,
        transcript=recording.transcript,
        termination=recording.termination or Termination.FINISHED,
        stop_reason=recording.stop_reason,
        toolset=kinds.of(domain, worlds),
    )
    replayed = worlds.replay(domain, run, solo=recording.extra.get("solo") is True) if run.finished else None
    name = str(recording.extra.get("sim_id") or f"{recording.scenario} {recording.label}".strip())
    ours = tau2_reward(run, replayed)
    for one in compare(name, info, ours, same_writes(run) if run.finished else None):
        yield domain, one


class _Kinds:
    """The tools of each domain: from `domains`/DOMAIN/tools.json, else from its world."""

    def __init__(self, domains: Path | None) -> None:
        self._domains = domains
        self._known: dict[str, Toolset] = {}

    def of(self, domain: str, worlds: "_Worlds") -> Toolset:
        if domain not in self._known:
            file = self._domains / domain / "tools.json" if self._domains else None
            if file is not None and file.is_file():
                self._known[domain] = Toolset(specs=tuple(read_schema_tools(file)))
            else:
                replayer = worlds.of(domain)
                self._known[domain] = replayer.source.toolset if replayer else Toolset()
        return self._known[domain]


@dataclass
class _Worlds:
    """The replayers of each domain, why there is none, and the CPU time spent replaying."""

    asked: str
    origins: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    spent: dict[str, list[float]] = field(default_factory=dict)
    _known: dict[str, Replayer | None] = field(default_factory=dict)

    def of(self, domain: str) -> Replayer | None:
        if domain not in self._known:
            self._known[domain] = self._found(domain)
        return self._known[domain]

    def replay(self, domain: str, run: Run, *, solo: bool) -> Replayed | None:
        replayer = self.of(domain)
        if replayer is None:
            return None
        begun = time.process_time()
        replayed = replayer.replay(run.scenario.task, [record.call for record in run.transcript.trajectory], solo=solo)
        self.spent.setdefault(domain, []).append(time.process_time() - begun)
        return replayed

    def _found(self, domain: str) -> Replayer | None:
        if self.asked == "none":
            self.origins[domain] = "not replayed, as asked"
            return None
        try:
            source = find_source(domain, None if self.asked == "auto" else Path(self.asked))
        except EnvironmentFaultError as error:
            if self.asked != "auto":
                raise
            self.origins[domain] = "not replayed"
            self.missing.append(str(error))
            return None
        self.origins[domain] = f"replayed in {source.origin}"
        return Replayer(source)


def _table(
    found: Sequence[tuple[str, Compared]], runs: dict[str, int], worlds: _Worlds, problems: Sequence[Problem]
) -> str:
    lines = [f"{'':28}{'recorded':>10}{'agree':>8}{'differ':>8}{'skipped':>9}"]
    tallies = tally(found)
    for domain, count in runs.items():
        origin = worlds.origins.get(domain, "")
        lines.append(printable(f"{domain or '(no domain)'}: {count} recordings{', ' if origin else ''}{origin}"))
        lines += [
            f"  {one.row:26}{one.n:>10}{one.agree:>8}{one.differ:>8}{one.skipped:>9}"
            for one in tallies
            if one.domain == domain
        ]
        if seconds := worlds.spent.get(domain):
            lines.append(f"  {1000 * sum(seconds) / len(seconds):.2f} ms CPU a conversation to replay and compare")
    lines += _skipped(found, worlds, problems)
    return "\n".join(lines + _differing(found, exact=True) + _differing(found, exact=False))


def _skipped(found: Sequence[tuple[str, Compared]], worlds: _Worlds, problems: Sequence[Problem]) -> list[str]:
    reasons: dict[tuple[str, str], int] = {}
    for _, one in found:
        if one.agreement == "skipped":
            key = (one.row, one.why)
            reasons[key] = reasons.get(key, 0) + 1
    lines = [f"  {row}: {count} × {printable(shorten(why, 300))}" for (row, why), count in reasons.items()]
    lines += [printable(f"  not replayed: {why}") for why in dict.fromkeys(worlds.missing)]
    lines += [printable(f"  not compared: {problem}") for problem in problems[:MOST_SHOWN]]
    if (rest := len(problems) - MOST_SHOWN) > 0:
        lines.append(f"  and {rest} more that are not compared (--json lists all)")
    return ["skipped", *lines] if lines else []


def _differing(found: Sequence[tuple[str, Compared]], *, exact: bool) -> list[str]:
    """List what differs; the row that looks at calls alone apart, since nobody claims that it agrees."""
    picked = [(domain, one) for domain, one in found if one.agreement == "differ" and (one.row != CALLS_ONLY) is exact]
    if not picked:
        return ["differ: none"] if exact else []
    title = "differ" if exact else f"differ in {CALLS_ONLY}, which claims no agreement"
    lines = [
        printable(f"  {domain} {one.run} {one.row} {shorten(one.name, 60)}: recorded {one.recorded}, ours {one.ours}")
        for domain, one in picked[:MOST_SHOWN]
    ]
    rest = len(picked) - MOST_SHOWN
    return [title, *lines, *([f"  and {rest} more (--json lists all)"] if rest > 0 else [])]


def _json(found: Sequence[tuple[str, Compared]], problems: Sequence[Problem]) -> str:
    return dumps(
        {
            "table": [one.model_dump() | {"n": one.n} for one in tally(found)],
            "differ": [{"domain": domain, **one.model_dump()} for domain, one in found if one.agreement == "differ"],
            "not_compared": [str(problem) for problem in problems],
        },
        indent=2,
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = (
        "The exit status is 1 where a sub-check differs, else 3 where a recording or a sub-check was skipped; "
        "each reason is printed."
    )
    parser.add_argument(
        "recordings", type=Path, nargs="+", metavar="RECORDINGS", help="τ² results files, or one simulation a line"
    )
    parser.add_argument(
        "--domains", type=Path, metavar="DIR", help="the folder with DOMAIN/tasks.json and DOMAIN/tools.json"
    )
    parser.add_argument(
        "--world",
        default="auto",
        metavar="auto|none|CHECKOUT",
        help="where to replay: what is installed (auto), nowhere, or a checkout of τ²-bench",
    )
    parser.add_argument("--json", action="store_true", help="print the table and all that differs as JSON")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the agreement table and the exit status."""
    return parity(options.recordings, domains=options.domains, world=options.world, as_json=options.json)
