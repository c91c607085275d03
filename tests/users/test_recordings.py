"""The scripted user over the recorded τ² conversations."""

import pytest

from benchmarks.scripted_user import measure
from tests.shared_data import SHARED, needs_shared


@pytest.mark.slow
@needs_shared
def test_recall_and_leak_hold_on_the_development_recordings(capsys: pytest.CaptureFixture[str]) -> None:
    """What an agent asks for by name is given, and little else: what the user has before it gives up its first words.

    Most of what is unasked answers a question for an e-mail address that the user does not know.
    """
    figures = measure(SHARED / "data/tau2/transcripts", parts=("development",))["development"]

    with capsys.disabled():
        print(f"\nscripted user on {figures.turns} recorded turns: recall {figures.recall:.3f}", end=" ")
        print(f"of {figures.asked} replies asked for ({figures.gives} give a value), unasked {figures.leak:.4f}")
    assert figures.gives > 200
    assert figures.recall >= 0.85
    assert figures.leak <= 0.03
