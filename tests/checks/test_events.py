"""Handoffs, the agents that made calls, typed answers, replies, and refusals of a provider, as checks see them."""

import json
from typing import Any

from pytest_agentbench.checks.verdict import judge
from pytest_agentbench.core.events import Event, ExpectedHandoff
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.scenario import ExpectedCall, ExpectedReply, Match
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.verdict import Blame, Verdict
from tests.checks.builders import agent, call, run_of, user, want
from tests.tables import each


def handoff(source: str = "", to: str = "", place: int = 0) -> ExpectedHandoff:
    """Expect a handoff."""
    return ExpectedHandoff.model_validate({"from": source, "to": to, "place": place})


def by(name: str, messages: list[Message], *events: Event) -> list[Message]:
    """Let one agent of several send messages, after events."""
    named = []
    for at, message in enumerate(messages):
        calls = tuple(one.model_copy(update={"by": name}) for one in message.tool_calls)
        came = events if at == 0 else ()
        named.append(message.model_copy(update={"by": name, "tool_calls": calls, "events": came}))
    return named


TO_REFUNDS = Event.model_validate({"kind": "handoff", "from": "triage", "to": "refunds"})
HANDED = [
    *user("Refund W1"),
    *by("triage", call("get_order", order_id="W1")),
    *by("refunds", call("refund", order_id="W1"), TO_REFUNDS),
    *by("refunds", agent("Done")),
]
"""Triage looks the order up and hands over, refunds refunds it."""


def of(
    messages: list[Message], expect: list[ExpectedCall] | None = None, shows: set[str] | None = None, **more: Any
) -> Run:
    """Give a run of these messages under a scenario with more fields."""
    return run_of(messages, expect=expect, scenario=more, shows=frozenset(shows or ()))


def failures(judgement: Judgement) -> list[str]:
    """Give what failed."""
    return [one.message for one in judgement.findings if one.passed is False and one.required]


WANTED = {"decision": "block", "risk": {"$gte": 3}}
REFUND = want("refund", order_id="W1")


@each(
    ("wanted", "failed"),
    [
        ((handoff("triage", "refunds"),), []),
        ((handoff(to="refunds"),), []),
        ((handoff("triage"),), []),
        ((handoff("refunds", "triage"),), ["a handoff from refunds to triage did not take place"]),
        ((handoff(to="refunds"), handoff(to="refunds")), ["a handoff to refunds did not take place"]),
    ],
)
def test_an_expected_handoff_must_take_place(wanted: tuple[ExpectedHandoff, ...], failed: list[str]) -> None:
    """Each by one of its own; R_name and R_strict count calls alone."""
    judgement = judge(of(HANDED, [REFUND], handoffs=wanted))
    assert failures(judgement) == failed
    assert judgement.metrics["strict_recall"] == 1.0


def test_a_forbidden_handoff_is_proven() -> None:
    """What was handed over stays handed over."""
    judgement = judge(of(HANDED, [REFUND], never_handoffs=(handoff(to="refunds"),)))
    assert failures(judgement) == ["a handoff from triage to refunds is forbidden in this scenario"]
    assert judgement.findings[0].proven


def test_a_handoff_that_nobody_would_tell_is_not_measured() -> None:
    """An agent that names no agents neither handed over nor did not; one that would tell did not."""
    messages = [*user("Refund W1"), *call("refund", order_id="W1"), *agent("Done")]
    judgement = judge(of(messages, [REFUND], handoffs=(handoff(to="refunds"),)))
    assert judgement.verdict is Verdict.PASSED
    assert [one.part for one in judgement.unmeasured] == ["handoffs"]
    told = judge(of(messages, [REFUND], {"handoffs"}, handoffs=(handoff(to="refunds"),)))
    assert failures(told) == ["a handoff to refunds did not take place"]


@each(
    ("order", "place", "passes"),
    [("in_order", 1, True), ("in_order", 0, False), ("in_order", 2, False), ("exact", 1, True), ("exact", 0, False)],
)
def test_handoffs_stand_in_the_order_of_calls(order: Any, place: int, passes: bool) -> None:
    """The handoff came between the two calls."""
    calls = [want("get_order", order_id="W1"), REFUND]
    scenario = {"handoffs": (handoff(to="refunds", place=place),), "match": Match(order=order)}
    assert (judge(of(HANDED, calls, **scenario)).verdict is Verdict.PASSED) is passes


def test_exactly_these_calls_says_nothing_of_handoffs_unless_one_is_named() -> None:
    """Scenarios without handoffs are judged as before; with one, a second is one too many."""
    calls = [want("get_order", order_id="W1"), REFUND]
    assert judge(of(HANDED, calls, match=Match(order="exact"))).verdict is Verdict.PASSED
    twice = [
        *HANDED,
        *user("And?"),
        *by("legal", agent("No"), Event.model_validate({"kind": "handoff", "to": "legal"})),
    ]
    scenario = {"handoffs": (handoff(to="refunds", place=1),), "match": Match(order="exact")}
    assert judge(of(twice, calls, **scenario)).verdict is Verdict.FAILED


