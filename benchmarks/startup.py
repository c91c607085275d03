"""What the plugin costs a session that does not use it: CPU time of `pytest` with and without our entry point.

    python benchmarks/startup.py [--rounds 9]

Each round runs, in turn, a session of one empty test with all installed plugins, the same without our entry point,
and the same without anyio's plugin, which comes with httpx and openai. Prints minimum and median CPU milliseconds.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

VARIANTS = {
    "with the plugin": (),
    "without our entry point": ("-p", "no:agentbench"),
    "with the plugin, -p no:anyio": ("-p", "no:anyio"),
}


def cpu_seconds(folder: Path, arguments: tuple[str, ...]) -> float:
    """Run a session and give the CPU seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
        cpu_seconds(folder, ())
        for _ in range(rounds):
            for variant, arguments in VARIANTS.items():
                times[variant].append(cpu_seconds(folder, arguments))
    print(f"CPU ms of `pytest` on one empty test, {rounds} rounds, {os.cpu_count()} cores")
    for variant, seconds in times.items():
        print(f"  {variant:32} min {min(seconds) * 1000:6.0f}   median {statistics.median(seconds) * 1000:6.0f}")
    with_, without = (times[name] for name in list(VARIANTS)[:2])
    differences = [a - b for a, b in zip(with_, without, strict=True)]
    print(f"  start-up tax                     min {(min(with_) - min(without)) * 1000:6.0f}   ", end="")
    print(f"median of pairs {statistics.median(differences) * 1000:.0f}")


if __name__ == "__main__":
    main()
