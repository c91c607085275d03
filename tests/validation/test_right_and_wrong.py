"""Right agents pass and what is proven fails, on a part of what `benchmarks/right_and_wrong.py` judges."""

import pytest

from benchmarks.right_and_wrong import main


@pytest.mark.parametrize(("suite", "every"), [("support", "15"), ("generated", "33"), ("weather_generated", "25")])
def test_no_right_run_fails_and_no_proven_fault_is_excused(
    suite: str, every: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reworded, reordered and half stated; with a wrong write, a stray one, a forbidden call, one without a yes."""
    status = main(["--suites", suite, "--every", every])

    told = capsys.readouterr().out
    assert status == 0, told
    assert ", failed: 0" in told
    assert ", excused: 0" in told