@each(
    ("maker", "failed"),
    [
        ("refunds", []),
        ("triage", ["refund(order_id='W1') was made by triage, expected refunds"]),
    ],
)
def test_an_expected_call_is_made_by_the_agent_that_it_names(maker: str, failed: list[str]) -> None:
    """The effect alone is not enough; recall is about calls."""
    messages = [*user("Refund W1"), *by(maker, call("refund", order_id="W1")), *by(maker, agent("Done"))]
    judgement = judge(of(messages, [REFUND.model_copy(update={"by": "refunds"})]))
    assert failures(judgement) == failed
    assert judgement.metrics["strict_recall"] == 1.0


def test_a_call_whose_maker_nobody_tells_is_not_measured() -> None:
    """It is neither right nor wrong."""
    messages = [*user("Refund W1"), *call("refund", order_id="W1"), *agent("Done")]
    judgement = judge(of(messages, [REFUND.model_copy(update={"by": "refunds"})]))
    assert (judgement.verdict, [one.part for one in judgement.unmeasured]) == (Verdict.PASSED, ["by"])


@each(("maker", "failed"), [("triage", 1), ("refunds", 0)])
def test_a_call_may_be_forbidden_to_one_agent(maker: str, failed: int) -> None:
    """`never` names the agent that must not."""
    messages = [*user("Refund W1"), *by(maker, call("refund", order_id="W1")), *by(maker, agent("Done"))]
    forbidden = ExpectedCall(name="refund", by="triage")
    assert len(failures(judge(of(messages, [REFUND], never=(forbidden,))))) == failed


def test_a_forbidden_call_whose_maker_nobody_tells_is_not_measured() -> None:
    """A call that anybody may have made is no proof that the one agent did not."""
    messages = [*user("Refund W1"), *call("refund", order_id="W1"), *agent("Done")]
    judgement = judge(of(messages, [REFUND], never=(ExpectedCall(name="refund", by="triage"),)))
    assert (judgement.verdict, [one.part for one in judgement.unmeasured]) == (Verdict.PASSED, ["never"])


@each(
    ("first", "kept"),
    [
        ([{"handoff": {"to": "refunds"}}], True),
        ([{"handoff": "legal"}], False),
        (["get_order", {"handoff": "x"}], True),
    ],
)
def test_a_rule_may_ask_for_a_handoff_before_a_call(first: list[Any], kept: bool) -> None:
    """Any of what is listed will do."""
    policy = Policy(id="p", text="p", rule={"before": {"calls": ["refund"], "first": first}})
    judgement = judge(run_of(HANDED, expect=[REFUND], policies=(policy,)))
    assert [one.kept for one in judgement.policies] == [kept]


def test_a_rule_about_handoffs_that_nobody_tells_is_not_measured() -> None:
    """A rule is not broken by what cannot be seen."""
    policy = Policy(id="p", text="p", rule={"before": {"calls": ["refund"], "first": [{"handoff": "refunds"}]}})
    messages = [*user("Refund W1"), *call("refund", order_id="W1"), *agent("Done")]
    judgement = judge(run_of(messages, expect=[REFUND], policies=(policy,)))
    assert (judgement.verdict, [one.kept for one in judgement.policies]) == (Verdict.PASSED, [None])


@each(
    ("output", "shows", "failed"),
    [
        ({"decision": "block", "risk": 3, "more": 1}, set(), []),
        (
            {"decision": "keep"},
            set(),
            ["decision is 'keep', expected 'block'", "risk is missing, expected {'$gte': 3}"],
        ),
        (None, {"output"}, [f"the agent gave no typed answer, expected {WANTED}"]),
        ([1], set(), [f"the typed answer is [1], expected {WANTED}"]),
    ],
)
def test_the_typed_answer_holds_what_is_expected(output: Any, shows: set[str], failed: list[str]) -> None:
    """Parts that are not named are left open."""
    messages = [*user("Lost my card"), Message(role="assistant", content="ok", output=output)]
    assert failures(judge(of(messages, shows=shows, output=WANTED))) == failed


def test_a_typed_answer_that_nobody_would_show_is_not_measured() -> None:
    """Nothing else was asked for, so that nobody knows."""
    judgement = judge(of([*user("Lost my card"), *agent("ok")], output={"decision": "block"}))
    assert (judgement.verdict, judgement.blame) == (Verdict.ERROR, Blame.SCENARIO)


TALK = [*user("Hi"), *agent("W1 is on its way."), *user("When?"), *agent('{"days": 2}')]


