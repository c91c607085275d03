"""Acceptance: right drafts pass, each policy is handled as its wrong runs show, spoilt drafts are refused."""

from pathlib import Path

import pytest

from tests.generation.draft import right
from tests.generation.draft.test_produce import produce


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
    made = suite(tmp_path)  # type: ignore[operator]

    report, _ = produce(made, [draft(made)])  # type: ignore[operator]

    assert [f"{one.reason} {one.detail}" for one in report.losses] == []
