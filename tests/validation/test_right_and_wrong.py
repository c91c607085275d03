"""Right agents pass and what is proven fails, on a part of what `benchmarks/right_and_wrong.py` judges."""

import pytest

from benchmarks.right_and_wrong import PROJECT, main

GENERATED = "../tests/example/generated/desk"
"""Out of the policies of the example's desk."""


@pytest.mark.parametrize(("suite", "every"), [("support", "15"), (GENERATED, "4"), ("weather_generated", "6")])
def test_no_right_run_fails_and_no_proven_fault_is_excused(
    suite: str, every: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reworded, reordered and half stated; with a wrong write, a stray one, a forbidden call, one without a yes."""
    monkeypatch.syspath_prepend(PROJECT)

    status = main(["--suites", suite, "--every", every])

    told = capsys.readouterr().out
    assert status == 0, told
    assert ", failed: 0" in told
    assert ", excused: 0" in told
