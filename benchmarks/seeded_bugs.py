"""Whether generated scenarios catch seeded bugs, and rank agents as hand-made scenarios do.

    python -m benchmarks.seeded_bugs wines      # chains of tools, from `benchmarks/seeded/wines`
    python -m benchmarks.seeded_bugs support    # events of policies, from the example's support desk
    python -m benchmarks.seeded_bugs ranking    # five agents: generated sets beside hand-made ones

Each generates 50 scenarios without a model in a folder of its own, and plays them with an agent that reads the labels
of plain phrases (`seeded/label_agent.py`), right and with each bug. Right means right by the declared rules: a policy
without a rule is not in the sets. The hand-made scenarios are played by the example's own agent, with bugs of the same
names. IntellAgent reports 0.98 (airline) and 0.92 (retail) beside τ-bench, over models.

`ranking` has two tables: five agents with bugs on the generated sets and the desk's 43 hand-made scenarios; and five
that leave out or spoil each change at a known rate on the generated sets and τ²-bench's tasks (`--tau2 FOLDER`, its
`domains`; left out where there is none).
"""

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import correlation

from benchmarks.seeded.label_agent import BUGS
from benchmarks.seeded.strengths import DOMAINS, RATES, recorded

ROOT = Path(__file__).parents[1]
HERE = Path(__file__).parent / "seeded"
COUNT = 50
AGENTS = {"right": "", "one bug": "skips_identity", "two bugs": "skips_identity,no_confirmation", "half": "half"}
RANKED = {**AGENTS, "random": "random"}
DAMAGED = {f"{rate:.0%}".rstrip("%"): f"damages{rate}" for rate in RATES}
TAU2 = ROOT.parent / "shared" / "data" / "tau2" / "domains"
FIELD = {"skips_identity": "authenticate: false", "no_confirmation": "confirm: false"}
"""How the example's own agent is given a bug."""

Rates = Mapping[str, tuple[int, int]]


def generated(name: str, folder: Path, bugs: Mapping[str, str]) -> Path:
    """Write a suite with its scenarios into a folder; give its file."""
    shutil.copytree(HERE / "wines" if name == "wines" else ROOT / "example_project", folder)
    shutil.copy(HERE / "label_agent.py", folder)
    base = "wines" if name == "wines" else "support"
    recipe = "{from: tools" if name == "wines" else "{from: policies, levels: {min: 2, max: 11}"
    variants = "".join(f"  {_word(label)!r}: {{bugs: '{bug}'}}\n" for label, bug in bugs.items())
    suite = folder / "seeded.agentbench.yaml"
    suite.write_text(
        f"extends: {base}.agentbench.yaml\nname: seeded\nagent: label_agent:build\nvariants:\n{variants}"
        f"scenarios: [made/scenarios/*.yaml]\ngenerate: {recipe}, count: {COUNT}, seed: 7, out: made, review: off}}\n",
        encoding="utf-8",
    )
    _run(["agentbench", "generate", suite.name], folder)
    return suite


def handmade(folder: Path) -> Path:
    """Write a suite of the desk's hand-made scenarios, played by its own agent with the bugs of `RANKED`."""
    shutil.copytree(ROOT / "example_project", folder)
    shutil.copy(HERE / "label_agent.py", folder)
    shutil.copy(HERE / "desk_agent.py", folder)
    rows = []
    for label, bugs in RANKED.items():
        fields = [FIELD.get(bug, f"replaced: {bug}") for bug in filter(None, bugs.split(","))]
        rows.append(f"  {_word(label)}: {{{', '.join(fields)}}}\n")
    suite = folder / "seeded.agentbench.yaml"
    suite.write_text(
        "extends: support.agentbench.yaml\nname: handmade\nagent: desk_agent:build\nvariants:\n" + "".join(rows),
        encoding="utf-8",
    )
    return suite


def played(suite: Path, labels: Iterable[str]) -> tuple[Rates, Mapping[str, Counter[str]]]:
    """Play these variants of a suite; give for each what passed of how many, and the checks that failed first."""
    given = suite.parent / "results.json"
    arguments = [
        suite.name,
        "--agentbench",
        "--agentbench-variant",
        ",".join(map(_word, labels)),
        "--agentbench-json",
        str(given),
    ]
    _run(["pytest", "-q", *arguments, "-p", "no:cacheprovider"], suite.parent)
    passed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    first: dict[str, Counter[str]] = {}
    for one in json.loads(given.read_text(encoding="utf-8"))["results"]:
        variant = one["key"]["variant"]
        total[variant] += one["verdict"] in ("passed", "failed")
        passed[variant] += one["verdict"] == "passed"
        failed = [finding["check"] for finding in one["findings"] if finding.get("passed") is False]
        first.setdefault(variant, Counter()).update(dict.fromkeys(failed, 1))
    return {name: (passed[name], number) for name, number in total.items()}, first


