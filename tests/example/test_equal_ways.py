"""One process, two workers and a resumed session come to the same results."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_all_ways_to_play_come_to_the_same_results() -> None:
    """The benchmark that compares them says so by its exit status."""
    command = [sys.executable, "-m", "benchmarks.equal_results", "--suites", "weather"]

    played = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)

    assert played.returncode == 0, played.stdout + played.stderr
    assert played.stdout.count(" 0 differ") == 3
