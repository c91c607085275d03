"""Which modifiers fit which scenario, and what they come to there."""

from random import Random
from typing import Any

from pytest_agentbench.core.modifier import MODIFIER_NAMES, ModifierSpec
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.users.modifiers.applying import Behaviour
from pytest_agentbench.users.modifiers.plan import plan
from pytest_agentbench.users.modifiers.records import Records
from tests.tables import each


def member(first: str, last: str, **more: Any) -> dict[str, Any]:
    """Give a member of a library."""
    return {"name": {"first": first, "last": last}, "email": f"{first.lower()}@mail.test", **more}


STATE: dict[str, Any] = {
    "members": {
        "m_roy_1": member("Ada", "Roy", zip="75001", loans=["L11", "L12"]),
        "m_lee_2": member("Bo", "Lee", zip="69002", loans=["L21"]),
    },
    "loans": {
        "L11": {"member": "m_roy_1", "title": "Atlas of clouds", "pickup": "main desk"},
        "L12": {"member": "m_roy_1", "title": "Sea stories", "pickup": "night box"},
        "L21": {"member": "m_lee_2", "title": "Tea", "pickup": "night box"},
    },
}


def scenario(
    goal: str = "You want to renew loan L11, Atlas of clouds, and pick it up at the main desk.",
    known: str = "You are Ada Roy in zip 75001. Your email is ada@mail.test.",
    says: Any = (),
    calls: tuple[dict[str, Any], ...] = ({"name": "renew", "arguments": {"loan_id": "L11", "pickup": "main desk"}},),
) -> Scenario:
    """Give a scenario of a library."""
    instructions = {"reason_for_call": goal, "known_info": known, "task_instructions": "", "domain": ""}
    task = {"id": "s", "user_scenario": {"instructions": instructions}, "evaluation_criteria": {"actions": list(calls)}}
    return Scenario(id="s", title="s", task=Task.model_validate(task), **({"says": says} if says else {}))


def one(name: str, given: Scenario, state: dict[str, Any] | None = STATE, **options: Any) -> Behaviour | str:
    """Give the behaviour of one modifier, or why it does not fit."""
    chosen, skipped = plan([ModifierSpec.model_validate({name: options})], given, state, seed=3)
    return chosen[0] if chosen else skipped[name]


def told(name: str, given: Scenario, **options: Any) -> Behaviour:
    """Give the behaviour of a modifier that fits."""
    found = one(name, given, **options)
    assert isinstance(found, Behaviour), found
    return found


def test_a_forgotten_identifier_leaves_another_way() -> None:
    """Every identifier that is forgotten is one without which the record is still found."""
    assert {told("forgets_identifier", scenario(), which=which).forgets for which in ("loan_id", "email")} == {
        ("L11",),
        ("ada@mail.test",),
    }


def test_the_only_identifier_is_not_forgotten() -> None:
    """Who knows nothing else keeps what identifies it, and the reason says so."""
    given = scenario(known="", goal="You want to renew loan L11.")

    assert one("forgets_identifier", given) == "nothing else that the user knows leads to what it would forget"


def test_an_identifier_without_which_the_record_cannot_be_told_from_others_is_kept() -> None:
    """Of two loans of one member, the one is not forgotten whose goal says nothing that only it has."""
    given = scenario(goal="You want to renew loan L11.")

    assert isinstance(one("forgets_identifier", given, which="loan_id"), str)


def test_a_way_that_no_tool_of_the_agent_takes_is_none() -> None:
    """Where the agent's tools are known, what remains must be an argument of one of them."""
    spec = [ModifierSpec(name="forgets_identifier", options={"which": "email"})]
    by_zip = ToolSpec(name="find", parameters={"type": "object", "properties": {"zip": {"type": "string"}}})
    by_mail = ToolSpec(name="find", parameters={"type": "object", "properties": {"email": {"type": "string"}}})

    assert plan(spec, scenario(), STATE, tools=[by_zip])[0]
    assert not plan(spec, scenario(), STATE, tools=[by_mail])[0]