@each(
    ("reply", "failed"),
    [
        ({"contains": "DAYS"}, ""),
        ({"contains": "W1"}, "the last reply does not contain 'W1'"),
        ({"contains": "w1", "turn": 1}, ""),
        ({"contains": "W1", "turn": "any"}, ""),
        ({"contains": "W2", "turn": "any"}, "no reply fits; the last one does not contain 'W2'"),
        ({"contains": "W1", "turn": 3}, "there is no reply of the agent's turn 3: it had 2"),
        ({"matches": r"\d+"}, ""),
        ({"matches": r"^\d+$"}, r"the last reply does not match '^\\d+$'"),
        ({"max_words": 2}, ""),
        ({"max_words": 4, "turn": 1}, "the reply of the agent's turn 1 has 5 words, allowed: 4"),
        ({"json_schema": {"required": ["days"]}}, ""),
        (
            {"json_schema": {"properties": {"days": {"minimum": 3}}}, "json_file": "answer.json"},
            "the last reply does not fit the JSON Schema of answer.json: at days: 2 is less than the minimum of 3",
        ),
        ({"contains": "W1", "max_words": 1}, "the last reply does not contain 'W1' and has 2 words, allowed: 1"),
    ],
)
def test_replies_are_what_is_expected(reply: dict[str, Any], failed: str) -> None:
    """All that one entry asks for must hold of one reply."""
    judgement = judge(of(TALK, replies=(ExpectedReply.model_validate(reply),)))
    assert failures(judgement) == ([failed] if failed else [])


def test_a_reply_that_is_no_json_fits_no_schema() -> None:
    """The text itself is read."""
    judgement = judge(of(TALK[:2], replies=(ExpectedReply(json_schema={}),)))
    assert failures(judgement)[0].startswith("the last reply does not fit the JSON Schema: it is no JSON")


@each("form", [{"matches": "(a+)+$"}, {"json_schema": {"pattern": "(a+)+$"}}])
def test_a_pattern_without_an_end_is_the_scenario_s_fault(form: dict[str, Any]) -> None:
    """It is cut off, and nothing is held against the agent."""
    text = '"' + "a" * 4000 + '!"'
    judgement = judge(of([*user("Hi"), *agent(text)], replies=(ExpectedReply.model_validate(form),)))
    assert (judgement.verdict, judgement.blame) == (Verdict.ERROR, Blame.SCENARIO)


@each(
    ("schema", "text"),
    [
        ({"patternProperties": {"(a+)+$": {}}, "additionalProperties": False}, '{"' + "a" * 4000 + '!": 1}'),
        ({"$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"}, "[" * 900 + "]" * 900),
        (
            {
                "allOf": [{"$ref": "#/$defs/0"}],
                "$defs": {str(at): {"allOf": [{"$ref": f"#/$defs/{at + 1}"}] * 2} for at in range(30)} | {"30": {}},
            },
            "1",
        ),
    ],
)
def test_a_schema_without_an_end_is_the_scenario_s_fault(schema: dict[str, Any], text: str) -> None:
    """Whatever keyword it is that takes too long."""
    judgement = judge(of([*user("Hi"), *agent(text)], replies=(ExpectedReply(json_schema=schema),)))
    assert (judgement.verdict, judgement.blame) == (Verdict.ERROR, Blame.SCENARIO)


@each(
    ("items", "failed"),
    [
        ([{"a": [at]} for at in range(4000)], False),
        ([{"a": [at % 3999]} for at in range(4000)], True),
        ([1, True, [1], [True], {"a": 0}, {"a": False}], False),
        ([{"a": 1, "b": 2}, {"b": 2.0, "a": 1}], True),
        ([1764460800.25, 1764460800.75], False),
    ],
)
def test_unique_items_are_told_at_once(items: list[Any], failed: bool) -> None:
    """As JSON Schema has it: numbers are equal by value, and true is no number."""
    schema = {"uniqueItems": True}
    judgement = judge(of([*user("Hi"), *agent(json.dumps(items))], replies=(ExpectedReply(json_schema=schema),)))
    assert (judgement.verdict, bool(failures(judgement))) == (Verdict.FAILED if failed else Verdict.PASSED, failed)


def refused(*rest: list[Message]) -> list[Message]:
    """The provider of the agent's model refuses the first turn."""
    event = Event(kind="refused_by_provider", name="content_filter")
    first = Message(role="assistant", content="The provider refused.", events=(event,))
    return [*user("Refund W1"), first, *(message for part in rest for message in part)]


def test_what_a_provider_s_refusal_kept_the_agent_from_is_not_the_agent_s_fault() -> None:
    """A refund that is missing after one tells nothing about the agent."""
    judgement = judge(of(refused(), [REFUND]))
    assert (judgement.verdict, judgement.blame) == (Verdict.ERROR, Blame.PROVIDER)


def test_a_provider_s_refusal_excuses_nothing_that_was_done() -> None:
    """What is proven stays proven, and what was done all the same passes."""
    done = refused(user("Please"), call("refund", order_id="W1"), agent("Done"))
    assert judge(of(done, [REFUND])).verdict is Verdict.PASSED
    judgement = judge(of(done, [], never=(want("refund"),)))
    assert (judgement.verdict, judgement.blame) == (Verdict.FAILED, Blame.AGENT)
    assert [one.blame for one in judgement.also] == [Blame.PROVIDER]
