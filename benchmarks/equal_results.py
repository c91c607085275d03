"""Whether two versions of the package come to the same results: every suite of the example, every variant.

    python benchmarks/equal_results.py BEFORE AFTER [--suites support,weather]

BEFORE and AFTER are checkouts. Each plays the suites of its own `example_project/` in one process, on two workers, and
resumed after a session that stopped at its first failure, always with the same hash seed. Prints, for each suite and
way, how many runs there are and which differ, in anything but times, places and names.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pytest_agentbench.results.document import comparable, read

SUITES = ("support", "notes", "weather", "generated", "weather_generated", "notes_llm")
WAYS: dict[str, tuple[tuple[str, ...], ...]] = {
    "one process": (("-n", "0"),),
    "two workers": (("-n", "2"),),
    "resumed": (("-n", "0", "-x"), ("-n", "0", "--agentbench-resume")),
}


def played(checkout: Path, suite: str, way: str, folder: Path) -> dict[str, object]:
    """Play a suite of a checkout, and give its results as they compare."""
    model = ("--agentbench-cassette", "replay") if suite.endswith("_llm") else ()
    out = folder / "results.json"
    for arguments in WAYS[way]:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:randomly",
            *arguments,
            *model,
        ]
        own = ["--agentbench", "--agentbench-variant=all", f"--agentbench-json={out}", f"{suite}.agentbench.yaml"]
        subprocess.run(
            [*command, "-o", f"agentbench_dir={folder}", *own],
            cwd=checkout / "example_project",
            env={**os.environ, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    found = comparable(read(out))
    assert isinstance(found, dict)
    return found


def differing(one: dict[str, object], other: dict[str, object]) -> Iterator[str]:
    """Name what differs: runs by their keys, all else by its name."""
    results = {str(run["key"]): run for run in one["results"]}  # type: ignore[attr-defined]
    others = {str(run["key"]): run for run in other["results"]}  # type: ignore[attr-defined]
    yield from (key for key in results.keys() | others.keys() if results.get(key) != others.get(key))
    yield from (name for name in one.keys() | other.keys() if name != "results" and one.get(name) != other.get(name))


def main() -> None:
    """Play and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--suites", default=",".join(SUITES))
    asked = parser.parse_args()
    for suite in asked.suites.split(","):
        for way in WAYS:
            with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
                before = played(asked.before.absolute(), suite, way, Path(one))
                after = played(asked.after.absolute(), suite, way, Path(other))
            found = sorted(differing(before, after))
            print(f"{suite:20} {way:12} {len(after['results']):4} runs, {len(found)} differ {found[:5] or ''}")  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
