"""How often a right run has a flag, and how many planted values are flagged.

    python -m benchmarks.flags [--data ../shared/data/tau2] [--list]

*Right* are runs of which somebody else than the check says so: those of the example suites that pass, those of
`benchmarks/labelled` that two people label as passed, and recordings that τ² rewards. A flag there is a false alarm:
what is stated may still be from nowhere (an example, what everybody knows), but nobody else minded.

*Planted* is one value in each such recording without a flag: one of the last three digits of a number, date or id that
the agent states, and was right to, is another one. The seed is fixed.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from benchmarks.labelled_runs import DOMAINS as LABELLED
from benchmarks.labelled_runs import copied, play, read_domain, run_name
from pytest_agentbench.checks.claims import claims_without_source
from pytest_agentbench.checks.known_values import tokens
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.results.intervals import wilson
from pytest_agentbench.runs.transcript_runs import look_over, score
from pytest_agentbench.suites.suite_file import load_suite

EXAMPLES = Path(__file__).parents[1] / "example_project"
SUITES = ("support", "weather", "weather_generated")
RECORDED = ("airline", "retail", "telecom")


@dataclass(frozen=True)
class Case:
    """A right run with its flags; `planted` says whether a value planted in it is found, None where none was.

    `missed` is what was planted and not found.
    """

    source: str
    name: str
    flags: tuple[str, ...]
    planted: bool | None = None
    missed: str = ""


def of_examples() -> Iterator[Case]:
    """Play the example suites; give the runs that pass."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "examples"
        shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("__pycache__", ".agentbench"))
        for suite in SUITES:
            for result in play(folder, f"{suite}.agentbench.yaml"):
                if result["verdict"] == "passed":
                    yield Case("example suites", f"{suite}::{result['key']['scenario']}", _shown(result["flags"]))


def of_labelled() -> Iterator[Case]:
    """Play the labelled runs; give those that people say are passed."""
    for domain in sorted(one.parent for one in LABELLED.glob("*/about.yaml")):
        right = {case.name for case in read_domain(domain) if case.agreed.verdict == "passed"}
        with tempfile.TemporaryDirectory() as place:
            folder = copied(domain, Path(place))
            for suite in sorted(one.name for one in folder.glob("*agentbench.yaml")):
                for result in play(folder, suite):
                    name = run_name(suite, result["key"]["scenario"], result["key"].get("variant", ""))
                    if name in right:
                        yield Case("labelled runs", f"{domain.name}/{name}", _shown(result["flags"]))


def of_recordings(data: Path) -> Iterator[Case]:
    """Score the recordings that τ² rewards, with the policy that their agent read; plant a value in each."""
    for domain in RECORDED:
        policy = (data / "domains" / domain / "policy.md").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / f"{domain}.agentbench.yaml"
            document = {
                "agent": {"transcripts": str(data / "transcripts" / f"{domain}.jsonl")},
                "environment": {"tools": str(data / "domains" / domain / "tools.json")},
                "scenarios": [str(data / "transcripts" / f"{domain}.tasks.jsonl")],
                "policies": [{"id": "policy", "text": policy, "challenge": 1}],
            }
            path.write_text(json.dumps(document), encoding="utf-8")
            suite = load_suite(path, environ={})
            toolset = load_toolset(suite.environment, suite.root, recorded=True)
            for one in score(suite, "suite", toolset, look_over(suite, toolset, ()), ()):
                if one.recording.reward == 1:
                    name = f"{domain}/{one.recording.extra.get('sim_id')}"
                    flags = tuple(f"{flag.value}: {flag.quote}" for flag in one.result.flags)
                    base = Run(
                        key=one.result.key,
                        scenario=Scenario(id="recorded", title="recorded", task=Task(id="recorded")),
                        transcript=one.recording.transcript,
                        termination=Termination.FINISHED,
                        toolset=toolset,
                    )
                    case = Case(f"τ² recordings, {domain}", name, flags)
                    yield case if flags else _planted(case, base, policy)


def _planted(case: Case, run: Run, policy: str) -> Case:
    """Plant a value in a run, if its agent states any, and look for it."""
    random = Random(case.name)
    messages = list(run.transcript.messages)
    places = [
        (index, token.text)
        for index, text in run.transcript.texts("assistant")
        for line in text.splitlines()
        for token in tokens(line)
        if token.is_value and token.text in text.casefold()
    ]
    if not places:
        return case
    index, value = random.choice(places)
    at = random.choice([at for at, char in enumerate(value) if char.isdigit()][-3:])
    digit = random.choice([one for one in "123456789" if one != value[at]])
    said, start = messages[index].text, messages[index].text.casefold().find(value)
    planted = f"{said[: start + at]}{digit}{said[start + at + 1 :]}"
    messages[index] = messages[index].model_copy(update={"content": planted})
    changed = run.model_copy(update={"transcript": Transcript(messages=tuple(messages))})
    found = bool(claims_without_source(changed, policy))
    missed = "" if found else f"{value} became {value[:at]}{digit}{value[at + 1 :]}"
    return replace(case, planted=found, missed=missed)


def _shown(flags: Sequence[dict[str, str]]) -> tuple[str, ...]:
    return tuple(f"{flag['value']}: {flag['quote']}" for flag in flags)


def share(count: int, n: int) -> str:
    """Give a share with its 95 % interval."""
    interval = wilson(count, n)
    return "none" if interval is None else f"{count}/{n} = {count / n:.3f} ({interval[0]:.3f}–{interval[1]:.3f})"


def report(cases: Sequence[Case]) -> str:
    """Give the figures, for each source and for all."""
    lines = []
    for source in [*dict.fromkeys(case.source for case in cases), "all"]:
        group = [case for case in cases if source in (case.source, "all")]
        planted = [case.planted for case in group if case.planted is not None]
        flagged = sum(1 for case in group if case.flags)
        rate, found = share(flagged, len(group)), share(sum(planted), len(planted))
        lines.append(f"{source:24} right runs with a flag {rate:32} planted and found {found}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; give 1 where more than 5 % of the right runs have a flag."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data" / "tau2")
    parser.add_argument("--list", action="store_true", help="list the flags of right runs, and what was not found")
    options = parser.parse_args(arguments)
    cases = [*of_examples(), *of_labelled()]
    if options.data.is_dir():
        cases += of_recordings(options.data)
    else:
        print(f"no recordings of τ²: no data at {options.data}")
    print(report(cases))
    if options.list:
        print("\n".join(f"  {case.name}: {flag}" for case in cases for flag in case.flags))
        print("\n".join(f"  not found in {case.name}: {case.missed}" for case in cases if case.missed))
    return int(sum(1 for case in cases if case.flags) > 0.05 * len(cases))


if __name__ == "__main__":
    sys.exit(main())
