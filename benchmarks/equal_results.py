"""Whether all ways to play come to the same results: the example's suites, every variant.

    python -m benchmarks.equal_results [CHECKOUT] [AFTER] [--suites support,weather]

Plays the suites of `example_project/` in one process, on two workers, and resumed after a session that stopped at its
first failure, always with the same hash seed. Every way is held against the first, or with a second checkout against
the same way there. Prints, for each suite and way, how many runs there are and which differ, in anything but times,
places and names. The exit status is 1 where anything differs.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_agentbench.results.document import comparable, read

SUITES = ("support", "notes", "weather")
"""Those whose scenarios are committed; others can be named once `agentbench generate` has written theirs."""
WAYS: dict[str, tuple[tuple[str, ...], ...]] = {
    "one process": (("-n", "0"),),
    "two workers": (("-n", "2"),),
    "resumed": (("-n", "0", "-x"), ("-n", "0", "--agentbench-resume")),
}


def played(checkout: Path, suite: str, way: str, folder: Path) -> dict[str, Any]:
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


def differing(one: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    """Name what differs: runs by their keys, all else by its name."""
    results = {str(run["key"]): run for run in one["results"]}
    others = {str(run["key"]): run for run in other["results"]}
    yield from (key for key in results.keys() | others.keys() if results.get(key) != others.get(key))
    yield from (name for name in one.keys() | other.keys() if name != "results" and one.get(name) != other.get(name))


def main() -> int:
    """Play and compare; give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, nargs="?", default=Path(__file__).parents[1])
    parser.add_argument("after", type=Path, nargs="?")
    parser.add_argument("--suites", default=",".join(SUITES))
    asked = parser.parse_args()
    differ = 0
    for suite in asked.suites.split(","):
        first: dict[str, Any] = {}
        for way in WAYS:
            with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
                found = played(asked.checkout.absolute(), suite, way, Path(one))
                first = first or found
                before, after = first, found
                if asked.after is not None:
                    before, after = found, played(asked.after.absolute(), suite, way, Path(other))
            wrong = sorted(differing(before, after))
            differ += len(wrong)
            print(f"{suite:20} {way:12} {len(after['results']):4} runs, {len(wrong)} differ {wrong[:5] or ''}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
