"""The pipeline: files that are valid scenarios, the same each time, losses counted, clear answers to odd recipes."""

import pytest

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.core.suite import GenerateSpec
from pytest_agentbench.generation.policies.data_types import ExtractedPolicy, Extraction
from pytest_agentbench.generation.policies.graph import shared_graph
from pytest_agentbench.generation.policies.pipeline import PolicyFolder
from pytest_agentbench.generation.policies.review import read_forms, review
from pytest_agentbench.generation.policies.source import levels_of, sets_of
from pytest_agentbench.generation.run import Asked, Changes, generate
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.policies.airline import airline


def run(file, **changes):
    """Run the recipe of a suite."""
    return generate(
        Asked(suite=file, until=changes.pop("until", ""), changes=Changes(**changes)), environ={}, told=lambda _: None
    )


def written(folder):
    """Give everything that was written."""
    return {str(one.relative_to(folder)): one.read_bytes() for one in sorted((folder / "generated").rglob("*.*"))}


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """The airline's suite with its scenarios generated, and what came of it."""
    file = airline(tmp_path_factory.mktemp("airline"), count=6)
    return file, run(file)


def test_scenarios_are_written_read_and_written_alike_again(flown):
    """As many as asked for, at the levels asked for, each with calls and stages; a second run changes no byte."""
    file, outcome = flown
    first = written(file.parent)

    run(file)

    suite = load_suite(file, environ={})
    policies = {one.id: one for one in suite.policies}
    assert outcome.is_complete
    assert len(suite.scenarios) == 6
    assert written(file.parent) == first
    for one in suite.scenarios:
        kept = one.provenance
        assert one.expected_calls
        assert one.rated_complexity(policies)[0] == kept["requested"] == kept["realised"]
        assert set(kept["symbolic_event"]) == {"description", "symbols", "relations"}
        assert set(one.policies) == set(kept["decided_by"])


def test_the_report_says_who_decides_about_which_policies(flown):
    """How each policy was handled is counted, and those that no event is about are named with the reason."""
    lines = "\n".join(flown[1].lines)

    assert "6 of 6 scenarios" in lines
    assert "decided  exercised  enforced  judge only" in lines
    assert "no-upgrades is in no set: it has no rule and names no tool" in lines


def test_a_wrong_run_of_each_decided_policy_fails_by_a_finding_of_it(flown):
    """The scenario says of each wrong run what the checks say of it."""
    for one in load_suite(flown[0], environ={}).scenarios:
        decided = {name for name, why in one.provenance["decided_by"].items() if why.startswith("decided")}
        found = {wrong["policy"]: wrong["finding"] for wrong in one.provenance["wrong_runs"]}
        assert decided <= {name for name, finding in found.items() if finding}


@pytest.mark.parametrize("until", ["cards", "graph", "walks"])
def test_it_stops_where_it_is_told_to(tmp_path, until):
    """Each stage leaves its file and no scenario."""
    outcome = run(airline(tmp_path), until=until)

    assert outcome.is_complete
    assert not (tmp_path / "generated" / "scenarios").exists()
    assert (tmp_path / "generated" / "policies.json").is_file()


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (", levels: {min: 90, max: 95}", "no set of policies has a level from 90 to 95"),
        (", levels: {min: 5, max: 3}", "min is 5, more than max"),
        (", roles: [narator]", "there is no role 'narator'"),
        (", document: nowhere.md", "there is no file 'nowhere.md'"),
    ],
)
def test_odd_recipes_get_clear_answers(tmp_path, extra, said):
    """No traceback, and the key at fault."""
    text = (
        airline(tmp_path)
        .read_text(encoding="utf-8")
        .replace(", levels: {min: 1, max: 8}", extra if "levels" in extra else ", levels: {min: 1, max: 8}" + extra)
    )
    (tmp_path / "agentbench.yaml").write_text(text, encoding="utf-8")

    with pytest.raises(AgentBenchError, match=said):
        run(tmp_path / "agentbench.yaml")


def test_a_validator_that_refuses_everything_loses_everything_with_its_reason(tmp_path):
    """Nothing inconsistent is written; the report says why nothing was."""
    file = airline(tmp_path, count=2, extra=", validators: ['checks:never']")
    (tmp_path / "checks.py").write_text(
        "def never(table, row, rows):\n    return 'the moon is full'\n", encoding="utf-8"
    )

    outcome = run(file)

    assert not outcome.is_complete
    assert outcome.accepted == 0
    assert "the moon is full" in "\n".join(outcome.lines)


