"""Files of recorded conversations, in the format that their content tells: τ²'s, message logs, our own transcripts."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.core.codec import loads
from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.extensions import asked
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import Keys, dotted, shown
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.spec.document import TOO_DEEP, read_json, too_deep
from pytest_agentbench.spec.loading import read_lines, read_text
from pytest_agentbench.suites.ids import scenario_slug
from pytest_agentbench.suites.message_log import DEFAULT_STOP_CALLS, StopCalls, holds_messages, read_log
from pytest_agentbench.suites.record import MalformedError, Record, RecordingFormat, number_of, read_own, text_of
from pytest_agentbench.suites.scenario_files import TASK_KEY

Aside = Callable[[JsonValue, int], bool]
"""Takes a value that is no conversation by itself, with its line; tells whether it took it."""


@dataclass(frozen=True, kw_only=True)
class FoundRecord:
    """A conversation, and the line on which it stands (0: its file was read as a whole)."""

    record: Record
    line: int


def read_file(path: Path, stops: StopCalls, aside: Aside = lambda *_: False) -> Iterator[FoundRecord | Problem]:
    """Give the conversations of a file: of `.json` files as a whole, of all others line by line.

    What cannot be read is a problem with its place; the others are given nevertheless.
    """
    empty = True
    try:
        if path.suffix.lower() == ".json":
            yield from _conversations(read_text(path), path, 0, stops, aside)
            return
        for number, text in read_lines(path):
            empty = False
            yield from _conversations(text, path, number, stops, aside)
    except SuiteError as error:
        yield from error.problems
        return
    if empty:
        yield Problem(file=path, message="the file is empty")


def _conversations(text: str, path: Path, line: int, stops: StopCalls, aside: Aside) -> Iterator[FoundRecord | Problem]:
    """Give the conversations of one line, or of a whole document."""
    try:
        value = _parse(text)
        parts = _parts(value)
    except json.JSONDecodeError as error:
        where, message = line or error.lineno, f"this is not JSON: {error.msg}"
        yield Problem(file=path, line=where, column=error.colno, message=message)
        return
    except MalformedError as error:
        yield _problem(text, path, line, error.path, str(error))
        return
    for at, part in parts:
        if aside(part, line):
            continue
        try:
            yield FoundRecord(record=_record(part, stops), line=line)
        except MalformedError as error:
            yield _problem(text, path, line, (*at, *error.path), str(error))


def _parse(text: str) -> JsonValue:
    try:
        value = loads(text)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        message = f"this cannot be read: {error}"
        raise MalformedError(message) from None
    if too_deep(value):
        raise MalformedError(TOO_DEEP)
    return value


def _parts(value: JsonValue) -> list[tuple[Keys, JsonValue]]:
    """Give the conversations that a value holds, with their places in it."""
    for one in _foreign_formats():
        if (parts := one.parts(value)) is not None:
            return list(parts)
    if isinstance(value, list) and value and (isinstance(value[0], list) or _is_conversation(value[0])):
        return [((index, *at), part) for index, item in enumerate(value) for at, part in _parts(item)]
    return [((), value)]


def _is_conversation(value: JsonValue) -> bool:
    """Whether an item of a list is a conversation, or holds several, rather than a message."""
    if not isinstance(value, dict):
        return value is None or isinstance(value, int | float)
    has_spans = "resourceSpans" in value or "attributes" in value
    known = any(one.reads(value) or one.parts(value) is not None for one in _foreign_formats())
    return (
        known
        or is_own_transcript(value)
        or has_spans
        or ("role" not in value and "lc" not in value and holds_messages(value))
    )


def _record(value: JsonValue, stops: StopCalls) -> Record:
    if is_own_transcript(value):
        return read_own_transcript(value)
    for one in _foreign_formats():
        if one.reads(value):
            return one.read(value)
    if isinstance(value, dict | list):
        return read_log(value, stops)
    message = f"found {shown(value)}, expected a conversation: a mapping with messages, or a list of messages"
    raise MalformedError(message)


def _foreign_formats() -> list[RecordingFormat]:
    """Give the formats of recordings that plugins read."""
    return list(asked().pytest_agentbench_recordings())


def _problem(text: str, path: Path, line: int, keys: Keys, message: str) -> Problem:
    """Describe what is wrong; of a document read as a whole, the text tells the line."""
    column = 1 if line else 0
    if not line:
        try:
            place = read_json(text, path).place(keys)
        except SuiteError:  # it has a key twice, which only a suite may not
            place = None
        line, column = (place.line, place.column) if place else (0, 0)
    return Problem(file=path, line=line, column=column, key=dotted(keys), message=message)


_USED = frozenset({"key", "messages", "termination", "stop_reason", "reward"})


def is_own_transcript(value: JsonValue) -> bool:
    """Whether a record is a transcript of ours: `{key, messages, termination, stop_reason}`."""
    return isinstance(value, dict) and {"key", "messages", "termination"} <= value.keys()


def read_own_transcript(record: dict[str, JsonValue]) -> Record:
    """Read a transcript whose key is a run's, or the id of a scenario."""
    key = record["key"] if isinstance(record["key"], dict) else {"scenario": record["key"]}
    found = record["termination"]
    if found not in list(Termination):
        message = f"found {shown(found)}, allowed: {listing(map(repr, map(str, Termination)))}"
        raise MalformedError(message, ("termination",))
    messages = read_own(record["messages"])
    return Record(
        scenario=text_of(key, "scenario"),
        label=text_of(key, "variant"),
        transcript=Transcript(messages=tuple(message for message in messages if message.role != "system")),
        termination=Termination(found),
        stop_reason=text_of(record, "stop_reason"),
        reward=number_of(record, "reward"),
        extra={name: value for name, value in record.items() if name not in _USED},
    )


class Recording(Record):
    """A recorded conversation and its place.

    `variant` is a slug of the agent's name, unique ignoring case. `trial` counts the recordings of one scenario and
    variant from 0 in reading order, `position` those of one file. `line` is 1-based, 0 in files that are not one
    recording per line.
    """

    variant: str = ""
    trial: int = 0
    source: Path
    line: int = 0
    position: int = 0


class ScenarioIndex:
    """Finds the scenario of a recording among those of a suite."""

    def __init__(self, scenarios: Iterable[Scenario]) -> None:
        self._scenarios = tuple(scenarios)
        self._by_key: dict[str, Scenario] = {}
        self._by_id: dict[str, Scenario] = {}
        for scenario in self._scenarios:
            key = scenario.provenance.get(TASK_KEY)
            if key is not None:
                self._by_key.setdefault(str(key), scenario)
            self._by_id.setdefault(scenario.id, scenario)
        for scenario in self._scenarios:
            self._by_id[scenario.task.id] = scenario

    def find(self, recording: Recording) -> Scenario | None:
        """Give the scenario by key, by id as written or as shown, or by position where the log names none.

        A key leads to exactly that version of a task; where scenarios bear keys and none is it, the answer is None.
        """
        if recording.scenario_key is not None and self._by_key:
            return self._by_key.get(recording.scenario_key)
        if recording.scenario:
            return self._by_id.get(recording.scenario)
        return self._scenarios[recording.position] if recording.position < len(self._scenarios) else None


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
        return Recording(**dict(record), variant=variant, trial=trial, source=path, line=line, position=position)

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
