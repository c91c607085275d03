"""The generated scenarios of the example are written again byte for byte."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "example_project"


@pytest.mark.real
def test_the_example_is_regenerated_byte_for_byte(tmp_path):
    """The command of the example's README, run on a copy without what it writes, gives the same files."""
    copy = tmp_path / "example_project"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "generated"))

    code = "from pytest_agentbench.cli import main; main(['generate', 'generated.agentbench.yaml'])"
    subprocess.run([sys.executable, "-c", code], cwd=copy, check=True, capture_output=True)

    for part in ("sets.json", "policies.json", "graph.json", "report.json", "scenarios"):
        ours, theirs = copy / "bench/generated" / part, EXAMPLE / "bench/generated" / part
        files = sorted(one.relative_to(ours) for one in ([ours] if ours.is_file() else ours.glob("*.yaml")))
        assert files
        assert [(ours / one).read_bytes() for one in files] == [(theirs / one).read_bytes() for one in files]
    assert len(list((copy / "bench/generated/scenarios").iterdir())) == 100
