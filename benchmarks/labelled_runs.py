"""Verdict and blame against labels that two people gave without seeing each other's.

Run `python -m benchmarks.labelled_runs [DOMAIN…] [--missed] [--packets FOLDER] [--auditor flags|decide [--record URL]]`

A domain is a folder of `benchmarks/labelled`: suites, agents and tools, `about.yaml` and `labels/`.
`about.yaml` says who wrote the domain from what, and lists its runs: `{suite, scenario, variant, kind}`, where `kind`
is *scripted*, *model* (a recording in which a language model led the conversation as the user) or *recorded*.
`labels/one.yaml` and `labels/two.yaml` map `suite::scenario[variant]` to `{verdict, blame, why}`; `labels/agreed.yaml`
says, after both had written theirs, what is right where they differ. A verdict is *passed*, *failed* or *unscored*.

`labels/observations.yaml`, where it is there, says of a run which `lies` the agent told (words of it).

Every suite is played as it stands, in a copy. Then the conversations that were played are scored again as recordings.
With `--auditor` every suite is played once, with an auditor whose answers are those of `audits/`, beside the suites;
`--record` asks the model at a URL for those that are not there, and keeps them.
`--packets` writes what a labeller sees of each run: the scenario, the conversation, the state; no verdict.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml  # noqa: TID253 - a script of its own, not the plugin's start-up path

from pytest_agentbench.results.intervals import wilson

DOMAINS = Path(__file__).parent / "labelled"
LEAST = {"played": 0.90, "recorded": 0.85}
MODEL = "bridge"
CLAIMS = ("claim", "value")
"""Kinds of flags, and of findings, that say that the agent states what is not so."""


@dataclass(frozen=True)
class Label:
    """What is right: the verdict, and whose fault a non-pass is (None where it passed)."""

    verdict: str
    blame: str | None = None

    def __str__(self) -> str:
        return self.verdict if self.blame is None else f"{self.verdict}, {self.blame}"


@dataclass(frozen=True)
class Answer:
    """What the tool said of a run; `unmeasured` names the parts that it could not measure."""

    label: Label
    unmeasured: tuple[str, ...] = ()
    consent: str = ""
    transcript: str = ""
    quotes: tuple[str, ...] = ()
    """Words of the agent that were found to be untrue."""


@dataclass
class Case:
    """One labelled run, and what the tool says of it as played and as a recording."""

    domain: str
    author: str
    kind: str
    name: str
    one: Label
    two: Label | None
    agreed: Label
    script: str = ""
    lies: tuple[str, ...] | None = None
    played: Answer | None = None
    recorded: Answer | None = None
    notes: list[str] = field(default_factory=list)


def read_domain(folder: Path) -> list[Case]:
    """Read the labelled runs of a domain."""
    about = yaml.safe_load((folder / "about.yaml").read_text(encoding="utf-8"))
    one, two, agreed = (_labels(folder / "labels" / f"{name}.yaml") for name in ("one", "two", "agreed"))
    if not one:
        raise SystemExit(f"{folder.name}: nobody has labelled these runs yet: write labels/one.yaml")
    observations = folder / "labels" / "observations.yaml"
    seen = yaml.safe_load(observations.read_text(encoding="utf-8")) if observations.exists() else {}
    cases = []
    for run in about["runs"]:
        name = run_name(run["suite"], run["scenario"], run.get("variant", ""))
        lies = tuple(seen[name].get("lies") or ()) if name in seen else None
        if one[name] != two.get(name, one[name]) and name not in agreed:
            raise SystemExit(
                f"{folder.name}: {name}: the labels differ, and labels/agreed.yaml does not say what is right"
            )
        right = agreed.get(name, one[name])
        script = run["kind"] if run["kind"] != "scripted" else _script(folder / run["suite"], run["scenario"])
        cases.append(
            Case(folder.name, about["author"], run["kind"], name, one[name], two.get(name), right, script, lies)
        )
    return cases


def _script(suite: Path, scenario: str) -> str:
    """Whether all lines of a script after the first say what they mean."""
    scenarios = yaml.safe_load(suite.read_text(encoding="utf-8"))["scenarios"]
    says = next(one.get("says") or [] for one in scenarios if one["id"] == scenario)
    return "plain script" if any(isinstance(line, str) for line in says[1:]) else "labelled script"


def run_name(suite: str, scenario: str, variant: str) -> str:
    """Name a run as labels do."""
    return f"{suite}::{scenario}" + (f"[{variant}]" if variant else "")


def _labels(path: Path) -> dict[str, Label]:
    if not path.exists():
        return {}
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    return {name: Label(entry["verdict"], entry.get("blame")) for name, entry in entries.items()}


def answers(folder: Path, *, records: bool = False, only: Iterable[str] = ()) -> dict[str, Answer]:
    """Play every suite of a domain, or `only` these runs; give what the tool said of each run, by name."""
    found: dict[str, Answer] = {}
    for suite in sorted(folder.glob("*agentbench.yaml")):
        chosen = [name for name in only if name.startswith(f"{suite.name}::")]
        for result in play(folder, suite.name, records=records, only=chosen):
            name = run_name(suite.name, result["key"]["scenario"], result["key"].get("variant", ""))
            found[name] = _answer(result, consent_policies(folder, suite))
    return found


def consent_policies(folder: Path, suite: Path) -> frozenset[str]:
    """Name the policies of a suite whose rule asks for a confirmation."""
    policies = yaml.safe_load(suite.read_text(encoding="utf-8")).get("policies") or []
    if isinstance(policies, str):
        policies = yaml.safe_load((folder / policies).read_text(encoding="utf-8"))
    return frozenset(one["id"] for one in policies if "confirm_before" in str(one.get("rule")))


def play(folder: Path, suite: str, *, records: bool = False, only: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Run a suite, all variants or `only` these runs, in a session of its own; give results as the file has them."""
    is_recorded = (folder / f"{suite.removesuffix('.yaml')}.cassette.jsonl").exists()
    mode = ["--agentbench-cassette", "record" if records else "replay"] if records or is_recorded else []
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--agentbench",
        *(only or [suite]),
        "--agentbench-variant",
        "all",
        "-q",
        *mode,
    ]
    options = ["--rootdir", ".", "-p", "no:randomly", "--agentbench-json", "results.json"]
    (folder / "results.json").unlink(missing_ok=True)
    subprocess.run(
        [*command, *options], cwd=folder, capture_output=True, check=False
    )  # a failing run is no failure here
    document = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    kept = folder / ".agentbench" / "runs" / document["run"]
    results = document["results"]
    for result in results:
        result["transcript"] = str(kept / result["transcript"]) if result["transcript"] else ""
    return list(results)