def test_policies_of_a_document_are_reviewed_and_used(tmp_path):
    """A rule that a person wrote into the file for review decides; what has no rule and no tool is in no scenario."""
    file = airline(tmp_path, count=3, extra=", document: rules.md")
    text = file.read_text(encoding="utf-8").replace(", levels: {min: 1, max: 8}", "")
    file.write_text(text[: text.index("policies:\n")] + text[text.index("scenarios:") :], encoding="utf-8")
    (tmp_path / "rules.md").write_text(
        "# Bookings\n\n- Void a booking only while it is open. (void-open)\n- Never promise an upgrade. (no-promise)\n"
        "- Always find the member by email first. (find-first)\n",
        encoding="utf-8",
    )
    run(file, until="cards")
    found = tmp_path / "generated" / "policies.yaml"
    rule = "rule: {at_most: {calls: [void_booking], times: 1}}"
    found.write_text(found.read_text(encoding="utf-8").replace("rule: null", rule, 1), encoding="utf-8")

    outcome = run(file)
    lines = "\n".join(outcome.lines)

    assert outcome.accepted == 3
    assert rule in found.read_text(encoding="utf-8")
    assert "no-promise is in no set" in lines
    assert "add `policies: generated/policies.yaml` to agentbench.yaml" in lines
    assert "no challenge for 3 policies: 1 to 3 in a set" in lines


def test_an_unchanged_document_keeps_what_a_model_read(tmp_path):
    """A session without a model reads nothing anew: entries and their rules stay in the file."""
    file = airline(tmp_path, extra=", document: rules.md")
    text = "# Bookings\n\nVoid a booking once, and ask first.\n"
    (tmp_path / "rules.md").write_text(text, encoding="utf-8")
    at_most, asked = {"calls": ["void_booking"], "times": 1}, {"calls": ["void_booking"]}
    rules = {"once": {"at_most": at_most}, "ask": {"confirm_before": asked}}
    policies = tuple(ExtractedPolicy(id=name, text=name, challenge=1, rule=rule) for name, rule in rules.items())
    read = Extraction(document="rules.md", document_hash=digest(text), by="llm:some", policies=policies)
    folder = PolicyFolder(tmp_path / "generated")
    review(folder.found, (), policies, document="rules.md")
    folder.save_extraction(read)

    run(file, until="cards")

    assert {form["id"]: form["rule"] for form in read_forms(folder.found)} == rules


def test_challenges_count_for_all_policies_or_for_none():
    """Where some policies have none and no level is asked for, sets have a size, whatever the others' challenges."""
    policies = [ExtractedPolicy(id=f"p{at}", text=f"Rule {at}.", challenge=5 if at else None) for at in range(4)]
    graph = shared_graph(Extraction(policies=tuple(policies)))
    recipe = GenerateSpec(source="policies", count=6)

    sets = sets_of(recipe, graph, 6, seed=1)

    assert {len(one.policies) for one in sets} <= {1, 2, 3}
    assert {policy for one in sets for policy in one.policies} == {"p0", "p1", "p2", "p3"}
    assert "those of the others do not count" in levels_of(recipe, graph)[1]


def test_levels_need_challenges_and_say_which_are_missing(tmp_path):
    """A level is a sum of challenges: the error names the key to write and the policies that lack it."""
    file = airline(tmp_path, extra=", document: rules.md")
    (tmp_path / "rules.md").write_text("- Void it only while it is open.\n- Promise nothing.\n", encoding="utf-8")

    with pytest.raises(AgentBenchError, match=r"generate\.levels: .* write `challenge: 1` to 5 for void-it"):
        run(file, until="walks")


def test_the_paper_s_walk_prints_how_far_it_overshoots(tmp_path):
    """`walk: paper` draws by Algorithm 1, and the line says how many sets have the level asked for."""
    outcome = run(airline(tmp_path, count=20, extra=", walk: paper, steps: uniform"), until="walks")

    assert any(line.startswith("walk: paper · ") and "overshoot" in line for line in outcome.lines)
