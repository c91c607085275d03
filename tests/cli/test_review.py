"""`agentbench review`: one screen a scenario, one key each, and what was decided stands in the scenario's file."""

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Timer

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.core.scenario import Review, Scenario
from pytest_agentbench.suites.scenario_files import load_scenarios
from pytest_agentbench.suites.suite_file import load_suite

EXAMPLE = Path(__file__).parents[2] / "example_project"
TESTS = Path(__file__).parents[1]

SUITE = """
agent: shop:build
environment: {state: {json: state.json}}
scenarios: [generated/scenarios/*.yaml]
generate: {from: tools}
"""

SCENARIO = """\
# Written by `agentbench generate`; edits are lost when it is run again.
id: refund-a
review: pending
title: Refund a late order
persona: Somebody in a hurry
says: ["Refund W1, please", {confirm: "Do that"}]
knows: {email: ann@example.org, customer: C1, visits: 3}
expect: [{refund: {order_id: W1}}]
policies: []
provenance:
  generated: {recipe: a, tools: b, policies: c}
  wrong_runs:
  - {policy: refund-window, change: W2 is refunded in its place, finding: "refund-window: W2 is 40 days old"}
"""

Run = Callable[..., str]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A suite with two pending scenarios and a state of two customers."""
    folder = tmp_path / "generated" / "scenarios"
    folder.mkdir(parents=True)
    (tmp_path / "agentbench.yaml").write_text(SUITE)
    rows = '"orders": {"W1": {"email": "ann@example.org"}, "W2": {"email": "bob@example.org"}}'
    customers = '"customers": {"C1": {"visits": 5}, "C2": {"visits": 3}}'
    (tmp_path / "state.json").write_text(f"{{{rows}, {customers}}}")
    (folder / "a.yaml").write_text(SCENARIO)
    (folder / "b.yaml").write_text(SCENARIO.replace("refund-a", "refund-b").replace("W1", "W2"))
    return tmp_path


@pytest.fixture
def review(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in the project with these keys on its standard input; give what it printed."""
    monkeypatch.chdir(project)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: str, keys: str = "", status: int = 0) -> str:
        monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
        assert main(["review", "generated", *arguments]) == status
        found = capsys.readouterr()
        return found.out + found.err

    return run


def scenario(project: Path, name: str) -> Scenario:
    """Read one of the two."""
    return load_scenarios(project / "generated" / "scenarios" / f"{name}.yaml", environ={})[0]


def state(project: Path, name: str) -> Review:
    """Give the review of one of the two."""
    found = scenario(project, name).review
    assert found is not None
    return found


def test_a_screen_shows_lines_calls_rows_and_the_wrong_run(review: Run) -> None:
    """Everything that a reviewer judges by, in less than a screen."""
    shown = review(keys="q\n")

    assert "1 of 2" in shown
    assert "THE USER SAYS" in shown
    assert "Refund W1, please" in shown
    assert "Do that  [confirm]" in shown
    assert 'refund(order_id="W1")' in shown
    assert "orders W1: email ann@example.org" in shown
    assert "bob@example.org" not in shown
    assert "customers C1: visits 5" in shown
    assert "customers C2" not in shown  # another one with as many visits as the user speaks of
    assert "refund-window: W2 is refunded in its place" in shown
    assert "40 days old" in shown
    assert shown.count("\n") < 40
    assert "2 left" in shown


def test_a_key_accepts_and_another_rejects_with_a_reason(project: Path, review: Run) -> None:
    """Who, when and the hash stand in the file; all else is as it was."""
    told = review("--by", "Ann", "--on", "2026-11-24", keys="a\nr\nnobody says so\n")

    assert told.splitlines()[-1] == "agentbench review: 1 accepted, 1 rejected"
    first, second = state(project, "a"), state(project, "b")
    assert (first.state, first.by, first.on, len(first.hash)) == ("accepted", "Ann", "2026-11-24", 16)
    assert (second.state, second.by, second.reason) == ("rejected", "Ann", "nobody says so")
    text = (project / "generated/scenarios/a.yaml").read_text()
    changed = [line for line in text.splitlines() if line not in SCENARIO.splitlines()]
    assert [line.partition(":")[0] for line in changed] == ["review"]


def test_what_was_decided_is_not_shown_again(project: Path, review: Run) -> None:
    """Only what waits is; `--only` and `--all` show the others too."""
    review("--by", "Ann", keys="a\na\n")

    assert "nothing to review in generated: 2 accepted" in review()
    assert "1 of 2" in review("--all", keys="q\n")
    assert "1 of 1 · refund-b" in review("--only", "refund-b", keys="q\n").replace("|", "·")


