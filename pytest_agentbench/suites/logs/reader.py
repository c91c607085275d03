"""Conversations of any supported log, one at a time, those that spans tell included."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_agentbench.core.errors import Problem
from pytest_agentbench.core.misfit import dotted
from pytest_agentbench.messages.content import shown
from pytest_agentbench.suites.logs.otel import SpanStore
from pytest_agentbench.suites.message_log import StopCalls, closed_log
from pytest_agentbench.suites.record import MalformedError, Record
from pytest_agentbench.suites.transcripts import read_file


class Garbled(Problem):
    """A call of the conversation before it, whose arguments are no JSON object: it was read, and its text is kept."""


def read_conversations(paths: Iterable[Path]) -> Iterator[Record | Problem]:
    """Give the conversations of files in order, those put together from spans last; what cannot be read is a problem.

    Calls with broken arguments follow their conversation, each as `Garbled`.

    `.jsonl` files (and any that is not `.json`) are read line by line, and spans are kept in a file until their
    conversations are whole, so that memory does not grow with the logs.
    """
    with tempfile.TemporaryDirectory(prefix="agentbench-") as folder:
        spans = SpanStore(Path(folder) / "spans.sqlite")
        try:
            for path in paths:
                for found in read_file(path, StopCalls(), spans.taker(path)):
                    if isinstance(found, Problem):
                        yield found
                        continue
                    yield found.record
                    yield from _garbled(found.record, path, found.line)
            yield from _told_by(spans)
        finally:
            spans.close()


def _garbled(record: Record, file: Path, line: int) -> Iterator[Garbled]:
    """Give the calls whose arguments look like JSON and are none; a tool may take free text, which is right."""
    for number, message in enumerate(record.transcript.messages, 1):
        for call in message.tool_calls:
            if call.raw is not None and call.raw.lstrip().startswith(("{", "[")):
                what = f"the arguments of {call.name} are no JSON object: {shown(call.raw)}"
                column, key = 1 if line else 0, f"message {number}"
                yield Garbled(file=file, line=line, column=column, key=key, message=what, hint="kept as text")


def _told_by(spans: SpanStore) -> Iterator[Record | Problem]:
    for talk in spans.conversations():
        try:
            record = closed_log({"id": talk.name}, talk.messages(), StopCalls())
            yield record
            yield from _garbled(record, talk.file, talk.line)
        except MalformedError as error:
            where = f"conversation {talk.name} of spans: {error}"
            yield Problem(
                file=talk.file, line=talk.line, column=1 if talk.line else 0, key=dotted(error.path), message=where
            )
    if not spans.kept and spans.seen:
        count = f"{spans.seen} span{'s' if spans.seen > 1 else ''}, none of which has messages"
        yield Problem(file=spans.seen_in, message=f"{count}: turn the capture of message contents on")
