"""Selecting runs by suite, scenario file and name, and what is said where a name fits none."""

import json

from tests.plugin.project import Project, refund


def with_files(project: Project) -> None:
    """Write a suite of three inline scenarios and of two files with two each."""
    path = project.suite("a", "b", "c", gates=["success >= 1.0"])
    suite = json.loads(path.read_text())
    path.write_text(json.dumps({**suite, "scenarios": [*suite["scenarios"], "files/*.yaml"]}))
    for number, name in enumerate(("one", "two")):
        forms = [refund(f"{name}-{place}", 10 * number + place + 10) for place in (0, 1)]
        project.write(f"bench/files/{name}.yaml", json.dumps(forms))


def test_a_scenario_file_selects_its_scenarios(anywhere: Project) -> None:
    """They run as in their suite, under its name, and no gate is evaluated on a part."""
    with_files(anywhere)

    result = anywhere.run("-v", "bench/files/two.yaml")

    result.assert_outcomes(passed=2)
    assert {one.nodeid for one in anywhere.document.results} == {
        "bench/agentbench.yaml::two-0",
        "bench/agentbench.yaml::two-1",
    }
    result.stdout.fnmatch_lines(["gates of bench: not evaluated (2 of 7 runs selected)"])


def test_scenario_files_and_names_add_up(project: Project) -> None:
    """Two files, one scenario of a file, and one of the suite: each run takes place once."""
    with_files(project)

    project.run("bench/files/one.yaml", "bench/agentbench.yaml::one-0", "bench/files/two.yaml::two-1").assert_outcomes(
        passed=3
    )

    assert project.verdicts() == dict.fromkeys(("one-0", "one-1", "two-1"), "passed")


def test_a_mistyped_name_is_met_with_what_was_probably_meant(project: Project) -> None:
    """For suites and for scenario files; where nothing is near the names are listed."""
    with_files(project)

    near = project.run("bench/agentbench.yaml::one-9")
    in_file = project.run("bench/files/two.yaml::twoo-1")
    far = project.run("bench/agentbench.yaml::nothing-like-it")

    assert near.ret == in_file.ret == far.ret == 4
    near.stderr.fnmatch_lines(["ERROR: bench/agentbench.yaml has no run 'one-9' (did you mean 'one-0'?)"])
    in_file.stderr.fnmatch_lines(["ERROR: bench/files/two.yaml has no run 'twoo-1' (did you mean 'two-1'?)"])
    far.stderr.fnmatch_lines(
        ["ERROR: bench/agentbench.yaml has no run 'nothing-like-it' (its runs: a, b, c, one-0, one-1, two-0, two-1)"]
    )


def test_a_file_that_no_suite_uses_is_left_to_others(project: Project) -> None:
    """Other plugins have YAML files, too; where none takes it, the names of suites are told."""
    with_files(project)
    project.write("bench/other.yaml", "- {id: x}\n")

    result = project.run("bench/other.yaml")

    result.assert_outcomes()
    told = "bench/other.yaml is neither a suite (agentbench.yaml, NAME.agentbench.yaml) nor a scenario file of one"
    assert f"ERROR: {told}" in result.errlines
