"""The pipeline from a suite to its scenarios: what is written, taken up again, stale; bad input told clearly."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from pytest_agentbench.cli import main
from pytest_agentbench.core.errors import AgentBenchError, EnvironmentFaultError, SuiteFaultError
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.recipe import staleness
from pytest_agentbench.generation.recipe_folder import DRAFTS
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.tools.making import PARCELS, run, suite_in

COUNT = 12
LIBRARY = """policies:
  - {id: identify, text: Look the member up first., rule: {before: {calls: writes, first: [get_member]}}}
  - {id: confirm, text: Ask before a change., rule: {confirm_before: {calls: writes}}}
  - {id: two, text: At most two reservations., rule: {at_most: {calls: [reserve_book], times: 2}}}
  - {id: weeks, text: Never renew for three weeks., rule: {never: {calls: [renew_loan], where: {weeks: 3}}}}
"""
HOTEL = """policies:
  - {id: identify, text: Look a booking up first., rule: {before: {calls: writes, first: [get_booking]}}}
  - {id: confirm, text: Ask before a change., rule: {confirm_before: {calls: writes}}}
  - {id: one, text: One room a conversation., rule: {at_most: {calls: [book_room], times: 1}}}
  - {id: reason, text: Ask for a reason., rule: {never: {calls: [cancel_booking], where: {reason: other}}}}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library's suite with its scenarios generated."""
    folder = tmp_path_factory.mktemp("made")
    path = suite_in(folder, "library", f"count: {COUNT}, seed: 7, personas: 2")
    outcome = run(path)
    assert outcome.is_complete
    return folder


@pytest.fixture
def library(made: Path, tmp_path: Path) -> Path:
    """A copy of the generated suite: its file."""
    shutil.copytree(made, tmp_path / "library")
    return tmp_path / "library" / "agentbench.yaml"


def scenario_bytes(path: Path) -> dict[str, bytes]:
    """The scenario files beside a suite."""
    return {file.name: file.read_bytes() for file in sorted((path.parent / "generated/scenarios").glob("*.yaml"))}


