"""How well policies are found in documents, and whether the rules proposed for them are right, against labels.

    python -m benchmarks.policy_extraction LABELS.yaml [LABELS.yaml …] [--llm provider:model] [--base-url URL]
        [--cassette FILE]

Without `--llm` the document is read by its structure alone and no rule is proposed. Labels are written by somebody who
has not seen what is found:

    document: handbook.md            # beside this file
    suite: agentbench.yaml           # its tools and rows; needed for rules alone
    right_runs:                      # runs that keep every entry
      - [{get_claim: {claim_id: C1}}, {confirm: [C1]}, {pay: {claim_id: C1}}]
    entries:
      - quotes: ["Claims over 500 euros need a receipt."]     # words of the document, one passage each
        kept: [[{pay: {claim_id: C1}}]]                       # runs that keep this entry, made for real
        broken: [[{pay: {claim_id: C2}}]]                     # runs that break it and nothing else

A step of a run is a call of the agent's, or `user: text`, `confirm: [values]` (the user agrees), `agent: text`.

An entry found and one labelled are the same where they share at least half of all characters that either has; each
counts once. A rule is **wrong** where it is broken by a run that keeps the entry, or by one of `right_runs`; **right**
where it is not, and every broken run breaks it; **weak** where it sees some of them or none. An entry that is labelled
with runs and has no rule is **none**; one without runs should have no rule, and a rule that no right run breaks is
**unlabelled** there.
"""

import argparse
import asyncio
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import networkx  # noqa: TID253 - a script loads what it needs
import yaml  # noqa: TID253 - same

from pytest_agentbench.checks.policies import check_policies
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.policies.analyst import Analyst, Dropped, facts_of
from pytest_agentbench.generation.policies.data_types import ExtractedPolicy, Extraction
from pytest_agentbench.generation.policies.extraction import PolicyDocument, extract, extract_by_model
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.llm.cassette.merge import merge
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.record_replay import CassetteRecorder
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.runs.expected_state import ExpectedStates
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.scenario_form import form_to_scenario
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.validation.scripted_run import ScriptPlayer, Step

Ranges = Sequence[tuple[int, int]]

SAME = 0.5
"""Share of characters from which what was found is what was labelled."""


@dataclass(frozen=True, kw_only=True)
class Labels:
    """A file of labels."""

    file: Path
    form: dict[str, Any]

    @classmethod
    def read(cls, file: Path) -> "Labels":
        """Read the labels of a document."""
        return cls(file=file, form=yaml.safe_load(file.read_text(encoding="utf-8")))

    @property
    def document(self) -> Path:
        """The document that is labelled."""
        return self.file.parent / self.form["document"]

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The entries that are labelled."""
        found: list[dict[str, Any]] = self.form["entries"]
        return found


@dataclass(frozen=True, kw_only=True)
class Score:
    """What one document gave: counts, the pairs of label and finding, and the texts that were missed and invented."""

    labels: int
    found: int
    pairs: dict[int, int]
    covered: int
    inside: int
    missed: tuple[str, ...]
    invented: tuple[str, ...]

    @property
    def precision(self) -> float:
        """Share of what was found that is labelled."""
        return len(self.pairs) / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Share of what is labelled that was found."""
        return len(self.pairs) / self.labels if self.labels else 0.0

    def lines(self, name: str) -> list[str]:
        """Give the score as it is printed."""
        return [
            f"{name}: {self.labels} labelled, {self.found} found, {len(self.pairs)} the same",
            f"  precision {self.precision:.2f}, recall {self.recall:.2f}",
            f"  however cut: {self.covered} of {self.labels} labels covered, {self.inside} of {self.found} are inside",
            *(f"  missed    {text}" for text in self.missed),
            *(f"  invented  {text}" for text in self.invented),
        ]


def score(labels: Labels, extraction: Extraction | None = None) -> Score:
    """Score an extraction (by structure unless given); raise `ValueError` for a quote that the document has not."""
    text = labels.document.read_text(encoding="utf-8")
    wanted = [_places(text, entry["quotes"]) for entry in labels.entries]
    given = extraction or extract(PolicyDocument(name=labels.document.name, text=text))
    found = [[(span.start, span.end) for span in policy.spans] for policy in given.policies]
    graph = networkx.Graph()
    for left, label in enumerate(wanted):
        for right, policy in enumerate(found):
            share = _characters(text, label, policy)
            if share >= SAME:
                graph.add_edge(("label", left), ("found", right), weight=share)
    matched = networkx.max_weight_matching(graph, maxcardinality=True)
    pairs = dict((a[1], b[1]) if a[0] == "label" else (b[1], a[1]) for a, b in matched)
    everything = [place for policy in found for place in policy]
    labelled = [place for label in wanted for place in label]
    return Score(
        labels=len(wanted),
        found=len(found),
        pairs=pairs,
        covered=sum(_inside(text, label, everything) >= SAME for label in wanted),
        inside=sum(_inside(text, policy, labelled) >= SAME for policy in found),
        missed=tuple(_text(text, label) for at, label in enumerate(wanted) if at not in pairs),
        invented=tuple(_text(text, one) for at, one in enumerate(found) if at not in pairs.values()),
    )


