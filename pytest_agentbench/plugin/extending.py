"""What other plugins add to the report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_agentbench.results.document import Document


def report_lines(hook: Any, document: Document) -> Iterator[tuple[str, bool]]:
    """Yield (line, whether it is a headline) of what others add to the report."""
    for lines in hook.pytest_agentbench_report(document=document):
        for number, line in enumerate(lines or ()):
            yield str(line), number == 0
