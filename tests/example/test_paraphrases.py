"""The example's agent on words it was not built with."""

import shutil
from pathlib import Path

import pytest
import yaml

from tests.plugin.project import Project

PROJECT = Path(__file__).resolve().parents[2]
SETS = ("paraphrases", "held_out")
"""The agent was improved on the first set, and never on the second."""


@pytest.fixture(params=SETS)
def paraphrased(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example project with a suite in which users say paraphrased lines."""
    root = tmp_path_factory.mktemp("paraphrased") / "example_project"
    shutil.copytree(PROJECT / "example_project", root, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    files = sorted((root / "bench/support/scenarios").glob("*.yaml"))
    scenarios = {entry["id"]: entry for file in files for entry in yaml.safe_load(file.read_text(encoding="utf-8"))}
    entries = yaml.safe_load(Path(__file__).with_name(f"{request.param}.yaml").read_text(encoding="utf-8"))
    written = [
        {**scenarios[entry["scenario"]], "id": f"{entry['scenario']}-{number:02d}", "says": entry["says"]}
        for number, entry in enumerate(entries, 1)
    ]
    shutil.rmtree(root / "bench/support/scenarios")
    (root / "bench/support/scenarios").mkdir()
    target = root / "bench/support/scenarios/paraphrases.yaml"
    target.write_text(yaml.safe_dump(written, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return root


def test_the_agent_passes_most_paraphrases(
    paraphrased: Path, pytester: pytest.Pytester, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """At least eight of ten paraphrased scenarios pass; the share is printed."""
    project = Project(pytester=pytester)

    project.run("--rootdir", str(pytester.path), str(paraphrased / "support.agentbench.yaml"), subprocess=True)

    results = project.document.results
    passed = sum(result.passed for result in results)
    with capsys.disabled():
        print(f"\n{request.node.callspec.id}: {passed} of {len(results)} passed ({passed / len(results):.2f})")
    assert len(results) == 50
    assert passed / len(results) >= 0.8
