"""`agentbench report`: shards of one session shown and gated as one."""

import json
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.results.document import text_of
from tests.plugin.project import Project
from tests.plugin.test_gates import ONE_WRONG
from tests.results.make import document, result


@pytest.fixture
def shards(pytester: pytest.Pytester) -> list[str]:
    """Two shards of a suite of four runs, one of which fails, gated at three quarters."""
    project = Project(pytester=pytester)
    project.suite("a", "b", "c", "d", agent=ONE_WRONG, gates=["success >= 0.75"])
    files = []
    for number, names in enumerate(("ab", "cd")):
        files.append(f"shard{number}.json")
        ids = [f"bench/agentbench.yaml::{name}" for name in names]
        project.run(f"--agentbench-json={files[-1]}", *ids)
    return [str(pytester.path / file) for file in files]


def test_gates_hold_over_merged_shards(shards: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Each shard alone decides nothing; together they hold."""
    status = main(["report", "--gate", *shards])

    text = capsys.readouterr().out
    assert status == 0
    assert "4 scenarios" in text
    assert "success >= 0.75" in text


def test_a_missing_shard_leaves_gates_undecided(shards: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Gates over half of the runs are not evaluated, and that is not a pass."""
    capsys.readouterr()
    assert main(["report", "--gate", "--json", shards[0]]) == 1
    printed = capsys.readouterr()
    assert (len(json.loads(printed.out)["results"]), "not evaluated" in printed.err) == (2, True)
    status = main(["report", "--gate", shards[0]])

    assert status == 1
    assert "not evaluated, 2 of 4 runs are here" in capsys.readouterr().out


def test_without_gate_the_report_is_only_shown(shards: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A look at results has exit status 0."""
    assert main(["report", *shards]) == 0
    assert "worst first" in capsys.readouterr().out


@pytest.mark.usefixtures("shards")
def test_without_files_the_last_session_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As `explain` does; where none was played, the file that is missing is named."""
    assert main(["report", "--summary"]) == 0
    assert "2 of 2 conversations passed" in capsys.readouterr().out

    monkeypatch.chdir(tmp_path)
    assert main(["report"]) == 2
    assert "results.json cannot be read" in capsys.readouterr().err


def test_the_same_shard_twice_is_refused(shards: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A run never counts twice."""
    assert main(["report", shards[0], shards[0]]) == 2
    assert "is in two of the results files" in capsys.readouterr().err


def test_a_file_that_is_no_results_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong with a file is said without a traceback."""
    (tmp_path / "x.json").write_text("[]")

    assert main(["report", str(tmp_path / "x.json")]) == 2
    assert "x.json is not a results file" in capsys.readouterr().err


@pytest.mark.parametrize("option", [[], ["--summary"], ["--html", "page.html"], ["--markdown", "text.md"]])
def test_a_gate_that_this_version_does_not_know_is_listed(
    option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A results file of another version is reported; such a gate is about no row."""
    monkeypatch.chdir(tmp_path)
    held = document([result("a"), result("b", "failed")], gates=["success >= 0.75"])
    gates = [one.model_copy(update={"gate": "unheard", "label": "unheard"}) for one in held.gates[:1]]
    Path("results.json").write_text(text_of(held.model_copy(update={"gates": gates})))

    assert main(["report", "results.json", *option]) != 2

    written = [Path(name).read_text() for name in option[1:]]
    assert "unheard" in "".join([capsys.readouterr().out, *written])


def test_annotations_of_shards_point_into_this_checkout(
    shards: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A joined report marks the scenario's line once, wherever its shard ran."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", "/home/runner/work/shop")

    main(["report", "--gate", *shards])

    marks = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]
    [mark] = marks
    assert mark.startswith("::warning file=bench/agentbench.yaml,line=")


def test_a_gate_that_shards_fail_together_is_an_error_there(
    shards: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate comes first; outside of GitHub the lines are printed on request alone."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    for file in shards:
        path = Path(file)
        path.write_text(path.read_text().replace("success >= 0.75", "success >= 0.95"))

    assert main(["report", "--gate", *shards]) == 1
    assert "::error" not in capsys.readouterr().out
    main(["report", "--gate", "--annotations", *shards])

    first, *_ = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]
    assert "gate success >= 0.95" in first
    assert first.startswith("::error file=bench/agentbench.yaml,line=1,")
