"""Scenarios of the example's policies: one seed writes the same bytes twice, and the committed ones play."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pytest_agentbench.core.verdict import Blame, Verdict
from pytest_agentbench.suites.suite_file import load_suite
from tests.example.test_weather import played

pytestmark = pytest.mark.real

EXAMPLE = Path(__file__).parents[2] / "example_project"
SUITE = EXAMPLE / "generated.agentbench.yaml"


def written(folder: Path) -> dict[str, bytes]:
    """Generate ten scenarios in a copy of the example; give the files that are committed of such a folder."""
    copy = folder / "example_project"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "generated"))
    suite = copy / SUITE.name
    suite.write_text(suite.read_text(encoding="utf-8").replace("count: 100", "count: 10"), encoding="utf-8")

    code = f"from pytest_agentbench.cli import main; main(['generate', {suite.name!r}])"
    subprocess.run([sys.executable, "-c", code], cwd=copy, check=True, capture_output=True)

    out = copy / "bench/generated"
    files = [*out.glob("*.json"), *(out / "scenarios").iterdir()]
    return {file.name: file.read_bytes() for file in files}


def test_one_seed_writes_equal_bytes(tmp_path: Path) -> None:
    """The command of the example's README, run twice in processes of their own, in small."""
    first, second = written(tmp_path / "first"), written(tmp_path / "second")

    assert len([name for name in first if name.endswith(".yaml")]) >= 5
    assert first == second


async def test_the_committed_scenarios_play(tmp_path: Path) -> None:
    """The careful agent fails none of the 100; where a tool is broken for good, the environment is to blame."""
    suite = load_suite(SUITE, environ={})

    judged = await played(suite, tmp_path, "careful")

    verdicts = Counter(one.verdict for one in judged.values())
    blamed = {one.blame for one in judged.values() if one.verdict is not Verdict.PASSED}
    assert len(judged) == 100
    assert verdicts[Verdict.PASSED] >= 90
    assert Blame.AGENT not in blamed
