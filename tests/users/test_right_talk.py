"""Right agents that talk in their own ways to the scripted user of small suites: none fails, none is left unscored.

Each is strict: whatever is not a yes or the value that it asked for ends its work, so that one wrong word of the user
shows. Wrong agents beside them fail, or are not scored where nobody can tell.
"""

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench import Simulation, run_suite
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.report.failure import failure_text
from tests.users.shed import AGENT, STATE, TOOLS

LEND_T5 = [{"lend": {"member_id": "M2", "item_id": "T5", "days": 3}}]
LEND_T6 = [{"lend": {"member_id": "M2", "item_id": "T6"}}]
END = [{"close_loan": {"loan_id": "L07"}}]
NO_LOAN: dict[str, Any] = {"expect": [], "never": ["lend"]}
ANN = "Please end my loan, I am ann@example.org"
NAMED = ("talk", "words")
"""What the first words of a scenario's name are for its agent."""
ASKS = ("Who is calling?", "Could you identify yourself?", "Please identify yourself first.", "お名前は。")
BADGE = {"knows": {"badge": "OB-41"}, "expect": LEND_T5}
RIGHT: dict[str, dict[str, Any]] = {
    **{
        f"identifies, {words}, {len(lines)}": {"says": ["Lend T5 to M2 for 3 days", *lines], **BADGE}
        for words in ASKS
        for lines in ([], ["yes, please"])
    },
    "asks_how_long": {
        "says": ["Lend T5 to M2"],
        "knows": {"item": "T5", "days": 3},
        "expect": LEND_T5,
    },
    "asks_what_for": {"says": ["I need T5 for 3 days", "yes, do"], "knows": {"member": "M2"}, "expect": LEND_T5},
    "offers_more": {
        "says": ["Log my hours, I am M2"],
        "knows": {"hours": "1 hour"},
        "expect": [{"log_hours": {"member_id": "M2", "hours": 1}}],
    },
    "at_once": {"says": [ANN, "yes"], "expect": END},
    "asks_mail_again": {
        "says": [ANN, "yes", {"request": "Please note it down, too."}],
        "knows": {"email": "ann@example.org", "member": "M1"},
        "expect": [{"list_loans": {"member_id": "M1"}}, *END],
    },
    "states_first": {"says": ["I am M1, what have I got?", {"request": "Please end it."}, "yes"], "expect": END},
    "echoes": {"says": ["Lend T5 to M2 for 3 days, please"], "expect": LEND_T5},
    "one_by_one": {
        "says": ["I want to borrow something", {"confirm": "yes, do"}],
        "knows": {"email": "ben@example.org", "item": "T5", "days": 3},
        "expect": LEND_T5,
    },
    "terse": {"says": ["Lend T5 to M2 for 3 days, please", "yes"], "expect": LEND_T5},
    "german": {"says": ["Bitte beenden Sie L07", "ja"], "expect": END, "language": "de"},
    "japanese": {"says": ["T5を3日間借りたいです。会員番号はM2です。"], "expect": LEND_T5, "language": "ja"},
    "arabic": {"says": ["أريد إنهاء الإعارة L07"], "expect": END, "language": "ar"},
    "twice": {"says": [ANN, "yes"], "expect": END},
    "instead": {"says": ["A saw for M2, please", "yes"], "expect": LEND_T6},
    "other_one": {"says": ["A saw for M2, please", {"decline": "No, the other one"}, "yes"], "expect": LEND_T6},
    "offers": {"says": ["A saw for M2, please"], "expect": LEND_T6},
    "small_number": {"says": ["Log 4 hours for M2"], "expect": [{"log_hours": {"member_id": "M2", "hours": 4}}]},
    "small_number, open": {"says": ["Log 4 hours for M2"], "expect": ["log_hours"]},
    "echoes, nothing expected": {"says": ["Lend T5 to M2 for 3 days", "yes"]},
    "small_number, nothing expected": {"says": ["Log 4 hours for M2", "yes"]},
    "asks_who": {"says": ["Lend me T5 for 3 days", "yes"], "knows": {"member": "M2"}, "expect": LEND_T5},
    "asks_who, without a line": {"says": ["Lend me T5 for 3 days"], "knows": {"member": "M2"}, "expect": LEND_T5},
    "reports, one of two ways": {
        "says": ["T5 to M2 for 3 days"],
        "expect_any": [LEND_T5, [*LEND_T5, {"log_hours": {"member_id": "M2", "hours": 4}}]],
    },
    "refuses": {"says": ["Lend T3 to M2"], **NO_LOAN},
    "refuses, with a goodbye": {"says": ["Lend T3 to M2", {"close": "No, that is all."}], **NO_LOAN},
    "refuses_late": {"says": ["Lend T3 to M2", {"confirm": "yes"}], **NO_LOAN},
    "choice": {"says": ["Lend T5 to M2", "yes"], "knows": {"days": 3}, "expect": LEND_T5},
    "choice, without a line": {"says": ["Lend T5 to M2"], "knows": {"days": 3}, "expect": LEND_T5},
    "numbered": {"says": ["Lend T5 for 3 days", "yes"], "knows": {"id": "M2"}, "expect": LEND_T5},
    "reads": {"says": ["What have I got? I am M1"], "communicate": ["L07"]},
    "reads, nothing expected": {"says": ["What have I got? I am M1"]},
}
POLICY = {"id": "ask", "text": "Ask first.", "rule": {"confirm_before": {"calls": ["lend", "close_loan", "log_hours"]}}}


