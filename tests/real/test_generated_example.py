"""Scenarios of the example's policies: one seed writes the same bytes twice."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

EXAMPLE = Path(__file__).parents[2] / "example_project"
SUITE = EXAMPLE / "generated.agentbench.yaml"


def written(folder: Path) -> dict[str, bytes]:
    """Generate ten scenarios in a copy of the example; give the files that are committed of such a folder."""
    copy = folder / "example_project"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "generated"))
    suite = copy / SUITE.name
    suite.write_text(suite.read_text(encoding="utf-8").replace("count: 24", "count: 10"), encoding="utf-8")

    code = f"from pytest_agentbench.cli import main; main(['generate', {suite.name!r}])"
    subprocess.run([sys.executable, "-c", code], cwd=copy, check=True, capture_output=True)

    out = copy / "bench/generated"
    files = [*out.glob("*.json"), *(out / "scenarios").iterdir()]
    return {file.name: file.read_bytes() for file in files}


def test_one_seed_writes_equal_bytes(tmp_path: Path) -> None:
    """The command of the recipe, run twice in processes of their own, in small."""
    first, second = written(tmp_path / "first"), written(tmp_path / "second")

    assert len([name for name in first if name.endswith(".yaml")]) >= 5
    assert first == second
