"""`agentbench parity`: our τ² verdicts beside the recorded ones, counted per domain and sub-check."""

import argparse
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import EnvironmentFaultError, Problem, SuiteError
from pytest_agentbench.core.json_values import same
from pytest_agentbench.core.names import count as counted
from pytest_agentbench.core.run import Run, RunKey
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.environment.schema_tools import read_schema_tools
from pytest_agentbench.spec.loading import read_text
from pytest_agentbench.suites.scenario_files import load_scenarios
from pytest_agentbench.suites.transcripts import Recording, ScenarioIndex, read_recordings
from pytest_agentbench.tau2.checkout import find_source
from pytest_agentbench.tau2.replay import Replayed, Replayer
from pytest_agentbench.tau2.reward import NO_JUDGE, NO_WORLD, Tau2Reward, same_writes, tau2_reward
from pytest_agentbench.tau2.tasks import task_to_scenario

CALLS_ONLY = "DB (calls only)"
"""The row of the stand-in for DB that looks at calls alone; it claims no agreement."""

ROWS = ("reward", "DB", CALLS_ONLY, "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION")

Agreement = Literal["agree", "differ", "skipped"]


class Compared(Model):
    """One recorded sub-check beside ours; `name` says which of several, `why` why it was skipped."""

    run: str
    row: str
    name: str = ""
    recorded: float | bool
    ours: float | bool | None
    why: str = ""

    @property
    def agreement(self) -> Agreement:
        """Whether both say the same; what we did not measure is skipped."""
        if self.ours is None:
            return "skipped"
        return "agree" if float(self.ours) == float(self.recorded) else "differ"


class Tally(Model):
    """How often a row agreed, differed and was skipped in one domain."""

    domain: str
    row: str
    agree: int = 0
    differ: int = 0
    skipped: int = 0

    @property
    def n(self) -> int:
        """The number of recorded sub-checks."""
        return self.agree + self.differ + self.skipped


def compare(run: str, info: Mapping[str, Any], ours: Tau2Reward, calls_only: bool | None) -> Iterator[Compared]:
    """Hold a recorded `reward_info` against our reward, all that τ² recorded and nothing else.

    `calls_only` is what `reward.same_writes` says. A recorded sub-check that we do not have, or another one than ours,
    differs.
    """
    yield Compared(
        run=run, row="reward", recorded=info["reward"], ours=ours.reward, why="a part that its basis names was skipped"
    )
    database = info.get("db_check")
    if database is not None:
        recorded = bool(database["db_match"])
        yield Compared(run=run, row="DB", recorded=recorded, ours=_nth(ours, "DB", 0), why=NO_WORLD)
        yield Compared(
            run=run,
            row=CALLS_ONLY,
            recorded=recorded,
            ours=calls_only,
            why="both parties write, or the kind of a tool is not known",
        )
    for row, key, name, met in (
        ("ENV_ASSERTION", "env_assertions", "env_assertion", "met"),
        ("ACTION", "action_checks", "action", "action_match"),
        ("COMMUNICATE", "communicate_checks", "info", "met"),
        ("NL_ASSERTION", "nl_assertions", "nl_assertion", "met"),
    ):
        for index, check in enumerate(info.get(key) or ()):
            ours_here = _nth(ours, row, index)
            why = NO_JUDGE if row == "NL_ASSERTION" else NO_WORLD if _unreplayed(ours) else "; ".join(ours.reasons)
            yield Compared(
                run=run, row=row, name=_name(check[name]), recorded=bool(check[met]), ours=ours_here, why=why
            )
        extra = len(ours.checks.get(row, ())) - len(info.get(key) or ())
        if extra > 0 and row != "NL_ASSERTION" and info.get("reward_basis") is not None:
            yield Compared(run=run, row=row, name=f"{extra} more than recorded", recorded=0.0, ours=-1.0)


def tally(found: Iterable[tuple[str, Compared]]) -> list[Tally]:
    """Count agreements per domain and row, domains in the order met, rows in the order of `ROWS`."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    domains: dict[str, None] = {}
    for domain, one in found:
        domains[domain] = None
        row = counts.setdefault((domain, one.row), {"agree": 0, "differ": 0, "skipped": 0})
        row[one.agreement] += 1
    return [
        Tally(domain=domain, row=row, **counts[domain, row])
        for domain in domains
        for row in ROWS
        if (domain, row) in counts
    ]


def is_the_task(expected: Sequence[Mapping[str, Any]], info: Mapping[str, Any]) -> bool:
    """Whether a recording was graded with these expected calls: its recorded actions are theirs, one by one.

    A recording is only reproducible with the task it was graded with, and task files change.
    """
    recorded = [check["action"] for check in info.get("action_checks") or ()]
    if not recorded:
        return True
    return len(recorded) == len(expected) and all(
        one["name"] == other["name"] and same(one["arguments"], other["arguments"])
        for one, other in zip(recorded, expected, strict=True)
    )


def _unreplayed(ours: Tau2Reward) -> bool:
    return _nth(ours, "DB", 0) is None


def _nth(ours: Tau2Reward, row: str, index: int) -> bool | None:
    checks = ours.checks.get(row, ())
    return checks[index] if index < len(checks) else None


def _name(check: object) -> str:
    if isinstance(check, Mapping):
        return str(check.get("action_id") or check.get("func_name") or check.get("name"))
    return str(check)


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
        lines.append(
            printable(f"{domain or '(no domain)'}: {counted(count, 'recording')}{', ' if origin else ''}{origin}")
        )
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
