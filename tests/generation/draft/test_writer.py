"""The writer: one answer for a conversation, guarded and repaired once; it may cut at either end, or call it absurd."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.draft import Draft, PolicyPart
from pytest_agentbench.generation.language.turn_cuts import cut, spoilt_by_cut, uncuttable
from pytest_agentbench.generation.language.wording import ConversationBrief, ConversationLines, ModelWording
from pytest_agentbench.generation.produce import Production
from pytest_agentbench.generation.recipe_folder import Store
from pytest_agentbench.generation.report import Report
from pytest_agentbench.generation.tools.hydration.rules import SuiteRules
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.testing import ModelServer
from tests.generation.draft.test_produce import TODAY, two
from tests.generation.drafting import Do, From, Listed, Owner, Say, drafted, suite_of

PERSONA = {
    "task_instructions": "Be brief.",
    "reason_for_call": "You want help with your loans.",
    "known_info": "You are member M21, and you mean 3 weeks.",
    "unknown_info": "",
}
GOOD = ["What do I have at home? I am M21.", "The second one, please, for 3 more weeks."]


def answer(**changes: Any) -> str:
    """Give an answer of the writer's to the first of the right drafts."""
    whole = {"absurd": "", "person": "", "first": 1, "last": 2, "lines": GOOD, "personas": [PERSONA], **changes}
    return json.dumps(whole)


def asked(server: ModelServer, draft: Draft) -> ConversationLines:
    """Have the model of a server word a draft."""

    async def run() -> ConversationLines:
        models = Models(environ={})
        try:
            spec = ModelSpec(model="m", base_url=server.base_url, api_key="none")
            rules = SuiteRules((Policy(id="long", text="Never renew a loan for long."),), Toolset())
            wording = ModelWording(models.chat(spec, Caller(role="writer")), rules)
            return await wording.lines(ConversationBrief(draft=draft))
        finally:
            await models.close()

    return asyncio.run(run())


def produced(suite: Suite, drafts: Sequence[Draft], script: Sequence[str]) -> tuple[Report, list[str]]:
    """Run drafts through the driver, worded by a model that says what a script holds; give what it was shown, too."""

    async def run(url: str) -> Report:
        models, tools = Models(environ={}), load_toolset(suite.environment, suite.root)
        try:
            spec = ModelSpec(model="m", base_url=url, api_key="none")
            production = Production(
                suite=suite,
                toolset=tools,
                source=Listed(drafts),
                store=Store(suite.generate.out),
                made_from="h",
                today=TODAY,
                wording=ModelWording(
                    models.chat(spec, Caller(role="writer")), SuiteRules(suite.policies, tools, suite.now)
                ),
                wanted=len(drafts),
            )
            return await production.run()
        finally:
            await models.close()

    with ModelServer(list(script)) as server:
        return asyncio.run(run(server.base_url)), [str(one.messages[-1]["content"]) for one in server.requests]


def test_an_answer_with_faults_goes_back_once_with_them(tmp_path: Path) -> None:
    draft = two(suite_of(tmp_path, "library"))[0]
    bad = ["What do I have at home? I am M21, and call list_loans.", "Loan L302, please."]

    with ModelServer([answer(lines=bad), answer()]) as server:
        lines = asked(server, draft)

        repair = str(server.requests[1].messages[-1]["content"])
    assert lines.lines == tuple(GOOD)
    assert len(server.requests) == 2
    assert "line 1: the line names the tool 'list_loans'; a user knows no tools" in repair
    assert "line 2: the line does not state weeks 3" in repair
    assert "last_answer" in repair


@pytest.mark.parametrize(
    ("apart", "told"), [(False, "book, one of 2 that the person has not seen in"), (True, "book, entry 2 of 2 in")]
)
def test_a_place_is_offered_once_the_list_was_shown(apart: bool, told: str, tmp_path: Path) -> None:
    """Nobody says *the second one* of what nobody has listed yet, where words tell it apart."""
    suite = suite_of(tmp_path, "library")
    search, look = Do("search_books", {"title": "Salt"}), Do("get_book", {"book_id": From(0, "1.id", "book", 1, 2)})
    turns = [Say(calls=[search]), Say(calls=[look])] if apart else [Say(calls=[search, look])]
    draft = asyncio.run(drafted(suite, "d1", turns, owner=Owner(key="M21")))

    with ModelServer([answer(absurd="No.", lines=[], personas=[])]) as server:
        asked(server, draft)

        assert told in str(server.requests[0].messages[-1]["content"])


