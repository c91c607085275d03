"""What validation says of single scenarios, right and wrong ones."""

from pathlib import Path

import pytest

from pytest_agentbench.validation.scenario import validate
from tests.validation.worlds import CLOSE, CONFIRM, IDENTIFY, kinds, one, scenario, validated, write_suite


def test_a_right_scenario_validates(tmp_path: Path) -> None:
    """Nothing is wrong with a scenario whose call replays and whose values the user says, and all mutants fail."""
    report = one(tmp_path, scenario())

    assert report.issues == ()
    assert report.oracle is True
    assert report.mode == "played"
    assert report.mutants > 3
    assert report.survivors == ()


def test_the_agent_is_not_needed(tmp_path: Path) -> None:
    """The suite names an agent that does not exist, and is validated all the same."""
    assert validated(tmp_path, scenario()).is_valid


def test_a_tool_that_does_not_exist_is_told_with_its_place(tmp_path: Path) -> None:
    """A misspelt tool is a problem of its scenario alone, with a suggestion."""
    report = validated(tmp_path, scenario("bad", expect=[{"close_tickt": {"ticket_id": "T1"}}]), scenario("good"))

    bad, good = report.scenarios
    assert kinds(bad) == ["static"]
    assert "did you mean 'close_ticket'?" in bad.issues[0].message
    assert good.is_valid


def test_an_id_that_does_not_exist_is_told(tmp_path: Path) -> None:
    """The call fails on replay, and the id is named."""
    missing = scenario(says=["Close ticket T9"], expect=[{"close_ticket": {"ticket_id": "T9"}}])

    report = one(tmp_path, missing)

    assert "replay" in kinds(report)
    assert any(issue.kind == "id" and "'T9'" in issue.message for issue in report.issues)


@pytest.mark.parametrize(
    "answer", ['raise ValueError("the ticket is not open")', 'return {"error": "the ticket is not open"}']
)
def test_a_call_that_fails_on_replay_is_told(tmp_path: Path, answer: str) -> None:
    """Closing a closed ticket cannot be what a right run does, whether the tool raises or answers so."""
    file = write_suite(tmp_path, scenario(says=["Close T3"], expect=[{"close_ticket": {"ticket_id": "T3"}}]))
    tools = file.with_name("tools.py")
    tools.write_text(tools.read_text().replace('raise ValueError("the ticket is not open")', answer))

    (report,) = validate(file, environ={}, now=lambda: 0.0).scenarios

    assert "replay" in kinds(report)
    assert any("the ticket is not open" in issue.message for issue in report.issues)


def test_a_contradiction_keeps_the_oracle_from_passing(tmp_path: Path) -> None:
    """A scenario that forbids what it expects is passed by nobody."""
    report = one(tmp_path, scenario(never=["close_ticket"]))

    assert "oracle" in kinds(report)
    assert any("forbidden" in issue.message for issue in report.issues)
    assert report.mutants == 0
    assert any(skipped.what == "mutants" for skipped in report.skipped)


def test_a_scenario_that_wants_nothing_is_vacuous(tmp_path: Path) -> None:
    """Where only a read is expected and nothing must be said, every weak agent passes and is named."""
    report = one(tmp_path, scenario(expect=[{"find_person": {"email": "ada@example.org"}}]))

    assert report.vacuous == ("does nothing", "echoes the user", "uses wrong arguments")
    assert [mutant.operator for mutant in report.survivors] == ["false claim"]


def test_what_the_user_says_itself_is_no_proof(tmp_path: Path) -> None:
    """A scenario whose only demand is a word of the user's own line is passed by an echo."""
    report = one(tmp_path, scenario(expect=[], communicate=["T1"]))

    assert report.vacuous == ("echoes the user",)


def test_rules_of_policies_are_kept_by_the_oracle(tmp_path: Path) -> None:
    """It looks up what a rule asks for and asks for a yes, also where the scenario states the change alone."""
    report = one(tmp_path, scenario(), policies=[CONFIRM, IDENTIFY])

    assert report.issues == ()
    assert report.added == ("find_person(email='ada@example.org')",)
    assert report.operators["wrong order"] == (2, 2)


def test_a_yes_to_what_was_asked_before_is_none_to_a_later_wish(tmp_path: Path) -> None:
    """The user asks for the second change when the first is made: then a wrong run cannot rest on the first yes."""
    other = {"create_ticket": {"person_id": "P1", "title": "Lamp"}}
    policy = {**CONFIRM, "rule": {"confirm_before": {"calls": ["close_ticket", "create_ticket"]}}}
    says = ["Close ticket T1, please. I am P1.", {"confirm": "Yes."}]
    later = [{"request": "Now open one called Lamp."}, {"confirm": "Yes, do."}]

    report = one(tmp_path / "a", scenario(says=[*says, *later], expect=[CLOSE, other]), policies=[policy])

    assert report.operators["wrong order"] == (2, 2)
    at_once = ["Close ticket T1, and open one called Lamp. I am P1.", *says[1:], *later[1:]]
    known = one(tmp_path / "b", scenario(says=at_once, expect=[CLOSE, other]), policies=[policy])
    assert known.operators["wrong order"] == (1, 2)


