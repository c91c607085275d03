"""The paper's table beside ours, from the results of the last session.

    pytest --agentbench notes.agentbench.yaml --agentbench-variant all --agentbench-cassette replay
    python -m bench.notes.table [results.json]

Success is what the suite's checks decided; in the paper the agent's own critic decided it. Latency is in the paper
alone: a cassette answers at once.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
LAST = HERE.parents[1] / ".agentbench" / "results.json"
CLASSES = ("S1", "S2", "S3", "S4")

Run = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row: a variant of the suite, and what the paper says of it (tables 4 and 6, sections 7.2 and 7.3)."""

    variant: str
    title: str
    success: str
    tokens: str
    redundant: str = "–"
    coherence: str = "–"
    rejected: str = "–"


CONFIGURATIONS = (
    Row(variant="baseline", title="baseline", success="45 %", tokens="3500"),
    Row(variant="planner", title="+ tools, planner", success="78 %", tokens="850", redundant="100 %", coherence="65 %"),
    Row(variant="memory", title="+ memory", success="78 %", tokens="650", redundant="50–70 %", coherence="90 %"),
    Row(variant="full", title="+ reflection (full)", success="92 %", tokens="1500", rejected="24 %"),
)


def main(arguments: Sequence[str]) -> int:
    """Print the tables; 2 where there are no results of the suite."""
    file = Path(arguments[0]) if arguments else LAST
    if not file.exists():
        print(f"{file} does not exist; play the suite first", file=sys.stderr)  # noqa: T201 - a command prints
        return 2
    results = json.loads(file.read_text(encoding="utf-8"))["results"]
    own = [run for run in results if run["key"]["suite"].endswith("notes.agentbench.yaml")]
    runs = [run for run in own if run["verdict"] != "error"]
    for line in report(runs, tasks()):
        print(line)  # noqa: T201 - same
    return 0


def tasks() -> dict[str, str]:
    """Give all tasks of the suite with their classes."""
    files = sorted((HERE / "scenarios").glob("*.yaml"))
    listed = [task for file in files for task in yaml.safe_load(file.read_text(encoding="utf-8"))]
    return {task["id"]: class_of(task["tags"]) for task in listed}


def report(runs: Sequence[Run], known: dict[str, str]) -> Iterable[str]:
    """Give both tables as Markdown, and what was not played."""
    by_variant = {one.variant: [run for run in runs if run["key"]["variant"] == one.variant] for one in CONFIGURATIONS}
    measured = ("success", "tokens a question", "redundant calls", "coherence", "rejected")
    yield f"| configuration | n | {' | '.join(f'{name} | paper' for name in measured)} |"
    yield f"|---|---|{'---|' * 2 * len(measured)}"
    for one in CONFIGURATIONS:
        played = by_variant[one.variant]
        own = (
            str(len(played)),
            _share([run["verdict"] == "passed" for run in played]),
            one.success,
            f"{_sum(played, 'tokens') / _questions(played):.0f}" if played else "–",
            one.tokens,
            f"{_redundant(played):.2f} a run" if played else "–",
            one.redundant,
            _share(list(_later_answers(played))),
            one.coherence,
            _share([True] * int(_sum(played, "rejected")), of=int(_sum(played, "judged"))),
            one.rejected,
        )
        yield f"| {one.title} | {' | '.join(own)} |"
    yield ""
    yield f"| success by class | {' | '.join(CLASSES)} |"
    yield f"|---|{'---|' * len(CLASSES)}"
    for one in CONFIGURATIONS:
        cells = []
        for name in CLASSES:
            own_class = [run for run in by_variant[one.variant] if class_of(run["tags"]) == name]
            cells.append(f"{sum(run['verdict'] == 'passed' for run in own_class)} of {len(own_class)}")
        yield f"| {one.title} | {' | '.join(cells)} |"
    yield ""
    if judged := _sum(by_variant["full"], "judged"):
        first, last = (_sum(by_variant["full"], name) / judged for name in ("first_scores", "last_scores"))
        yield f"The critic's mean score, of {judged:.0f} answers: {first:.2f} at first, {last:.2f} in the end."
    played_tasks = {run["key"]["scenario"] for run in runs}
    left = sorted(known.keys() - played_tasks)
    yield f"Played: {len(played_tasks)} of {len(known)} tasks. Not played: {', '.join(left) or 'none'}."


def class_of(tags: Iterable[str]) -> str:
    """Give the class that a task's tags name."""
    return next(tag.removeprefix("class:") for tag in tags if tag.startswith("class:"))


def _later_answers(runs: Iterable[Run]) -> Iterable[bool]:
    """Say of each second and third answer of an S3 conversation whether it held the fact that was asked for."""
    for run in runs:
        if class_of(run["tags"]) == "S3":
            found = {one["check"]: one["passed"] for one in run["findings"]}
            yield from (bool(found[f"replies.{place}"]) for place in (1, 2))


def _redundant(runs: Sequence[Run]) -> float:
    return sum(run["metrics"]["redundant_calls"] for run in runs) / len(runs) if runs else 0.0


def _questions(runs: Iterable[Run]) -> float:
    return sum(run["metrics"]["agent_turns"] for run in runs)


def _sum(runs: Iterable[Run], name: str) -> float:
    return sum(run["reported"].get(name, 0.0) for run in runs)


def _share(held: Sequence[bool], *, of: int | None = None) -> str:
    total = len(held) if of is None else of
    return f"{sum(held) / total:.0%} ({sum(held)} of {total})".replace("%", " %") if total else "–"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
