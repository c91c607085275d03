"""Baselines: kept, compared with, gated."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from pytest_agentbench.results.document import read
from tests.plugin.project import AGENT, Project

MANY = [f"s{number:02}" for number in range(10)]
WORSE = AGENT.replace("wrong=False", "wrong=True")
GATES = ["success >= 0.0", "regression <= 0"]


@pytest.fixture
def kept(project: Project) -> Project:
    """A suite of ten passing runs whose results are kept in base.json."""
    return keep(project)


def keep(project: Project) -> Project:
    """Keep the results of ten passing runs."""
    project.suite(*MANY, gates=GATES)
    assert project.run("--agentbench-save-baseline=base.json").ret == 0
    return project


def base(project: Project) -> Path:
    """Where the baseline is kept."""
    return project.pytester.path / "base.json"


def test_a_kept_baseline_is_a_results_file(kept: Project) -> None:
    """All runs are in it, and the session that keeps it has nothing to regress from."""
    document = read(base(kept))

    assert len(document.results) == 10
    decided = [verdict.gate for verdict in document.gates if verdict.passed is not None]
    assert decided == ["success >= 0.0", "errors <= 0.05"]


def test_an_equal_session_does_not_regress(kept: Project) -> None:
    """The same agent again: compared scenario by scenario, no loss, exit status 0."""
    result = kept.run("--agentbench-baseline=base.json")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*regression <= 0*0.00*10*ok*"])
    result.stdout.fnmatch_lines(["against the baseline base.json*", "*success*10*100 %*100 %*0*"])


def test_a_worse_session_fails_its_gate_everywhere(anywhere: Project) -> None:
    """Terminal, exit status, JUnit and results agree, in one process and in two workers; flips are named."""
    kept = keep(anywhere)
    kept.suite(*MANY, agent=WORSE, gates=GATES)

    result = kept.run("--agentbench-baseline=base.json", "--junitxml=junit.xml")

    suite = ElementTree.parse(kept.pytester.path / "junit.xml").getroot()[0]
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert (result.ret, failed) == (1, ["gate regression <= 0"])
    result.stdout.fnmatch_lines(["*regression <= 0*1.00*10*FAILED*"])
    result.stdout.fnmatch_lines(["*success*10*100 %*0 %*-100*WORSE*", "  passes less often 10: s00, s01*"])
    assert [verdict.passed for verdict in kept.document.gates] == [True, False, True]


def test_what_changed_in_a_scenario_is_not_compared(kept: Project) -> None:
    """A scenario that says something else is set apart, and no regression is made of it."""
    changed = {"id": "s00", "says": ["Refund W1, now"], "expect": [{"refund": {"order_id": "W39"}}]}
    kept.suite(changed, *MANY[1:], gates=GATES)

    result = kept.run("--agentbench-baseline=base.json")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*regression <= 0*0.00*9*ok*", "  changed since, not compared 1: s00"])


def test_a_selection_is_compared_and_says_what_it_left_out(kept: Project) -> None:
    """Gates are not evaluated on a selection; what was not selected is not gone."""
    result = kept.run("--agentbench-baseline=base.json", "-k", "s01 or s02")

    result.stdout.fnmatch_lines(["*success*2*100 %*", "*too few for any change*", "*8 of *were not selected*"])
    result.stdout.no_fnmatch_line("*gone*")


def test_without_a_baseline_the_gate_fails_as_not_exercised(project: Project) -> None:
    """A gate that CI forgot to give a baseline to must not pass."""
    project.suite("a", gates=GATES)

    result = project.run()

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*regression <= 0*no scenario of a baseline was compared*"])


def test_a_part_is_not_kept(kept: Project) -> None:
    """A selection would lack scenarios for ever: the file stays as it was, and the session says so."""
    before = base(kept).read_bytes()

    result = kept.run("--agentbench-save-baseline=base.json", "-k", "s01")

    assert (result.ret, base(kept).read_bytes()) == (1, before)
    result.stdout.fnmatch_lines(["baseline not written to *: only a part of the runs was selected"])


@pytest.mark.parametrize(("text", "why"), [(None, "cannot be read"), ("{}", "is not a results file")])
def test_a_baseline_that_is_none_stops_the_session_before_it_begins(
    project: Project, text: str | None, why: str
) -> None:
    """What is wrong with the file is said, and what to do."""
    project.suite("a")
    if text is not None:
        project.write("base.json", text)

    result = project.run("--agentbench-baseline=base.json")

    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*--agentbench-baseline: *{why}*(keep one with --agentbench-save-baseline FILE)*"])


def test_a_folder_is_no_baseline(project: Project) -> None:
    """Both options take files."""
    project.suite("a")

    result = project.run("--agentbench-save-baseline=bench")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--agentbench-save-baseline: bench is a folder*"])


def test_variants_of_a_session_stand_side_by_side(project: Project) -> None:
    """Two variants: a table of each, the difference, and which scenarios flip."""
    project.suite(*MANY, variants={"careful": {}, "hasty": {"wrong": True}})

    result = project.run("--agentbench-variant=all", "-p", "no:randomly")

    result.stdout.fnmatch_lines(
        ["variants of bench", "  careful*10*100 %*", "  hasty*10*0 %*", "against careful*", "*success*10*-100*0.002*"]
    )
    result.stdout.fnmatch_lines(["  hasty loses 10: s00, s01*"])