def as_recordings(folder: Path, played: dict[str, Answer]) -> dict[str, Answer]:
    """Score the conversations of the runs that were played as recordings of the same suites."""
    found: dict[str, Answer] = {}
    for suite in sorted(folder.glob("*agentbench.yaml")):
        files = [answer.transcript for name, answer in played.items() if name.startswith(f"{suite.name}::")]
        document = yaml.safe_load(suite.read_text(encoding="utf-8"))
        if not files or "transcripts" in (document["agent"] if isinstance(document["agent"], dict) else {}):
            continue
        document.update(agent={"transcripts": [file for file in files if file]})
        for key in ("gates", "user", "variants"):  # recordings tell which agent they are of
            document.pop(key, None)
        for scenario in document["scenarios"]:
            scenario.pop("faults", None)  # nothing strikes what is over
        copy = folder / f"as-recorded.{suite.name}"
        copy.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
        for result in play(folder, copy.name):
            name = run_name(suite.name, result["key"]["scenario"], result["key"].get("variant", ""))
            found[name] = _answer(result, consent_policies(folder, copy))
        copy.unlink()
    return found


def _answer(result: dict[str, Any], about_consent: frozenset[str]) -> Answer:
    verdict = result["verdict"] if result["verdict"] != "error" else "unscored"
    unmeasured = tuple(sorted(one["part"] for one in result["unmeasured"]))
    asked = [one for one in result["policies"] if one["policy"] in about_consent and one["exercised"]]
    said = [one["quote"] for one in result["flags"] if one.get("kind", "value") in CLAIMS]
    said += [one["message"] for one in result["findings"] if one["kind"] == "claim" and one["passed"] is False]
    consent = "" if not asked else "unmeasured" if any(one["kept"] is None for one in asked) else "measured"
    return Answer(Label(verdict, result["blame"]), unmeasured, consent, result.get("transcript", ""), tuple(said))


def kappa(pairs: Iterable[tuple[str, str]]) -> float:
    """Give Cohen's kappa of two labellers; 1.0 where both say the same of everything."""
    given = list(pairs)
    n = len(given)
    agreed = sum(one == two for one, two in given) / n
    left, right = Counter(one for one, _ in given), Counter(two for _, two in given)
    chance = sum(left[label] * right[label] for label in left) / n**2
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)


def copied(folder: Path, into: Path) -> Path:
    """Copy a domain without what nobody needs to play it."""
    shutil.copytree(
        folder, into / folder.name, ignore=shutil.ignore_patterns("labels", "audits", "__pycache__", ".agentbench")
    )
    return into / folder.name