def test_without_a_state_the_expected_calls_show_another_way() -> None:
    """An order may be forgotten when an expected call looks the user up by something else it knows."""
    looked_up = {"name": "find", "arguments": {"email": "ada@mail.test"}}
    renewed = {"name": "renew", "arguments": {"loan_id": "L11"}}
    given = scenario(calls=(looked_up, renewed), known="Your email is ada@mail.test. Your loan id is L11.")

    found = one("forgets_identifier", given, None, which="loan_id")

    assert isinstance(found, Behaviour)
    assert found.forgets == ("L11",)


@each("seed", range(12))
def test_a_wrong_value_is_one_of_the_same_place(seed: int) -> None:
    """What is said first stands in the state where the right value stands, and is nothing of the user's own."""
    chosen, _ = plan([ModifierSpec(name="wrong_value_first")], scenario(), STATE, seed=seed)

    swap = chosen[0].wrong[0]

    assert (swap.first, swap.right) in {("69002", "75001"), ("bo@mail.test", "ada@mail.test"), ("L21", "L11")}


def test_no_state_no_wrong_value() -> None:
    """A value is never invented: where the state cannot be read, the modifier does not fit."""
    for name in ("wrong_value_first", "changes_mind"):
        assert one(name, scenario(), None) == "the initial state cannot be read, so no other value is verified"


def test_another_option_is_wished_for_first() -> None:
    """The first wish is another value of the same column; the second is the expected call's."""
    behaviour = told("changes_mind", scenario(), which="pickup")

    assert [(swap.first, swap.right) for swap in behaviour.wrong] == [("night box", "main desk")]
    assert "night box" in behaviour.instruction
    assert "main desk" in behaviour.instruction


def test_a_record_wished_for_first_is_the_users_own() -> None:
    """Another customer's record is no wish of this one."""
    behaviour = told("changes_mind", scenario(), which="loan_id")

    assert [(swap.first, swap.right) for swap in behaviour.wrong] == [("L12", "L11")]


def test_options_that_the_tool_lists_come_first() -> None:
    """Of what the tool's schema lists, the first wish is something that the record has not."""
    pickup = {"enum": ["main desk", "night box", "by post"]}
    renew = ToolSpec(name="renew", parameters={"type": "object", "properties": {"loan_id": {}, "pickup": pickup}})
    given = scenario(
        goal="You want to have loan L11 by post.",
        calls=({"name": "renew", "arguments": {"loan_id": "L11", "pickup": "by post"}},),
    )
    spec = [ModifierSpec(name="changes_mind", options={"which": "pickup"})]

    firsts = {plan(spec, given, STATE, seed=seed, tools=[renew])[0][0].wrong[0].first for seed in range(9)}

    assert firsts == {"night box"}


SHOP: dict[str, Any] = {
    "people": {
        "p_ada_1": {"mail": "ada@x.test", "cards": {"visa_1": {"source": "visa"}, "bank_2": {"source": "bank"}}},
        "p_bo_2": {"mail": "bo@x.test", "cards": {"visa_9": {"source": "visa"}}},
    },
    "orders": {
        "O-100": {"person": "p_ada_1", "items": [{"item": "lamp 7"}, {"item": "rug 8"}]},
        "O-200": {"person": "p_ada_1", "items": [{"item": "desk 9"}]},
    },
    "products": {
        "lamp": {
            "maker": "Lum",
            "kinds": {
                "L-1": {"price": 9, "free": True},
                "L-2": {"price": 8, "free": True},
                "L-3": {"price": 7, "free": False},
            },
        },
        "rug": {"maker": "Rag", "kinds": {"R-1": {"price": 9, "free": True}}},
    },
}
"""A shop whose records hold tables and lists of their own."""


