"""Conversations of any supported log, one at a time: what a line holds decides which format it is."""

import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_agentbench.core.codec import loads
from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.misfit import shown
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.suites.document import MAX_DEPTH, too_deep
from pytest_agentbench.suites.files import read_lines, read_text
from pytest_agentbench.suites.logs.langchain import langchain_messages
from pytest_agentbench.suites.logs.otel import SpanStore, spans_of
from pytest_agentbench.suites.openai_log import StopCalls, read_openai_log
from pytest_agentbench.suites.own_transcript import is_own_transcript, read_own_transcript
from pytest_agentbench.suites.record import MalformedError, Record
from pytest_agentbench.suites.tau2_recording import is_tau2_recording, is_tau2_results, read_tau2_recording, runs_of


def read_conversations(paths: Iterable[Path]) -> Iterator[Record | Problem]:
    """Give the conversations of files in order, those put together from spans last; what cannot be read is a problem.

    `.jsonl` files (and any that is not `.json`) are read line by line, and spans are kept in a file until their
    conversations are whole, so that memory does not grow with the logs.
    """
    with tempfile.TemporaryDirectory(prefix="agentbench-") as folder:
        spans = SpanStore(Path(folder) / "spans.sqlite")
        try:
            for path in paths:
                for line, found in _values(path):
                    if isinstance(found, Problem):
                        yield found
                    else:
                        yield from _conversations(found, path, line, spans)
            for name, messages in spans.conversations():
                try:
                    yield read_openai_log({"id": name, "messages": messages}, StopCalls())
                except MalformedError as error:
                    yield Problem(file=Path(name), key=error.key, message=f"conversation of spans: {error}")
        finally:
            spans.close()


def _conversations(value: JsonValue, path: Path, line: int, spans: SpanStore) -> Iterator[Record | Problem]:
    """Give the conversations of one line or document; spans are put aside."""
    if is_tau2_results(value):
        for run in runs_of(value):
            yield from _conversations(run, path, line, spans)
        return
    if (found := spans_of(value)) is not None:
        for span in found:
            spans.add(span)
        return
    if isinstance(value, list) and value and not _is_message(value[0]):
        for item in value:
            yield from _conversations(item, path, line, spans)
        return
    try:
        yield _record(value)
    except MalformedError as error:
        yield Problem(file=path, line=line, column=1 if line else 0, key=error.key, message=str(error))


def _record(value: JsonValue) -> Record:
    if is_own_transcript(value):
        return read_own_transcript(value)
    if is_tau2_recording(value):
        return read_tau2_recording(value)
    messages = langchain_messages(value)
    if messages is not None:
        rest = (
            {key: item for key, item in value.items() if key not in _HOLD_MESSAGES} if isinstance(value, dict) else {}
        )
        return read_openai_log({**rest, "messages": messages}, StopCalls())
    if isinstance(value, dict | list):
        return read_openai_log(value, StopCalls())
    message = f"found {shown(value)}, expected a conversation: messages, a LangChain dump, spans or a transcript"
    raise MalformedError(message)


_HOLD_MESSAGES = frozenset({"messages", "inputs", "outputs", "status"})


def _is_message(value: JsonValue) -> bool:
    return isinstance(value, dict) and ("role" in value or langchain_messages([value]) is not None)


def _values(path: Path) -> Iterator[tuple[int, JsonValue | Problem]]:
    """Give what a file holds, a line at a time, with its line number (0 where it was read as a whole)."""
    try:
        if path.suffix.lower() == ".json":
            yield 0, _parsed(read_text(path), path, 0)
            return
        for number, text in read_lines(path):
            yield number, _parsed(text, path, number)
    except SuiteError as error:
        yield from ((0, problem) for problem in error.problems)


def _parsed(text: str, path: Path, line: int) -> JsonValue | Problem:
    try:
        value = loads(text)
    except json.JSONDecodeError as error:
        where = line or error.lineno
        return Problem(file=path, line=where, column=error.colno, message=f"this is not JSON: {error.msg}")
    except (ValueError, RecursionError) as error:
        return Problem(file=path, line=line, column=1 if line else 0, message=f"this cannot be read: {error}")
    if too_deep(value):
        return Problem(file=path, line=line, column=1 if line else 0, message=f"nested deeper than {MAX_DEPTH} levels")
    return value