def scored(cases: Iterable[Case], *, as_recording: bool) -> list[tuple[Case, Answer]]:
    """Pair each case with what the tool said of it; a run that the tool did not report is an answer of its own."""
    nothing = Answer(Label("not reported"))
    if as_recording:
        return [(case, case.recorded) for case in cases if case.recorded is not None]
    return [(case, case.played or nothing) for case in cases]


def figures(name: str, pairs: list[tuple[Case, Answer]]) -> list[str]:
    """Give the lines of one group: right of all and of what was measured, with intervals, and what was not measured."""
    if not pairs:
        return [f"{name:<28} n 0"]
    measured = [(case, answer) for case, answer in pairs if not answer.unmeasured]
    return [
        (
            f"{name:<28} n {len(pairs):<4} right {_share(pairs)}   measured throughout: n {len(measured):<4} right "
            f"{_share(measured)}   with an unmeasured part {(len(pairs) - len(measured)) / len(pairs):.0%}"
        )
    ]


def _share(pairs: list[tuple[Case, Answer]]) -> str:
    right = sum(answer.label == case.agreed for case, answer in pairs)
    interval = wilson(right, len(pairs))
    return (
        "–"
        if interval is None
        else f"{right}/{len(pairs)} = {right / len(pairs):.2f} ({interval[0]:.2f}–{interval[1]:.2f})"
    )


def matrix(pairs: list[tuple[Case, Answer]]) -> str:
    """Draw labels as rows and answers as columns, numbered like the rows."""
    counts = Counter((str(case.agreed), str(answer.label)) for case, answer in pairs)
    names = sorted({name for pair in counts for name in pair})
    rows = [f"    {'label':24}" + "".join(f"{number:>4}" for number in range(1, len(names) + 1))]
    for number, label in enumerate(names, start=1):
        cells = (counts[label, answer] for answer in names)
        rows.append(f"{number:>3} {label:24}" + "".join(f"{count or '·':>4}" for count in cells))
    return "\n".join(rows)


def consent_shares(pairs: list[tuple[Case, Answer]]) -> str:
    """Say of how many runs with a write that needs a yes the consent was not measured, by what their script tells."""
    asked = [(case, answer) for case, answer in pairs if answer.consent]
    groups = {"all": asked}
    for name in ("labelled script", "plain script", "model", "recorded"):
        groups[name] = [(case, answer) for case, answer in asked if case.script == name]
    shares = [
        f"{name} {sum(answer.consent == 'unmeasured' for _, answer in group)} of {len(group)}"
        for name, group in groups.items()
    ]
    return "consent not measured: " + ", ".join(shares)


def missed(pairs: list[tuple[Case, Answer]]) -> str:
    """List the runs that were judged otherwise than they are labelled."""
    return "\n".join(
        f"  {case.domain}/{case.name}: is {case.agreed}, judged {answer.label}"
        + (f"; not measured: {', '.join(answer.unmeasured)}" if answer.unmeasured else "")
        for case, answer in pairs
        if answer.label != case.agreed
    )


def measure(folder: Path) -> list[Case]:
    """Play one domain in a copy and score its conversations again as recordings."""
    cases = read_domain(folder)
    with tempfile.TemporaryDirectory() as place:
        copy = copied(folder, Path(place))
        played = answers(copy)
        recorded = as_recordings(copy, played)
    for case in cases:
        case.played = played.get(case.name)
        case.recorded = case.played if case.kind != "scripted" else recorded.get(case.name)
    return cases


def audited(folder: Path, auditor: str, url: str | None) -> list[Case]:
    """Play one domain in a copy with an auditor; ask the model at `url` for what is not recorded, and keep it."""
    cases = read_domain(folder)
    audits = folder / "audits"
    with tempfile.TemporaryDirectory() as place:
        copy = copied(folder, Path(place))
        for kept in audits.glob("*.jsonl"):
            shutil.copy(kept, copy / kept.name)
        for suite in copy.glob("*agentbench.yaml"):
            document = yaml.safe_load(suite.read_text(encoding="utf-8"))
            server = {"base_url": url or "http://127.0.0.1:9/v1", "seconds": 3000, "retries": 0, "temperature": 0}
            document |= {"judge": {"llm": {"model": MODEL, **server}}, "auditor": auditor}
            document.pop("gates", None)
            suite.write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), encoding="utf-8")
        found = answers(copy, records=url is not None, only=[case.name for case in cases])
        if url is not None:
            audits.mkdir(exist_ok=True)
            for made in copy.glob("*.cassette.jsonl"):
                shutil.copy(made, audits / made.name)
    for case in cases:
        case.played = found.get(case.name)
    return cases