def test_a_change_after_the_acceptance_makes_it_pending_again(project: Path, review: Run) -> None:
    """The screen says who accepted what it was."""
    review("--by", "Ann", "--on", "2026-11-24", keys="a\nq\n")
    file = project / "generated/scenarios/a.yaml"
    file.write_text(file.read_text().replace("Refund W1, please", "Refund W1 now"))

    assert state(project, "a").state == "lapsed"
    assert "changed since Ann accepted it on 2026-11-24" in review(keys="q\n")


def test_an_edit_is_what_is_accepted(project: Path, review: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scenario is shown again as it is after the editor."""
    monkeypatch.setenv("EDITOR", "sed -i -e s/please/now/")
    monkeypatch.delenv("VISUAL", raising=False)

    shown = review("--by", "Ann", keys="e\na\nq\n")

    assert "Refund W1, now" in shown
    assert scenario(project, "a").lines[0] == "Refund W1, now"
    assert state(project, "a").state == "accepted"


def test_an_edit_that_breaks_the_file_is_told_and_cannot_be_accepted(
    project: Path, review: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The problem is shown; nothing is written until it is mended."""
    monkeypatch.setenv("VISUAL", "sed -i -e s/says:/sais:/")

    shown = review("--by", "Ann", keys="e\na\nq\n")

    assert "sais" in shown
    assert "the edit is in the file; press e to correct it: " in shown
    assert "not changed: " in shown
    assert "accepted" not in shown.splitlines()[-1]
    assert "accepted" not in (project / "generated/scenarios/a.yaml").read_text()


def test_a_call_that_the_tools_do_not_take_is_not_accepted(project: Path, review: Run) -> None:
    """It is said as collecting the suite would say it."""
    (project / "shop_tools.py").write_text("def refund(order: str) -> str:\n    return order\n")
    suite = project / "agentbench.yaml"
    suite.write_text(suite.read_text().replace("{state:", "{tools: shop_tools, state:"))

    shown = review("--by", "Ann", keys="a\nq\n")

    assert "refund" in shown.split("not changed: ")[1]
    assert "order_id" in shown.split("not changed: ")[1]
    assert state(project, "a").state == "pending"


def test_unknown_keys_and_an_empty_reason_change_nothing(project: Path, review: Run) -> None:
    """It asks again, and skips when told so."""
    told = review("--by", "Ann", keys="x\nr\n\ns\nskip\n")

    assert "'x' is none of the keys" in told
    assert told.splitlines()[-1] == "agentbench review: 2 skipped"
    assert state(project, "a").state == state(project, "b").state == "pending"


@pytest.mark.parametrize("name", ["", " ", "\t", "A\nB", "\udcff"])
def test_a_name_that_is_none_is_refused(project: Path, review: Run, name: str) -> None:
    """It would stand in a file that loads no more; nothing is written."""
    told = review("--by", name, keys="a\na\n", status=2)

    assert "--by" in told
    assert state(project, "a").state == state(project, "b").state == "pending"


def test_a_blank_reviewer_of_the_environment_is_none(
    project: Path, review: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The login is asked next; where that is blank too, `--by` is asked for."""
    monkeypatch.setenv("AGENTBENCH_REVIEWER", " ")
    monkeypatch.setattr("getpass.getuser", lambda: " bob ")

    review(keys="a\nq\n")

    assert state(project, "a").by == "bob"
    monkeypatch.setattr("getpass.getuser", lambda: " ")
    assert "--by NAME" in review(keys="a\n", status=2)
    assert state(project, "b").state == "pending"


LIST = """\
- id: refund-a
  review: pending
  says: ["Refund W1"]
  expect: [{refund: {order_id: W1}}]
- id: refund-b
  review: pending
  says: ["Refund W2"]
  expect: [{refund: {order_id: W2}}]
- id: refund-c
  review: pending
  says: ["Refund W3"]
  expect: [{refund: {order_id: W3}}]
"""
"""Three pending scenarios in one file, four lines each."""


@pytest.fixture
def listed(project: Path) -> Path:
    """The file of a project whose scenarios stand in one list."""
    folder = project / "generated" / "scenarios"
    for file in folder.glob("*.yaml"):
        file.unlink()
    (folder / "list.yaml").write_text(LIST)
    return folder / "list.yaml"


def test_a_scenario_deleted_in_the_editor_is_gone(listed: Path, review: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its neighbour, which takes its place in the list, is shown in its own turn and once."""
    monkeypatch.setenv("VISUAL", "sed -i 1,4d")

    shown = review("--by", "Ann", keys="e\na\na\n")

    assert "no generated scenario 'refund-a' is left" in shown
    assert [shown.count(f"Refund {order}") for order in ("W1", "W2", "W3")] == [1, 1, 1]
    assert shown.splitlines()[-1] == "agentbench review: 2 accepted, 1 gone"


def test_a_scenario_deleted_on_an_earlier_screen_is_gone(
    listed: Path, review: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not shown as it was when the command began."""
    monkeypatch.setenv("VISUAL", "sed -i 5,8d")

    shown = review("--by", "Ann", keys="e\na\na\n")

    assert [shown.count(f"Refund {order}") for order in ("W1", "W2", "W3")] == [2, 0, 1]
    assert shown.splitlines()[-1] == "agentbench review: 2 accepted, 1 gone"


def test_a_scenario_renamed_in_the_editor_is_still_the_one_shown(
    listed: Path, review: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name that stands in its place is new to the file, so it is no neighbour."""
    monkeypatch.setenv("VISUAL", "sed -i s/refund-a/refund-first/")

    shown = review("--by", "Ann", keys="e\na\nq\n")

    assert "refund-first" in shown
    first = load_scenarios(listed, environ={})[0]
    assert (first.id, first.review and first.review.state) == ("refund-first", "accepted")


def test_a_file_deleted_in_the_editor_is_gone(project: Path, review: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one is shown."""
    monkeypatch.setenv("VISUAL", "rm")

    shown = review("--by", "Ann", keys="e\na\n")

    assert shown.splitlines()[-1] == "agentbench review: 1 accepted, 1 gone"
    assert state(project, "b").state == "accepted"


def test_a_list_changes_nothing(project: Path, review: Run) -> None:
    """A table of all scenarios, and how many are in which state."""
    review("--by", "Ann", "--on", "2026-11-24", keys="a\nr\nunclear\n")

    lines = review("--list").splitlines()

    assert lines[1].split() == ["refund-a", "accepted", "Ann", "2026-11-24"]
    assert lines[2].split() == ["refund-b", "rejected", "Ann", "2026-11-24", "unclear"]
    assert lines[-1] == "1 accepted, 1 rejected"
    assert [(one["scenario"], one["reason"]) for one in json.loads(review("--json"))] == [
        ("refund-a", ""),
        ("refund-b", "unclear"),
    ]


def test_a_page_is_static_and_escapes_what_it_shows(project: Path, review: Run) -> None:
    """No script runs on it, whatever a generator wrote."""
    file = project / "generated/scenarios/a.yaml"
    file.write_text(file.read_text().replace("Refund W1, please", "<script>alert(1)</script>"))

    assert "2 scenarios written to page.html" in review("--html", "page.html")
    assert "1 scenario written to" in review("--html", "other.html", "--only", "refund-a")

    page = (project / "page.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert "W2 is refunded in its place" in page
    assert "orders W1: email ann@example.org" in page
    assert state(project, "a").state == "pending"


def test_what_cannot_be_reviewed_is_said(project: Path, review: Run) -> None:
    """A folder without scenarios, a name that is none, a date that is none."""
    (project / "empty").mkdir()

    assert "did you mean 'refund-a'" in review("--only", "refund-x", status=2)
    assert main(["review", str(project / "empty")]) == 2
    assert main(["review", str(project / "agentbench.yaml")]) == 2
    assert main(["review", "generated", "--on", "tomorrow"]) == 2


def test_a_rejected_scenario_leaves_the_suite(project: Path, review: Run) -> None:
    """It is named apart."""
    review("--by", "Ann", keys="r\nno\ns\n")

    suite = load_suite(project / "agentbench.yaml", environ={})

    assert ([one.id for one in suite.scenarios], suite.rejected) == (["refund-b"], ("refund-a",))


def test_scenarios_of_the_example_fit_on_a_screen_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Screens of policies, with rows of the suite's own state, and of tools; all are skipped."""
    monkeypatch.setenv("COLUMNS", "120")

    for root, folder, count in ((TESTS / "example", "generated", 8), (EXAMPLE, "bench/weather/generated", 12)):
        monkeypatch.chdir(root)
        monkeypatch.setattr(sys, "stdin", io.StringIO("s\n" * count))
        assert main(["review", folder, "--by", "Ann"]) == 0
        screens = capsys.readouterr().out.split("[q]uit")
        assert f"{count} skipped" in screens[-1]
        heights = sorted(one.count("\n") for one in screens[:-1])
        assert heights[len(heights) // 2] <= 45
        assert heights[-1] <= 70


def test_one_key_is_enough_on_a_terminal(project: Path) -> None:
    """No Enter is asked for; an arrow key, which ends in a letter, decides nothing."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "import sys; from pytest_agentbench.cli import main; sys.exit(main())"]
    arguments = ["review", "generated", "--by", "Ann"]
    process = subprocess.Popen(
        [*command, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, cwd=project, close_fds=True
    )
    os.close(theirs)
    shown = ""
    watchdog = Timer(60, process.kill)
    watchdog.start()
    for awaited, key in (("[q]uit", b"\x1b[A"), ("is none of the keys", b"a"), ("2 of 2", b"q")):
        while awaited not in shown:
            shown += os.read(ours, 65536).decode()
        os.write(ours, key)
    assert process.wait(timeout=60) == 0
    watchdog.cancel()
    os.close(ours)

    assert state(project, "a").state == "accepted"
    assert state(project, "b").state == "pending"