def suite(folder: Path, scenarios: dict[str, dict[str, Any]], **keys: Any) -> Path:
    """Write a suite whose agents talk as the first word of a scenario says."""
    files = {"shed_tools.py": TOOLS, "shed_agent.py": AGENT, "state.json": STATE}
    for name, text in files.items():
        (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    listed = [
        {"id": f"s{number}", "title": name, "context": dict(zip(NAMED, name.split(", "), strict=False)), **keys}
        for number, (name, keys) in enumerate(scenarios.items())
    ]
    environment = {"tools": "shed_tools", "state": {"json": "state.json"}, "reads": ["find_member", "list_loans"]}
    writes = ["lend", "close_loan", "log_hours"]
    made = {"agent": "shed_agent:build", "environment": {**environment, "writes": writes}, "policies": [POLICY], **keys}
    path = folder / "agentbench.yaml"
    path.write_text(yaml.safe_dump({**made, "scenarios": listed}, allow_unicode=True), encoding="utf-8")
    return path


def played(folder: Path, scenarios: dict[str, dict[str, Any]], **keys: Any) -> dict[str, Simulation]:
    """Play the scenarios; give each by its name."""
    return dict(zip(scenarios, run_suite(suite(folder, scenarios, **keys)), strict=True))


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Simulation]]:
    """Play all right agents."""
    return played(tmp_path_factory.mktemp("right"), RIGHT)


def told(one: Simulation) -> str:
    """Show how a run went."""
    said = [f"{message.role}: {message.text}" for message in one.transcript.messages if message.text]
    return "\n".join([f"{one.result.verdict}, {one.result.blame}: {one.result.stop_reason}", *said])


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_agent_passes_however_it_talks(right: dict[str, Simulation], name: str) -> None:
    """Nor does it seem to break the policy to ask first; "OK?" alone says not about what it asks."""
    one = right[name]

    assert one.passed, told(one)
    assert not [found for found in one.result.policies if found.kept is False], told(one)


def test_who_looks_twice_has_done_nothing_yet(tmp_path: Path) -> None:
    """Where nothing tells reads from writes, an expected call is done once, however often it is made."""
    expect = [{"loans_of": {"member_id": "M1"}}, {"lend": {"member_id": "M1", "item_id": "T5"}}]
    scenario = {"says": ["T5 instead of my loan, please"], "expect": expect}
    (tmp_path / "plain_tools.py").write_text(
        """
def loans_of(member_id: str) -> str:
    return "L07"


def lend(member_id: str, item_id: str) -> str:
    return "L08"
"""
    )
    one = played(tmp_path, {"looks_twice": scenario}, environment={"tools": "plain_tools"}, policies=[])["looks_twice"]

    assert one.passed, told(one)


TEXT_ONLY: dict[str, tuple[str, dict[str, Any], str, Blame | None]] = {
    "it says what it did": ("taken", {"says": ["T5 please"], "communicate": ["yours"]}, "passed", None),
    "nothing that is expected can be seen": (
        "taken",
        {"says": ["T5 please"], "expect": LEND_T5},
        "error",
        Blame.SCENARIO,
    ),
    "it closes with a question": ("done", {"says": ["T5 for M2", "yes"], "communicate": ["Done"]}, "passed", None),
    "nothing is expected": ("done", {"says": ["T5 for M2", {"confirm": "yes"}]}, "passed", None),
}


@pytest.mark.parametrize("name", TEXT_ONLY)
def test_an_agent_that_shows_no_calls_is_judged_by_what_it_says(tmp_path: Path, name: str) -> None:
    """The user leaves when it has said all: what nobody sees is not measured, and no stall is made of it."""
    reply, scenario, verdict, blame = TEXT_ONLY[name]
    one = played(tmp_path, {name: scenario}, agent={"callable": f"shed_agent:{reply}"}, environment={}, policies=[])[
        name
    ]

    assert (one.result.verdict, one.result.blame) == (verdict, blame), told(one)
    assert one.result.termination == "FINISHED"


