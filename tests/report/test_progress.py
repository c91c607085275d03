"""The live line: what it says, and how it fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.plugin.progress import Progress, progress_line, seconds_left
from tests.tables import each

HALFWAY = Progress(done=12, total=200, in_flight=64, calls=310, cost_usd=0.0412, seconds=1.0)


def test_it_says_where_the_session_stands() -> None:
    """Done, in flight, pace, cost and what is left."""
    assert progress_line(HALFWAY, 80) == "done 12/200 · 64 in flight · 310 calls/s · 0.041 USD · ETA 0:16"
    assert progress_line(HALFWAY, 80, dot="-") == "done 12/200 - 64 in flight - 310 calls/s - 0.041 USD - ETA 0:16"


@each(
    ("changed", "expected"),
    [
        ({"calls": 0}, "done 12/200 · 64 in flight · ETA 0:16"),
        ({"in_flight": None}, "done 12/200 · 310 calls/s · 0.041 USD · ETA 0:16"),
        ({"done": 0, "calls": 0}, "done 0/200 · 64 in flight"),
        ({"unpriced": 310}, "done 12/200 · 64 in flight · 310 calls/s · cost unknown · ETA 0:16"),
        ({"unpriced": 3}, "done 12/200 · 64 in flight · 310 calls/s · 0.041 USD + unknown · ETA 0:16"),
        ({"calls": 4}, "done 12/200 · 64 in flight · 4.0 calls/s · 0.041 USD · ETA 0:16"),
        ({"seconds": 1000.0}, "done 12/200 · 64 in flight · 0.3 calls/s · 0.041 USD · ETA 4:21:07"),
        ({"done": 200, "in_flight": 0}, "done 200/200 · 0 in flight · 310 calls/s · 0.041 USD · ETA 0:00"),
    ],
)
def test_what_is_not_known_is_not_said(changed: dict[str, object], expected: str) -> None:
    """No model: no calls and no cost; an unknown price is never 0."""
    assert progress_line(HALFWAY.model_copy(update=changed), 80) == expected


@given(width=st.integers(1, 90), done=st.integers(0, 10**6), total=st.integers(0, 10**6), seconds=st.floats(0, 1e6))
def test_it_fits(width: int, done: int, total: int, seconds: float) -> None:
    """No width is exceeded, and what is kept is the beginning."""
    progress = HALFWAY.model_copy(update={"done": done, "total": total, "seconds": seconds})

    line = progress_line(progress, width)

    assert len(line) <= width
    assert line == f"done {done}/{total}" or line[: width - 1] in progress_line(progress, 200)


def test_nothing_done_tells_nothing_about_the_rest() -> None:
    """The pace so far is only known once a run has ended."""
    assert seconds_left(HALFWAY.model_copy(update={"done": 0})) is None
    assert seconds_left(HALFWAY.model_copy(update={"done": 100, "seconds": 7.0})) == pytest.approx(7.0)