def interval(passed: int, number: int, z: float = 1.96) -> tuple[float, float]:
    """Give the 95 % interval of a share after Wilson."""
    share, spread = passed / number, z * z / number
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / number + spread / (4 * number)) / (1 + spread)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def ranks(values: Sequence[float]) -> list[float]:
    """Give the rank of each value; equal values share the mean of theirs."""
    return [sum(other < one for other in values) + (values.count(one) + 1) / 2 for one in values]


def print_bugs(name: str, folder: Path) -> None:
    """Print how often the right agent passes a set, and each wrong one."""
    bugs = {"right": "", **{bug: bug for bug in BUGS if bug not in ("half", "random", "damages")}}
    rates, first = played(generated(name, folder / name, bugs), bugs)
    for bug, (passed, number) in rates.items():
        low, high = interval(passed, number)
        checks = ", ".join(f"{check} {count}" for check, count in first[bug].most_common(3))
        print(f"{bug:<16} {passed:>3} of {number}  {passed / number:.2f} ({low:.2f} to {high:.2f})  {checks}")
    best = rates["right"][0]
    print(f"caught: {sum(rate[0] < rate[1] for bug, rate in rates.items() if bug != 'right')} of {len(bugs) - 1} bugs")
    print(f"at or above the right agent: {[bug for bug, rate in rates.items() if bug != 'right' and rate[0] >= best]}")


def print_ranking(folder: Path, tau2: Path) -> None:
    """Print how the agents of known strength do on the generated sets, and on the hand-made ones."""
    both = {**RANKED, **DAMAGED}
    made = {name: played(generated(name, folder / name, both), both)[0] for name in ("support", "wines")}
    print_table(made, {"hand-made": played(handmade(folder / "handmade"), RANKED)[0]}, RANKED)
    if not tau2.is_dir():
        print(f"τ²-bench's tasks are not at {tau2}")
        return
    theirs: dict[str, Rates] = {
        f"tau2 {domain}": {
            label: scored(recorded(tau2, domain, rate, folder / f"{domain}{label}"))
            for label, rate in zip(DAMAGED, RATES, strict=True)
        }
        for domain in DOMAINS
    }
    print("changes left out or spoilt, in per cent:")
    print_table(made, theirs, DAMAGED)


def print_table(made: Mapping[str, Rates], others: Mapping[str, Rates], agents: Iterable[str]) -> None:
    """Print the rates of agents on generated sets and hand-made ones, and how each two agree."""
    labels = [_word(one) for one in agents]
    shares = {name: [rates[one][0] / rates[one][1] for one in labels] for name, rates in {**made, **others}.items()}
    for name, row in shares.items():
        number = {**made, **others}[name][labels[0]][1]
        print(f"{name:<14} n {number:<4}" + "  ".join(f"{one} {v:.2f}" for one, v in zip(labels, row, strict=True)))
    for name in made:
        for other in others:
            pearson = correlation(shares[name], shares[other])
            spearman = correlation(ranks(shares[name]), ranks(shares[other]))
            print(f"{name} and {other}: Spearman {spearman:.2f}, Pearson {pearson:.2f}")
    print("(IntellAgent beside τ-bench: Pearson 0.98 airline, 0.92 retail)")


def scored(suite: Path) -> tuple[int, int]:
    """Score recorded conversations; give how many passed of how many."""
    given = suite.parent / "results.json"
    _run(["agentbench", "score", suite.name, "--json", str(given)], suite.parent)
    verdicts = [one["verdict"] for one in json.loads(given.read_text(encoding="utf-8"))["results"]]
    return verdicts.count("passed"), sum(one in ("passed", "failed") for one in verdicts)


def _word(label: str) -> str:
    return label.replace(" ", "_")


def _run(arguments: Sequence[str], folder: Path) -> None:
    """Run a program of this environment; what it prints is shown only where it could not do its work."""
    program = Path(sys.executable).with_name(arguments[0])
    done = subprocess.run([program, *arguments[1:]], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        sys.exit(done.stdout[-3_000:] + done.stderr[-3_000:])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("wines", "support", "ranking"))
    parser.add_argument("--tau2", type=Path, default=TAU2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        if options.what == "ranking":
            print_ranking(Path(made), options.tau2)
        else:
            print_bugs(options.what, Path(made))
