"""How conversations end and who is to blame, against labels written from the documentation by somebody else.

Run `python -m benchmarks.endings [FILE…] [--missed]`. Without files it plays those of `tests/simulation/data`, and
prints for each how many end as labelled, and the confusion matrix: labels are rows, answers columns, numbered alike.
These users say nothing of what they meant, so that whose fault a stall is cannot be told, nor that one left too early:
a conversation that is labelled so is right where it is not held against the agent by mistake. The exit status is 1
where less than 95 % of a file are right.

A file is `{"made": …, "half": …, "conversations": […]}`, or JSON Lines of one conversation each;
`tests/simulation/endings.py` plays them through the loop by parties that do what the transcript says.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.simulation.endings import STILL_GOING, Ended, Ending, label_of, load, replay

DATA = Path(__file__).resolve().parents[1] / "tests/simulation/data"
LEAST = 0.95


def scored(cases: Iterable[dict[str, Any]]) -> list[tuple[dict[str, Any], Ended]]:
    """Play each conversation."""
    return [(case, replay(case)) for case in cases]


def is_right(case: dict[str, Any], ended: Ended) -> bool:
    """Whether a conversation ended as its author says; of stalls and early stops, that the agent is not blamed."""
    label = label_of(case)
    if label == ("FINISHED", "user"):
        return ended.ending in (label, ("FINISHED", "nobody"))
    if label[0] == "STALLED":
        return ended.ending in (label, STILL_GOING) or ended.ending == ("STALLED", "user")
    return label == ended.ending


def stalls(played: Iterable[tuple[dict[str, Any], Ended]]) -> tuple[int, int]:
    """Give how many stalls were seen, and how many there are."""
    found = [ended.ending[0] == "STALLED" for case, ended in played if label_of(case)[0] == "STALLED"]
    return sum(found), len(found)


def matrix(played: Iterable[tuple[dict[str, Any], Ended]]) -> str:
    """Draw labels as rows and answers as columns, which are numbered like the rows."""
    pairs = Counter((label_of(case), ended.ending) for case, ended in played)
    endings = sorted({ending for pair in pairs for ending in pair})
    rows = [f"{'':3}{'label':30}" + "".join(f"{number:>4}" for number in range(1, len(endings) + 1))]
    for number, label in enumerate(endings, start=1):
        counts = [pairs[label, answer] for answer in endings]
        rows.append(f"{number:<3}{_named(label):30}" + "".join(f"{count or '·':>4}" for count in counts))
    return "\n".join(rows)


def table(name: str, played: list[tuple[dict[str, Any], Ended]]) -> str:
    """Give the figure of one file and its matrix."""
    right = sum(is_right(case, ended) for case, ended in played)
    seen, there = stalls(played)
    share = f"{right} of {len(played)} right ({right / max(len(played), 1):.1%}), {seen} of {there} stalls seen"
    return f"{name}: {share}\n{matrix(played)}"


def missed(played: Iterable[tuple[dict[str, Any], Ended]]) -> str:
    """List what ended otherwise, and the reasons."""
    return "\n".join(
        f"  {case['id']}: labelled {_named(label_of(case))}, got {_named(ended.ending)}\n    {ended.reason}"
        for case, ended in played
        if not is_right(case, ended)
    )


def _named(ending: Ending) -> str:
    return " / ".join(ending)


def main() -> int:
    """Print the figures; give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="labelled conversations")
    parser.add_argument("--missed", action="store_true", help="list what did not end as labelled")
    options = parser.parse_args()
    status = 0
    for path in options.files or sorted(DATA.glob("endings_*.json*")):
        played = scored(load(path))
        print(table(path.stem, played), end="\n\n")
        if options.missed:
            print(missed(played), end="\n\n")
        if sum(is_right(*one) for one in played) < LEAST * len(played):
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
