"""Recipes run by `agentbench generate`: what is said before anything is written, and the same bytes each time."""

import shutil
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.policies.airline import airline
from tests.generation.tools.making import suite_in
from tests.plugin.project import Project


def written(folder: Path, inner: str = "generated") -> dict[str, bytes]:
    """Give every file of a folder, the recipe's if no other is named."""
    found = sorted((folder / inner).rglob("*"))
    return {str(one.relative_to(folder)): one.read_bytes() for one in found if one.is_file()}


def test_what_an_earlier_session_saw_changes_no_byte(tmp_path: Path) -> None:
    """The first run notes which tools write; a run anew beside that note writes the same scenarios."""
    file = suite_in(tmp_path, "hotel", "count: 4, seed: 7")
    main(["generate", str(file)])
    first = written(tmp_path / "generated", "scenarios")
    shutil.rmtree(tmp_path / "generated")
    (tmp_path / ".agentbench").mkdir(exist_ok=True)
    tools = '["find_rooms", "book_room", "cancel_booking", "get_booking", "room_details"]'
    (tmp_path / ".agentbench" / "seen-writes.json").write_text(f'{{"agentbench.yaml": {tools}}}', encoding="utf-8")

    main(["generate", str(file)])

    assert len(first) == 4
    assert written(tmp_path / "generated", "scenarios") == first


PLAYER = """
from pathlib import Path

import yaml


def build(tools, does=True):
    files = sorted(Path("generated/scenarios").glob("*.yaml"))
    found = {one["says"][0]["request"]: one for one in map(yaml.safe_load, map(Path.read_text, files))}
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        for step in found[message]["expect"] if does else ():
            call[step["name"]](**step["arguments"])
        return "; ".join(found[message].get("communicate", ["It is done."])) if does else "It is done."

    return reply
"""


def test_with_the_shape_of_react_the_user_speaks_once(pytester: pytest.Pytester) -> None:
    """Each call behind the first takes what an earlier one gave; a right agent passes, one that does nothing fails."""
    recipe = "count: 4, seed: 7, shape: react, review: off"
    file = suite_in(pytester.path, "hotel", recipe, more="variants: {right: {}, idle: {does: false}}")
    (pytester.path / "hotel_agent.py").write_text(PLAYER, encoding="utf-8")

    assert main(["generate", str(file)]) == 0

    played = Project(pytester=pytester).run("--agentbench-variant", "all", "agentbench.yaml")
    played.assert_outcomes(passed=4, failed=4)
    scenarios = load_suite(file, environ={}).scenarios
    assert len(scenarios) == 4
    for one in scenarios:
        assert [line.act for line in one.says] == ["request"]
        assert one.provenance["path"].split(" > ")[1:-1] == [call.name for call in one.expected_calls]
        assert len(one.expected_calls) > 1
        assert "Run_Conversation" not in one.provenance["path"].split(" > ")[1:]


@pytest.mark.parametrize(("right", "wrong"), [("count: 2", "cuont: 2"), ("generate:", "generat:")])
def test_a_misspelt_recipe_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], right: str, wrong: str
) -> None:
    """The key that is wrong is named, and nobody is told to add the recipe that stands there."""
    file = suite_in(tmp_path, "hotel", "count: 2, seed: 7")
    file.write_text(file.read_text(encoding="utf-8").replace(right, wrong), encoding="utf-8")

    status = main(["generate", str(file)])

    said = capsys.readouterr().err
    assert status
    assert wrong.partition(":")[0] in said
    assert "did you mean" in said
    assert "no recipe" not in said
    assert "no file matches" not in said


def test_the_folder_of_the_other_source_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said what stands there and what to do, before anything is written."""
    file = airline(tmp_path, count=2)
    main(["generate", str(file)])
    before = written(tmp_path)

    status = main(["generate", str(file), "--from", "tools"])

    said = capsys.readouterr().err
    assert status
    assert "holds scenarios that were made from policies" in said
    assert "name another folder" in said
    assert written(tmp_path) == before


def test_a_rule_about_a_tool_that_is_not_there_is_said_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As collection says it: file, line, what there is, and the name that is meant."""
    file = airline(tmp_path, count=2)
    text = file.read_text(encoding="utf-8").replace("first: [find_member]", "first: [find_membr]")
    file.write_text(text, encoding="utf-8")
    line = text[: text.index("find_membr")].count("\n") + 1

    status = main(["generate", str(file)])

    said = capsys.readouterr().err
    assert status
    assert f"agentbench.yaml:{line}:" in said
    assert "the agent has no tool 'find_membr'" in said
    assert "did you mean 'find_member'?" in said
    assert written(tmp_path) == {}