def test_a_rule_that_forbids_too_much_is_found(tmp_path: Path) -> None:
    """A policy that no right run can keep is a problem of the scenario, told in the policy's name."""
    never = {"id": "hands-off", "text": "Close nothing.", "rule": {"never": {"calls": ["close_ticket"]}}}

    report = one(tmp_path, scenario(), policies=[never])

    assert any(issue.kind == "oracle" and "hands-off" in issue.message for issue in report.issues)


def test_words_that_a_rule_asks_for_are_said(tmp_path: Path) -> None:
    """The oracle says what must be said after a call."""
    rule = {"when": {"calls": ["close_ticket"]}, "then": {"must_say": "have a nice day"}}
    say = {"id": "goodbye", "text": "Part as friends.", "rule": rule}

    assert one(tmp_path, scenario(), policies=[say]).oracle is True


@pytest.mark.parametrize(
    "must_say",
    [
        {"$today": "5d"},
        {"$result": "."},
        {"$argument": "ticket_id"},
        [{"pattern": "never mind"}, {"$argument": "ticket_id"}],
        {"text": 77, "within": 1},
    ],
)
def test_values_that_a_rule_asks_for_are_said(tmp_path: Path, must_say: object) -> None:
    """A day, what a call was given and what it gave: the oracle knows them as well as the rule does."""
    rule = {"when": {"calls": ["close_ticket"]}, "then": {"must_say": must_say}}
    say = {"id": "say", "text": "Say it.", "rule": rule}

    report = one(tmp_path, scenario(), policies=[say], now="2026-11-22")

    assert report.oracle is True
    assert report.issues == ()


def test_a_wrong_statement_is_not_put_right_by_a_rule(tmp_path: Path) -> None:
    """What a rule has the agent say is wrong there, too, where it is what must be communicated."""
    rule = {"when": {"calls": ["close_ticket"]}, "then": {"must_say": {"text": 92.5}}}
    say = {"id": "say", "text": "Tell the fee.", "rule": rule}

    report = one(tmp_path, scenario(communicate=["92.50"]), policies=[say])

    assert report.operators["wrong statement"] == (1, 1)


def test_matchers_are_filled_in(tmp_path: Path) -> None:
    """An expected value that is a pattern is replaced by a known value that fits it."""
    report = one(tmp_path, scenario(expect=[{"close_ticket": {"ticket_id": "T1", "note": {"$regex": "T[0-9]"}}}]))

    assert report.mode == "played"
    assert "replay" not in kinds(report)


def test_a_matcher_that_nothing_known_fits_is_skipped_over(tmp_path: Path) -> None:
    """What cannot be asked is said, and is no problem."""
    report = one(tmp_path, scenario(expect=[{"close_ticket": {"ticket_id": {"$regex": "Q{7}"}}}]))

    assert report.issues == ()
    assert any("$regex" in skipped.why for skipped in report.skipped)


def test_a_world_that_cannot_be_opened_is_a_problem_of_the_scenario(tmp_path: Path) -> None:
    """State that is missing is told, and the other scenarios are validated."""
    file = write_suite(tmp_path, scenario("one"), scenario("two"))
    (tmp_path / "state.json").write_text("[]")

    report = validate(file, environ={})

    assert [kinds(one_report) for one_report in report.scenarios] == [["replay"], ["replay"]]


def test_the_same_seed_gives_the_same_report(tmp_path: Path) -> None:
    """Two validations are equal to the last byte."""
    first = validated(tmp_path / "a", scenario(), policies=[CONFIRM])
    second = validated(tmp_path / "a", scenario(), policies=[CONFIRM])

    assert first == second


def test_a_repeated_call_is_two_calls(tmp_path: Path) -> None:
    """Expected calls of two tickets are swapped without a difference, which is no survivor."""
    both = scenario(says=["Close T1 and T2"], expect=[CLOSE, {"close_ticket": {"ticket_id": "T2"}}])

    report = one(tmp_path, both)

    assert report.is_valid
    assert report.survivors == ()
    assert report.equivalent > 0
    assert "swap" not in report.operators


def test_order_matters_where_the_scenario_says_so(tmp_path: Path) -> None:
    """In a stated order the swap is judged, and caught."""
    both = scenario(
        says=["Close T1 and T2"],
        expect=[CLOSE, {"close_ticket": {"ticket_id": "T2"}}],
        match={"order": "in_order"},
    )

    assert one(tmp_path, both).operators["swap"] == (1, 1)


def test_a_state_that_is_ignored_too_widely_lets_mutants_through(tmp_path: Path) -> None:
    """A note that must be right and is left out of the comparison is a survivor that says so."""
    noted = scenario(
        says=["Close T1 with the note paid twice"], expect=[{"close_ticket": {"ticket_id": "T1", "note": "paid twice"}}]
    )
    ignoring = {"tools": "tools", "state": {"json": "state.json", "ignore": ["tickets.*.note"]}}

    report = one(tmp_path, noted, environment=ignoring)

    assert {mutant.operator for mutant in report.survivors} == {"wrong argument", "invented value"}
    assert all("note=" in mutant.change for mutant in report.survivors)


