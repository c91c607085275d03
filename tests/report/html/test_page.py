"""The HTML page without a browser: its policy, what it holds and how much, and that nothing hostile is markup."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.html_report import HOSTILE, session
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.verdict import Finding
from pytest_agentbench.report.html.page import Reading, html_report
from pytest_agentbench.results.document import Document
from tests.report.html.page import Parsed, digest, parse, strings
from tests.results.make import document, result, support_runs, wrong_refund

TALK = Transcript(
    messages=(
        Message(role="user", content="Refund W77, please."),
        Message(role="assistant", tool_calls=(ToolCall(name="find_order", arguments={"id": "W77"}, id="1"),)),
        Message(role="tool", content='{"id": "W77"}', tool_call_id="1"),
        Message(role="assistant", content="To which card?"),
        Message(role="user", content="PayPal."),
        Message(
            role="assistant",
            tool_calls=(ToolCall(name="refund", arguments={"order_id": "W77", "method": "card_2"}, id="2"),),
        ),
        Message(role="tool", content="ok", tool_call_id="2", wrote=True),
        Message(role="assistant", content="Done."),
    )
)


def page(held: Document, transcript: Transcript | None = TALK, **limits: int) -> Parsed:
    """Write a page whose runs all went the same, and read it back."""
    return parse(html_report(held, Reading(transcript=lambda _: transcript), **limits))


def failing(scenario: str = "two-orders", **fields: object) -> Result:
    """A failed run with a transcript, in which the wrong call is made in turn 4."""
    run = wrong_refund(scenario, **{"transcript": "transcripts/two.json", **fields})
    calls = tuple(call.model_copy(update={"turn": min(call.turn or 0, 4)}) for call in run.calls)
    return run.model_copy(update={"calls": calls})


@pytest.fixture(scope="module")
def hostile() -> Parsed:
    """A page of runs that hold every hostile text in every field."""
    held, transcripts = session(len(HOSTILE) * 10)
    return parse(html_report(held, Reading(transcript=lambda run: transcripts[run.key])))


def test_the_policy_allows_the_pages_own_script_and_style_alone(hostile: Parsed) -> None:
    """Hashes name what is in the page; nothing may be loaded, framed, sent or turned into markup."""
    policy = hostile.policy()
    code = [one for one in hostile.of("script") if "type" not in one.attributes]

    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == [digest(one.text) for one in code]
    assert policy["style-src"] == [digest(one.text) for one in hostile.of("style")]
    assert policy["img-src"] == ["data:"]
    assert policy["base-uri"] == policy["form-action"] == ["'none'"]
    assert policy["require-trusted-types-for"] == ["'script'"]


def test_hostile_texts_make_no_element_and_no_attribute(hostile: Parsed) -> None:
    """A page of hostile runs has the elements of a page of harmless ones, and no more."""
    held, transcripts = session(len(HOSTILE) * 10, hostile=False)
    harmless = parse(html_report(held, Reading(transcript=lambda run: transcripts[run.key])))

    assert [(one.tag, sorted(one.attributes)) for one in hostile.elements] == [
        (one.tag, sorted(one.attributes)) for one in harmless.elements
    ]
    assert not [one for one in hostile.elements if {"src", "onload", "style", "onclick"} & set(one.attributes)]
    assert [one.attributes["href"][:5] for one in hostile.of("link")] == ["data:"]


def test_nothing_that_moves_a_terminal_or_turns_text_around_is_left(hostile: Parsed) -> None:
    """Escape sequences are gone; control, bidi and surrogate characters are spelt out."""
    texts = strings([hostile.data(), *(hostile.run(place) for place in range(len(HOSTILE) * 10))])
    unsafe = {char for text in texts for char in text if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}

    assert unsafe <= {"\n"}
    assert any("\\u202e" in text for text in texts)
    assert any("<img src=x onerror=" in text for text in texts)


@given(text=st.text(st.characters(codec=None), max_size=60) | st.sampled_from(HOSTILE))
def test_any_text_stays_inside_of_its_script_element(text: str) -> None:
    """Whatever was said, the page parses to the same elements, and is ASCII."""
    run = failing(scenario=f"a{text}", title=text, stop_reason=text, tags=(text,))
    talk = Transcript(messages=(Message(role="user", content=text),))

    written = html_report(document([run]), Reading(transcript=lambda _: talk))

    assert written.isascii()
    assert [one.tag for one in parse(written).elements] == [one.tag for one in page(document([failing()])).elements]


def test_the_first_divergent_turn_is_that_of_the_wrong_call() -> None:
    """Turn 2 is as expected; the refund of turn 4 goes to another card."""
    held = page(document([failing()])).run(0)

    assert held["divergences"] == [
        {
            "turn": 4,
            "reason": 'refund(order_id="W77", method="card_2")  expected method="paypal_1"',
            "against": "expected calls",
        }
    ]
    assert [message["turn"] for message in held["messages"]] == [1, 2, 2, 2, 3, 4, 4, 4]
    assert held["calls"][1]["differing"] == {"method": ['"paypal_1"', '"card_2"']}


def test_a_baseline_marks_the_first_turn_with_other_calls() -> None:
    """The page tells both: what was expected, and what the baseline did."""
    before = Transcript(messages=(*TALK.messages[:5], TALK.messages[7]))
    reading = Reading(transcript=lambda _: TALK, baseline=lambda _: before)

    held = parse(html_report(document([result(transcript="t.json")]), reading)).run(0)

    assert held["divergences"] == [
        {
            "turn": 4,
            "reason": 'the baseline made no call, this run refund(order_id="W77", method="card_2")',
            "against": "baseline",
        }
    ]


def test_what_a_judge_quotes_stands_apart_from_its_reason() -> None:
    """The words of the judgement and those of the conversation are not one text."""
    told = Finding(
        check="rubric:tone", kind="rubric", passed=False, required=False, turn=2,
        message="good 1/4: it is rude (turn 4: 'That is \"your\" problem.')",
    )  # fmt: skip

    (finding,) = page(document([result(findings=(told,))])).run(0)["findings"]

    assert (finding["message"], finding["quote"]) == ("good 1/4: it is rude", 'That is "your" problem.')
    assert finding["turn"] == 4


def test_the_worst_run_comes_first_and_passed_ones_last() -> None:
    """The list is sorted as the terminal's, then what was not scored, then what passed."""
    rows = page(document(support_runs())).data()["rows"]

    assert [row["verdict"] for row in rows] == ["failed"] * 2 + ["unscored"] * 2 + ["passed"] * 22
    assert rows[0]["name"] == "two-orders-one-card"
    assert rows[0]["line"] == 'state: turn 6: refund(order_id="W77", method="card_2")  expected method="paypal_1"'


