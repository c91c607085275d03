"""Speed of events from policies, rows at fault, who decides, model calls: python -m benchmarks.policy_events SUITE [N].

A level is realised twice: by the policies that are planned, and by those that the oracle's run exercises, which is what
its calls, refusals, failures and words decide about; the rest only a judge can tell. IntellAgent, whose walk stops at
the level or above, realises the requested level in 41 to 45 % of its events on its own graphs (levels 5 to 10); what a
run exercises only a model says afterwards, and no such figure is shipped, nor tools to make calls of those graphs with.
The model calls are those of the roles `rower` and `narrator`; IntellAgent asks 4 + 3R for an event of R rows (§3.1.2
as shipped).
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_agentbench.generation.policies.events.checking import Ground, RowChecker
from pytest_agentbench.generation.policies.events.preparing import extraction_of, maker_of

from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.policies.events.events import RejectedEventError
from pytest_agentbench.generation.policies.graph.graph import GraphInput, ToolWords, shared_graph
from pytest_agentbench.generation.policies.sampling.sampling import sample
from pytest_agentbench.generation.policies.values import Event
from pytest_agentbench.suites.suite_file import load_suite

_ROLES = 2


async def measure(file: Path, count: int) -> str:
    """Make events of a suite's own policies; give the figures as text."""
    suite = load_suite(file, environ={}, generating=True)
    toolset = load_toolset(suite.environment, suite.root)
    extraction = extraction_of(suite.policies)
    words = tuple(ToolWords(name=one.name, description=one.description) for one in toolset.of("assistant"))
    began = time.perf_counter()
    cpu = time.process_time()
    graph = shared_graph(GraphInput(extraction=extraction, tools=words))
    sets = sample(graph, count, 2, 11, seed=7).sets
    maker = await maker_of(suite, toolset, extraction, seed=7)
    events, lost = [], Counter[str]()
    for one in sets:
        try:
            events.append(await maker.make(one))
        except RejectedEventError as error:
            lost[f"{error.rejection.stage}: {error.rejection.detail}"] += 1
    seconds = time.perf_counter() - began
    cpu = time.process_time() - cpu
    ground = Ground(maker.oracle.samples.schema, maker.oracle.samples.rows)
    faults = sum(len(RowChecker(ground).check(event.rows)) for event in events)
    rows = sum(len(event.rows) for event in events)
    handled = Counter(one.handling for event in events for one in event.bindings)
    return "\n".join(
        (
            f"{len(events)} events of {len(sets)} sets in {seconds:.1f} s ({cpu:.1f} s of CPU), lost: {dict(lost)}",
            f"{rows} rows, {faults} inconsistent",
            ", ".join(f"{name} {count}" for name, count in sorted(handled.items())),
            *by_level(events, {one.id: one.challenge for one in extraction.policies}),
            f"model calls an event: 0 without a model, {_ROLES} with one and nothing to repair",
            f"IntellAgent's 4 + 3R for these rows: {4 + 3 * rows / max(1, len(events)):.1f}",
        )
    )


def by_level(events: Sequence[Event], challenges: Mapping[str, int]) -> list[str]:
    """Give a table: the levels asked for, planned, and exercised by the oracle's runs."""
    lines = ["level  events  planned = asked  exercised (mean)  exercised = asked  of the challenge"]
    for level in sorted({event.set.requested for event in events}):
        own = [event for event in events if event.set.requested == level]
        shown = [sum(challenges[one.policy] for one in event.bindings if one.handling != "judge_only") for event in own]
        planned = sum(event.set.realised == level for event in own)
        mean = sum(shown) / len(shown)
        lines.append(
            f"{level:>5}  {len(own):>6}  {planned / len(own):>15.0%}  {mean:>16.2f}"
            f"  {sum(one == level for one in shown) / len(own):>17.0%}  {mean / level:>16.0%}"
        )
    return lines


if __name__ == "__main__":
    print(asyncio.run(measure(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000)))
