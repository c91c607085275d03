"""Labelled conversations of situations, and what structural signals alone make of them.

    python -m benchmarks.situations [SUITE …] [--labelled DIR …] [--tau2 DIR] [--each 20] [--json FILE]

Suites are played without a model, and the conversations counted. Signals are no judge: the figures say what a model
that judges has to better, and what each signal adds to the others. `--labelled` takes folders of labelled
conversations: those in `tests/calibration/independent` and `tests/calibration/held_out` were worded and labelled by
others, those in `tests/calibration/worded` are played here and worded by a language model. `--tau2` takes τ²-bench's
oracle and perturbed trajectories (`labelled/*.jsonl`, labelled by its own evaluator, without states) and `domains/`.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

from pytest_agentbench.calibration.calibrate import slices_of
from pytest_agentbench.calibration.dataset import Labelled, read_all, signals, situations
from pytest_agentbench.calibration.generate import Wish, generate
from pytest_agentbench.checks.judges.signals import WEAK, labelled_by
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.results.calibration import agreement
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
    for path in options.suites:
        sys.path.insert(0, str(path.resolve().parent))
        begun = time.perf_counter()
        wish = Wish(per_situation=options.each, positives=3 * options.each, seed=options.seed)
        made = generate(path, wish, environ=os.environ)
        seconds = time.perf_counter() - begun
        count = Counter(case.situation for case in made.cases)
        tools = {call.name for case in made.cases for one in case.transcript.messages for call in one.tool_calls}
        print(f"== {path.name}, plain, seed {options.seed}, {seconds:.1f} s")
        print(
            f"{len(made.cases)} conversations, {len(count)} of {len(situations())} situations, "
            f"fewest {min(count.values())}, {len(tools)} tools called, {sum(made.refused.values())} refused against "
            f"the gold log, {made.equal} equal but for ids"
        )
        for name, reason in made.inexpressible.items():
            print(f"  not expressible: {name}: {reason}")
        document[path.name] = _figures(made.cases)
    for folder in options.labelled:
        cases = list(read_all([folder]))
        print(f"== {folder}: {len(cases)} conversations")
        document[str(folder)] = _figures(cases)
    if options.tau2 is not None:
        for domain in ("mock", "retail", "telecom"):
            cases = _tau2(options.tau2, domain)
            print(f"== tau2 {domain} : {len(cases)} trajectories")
            document[f"tau2 {domain}"] = _figures(cases)
    if options.json is not None:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _figures(cases: list[Labelled]) -> dict[str, object]:
    found = {case.id: signals(case) for case in cases}
    said = {case.id: labelled_by(found[case.id]) for case in cases}
    figures: dict[str, object] = {}
    for name, members in slices_of(cases).items():
        for target in ("overall", "agent") if name == "all" else ("overall",):
            one = agreement([(case.wanted(target), said[case.id]) for case in members])
            figures[name if target == "overall" else "agent's fault"] = one.model_dump()
            shown = " ".join(
                f"{key} {value:.3f}" if (value := getattr(one, key)) is not None else f"{key} -"
                for key in ("accuracy", "precision", "recall", "f1", "kappa")
            )
            print(f"  {name if target == 'overall' else 'the fault of the agent':42} n {one.n:4}  {shown}")
    for name, members in (
        ("hard negatives found", [case for case in cases if case.bucket == "hard"]),
        ("POS left alone", [case for case in cases if case.label == "POS"]),
    ):
        if members:
            right = sum(said[case.id] == case.label for case in members)
            low, high = wilson(right, len(members)) or (0.0, 1.0)
            print(f"  {name:42} {right} of {len(members)}, 95 % {low:.3f} to {high:.3f}")
    hits = sum(said[case.id] == case.label for case in cases)
    for name in sorted({one.name for shown in found.values() for one in shown}):
        others = sum(labelled_by(found[case.id], WEAK | {name}) == case.label for case in cases)
        seen = Counter(case.label for case in cases if any(one.name == name for one in found[case.id]))
        worth = "does not count" if name in WEAK else f"adds {(hits - others) / len(cases):+.3f} to the accuracy"
        print(f"  {name:42} NEG {seen['NEG']:3}  POS {seen['POS']:3}  {worth}")
    return figures


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
                transcript=transcript,
                toolset=Toolset(specs=specs),
                label="POS" if row["reward"] == 1.0 else "NEG",
                agent_at_fault=row["reward"] != 1.0,
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
