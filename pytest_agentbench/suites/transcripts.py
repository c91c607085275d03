"""Files of recorded conversations: τ² recordings and results, message logs, our own transcripts."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.suites.formats import read_file
from pytest_agentbench.suites.ids import scenario_slug
from pytest_agentbench.suites.message_log import DEFAULT_STOP_CALLS, StopCalls
from pytest_agentbench.suites.record import Record
from pytest_agentbench.suites.recording import Recording


def read_recordings(
    paths: Path | Iterable[Path],
    *,
    stop_calls: frozenset[str] = DEFAULT_STOP_CALLS,
    tools: frozenset[str] = frozenset(),
) -> Iterator[Recording]:
    """Give the recordings of one or several files one by one: JSON lines, or `.json` files read as a whole.

    A call to one of `stop_calls` that closes a log and is not one of `tools` is a stop, not a call. What is well-formed
    is given first; then `SuiteError` names every record that is not, with its line.
    """
    stops = StopCalls(names=stop_calls, tools=tools)
    numbering = _Numbering()
    problems: list[Problem] = []
    for path in [paths] if isinstance(paths, Path) else paths:
        position = 0
        for found in read_file(path, stops):
            if isinstance(found, Problem):
                problems.append(found)
                continue
            yield numbering.recording(found.record, path, found.line, position)
            position += 1
    if problems:
        raise SuiteError(problems)


class _Numbering:
    """Numbers trials and gives variants ids of their own."""

    def __init__(self) -> None:
        self._trials: Counter[tuple[str, str | None, str]] = Counter()
        self._variants: dict[str, str] = {}

    def recording(self, record: Record, path: Path, line: int, position: int) -> Recording:
        variant = self._variant(record.label)
        run = (record.scenario, record.scenario_key, variant)
        trial = self._trials[run]
        self._trials[run] += 1
        fields: dict[str, Any] = {name: getattr(record, name) for name in Record.model_fields}
        return Recording(**fields, variant=variant, trial=trial, source=path, line=line, position=position)

    def _variant(self, label: str) -> str:
        if not label:
            return ""
        if label not in self._variants:
            slug = scenario_slug(label)
            # a variant called t3 would look like a trial
            slug = f"v-{slug}" if slug[:1] == "t" and slug[1:].isdigit() else slug
            taken = {other.lower() for other in self._variants.values()}
            count, unique = 1, slug
            while unique.lower() in taken:
                count += 1
                unique = f"{slug}-{count}"
            self._variants[label] = unique
        return self._variants[label]