def test_figures_are_those_of_the_terminal() -> None:
    """Rates, intervals and gates are of all runs, policies by complexity with their counts."""
    data = page(document(support_runs(), gates=["success >= 0.95"])).data()

    assert (data["all"]["passed"], data["all"]["n"], data["all"]["unscored"]) == (22, 24, 2)
    assert (data["all"]["low"], data["all"]["high"]) == (0.7415, 0.9768)
    assert [(gate["label"], gate["passed"]) for gate in data["gates"]] == [
        ("success >= 0.95", False),
        ("errors <= 0.05", False),
    ]
    (heat,) = data["heat"]
    row = next(row for row in heat["rows"] if row["label"] == "confirm-writes")
    assert sum(cell[1] for cell in row["cells"] if cell) == 14
    assert dict(data["terminations"])["FINISHED"] == 24


def test_policies_stand_against_complexity_and_tools_with_their_holes() -> None:
    """Counts with intervals, None where no run was, levels exactly and from there on, pairs that nothing plans."""
    (held,) = page(document(support_runs())).data()["policies"]
    at = [label for label, _ in held["totals"]].index("confirm-writes")
    cells = held["by_complexity"]["cells"]

    assert held["totals"][at][1][:2] == [13, 14]
    assert sum(cell[1] for cell in cells[at] if cell) == 14
    assert sum(cell is None for row in cells for cell in row) == held["by_complexity"]["holes"]
    assert len(held["by_tool"]["columns"]) == len(held["by_tool"]["cells"][at])
    assert [above[1] for _, _, above in held["levels"]] == sorted(
        (above[1] for *_, above in held["levels"]), reverse=True
    )
    assert held["untried"]["count"] + held["unmet"]["count"] <= held["pairs"]


