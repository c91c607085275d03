"""What a language model makes of documents: its answers were given blind and recorded, and are replayed here.

Documents and labels are others' but for the tool hire desk. Precision and recall are by passages; what is missing is
cut otherwise than labelled for the most part, as `covered` and `inside` say. The first four were scored once, with the
prompt as it is; a prompt that cuts finer was tried on them and two more, found no better, and dropped.
"""

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from benchmarks.policy_extraction import Labels, measured
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.policies.analyst import Analysis, Analyst, facts_of
from pytest_agentbench.generation.policies.extraction import PolicyDocument, extract
from pytest_agentbench.generation.policies.review import review
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.record_replay import CassetteRecorder
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.suites.suite_file import load_suite
from tests.tables import each

HERE = Path(__file__).parent
PROJECT = HERE.parents[2]
SPEC = ModelSpec(model="openai:language-model", base_url="http://127.0.0.1:8824/v1", api_key="none")


def replaying() -> Models:
    """Give a model that answers from the cassette, and nothing else."""
    recorder = CassetteRecorder(Mode.REPLAY, HERE / "recorded" / "analysis.jsonl", shard=None, redact=lambda one: one)
    return Models(environ={}, recorder_of=lambda _: recorder)


@each(
    ("name", "precision", "recall"),
    [
        ("vet_policy_en", 0.76, 0.82),
        ("bulky-waste", 0.90, 0.69),
        ("auto-ecole", 1.0, 0.93),
        ("museum", 0.58, 0.84),
        ("gite", 0.75, 0.96),
    ],
)
async def test_entries_of_documents_in_prose(name, precision, recall):
    """Hardly a rule is in no entry, and hardly an entry is no rule, however they are cut."""
    found = (await measured(Labels.read(HERE / "documents" / f"{name}.yaml"), replaying(), SPEC)).score
    print("\n".join(found.lines(name)[:3]))

    assert (round(found.precision, 2), round(found.recall, 2)) == (precision, recall)
    assert found.covered >= 0.97 * found.labels
    assert found.inside >= 0.83 * found.found


async def test_entries_and_rules_of_the_tool_hire_desk():
    """Each rule that was proposed tells every wrong run from the right ones."""
    found = await measured(
        Labels.read(PROJECT / "benchmarks" / "labelled_policies" / "toolhire" / "labels.yaml"), replaying(), SPEC
    )

    assert (found.score.precision, found.score.recall) == (1, 1)
    assert found.rules is not None
    assert dict(found.rules.counts) == {"right": 10}
    assert found.dropped == ()


async def analysed(project: Path) -> Analysis:
    """Propose rules for the support desk's own document."""
    suite = load_suite(project / "support.agentbench.yaml", environ={}, generating=True)
    facts = await facts_of(world_of(suite, toolset=load_toolset(suite.environment, suite.root)), suite.now)
    document = (project / "support" / "policies.md").read_text(encoding="utf-8")
    found = extract(PolicyDocument(name="policies.md", text=document))
    return await Analyst(replaying().chat(SPEC, Caller(role="analyst")), facts, Random("support"))(found.policies)


@pytest.mark.slow
def test_rules_proposed_for_the_support_desk_are_kept_by_its_right_agent(tmp_path):
    """The desk's suite with the proposals in the place of its own rules: the right agent passes all 43 scenarios."""
    project = tmp_path / "example_project"
    shutil.copytree(PROJECT / "example_project", project, ignore=shutil.ignore_patterns(".agentbench", "__pycache__"))
    analysis = asyncio.run(analysed(project))
    policies = project / "bench" / "support" / "policies.yaml"
    policies.unlink()
    review(policies, (), analysis.policies, document="policies.md")

    command = [
        sys.executable,
        "-m",
        "pytest",
        "--agentbench",
        "support.agentbench.yaml",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)

    assert sum(one.rule is not None for one in analysis.policies) == 11
    assert analysis.dropped == ()
    assert "43 passed" in done.stdout, done.stdout[-3000:]
