"""`agentbench parity`: our τ² verdicts beside the recorded ones, counted per domain and sub-check."""

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, get_args

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

_CHECKS = (
    ("ENV_ASSERTION", "env_assertions", "env_assertion", "met"),
    ("ACTION", "action_checks", "action", "action_match"),
    ("COMMUNICATE", "communicate_checks", "info", "met"),
    ("NL_ASSERTION", "nl_assertions", "nl_assertion", "met"),
)
"""The rows of several checks, and the keys of a recording: the list, and in it what was checked and how it came out."""

Agreement = Literal["agree", "differ", "skipped"]

TASKS = ".tasks.jsonl"
"""Files of this ending hold the tasks of the recordings beside them."""

DIFFERING, SKIPPED = 1, 3
MOST_SHOWN = 40


class Compared(Model):
    """One recorded sub-check beside ours; `name` says which of several, `why` why it was skipped."""

    domain: str
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


def compare(
    domain: str, run: str, info: Mapping[str, Any], ours: Tau2Reward, calls_only: bool | None
) -> Iterator[Compared]:
    """Hold a recorded `reward_info` against our reward, all that τ² recorded and nothing else.

    `calls_only` is what `reward.same_writes` says. A recorded sub-check that we do not have, or another one than ours,
    differs.
    """
    compared = partial(Compared, domain=domain, run=run)
    why = "a part that its basis names was skipped"
    yield compared(row="reward", recorded=info["reward"], ours=ours.reward, why=why)
    replayed = _nth(ours, "DB", 0)
    if (database := info.get("db_check")) is not None:
        recorded = bool(database["db_match"])
        yield compared(row="DB", recorded=recorded, ours=replayed, why=NO_WORLD)
        why = "both parties write, or the kind of a tool is not known"
        yield compared(row=CALLS_ONLY, recorded=recorded, ours=calls_only, why=why)
    for row, key, name, met in _CHECKS:
        checks = info.get(key) or ()
        why = NO_JUDGE if row == "NL_ASSERTION" else NO_WORLD if replayed is None else "; ".join(ours.reasons)
        for index, check in enumerate(checks):
            recorded, here = bool(check[met]), _nth(ours, row, index)
            yield compared(row=row, name=_name(check[name]), recorded=recorded, ours=here, why=why)
        extra = len(ours.checks.get(row, ())) - len(checks)
        if extra > 0 and row != "NL_ASSERTION" and info.get("reward_basis") is not None:
            yield compared(row=row, name=f"{extra} more than recorded", recorded=0.0, ours=-1.0)


def _nth(ours: Tau2Reward, row: str, index: int) -> bool | None:
    checks = ours.checks.get(row, ())
    return checks[index] if index < len(checks) else None


def _name(check: object) -> str:
    if isinstance(check, Mapping):
        return str(check.get("action_id") or check.get("func_name") or check.get("name"))
    return str(check)


def tally(found: Sequence[Compared]) -> list[dict[str, Any]]:
    """Count agreements per domain and row, domains in the order met, rows in the order of `ROWS`."""
    counts = Counter((one.domain, one.row, one.agreement) for one in found)
    rows: list[dict[str, Any]] = []
    for domain in dict.fromkeys(one.domain for one in found):
        for row in ROWS:
            each = {kind: counts[domain, row, kind] for kind in get_args(Agreement)}
            if n := sum(each.values()):
                rows.append({"domain": domain, "row": row, **each, "n": n})
    return rows


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


def parity(files: Sequence[Path], *, domains: Path | None, world: str, as_json: bool) -> tuple[str, int]:
    """Give the agreement table and the exit status: 1 where an exact sub-check differs, else 3 where one was skipped.

    `files` are τ² recordings, one a line, with `domain`, `reward_info` and a task to be found: in `NAME.tasks.jsonl`
    beside `NAME.jsonl`, else in `domains`/DOMAIN/tasks.json. `domains`/DOMAIN/tools.json says what tools there are.
    `world` is `auto`, `none` or a checkout of τ²-bench. What cannot be read or has no task is skipped and named; raise
    `SuiteError` where nothing is left.
    """
    known = _Domains(domains, world)
    found: list[Compared] = []
    runs: Counter[str] = Counter()
    problems: list[Problem] = []
    for file in files:
        if file.name.endswith(TASKS):
            continue
        for domain, recording, scenario in _graded(file, domains, problems):
            runs[domain] += 1
            found += known.compared(domain, recording, scenario)
    if problems and not runs:
        raise SuiteError(problems)
    outcomes = {one.agreement for one in found if one.row != CALLS_ONLY}
    status = DIFFERING if "differ" in outcomes else SKIPPED if problems or "skipped" in outcomes else 0
    return _json(found, problems) if as_json else _table(found, runs, known, problems), status


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
        self._all = _index(self.beside) if self.beside.is_file() else None
        if self._all is None and file.suffix == ".json":
            self._read_results(file)

    def of(self, domain: str) -> ScenarioIndex | None:
        """Give the tasks of a domain, None where they are not at hand."""
        if self._all is not None or self._domains is None:
            return self._all
        return _index(self._domains / domain / "tasks.json")

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


@lru_cache(maxsize=16)
def _index(file: Path) -> ScenarioIndex:
    return ScenarioIndex(load_scenarios(file, environ={}))


