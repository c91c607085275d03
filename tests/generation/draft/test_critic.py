"""The blind critic and the blind solver: hostile numbers, reads among writes, values that only a call makes, schemas
without end, numbers in texts.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.argument_names import entries, slots_of
from pytest_agentbench.generation.draft import Draft
from pytest_agentbench.generation.language.critic import Critic, Opinion
from pytest_agentbench.generation.language.plain import SaidReference
from pytest_agentbench.generation.language.wording import ConversationBrief, PlainWording
from pytest_agentbench.generation.solver import plainly
from pytest_agentbench.generation.tools.hydration.rules import SuiteRules
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.testing import ModelServer
from tests.generation.draft import right
from tests.generation.drafting import Do, From, Owner, Say
from tests.tables import each

RENEWAL = {"tool": "renew_loan", "arguments": [{"name": "loan_id", "value": "L302"}, {"name": "weeks", "value": "1"}]}


def reviewed(suite: Suite, draft: Draft, *answers: list[dict[str, Any]]) -> tuple[Opinion, list[Any]]:
    """Have a model that gives these writes, one after the other, review a draft; give what it was asked, too."""

    async def run(url: str) -> Opinion:
        said = await PlainWording().lines(ConversationBrief(draft=draft))
        models = Models(environ={})
        try:
            chat = models.chat(ModelSpec(model="m", base_url=url, api_key="none"), Caller(role="critic"))
            tools = load_toolset(suite.environment, suite.root)
            return await Critic(chat, tools).review(said.of(draft, SuiteRules((), tools)), [])
        finally:
            await models.close()

    with ModelServer([json.dumps({"plausible": True, "writes": writes}) for writes in answers]) as server:
        return asyncio.run(run(server.base_url)), [one.messages for one in server.requests]


def opinion(folder: Path, writes: list[dict[str, Any]]) -> Opinion:
    """Have a model that gives these writes review the renewal of a loan."""
    suite = right.library(folder)
    found, asked = reviewed(suite, right.renewing(suite), writes)
    assert len(asked) == 1
    return found


def test_the_same_writes_are_found(tmp_path: Path) -> None:
    assert opinion(tmp_path, [RENEWAL]).why == ""


@each("value", ["1" + "0" * 400, "-1" + "0" * 400, "1e400", "NaN", "[" * 900 + "]" * 900, "9" * 5000])
def test_a_number_that_no_tool_takes_is_another_write(tmp_path: Path, value: str) -> None:
    arguments = [RENEWAL["arguments"][0], {"name": "weeks", "value": value}]

    found = opinion(tmp_path, [{"tool": "renew_loan", "arguments": arguments}])

    assert found.why == "other writes"
    assert found.detail.startswith("it does not make renew_loan(loan_id='L302', weeks=1)")


def test_a_read_among_the_writes_is_free(tmp_path: Path) -> None:
    read = {"tool": "list_loans", "arguments": [{"name": "member_id", "value": "M21"}]}

    assert opinion(tmp_path, [read, RENEWAL]).why == ""
    assert opinion(tmp_path, [read]).why == "other writes"


def write(tool: str, **arguments: Any) -> dict[str, Any]:
    """Give a call as the critic writes it."""
    return {"tool": tool, "arguments": [{"name": key, "value": json.dumps(one)} for key, one in arguments.items()]}


def booked_and_cancelled(suite: Suite) -> Draft:
    """Book two rooms, and cancel the second booking, whose reference nobody can know before."""
    turns = [
        Say(calls=[Do("book_room", {"room": "204", "guest": "Weiss", "nights": 3})]),
        Say(calls=[Do("book_room", {"room": "305", "guest": "Weiss", "nights": 1})]),
        Say(calls=[Do("cancel_booking", {"reference": From(1, "reference"), "reason": "illness"})]),
    ]
    return right.make(suite, "d1", turns, owner=Owner(role="guest"))


BOOKED = [write("book_room", room=room, guest="Weiss", nights=nights) for room, nights in (("305", 1), ("204", 3))]


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ({"from": 1, "entry": "reference"}, ""),
        ({"from": 1, "entry": "booking_id"}, ""),
        ({"from": 1, "entry": "total"}, "other writes"),
        ({"from": 2, "entry": "reference"}, "other writes"),
        ({"from": 7, "entry": "reference"}, "other writes"),
        ({"from": "book_room", "entry": "reference"}, "other writes"),
        ({"from": "get_booking", "entry": "reference"}, "other writes"),
        ({"from": [1], "entry": "reference"}, "other writes"),
        ("the reference that book_room gives for 305", "other writes"),
    ],
)
def test_a_value_that_an_earlier_write_gives_is_named_by_that_write(tmp_path: Path, reference: Any, why: str) -> None:
    """The critic is told so once it gives a text from nowhere; the place is that among its own writes."""
    suite = right.hotel(tmp_path)
    told = [*BOOKED, write("cancel_booking", reference="the new booking of 305", reason="illness")]
    again = [*BOOKED, write("cancel_booking", reference=reference, reason="illness")]

    found, asked = reviewed(suite, booked_and_cancelled(suite), told, again)

    assert found.why == why
    fault = "cancel_booking: reference 'the new booking of 305' stands in no line, row or lookup"
    assert [fault in str(messages[-1]["content"]) for messages in asked] == [False, True]
    assert ['{"from": "name_of_the_tool"' in str(messages[0]["content"]) for messages in asked] == [False, True]


def test_a_value_that_the_user_says_is_given_by_no_write(tmp_path: Path) -> None:
    suite = right.hotel(tmp_path)
    turns = [
        Say(calls=[Do("book_room", {"room": "204", "guest": "Weiss", "nights": 3})]),
        Say(calls=[Do("cancel_booking", {"reference": "BK-7001", "reason": "illness"})]),
    ]
    draft = right.make(suite, "d1", turns, owner=Owner(role="guest"))
    reference = {"from": "book_room", "entry": "reference"}

    found, _ = reviewed(suite, draft, [BOOKED[1], write("cancel_booking", reference=reference, reason="illness")])

    assert found.why == "other writes"


def test_a_value_that_a_call_only_gives_back_is_of_the_call_that_made_it(tmp_path: Path) -> None:
    suite = right.hotel(tmp_path)
    turns = [
        Say(calls=[Do("book_room", {"room": "204", "guest": "Weiss", "nights": 3})]),
        Say(calls=[Do("get_booking", {"reference": From(0, "reference")})]),
        Say(calls=[Do("cancel_booking", {"reference": From(1, "reference"), "reason": "illness"})]),
    ]
    draft = right.make(suite, "d1", turns, owner=Owner(role="guest"))
    reference = {"from": "book_room", "entry": "reference"}

    found, _ = reviewed(suite, draft, [BOOKED[1], write("cancel_booking", reference=reference, reason="illness")])

    assert found.why == ""


def test_a_tool_with_odd_schemas_is_compared_all_the_same() -> None:
    toolset = Toolset(specs=(ToolSpec(name="put", parameters={"properties": {"a": True, "b": {"default": 1}}}),))

    assert plainly(ToolCall(name="put", arguments={"a": 2, "b": 1}), toolset) == plainly(
        ToolCall(name="put", arguments={"a": 2.0}), toolset
    )


@each("count", [3, 8, 40])
def test_schemas_that_refer_to_themselves_are_looked_into_as_far_as_there_is_room(count: int) -> None:
    fields = {f"f{number}": {"$ref": "#/$defs/N"} for number in range(count)}
    schema = {"properties": {"name": {"type": "string"}, **fields}, "$defs": {"N": {"properties": fields}}}

    slots = slots_of(ToolSpec(name="walk", parameters=schema))

    assert "name" in slots
    assert len({path.split(".")[0] for path in slots}) == count + 1
    assert len(slots) <= 300


def test_a_tool_of_many_arguments_has_them_all() -> None:
    schema = {"properties": {f"f{number}": {"type": "string"} for number in range(400)}}

    assert len(slots_of(ToolSpec(name="wide", parameters=schema))) == 400


@each(
    ("answer", "found"),
    [
        ("Created task 7.", [7]),
        ("Aufgabe 7 angelegt.", [7]),
        ("Order W-7 is 3 days late.", ["W-7"]),
        ("Booked as 20417.", [20417]),
        ("Booked as 0042.", ["0042"]),
        ("Created on 2021-03-17.", []),
        ("Costs 12.50.", []),
        ({"text": "Created task 7.", "at": 3}, [7]),
    ],
)
def test_the_id_or_the_number_of_a_text_is_what_it_is_about(answer: Any, found: list[Any]) -> None:
    one = SaidReference(label="task", thing="task", action="add task", nth=0, position=0, count=1)

    assert list(entries(answer, one)) == found


def test_a_number_longer_than_any_is_no_number() -> None:
    one = SaidReference(label="task", thing="task", action="add task", nth=0, position=0, count=1)

    assert all(isinstance(value, str) for value in entries("Created task " + "7" * 5000, one))
