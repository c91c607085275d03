"""Files of recorded conversations: τ² recordings and results, OpenAI-format message logs, our own transcripts."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_agentbench.core.codec import loads
from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.misfit import shown
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.suites.document import MAX_DEPTH, too_deep
from pytest_agentbench.suites.files import read_lines, read_text
from pytest_agentbench.suites.ids import scenario_slug
from pytest_agentbench.suites.openai_log import DEFAULT_STOP_CALLS, StopCalls, read_openai_log
from pytest_agentbench.suites.own_transcript import is_own_transcript, read_own_transcript
from pytest_agentbench.suites.record import MalformedError, Record
from pytest_agentbench.suites.recording import Recording
from pytest_agentbench.suites.tau2_recording import is_tau2_recording, is_tau2_results, read_tau2_recording, runs_of


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
        for found in _records(path, stops):
            if isinstance(found, Problem):
                problems.append(found)
                continue
            yield numbering.recording(found.record, path, found.line, position)
            position += 1
    if problems:
        raise SuiteError(problems)


@dataclass(frozen=True, kw_only=True)
class _Found:
    record: Record
    line: int


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


def _records(path: Path, stops: StopCalls) -> Iterator[_Found | Problem]:
    if path.suffix.lower() == ".json":
        yield from _whole(path, stops)
        return
    empty = True
    try:
        for number, text in read_lines(path):
            empty = False
            try:
                yield _Found(record=_record(_parse(text), stops), line=number)
            except MalformedError as error:
                yield Problem(file=path, line=number, column=1, key=error.key, message=str(error))
    except SuiteError as error:
        yield from error.problems
        return
    if empty:
        yield Problem(file=path, message="the file is empty")


def _whole(path: Path, stops: StopCalls) -> Iterator[_Found | Problem]:
    try:
        value = _parse(read_text(path))
        if is_tau2_results(value):
            items: list[JsonValue] = list(runs_of(value))
        elif isinstance(value, list) and not (value and isinstance(value[0], dict) and "role" in value[0]):
            items = value
        else:
            items = [value]
    except SuiteError as error:
        yield from error.problems
        return
    except MalformedError as error:
        yield Problem(file=path, key=error.key, message=str(error))
        return
    for index, item in enumerate(items):
        try:
            yield _Found(record=_record(item, stops), line=0)
        except MalformedError as error:
            key = f"[{index}]" + (f".{error.key}" if error.key else "")
            yield Problem(file=path, key=key, message=str(error))


def _parse(text: str) -> JsonValue:
    try:
        value = loads(text)
    except json.JSONDecodeError as error:
        message = f"this is not JSON: {error.msg} at column {error.colno}"
        raise MalformedError(message) from None
    except (ValueError, RecursionError) as error:
        message = f"this cannot be read: {error}"
        raise MalformedError(message) from None
    if too_deep(value):
        message = f"nested deeper than {MAX_DEPTH} levels"
        raise MalformedError(message)
    return value


def _record(value: JsonValue, stops: StopCalls) -> Record:
    if is_own_transcript(value):
        return read_own_transcript(value)
    if is_tau2_recording(value):
        return read_tau2_recording(value)
    if isinstance(value, dict | list):
        return read_openai_log(value, stops)
    message = f"found {shown(value)}, expected a recorded conversation: a mapping with messages, or a list of messages"
    raise MalformedError(message)
