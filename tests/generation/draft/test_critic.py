"""The blind critic and the blind solver: hostile numbers, reads among writes, schemas without end, numbers in texts."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.language.critic import Critic, Opinion
from pytest_agentbench.generation.language.plain import SaidReference
from pytest_agentbench.generation.named import entries, slots_of
from pytest_agentbench.generation.solver import plainly
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.models import Models
from pytest_agentbench.testing import ModelServer
from tests.generation.draft import right

RENEWAL = {"tool": "renew_loan", "arguments": [{"name": "loan_id", "value": "L302"}, {"name": "weeks", "value": "1"}]}


def opinion(folder: Path, writes: list[dict[str, Any]]) -> Opinion:
    """Have a model that gives these writes review the renewal of a loan."""
    suite = right.library(folder)
    draft = right.renewing(suite)

    async def run(url: str) -> Opinion:
        models = Models(environ={})
        try:
            chat = models.chat(ModelSpec(model="m", base_url=url, api_key="none"), Caller(role="critic"))
            return await Critic(chat, load_toolset(suite.environment, suite.root)).review(draft, [])
        finally:
            await models.close()

    with ModelServer([json.dumps({"plausible": True, "writes": writes})]) as server:
        return asyncio.run(run(server.base_url))


def test_the_same_writes_are_found(tmp_path: Path) -> None:
    assert opinion(tmp_path, [RENEWAL]).why == ""


@pytest.mark.parametrize(
    "value", ["1" + "0" * 400, "-1" + "0" * 400, "1e400", "NaN", "[" * 900 + "]" * 900, "9" * 5000]
)
def test_a_number_that_no_tool_takes_is_another_write(tmp_path: Path, value: str) -> None:
    arguments = [RENEWAL["arguments"][0], {"name": "weeks", "value": value}]

    found = opinion(tmp_path, [{"tool": "renew_loan", "arguments": arguments}])

    assert found.why == "other writes"
    assert found.detail.startswith("it does not make renew_loan(loan_id='L302', weeks=1)")


def test_a_read_among_the_writes_is_free(tmp_path: Path) -> None:
    read = {"tool": "list_loans", "arguments": [{"name": "member_id", "value": "M21"}]}

    assert opinion(tmp_path, [read, RENEWAL]).why == ""
    assert opinion(tmp_path, [read]).why == "other writes"


def test_a_tool_with_odd_schemas_is_compared_all_the_same() -> None:
    toolset = Toolset(specs=(ToolSpec(name="put", parameters={"properties": {"a": True, "b": {"default": 1}}}),))

    assert plainly(ToolCall(name="put", arguments={"a": 2, "b": 1}), toolset) == plainly(
        ToolCall(name="put", arguments={"a": 2.0}), toolset
    )


@pytest.mark.parametrize("count", [3, 8, 40])
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


@pytest.mark.parametrize(
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

    assert list(entries(answer, one, "x")) == found


def test_a_number_longer_than_any_is_no_number() -> None:
    one = SaidReference(label="task", thing="task", action="add task", nth=0, position=0, count=1)

    assert all(isinstance(value, str) for value in entries("Created task " + "7" * 5000, one, "x"))
