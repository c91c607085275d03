"""Collection: suite files become modules, marked functions are parametrized, the end says what a run may cost."""

from collections import Counter
from pathlib import Path

import pytest

from pytest_agentbench.plugin.ahead import is_scenario
from pytest_agentbench.plugin.bench import Bench
from pytest_agentbench.plugin.code_first import parametrize
from pytest_agentbench.plugin.items import ScenarioItem, SuiteModule
from pytest_agentbench.plugin.keys import POSITION
from pytest_agentbench.runs.conduct import limits_of

_OWN_MARKS = frozenset({"skip", "xfail"})


class Collecting:
    """Hooks of collection; they read files and call neither agent, tool nor model."""

    def __init__(self, bench: Bench, config: pytest.Config) -> None:
        self._bench = bench
        self._config = config
        self.suites: list[SuiteModule] = []

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> SuiteModule | None:
        """Take `agentbench.yaml` and `*.agentbench.yaml`."""
        if file_path.name != "agentbench.yaml" and not file_path.name.endswith(".agentbench.yaml"):
            return None
        module: SuiteModule = SuiteModule.from_parent(parent, path=file_path)
        self.suites.append(module)
        return module

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run a marked function once per scenario that fits its mark."""
        parametrize(metafunc, self._bench)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count what was selected of each suite, and decide which suites' gates will be evaluated."""
        kept: Counter[object] = Counter()
        for position, item in enumerate(session.items):
            item.stash[POSITION] = position
            if is_scenario(item) and item.parent and not _left_out(item):
                kept[item.parent] += 1
        for suite in self.suites:
            if hasattr(suite, "info"):
                self._count(suite, session, kept[suite])
        self._check_variants()

    @pytest.hookimpl(trylast=True)
    def pytest_report_collectionfinish(self, items: list[pytest.Item]) -> list[str]:
        """Say how many runs there are and what they may cost at most."""
        runs = [item for item in items if is_scenario(item)]
        if not runs:
            return []
        turns = sum(limits_of(item.plan).turns for item in runs if item.plan.recording is None)
        recorded = sum(item.plan.recording is not None for item in runs)
        played = f"at most {turns} agent turns, 0 model calls of our own (the agent's are its own)" if turns else ""
        judged = f"{recorded} recorded, nothing is played" if recorded else ""
        return [f"agentbench: {len(runs)} runs; {'; '.join(filter(None, (played, judged)))}"]

    def _count(self, suite: SuiteModule, session: pytest.Session, selected: int) -> None:
        left_out = sum(1 for item in session.items if item.parent is suite and _left_out(item))
        total = suite.info.total - left_out
        mode = self._bench.options.gates
        gated = bool(suite.info.gates) and (mode == "always" or (mode == "auto" and selected == total))
        suite.info = suite.info.model_copy(update={"selected": selected, "total": total, "gated": gated})

    def _check_variants(self) -> None:
        """Refuse a variant that no suite declares."""
        asked = self._bench.options.variants
        declared = {name for suite in self.suites for name in suite.declared}
        if missing := [name for name in asked if name not in declared and name != "all"]:
            known = ", ".join(sorted(declared)) or "none"
            raise pytest.UsageError(f"--agentbench-variant: no suite declares {missing[0]!r}; declared: {known}")


def _left_out(item: pytest.Item) -> bool:
    """Whether the user's own skip or xfail keeps the run out of every rate."""
    return isinstance(item, ScenarioItem) and any(mark.name in _OWN_MARKS for mark in item.iter_markers())