@dataclass(kw_only=True)
class Rules:
    """How the rules of one document did: how many of each kind, and a line for each that is not right."""

    counts: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)

    def note(self, kind: str, policy: ExtractedPolicy, why: str = "") -> None:
        """Count one, and say which where somebody has to look."""
        self.counts[kind] += 1
        if kind != "right":
            self.told.append(f"  {kind:<10} {policy.id}: {policy.rule or policy.text}{f' ({why})' if why else ''}")

    def lines(self) -> list[str]:
        """Give the counts as they are printed."""
        decided = sum(self.counts[kind] for kind in ("right", "weak", "wrong"))
        share = self.counts["right"] / decided if decided else 0.0
        counts = ", ".join(f"{kind} {count}" for kind, count in sorted(self.counts.items()))
        return [f"  rules: {counts or 'none proposed'}; right {share:.2f} of those that decide", *self.told]


async def score_rules(labels: Labels, score_: Score, policies: Sequence[ExtractedPolicy]) -> Rules:
    """Hold each proposed rule against the runs of its entry, and against those that are right."""
    file = labels.file.parent / labels.form["suite"]
    suite = load_suite(file, environ={}, generating=True)
    toolset = load_toolset(suite.environment, suite.root)
    of_entry = {found: label for label, found in score_.pairs.items()}
    rules = Rules()
    with tempfile.TemporaryDirectory() as folder:
        judge = _Judge(suite, toolset, IsolationGate(Path(folder)))
        for at, policy in enumerate(policies):
            entry = labels.entries[of_entry[at]] if at in of_entry else {}
            kept, broken = [*entry.get("kept", ()), *labels.form.get("right_runs", ())], entry.get("broken", [])
            if policy.rule is None:
                if broken:
                    rules.note("none", policy)
                continue
            failing = [run for run in kept if await judge.is_kept(policy.rule, run) is False]
            seen = sum([await judge.is_kept(policy.rule, run) is False for run in broken])
            if failing:
                rules.note("wrong", policy, f"broken by {failing[0]}")
            elif not broken:
                rules.note("unlabelled", policy)
            elif seen < len(broken):
                rules.note("weak", policy, f"sees {seen} of {len(broken)}")
            else:
                rules.note("right", policy)
    return rules


@dataclass(frozen=True)
class _Judge:
    """Makes runs for real, and holds one rule against them."""

    suite: Suite
    toolset: Toolset
    isolation: IsolationGate

    async def is_kept(self, rule: dict[str, Any], steps: Sequence[dict[str, Any]]) -> bool | None:
        """Say whether a run keeps a rule; None where the rule does not apply, or nobody can tell."""
        scenario = form_to_scenario({"id": "labelled", "says": ["Hello"]}, ())
        assert not isinstance(scenario, list)
        policy = Policy(id="proposed", text="proposed", rule=rule)
        alone = self.suite.model_copy(update={"policies": (policy,), "scenarios": (scenario,)})
        variant = next(iter(alone.variants), "")
        player = ScriptPlayer(
            plan=RunPlan(suite=alone, suite_key="labelled", scenario=scenario, variant=variant, toolset=self.toolset),
            isolation=self.isolation,
            now=time.monotonic,
            expected=ExpectedStates(),
        )
        try:
            run = await player.play_through(tuple(_script(steps)))
        finally:
            player.runner.close()
        (outcome,) = check_policies(run).outcomes
        return outcome.kept


def _script(steps: Sequence[dict[str, Any]]) -> list[Step]:
    script = [Step(party="user", part="line", text="Hello, I have a request.")]
    for step in steps:
        ((kind, body),) = step.items()
        if kind in ("user", "confirm"):
            if script[-1].party == "assistant" and script[-1].call is not None:
                script.append(Step(party="assistant", part="filler", text="One moment."))
            text = body if kind == "user" else f"Yes, go ahead: {', '.join(map(str, body))}."
            if script[-1].party == "user":
                question = f"Shall I do this: {', '.join(map(str, body))}?" if kind == "confirm" else "Yes?"
                script.append(Step(party="assistant", part="question", text=question))
            part, about = ("consent", tuple(body)) if kind == "confirm" else ("line", ())
            script.append(Step(party="user", part=part, text=text, about=about))
        elif kind == "agent":
            script.append(Step(party="assistant", part="filler", text=body))
            script.append(Step(party="user", part="filler", text="All right."))
        else:
            call = ToolCall(id=f"call_{len(script)}", name=kind, arguments=body)
            script.append(Step(party="assistant", part="call", call=call))
    return [*script, Step(party="assistant", part="filler", text="That is all.")]


