"""What becomes of wrong runs and of the clock: decided, exercised, enforced by the tool, held later or not."""

import asyncio
from pathlib import Path

import pytest

from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.generation.draft import Draft, Owner, PolicyPart, WrongRun
from pytest_agentbench.generation.report import lines_of
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.draft.test_produce import produce
from tests.generation.drafting import Do, Say, drafted

TOOLS = '''
def find_seat(row: str, *, state: dict) -> object:
    """Find the free seats of a row."""
    return {looks}


def book_seats(row: str, seats: int, *, state: dict{clock}) -> dict:
    """Book seats in a row."""
    {refuses}
    if seats > 8:
        raise ValueError("no more than 8 seats at a time")
    state["rows"][row]["free"] -= seats
    return {{"row": row, "booked": seats}}
'''

AT_MOST = {
    "id": "few",
    "text": "Nobody books more than four seats at a time.",
    "rule": {"never": {"calls": ["book_seats"], "where": {"seats": {"$gt": 4}}}},
}
SAY = {
    "id": "final",
    "text": "Say that a booking is final.",
    "rule": {"when": {"calls": ["book_seats"]}, "then": {"must_say": "final"}},
}


def theatre(folder: Path, *, clock: str = "", refuses: str = "", now: str = "", looks: str = "") -> Suite:
    """Write a suite of two tools, whose second may take the clock."""
    text = TOOLS.replace("{clock}", clock).replace("{refuses}", refuses or "pass").replace("{{", "{").replace("}}", "}")
    text = text.replace("{looks}", repr(looks) if looks else '{"row": row, "free": state["rows"][row]["free"]}')
    (folder / "seats_tools.py").write_text(text, encoding="utf-8")
    (folder / "seats.json").write_text('{"rows": {"A": {"row": "A", "free": 10}}}', encoding="utf-8")
    path = folder / "agentbench.yaml"
    path.write_text(
        "agent: seats_agent:build\n"
        "environment: {tools: seats_tools, state: {json: seats.json}}\n"
        "scenarios: [generated/scenarios/*.yaml]\n"
        "generate: {from: tools, count: 5, seed: 7}\n" + (f"now: {now}\n" if now else ""),
        encoding="utf-8",
    )
    suite = load_suite(path, environ={}, generating=True)
    return suite.model_copy(update={"policies": (Policy(**AT_MOST), Policy(**SAY))})


def asked(suite: Suite, seats: int, *wrong: tuple[str, WrongRun], refused: bool, tells: bool = True) -> Draft:
    """Ask for seats, which a right run books, or does not and says how many are free, where the answer `tells` it."""
    book = Do("book_seats", {"row": "A", "seats": seats})
    look = Do("find_seat", {"row": "A"})
    wanted = [(0, "free")] if tells else []
    say = Say(calls=[look], refused=[book], wanted=wanted) if refused else Say(calls=[look, book])
    draft = asyncio.run(drafted(suite, "d1", [say], owner=Owner(role="visitor")))
    if not tells:  # what has to be said decides in its place
        draft = draft.model_copy(update={"communicate": ("not possible",)})
    parts: dict[str, list[WrongRun]] = {}
    for policy, run in wrong:
        parts.setdefault(policy, []).append(run)
    found = tuple(PolicyPart(policy=policy, wrong_runs=tuple(runs)) for policy, runs in parts.items())
    return draft.model_copy(update={"policies": found})


def booked(draft: Draft) -> WrongRun:
    """Book what is refused all the same."""
    return WrongRun(kind="forbidden", change="books them all the same", turn=0, call=draft.turns[0].refused[0])


def handled(suite: Suite, draft: Draft) -> PolicyPart:
    """Have a draft accepted, and give what became of its policy."""
    report, _ = produce(suite, [draft])
    assert [str(one) for one in report.losses] == []
    return report.accepted[0].policies[0]


def test_a_policy_is_decided_where_each_wrong_run_fails_by_its_finding(tmp_path: Path) -> None:
    suite = theatre(tmp_path)
    bare = asked(suite, 6, refused=True)

    part = handled(suite, asked(suite, 6, ("few", booked(bare)), refused=True))

    assert part.handling == "decided"
    assert part.wrong_runs[0].finding.startswith("book_seats(row='A', seats=6)")


def test_nothing_is_decided_for_an_agent_that_asks_first_where_the_user_says_no_yes(tmp_path: Path) -> None:
    suite = theatre(tmp_path)
    bare = asked(suite, 6, refused=True)
    draft = asked(suite, 6, ("few", booked(bare)), refused=True)
    turns = [turn.model_copy(update={"about": ()}) for turn in draft.turns]

    part = handled(suite, draft.model_copy(update={"turns": tuple(turns)}))

    assert (part.handling, "asks first" in part.reason) == ("exercised", True)


def test_what_the_tool_refuses_is_enforced_by_the_tool(tmp_path: Path) -> None:
    suite = theatre(tmp_path)
    bare = asked(suite, 9, refused=True)

    part = handled(suite, asked(suite, 9, ("few", booked(bare)), refused=True))

    assert part.handling == "enforced"
    assert "no more than 8 seats" in part.wrong_runs[0].finding


