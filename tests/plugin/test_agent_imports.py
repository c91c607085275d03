"""An agent that cannot be imported is one collection error, with its place in the suite file."""

import pytest

from tests.plugin.project import AGENT, Project

THREE = ("a", "b", "c")


@pytest.mark.parametrize(
    ("target", "code", "told"),
    [
        ("shop_agent:biuld", AGENT, "'shop_agent' has no 'biuld' (did you mean 'build'?)"),
        ("shop_agnet:build", AGENT, "no module 'shop_agnet'"),
        ("shop_agent:build", "import no_such_thing", "importing 'shop_agent' raised ModuleNotFoundError"),
        ("shop_agent:build", "def build(:", "importing 'shop_agent' raised SyntaxError"),
        ("shop_agent:build", "raise SystemExit(3)", "importing 'shop_agent' raised SystemExit"),
        ("shop_agent:build", "build = 3", "'shop_agent:build' is int 3, which cannot be called"),
    ],
)
def test_a_wrong_import_is_one_error_and_no_run(anywhere: Project, target: str, code: str, told: str) -> None:
    """Nothing is played, nothing is unscored, and the suite's line is named."""
    anywhere.suite(*THREE, agent=code)
    suite = anywhere.pytester.path / "bench/agentbench.yaml"
    suite.write_text(suite.read_text().replace('"shop_agent:build"', f'"{target}"'))

    result = anywhere.run()

    text = result.stdout.str()
    assert result.ret != 0
    assert "bench/agentbench.yaml:2:11: agent: " in text
    assert told in text
    assert result.parseoutcomes() == {"errors": 1}, text
    assert not (anywhere.pytester.path / ".agentbench" / "results.json").exists()


@pytest.mark.parametrize(("parameter", "is_wrong"), [("tools", True), ("*, tools", True), ("tools=()", False)])
def test_a_factory_that_requires_tools_wants_some_of_the_suite(
    project: Project, parameter: str, is_wrong: bool
) -> None:
    """An agent that was given none would crash, and the suite would be to blame."""
    project.write("no_tools.py", f"def build({parameter}):\n    return lambda message: 'Hello.'\n")
    project.write("agentbench.yaml", "agent: no_tools:build\nscenarios: [{id: a, says: [hi]}]\n")

    result = project.run("agentbench.yaml")

    told = "agentbench.yaml:1:8: agent: the factory 'no_tools:build' requires `tools`, and the suite names none (add"
    assert (told in result.stdout.str()) == is_wrong
    assert result.parseoutcomes() == ({"errors": 1} if is_wrong else {"passed": 1})


def test_the_place_in_the_agents_own_file_is_told(project: Project) -> None:
    """What raised is where the user has to look."""
    project.suite("a", agent="\n\nraise ValueError('no key')\n")
    result = project.run()
    result.stdout.fnmatch_lines(["*agentbench.yaml:2:11: agent: importing 'shop_agent' raised ValueError: no key*"])
    assert "shop_agent.py:3)" in result.stdout.str()


def test_without_the_option_nothing_of_the_agent_is_imported(project: Project) -> None:
    """The import belongs to collection under `--agentbench` alone."""
    project.suite("a", agent=f"open('imported', 'w').close()\n{AGENT}")
    project.write("test_plain.py", "def test_one(): pass")
    project.pytest().assert_outcomes(passed=1)
    assert not (project.pytester.path / "imported").exists()
