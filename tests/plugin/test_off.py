"""A session without `--agentbench` is as if the plugin were not there."""

import json
import re

import pytest

from tests.plugin.project import Project

HEAVY = ("aiohttp", "httpx", "httpx2", "networkx", "openai", "pydantic", "xdist", "yaml", "anyio")

LISTING = """
import json, sys

def test_what_is_imported():
    with open("imported.json", "w") as file:
        json.dump(sorted(sys.modules), file)
"""


def test_nothing_third_party_is_imported(project: Project) -> None:
    """Only the entry point and the names of its hooks are loaded; nothing of ours or of others follows them in."""
    project.suite("a")
    project.write("test_plain.py", LISTING)

    project.plugins = ("-p", "agentbench")

    project.pytest("test_plain.py", process="fresh")

    imported = json.loads((project.pytester.path / "imported.json").read_text())
    assert [name for name in imported if name.partition(".")[0] in HEAVY] == []
    ours = {"pytest_agentbench", "pytest_agentbench.plugin", "pytest_agentbench.plugin.hookspecs"}
    assert {name for name in imported if name.startswith("pytest_agentbench")} == ours


def test_no_http_client_is_imported_before_a_model_is_called(project: Project) -> None:
    """It takes a fifth of a second, and most sessions call no model."""
    project.suite("a")
    project.write("test_plain.py", LISTING)

    project.run("test_plain.py", "bench", process="fresh")

    assert project.verdicts() == {"a": "passed"}
    imported = json.loads((project.pytester.path / "imported.json").read_text())
    assert [name for name in imported if name.partition(".")[0] in ("aiohttp", "httpx", "httpx2", "openai")] == []


def test_the_output_is_that_of_a_session_without_the_plugin(project: Project) -> None:
    """Nothing is collected, printed or written; only the `plugins:` line differs."""
    project.suite("a")
    project.write("test_plain.py", "def test_plain():\n    pass\n")

    with_plugin = project.pytest("-v", "-p", "no:cacheprovider", process="fresh")
    without = project.pytest("-v", "-p", "no:cacheprovider", "-p", "no:agentbench", process="fresh")

    assert plain(with_plugin.outlines) == plain(without.outlines)
    assert not (project.pytester.path / ".agentbench").exists()


def test_a_suite_that_is_asked_for_without_agentbench_names_the_option(project: Project) -> None:
    """Pytest alone would only say that it found nothing there; other files are not spoken of."""
    project.suite("a")
    project.write("notes.yaml", "a: b")

    suite = project.pytest("bench/agentbench.yaml::a")
    other = project.pytest("notes.yaml")

    assert suite.ret == other.ret == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: bench/agentbench.yaml is a suite of scenarios: add --agentbench to play it" in suite.errlines
    assert "--agentbench" not in other.stderr.str()


def test_options_without_agentbench_are_named_in_one_line(project: Project) -> None:
    """Somebody who forgets the switch is told; settings in a file are not."""
    project.suite("a")
    project.write("test_plain.py", "def test_plain():\n    pass\n")

    result = project.pytest("-q", "--agentbench-gates=never", "--agentbench-json", "out.json")
    project.write("pytest.ini", "[pytest]\naddopts = --agentbench-gates=never\n")
    configured = project.pytest("-q")

    line = "agentbench: --agentbench-gates, --agentbench-json have no effect without --agentbench"
    assert [text for text in result.outlines if "agentbench:" in text] == [line]
    assert "no effect" not in configured.stdout.str()


@pytest.mark.parametrize(
    ("option", "instead"),
    [
        ("--agentbench-early-stop", "write `trials: {most: 8, stop: sequential}` into the suite"),
        ("--agentbench-annotations", "they are printed where GITHUB_ACTIONS is true, and by `agentbench report *`"),
        ("--agentbench-max-cost=5", "write `agentbench_max_cost = USD` into pytest's ini file, or `-o *`"),
        ("--agentbench-max-calls=5", "write `agentbench_max_calls = N` into pytest's ini file, or `-o *`"),
        ("--agentbench-no-judge", "write `agentbench_judge = false` into pytest's ini file, or `-o *`"),
    ],
)
def test_an_option_that_is_gone_names_what_took_its_place(project: Project, option: str, instead: str) -> None:
    """One line, with the switch and without; the help lists those that there are."""
    for switch in ([], ["--agentbench"]):
        result = project.pytest(*switch, option)

        assert result.ret == pytest.ExitCode.USAGE_ERROR
        name = option.partition("=")[0]
        told = [line for line in (*result.outlines, *result.errlines) if name in line]
        assert len(told) == 1
        result.stderr.fnmatch_lines([f"ERROR: {name} is no option any more: {instead}"])
    assert name not in project.pytest("--help").stdout.str()


def test_marked_tests_are_deselected(project: Project) -> None:
    """A marked test does not run without `--agentbench`, and pytest counts it as deselected."""
    project.write(
        "test_marked.py",
        """
        import pytest

        @pytest.mark.agentbench("nowhere.yaml")
        def test_marked(agentbench):
            raise AssertionError

        def test_fixture_alone(agentbench):
            raise AssertionError

        def test_plain():
            pass
        """,
    )

    result = project.pytest("--strict-markers")

    result.assert_outcomes(passed=1, skipped=1, deselected=1)


def test_suites_are_not_collected(project: Project) -> None:
    """A broken suite file breaks nothing."""
    project.write("bench/agentbench.yaml", "][")

    result = project.pytest()

    assert result.ret == 5


def plain(lines: list[str]) -> list[str]:
    """Leave out what differs between any two sessions."""
    return [re.sub(r"[0-9.]+s\b", "", line) for line in lines if not line.startswith("plugins:")]


def test_modules_load_as_any_others_do(project: Project) -> None:
    """Where pytest would rewrite them, as it does in an installed plugin, they still load plainly and quickly."""
    project.suite("a")
    project.write(
        "conftest.py",
        "import sys\nimport pytest\npytest.register_assert_rewrite('pytest_agentbench.plugin.run_store')\n\n"
        "def pytest_unconfigure():\n"
        "    loaded = sys.modules['pytest_agentbench.plugin.run_store'].__spec__.loader\n"
        "    print('\\nloaded by', type(loaded).__name__)\n",
    )

    result = project.run("bench", process="fresh")

    result.stdout.fnmatch_lines(["loaded by SourceFileLoader"])
