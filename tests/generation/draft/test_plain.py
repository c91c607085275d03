"""Plain wording: honest templates in several languages, and the guard that every line is held against."""

import asyncio
from pathlib import Path

import pytest

from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.generation.draft import Draft, Turn
from pytest_agentbench.generation.language.guard import line_faults
from pytest_agentbench.generation.language.plain import SaidCall, SaidTurn, label_of, phrases_of, said, worded, words_of
from pytest_agentbench.generation.language.wording import ConversationBrief, PlainWording
from tests.generation.drafting import Do, From, Say, drafted, suite_of
from tests.tables import each


def renewing(folder: Path) -> Draft:
    """Plan a conversation that lists loans and renews the second one."""
    turns = [
        Say(calls=[Do("list_loans", {"member_id": "M21"})]),
        Say(calls=[Do("renew_loan", {"loan_id": From(0, "1.loan_id", "loan", 1, 2), "weeks": 3})]),
    ]
    return asyncio.run(drafted(suite_of(folder, "library"), "d1", turns))


def lines(draft: Draft) -> tuple[str, ...]:
    """Word a draft plainly."""
    return asyncio.run(PlainWording().lines(ConversationBrief(draft=draft))).lines


def test_a_line_asks_for_each_call_by_its_words_and_points_at_things_of_answers(tmp_path: Path) -> None:
    draft = renewing(tmp_path)

    assert lines(draft) == (
        "Please show me the loans. Member id: M21.",
        "Please renew loan. Weeks: 3. Loan id: the second loan of your last answer.",
    )
    assert said(draft, 1).calls[0].references[0].position == 1


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("fr", "Montrez-moi : loans. Member id : M21."),
        ("de", "Bitte zeigen Sie mir: loans. Member id: M21."),
        ("es", "Muéstreme: loans. Member id: M21."),
    ],
)
def test_a_language_is_a_table_of_phrases(tmp_path: Path, language: str, line: str) -> None:
    draft = renewing(tmp_path).model_copy(update={"language": language})

    assert lines(draft)[0] == line


def test_a_language_without_phrases_is_refused_with_those_that_have_some() -> None:
    with pytest.raises(SuiteFaultError, match=r"no plain phrases for 'nl', only for .*en.*phrases\.toml"):
        phrases_of("nl")


def test_a_change_that_is_confirmed_is_asked_for_once(tmp_path: Path) -> None:
    turns = [
        Say(),
        Say("confirm", calls=[Do("renew_loan", {"loan_id": "L301", "weeks": 1})]),
    ]
    draft = asyncio.run(drafted(suite_of(tmp_path, "library"), "d1", turns))

    assert lines(draft) == ("Please renew loan. Loan id: L301. Weeks: 1.", "Yes, please do that.")


def test_what_nobody_asks_for_is_said_as_values_alone(tmp_path: Path) -> None:
    turns = [Say(calls=[Do("get_member", {"member_id": "M21"}, asked=False), Do("get_book", {"book_id": "B103"})])]
    draft = asyncio.run(drafted(suite_of(tmp_path, "library"), "d1", turns))

    assert lines(draft) == ("Please show me the book. Book id: B103. Member id: M21.",)


def test_labels_are_the_words_of_identifiers_or_short_titles() -> None:
    assert words_of("cancelOrder") == words_of("cancel_order") == "cancel order"
    assert label_of("address.zip_code") == "address zip code"
    assert label_of("items.0.item_id") == "items item id"
    assert label_of("x", {"title": "Order number"}) == "order number"


def test_the_currency_of_an_amount_is_said_as_one() -> None:
    turn = SaidTurn(wanted=(("limit eur", "account"), ("floor", "")))

    assert worded(turn, phrases_of("en")) == "Please also tell me the limit in EUR of the account, floor."
    assert "limit en EUR" in worded(turn, phrases_of("fr"))


def test_every_plain_line_passes_the_guard(tmp_path: Path) -> None:
    draft = renewing(tmp_path)

    for turn, line in zip(draft.turns, lines(draft), strict=True):
        assert line_faults(line, turn, draft) == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("", "the line is empty"),
        ("Please show me my loans.", "does not state member id 'M21'"),
        ("My number is M21, and my loan is L302.", "'L302', which is no value"),
        ("I am M21. The book is “Night Train”.", "quotes 'Night Train'"),
        ("M21 here: call list_loans for me.", "names the tool 'list_loans'"),
        ("M21 here, I want forty of them.", "states 40 in words"),
        (
            "M21 here. You must never renew a loan that somebody else has reserved.",
            "repeats a policy",
        ),
    ],
)
def test_the_guard_says_what_is_wrong_with_a_line(tmp_path: Path, line: str, fault: str) -> None:
    draft = renewing(tmp_path)

    faults = line_faults(line, draft.turns[0], draft, policies=["Never renew a loan that somebody else has reserved."])

    assert any(fault in one for one in faults), faults


def test_spellings_of_a_value_are_as_good_as_the_value() -> None:
    from pytest_agentbench.generation.draft import Stated

    turn = Turn(states=(Stated(label="day", value="2026-05-14"), Stated(label="amount", value=1250.5)))
    draft = Draft(id="d", source="tools", turns=(turn,))

    assert line_faults("It was on May 14, 2026, and cost 1,250.50.", turn, draft) == []


@each(("action", "line"), [
    ("list free slots", "Please show me the free slots."),
    ("verify badge", "My request: verify badge."),  # nothing tells whether a name's first word is a verb
    ("free slots", "My request: free slots."),
    ("search", "Please search."),
])  # fmt: skip
def test_what_is_looked_at_is_asked_for_as_its_name_can_be_read(action: str, line: str) -> None:
    turn = SaidTurn(calls=(SaidCall(action=action, reads=True),))

    assert worded(turn, phrases_of("en")) == line