@each(
    ("name", "value", "firsts"),
    [
        ("card", "visa_1", {"bank_2"}),  # another person's card is none of hers
        ("new_item", "L-1", {"L-2"}),  # of another product, and what is sold out, is none either
        ("new_item", "R-1", set()),
        ("order_id", "O-100", set()),  # her other order has no such lamp
    ],
)
def test_only_what_the_thing_can_have_is_wished_for(name: str, value: str, firsts: set[str]) -> None:
    """Of tables inside a record, other entries of the same record are options; of records, those with what is asked."""
    call = {"name": "exchange", "arguments": {"order_id": "O-100", "item": "lamp 7", name: value}}
    given = scenario(goal=f"Exchange lamp 7 of O-100 ({value}).", known="Your email is ada@x.test.", calls=(call,))
    spec = [ModifierSpec(name="changes_mind", options={"which": name})]

    found = [plan(spec, given, SHOP, seed=seed) for seed in range(9)]

    assert {chosen[0].wrong[0].first for chosen, _ in found if chosen} == firsts
    assert firsts or found[0][1] == {"changes_mind": "nothing shows another option that the record can have"}


def test_an_intent_of_the_options_is_added_at_its_message() -> None:
    """Text and message come from the options; the third message is meant where none is given."""
    behaviour = told("adds_intent", scenario(), at=2, intent="Ask for the opening hours.")

    assert (behaviour.intent, behaviour.from_message, behaviour.held_back) == ("Ask for the opening hours.", 2, "")
    assert told("adds_intent", scenario(), intent="x").from_message == 3


@each(
    ("goal", "says", "held_back"),
    [
        (
            "",
            ({"request": "Renew L11"}, {"confirm": "yes"}, {"ask": "And what is overdue?"}, "no"),
            "And what is overdue?",
        ),
        ("You want to:\n- renew L11\n- know what is overdue", (), "know what is overdue"),
        ("1. L11 を延長する\n2. 延滞を知る", (), "延滞を知る"),
    ],
)
def test_the_last_of_several_intents_is_held_back(goal: str, says: Any, held_back: str) -> None:
    """Of several lines that ask for something, or items of the goal's list, the last waits."""
    assert told("adds_intent", scenario(goal=goal, says=says)).held_back == held_back


@each(
    ("goal", "says"),
    [("You want to renew L11.", ()), ("", ("Renew L11", "And a receipt")), ("- renew L11\n- a receipt\nBe quick.", ())],
)
def test_one_intent_cannot_be_held_back(goal: str, says: Any) -> None:
    """A goal without a list at its end, and lines that do not say what they mean, leave nothing to add."""
    found = one("adds_intent", scenario(goal=goal, says=says))

    assert found == "the scenario lists one intent, and the modifier states no other"


def test_a_question_beside_the_matter_is_the_users_own() -> None:
    """A question of the options is asked; without one the user makes its own, in its language."""
    assert '"What time is it?"' in told("out_of_scope", scenario(), ask="What time is it?").instruction
    assert told("out_of_scope", scenario()).ask == ""


def test_the_same_seed_gives_the_same_behaviours() -> None:
    """Equal arguments give equal behaviours, with an integer and with a generator, with shared records and without."""
    specs = [ModifierSpec(name=name) for name in MODIFIER_NAMES]

    first = plan(specs, scenario(), STATE, seed=7)

    assert first == plan(specs, scenario(), Records(STATE), seed=7)
    assert plan(specs, scenario(), STATE, seed=Random(7)) == plan(specs, scenario(), STATE, seed=Random(7))
    assert len({plan(specs, scenario(), STATE, seed=seed)[0] for seed in range(20)}) > 5


def test_no_modifier_touches_what_another_has_changed() -> None:
    """A forgotten value is not given wrongly as well."""
    specs = [ModifierSpec(name="forgets_identifier"), ModifierSpec(name="wrong_value_first")]

    for seed in range(20):
        chosen, _ = plan(specs, scenario(), STATE, seed=seed)
        assert chosen[0].forgets[0] not in {swap.right for swap in chosen[1].wrong}