def test_nobody_says_the_own_number_twice_or_asks_for_a_lookup_on_the_way(tmp_path: Path) -> None:
    """What an earlier line states need not stand in a later one, unless another value was said in between; a lookup
    that only leads on is none of the person's affair.
    """
    suite = suite_of(tmp_path, "library")
    search, look = Do("search_books", {"title": "Salt"}), Do("get_book", {"book_id": From(0, "1.id", "book", 1, 2)})
    member, other = Do("get_member", {"member_id": "M21"}), Do("search_books", {"title": "Night"})
    turns = [Say(calls=[search, look, member]), Say(calls=[Do("list_loans", {"member_id": "M21"}), other])]
    draft = asyncio.run(drafted(suite, "d1", [*turns, Say(calls=[search])], owner=Owner(key="M21")))
    lines = ["I am M21. Where is the second Salt?", "What do I have, and is Night there?", "And the other one?"]
    persona = {**PERSONA, "known_info": "You are M21, and look for Salt and for Night."}

    script = [answer(lines=lines, personas=[persona], last=3), answer(absurd="No.", lines=[], personas=[])]
    with ModelServer(script) as server:
        asked(server, draft)

        first, repair = (str(one.messages[-1]["content"]) for one in server.requests)
    turns_shown = json.loads(first[first.index("{") : first.rindex("}") + 1])["turns"]
    assert turns_shown[0]["on_the_way"] == ["search books"]
    assert [one["action"] for one in turns_shown[0]["asks_for"]] == ["get book", "get member"]
    assert turns_shown[1]["has_said"] == [{"member id": "M21"}]
    assert turns_shown[1]["must_say"] == [{"title": "Night"}]
    assert turns_shown[2]["must_say"] == [{"title": "Salt"}]
    faults = json.loads(repair[repair.index("{") : repair.rindex("}") + 1])["faults"]
    assert faults == ["line 3: the line does not state title 'Salt'"]


def test_a_persona_knows_the_values_and_no_others(tmp_path: Path) -> None:
    draft = two(suite_of(tmp_path, "library"))[0]
    other = {**PERSONA, "known_info": "You are member M21. Your card is K-77."}

    with ModelServer([answer(personas=[other]), answer()]) as server:
        asked(server, draft)

        repair = str(server.requests[1].messages[-1]["content"])
    assert "persona 1: known_info does not state weeks 3" in repair
    assert "persona 1: known_info: it states 'K-77', which is no value of this turn" in repair


def test_what_nobody_would_ask_for_is_lost_as_absurd(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "library")

    report, _ = produced(suite, two(suite)[:1], [answer(absurd="Nobody asks twice.", lines=[], personas=[])])

    (loss,) = report.losses
    assert (loss.stage, loss.reason, loss.detail) == ("wording", "absurd", "Nobody asks twice.")


def test_the_end_may_be_cut_and_is_not_expected_then(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "library")
    draft = two(suite)[0]
    persona = {**PERSONA, "known_info": "You are member M21."}

    report, _ = produced(suite, [draft], [answer(last=1, lines=GOOD[:1], personas=[persona])])

    assert [str(loss) for loss in report.losses] == []
    assert [call.call.name for call in report.accepted[0].calls] == ["list_loans"]


def test_what_a_kept_turn_needs_is_not_cut(tmp_path: Path) -> None:
    draft = two(suite_of(tmp_path, "library"))[0]

    assert uncuttable(draft, 1, 1) == "the turns from 2 on need an answer of one that is cut"
    assert uncuttable(draft, 0, 0) == ""
    decided = draft.model_copy(update={"policies": (PolicyPart(policy="one"),)})
    assert uncuttable(decided, 0, 0) == "this conversation is fixed: keep all turns"


def ruled(folder: Path, first: str) -> tuple[Suite, Draft]:
    """Plan a renewal as the fourth of five requests, before which a rule wants a lookup."""
    folder.mkdir()
    rule = {"before": {"calls": ["renew_loan"], "first": [first]}}
    suite = suite_of(folder, "library", [{"id": "look-up", "text": "Look up first.", "rule": rule}])
    turns = [
        Say(calls=[Do("search_books", {"title": "Salt"}), Do("get_member", {"member_id": "M21"})]),
        Say(calls=[Do("get_book", {"book_id": From(0, "1.id", "book", 1, 2)})]),
        Say(calls=[Do("list_loans", {"member_id": "M21"})], wanted=[(0, "0.loan_id")]),
        Say(calls=[Do("renew_loan", {"loan_id": From(3, "1.loan_id", "loan", 1, 2), "weeks": 1})]),
        Say(calls=[Do("search_books", {"title": "Night"})]),
    ]
    return suite, asyncio.run(drafted(suite, "d1", turns, owner=Owner(key="M21")))


