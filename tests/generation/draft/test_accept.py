"""Acceptance: right drafts pass, each policy is handled as its wrong runs show, spoilt drafts are refused."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.generation.decidable import near_dates, owners
from pytest_agentbench.generation.draft import Draft
from tests.generation.draft import right
from tests.generation.draft.spoiling import SPOILT, both
from tests.generation.draft.test_produce import TODAY, produce
from tests.generation.drafting import Do, From, Say, suite_of


def test_right_drafts_are_accepted_and_say_how_each_policy_is_handled(tmp_path: Path) -> None:
    suite = right.library(tmp_path)
    kinds = (right.renewing, right.refusing, right.reserving, right.declining, right.reading)

    report, _ = produce(suite, [kind(suite) for kind in kinds])

    assert [f"{one.draft} {one.reason} {one.detail}" for one in report.losses] == []
    handled = {draft.id: {one.policy: one.handling for one in draft.policies} for draft in report.accepted}
    assert handled == {
        "renew": {"one-week": "exercised"},
        "refuse": {"one-week": "decided"},
        "reserve": {"look-up-first": "decided", "ask-first": "decided", "kind": "judge_only"},
        "decline": {"ask-first": "decided"},
        "read": {},
    }


@pytest.mark.parametrize(
    ("suite", "draft"), [(right.hotel, right.booking), (right.colis, right.reporting)], ids=["hotel", "colis"]
)
def test_services_without_rules_and_in_french_are_accepted(tmp_path: Path, suite: object, draft: object) -> None:
    made = suite(tmp_path)

    report, _ = produce(made, [draft(made)])

    assert [f"{one.reason} {one.detail}" for one in report.losses] == []


def test_spoilt_drafts_are_refused(tmp_path: Path) -> None:
    """Of drafts with one fault each, made by hand over three services, at most two come through."""
    refused: dict[str, str] = {}
    passed: list[str] = []
    for number, (suite_in, kinds) in enumerate(SPOILT.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        suite = suite_in(folder)
        spoilt = [(f"{kind.__name__} {name}", draft) for kind in kinds for name, draft in kind(suite)]
        named = {f"s{place}": name for place, (name, _) in enumerate(spoilt)}
        drafts = [draft.model_copy(update={"id": mark}) for mark, (_, draft) in zip(named, spoilt, strict=True)]
        good = {right.library: right.reading, right.hotel: right.booking, right.colis: right.reporting}[suite_in]

        report, _ = produce(suite, [good(suite), *drafts])

        refused |= {named[one.draft]: f"{one.stage}: {one.reason}: {one.detail}" for one in report.losses}
        passed += [named[draft.id] for draft in report.accepted if draft.id in named]

    assert len(refused) + len(passed) >= 50
    assert len(passed) <= 2, passed


def test_a_day_near_today_within_a_text_is_found_and_one_of_the_rows_is_not(tmp_path: Path) -> None:
    suite = right.colis(tmp_path)
    draft = both(right.reporting(suite), 1, 0, "motif", "en retard depuis le 2026-01-02")
    state: dict[str, Any] = {"signalements": {"S1": {"jour": "2026-01-02"}}}

    assert list(near_dates(draft, TODAY, None)) == ["signaler_probleme: 2026-01-02 is within 400 days of 2026-01-15"]
    assert list(near_dates(draft, TODAY, state)) == []
    assert list(near_dates(draft, date(2030, 1, 1), None)) == []


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("24.11.2025", "24.11.2025"),
        ("le 24/11/2025", "24/11/2025"),
        ("11/24/2025", "11/24/2025"),
        ("2025/11/24", "2025/11/24"),
        ("20251124T101500Z", "20251124"),
        ("24.11.25", "24.11.25"),
        (1764000000, "1764000000"),
        ("1764000000123", "1764000000123"),
        ("24.11.2035", ""),
        (1064000000, ""),
        ("FR1764000000", ""),
        ("10.11.12.2025", ""),
    ],
)
def test_a_day_near_today_is_found_however_it_is_written(tmp_path: Path, value: Any, found: str) -> None:
    draft = both(right.reporting(right.colis(tmp_path)), 1, 0, "motif", value)
    why = f"signaler_probleme: {found} is within 400 days of 2026-01-15"

    assert list(near_dates(draft, TODAY, None)) == ([why] if found else [])
    assert list(near_dates(draft, TODAY, {"rows": {"1": {"day": "2025-11-24"}}})) == []


def test_without_an_owner_the_affairs_of_two_people_are_refused(tmp_path: Path) -> None:
    suite = right.library(tmp_path)
    loans = Do("list_loans", {"member_id": "M21"})
    balance = [Say(calls=[loans]), Say(calls=[Do("get_member", {"member_id": "M22"})], wanted=[(0, "balance")])]
    renewal = [Say(calls=[loans]), Say(calls=[Do("renew_loan", {"loan_id": "L303", "weeks": 1})])]
    own = [Say(calls=[loans]), Say(calls=[Do("renew_loan", {"loan_id": "L302", "weeks": 1})])]
    books = [Say(calls=[Do("get_book", {"book_id": one})], wanted=[(0, "shelf")]) for one in ("B101", "B103")]

    state = json.loads((tmp_path / "library_state.json").read_text(encoding="utf-8"))

    report, _ = produce(
        suite,
        [
            right.make(suite, name, turns)
            for name, turns in {"balance": balance, "renewal": renewal, "own": own, "books": books}.items()
        ],
        state=state,
    )

    assert {one.draft: (one.reason, one.detail) for one in report.losses} == {
        "balance": ("several owners", "member_id 'M22' is not 'M21'"),
        "renewal": ("several owners", "loan_id L303 belongs to 'M22', not to 'M21'"),
    }
    assert [draft.id for draft in report.accepted] == ["own", "books"]


@pytest.mark.parametrize(("key", "found"), [("M21", 0), ("M22", 1)])
def test_an_owner_may_be_named_by_a_record_that_holds_its_key(tmp_path: Path, key: str, found: int) -> None:
    turns = [
        Say(calls=[Do("get_member", {"member_id": "M21"})]),
        Say(calls=[Do("renew_loan", {"loan_id": "L302", "weeks": 1})]),
    ]
    draft = right.make(right.library(tmp_path), "own", turns)
    row = {"loan_id": "L302", "member_id": {"id": key, "name": "Rita Moss"}}

    assert len(list(owners(draft, {"loans": {"L302": row}}))) == found


def test_a_request_that_names_one_thing_to_look_at_and_another_to_change_is_refused(tmp_path: Path) -> None:
    """Nobody can tell from the words alone which of the two books is meant, unless the look is asked for."""
    rules = (
        {"id": "look", "text": "Look.", "rule": {"before": {"calls": ["reserve_book"], "first": ["get_book"]}}},
        {"id": "ask", "text": "Ask.", "rule": {"confirm_before": {"calls": ["reserve_book"]}}},
    )
    suite = suite_of(tmp_path, "library", rules)

    def reserving(name: str, looked_at: Any, changed: Any, *, asked: bool = False) -> Draft:
        found = Do("search_books", {"title": "Night"})
        look = Do("get_book", {"book_id": looked_at}, asked=asked)
        change = Do("reserve_book", {"book_id": changed, "member_id": "M21"})
        turns = [Say(calls=[found]), Say(calls=[look]), Say("confirm", calls=[change])]
        return right.make(suite, name, turns, owner=right.MEMBER)

    second = From(0, "1.id", "book", 1, 2)
    drafts = [
        reserving("said", "B101", "B104"),
        reserving("pointed", "B101", second),
        reserving("asked", "B101", "B104", asked=True),
        reserving("same", "B104", "B104"),
    ]

    report, _ = produce(suite, drafts)

    assert {one.draft: (one.reason, one.detail) for one in report.losses if one.draft in ("said", "pointed")} == {
        "said": ("a request names two things", "book id is 'B101' for get_book and 'B104' for reserve_book"),
        "pointed": ("a request names two things", "book id is 'B101' for get_book and 'B102' for reserve_book"),
    }
    assert "same" in [draft.id for draft in report.accepted]
    assert not [one for one in report.losses if one.draft == "asked" and one.reason == "a request names two things"]
