"""The judge without a model on labelled conversations: development and others, apart.

    python -m benchmarks.situations [SUITE …] [--labelled DIR …] [--tau2 DIR] [--each 20] [--json FILE]

The judge was developed on the first suite's conversations. Scored first on the weather example's, it had
0.912 on hard negatives and a recall of 0.867; three of its rules and two of the checker's were then corrected after
looking at these and at τ²'s, so that neither is strictly held out any more. `--labelled` takes folders of labelled
conversations, such as the 60 in `tests/calibration/independent`, which somebody worded who had not seen the judge:
scored first it had 15 of 21 hard negatives and 14 of 22 POS; then days, sums, units, claims of deeds and answers that
break off were mended after looking at them. Those in `tests/calibration/held_out` were scored once before anybody
looked: 12 of 23 and 20 of 25; then times of calls, weekdays, ordinals and months were mended. `--tau2` takes
τ²-bench's oracle and perturbed trajectories (`labelled/*.jsonl`, labelled by its own evaluator, without states) and
`domains/`.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

from pytest_agentbench.calibration.calibrate import slices_of
from pytest_agentbench.calibration.deterministic import judge
from pytest_agentbench.calibration.generator import Wish, generate
from pytest_agentbench.calibration.labelled import Case, Labelled, read_all
from pytest_agentbench.calibration.metrics import agreement
from pytest_agentbench.calibration.situations import situations
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.results.intervals import wilson


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", type=Path)
    parser.add_argument("--labelled", nargs="+", type=Path, default=[])
    parser.add_argument("--tau2", type=Path)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    document: dict[str, object] = {}
    for number, path in enumerate(options.suites):
        sys.path.insert(0, str(path.resolve().parent))
        begun = time.perf_counter()
        wish = Wish(per_situation=options.each, positives=3 * options.each, seed=options.seed)
        folder, tally = generate(path, wish, environ=os.environ)
        seconds = time.perf_counter() - begun
        made = Counter(case.situation for case in folder.cases)
        tools = {call.name for case in folder.cases for one in case.case.transcript.messages for call in one.tool_calls}
        kind = "development" if number == 0 else "not developed on"
        print(f"== {path.name} ({kind}), seed {options.seed}, {seconds:.1f} s")
        print(
            f"{len(folder.cases)} conversations, {len(made)} of {len(situations())} situations, "
            f"fewest {min(made.values())}, {len(tools)} tools called, "
            f"{sum(tally.refused.values())} refused by the checker, {tally.equal} equal but for ids"
        )
        for name, reason in folder.inexpressible.items():
            print(f"  not expressible: {name}: {reason}")
        document[path.name] = _figures(list(folder.cases))
    if options.labelled:
        cases = list(read_all(options.labelled))
        print(f"== worded independently (first scored: hard 15/21, POS 14/22): {len(cases)} conversations")
        document["independent"] = _figures(cases)
    if options.tau2 is not None:
        for domain in ("mock", "retail", "telecom"):
            cases = _tau2(options.tau2, domain)
            print(f"== tau2 {domain} (not developed on): {len(cases)} trajectories")
            document[f"tau2 {domain}"] = _figures(cases)
    if options.json is not None:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _figures(cases: list[Labelled]) -> dict[str, object]:
    said = {case.id: judge(case.case) for case in cases}
    signs = {case.id: Counter(one.sign for one in said[case.id].sightings) for case in cases}
    found: dict[str, object] = {}
    for name, members in slices_of(cases).items():
        figures = agreement([(case.label, said[case.id].label) for case in members])
        found[name] = figures.model_dump()
        shown = " ".join(
            f"{key} {value:.3f}" if (value := getattr(figures, key)) is not None else f"{key} -"
            for key in ("accuracy", "precision", "recall", "f1", "kappa")
        )
        total: Counter[str] = sum((signs[case.id] for case in members), Counter())
        most = ", ".join(f"{sign} {count}" for sign, count in total.most_common(3))
        print(f"  {name:42} n {figures.n:4}  {shown}  {most}")
    for name, members in (
        ("hard negatives found", [case for case in cases if case.bucket == "hard"]),
        ("POS left alone", [case for case in cases if case.label == "POS"]),
    ):
        if members:
            right = sum(said[case.id].label == case.label for case in members)
            low, high = wilson(right, len(members)) or (0.0, 1.0)
            print(f"  {name:42} {right} of {len(members)}, 95 % {low:.3f} to {high:.3f}")
    missed = Counter(case.situation for case in cases if case.label == "NEG" and said[case.id].label == "POS")
    for name, count in missed.most_common():
        print(f"  takes a model: {name or '(no situation)'} {count} of {sum(case.situation == name for case in cases)}")
    return found


def _tau2(folder: Path, domain: str) -> list[Labelled]:
    """Read τ²'s labelled trajectories: POS where its evaluator gave full reward; the situation is the variant."""
    tools = json.loads((folder / "domains" / domain / "tools.json").read_text(encoding="utf-8"))
    kinds = tools.get("kinds", {})
    specs = tuple(
        ToolSpec(
            name=one["function"]["name"],
            description=one["function"].get("description", ""),
            parameters=one["function"].get("parameters", {}),
            kind=_kind(kinds, one["function"]["name"]),
            requestor=requestor,
        )
        for requestor, whose in (("assistant", "agent"), ("user", "user"))
        for one in tools.get(whose) or ()
    )
    cases = []
    text = (folder / "labelled" / f"{domain}.jsonl").read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines()):
        row = json.loads(line)
        transcript = Transcript(messages=tuple(_message(one) for one in row["messages"]))
        cases.append(
            Labelled(
                id=f"{domain}-{number}",
                case=Case(transcript=transcript, toolset=Toolset(specs=specs)),
                label="POS" if row["reward"] == 1.0 else "NEG",
                situation=row["variant"],
            )
        )
    return cases


def _kind(kinds: dict[str, object], name: str) -> str:
    given = kinds.get(name)
    kind = given.get("type") if isinstance(given, dict) else given
    return str(kind).lower() if str(kind).lower() in ("read", "write", "generic") else "unknown"


def _message(row: dict[str, object]) -> Message:
    fields = {key: value for key, value in row.items() if key in Message.model_fields}
    if row["role"] == "tool":
        fields["tool_call_id"] = row.get("id")
    return Message.model_validate(fields)


if __name__ == "__main__":
    main()