def test_a_lookup_that_a_rule_wants_goes_with_what_is_left(tmp_path: Path) -> None:
    """The agent makes it on its own, and the person says its values, which the repair names."""
    suite, draft = ruled(tmp_path / "carried", "get_member")
    persona = {**PERSONA, "known_info": "You are member M21, and mean one week."}
    silent = ["What do I have at home?", "The second one, please, for one more week."]
    said = ["What do I have at home? I am M21.", silent[1]]
    cuts = {"first": 3, "last": 4, "personas": [persona]}

    report, asked = produced(suite, [draft], [answer(lines=silent, **cuts), answer(lines=said, **cuts)])

    assert "line 1: the line does not state member id 'M21'" in asked[1]
    (kept,) = report.accepted
    assert [(one.call.name, one.asked) for one in kept.calls] == [
        ("get_member", False),
        ("list_loans", True),
        ("renew_loan", True),
    ]
    assert [(one.label, one.value, one.call) for one in kept.turns[0].states] == [
        ("member id", "M21", 0),
        ("member id", "M21", 1),
    ]
    assert (kept.turns[0].wanted[0].call, kept.turns[1].references[0].source) == (1, 1)


def test_a_cut_that_breaks_a_rule_goes_back_with_what_must_stay(tmp_path: Path) -> None:
    """A lookup that needs another answer cannot go with what is left."""
    suite, draft = ruled(tmp_path / "needed", "get_book")
    persona = {**PERSONA, "known_info": "You are member M21, look for Salt, and mean one week."}
    lines = [
        "Is there a book called Salt? I am M21.",
        "What is the second one of those?",
        "And what do I have at home? I am M21.",
        "Give me one more week for the second one.",
    ]
    short = answer(first=3, last=4, lines=lines[2:], personas=[persona])
    whole = answer(first=1, last=4, lines=lines, personas=[persona])

    report, asked = produced(suite, [draft], [short, whole])
    lost, _ = produced(suite, [draft.model_copy(update={"id": "d2"})], [short, short])

    assert "what is kept breaks the rule 'look-up': renew_loan" in asked[1]
    assert "Keep the turns from 1 on, or leave out the one that makes this change" in asked[1]
    assert [len(one.calls) for one in report.accepted] == [5]
    assert [(one.stage, one.reason) for one in lost.losses] == [("wording", "cut where it cannot be")]


def test_an_answer_is_not_cut_from_what_it_answers(tmp_path: Path) -> None:
    turns = [
        Say(calls=[Do("get_member", {"member_id": "M21"})]),
        Say("confirm", calls=[Do("reserve_book", {"book_id": "B102", "member_id": "M21"})]),
        Say(calls=[Do("search_books", {"title": "Night"})]),
    ]
    draft = asyncio.run(drafted(suite_of(tmp_path, "library"), "d1", turns, owner=Owner(key="M21")))

    assert {uncuttable(draft, 0, 0), uncuttable(draft, 1, 2)} == {
        "turn 2 answers what turn 1 asks for: keep both, or neither"
    }
    assert uncuttable(draft, 0, 1) == ""


def test_what_a_kept_turn_takes_from_an_earlier_line_is_not_cut(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "library")
    turns = [
        Say(calls=[Do("get_member", {"member_id": "M21"})]),
        Say(calls=[Do("list_loans", {"member_id": "M21"})]),
    ]
    draft = asyncio.run(drafted(suite, "d1", turns, owner=Owner(key="M21")))
    said_before = draft.turns[1].model_copy(update={"states": ()})
    draft = draft.model_copy(update={"turns": (draft.turns[0], said_before)})
    rules = SuiteRules((), load_toolset(suite.environment, suite.root))

    assert list(spoilt_by_cut(draft, 1, 1, rules)) == ["list_loans: member_id 'M21': nobody says it"]
    assert list(spoilt_by_cut(draft, 0, 1, rules)) == []


def test_numbers_of_calls_move_with_a_cut_beginning(tmp_path: Path) -> None:
    turns = [
        Say(calls=[Do("get_member", {"member_id": "M21"})]),
        Say(calls=[Do("list_loans", {"member_id": "M21"})]),
        Say(calls=[Do("renew_loan", {"loan_id": From(1, "1.loan_id", "loan", 1, 2), "weeks": 3})]),
    ]
    draft = asyncio.run(drafted(suite_of(tmp_path, "library"), "d1", turns, owner=Owner(key="M21")))

    left = cut(draft, 1, 2, SuiteRules((), Toolset()))

    assert left.turns[1].references[0].source == 0
    assert left.turns[1].calls[0].origins["loan_id"].call == 0


@pytest.mark.parametrize("count", [1, 3])
def test_lines_that_do_not_fit_the_turns_are_lost(tmp_path: Path, count: int) -> None:
    suite = suite_of(tmp_path, "library")
    wrong = answer(lines=["I am M21, for 3 weeks."] * count)

    report, _ = produced(suite, two(suite)[:1], [wrong, wrong])

    (loss,) = report.losses
    assert (loss.stage, loss.reason) == ("wording", "not a line for each turn")