def test_every_scenario_is_valid_and_covers_the_graph(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`agentbench validate` finds nothing, and the report counts tools, edges and lost walks."""
    report = json.loads((made / "generated/report.json").read_text())

    status = main(["validate", str(made / "agentbench.yaml"), "--no-mutants"])

    assert status == 0, capsys.readouterr().out
    rows = {row["what"]: row for row in report["coverage"]}
    assert rows["tools"]["covered"] == rows["tools"]["total"] == 6
    assert rows["edges"]["missing"] == []
    assert len(report["lost"]) <= 0.1 * report["tried"]


def test_a_scenario_says_all_that_it_needs(made: Path) -> None:
    """Lines, known values, expected calls with provenance, two personas, and the hashes of what it was made from."""
    suite = load_suite(made / "agentbench.yaml", environ={})

    assert len(suite.scenarios) == 2 * COUNT
    for scenario in suite.scenarios:
        calls = scenario.provenance["calls"]
        assert len(calls) == len(scenario.expected_calls)
        for call, origin in zip(scenario.expected_calls, calls, strict=True):
            assert call.compare_args == sorted(call.arguments)
            assert set(origin["arguments"]) == set(call.arguments)
        assert set(scenario.provenance["generated"]) == {"recipe", "tools", "policies"}
        rated = scenario.rated_complexity({})
        assert rated == (len(scenario.expected_calls), "calls")
        assert ("simple" in scenario.tags) == (rated[0] <= 4)


@pytest.mark.slow
def test_the_same_seed_writes_the_same_files(library: Path, tmp_path: Path) -> None:
    """Made anew elsewhere, and taken up again where they are, the scenarios are the same byte for byte."""
    before = scenario_bytes(library)
    (tmp_path / "again").mkdir()
    again = suite_in(tmp_path / "again", "library", f"count: {COUNT}, seed: 7, personas: 2")

    run(again)
    run(library)

    assert scenario_bytes(again) == before
    assert scenario_bytes(library) == before


def test_what_was_broken_off_is_taken_up(library: Path) -> None:
    """Stories that are done are not told again; a torn last line costs one of them."""
    log = library.parent / "generated" / DRAFTS
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:6]) + lines[6][:100])
    before = scenario_bytes(library)
    told: list[str] = []

    run(library, told=told.append)

    assert scenario_bytes(library) == before
    assert not any("probing" in line for line in told)


def test_scenarios_of_earlier_recipes_go_and_files_of_others_stay(library: Path) -> None:
    """What `agentbench generate` wrote and would not write now is removed."""
    own = library.parent / "generated/scenarios/mine.yaml"
    own.write_text("id: mine\nsays: [Hello]\n")
    library.write_text(library.read_text().replace(f"count: {COUNT}", "count: 3").replace(", personas: 2", ""))

    run(library)

    assert own.exists()
    assert len(scenario_bytes(library)) == 4


def test_stages_stop_where_asked(tmp_path: Path) -> None:
    """`--until` leaves the files of the stages before, and says what is in them."""
    path = suite_in(tmp_path, "library")

    assert "6 cards" in run(path, until="cards").lines[1]
    assert "6 tools" in run(path, until="graph").lines[1]
    assert run(path, until="walks").lines[1] == "5 walks"
    assert not (tmp_path / "generated/scenarios").exists()


def test_a_changed_recipe_or_tool_is_told(library: Path) -> None:
    """What no longer matches is named: the recipe, the tools, or nothing."""
    suite = load_suite(library, environ={})
    toolset = load_toolset(suite.environment, suite.root)

    assert staleness(suite, toolset) == ""
    library.write_text(library.read_text().replace("seed: 7", "seed: 8"))
    assert "recipe changed since" in staleness(load_suite(library, environ={}), toolset)
    fewer = toolset.model_copy(update={"specs": toolset.specs[1:]})
    assert "tools changed since" in staleness(suite, fewer)


def test_users_speak_the_language_that_the_recipe_names(tmp_path: Path) -> None:
    """Plain phrases of the language around the words of identifiers, and values as they are."""
    path = suite_in(tmp_path, "colis", f"count: 4, seed: 3, languages: [fr], {PARCELS}")

    run(path)

    for name, data in scenario_bytes(path).items():
        form = yaml.safe_load(data.decode("utf-8"))
        assert form["language"] == "fr", name
        assert form["says"][0]["request"].startswith(("Je voudrais ", "Montrez-moi : ", "Ma demande : ")), name


@pytest.mark.parametrize(("service", "policies"), [("library", LIBRARY), ("hotel", HOTEL)])
def test_few_walks_are_lost_with_rules_of_the_suite(tmp_path: Path, service: str, policies: str) -> None:
    """They are planned by the rules: identify first, confirm first, limits, what is forbidden."""
    path = suite_in(tmp_path, service, "count: 12, seed: 5", more=policies)

    outcome = run(path)

    report = json.loads((tmp_path / "generated/report.json").read_text())
    assert outcome.is_complete
    assert len(report["lost"]) <= 0.1 * report["tried"]


@pytest.mark.parametrize(
    ("role", "successor"), [("narrator", "writer"), ("persona", "writer"), ("recruiter", "prober")]
)
def test_a_role_that_is_gone_names_its_successor(tmp_path: Path, role: str, successor: str) -> None:
    """Recipes of earlier versions are told what to write."""
    recipe = f"llm: {{model: m, base_url: 'http://127.0.0.1:9/v1'}}, roles: [{role}]"

    with pytest.raises(SuiteFaultError, match=f"the role '{role}' is gone; '{successor}' does its work"):
        run(suite_in(tmp_path, "library", recipe))


TOOLS = {
    "no tools": ("", SuiteFaultError, "names no tools"),
    "tools that fail": (
        "def look(name: str) -> str:\n    '''Look up a name.'''\n    raise RuntimeError('down')\n",
        EnvironmentFaultError,
        "no call of any tool was answered",
    ),
    "one tool": (
        "def look(name: str) -> str:\n    '''Look up a name, for example \"Ada\".'''\n    return f'{name} is fine'\n",
        None,
        "scenarios short: the source has no further drafts",
    ),
}


@pytest.mark.parametrize("case", TOOLS)
def test_tools_that_nothing_can_be_made_of_are_told(tmp_path: Path, case: str) -> None:
    """No tool, one tool, tools that all fail: what is wrong and what to do, never a traceback."""
    source, error, message = TOOLS[case]
    (tmp_path / "few.py").write_text(source)
    path = tmp_path / "agentbench.yaml"
    environment = f"environment: {{tools: few{', reads: [look]' if 'def look' in source else ''}}}\n" if source else ""
    path.write_text(
        f"agent: a:b\n{environment}scenarios: [generated/scenarios/*.yaml]\n"
        "generate: {from: tools, count: 30, allow_writes: true}\n"
    )

    if error is None:
        outcome = run(path)
        assert not outcome.is_complete
        assert message in outcome.lines[-1]
        return
    with pytest.raises(error, match=message):
        run(path)


def test_tools_that_are_only_described_are_refused(tmp_path: Path) -> None:
    """A schema cannot be called."""
    tool = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}
    (tmp_path / "tools.json").write_text(json.dumps([tool]))
    path = tmp_path / "agentbench.yaml"
    scenarios = "scenarios: [generated/scenarios/*.yaml]\n"
    path.write_text(f"agent: a:b\nenvironment: {{tools: tools.json}}\n{scenarios}generate: {{from: tools}}\n")

    with pytest.raises(AgentBenchError, match=r"only described .*tools.json"):
        run(path)


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ("complexity: {hard: 1}", "there is no class 'hard'"),
        ("weights: prompting", "'prompting' needs a model"),
        ("weights: traces", "needs recorded conversations"),
    ],
)
def test_recipes_that_make_no_sense_are_told(tmp_path: Path, recipe: str, message: str) -> None:
    """A class, weights and traces that cannot be had."""
    with pytest.raises(SuiteFaultError, match=message):
        run(suite_in(tmp_path, "library", recipe))


def test_the_command_reports_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 0 with a report, 2 for a suite without a recipe or with a wrong one."""
    path = suite_in(tmp_path, "library", "count: 2, seed: 7")

    assert main(["generate", str(path)]) == 0
    assert "2 of 2 scenarios" in capsys.readouterr().out
    path.write_text(path.read_text().replace("count: 2", "count: 0"))
    assert main(["generate", str(path)]) == 2
    assert "generate.count: found 0, expected a number of scenarios" in capsys.readouterr().err
    path.write_text("agent: a:b\nscenarios: [{id: x, says: [Hello]}]\n")
    assert main(["generate", str(path)]) == 2
    assert "the suite has no recipe" in capsys.readouterr().err
    path.write_text("agent: a:b\nscenarios: [written/*.yaml]\n")
    assert main(["generate", str(path)]) == 2
    assert "the suite has no recipe: add `generate: {from: tools}`" in capsys.readouterr().err
