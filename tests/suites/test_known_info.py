"""Values of τ²'s known info with the names by which an agent asks for them."""

import re
import time
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.suites.known_info import known_values
from pytest_agentbench.tau2.tasks import task_to_scenario
from tests.tables import each


def tools(**described: str) -> Toolset:
    """Give one tool whose parameters have these descriptions."""
    properties = {name: {"type": "string", "description": text} for name, text in described.items()}
    return Toolset(specs=(ToolSpec(name="look", parameters={"type": "object", "properties": properties}),))


def known(text: str, toolset: Toolset | None = None, **criteria: Any) -> dict[object, tuple[str, ...]]:
    """Give the names of each value that a task's known info states."""
    scenario = task_to_scenario({"id": "a", "user_scenario": {"instructions": {"known_info": text}}, **criteria})
    assert isinstance(scenario, Scenario)
    return dict(known_values(scenario, toolset or tools()))


def test_a_value_of_an_expected_call_has_the_name_of_its_argument() -> None:
    """Only what the text states is known; a short word counts as it is written."""
    call = {
        "name": "find",
        "arguments": {"first_name": "Fei", "last_name": "Li", "zip": "19122", "gift": "no", "x": "C9"},
    }

    found = known("You are Fei Li, in 19122, and no more.", evaluation_criteria={"actions": [call]})

    assert found == {"Fei": ("first_name",), "Li": ("last_name",), "19122": ("zip",)}


def test_what_a_task_starts_from_names_values_as_well() -> None:
    """τ² sets up the user's phone by calls."""
    action = {"env_type": "user", "func_name": "set_user_info", "arguments": {"phone_number": "555-123-2002"}}

    found = known("You call from 555-123-2002.", initial_state={"initialization_actions": [action]})

    assert found == {"555-123-2002": ("phone_number",)}


@each(
    ("text", "value", "name"),
    [
        ("You live in 46236.", "46236", "zip"),
        ("Your order is #W123.", "#W123", "order_id"),
        ("Write to ada@example.com.", "ada@example.com", "email"),
    ],
)
def test_a_value_has_the_name_of_an_example_of_its_form(text: str, value: str, name: str) -> None:
    """A description that gives an example shows what such values look like."""
    toolset = tools(zip="The zip code, such as '12345'.", order_id="The order, such as '#W0000000'. Be careful.")

    assert known(text, toolset)[value][0] == name


@each(
    ("text", "value", "name"),
    [
        ("You are Ada. Your user id is ada_roy_12.", "ada_roy_12", "user id"),
        ("Your confirmation number is: JMO1MG.", "JMO1MG", "confirmation number"),
        ("Your name is Noah Ito and you are 40.", "Noah Ito", "name"),
    ],
)
def test_words_before_a_value_name_it_where_the_tools_use_them(text: str, value: str, name: str) -> None:
    """A word that says just *number* takes the one before it along; what nothing names is not known by name."""
    assert known(text, tools(last_name="", user="", flight_number="")) == {value: (name,)}


@given(st.from_regex(r"[A-Z0-9]{1,4}([-./][A-Za-z0-9]{1,4}){0,3}", fullmatch=True).filter(re.compile(r"\d").search))
def test_a_value_is_a_whole_token(code: str) -> None:
    """Nothing is cut out of an id, whatever joins its parts, also where a call has a value that is such a part."""
    parts = re.split(r"[-./]", code)
    assume(parts[-1] != "4410")
    call = {"name": "open", "arguments": {"n": int(parts[-1]) if parts[-1].isdecimal() else parts[-1]}}

    found = known(f"Your badge is {code}, PIN 4410.", tools(badge="", pin=""), evaluation_criteria={"actions": [call]})

    assert {str(value) for value, names in found.items() if "badge" in names} == {code}
    assert len(parts) == 1 or not any("n" in names for names in found.values())


@each(
    ("text", "ids"),
    [
        ("Your orders are W1/W2.", {"W1", "W2"}),
        ("Your orders: W1&W2/W34.", {"W1", "W2", "W34"}),
        ("Your order is W1/X2.", {"W1/X2"}),
        ("Your order is docs/W1/W2.", {"docs/W1/W2"}),
        ("Your order is W1/W2-2024.", {"W1/W2-2024"}),
        ("Your order of 11/12/2024.", {"11/12/2024"}),
    ],
)
def test_a_slash_or_an_ampersand_stands_between_two_ids(text: str, ids: set[str]) -> None:
    """An example or a call tells what an id looks like; a date and a path are one token."""
    call = {"name": "open", "arguments": {"order": "W2", "day": 12}}
    shown = known(text, tools(order="Such as 'W77'."))
    called = known(text, tools(order=""), evaluation_criteria={"actions": [call]})

    assert (set(shown), set(called)) == (ids, ids)


def test_a_part_of_a_told_value_is_none() -> None:
    """A call names the whole; a price is none of its figures."""
    call = {"name": "open", "arguments": {"order": "S 101"}}

    told = "Your order is S 101; the price is $1,200.50."
    found = known(told, tools(price=""), evaluation_criteria={"actions": [call]})

    assert found == {"S 101": ("order",), "1,200.50": ("price",)}


def test_without_known_info_nothing_is_known() -> None:
    """Goals and instructions in prose are no list of facts."""
    scenario = task_to_scenario({"id": "a", "user_scenario": {"instructions": "Your user id is ada_roy_12."}})

    assert isinstance(scenario, Scenario)
    assert known_values(scenario, tools()) == ()


@each("unit", ["a", "1", "a@", "A ", "#", "a1 ", "_", "id is "])
def test_a_huge_text_is_read_at_once(unit: str) -> None:
    """Time stays bounded whatever a file holds."""
    started = time.thread_time()

    known(unit * (1_000_000 // len(unit)), tools(user_id="Such as 'a1'."))

    assert time.thread_time() - started < 5
