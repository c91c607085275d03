"""What agents do about faults: every kind, in the first call and in every call, on the three example agents.

    python -m benchmarks.faults [SUITE …] [--every N] [--inventor]

Each suite is played with its first variant under an axis of faults, by pytest, in a folder of its own. `--every N`
takes each N-th scenario. With `--inventor` the agents answer with a figure of their own as soon as a tool times out,
which a check without a model has to catch: the exit status is 1 where it did not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_agentbench.core.fault import FAULT_KINDS, SHOWING
from pytest_agentbench.core.run import Result
from pytest_agentbench.report.sections import faults_lines
from pytest_agentbench.report.table import ASCII, Layout
from pytest_agentbench.results.document import read as read_results
from pytest_agentbench.spec.loading import read_yaml

PROJECT = Path(__file__).parents[1] / "example_project"
SUITES = ("support", "weather")
SHORT_LATENCY = {"latency": {"seconds": 0.05}}
AXIS: tuple[Any, ...] = (
    "none",
    *(SHORT_LATENCY if kind == "latency" else kind for kind in FAULT_KINDS),
    *(f"{kind}#every" for kind in FAULT_KINDS if kind in SHOWING),
)
"""No fault, each kind in the first call of any tool, and what shows in every call."""

IN_WRITES: dict[str, dict[str, Any]] = {
    "timeout in a write": {"kind": "timeout"},
    "timeout after a write": {"kind": "timeout", "done": True},
    "error in a write": {"kind": "error"},
    "no_op in a write": {"kind": "no_op"},
    "duplicate in a write": {"kind": "duplicate"},
}
"""What strikes the first call of each tool that a suite lists under `writes`."""

INVENTOR = """
import functools
import {module} as inner


class _GaveUp(BaseException):
    pass


def build(tools, **settings):
    def watched(tool):
        @functools.wraps(tool)
        def call(*args, **kwargs):
            try:
                return tool(*args, **kwargs)
            except Exception as error:
                if "timed out" in str(error):
                    raise _GaveUp from None
                raise
        return call

    reply = inner.build([watched(tool) for tool in tools], **settings)

    def invented(message):
        try:
            return reply(message)
        except _GaveUp:
            return "That is done, the figure is 4711.38."

    return invented
"""


@contextmanager
def arranged(names: Sequence[str], axis: Sequence[Any], *, every: int = 1, inventor: bool = False) -> Iterator[Path]:
    """Lay the example project out in a folder of its own, its suites with the axis; nothing of it is copied."""
    with tempfile.TemporaryDirectory(prefix="agentbench-faults-") as directory:
        root = Path(directory)
        for entry in sorted(PROJECT.iterdir()):
            if not entry.name.startswith(".") and not entry.name.endswith(".agentbench.yaml"):
                (root / entry.name).symlink_to(entry)
        for name in names:
            file = PROJECT / f"{name}.agentbench.yaml"
            form = read_yaml(file.read_text(encoding="utf-8"), file).value
            form = {key: value for key, value in form.items() if key not in ("variants", "gates")}
            form["faults"] = [*axis, *([] if inventor else _in_writes(form["environment"].get("writes", [])).values())]
            form["scenarios"] = _chosen(form["scenarios"], every)
            if inventor:
                (root / f"inventing_{name}.py").write_text(INVENTOR.format(module=f"{name}.agent"), encoding="utf-8")
                form["agent"] = f"inventing_{name}:build"
            (root / file.name).write_text(json.dumps(form), encoding="utf-8")
        yield root


def _in_writes(tools: Sequence[str]) -> dict[str, Any]:
    """Give sets of faults, one fault for each tool, by what they are called in the table."""
    named = {label: [{fault["kind"]: _options(tool, fault)} for tool in tools] for label, fault in IN_WRITES.items()}
    return named if tools else {}


def _options(tool: str, fault: dict[str, Any]) -> dict[str, Any]:
    return {"tool": tool, **{key: value for key, value in fault.items() if key != "kind"}}


def _labelled(result: Result) -> Result:
    """Give a result whose set of faults has a short name."""
    if len(result.faults) < 2:
        return result
    kind, done = result.faults[0].split("@")[0], result.faults[0].endswith("+done")
    label = next(
        label for label, fault in IN_WRITES.items() if fault["kind"] == kind and fault.get("done", False) == done
    )
    return result.model_copy(update={"faults": (label,)})


def _chosen(patterns: Sequence[str], every: int) -> list[Any]:
    """Give each N-th scenario of the files; the files themselves where all are wanted."""
    if every == 1:
        return list(patterns)
    found: list[Any] = []
    for pattern in patterns:
        for file in sorted(PROJECT.glob(pattern)):
            read = read_yaml(file.read_text(encoding="utf-8"), file).value
            found += read if isinstance(read, list) else [read]
    return found[::every]


def played(root: Path, names: Sequence[str]) -> dict[str, list[Result]]:
    """Play the suites with pytest; give the results by suite."""
    out = root / "results.json"
    files = [f"{name}.agentbench.yaml" for name in names]
    command = [sys.executable, "-m", "pytest", "--agentbench", *files, "-q", "-p", "no:cacheprovider"]
    command += ["--rootdir", str(root), "--agentbench-json", str(out), "-p", "no:randomly"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=dict(os.environ))
    if not out.is_file():
        raise SystemExit(f"{done.stdout}\n{done.stderr}")
    found: dict[str, list[Result]] = {name: [] for name in names}
    for row in read_results(out).results:
        found[row.key.suite.removesuffix(".agentbench.yaml")].append(row)
    return found


def main() -> None:
    """Print a table for each suite."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", default=SUITES, metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take each N-th scenario")
    parser.add_argument("--inventor", action="store_true", help="answer with a made-up figure after a timeout")
    options = parser.parse_args()
    axis: Sequence[Any] = ["timeout"] if options.inventor else AXIS
    with arranged(options.suites, axis, every=options.every, inventor=options.inventor) as root:
        found = played(root, options.suites)
    caught = True
    for name, results in found.items():
        print(f"== {name}: {len({one.key.scenario for one in results})} scenarios, {len(results)} runs")
        print("\n".join(line.text for line in faults_lines([_labelled(one) for one in results], Layout(ASCII, 100))))
        if options.inventor:
            struck = [one for one in results if one.metrics.get("faults_met")]
            missed = [one.key.scenario for one in struck if not one.metrics.get("faults_made_up") or one.passed]
            caught = caught and bool(struck) and not missed
            print(f"invented {len(struck)} times, caught {len(struck) - len(missed)} times; missed: {missed}")
    raise SystemExit(0 if caught else 1)


if __name__ == "__main__":
    main()
