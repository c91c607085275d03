"""The analyst: proposals are held against tools and rows, asked for once more, and dropped where they do not hold."""

import json
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from benchmarks.policy_extraction import Labels, score, score_rules
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.policies.analyst import Analyst, Facts, facts_of
from pytest_agentbench.generation.policies.data_types import ExtractedPolicy
from pytest_agentbench.generation.policies.extraction import PolicyDocument, extract
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.suites.suite_file import load_suite
from tests.tables import each
from tests.users.llm.chat import PlayedChat

TOOLHIRE = Path(__file__).resolve().parents[3] / "benchmarks" / "labelled_policies" / "toolhire"

VOID = ExtractedPolicy(id="void", text="Void a booking only while it is open.", under=("Bookings",))
KIND = ExtractedPolicy(id="kind", text="Be kind.")
OPEN = "{only_if: {calls: [void_booking], state: {at: [bookings, {$argument: booking_id}], value: {state: open}}}}"

FACTS = Facts(
    tools=(
        ToolSpec(
            name="void_booking",
            kind="write",
            parameters={
                "type": "object",
                "properties": {"booking_id": {"type": "string"}, "reason": {"enum": ["late", "ill"]}},
                "required": ["booking_id"],
            },
        ),
        ToolSpec(
            name="get_booking",
            kind="read",
            parameters={
                "type": "object",
                "properties": {"booking_id": {"type": "string"}},
                "required": ["booking_id"],
            },
        ),
    ),
    state={
        "bookings": {
            "11": {"state": "open", "fare": 12.5},
            "12": {"state": "flown", "fare": 80},
            "13": {"state": "open", "fare": 9},
        }
    },
    answers={"get_booking": {"state": "open", "legs": [{"from": "LIS"}]}, "void_booking": {"refund": 12.5}},
)


def said(number, sentence, rule="", *, tools=("void_booking",), challenge=2):
    """Give what the model says of one entry."""
    return {
        "number": number,
        "sentence": sentence,
        "tools": list(tools),
        "challenge": challenge,
        "rule": rule,
        "reason": "",
    }


async def analysed(*answers, policies=(VOID, KIND)):
    """Analyse with a model that gives these answers; give the analysis and what was asked."""
    chat = PlayedChat(*(json.dumps({"entries": list(one)}) for one in answers))
    return await Analyst(chat, FACTS, Random(0))(policies), chat.asked


async def test_what_holds_is_proposed_with_its_sentence():
    """Rule, tools and challenge stand in the policy; one that cannot be checked has a challenge alone."""
    analysis, asked = await analysed([said(1, "only while it is open", OPEN), said(2, "", tools=(), challenge=1)])
    void, kind = analysis.policies
    shown = asked[0][-1]["content"]

    assert void.rule["only_if"]["state"]["value"] == {"state": "open"}
    assert (void.tools, void.challenge, void.source) == (("void_booking",), 2, "only while it is open")
    assert (kind.rule, kind.tools, kind.challenge) == (None, (), 1)
    assert analysis.dropped == ()
    assert "| tool void_booking(booking_id: string, reason?: late|ill) writes" in shown
    assert "|   state: flown, open" in shown
    assert "| 1. [Bookings] Void a booking only while it is open." in shown


async def test_what_does_not_hold_is_asked_once_more_and_then_dropped():
    """The second answer is taken where it holds; else the rule is dropped and counted, the rest of the entry stays."""
    wrong = [said(1, "only while it is open", OPEN.replace("state: open", "state: pending")), said(2, "Be kind.")]
    right = [said(1, "only while it is open", OPEN), said(2, "Be kind.")]

    mended, asked = await analysed(wrong, right)
    dropped, _ = await analysed(wrong, wrong)

    assert mended.policies[0].rule is not None
    assert mended.dropped == ()
    assert "entry 1, rule: 'state' of bookings is never 'pending'; it is flown, open" in asked[1][-1]["content"]
    assert dropped.policies[0].rule is None
    assert dropped.policies[0].challenge == 2
    assert [(one.policy, one.part) for one in dropped.dropped] == [("void", "rule")]


async def test_a_mended_entry_does_not_cost_what_held_before():
    """Of each entry the answer that holds is taken, whichever it was; one left out twice stays as it is."""
    first = [said(1, "only while it is open", OPEN), said(2, "Be rude.", OPEN)]
    second = [said(1, "only while it is open", "{never: {calls: [fly]}}"), said(2, "Be kind.")]

    analysis, _ = await analysed(first, second)
    without, _ = await analysed([said(2, "Be kind.")], [said(2, "Be kind.")])

    assert analysis.policies[0].rule is not None
    assert analysis.policies[1].source == "Be kind."
    assert analysis.dropped == ()
    assert [(one.policy, one.part) for one in without.dropped] == [("void", "entry")]
    assert without.policies[0] == VOID