def test_the_same_modifier_twice_is_skipped_once() -> None:
    """Only added intents may come several times."""
    twice = [ModifierSpec(name="impatient")] * 2
    intents = [ModifierSpec(name="adds_intent", options={"intent": text}) for text in ("Ask a.", "Ask b.")]

    assert [one.label for one in plan(intents, scenario())[0]] == ["adds_intent", "adds_intent_2"]

    assert plan(twice, scenario())[1] == {"impatient": "it is asked for twice"}
    assert [behaviour.intent for behaviour in plan(intents, scenario())[0]] == ["Ask a.", "Ask b."]


TABLES: dict[str, Any] = {
    "members": {
        "m_roy_1": {"first_name": "Ada", "last_name": "Roy", "email": "ada@mail.test", "zip": "75001"},
        "m_lee_2": {"first_name": "Bo", "last_name": "Lee", "email": "bo@mail.test", "zip": "75001"},
    },
    "loans": {
        "L11": {"loan_id": "L11", "member": "m_roy_1", "title": "Atlas of clouds"},
        "L12": {"loan_id": "L12", "member": "m_roy_1", "title": "Sea stories"},
        "L21": {"loan_id": "L21", "member": "m_lee_2", "title": "Tea"},
    },
}
"""The library as a database keeps it: what belongs together lies in several tables and is joined by keys."""


def test_what_belongs_together_is_found_across_tables() -> None:
    """Name and zip of an expected call lead to the member; the member's own loans are told from those of others."""
    found = {"name": "find", "arguments": {"first_name": "Ada", "last_name": "Roy", "zip": "75001"}}
    calls = (found, {"name": "renew", "arguments": {"loan_id": "L11"}})

    forgotten = one("forgets_identifier", scenario(calls=calls), TABLES, which="email")
    changed = one("changes_mind", scenario(calls=calls), TABLES)

    assert isinstance(forgotten, Behaviour)
    assert forgotten.forgets == ("ada@mail.test",)
    assert isinstance(changed, Behaviour)
    assert [(swap.first, swap.right) for swap in changed.wrong] == [("L12", "L11")]


def test_a_short_number_joins_nothing() -> None:
    """A count that happens to equal a key makes no record the user's own."""
    tables = {**TABLES, "loans": {"1": {"member": "x", "copies": 1}, "2": {"member": "y", "copies": 1}}}

    assert isinstance(one("changes_mind", scenario(), tables), str)


LISTED = "You want to\n- hear about Atlas of clouds and pick it up at the main desk\n- renew loan L11"


@each("first", ["forgets_identifier", "adds_intent"])
def test_what_is_forgotten_stands_in_no_intent_that_is_held_back(first: str) -> None:
    """An intent that comes later would tell the user again what it does not have, whichever is asked for first."""
    names = {"forgets_identifier": {"which": "loan_id"}, "adds_intent": {}}
    specs = [ModifierSpec.model_validate({name: names[name]}) for name in sorted(names, key=lambda name: name != first)]

    chosen, skipped = plan(specs, scenario(goal=LISTED), STATE, seed=3)

    assert [behaviour.name for behaviour in chosen] == [first]
    assert list(skipped) == [next(name for name in names if name != first)]


def test_intents_may_be_about_one_thing_and_none_comes_twice() -> None:
    """Two that the suite states are both brought up; the last entry of a list is held back once."""
    stated = [ModifierSpec(name="adds_intent", options={"intent": f"{verb} loan L11."}) for verb in ("Extend", "Print")]
    held = [ModifierSpec(name="adds_intent")] * 2

    assert len(plan(stated, scenario(goal=LISTED), STATE)[0]) == 2
    assert len(plan(held, scenario(goal=LISTED), STATE)[0]) == 1
