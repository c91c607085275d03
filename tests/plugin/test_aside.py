"""What stands aside or is looked at apart: quarantine, owners, impossible gates, the summary, history, what is kept."""

import re
from datetime import date
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.core.scenario import Quarantine
from pytest_agentbench.results.document import FILE, history
from pytest_agentbench.runs.forecast import expired
from pytest_agentbench.suites.suite_file import load_suite
from tests.plugin.project import Project
from tests.plugin.test_gates import ONE_WRONG

WHY = {"owner": "payments", "reason": "the sandbox drops refunds"}


def late(**keys: str) -> dict[str, object]:
    """Give the refund that the agent gets wrong, as a mapping with more keys."""
    return {"id": "b", "says": ["Refund W2, please"], "expect": [{"refund": {"order_id": "W2"}}], **keys}


@pytest.mark.parametrize("gates", [[], ["success >= 1"]], ids=["without gates", "with gates"])
def test_a_scenario_in_quarantine_is_played_and_decides_nothing(anywhere: Project, gates: list[str]) -> None:
    """It is shown with its owner, and the session is green."""
    anywhere.suite("a", late(quarantine={**WHY, "until": "2999-12-31"}), agent=ONE_WRONG, gates=gates)

    result = anywhere.run("-rA")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1 passed · 1 in quarantine*", "*quarantine until 2999-12-31: b (payments)*"])
    result.stdout.fnmatch_lines(["*1 passed, 1 in quarantine in*"])
    held = {run.key.scenario: run for run in anywhere.document.results}["b"]
    assert held.quarantine == Quarantine(**WHY, until=date(2999, 12, 31))
    assert not held.scored


def test_a_quarantine_that_is_over_is_an_error_that_says_what_to_do(anywhere: Project) -> None:
    """File and line, owner and reason; a day that there is not is refused as well."""
    path = anywhere.suite("a", late(quarantine={**WHY, "until": "2000-01-31"}))
    text = anywhere.run().stdout.str()

    suite = load_suite(path, environ={})
    place = "scenarios[1].quarantine.until: that of b ended"
    assert re.search(r"agentbench.yaml:\d+:\d+: " + re.escape(place), text), text
    assert "ended on 2000-01-31; payments owns it: the sandbox drops refunds" in text
    assert "set a later `until`" in text
    assert not list(expired(suite, date(2000, 1, 31)))
    assert len(list(expired(suite, date(2000, 2, 1)))) == 1

    anywhere.suite("a", late(quarantine={**WHY, "until": "2000-02-31"}))
    assert "2000-02-31: there is no such date" in anywhere.run().stdout.str()


@pytest.mark.parametrize(
    ("gate", "says"),
    [
        (
            "tool.refnd >= 0.5",
            "names the tool 'refnd', which there is not; there are: 'get_order', 'refund' (did you mean 'refund'?)",
        ),
        ("tag.smok >= 0.5", "which no scenario has; there are: 'smoke' (did you mean 'smoke'?)"),
        ("language.fr >= 0.5", "which no scenario has; there are: 'en'"),
        ("rubric.kind >= 0.5", "names the criterion 'kind', which no rubric has"),
        ("category.consent >= 0.5", "which no policy has"),
        ("complexity.9 >= 0.5", "which no scenario has"),
        ("pass^4 >= 0.5", "needs 4 trials of a scenario, and the suite plays 1 (write `trials: 4`"),
    ],
)
def test_a_gate_that_no_run_can_meet_is_an_error_with_its_place(anywhere: Project, gate: str, says: str) -> None:
    """Position, what there is, and what was probably meant."""
    anywhere.suite("a", late(tags=["smoke"]), gates=["success >= 0.1", gate])

    text = " ".join(anywhere.run().stdout.str().split())

    assert says in text
    assert "gates[1]" in text


def test_a_gate_on_trials_is_held_against_those_that_the_session_plays(project: Project) -> None:
    """`--agentbench-trials` replaces what the suite says, also where it is fewer."""
    project.suite("a", gates=["pass^4 >= 0.5"], trials=4)

    text = " ".join(project.run("--agentbench-trials=2").stdout.str().split())

    assert "needs 4 trials of a scenario, and the suite plays 2" in text


def test_the_summary_and_columns_tell_people_who_ships(anywhere: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Ship or not and why, the broken promise in its own words, the trend of whole sessions, owners."""
    policy = {
        "id": "right-order",
        "text": "Refund the order that was asked for.",
        "rule": {"never": {"calls": ["refund"], "where": {"order_id": "W0"}}},
    }
    for gate in ("success >= 0.5", "success >= 0.9"):
        anywhere.suite("a", late(), agent=ONE_WRONG, gates=[gate], policies=[policy], owner="checkout", name="shop")
        anywhere.run()
    folder = anywhere.pytester.path / ".agentbench"
    file = str(folder / "results.json")

    status = main(["report", file, "--summary"])
    shown = capsys.readouterr().out
    main(["report", file, "--by", "suite,owner"])
    owners = capsys.readouterr().out
    main(["report", file, "--by", "polcy"])
    assert main(["report", file, "--summary", "--history", "gone.jsonl"]) == 2

    assert status == 1
    assert "shop: do not ship" in shown
    assert "success >= 0.9 is not met: 0.50 < 0.90" in shown
    assert "Refund the order that was asked for. Kept in 1 of 2" in shown
    assert "cost per resolved conversation: not known" in shown
    assert shown.count("50 %") >= 2
    assert "bench/agentbench.yaml · checkout  2" in owners
    errors = capsys.readouterr().err
    assert "did you mean 'policy'" in errors
    assert "--history: there is no file gone.jsonl" in errors
    assert len(history([folder / FILE, folder / FILE])) == 2


@pytest.mark.parametrize(("which", "kept"), [("all", {"a", "b"}), ("failed", {"b"}), ("none", set())])
def test_only_the_conversations_asked_for_are_kept(anywhere: Project, which: str, kept: set[str]) -> None:
    """Results are all there; those without a conversation name no file."""
    anywhere.suite("a", late(), agent=ONE_WRONG)

    anywhere.run(f"--agentbench-transcripts={which}")

    runs = anywhere.document.results
    files = {path.name.partition("-")[0] for path in anywhere.pytester.path.glob(".agentbench/runs/*/transcripts/*")}
    assert {run.key.scenario for run in runs if run.transcript} == kept == files
    assert len(runs) == 2


@pytest.mark.parametrize(("keep", "left"), [("", 2), ("3d", 1)])
def test_old_sessions_are_removed_where_the_ini_file_says_so(anywhere: Project, keep: str, left: int) -> None:
    """By age where it says one, else the last twenty stay."""
    old = anywhere.pytester.path / ".agentbench" / "runs" / "20000101T000000.000000-aa"
    anywhere.write(str(Path(".agentbench/runs") / old.name / "meta.json"), '{"session": 0}')
    anywhere.suite("a")

    anywhere.run("-o", f"agentbench_keep={keep}")

    assert len(list(old.parent.iterdir())) == left
    assert old.exists() == (left == 2)


@pytest.mark.parametrize("keep", ["soon", "-3d", "60000w", "110000w"])
def test_a_span_that_is_none_is_refused(anywhere: Project, keep: str) -> None:
    """The ini setting is named with what it takes; sessions are not looked at."""
    anywhere.suite("a")
    result = anywhere.run("-o", f"agentbench_keep={keep}")
    assert f"agentbench_keep: found '{keep}', expected a span such as 3d" in result.stderr.str()