def _places(text: str, quotes: Sequence[str]) -> list[tuple[int, int]]:
    found = []
    start = 0
    for quote in quotes:
        pattern = re.compile(r"\s+".join(map(re.escape, quote.split())))
        match = pattern.search(text, start) or pattern.search(text)
        if match is None:
            raise ValueError(f"the document does not hold {quote!r}")
        found.append(match.span())
        start = match.end()
    return found


def _marks(text: str, ranges: Ranges) -> set[int]:
    return {at for start, end in ranges for at in range(start, end) if text[at].isalnum()}


def _characters(text: str, left: Ranges, right: Ranges) -> float:
    one, other = _marks(text, left), _marks(text, right)
    return len(one & other) / len(one | other) if one | other else 0.0


def _inside(text: str, ranges: Ranges, whole: Ranges) -> float:
    marks = _marks(text, ranges)
    return len(marks & _marks(text, whole)) / len(marks) if marks else 0.0


def _text(text: str, ranges: Ranges) -> str:
    return " … ".join(" ".join(text[start:end].split()) for start, end in ranges)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one document gave: its entries; where there are a model and a service, the rules and what was dropped."""

    name: str
    score: Score
    rules: Rules | None = None
    dropped: tuple[Dropped, ...] = ()

    def lines(self) -> list[str]:
        """Give the lines that are printed."""
        dropped = [f"  dropped    {one.policy}, {one.part}: {one.reason}" for one in self.dropped]
        return [*self.score.lines(self.name), *(self.rules.lines() if self.rules else ()), *dropped]


async def measured(labels: Labels, models: Models | None = None, spec: ModelSpec | None = None) -> Measured:
    """Read one document, by structure or by a model, and score its entries and the rules that are proposed."""
    document = PolicyDocument(name=labels.document.name, text=labels.document.read_text(encoding="utf-8"))
    if models is None or spec is None:
        return Measured(name=document.name, score=score(labels, extract(document)))
    chat = models.chat(spec, Caller(role="extractor"))
    found = await extract_by_model(document, chat, Random(document.name))
    result = score(labels, found)
    name = f"{document.name}, by {spec.model}"
    if "suite" not in labels.form:
        return Measured(name=name, score=result)
    suite = load_suite(labels.file.parent / labels.form["suite"], environ={}, generating=True)
    facts = await facts_of(world_of(suite, toolset=load_toolset(suite.environment, suite.root)), suite.now)
    analyst = Analyst(models.chat(spec, Caller(role="analyst")), facts, Random(document.name))
    analysis = await analyst(found.policies)
    rules = await score_rules(labels, result, analysis.policies)
    return Measured(name=name, score=result, rules=rules, dropped=analysis.dropped)


def _model(options: argparse.Namespace) -> ModelSpec:
    reached = {"base_url": options.base_url, "api_key": "none", "seconds": 3000.0} if options.base_url else {}
    return ModelSpec.model_validate({"model": options.llm, **reached})


async def _main(options: argparse.Namespace) -> None:
    if not options.llm:
        for file in options.labels:
            print("\n".join((await measured(Labels.read(file))).lines()), flush=True)
        return
    recorder, shard = None, None
    if options.cassette:
        shard = options.cassette.with_suffix(".shard") if options.record else None
        mode = Mode.RECORD if options.record else Mode.REPLAY
        recorder = CassetteRecorder(mode, options.cassette, shard=shard, redact=lambda value: value)
    models = Models(environ=os.environ, recorder_of=lambda _: recorder)
    try:
        each = (measured(Labels.read(file), models, _model(options)) for file in options.labels)
        for one in await asyncio.gather(*each):
            print("\n".join(one.lines()), flush=True)
    finally:
        await models.close()
        if recorder is not None:
            recorder.close()
        if shard is not None:
            merge(options.cassette, [shard])
            shard.unlink(missing_ok=True)


def main() -> None:
    """Score each file of labels."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labels", nargs="+", type=Path, metavar="LABELS.yaml")
    parser.add_argument("--llm", metavar="MODEL", help="the model that reads and proposes")
    parser.add_argument("--base-url", metavar="URL", help="where it is")
    parser.add_argument("--cassette", type=Path, metavar="FILE", help="recorded answers")
    parser.add_argument("--record", action="store_true", help="record what the cassette does not hold")
    asyncio.run(_main(parser.parse_args()))


if __name__ == "__main__":
    main()
