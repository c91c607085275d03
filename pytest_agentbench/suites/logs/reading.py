"""Conversations of any supported log, one at a time, those that spans tell included."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_agentbench.core.errors import Problem
from pytest_agentbench.core.misfit import dotted
from pytest_agentbench.suites.formats import read_file
from pytest_agentbench.suites.logs.otel import SpanStore
from pytest_agentbench.suites.message_log import StopCalls, closed_log
from pytest_agentbench.suites.record import MalformedError, Record


def read_conversations(paths: Iterable[Path]) -> Iterator[Record | Problem]:
    """Give the conversations of files in order, those put together from spans last; what cannot be read is a problem.

    `.jsonl` files (and any that is not `.json`) are read line by line, and spans are kept in a file until their
    conversations are whole, so that memory does not grow with the logs.
    """
    with tempfile.TemporaryDirectory(prefix="agentbench-") as folder:
        spans = SpanStore(Path(folder) / "spans.sqlite")
        try:
            for path in paths:
                for found in read_file(path, StopCalls(), spans.taker(path)):
                    yield found if isinstance(found, Problem) else found.record
            yield from _told_by(spans)
        finally:
            spans.close()


def _told_by(spans: SpanStore) -> Iterator[Record | Problem]:
    for talk in spans.conversations():
        try:
            yield closed_log({"id": talk.name}, talk.messages(), StopCalls())
        except MalformedError as error:
            where = f"conversation {talk.name} of spans: {error}"
            yield Problem(
                file=talk.file, line=talk.line, column=1 if talk.line else 0, key=dotted(error.path), message=where
            )
    if not spans.kept and spans.seen:
        count = f"{spans.seen} span{'s' if spans.seen > 1 else ''}, none of which has messages"
        yield Problem(file=spans.seen_in, message=f"{count}: turn the capture of message contents on")
