"""The driver: drafts become files, a session resumes, a reviewer's file is never written over."""

import asyncio
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from pytest_agentbench.core.suite import Suite
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.draft import Draft, Loss
from pytest_agentbench.generation.produce import Production
from pytest_agentbench.generation.report import Report, document_of, lines_of
from pytest_agentbench.generation.store import Store
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.drafting import Do, From, Listed, Owner, Say, drafted, suite_of

TODAY = date(2026, 1, 15)


def produce(suite: Suite, drafts: Sequence[Draft | Loss], **more: Any) -> tuple[Report, Listed]:
    """Run drafts through the driver."""
    source = Listed(drafts)
    production = Production(
        suite=suite,
        toolset=load_toolset(suite.environment, suite.root),
        source=source,
        store=Store(suite.generate.out),
        made_from="h",
        today=TODAY,
        wanted=more.pop("wanted", len(drafts)),
        **more,
    )
    return asyncio.run(production.run()), source


def two(suite: Suite) -> list[Draft]:
    """Plan two right conversations of a member of the library."""
    member = Owner(key="M21")
    renewing = [
        Say(calls=[Do("list_loans", {"member_id": "M21"})]),
        Say(calls=[Do("renew_loan", {"loan_id": From(0, "1.loan_id", "loan", 1, 2), "weeks": 3})]),
    ]
    reading = [Say(calls=[Do("get_member", {"member_id": "M21"})], wanted=[(0, "branch"), (0, "balance")])]
    return [
        asyncio.run(drafted(suite, "d1", renewing, owner=member)),
        asyncio.run(drafted(suite, "d2", reading, owner=member)),
    ]


def test_drafts_become_scenarios_that_a_suite_reads(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "library")
    (tmp_path / "library_agent.py").write_text("def build(tools):\n    ...\n", encoding="utf-8")

    report, source = produce(suite, two(suite))

    assert source.heard == ["d1 accepted", "d2 accepted"]
    scenarios = load_suite(suite.path, environ={}).scenarios
    assert [one.id for one in scenarios] == ["get-member-d2", "list-loans-renew-loan-d1"]
    renewing = scenarios[1]
    assert [line.act for line in renewing.says] == ["request", "request"]
    assert renewing.knows == {"member id": "M21", "weeks": 3}
    assert renewing.provenance["worded"] == "plain"
    assert renewing.provenance["calls"][1]["arguments"] == {
        "loan_id": {"call": 0, "path": "1.loan_id"},
        "weeks": "user",
    }
    assert scenarios[0].communicate_info == ("Harbour", "12.5")
    assert scenarios[0].provenance["facts"][0] == {"name": "branch", "call": 0, "path": "branch"}
    text = (suite.generate.out / "scenarios" / "get-member-d2.yaml").read_text(encoding="utf-8")
    assert text.splitlines()[1] == (
        "# Worded by plain phrases, without a model; to have it reworded: agentbench generate agentbench.yaml --reword"
    )
    assert "2 of 2 scenarios, 1.5 calls on average" in lines_of(report)
    assert document_of(report)["worded"] == {"plain": 2}


def test_what_is_lost_is_counted_by_stage_and_reason(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "library")
    right = two(suite)[0]
    turn = right.turns[1]
    call = turn.calls[0].call.model_copy(update={"arguments": {"loan_id": "L999", "weeks": 3}})
    spoilt = turn.model_copy(update={"calls": (turn.calls[0].model_copy(update={"call": call}),)})
    wrong = right.model_copy(update={"id": "d9", "turns": (right.turns[0], spoilt)})

    report, source = produce(suite, [Loss(draft="d0", stage="hydration", reason="no call worked", detail="x"), wrong])

    assert source.heard[0] == "d0 lost: no call worked"
    assert [loss.stage for loss in report.losses] == ["hydration", "acceptance"]
    lines = lines_of(report)
    assert "drafts tried: 2, lost: 2 (100.0 %, bound 10 %)" in lines
    assert "     1  hydration: no call worked" in lines
    assert lines[-1].startswith("2 scenarios short: the source has no further drafts")


def test_a_second_session_takes_what_the_first_one_finished(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "library")
    drafts = two(suite)
    produce(suite, drafts[:1])
    log = suite.generate.out / "drafts.jsonl"
    first = log.read_bytes()

    report, _ = produce(suite, drafts)

    assert log.read_bytes().startswith(first)
    assert len(log.read_bytes().splitlines()) == 3
    assert [draft.id for draft in report.accepted] == ["d1", "d2"]


def test_the_same_drafts_give_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        suite = suite_of(tmp_path / folder, "library")
        produce(suite, two(suite))
        files = sorted((suite.generate.out / "scenarios").iterdir())
        written.append([(file.name, file.read_bytes()) for file in files])

    assert written[0] == written[1]


def test_a_file_that_somebody_accepted_is_kept_and_others_of_earlier_times_go(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "library")
    drafts = two(suite)
    produce(suite, drafts)
    folder = suite.generate.out / "scenarios"
    accepted = folder / "get-member-d2.yaml"
    decision = "review: {accepted: {by: Ann, on: 2026-01-15, hash: '0123456789abcdef'}}\n"
    accepted.write_text(accepted.read_text(encoding="utf-8") + decision, encoding="utf-8")
    kept = accepted.read_bytes()

    report, _ = produce(suite, [drafts[0].model_copy(update={"id": "d3"})])

    assert sorted(file.name for file in folder.iterdir()) == ["get-member-d2.yaml", "list-loans-renew-loan-d3.yaml"]
    assert accepted.read_bytes() == kept
    assert report.kept == 1
