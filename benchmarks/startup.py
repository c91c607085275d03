"""What the plugin costs: CPU time of `pytest` where it is not used, and of a session of one scenario.

    python -m benchmarks.startup [--rounds 9]

Each round runs, in turn: a session of one empty test with all installed plugins; the same without our entry point; the
same without anyio's plugin, which comes with httpx and openai; and a session of one scenario. The last one is held
against the second, which is pytest with the dependencies alone. Bytecode is kept in a folder of the benchmark's own, as
a user has it, whatever the environment says. Prints minimum and median CPU milliseconds.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BARE, USED = "without our entry point", "one scenario"
SESSIONS = {
    "with the plugin": ("nothing",),
    BARE: ("nothing", "-p", "no:agentbench"),
    "with the plugin, -p no:anyio": ("nothing", "-p", "no:anyio"),
    USED: ("bench", "--agentbench"),
}
FILES = {
    "nothing/test_nothing.py": "def test_nothing():\n    pass\n",
    "bench/greeter.py": "def build():\n    return lambda message: 'From 9 am.'\n",
    "bench/agentbench.yaml": "agent: greeter:build\nscenarios:\n"
    "  - {id: hours, says: ['When are you open?'], communicate: ['9 am']}\n",
}


def cpu_seconds(folder: Path, arguments: tuple[str, ...]) -> float:
    """Run a session and give the CPU seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(
        command,
        cwd=folder,
        env={**kept, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    times: dict[str, list[float]] = {name: [] for name in SESSIONS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in FILES.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
        for arguments in SESSIONS.values():  # what is compiled once is not measured
            cpu_seconds(folder, arguments)
        for _ in range(rounds):
            for session, arguments in SESSIONS.items():
                times[session].append(cpu_seconds(folder, arguments))
    print(f"CPU ms of `pytest`, {rounds} rounds, {os.cpu_count()} cores, Python {sys.version.split()[0]}")
    for session, seconds in times.items():
        print(f"  {session:32} min {min(seconds) * 1000:6.0f}   median {statistics.median(seconds) * 1000:6.0f}")
    for told, session in (("start-up tax", "with the plugin"), ("one scenario more than bare", USED)):
        differences = [a - b for a, b in zip(times[session], times[BARE], strict=True)]
        print(f"  {told:32} min {(min(times[session]) - min(times[BARE])) * 1000:6.0f}   ", end="")
        print(f"median of pairs {statistics.median(differences) * 1000:.0f}")


if __name__ == "__main__":
    main()