def test_a_sentence_left_out_decides_what_must_be_said(tmp_path: Path) -> None:
    suite = theatre(tmp_path)
    unsaid = WrongRun(kind="unsaid", change="does not say that it is final", text="final")

    part = handled(suite, asked(suite, 2, ("final", unsaid), refused=False))

    assert part.handling == "decided"
    assert "final" in part.wrong_runs[0].finding


def test_a_wrong_run_that_fails_by_something_else_decides_nothing(tmp_path: Path) -> None:
    suite = theatre(tmp_path)
    skipped = WrongRun(kind="skipped", change="books nothing", number=1)

    part = handled(suite, asked(suite, 2, ("few", skipped), refused=False))

    assert part.handling == "exercised"
    assert part.reason.startswith("books nothing: fails by ")
    assert part.wrong_runs[0].finding == ""


def test_a_wrong_run_with_a_value_that_nobody_gave_decides_nothing(tmp_path: Path) -> None:
    suite = theatre(tmp_path)
    call = booked(asked(suite, 6, refused=True)).call
    assert call is not None
    more = call.model_copy(update={"call": call.call.model_copy(update={"arguments": {"row": "A", "seats": 7}})})
    wrong = WrongRun(kind="forbidden", change="books seven", turn=0, call=more)

    part = handled(suite, asked(suite, 6, ("few", wrong), refused=True))

    assert (part.handling, part.reason) == ("exercised", "books seven: nobody gave 7")


def with_seats(wrong: WrongRun, seats: int) -> WrongRun:
    """Have a wrong run book another number of seats."""
    call = wrong.call
    assert call is not None
    wanted = call.call.model_copy(update={"arguments": {"row": "A", "seats": seats}})
    return wrong.model_copy(update={"change": f"books {seats}", "call": call.model_copy(update={"call": wanted})})


@pytest.mark.parametrize(
    ("answer", "handling"),
    [
        ('{"since": "2021-03-17"}', "exercised"),
        ('{"since": "A7"}', "exercised"),
        ('{"most": 7}', "decided"),
        ('{"most": "7"}', "decided"),
        ("there are 7 seats", "decided"),
    ],
)
def test_a_value_inside_of_another_one_is_given_by_nobody(tmp_path: Path, answer: str, handling: str) -> None:
    suite = theatre(tmp_path, looks=answer)
    wrong = with_seats(booked(asked(suite, 6, refused=True, tells=False)), 7)

    part = handled(suite, asked(suite, 6, ("few", wrong), refused=True, tells=False))

    assert part.handling == handling


def test_a_number_nought_that_nobody_gave_decides_nothing(tmp_path: Path) -> None:
    suite = theatre(tmp_path)
    wrong = with_seats(booked(asked(suite, 6, refused=True)), 0)

    part = handled(suite, asked(suite, 6, ("few", wrong), refused=True))

    assert (part.handling, part.reason) == ("exercised", "books 0: nobody gave 0")


@pytest.mark.parametrize("first", [6, 9])
def test_a_policy_of_whose_wrong_runs_the_tool_refuses_some_is_not_decided(tmp_path: Path, first: int) -> None:
    suite = theatre(tmp_path, looks='{"numbers": [6, 9]}')
    bare = booked(asked(suite, 6, refused=True, tells=False))
    wrong = [("few", with_seats(bare, seats)) for seats in (first, 15 - first)]

    part = handled(suite, asked(suite, 6, *wrong, refused=True, tells=False))

    assert part.handling == "exercised"
    assert part.reason.startswith("books 9: the tool refuses: ")


@pytest.mark.parametrize(
    ("refuses", "lapses"),
    [
        ("pass", 0),
        ('if now.year > 2026:\n        raise ValueError("the season is over")', 366),
    ],
)
def test_a_scenario_that_does_not_hold_later_says_so(tmp_path: Path, refuses: str, lapses: int) -> None:
    """It is right in every session, since the suite's own clock stays."""
    suite = theatre(tmp_path, clock=", now", refuses=refuses, now="2026-01-15T10:00:00Z")

    report, _ = produce(suite, [asked(suite, 2, refused=False)])

    (draft,) = report.accepted
    note = "Holds with the suite's `now` alone: 366 days later a right run fails."
    assert (draft.lapses_after, draft.notes) == (lapses, (note,) if lapses else ())
    assert any("1 of them hold with the suite's `now` alone" in line for line in lines_of(report)) is bool(lapses)


def test_without_a_clock_the_header_says_that_it_is_not_tested(tmp_path: Path) -> None:
    suite = theatre(tmp_path)

    produce(suite, [asked(suite, 2, refused=False)])

    (file,) = (suite.generate.out / "scenarios").iterdir()
    assert "# Not played at a later date, since the suite sets no `now`" in file.read_text(encoding="utf-8")