def test_whose_fault_a_run_is_that_does_not_pass(tmp_path: Path) -> None:
    """A wrong value gets no yes however often it is asked; what nobody can tell is nobody's failure."""
    says = ["Lend T6 to M2", {"confirm": "yes"}]
    wrong = played(
        tmp_path,
        {
            "stubborn": {"says": says, "expect": LEND_T6},
            "forgets": {"says": ["Lend item T6 to M2"], "expect": LEND_T6},
            "idle": {"says": ["Lend T6 to M2"], "expect": LEND_T6},
            "twice, without a yes": {"says": [ANN], "expect": END},
            "goes_on": {"says": ["End my loan L07, please"], "expect": END},
            "only_asks": {"says": ["End my loan L07, please", "yes"], "expect": END},
            "only_asks, of one who said nothing": {"says": ["End my loan, please", "yes"], "expect": END},
            "only_asks, with something open": {"says": ["Lend T6 to M2", "yes"], "expect": LEND_T6},
            "authenticates": {"says": ["End my loan L07, please"], "expect": END},
            "terse, without a yes": {"says": ["Lend T5 to M2 for 3 days, please"], "expect": LEND_T5},
            "lends_all": {"says": ["T5 for M2", "yes", {"request": "Now T6 too"}], "expect": LEND_T5},
        },
    )

    assert {name: (one.result.verdict, one.result.blame) for name, one in wrong.items()} == {
        "stubborn": ("failed", Blame.AGENT),
        "forgets": ("failed", Blame.AGENT),
        "idle": ("error", Blame.SCENARIO),
        "twice, without a yes": ("passed", None),
        "goes_on": ("failed", Blame.AGENT),
        "only_asks": ("failed", Blame.AGENT),
        "only_asks, of one who said nothing": ("error", Blame.UNCLEAR),
        "only_asks, with something open": ("error", Blame.UNCLEAR),
        "authenticates": ("error", Blame.SCENARIO),
        "terse, without a yes": ("error", Blame.SCENARIO),
        "lends_all": ("failed", Blame.AGENT),
    }, "\n\n".join(map(told, wrong.values()))
    assert not any("yes" in message.text for message in wrong["stubborn"].transcript.messages if message.role == "user")


def test_an_agent_without_calls_is_told_what_they_need(tmp_path: Path) -> None:
    """Who hides its calls is told what they need before the user leaves, and is to blame then."""
    agent = {"callable": "shed_agent:waits"}
    knows = {"item": "T5", "days": 3, "seat": "aisle"}
    both = {
        "unsaid": {"says": ["Lend me something, I am M2"], "knows": knows, "expect": LEND_T5},
        "said": {"says": ["Lend me T5 for 3 days, I am M2"], "knows": knows, "expect": LEND_T5},
    }
    unsaid, said = played(tmp_path, both, agent=agent, policies=[]).values()

    assert [message.text for message in unsaid.transcript.messages if message.role == "user"][1:] == [
        "My days is 3. My item is T5."
    ]
    assert unsaid.result.blame is said.result.blame is Blame.AGENT, told(unsaid)


def test_who_repeats_the_user_after_all_was_done_fails(tmp_path: Path) -> None:
    """No right agent gives the user's words back."""
    notes = [{"inform": one} for one in ("It rained a lot.", "My saw needs oil.", "Ben sends his love.", "Who knows?")]
    scenario = {
        "says": ["Log 4 hours for M2", "yes", *notes],
        "expect": [{"log_hours": {"member_id": "M2", "hours": 4}}],
    }
    one = played(tmp_path, {"parrots": scenario})["parrots"]

    assert (one.result.termination, one.result.blame) == ("STALLED", Blame.AGENT), told(one)


def test_the_report_says_why_an_open_question_is_not_held_against_the_agent(tmp_path: Path) -> None:
    """The headline names the question and the cure, and nothing below it blames somebody else."""
    one = played(tmp_path, {"terse": {"says": ["Lend T5 to M2 for 3 days, please"], "expect": LEND_T5}})["terse"]
    shown = failure_text(one.result, one.transcript)

    assert shown.startswith(
        "s0 could not be judged (blame scenario, not counted against the agent): the user left a question of the agent "
        "unanswered; add its answer to `knows`, or a `confirm` line to `says`: 'OK?'"
    ), shown
    assert "blame agent" not in shown


REFUSED: dict[str, tuple[list[dict[str, Any]], str, Blame]] = {
    "the expected call alone": ([{"lend": {"member_id": "M2", "item_id": "T3"}}], "error", Blame.SCENARIO),
    "another item": ([{"lend": {"member_id": "M2", "item_id": "T5"}}], "failed", Blame.AGENT),
    "without what comes before": (
        [{"close_loan": {"loan_id": "L07"}}, {"lend": {"member_id": "M2", "item_id": "T3"}}],
        "failed",
        Blame.AGENT,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_who_did_as_expected_is_not_to_blame_for_a_refusal(tmp_path: Path, name: str) -> None:
    """Where no state can be read, nobody can try the expected calls anew: the run itself shows that they fail."""
    expect, verdict, blame = REFUSED[name]
    tools = """
def lend(member_id: str, item_id: str) -> str:
    raise ValueError(f"{item_id} is out")


def close_loan(loan_id: str) -> str:
    return "closed"
"""
    (tmp_path / "full_tools.py").write_text(tools)
    scenario = {"says": ["T3 for M2, please"], "expect": expect}
    one = played(tmp_path, {"is_refused": scenario}, environment={"tools": "full_tools"}, policies=[])["is_refused"]

    assert (one.result.verdict, one.result.blame) == (verdict, blame), told(one)
    shown = failure_text(one.result, one.transcript)
    assert ("the tool refused the expected call lend(member_id='M2', item_id='T3')" in shown) is (verdict == "error"), (
        shown
    )
