"""How well `confirm_before` finds writes that nobody permitted, against labels of somebody who read the conversations.

Run `python -m benchmarks.consent [FILE…] [--missed]` to score files of labels, by default those of `tests/checks/data`.
Run `python -m benchmarks.consent --draw 60 --seed 7 --to FOLDER` to draw writes for a new file: `writes.md` has the
conversations up to each write for the reader, `labels.json` the labels to fill in. Drawn are writes of agents that talk
to a user, at most two of a conversation, weighted by signs of doubt in the reply, never from conversations that are
labelled already or that the phrase lists were developed on (`is_development`).

A violation is a write that was not permitted: precision is right alarms / alarms, recall is right alarms / violations.
"""

import argparse
import hashlib
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_agentbench.checks.permission import permission
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.transcript import CallRecord
from tests.checks.tau2 import DOMAINS, recordings

DATA = Path(__file__).resolve().parents[1] / "tests/checks/data"
_DOUBT = re.compile(r"\b(?:but|actually|only|instead|before|first|wait|if|also|and then|\?)\b|\?", re.IGNORECASE)
_MOST = 2
"""Writes drawn from one conversation."""


@dataclass(frozen=True)
class Write:
    """One write of an agent, in its conversation."""

    domain: str
    run: Run
    record: CallRecord
    number: int

    @property
    def simulation(self) -> str:
        """The beginning of the recording's id, by which labels name it."""
        return self.run.scenario.id[:8]

    @property
    def doubt(self) -> int:
        """Weight in drawing: 1, and one more for each sign that the reply before may be no plain yes."""
        spoken = self.run.transcript.messages[: self.record.message]
        reply = next((message.text for message in reversed(spoken) if message.role == "user" and message.text), "")
        asked = next((message.text for message in reversed(spoken) if message.role == "assistant" and message.text), "")
        return 1 + len(_DOUBT.findall(reply)) + 2 * ("?" not in asked and "confirm" not in asked) + ("yes" not in reply)


def is_development(simulation: str) -> bool:
    """Tell whether what stands in a recording was read while the phrase lists were written."""
    return int(hashlib.sha256(f"consent:{simulation}".encode()).hexdigest(), 16) % 2 == 0


def labels(path: Path) -> list[dict[str, Any]]:
    """Read a file of labels."""
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["labels"]
    return found


def writes() -> Iterator[Write]:
    """Give every write of agents that talk to a user, in order."""
    for domain in DOMAINS:
        for found in recordings(domain):
            kinds = {spec.name: spec.kind for spec in found.run.toolset.specs}
            for number, record in enumerate(found.run.calls):
                if not found.solo and record.call.requestor == "assistant" and kinds.get(record.call.name) == "write":
                    yield Write(domain, found.run, record, number)


@dataclass(frozen=True)
class Score:
    """Counts over labelled writes, and the labels that were missed."""

    right: int
    alarms: int
    violations: int
    n: int
    missed: tuple[str, ...]

    def __str__(self) -> str:
        return f"n={self.n}, precision {self.right}/{self.alarms}, recall {self.right}/{self.violations}"


def score(given: Iterable[dict[str, Any]]) -> Score:
    """Compare what is found with labels; a label whose call is another tool's raises `ValueError`."""
    runs = {(domain, found.run.scenario.id[:8]): found.run for domain in DOMAINS for found in recordings(domain)}
    cells: Counter[tuple[bool, bool]] = Counter()
    missed: list[str] = []
    for label in given:
        run = runs[label["domain"], label["simulation"]]
        record = run.calls[label["call"]]
        if record.call.name != label["tool"]:
            raise ValueError(f"{label['simulation']}: call {label['call']} is {record.call.name}, not {label['tool']}")
        found = permission(run.transcript, record)
        cells[not found.given, not label["permitted"]] += 1
        if found.given != label["permitted"]:
            said = "permitted" if label["permitted"] else "not permitted"
            place = f"{label['domain']} {label['simulation']} call {label['call']} {label['tool']}"
            missed.append(f"  {place}: labelled {said} ({label['why']}); {found.why_not or 'no alarm'}")
    hits = cells[True, True]
    return Score(hits, hits + cells[True, False], hits + cells[False, True], cells.total(), tuple(missed))


def draw(number: int, seed: int) -> list[Write]:
    """Draw writes that nobody has labelled or looked at."""
    used = {label["simulation"] for path in DATA.glob("confirm_labels*.json") for label in labels(path)}
    left = [one for one in writes() if one.simulation not in used and not is_development(one.simulation)]
    chance = random.Random(seed)
    drawn: list[Write] = []
    while left and len(drawn) < number:
        one = chance.choices(left, [write.doubt for write in left])[0]
        drawn.append(one)
        left.remove(one)
        if sum(write.simulation == one.simulation for write in drawn) == _MOST:
            left = [write for write in left if write.simulation != one.simulation]
    return sorted(drawn, key=lambda write: (write.domain, write.simulation, write.number))


def to_read(drawn: Iterable[Write]) -> str:
    """Give the conversations up to the turn of each write, calls and results left out, and the write."""
    parts: list[str] = []
    for number, write in enumerate(drawn):
        spoken = [
            f"**{message.role}**: {message.text}"
            for message in write.run.transcript.messages[: write.record.message]
            if message.role in {"user", "assistant"} and message.text.strip()
        ]
        call = f"`{write.record.call.name}` with `{json.dumps(write.record.call.arguments, ensure_ascii=False)}`"
        parts.append(
            "\n\n".join([f"# {number}: {write.domain} {write.simulation}", *spoken, f"**Then the agent calls** {call}"])
        )
    return "\n\n---\n\n".join(parts) + "\n"


def to_fill_in(drawn: Iterable[Write]) -> dict[str, Any]:
    """Give the file of labels, without the labels."""
    empty = [
        {
            "half": "held out 2",
            "domain": write.domain,
            "simulation": write.simulation,
            "call": write.number,
            "tool": write.record.call.name,
            "permitted": None,
            "why": "",
        }
        for write in drawn
    ]
    return {"how": [], "labels": empty}


def main() -> int:
    """Print the figures, or write what somebody labels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="labelled writes")
    parser.add_argument("--missed", action="store_true", help="list what was found otherwise than labelled")
    parser.add_argument("--draw", type=int, metavar="N", help="draw N writes for a new file instead")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--to", type=Path, default=Path(), metavar="FOLDER")
    options = parser.parse_args()
    if options.draw:
        drawn = draw(options.draw, options.seed)
        options.to.mkdir(parents=True, exist_ok=True)
        (options.to / "writes.md").write_text(to_read(drawn), encoding="utf-8")
        filled = json.dumps(to_fill_in(drawn), indent=1, ensure_ascii=False)
        (options.to / "labels.json").write_text(filled + "\n", encoding="utf-8")
        print(f"{len(drawn)} writes of {len({one.simulation for one in drawn})} conversations")
        return 0
    for path in options.files or sorted(DATA.glob("confirm_labels*.json")):
        given = labels(path)
        for half in sorted({label["half"] for label in given}):
            found = score(label for label in given if label["half"] == half)
            print(f"{path.stem}, {half}: {found}")
            print("\n".join(found.missed) if options.missed else "", end="\n" if options.missed else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
