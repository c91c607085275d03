"""The guard rails over every recorded user turn."""

import pytest

from benchmarks.guard_rails import measure, table, turns
from benchmarks.guard_rails_planted import measure as planted_measure
from tests.shared_data import SHARED, needs_shared


@needs_shared
def test_false_alarms_are_rare_in_recorded_conversations(capsys: pytest.CaptureFixture[str]) -> None:
    """Each rule wrongly finds fault with at most one recorded turn in fifty, in every part (printed)."""
    figures = measure(turns(SHARED / "data"))

    with capsys.disabled():
        print(f"\n{table(figures)}")
    assert figures["held out"]["invention"].n > 1900
    assert max(row.false_rate for rows in figures.values() for row in rows.values()) <= 0.02


@needs_shared
def test_planted_faults_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    """Of faults planted into the recorded conversations, in their own words, each rule finds four in five (printed)."""
    for part in ("development", "held out"):
        counts = planted_measure([turn for turn in turns(SHARED / "data", (part,)) if turn.has_task])

        with capsys.disabled():
            print(f"\nplanted, {part}: " + ", ".join(f"{rule} {hits}/{of}" for rule, (hits, of) in counts.items()))
        assert min(hits / of for hits, of in counts.values()) >= 0.8
