"""How often the guard rails of the model-backed user find fault with recorded users.

Run `python benchmarks/guard_rails.py [FOLDER OF RECORDINGS] [--alarms RULE]`. Every text that a recorded user wrote is
a draft: it is read as a model's reply, markers included, and each rule gets the view that the user had, built from the
recorded task. IntellAgent's dialogues name no task, so that the rules that need the user's knowledge (invention,
everything at once) do not apply to them; their user is also the judge, and closes as soon as it has a verdict.

- *n*: drafts that the rule applies to: closes for early stop, first texts for everything at once, all others else
- *alarms*: drafts with which it finds fault; recorded users are models and do commit faults
- *right*: alarms that a reader found right (`guard_rails_right.txt` lists them); *false*: the share of n that are not
- development: half of retail, by a hash of the task id, and IntellAgent; *labelled*: the canned texts of generated
  conversations, whose closes follow no conversation and are no test of early stop; everything else is held out, and
  was scored when the rules were done
"""

import argparse
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.simulation.views import user_view
from pytest_agentbench.suites.recording import ScenarioIndex
from pytest_agentbench.suites.scenario_files import load_scenarios
from pytest_agentbench.suites.transcripts import read_recordings
from pytest_agentbench.users.llm.draft import Draft, read_draft
from pytest_agentbench.users.llm.guards import RULES

RIGHT = Path(__file__).with_name("guard_rails_right.txt")
RECORDINGS = Path(__file__).resolve().parents[1] / "../shared/data"
DOMAINS = ("retail", "airline", "telecom")
NEEDS_TASK = frozenset({"invention", "at_once"})


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A recorded user's text in its place; `has_task` tells whether the view says what the user knows."""

    part: str
    source: str
    view: View
    draft: Draft
    has_task: bool = True

    def subject_to(self, rule: str) -> bool:
        """Whether the rule can find anything in this draft."""
        if rule in NEEDS_TASK and not self.has_task:
            return False
        if rule == "early_stop":
            return self.draft.closing is not None and self.part != "labelled"
        return rule != "at_once" or not any(message.role == "user" for message in self.view.messages)


@dataclass
class Figures:
    """Counts of one rule over the turns of one part."""

    n: int = 0
    alarms: int = 0
    right: int = 0

    @property
    def false_rate(self) -> float:
        """Share of the turns that the rule applies to with which it finds fault without right."""
        return (self.alarms - self.right) / self.n if self.n else 0.0


def turns(folder: Path, parts: Iterable[str] = ("development", "held out", "labelled")) -> Iterator[Turn]:
    """Give every recorded user text of the chosen parts."""
    for turn in (*_tau2(folder), *_intellagent(folder)):
        if turn.part in parts:
            yield turn


def measure(found: Iterable[Turn]) -> dict[str, dict[str, Figures]]:
    """Count per part and per rule."""
    figures: dict[str, dict[str, Figures]] = {}
    right = frozenset(RIGHT.read_text(encoding="utf-8").splitlines())
    for turn in found:
        rows = figures.setdefault(turn.part, {rule: Figures() for rule in RULES})
        for name, rule in RULES.items():
            if turn.subject_to(name):
                rows[name].n += 1
                is_alarm = rule(turn.view, turn.draft) is not None
                rows[name].alarms += is_alarm
                rows[name].right += is_alarm and f"{name} {turn.source}" in right
    return figures


def table(figures: dict[str, dict[str, Figures]]) -> str:
    """Give the figures as lines of text."""
    heads = ("n", "alarms", "right", "false")
    lines = [
        f"{'':10}" + "".join(f"  {part:^29}" for part in figures),
        f"{'rule':10}" + ("  " + "".join(f"{head:>7}" for head in heads) + " ") * len(figures),
    ]
    for rule in RULES:
        cells = (rows[rule] for rows in figures.values())
        lines.append(f"{rule:10}" + "".join(f"  {c.n:7}{c.alarms:7}{c.right:7}{c.false_rate:8.2%}" for c in cells))
    return "\n".join(lines)