class _Domains:
    """The tools and the world of each domain, why there is no world, and the CPU time spent replaying."""

    def __init__(self, folder: Path | None, world: str) -> None:
        self.origins: dict[str, str] = {}
        self.missing: dict[str, None] = {}
        self.spent: defaultdict[str, list[float]] = defaultdict(list)
        self._folder, self._world = folder, world
        self._replayers: dict[str, Replayer | None] = {}
        self._toolsets: dict[str, Toolset] = {}

    def compared(self, domain: str, recording: Recording, scenario: Scenario) -> Iterator[Compared]:
        """Reward a recording, and hold that against what was recorded."""
        info = recording.extra["reward_info"]
        basis, criteria = info.get("reward_basis"), scenario.task.evaluation_criteria
        if criteria is not None and basis is not None:
            # what was recorded may leave a part of the task's basis out, which is no disagreement about any part
            graded = criteria.model_copy(update={"reward_basis": list(basis)})
            task = scenario.task.model_copy(update={"evaluation_criteria": graded})
            scenario = scenario.model_copy(update={"task": task})
        run = Run(
            key=RunKey(suite=domain, scenario=scenario.id),
            scenario=scenario,
            transcript=recording.transcript,
            termination=recording.termination or Termination.FINISHED,
            stop_reason=recording.stop_reason,
            toolset=self._toolset(domain),
        )
        replayed = self._replay(domain, run, solo=recording.extra.get("solo") is True) if run.finished else None
        name = str(recording.extra.get("sim_id") or f"{recording.scenario} {recording.label}".strip())
        calls_only = same_writes(run) if run.finished else None
        yield from compare(domain, name, info, tau2_reward(run, replayed), calls_only)

    def _replay(self, domain: str, run: Run, *, solo: bool) -> Replayed | None:
        replayer = self._replayer(domain)
        if replayer is None:
            return None
        begun = time.process_time()
        replayed = replayer.replay(run.scenario.task, [record.call for record in run.transcript.trajectory], solo=solo)
        self.spent[domain].append(time.process_time() - begun)
        return replayed

    def _toolset(self, domain: str) -> Toolset:
        """Give the tools of a domain: from the tools.json in its folder, else from its world."""
        if domain not in self._toolsets:
            file = self._folder / domain / "tools.json" if self._folder else None
            if file is not None and file.is_file():
                self._toolsets[domain] = Toolset(specs=tuple(read_schema_tools(file)))
            else:
                replayer = self._replayer(domain)
                self._toolsets[domain] = replayer.source.toolset if replayer else Toolset()
        return self._toolsets[domain]

    def _replayer(self, domain: str) -> Replayer | None:
        if domain not in self._replayers:
            self._replayers[domain] = self._found(domain)
        return self._replayers[domain]

    def _found(self, domain: str) -> Replayer | None:
        if self._world == "none":
            self.origins[domain] = "not replayed, as asked"
            return None
        try:
            source = find_source(domain, None if self._world == "auto" else Path(self._world))
        except EnvironmentFaultError as error:
            if self._world != "auto":
                raise
            self.origins[domain] = "not replayed"
            self.missing[str(error)] = None
            return None
        self.origins[domain] = f"replayed in {source.origin}"
        return Replayer(source)


def _table(found: Sequence[Compared], runs: Mapping[str, int], known: _Domains, problems: Sequence[Problem]) -> str:
    lines = [f"{'':28}{'recorded':>10}{'agree':>8}{'differ':>8}{'skipped':>9}"]
    tallies = tally(found)
    for domain, number in runs.items():
        facts = [counted(number, "recording"), known.origins.get(domain, "")]
        lines.append(printable(f"{domain or '(no domain)'}: {', '.join(filter(None, facts))}"))
        lines += [
            f"  {one['row']:26}{one['n']:>10}{one['agree']:>8}{one['differ']:>8}{one['skipped']:>9}"
            for one in tallies
            if one["domain"] == domain
        ]
        if seconds := known.spent.get(domain):
            lines.append(f"  {1000 * sum(seconds) / len(seconds):.2f} ms CPU a conversation to replay and compare")
    lines += _skipped(found, known, problems)
    return "\n".join(lines + _differing(found, exact=True) + _differing(found, exact=False))


def _skipped(found: Sequence[Compared], known: _Domains, problems: Sequence[Problem]) -> list[str]:
    reasons = Counter((one.row, one.why) for one in found if one.agreement == "skipped")
    lines = [f"  {row}: {number} × {printable(shorten(why, 300))}" for (row, why), number in reasons.items()]
    lines += [printable(f"  not replayed: {why}") for why in known.missing]
    lines += [printable(f"  not compared: {problem}") for problem in problems[:MOST_SHOWN]]
    if (rest := len(problems) - MOST_SHOWN) > 0:
        lines.append(f"  and {rest} more that are not compared (--json lists all)")
    return ["skipped", *lines] if lines else []


def _differing(found: Sequence[Compared], *, exact: bool) -> list[str]:
    """List what differs; the row that looks at calls alone apart, since nobody claims that it agrees."""
    picked = [one for one in found if one.agreement == "differ" and (one.row != CALLS_ONLY) is exact]
    if not picked:
        return ["differ: none"] if exact else []
    lines = ["differ" if exact else f"differ in {CALLS_ONLY}, which claims no agreement"]
    for one in picked[:MOST_SHOWN]:
        place = f"{one.domain} {one.run} {one.row} {shorten(one.name, 60)}"
        lines.append(printable(f"  {place}: recorded {one.recorded}, ours {one.ours}"))
    rest = len(picked) - MOST_SHOWN
    return [*lines, f"  and {rest} more (--json lists all)"] if rest > 0 else lines


def _json(found: Sequence[Compared], problems: Sequence[Problem]) -> str:
    differ = [one for one in found if one.agreement == "differ"]
    return dumps({"table": tally(found), "differ": differ, "not_compared": list(map(str, problems))}, indent=2)


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
