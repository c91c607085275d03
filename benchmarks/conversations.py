"""Many conversations at once: wall time, CPU and memory of a session of model-backed runs, beside the plain clients.

    python benchmarks/conversations.py [--scenarios 200] [--latency 0.1] [--in-flight 64] [--only PATTERN]

A scripted model in a process of its own answers every call after `--latency` seconds. Each scenario has 5 user turns
and 16 model calls, the judge's among them: 6 of the simulated user's (the last one closes), 8 of the agent's (3 of its
5 turns call a tool before they speak), one of the critique whether the conversation is over, and one of the judge, who
scores a rubric of two criteria.

- *clients*: the same calls with the same growing conversations, `--in-flight` at a time, through clients as they are.
- *sessions*: `pytest --agentbench` on a generated project, in one process and with `-n 2`.

The floor is calls × latency / in flight. *Calls* is the time from the first request to the last answer, as the server
saw them; *wall* is that of the whole process: pytest's start and its collection before, the results file after. *Own
CPU* of a session is its CPU time less that of a session of one scenario, which starts, imports and collects all the
same, and less what the transport takes for the calls, per scenario. A client's figures are of its calls alone. CPU
times of a machine that does other work as well are up to twice as long. Where a session's go:
docs/research/performance.md.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clients import CLIENTS
from loopback import CALLS, CRITERIA, SYSTEM, Load, goal, served

TOOLS = '''
def look_up(topic: str) -> str:
    """Look something up in the handbook."""
    return f"The handbook says much about {topic}."
'''


def write_project(folder: Path, url: str, load: Load) -> None:
    """Write a suite of model-backed runs."""
    reached = {"base_url": url, "api_key": "none"}
    suite = {
        "agent": {"openai": {"model": "agent", **reached, "system": SYSTEM}},
        "user": {"llm": {"model": "user", **reached}, "critique": 2},
        "judge": {"llm": {"model": "judge", **reached}},
        "auditor": "off",
        "rubric": {"criteria": [{"id": name, "text": text} for name, text in CRITERIA.items()]},
        "environment": {"tools": "handbook"},
        "limits": {"turns": 40},
        "scenarios": [{"id": f"customer-{number:03}", "goal": goal(number)} for number in range(load.scenarios)],
    }
    (folder / "agentbench.yaml").write_text(json.dumps(suite, indent=1))
    (folder / "handbook.py").write_text(TOOLS)


@dataclass(frozen=True)
class Process:
    """What a process took, its children included; `megabytes` is the peak of the largest one."""

    status: int
    wall: float
    cpu: float
    megabytes: float
    printed: str


def run(command: list[str], folder: Path) -> Process:
    """Run a command to its end."""
    log = folder / "printed.txt"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "CI"))}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # what else is installed here is no part of the figures
    began = time.perf_counter()
    with (
        log.open("w") as out,
        subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, env=environment) as process,
    ):
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    cpu = used.ru_utime + used.ru_stime
    return Process(process.returncode, wall, cpu, used.ru_maxrss / 1024, log.read_text())


def run_session(load: Load, *arguments: str) -> tuple[Process, dict[str, Any]]:
    """Run pytest on a new project; give what it took and what the server saw."""
    with tempfile.TemporaryDirectory() as name, served(load) as (url, seen):
        write_project(Path(name), url, load)
        plugins = ("-p", "agentbench", "-p", "xdist", "-p", "no:cacheprovider")
        command = [sys.executable, "-m", "pytest", "--agentbench", "-q", *plugins, *arguments]
        command += [f"--agentbench-concurrency={load.in_flight}"]
        done = run(command, Path(name))
    if done.status != 0:
        print(f"\n{' '.join(arguments) or 'one process'}: exit status {done.status}\n{done.printed[-3000:]}")
    return done, seen


def measure_clients(load: Load, only: re.Pattern[str]) -> dict[str, float]:
    """Print a line for each client; give their CPU seconds per call."""
    print(f"{'clients':26} {'wall s':>7} {'/ floor':>8} {'CPU ms a call':>14} {'server CPU':>11}")
    taken: dict[str, float] = {}
    for name in filter(only.search, CLIENTS):
        with tempfile.TemporaryDirectory() as folder, served(load) as (url, seen):
            given = (name, url, str(load.scenarios), str(load.latency), str(load.in_flight))
            command = [sys.executable, str(Path(__file__).with_name("clients.py")), *given]
            done = run(command, Path(folder))
        if done.status != 0:
            print(f"{name:26} failed: {done.printed.strip().splitlines()[-1]}")
            continue
        figures = json.loads(done.printed.splitlines()[-1])
        taken[name] = figures["cpu"] / load.calls
        wall, theirs = figures["wall"], seen["cpu"] / seen["calls"]
        print(f"{name:26} {wall:7.2f} {wall / load.floor:8.2f} {taken[name] * 1e3:14.2f} {theirs * 1e3:11.2f}")
    return taken


def measure_sessions(load: Load, only: re.Pattern[str], per_call: float) -> None:
    """Print a line for each way to run the suite."""
    idle, _ = run_session(load, "--collect-only")
    print(f"\ncollecting alone: {idle.wall:.2f} s, {idle.cpu:.2f} s CPU, {idle.megabytes:.0f} MB")
    one, _ = run_session(replace(load, scenarios=1, latency=0.0))
    print(f"a session of one scenario, without latency: {one.wall:.2f} s, {one.cpu:.2f} s CPU")
    print(
        f"{'sessions':26} {'wall s':>7} {'calls s':>8} {'/ floor':>8} {'CPU s':>6} {'own CPU ms a scenario':>22} "
        f"{'MB':>5} {'calls':>6} {'peak':>5}"
    )
    for name, arguments in {"one process": (), "-n 2": ("-n", "2")}.items():
        if not only.search(name):
            continue
        done, seen = run_session(load, *arguments)
        starts = one.cpu * (3 if arguments else 1)  # each worker starts and collects, too
        own = (done.cpu - starts - load.calls * per_call) / load.scenarios
        print(
            f"{name:26} {done.wall:7.2f} {seen['seconds']:8.2f} {seen['seconds'] / load.floor:8.2f} {done.cpu:6.2f} "
            f"{own * 1e3:22.2f} {done.megabytes:5.0f} {seen['calls']:6} {seen['peak']:5}"
        )
        for problem in seen["problems"]:
            print(f"  the server was asked for more: {problem}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", type=int, default=200)
    parser.add_argument("--latency", type=float, default=0.1, help="seconds")
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--only", type=re.compile, default=re.compile(""), help="a pattern for names of lines")
    given = parser.parse_args()
    load = Load(given.scenarios, given.latency, given.in_flight)
    print(f"{load.scenarios} scenarios × {CALLS} calls, {load.in_flight} in flight, {load.latency * 1e3:g} ms each")
    print(f"floor {load.floor:.2f} s\n")
    taken = measure_clients(load, given.only)
    if any(given.only.search(name) for name in ("one process", "-n 2")):
        measure_sessions(load, given.only, taken.get("transport", 0.0))


if __name__ == "__main__":
    main()