def is_development(domain: str, task_id: str) -> bool:
    """Tell whether a task is one on which the rules were developed."""
    return domain == "retail" and int(hashlib.sha256(f"guards:{task_id}".encode()).hexdigest(), 16) % 2 == 0


def _tau2(folder: Path) -> Iterator[Turn]:
    for domain in DOMAINS:
        index = ScenarioIndex(load_scenarios(folder / f"tau2/transcripts/{domain}.tasks.jsonl", environ={}))
        tools = _user_tools(folder, domain)
        for recording in read_recordings(folder / f"tau2/transcripts/{domain}.jsonl"):
            scenario = index.find(recording)
            if scenario is not None and not recording.extra.get("solo"):
                part = "development" if is_development(domain, recording.scenario) else "held out"
                yield from _texts(part, f"{domain}:{recording.line}", scenario, recording.transcript.messages, tools)
    for domain in ("mock", "retail", "telecom"):
        index = ScenarioIndex(load_scenarios(folder / f"tau2/domains/{domain}/tasks.json", environ={}))
        for recording in read_recordings(folder / f"tau2/labelled/{domain}.jsonl"):
            scenario = index.find(recording)
            if scenario is not None:
                yield from _texts(
                    "labelled", f"{domain}:{recording.line}", scenario, recording.transcript.messages, Toolset()
                )


def _user_tools(folder: Path, domain: str) -> Toolset:
    """Give the user's own tools of a domain."""
    listed = json.loads((folder / f"tau2/domains/{domain}/tools.json").read_text(encoding="utf-8"))
    return Toolset(
        specs=tuple(
            ToolSpec.model_validate({**entry["function"], "requestor": "user"}) for entry in listed["user"] or ()
        )
    )


def _texts(part: str, source: str, scenario: Scenario, messages: tuple[Message, ...], tools: Toolset) -> Iterator[Turn]:
    for at, message in enumerate(messages):
        if message.role == "user" and message.text.strip() and not message.tool_calls:
            view = user_view(scenario, messages[:at], begun=0, tools=tools)
            yield Turn(part=part, source=f"{source}:{at}", view=view, draft=read_draft(message.text))


def _intellagent(folder: Path) -> Iterator[Turn]:
    dialogs = json.loads((folder / "intellagent/airline_run_0_dialogs.json").read_text(encoding="utf-8"))
    for name, dialog in dialogs.items():
        messages = tuple(
            Message(role="user" if entry["role"] == "Human" else "assistant", content=entry["message"])
            for entry in dialog["dialog"]
        )
        for at, message in enumerate(messages):
            if message.role == "user" and message.text.strip():
                draft = read_draft(re.sub(r"###STOP (?:SUCCESS|FAILURE)###", "###STOP###", message.text))
                view = View(messages=messages[:at])
                yield Turn(
                    part="development", source=f"intellagent:{name[:8]}:{at}", view=view, draft=draft, has_task=False
                )


def main() -> None:
    """Print the table, and the alarms of one rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=RECORDINGS)
    parser.add_argument(
        "--alarms", choices=RULES, action="append", default=[], help="print the drafts it finds fault with"
    )
    parser.add_argument("--part", action="append", help="development, held out, labelled")
    options = parser.parse_args()
    found = list(turns(options.folder, options.part or ("development", "held out", "labelled")))
    print(table(measure(found)))
    for turn in found:
        for name in options.alarms:
            reason = RULES[name](turn.view, turn.draft) if turn.subject_to(name) else None
            if reason is not None:
                heard = next((m.text for m in reversed(turn.view.messages) if m.role == "assistant"), "")
                print(f"\n[{turn.part}] {turn.source} {name}: {reason}")
                print(f"  agent: {heard[-400:]!r}\n  user:  {turn.draft!r}")


if __name__ == "__main__":
    main()
