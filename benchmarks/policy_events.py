"""Speed of events from policies, levels realised, rows at fault, how policies take part: policy_events SUITE [N].

    python -m benchmarks.policy_events example_project/generated.agentbench.yaml 1000
    python -m benchmarks.policy_events ruled 1000    # the support desk with the rules of the tests

A level is realised where each policy of the set is decided by a call, a refusal or a turn of the event. IntellAgent,
whose walk stops at the level or above, realises the requested level in 41 to 45 % of its events on its own graphs
(levels 5 to 10), and asks a model 4 + 3R times for an event of R rows (§3.1.2 as shipped); nothing here asks one.
"""

import asyncio
import sys
import time
from collections import Counter
from pathlib import Path

from pytest_agentbench.core.suite import Suite
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.draft import Draft, Loss
from pytest_agentbench.generation.policies.events.schema import EventRow, RowChecker
from pytest_agentbench.generation.policies.graph import shared_graph
from pytest_agentbench.generation.policies.pipeline import of_suite
from pytest_agentbench.generation.policies.source import PolicySource, policy_source
from pytest_agentbench.generation.recipe import recipe_of
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.policies.kit import ruled_support


async def measure(suite: Suite, count: int) -> str:
    """Make events of a suite's own policies; give the figures as text."""
    toolset = load_toolset(suite.environment, suite.root)
    began, cpu = time.perf_counter(), time.process_time()
    graph = shared_graph(of_suite(suite), toolset.of("assistant"))
    recipe = recipe_of(suite).model_copy(update={"count": count, "seed": 7})
    source = await policy_source(suite.model_copy(update={"generate": recipe}), toolset, graph)
    drafts: list[Draft] = []
    lost: Counter[str] = Counter()
    async for one in source.drafts():
        if isinstance(one, Loss):
            lost[f"{one.stage}: {one.reason}"] += 1
        else:
            drafts.append(one)
            source.accepted(one)
        if len(drafts) == count:
            break
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    rows, faults = _rows(source, drafts)
    parts = [part for draft in drafts for part in draft.policies]
    exact = sum(draft.provenance["requested"] == draft.provenance["realised"] for draft in drafts)
    kinds = Counter(part.event for part in parts)
    return "\n".join(
        (
            f"{len(drafts)} events of {len(source.sets)} sets in {seconds:.1f} s ({cpu:.1f} s of CPU)",
            *(f"  lost {number}: {reason}" for reason, number in sorted(lost.items())),
            f"levels: {exact} of {len(drafts)} exactly as asked for",
            f"policies: {len(parts)} mentions, {sum(bool(part.involves) for part in parts)} of them involved",
            f"in no set: {len(source.left_out)} of {len(suite.policies)} policies",
            f"{rows} rows, {faults} inconsistent",
            ", ".join(f"{name} {number}" for name, number in sorted(kinds.items())),
        )
    )


def _rows(source: PolicySource, drafts: list[Draft]) -> tuple[int, int]:
    """Count the rows of drafts, and what a schema does not accept of them."""
    samples = source.maker.runs.samples
    checker = RowChecker(samples.schema, samples.rows)
    rows = faults = 0
    for draft in drafts:
        made = [
            EventRow(table=table, values=row)
            for table, content in draft.state.items()
            for row in (content if isinstance(content, list) else content.values())
        ]
        rows += len(made)
        faults += len(checker.check(made))
    return rows, faults


if __name__ == "__main__":
    name, number = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    chosen = ruled_support() if name == "ruled" else load_suite(Path(name), environ={}, generating=True)
    print(asyncio.run(measure(chosen, number)))
