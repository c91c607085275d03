"""The guard rails over every recorded user turn."""

import pytest

from benchmarks.guard_rails import measure, table, turns
from tests.shared_data import SHARED, needs_shared


@needs_shared
def test_false_alarms_are_rare_in_recorded_conversations(capsys: pytest.CaptureFixture[str]) -> None:
    """Each rule wrongly finds fault with at most one recorded turn in fifty, in every part (printed)."""
    figures = measure(turns(SHARED / "data"))

    with capsys.disabled():
        print(f"\n{table(figures)}")
    assert figures["held out"]["invention"].n > 1900
    assert max(row.false_rate for rows in figures.values() for row in rows.values()) <= 0.02
