"""The driver: drafts become files, a session resumes, a reviewer's file is never written over."""

import asyncio
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.draft import Draft, Loss
from pytest_agentbench.generation.language.wording import ConversationBrief, ConversationLines, PlainWording
from pytest_agentbench.generation.produce import Production
from pytest_agentbench.generation.recipe_folder import Store
from pytest_agentbench.generation.report import Report, document_of, lines_of
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.drafting import Do, From, Listed, Owner, Say, drafted, suite_of

TODAY = date(2026, 1, 15)


def produce(suite: Suite, drafts: Sequence[Draft | Loss], **more: Any) -> tuple[Report, Listed]:
    """Run drafts through the driver."""
    source = more.pop("source", Listed)(drafts)
    production = Production(
        suite=suite,
        toolset=load_toolset(suite.environment, suite.root),
        source=source,
        store=Store(suite.generate.out),
        made_from=more.pop("made_from", "h"),
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
    assert [one.id for one in scenarios] == ["get-member-d2", "renew-loan-d1"]
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
        "# One request, plain phrases, real calls; a model rewords it: agentbench generate agentbench.yaml --reword"
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
    assert "drafts tried: 2, lost: 2 (100.0 %)" in lines
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


def test_a_second_session_reads_what_hands_over(tmp_path: Path) -> None:
    """What a first session finished of a draft with a handoff is none of the second one's work."""
    suite = suite_of(tmp_path, "library")
    drafts = [one.model_copy(update={"handoffs": (ExpectedHandoff(to="desk"),)}) for one in two(suite)]
    produce(suite, drafts[:1])

    report, _ = produce(suite, drafts)

    assert [draft.handoffs[0].to for draft in report.accepted] == ["desk", "desk"]


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

    assert sorted(file.name for file in folder.iterdir()) == ["get-member-d2.yaml", "renew-loan-d3.yaml"]
    assert accepted.read_bytes() == kept
    assert len(report.saved.kept) == 1


def test_a_session_that_accepts_nothing_removes_nothing(tmp_path: Path) -> None:
    """Neither the files nor what is known of them; the report says so."""
    suite = suite_of(tmp_path, "library")
    produce(suite, two(suite))
    log = suite.generate.out / "drafts.jsonl"
    before = log.read_bytes()

    report, _ = produce(suite, [Loss(draft="d5", stage="plan", reason="no call worked")], made_from="other")

    assert len(list((suite.generate.out / "scenarios").iterdir())) == 2
    assert log.read_bytes() == before
    told = "nothing was accepted, and nothing removed: 2 files of earlier sessions"
    assert any(told in line for line in lines_of(report))


def test_the_report_says_which_files_went_and_which_are_a_persons_own(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "library")
    drafts = two(suite)
    produce(suite, drafts)
    own = suite.generate.out / "scenarios" / "get-member-d4.yaml"
    own.write_text("id: get-member-d4\nsays: [Hello]\n", encoding="utf-8")

    report, _ = produce(suite, [one.model_copy(update={"id": f"d{at}"}) for at, one in enumerate(drafts, 3)])

    text = "\n".join(lines_of(report))
    assert "2 files of earlier sessions removed" in text
    assert "not written over, since somebody else wrote it: get-member-d4.yaml" in text
    assert (document_of(report)["removed"], document_of(report)["foreign"]) == (2, ["get-member-d4.yaml"])


class Breaking(Listed):
    """A source that breaks off behind its drafts."""

    async def drafts(self) -> Any:
        """Give them in order, then raise."""
        for one in self.planned:
            yield one
        raise OSError("the server is gone")


def test_a_session_that_is_broken_off_leaves_what_stands_there(tmp_path: Path) -> None:
    """The log of the files stays; what was finished is taken up by the next session of the same recipe."""
    suite = suite_of(tmp_path, "library")
    drafts = two(suite)
    produce(suite, drafts[:1])
    folder = suite.generate.out
    log = (folder / "drafts.jsonl").read_bytes()

    with pytest.raises(OSError, match="the server is gone"):
        produce(suite, [drafts[1]], made_from="other", source=Breaking, wanted=2)

    assert (folder / "drafts.jsonl").read_bytes() == log
    assert [file.name for file in (folder / "scenarios").iterdir()] == ["renew-loan-d1.yaml"]
    unfinished = (folder / "unfinished.jsonl").read_bytes()

    produce(suite, [drafts[1]], made_from="other")

    assert (folder / "drafts.jsonl").read_bytes() == unfinished
    assert not (folder / "unfinished.jsonl").exists()
    assert [file.name for file in (folder / "scenarios").iterdir()] == ["get-member-d2.yaml"]


def test_what_its_round_finished_is_logged_where_one_of_it_breaks_off(tmp_path: Path) -> None:
    """It may have been paid for."""
    suite = suite_of(tmp_path, "library")

    with pytest.raises(OSError, match="no answer for d1"):
        produce(suite, two(suite), wording=Silent("d1"))

    assert list(Store(suite.generate.out).drafts.read()) == ["d2"]


class Silent:
    """Plain words, as by a model that answers for all drafts but one."""

    name = "m"

    def __init__(self, draft: str) -> None:
        self.draft = draft

    async def lines(self, asked: ConversationBrief, /) -> ConversationLines:
        """Give plain lines, or raise."""
        if asked.draft.id == self.draft:
            raise OSError(f"no answer for {self.draft}")
        return await PlainWording().lines(asked)
