"""The state that expected calls lead to."""

from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.suite import EnvironmentSpec
from pytest_agentbench.environment.diff import diff
from pytest_agentbench.environment.replay import expected_state
from tests.environment.support import environment, shop


def expected(name: str, **arguments: Any) -> ExpectedCall:
    """Give an expected call."""
    return ExpectedCall(name=name, arguments=arguments)


async def test_expected_calls_are_made_on_a_fresh_environment(tmp_path: Path) -> None:
    """The state holds what they wrote, and the scenario's own part."""
    suite = shop(tmp_path)
    calls = [expected("get_order", order_id="W1"), expected("cancel_order", order_id="W1")]

    state, problems = await expected_state(lambda: environment(suite, state={"users": {"U1": {"name": "Zoe"}}}), calls)

    assert problems == {}
    async with environment(suite) as fresh:
        before = await fresh.snapshot()
    assert state is not None
    assert before is not None
    assert [difference.path for difference in diff(before, state)] == [
        ("orders", "W1", "status"), ("users", "U1", "name"),
    ]  # fmt: skip


async def test_calls_that_fail_are_problems_of_the_scenario(tmp_path: Path) -> None:
    """Each is named with the tool's own words; the state is that of the others."""
    calls = [expected("get_order", order_id="W9"), expected("cancel_order", id="W1")]

    state, problems = await expected_state(lambda: environment(shop(tmp_path)), calls)

    assert state is not None
    assert list(problems) == [0, 1]
    assert "no order 'W9'" in problems[0]


async def test_a_tool_that_cannot_be_called_leaves_the_state_unknown(tmp_path: Path) -> None:
    """A tool that the environment lacks is the agent's own: where its calls lead is not known here."""
    state, _ = await expected_state(lambda: environment(shop(tmp_path)), [expected("fly")])

    assert state is None


@pytest.mark.parametrize(
    ("call", "readable"),
    [
        (expected("get_order", order_id={"$regex": "W.*"}), True),
        (expected("cancel_order", order_id={"$any": True}), False),
        (expected("cancel_order", order_id=[{"deep": {"$approx": 1}}]), False),
    ],
)
async def test_matchers_leave_out_a_read_and_make_a_write_unknowable(
    tmp_path: Path, call: ExpectedCall, readable: bool
) -> None:
    """No value can be made up for a matcher."""
    state, problems = await expected_state(lambda: environment(shop(tmp_path)), [call])

    assert (state is not None, problems) == (readable, {})


async def test_without_state_there_is_nothing_to_expect(tmp_path: Path) -> None:
    """Environments whose state cannot be read give None and make no call."""
    suite = (EnvironmentSpec(), tmp_path)

    assert await expected_state(lambda: environment(suite), [expected("fly")]) == (None, {})