@each(
    ("rule", "why"),
    [
        ("{only_if: {calls: [void_booking]", "no YAML"),
        ("void it", "found 'void it'"),
        ("{sometimes: {calls: [void_booking]}}", "unknown key 'sometimes'"),
        ("{must_say: {$result: refund}}", "must_say has no trigger"),
        ("{never: {calls: [fly]}}", "the agent has no tool 'fly'"),
        ("{never: {calls: [void_booking], where: {code: 1}}}", "has no argument 'code'"),
        ("{never: {calls: [void_booking], where: {reason: bored}}}", "found 'bored', which it never is"),
        (OPEN.replace("bookings,", "tickets,"), "there is no table 'tickets'; there are bookings"),
        (OPEN.replace("{state: open}", "{status: open}"), "bookings has no column 'status'; it has fare, state"),
        ("{never: {calls: [get_booking], result: {legs: {$has: {to: OSL}}}}}", "get_booking gives no 'to'"),
        ("{never: {calls: [get_booking], result: {state: {$in: [open, lost]}}}}", "'state' of get_booking is never"),
        ("{when: {calls: [void_booking]}, then: {must_say: {$result: sum}}}", "void_booking gives no 'sum'"),
        ("{when: {calls: [void_booking]}, then: {must_say: sorry}}", "words that the entry does not put in quotes"),
        ("{never: {calls: [void_booking], where: {booking_id: {$today: 0d}}}}", "`now`, which is not there"),
    ],
)
async def test_rules_that_name_what_is_nowhere_are_refused(rule, why):
    """Form, tools, arguments, tables, columns, values, answers, words and clock."""
    answer = [said(1, "Void a booking", rule)]

    analysis, asked = await analysed(answer, answer, policies=(VOID,))

    assert why in analysis.dropped[0].reason
    assert why in asked[1][-1]["content"]
    assert analysis.policies[0].rule is None


@each(
    "rule",
    [
        {"when": {"calls": ["void_booking"]}, "then": {"must_say": {"$result": "refund"}}},
        {"when": {"calls": ["void_booking"]}, "then": {"must_say": "good bye"}},
        {"only_if": {"calls": ["void_booking"], "state": {"at": ["bookings", "11", "state"], "value": "open"}}},
        {"never": {"calls": ["void_booking"], "where": {"reason": {"$not": "ill"}}}},
        {"at_most": {"calls": ["void_booking"], "times": 1, "per": ["booking_id"]}},
        {"before": {"calls": ["void_booking"], "first": ["get_booking"], "same": ["booking_id"]}},
    ],
)
def test_rules_that_hold_have_no_fault(rule):
    """What is shown may be used; words that the entry puts in quotes may be asked for."""
    assert FACTS.faults(rule, 'Close with "good bye".') == []


def test_without_tools_no_rule_holds():
    """A rule about tools that nobody has shown cannot be held against anything."""
    assert "no tool" in Facts().faults({"never": {"calls": ["void_booking"]}}, "Void nothing.")[0]


async def test_facts_are_seen_in_a_sandbox_and_never_where_nothing_is_undone():
    """Answers of tools are those of calls that were made, writes among them; without reset only reads are called."""
    suite = load_suite(TOOLHIRE / "agentbench.yaml", environ={}, generating=True)
    toolset = load_toolset(suite.environment, suite.root)

    facts = await facts_of(world_of(suite, toolset=toolset), datetime(2026, 11, 24, tzinfo=UTC))
    careful = await facts_of(world_of(suite, toolset=toolset, resettable=False))

    assert facts.answers["get_rental"]["status"] == "booked"
    assert facts.answers["cancel_rental"] == {"rental_id": "R1", "refund": 150}
    assert facts.columns["licence"] == {"private", "trade"}
    assert "clock: 2026-11-24" in next(facts.lines())
    assert set(careful.answers) == {"get_customer", "get_machine", "get_rental"}


async def test_the_benchmark_tells_right_rules_from_wrong_and_weak_ones():
    """A rule that a right run breaks is wrong, one that misses a wrong run weak, and both are named."""
    labels = Labels.read(TOOLHIRE / "labels.yaml")
    result = score(labels)
    text = labels.document.read_text(encoding="utf-8")
    rules = {
        "Look the customer up": {"before": {"calls": ["rent_machine"], "first": ["get_customer"]}},
        "Never rent a machine that is in repair": {"never": {"calls": ["rent_machine"]}},
        "A rental lasts 14": {"only_if": {"calls": ["rent_machine"], "arguments": {"days": {"$lte": 14}}}},
    }
    policies = extract(PolicyDocument(text=text)).policies
    of_text = {one.text: rule for one in policies for start, rule in rules.items() if one.text.startswith(start)}
    found = [one.model_copy(update={"rule": of_text.get(one.text)}) for one in policies]

    scored = await score_rules(labels, result, found)

    assert (scored.counts["right"], scored.counts["weak"], scored.counts["wrong"]) == (1, 1, 1)
    assert any(line.startswith("  wrong      never-rent-a-machine") for line in scored.lines())