def lie_figures(pairs: list[tuple[Case, Answer]]) -> str:
    """Say how many lies were found, and in how many runs whose agent told none something was called one."""
    told = [(answer, lie) for case, answer in pairs for lie in case.lies or ()]
    found = sum(any(_overlap(lie, quote) for quote in answer.quotes) for answer, lie in told)
    honest = [answer for case, answer in pairs if case.lies == ()]
    wrong = [answer for answer in honest if answer.quotes]
    return (
        f"lies found: {found} of {len(told)}; runs without a lie in which a claim was flagged: {len(wrong)} of "
        f"{len(honest)} ({sum(len(answer.quotes) for answer in wrong)} flags)"
    )


def _overlap(lie: str, quote: str) -> bool:
    """Whether two quotes of one message mean the same place: three words in a row, or one in the other."""
    left, right = (
        "".join(char if char.isalnum() else " " for char in text.casefold()).split() for text in (lie, quote)
    )
    runs = {tuple(left[at : at + 3]) for at in range(max(len(left) - 2, 1))}
    squeezed = ["".join(words) for words in (left, right)]
    return (
        squeezed[0] in squeezed[1]
        or squeezed[1] in squeezed[0]
        or any(tuple(right[at : at + 3]) in runs for at in range(len(right)))
    )


def packets(folder: Path, into: Path) -> int:
    """Write one file a run with all that a labeller may see of it: scenario, world, conversation; give their number."""
    about = yaml.safe_load((folder / "about.yaml").read_text(encoding="utf-8"))
    (into / folder.name).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        copy = copied(folder, Path(place))
        played = answers(copy)
        for run in about["runs"]:
            name = run_name(run["suite"], run["scenario"], run.get("variant", ""))
            answer = played.get(name)
            text = "(no transcript)"
            if answer and answer.transcript:
                transcript = json.loads(Path(answer.transcript).read_text(encoding="utf-8"))
                transcript.pop("blame", None)
                text = json.dumps(transcript, ensure_ascii=False, indent=1)
            file = into / folder.name / (name.replace("::", "--").replace("/", "_") + ".json")
            file.write_text(text, encoding="utf-8")
    return len(about["runs"])


def main() -> int:
    """Print the figures; give 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("domains", nargs="*", help="folders of benchmarks/labelled; all without any")
    parser.add_argument("--missed", action="store_true", help="list what was judged otherwise than labelled")
    parser.add_argument("--auditor", choices=("flags", "decide"), help="let an auditor read the runs")
    parser.add_argument("--record", metavar="URL", help="ask the model at this URL for answers that are not recorded")
    parser.add_argument("--packets", type=Path, metavar="FOLDER", help="write what a labeller sees, and score nothing")
    options = parser.parse_args()
    folders = [DOMAINS / name for name in options.domains] or sorted(one.parent for one in DOMAINS.glob("*/about.yaml"))
    if options.packets is not None:
        print(f"{sum(packets(folder, options.packets) for folder in folders)} runs written to {options.packets}")
        return 0
    if options.auditor:
        cases = [case for folder in folders for case in audited(folder, options.auditor, options.record)]
    else:
        cases = [case for folder in folders for case in measure(folder)]
    both = [(str(case.one), str(case.two)) for case in cases if case.two is not None]
    agreement = f"; two labellers agree on {len(both)} with kappa {kappa(both):.2f}" if both else ""
    print(f"{len(cases)} runs{agreement}\n")
    status = 0
    ways = (("played", False),) if options.auditor else (("played", False), ("recorded", True))
    for way, as_recording in ways:
        pairs = scored(cases, as_recording=as_recording)
        print(f"== {'as recordings' if as_recording else 'as they stand'}")
        print("\n".join(figures("all", pairs)))
        for what in ("domain", "author", "kind"):
            for value in sorted({getattr(case, what) for case in cases}):
                group = [(case, answer) for case, answer in pairs if getattr(case, what) == value]
                print("\n".join(figures(f"  {what} {value}", group)))
        print(consent_shares(pairs))
        print(lie_figures(pairs))
        right_agents = [answer.label.verdict for case, answer in pairs if case.agreed.verdict == "passed"]
        failed, unscored = (right_agents.count(verdict) for verdict in ("failed", "unscored"))
        print(f"right agents: {len(right_agents)}, failed {failed}, unscored {unscored}")
        print(matrix(pairs))
        if options.missed:
            print(missed(pairs))
        print()
        measured = [(case, answer) for case, answer in pairs if not answer.unmeasured]
        right = sum(answer.label == case.agreed for case, answer in measured)
        if right < LEAST[way] * len(measured):
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