def test_a_page_without_policies_says_nothing_of_them() -> None:
    """There is no view of what no suite has."""
    runs = [result("plain", listed_policies=(), policies=())]

    assert page(document(runs)).data()["policies"] == []


def test_tools_are_counted_with_what_followed_them() -> None:
    """Calls, runs, and the way from one call to the next."""
    tools = page(document([failing(), failing("other")])).data()["tools"]
    names = [node["name"] for node in tools["graph"]["nodes"]]
    edges = {(names[one], names[other]): count for one, other, count in tools["graph"]["edges"]}

    assert {tool["name"]: tool["calls"] for tool in tools["tools"]} == {"find_order": 2, "refund": 2}
    assert edges == {("start", "find_order"): 2, ("find_order", "refund"): 2, ("refund", "end"): 2}


def test_a_long_text_is_cut_with_its_length_and_a_long_conversation_with_a_count() -> None:
    """The page says how much there is, and where."""
    talk = Transcript(messages=tuple(Message(role="user", content="a" * 9_000) for _ in range(230)))

    held = page(document([failing()]), talk).run(0)

    assert len(held["messages"]) == 200
    assert held["more"] == 30
    assert (held["messages"][0]["cut"], len(held["messages"][0]["text"])) == (9_000, 6_001)
    assert held["transcript"] == "transcripts/two.json"


def test_a_large_session_keeps_its_worst_conversations() -> None:
    """Past the bound runs are listed without their conversation; past the number of runs they are counted."""
    runs = [failing("worst"), *(result(f"fine-{number}", transcript="t.json") for number in range(9))]

    bounded = page(document(runs), max_bytes=6_000, max_runs=8)

    assert bounded.run(0)["messages"] is not None
    assert bounded.run(7)["messages"] is None
    assert bounded.run(7)["dropped"]
    data = bounded.data()
    assert (len(data["rows"]), data["unlisted"], data["all"]["n"]) == (8, 2, 10)
    assert data["dropped"] > 0


def test_without_transcripts_the_page_has_the_runs_all_the_same() -> None:
    """Results from elsewhere are shown without their conversations."""
    held = page(document(support_runs()), None)

    assert held.run(0)["messages"] is None
    assert len(held.data()["rows"]) == 26


def test_the_same_session_gives_the_same_bytes() -> None:
    """Nothing depends on time or chance."""
    held, transcripts = session(40)
    reading = Reading(transcript=lambda run: transcripts[run.key])

    assert html_report(held, reading) == html_report(held, reading)


def test_variants_stand_side_by_side_with_their_numbers_and_own_scores() -> None:
    """Each number with its interval, time as quantiles, and how often a pass has the higher score of its own."""
    runs = [
        result(
            f"s{number}",
            "passed" if number > 1 else "failed",
            variant=variant,
            reported={"sure": number / 4, "tokens": 100.0},
        )
        for variant in ("plain", "full")
        for number in range(4)
    ]

    held = page(document(runs)).data()["variants"]

    found = {line["label"]: line for line in held["figures"]}
    assert found["tokens"]["cells"][0][0] == 100
    assert found["sure"]["cells"][1][0] == pytest.approx(0.375)
    assert found["sure: a pass scores higher than a failure"]["cells"][0][0] == 1
    assert {"seconds (median)", "seconds (p95)"} <= set(found)
    assert all(len(line["cells"]) == 2 for line in held["figures"])


@pytest.mark.parametrize(
    ("counted", "says"),
    [
        ([], ""),
        ([result()], "did their part in the runs that count. Not counted: 1 pending review, 1 in quarantine."),
    ],
)
def test_the_page_speaks_for_nobody_in_runs_that_count_nowhere(counted: list[Result], says: str) -> None:
    """That others did their part is said of runs that count alone, and of none where none does."""
    why = {"owner": "payments", "reason": "slow", "until": "2999-12-31"}
    aside = [result("waits", "error", "user", pending=True), result("aside", "error", "user", quarantine=why)]

    told = page(document([*counted, *aside])).data()["blameless"]

    assert told.endswith(says)
    assert bool(told) is bool(counted)