def test_a_predicate_that_raises_is_the_scenarios_problem(tmp_path: Path) -> None:
    """What the suite's own code raises is told, and ends nothing."""
    tmp_path.joinpath("predicates.py").write_text("def broken(value):\n    raise RuntimeError('no idea')\n")
    asking = scenario(expect=[{"close_ticket": {"ticket_id": {"$call": "predicates:broken"}}}])

    report = one(tmp_path, asking)

    assert kinds(report) == ["oracle"]
    assert "predicates:broken raised RuntimeError" in report.issues[0].message


def test_open_arguments_of_writes_are_listed_and_no_problem(tmp_path: Path) -> None:
    """A right run gives some value for them, and the scenario is as good as any."""
    report = one(tmp_path, scenario(expect=["close_ticket"]))

    assert report.left_open == ("close_ticket: ticket_id, note",)
    assert (report.oracle, report.issues) == (True, ())


def test_a_planted_fault_excuses_no_wrong_run(tmp_path: Path) -> None:
    """The tool breaks because the scenario says so: a write that is left out before it is caught all the same."""
    report = one(
        tmp_path,
        scenario(
            says=["Close ticket T1, then open one called Lamp. I am P1, ada@example.org"],
            expect=[{"close_ticket": {"ticket_id": "T1"}}, {"create_ticket": {"person_id": "P1", "title": "Lamp"}}],
            faults=[{"error": {"tool": "create_ticket", "calls": "every"}}],
        ),
    )

    assert report.oracle is True
    assert dict(report.operators)["drop"] == (1, 1)


def test_replies_and_typed_answers_are_asked_of_weak_agents_alone(tmp_path: Path) -> None:
    """No oracle knows what a right agent answers; one that does nothing must fail all the same."""
    answers = {"replies": [{"matches": "^T1 is closed"}], "output": {"done": True}}
    report = one(tmp_path, scenario(**answers))

    assert report.issues == ()
    assert [skipped.what for skipped in report.skipped] == ["what the agent replies, puts out and hands over"]
    alone = one(tmp_path, {"id": "a", "says": ["Close T1"], "replies": [{"contains": "closed"}]})
    assert alone.issues == ()
    refused = one(tmp_path, scenario(expect=[], never=["close_ticket"], replies=[{"matches": "closed already"}]))
    assert (refused.issues, refused.survivors) == ((), ())


def test_agents_of_a_framework_are_not_asked_of_a_right_run(tmp_path: Path) -> None:
    """The suite names no tools, since its agents bring their own: who hands over to whom is up to them."""
    stated = {
        "id": "a",
        "says": ["Close T1, please"],
        "expect": [{"handoff": "desk"}, {"close": {"ticket_id": "T1"}, "by": "desk"}],
        "never": [{"handoff": "night"}],
        "replies": [{"contains": "closed"}],
    }
    policy = {
        "id": "desk-first",
        "text": "The desk.",
        "rule": {"before": {"calls": ["close"], "first": [{"handoff": "desk"}]}},
    }

    report = one(tmp_path, stated, environment={"writes": ["close"]}, policies=[policy])

    assert (report.oracle, report.issues) == (True, ())


def test_a_right_run_asks_for_the_approvals_that_are_expected(tmp_path: Path) -> None:
    """Its lines are no decisions, an approval is the question of a rule, and a run that does not ask is caught."""
    says = ["Close ticket T1", {"approve": "close_ticket"}]
    expect = [{"approval": "close_ticket"}, {"close_ticket": {"ticket_id": "T1"}}]

    report = one(tmp_path, scenario(says=says, expect=expect), policies=[CONFIRM])

    assert (report.oracle, report.issues, report.survivors) == (True, (), ())


def test_a_rule_about_the_state_is_held_against_each_run_of_its_own(tmp_path: Path) -> None:
    """A right run passes it; a mutant that writes once more breaks it by what its own first write left behind."""
    state = {"at": ["tickets", {"$argument": "ticket_id"}], "value": {"status": "open"}}
    rule = {"only_if": {"calls": ["close_ticket"], "state": state}}
    policy = {"id": "open", "text": "Close only what is open.", "rule": rule}

    report = one(tmp_path, scenario(), policies=[policy])

    assert kinds(report) == []
    assert report.oracle
    assert report.survivors == ()


def test_a_right_run_states_the_terms_that_a_rule_asks_for(tmp_path: Path) -> None:
    """What an earlier call gave, and is no argument of the call that the user says yes to."""
    rule = {
        "when": {"calls": ["get_person"]},
        "then": {"confirm_before": {"calls": ["close_ticket"], "stating": [{"$result": "email"}]}},
    }
    policy = {"id": "terms", "text": "Say the address before the yes.", "rule": rule}
    expect = [{"get_person": {"person_id": "P1"}}, CLOSE]
    says = ["Close ticket T1, please. I am ada@example.org, P1."]

    report = one(tmp_path, scenario(says=says, expect=expect), policies=[policy])

    assert kinds(report) == []
    assert report.oracle
